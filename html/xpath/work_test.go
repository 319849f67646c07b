package xpath_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html/xpath"
)

// TestWork checks that the steps of an evaluation grow with the nodes of the page and not with their
// square, for pages that are made so that axes overlap.
func TestWork(t *testing.T) {
	for _, page := range []struct{ name, text string }{
		{"deep", strings.Repeat("<div class=a>", 3000) + "x<a href=b>"},
		{"wide", "<body>" + strings.Repeat("<p class=a></p><i></i>", 1500)},
		{"comb", strings.Repeat("<p></p><div class=a>", 1500)},
		{"deep, then wide", strings.Repeat("<div class=a>", 1000) + strings.Repeat("<p></p><b></b>", 1000)},
	} {
		doc := parse(t, page.text)
		for _, expr := range []string{
			"//div//div//div//div//p",
			"//*//*//*//*[@class]",
			"//p/ancestor::*/ancestor::*/descendant::p",
			"//p/following::p/following::p/preceding::p",
			"//p/following-sibling::*/following-sibling::*/preceding-sibling::*",
			"//*[.//nosuch]", // by the index
			"//p/preceding-sibling::*[1] | //p/following-sibling::*[1] | //p/ancestor::*[1]",
			"//@class/../following::*/@class/ancestor::*",
			"//* = //*[not(*)]",
			"//*/.. | //*/../.. | //*/../../*",
			"//div[last()] | //p[2] | (//p)[last()]",
			"//node()/node()/self::node()[not(self::p)]",
		} {
			parts := strings.Count(expr, "/") + strings.Count(expr, "[") + 1
			work := xpath.MustCompile(expr).Work(doc.Root().Ref())
			if limit := 4 * parts * doc.Len(); work > limit {
				t.Errorf("%s: %s: %d steps on %d nodes are more than %d", page.name, expr, work, doc.Len(), limit)
			}
		}
	}
}

// TestWorkError evaluates what looks at all pairs of nodes, or reads the same text or the same
// attributes for each of many nodes.
func TestWorkError(t *testing.T) {
	flat := strings.Repeat("<a></a>", 6_000)
	deep := strings.Repeat("<i>", 3_000) + strings.Repeat("x y ", 150_000)
	var attrs strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&attrs, " a%d", i)
	}
	flood := "<div" + attrs.String() + ">" + strings.Repeat("<b></b>", 5_000)
	tests := []struct{ name, page, expr string }{
		{"preceding", flat, "//a[count(preceding::a) > 30000]"},
		{"siblings", flat, "count(//a[count(following-sibling::a) > 30000])"},
		{"ancestors on the way back", strings.Repeat("<i>", 8_000), "//i/preceding::i[1]"},
		{"text", deep, "//i[contains(., 'nosuch')]"},
		{"text made from text", deep, "//i[string-length(normalize-space(.)) = 7]"},
		{"text twice", deep, "//i[starts-with(concat(., .), 'a')]"},
		{"text as a number", deep, "sum(//i)"},
		{"text in a set", deep, "//i[. = //i]"},
		{"text under a pattern", deep, "//i[matches(., 'nosuch')]"},
		{"joined text", deep, "string-join(//i, ',')"},
		{"replaced text", deep, "//i[replace(., 'x', 'x') = 'y']"},
		{"growing text", deep, strings.Repeat("replace(", 40) + "/" + strings.Repeat(", '.+', '$0$0')", 40)},
		{"attributes", flood, "//b[../@nosuch]"},
		{"attributes of a lookup", flood, "//b[lang('de')]"},
		{"a class", "<div class='" + strings.Repeat("c ", 200_000) + "'>" + strings.Repeat("<b></b>", 3_000), "//b[parent::*[has-class('a')]]"},
	}
	if testing.Short() {
		tests = tests[3:4] // ten million steps each, and the race detector makes each of them long
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			doc := parse(t, test.page)
			v, err := xpath.MustCompile(test.expr).Evaluate(doc.Root().Ref())
			var work *xpath.WorkError
			if !errors.As(err, &work) || work.Expr != test.expr || work.Limit < 10_000_000 || !strings.Contains(err.Error(), test.expr) {
				t.Errorf("it gives %.100v, %v", v, err)
			}
			// The next evaluation starts anew.
			if v, err := xpath.MustCompile("count(//html)").Evaluate(doc.Root().Ref()); err != nil || v.Number() != 1 {
				t.Errorf("then %v, %v", v, err)
			}
		})
	}
	t.Run("a budget", func(t *testing.T) {
		doc := parse(t, flat)
		siblings, budget, evaluated := xpath.MustCompile("count(following-sibling::a)"), new(xpath.Budget), 0
		for ref := range doc.Root().Descendants() {
			if _, err := siblings.EvaluateIn(budget, ref.Ref()); err != nil {
				var work *xpath.WorkError
				if !errors.As(err, &work) || work.Limit != budget.Limit(doc) || budget.Spend(0) <= work.Limit {
					t.Errorf("the error is %v", err)
				}
				break
			}
			evaluated++
		}
		if evaluated < 1_000 || evaluated > 5_000 {
			t.Errorf("%d evaluations", evaluated)
		}
	})
	t.Run("names", func(t *testing.T) {
		doc := parseXML(t, "<a xmlns='"+strings.Repeat("u", 100_000)+"'>"+strings.Repeat("<b/>", 5_000)+"</a>")
		declared, err := xpath.Options{Namespaces: map[string]string{"n": "u"}}.Compile("//n:b")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []*xpath.Expr{declared, xpath.MustCompile("//*[namespace-uri() = 'u']")} {
			var work *xpath.WorkError
			if _, err := e.Evaluate(doc.Root().Ref()); !errors.As(err, &work) {
				t.Errorf("%v gives %v", e, err)
			}
		}
		if v, err := xpath.MustCompile("count(//b)").Evaluate(doc.Root().Ref()); err != nil || v.Number() != 5_000 {
			t.Errorf("without its namespace: %v, %v", v, err)
		}
	})
}

package xpath_test

import (
	"errors"
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

// TestWorkError evaluates what looks at all pairs of nodes.
func TestWorkError(t *testing.T) {
	doc := parse(t, strings.Repeat("<a></a>", 6_000))
	for _, expr := range []string{"//a[count(preceding::a) > 30000]", "count(//a[count(following-sibling::a) > 30000])"} {
		v, err := xpath.MustCompile(expr).Evaluate(doc.Root().Ref())
		var work *xpath.WorkError
		if !errors.As(err, &work) || work.Expr != expr || work.Limit < 10_000_000 || !strings.Contains(err.Error(), expr) {
			t.Errorf("%s gives %v, %v", expr, v, err)
		}
	}
	// The next evaluation starts anew.
	if v, err := xpath.MustCompile("count(//a)").Evaluate(doc.Root().Ref()); err != nil || v.Number() != 6_000 {
		t.Errorf("%v, %v", v, err)
	}
}

package xpath_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html/xpath"
)

// What lxml has for EXSLT, with which parsel answers; re:match as its value in string().
func TestEXSLT(t *testing.T) {
	doc := parse(t, `<div id=a class="x"><p id=p1>tea 12-34</p><p id=p2>cup 5</p><p id=p3>tea 12-34</p></div><div id=b class="y"><p id=p4>cup 5</p></div>`)
	for _, test := range []struct{ expr, want string }{
		{`re:match(//p, '\d+-\d+')`, "12-34"},
		{`re:match(//p, 'TEA', 'i')`, "tea"},
		{`re:match(//p, 'nosuch')`, ""},
		{`//p[re:match(., '(\d+)$') = 5]`, "p2 p4"},
		{`re:replace(//p, '\d', '', '#')`, "tea #2-34"},
		{`re:replace(//p, '\d', 'g', '#')`, "tea ##-##"},
		{`re:replace(//p, 'T(E)', 'i', '$1-')`, "e-a 12-34"},
		{`re:replace(//p, '(\d)(\d)', 'g', '\2\1')`, "tea 21-43"},
		{`re:replace(//p, 'nosuch', '', '#')`, "tea 12-34"},
		{`re:test(//p, 'TEA', 'gi')`, "true"},
		{`set:difference(//p, //div[@class = 'x']/p[2])`, "p1 p3 p4"},
		{`set:difference(//p, //nosuch)`, "p1 p2 p3 p4"},
		{`set:intersection(//p, //div[1]/* | //div)`, "p1 p2 p3"},
		{`set:has-same-node(//p, //p[4])`, "false"},
		{`set:has-same-node(//p, //*[@id = 'p4'])`, "true"},
		{`set:distinct(//p)`, "p1 p2"},
		{`set:distinct(//@class)`, "class=x class=y"},
		{`set:leading(//p, //p[. = 'cup 5'])`, "p1"},
		{`set:leading(//p, //nosuch)`, "p1 p2 p3 p4"},
		{`set:leading(//p, //div)`, ""},
		{`set:trailing(//p, //p[. = 'cup 5'])`, "p3 p4"},
		{`set:trailing(//p, //nosuch)`, "p1 p2 p3 p4"},
		{`set:trailing(//p, //div)`, ""},
		{`set:trailing(//p, //*[@id = 'p3'])/..`, "b"},
		{`count(set:distinct(//p)[2])`, "1"},
	} {
		v, err := xpath.MustCompile(test.expr).Evaluate(doc.Root().Ref())
		if err != nil {
			t.Errorf("%s: %v", test.expr, err)
		} else if got := show(v); got != test.want {
			t.Errorf("%s is %q, want %q", test.expr, got, test.want)
		}
	}
	for expr, want := range map[string]string{
		`set:distinct('a')`:            "wants a node-set",
		`re:match(., 'a', 'x')`:        "the flags must be",
		`re:replace(., 'a', 'b')`:      "wrong number of arguments",
		`re:match(., @a)`:              "must be a string in quotes",
		`re:replace(., '(', 'g', 'x')`: "missing closing )",
	} {
		if _, err := xpath.Compile(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", expr, err, want)
		}
	}
}

// Values take part as what they are. It fails if a quote in a text ends it, or a number is compared as a text.
func TestVariables(t *testing.T) {
	doc := parse(t, `<p id=p1>it's "so"</p><p id=p2>5.0</p><p id=p3>x1</p>`)
	type text string
	values := map[string]any{"t": `it's "so"`, "n": 5, "f": 2.5, "u": uint8(2), "yes": true, "no": false, "own": text("p3"), "re": `^x\d$`, "bad": []string{"a"}}
	for _, test := range []struct{ expr, want string }{
		{"//p[. = $t]", "p1"},
		{"//p[. = $n]", "p2"},
		{"//p[$u]", "p2"},
		{"$f * $u", "5"},
		{"//p[$yes]", "p1 p2 p3"},
		{"//p[$no]", ""},
		{"//p[@id=$own]", "p3"},
		{"//p[matches(., $re)]", "p3"},
		{"concat($t, $n)", `it's "so"5`},
	} {
		e, err := xpath.Options{Variables: values}.Compile(test.expr)
		if err != nil {
			t.Error(err)
			continue
		}
		v, err := e.Evaluate(doc.Root().Ref())
		if got := show(v); err != nil || got != test.want {
			t.Errorf("%s is %q, %v; want %q", test.expr, got, err, test.want)
		}
	}
	for _, expr := range []string{"$bad", "$nosuch"} {
		if _, err := (xpath.Options{Variables: values}).Compile(expr); err == nil || !strings.Contains(err.Error(), expr) {
			t.Errorf("%s: %v", expr, err)
		}
	}
}

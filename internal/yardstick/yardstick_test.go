package yardstick_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/yardstick"
)

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name, want, got   string
		n                 int
		precision, recall float64
	}{
		{"equal", "one, two - three", "one two three", 1, 1, 1},
		{"both empty", "", " ", 1, 1, 1},
		{"nothing found", "one two", "", 1, 0, 0},
		{"a word more", "one two three", "one two three four", 1, 0.75, 1},
		{"a word less", "one two three four", "one two three", 1, 1, 0.75},
		{"a word twice", "one", "one one", 1, 0.5, 1},
		{"another order", "one two three", "three one two", 2, 0.5, 0.5},
		{"shorter than a sequence", "one two", "one two", 4, 1, 1},
	} {
		if p, r := yardstick.Compare(test.want, test.got, test.n); p != test.precision || r != test.recall {
			t.Errorf("%s: %v, %v", test.name, p, r)
		}
	}
	if f := yardstick.F1(0.5, 1); math.Abs(f-2.0/3) > 1e-9 || yardstick.F1(0, 0) != 0 {
		t.Error(f)
	}
}

// It fails if a difference between a page and what was made of its Markdown is not seen.
func TestRoundTrip(t *testing.T) {
	const page = `<h2>Head</h2><p>Some words, <a href="http://a.test/">a link</a>.</p><ul><li>one<ul><li>two</li></ul></li></ul>
<pre>code  here</pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>`
	if d := yardstick.RoundTrip(page, page); len(d) > 0 {
		t.Errorf("a page differs from itself: %v", d)
	}
	for _, test := range []struct{ fact, from, to string }{
		{"words", "Some words", "Some other words"}, {"words", "Some words", "words Some"}, {"headings", "h2", "h3"}, {"links", "http://a.test/", "http://b.test/"},
		{"lists", "<ul><li>two</li></ul></li></ul>", "</li><li>two</li></ul>"}, {"code", "pre", "p"}, {"tables", "<td>1</td><td>2</td>", "<td>1 2</td><td></td>"},
	} {
		var facts []string
		for _, d := range yardstick.RoundTrip(page, strings.ReplaceAll(page, test.from, test.to)) {
			facts = append(facts, d.Fact)
		}
		if len(facts) != 1 || facts[0] != test.fact {
			t.Errorf("%q in the place of %q differs in %v, want %s", test.to, test.from, facts, test.fact)
		}
	}
}

func TestManualText(t *testing.T) {
	long := strings.Repeat("some words of a manual ", 30)
	for name, test := range map[string]struct {
		page           string
		want, contents bool
	}{
		"Sphinx":       {"<nav>menu</nav><div class=body><h1>some <b>w</b>ords<a class=headerlink>#</a></h1><p>of a manual " + long + "</div>", true, false},
		"DocBook":      {"<div id=docContent><div class=navheader>up</div><p>some words of a manual " + long + "</div>", true, false},
		"Apache":       {"<div id=page-content><p>some words of a manual " + long + "<div id=quickview>x</div><div class='bottomlang x'>y</div></div>", true, false},
		"AsciiDoc":     {"<div id=header>some words of</div><p>x<div id=content>a manual " + long + "</div>", true, false},
		"short":        {"<div class=body>some words</div>", false, false},
		"contents":     {"<div class=body><a href=x>" + long + "</a> some words of a manual</div>", true, true},
		"another page": {"<p>" + long, false, false}, "not AsciiDoc": {"<div id=content>" + long, false, false},
	} {
		doc, err := html.Parse([]byte(test.page))
		if err != nil {
			t.Fatal(err)
		}
		text := yardstick.ManualText(doc)
		if words, lost, added := yardstick.Bag(long+"some words of a manual", text); test.want && (lost != 0 || added != 0) || !test.want && (text != "" || lost != words) {
			t.Errorf("%s: %d words lost, %d added: %q", name, lost, added, text)
		}
		if contents := yardstick.IsContents(doc); contents != test.contents {
			t.Errorf("%s: a table of contents: %v", name, contents)
		}
	}
}

func TestScore(t *testing.T) {
	var s yardstick.Score
	bad := s.Add(&yardstick.Entry{With: []string{"a", "b"}, Without: []string{"c", "d"}}, "a c")
	if s != (yardstick.Score{Right: 1, Wrong: 1, Missing: 1}) || strings.Join(bad, " ") != "-b +c" || s.F() != 0.5 {
		t.Errorf("%+v, %v, %v", s, bad, s.F())
	}
}

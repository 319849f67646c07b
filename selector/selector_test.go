package selector_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/selector"
)

const page = `<!DOCTYPE html>
<html><head><title>Quotes</title><base target=_top><base href="/b/"><base href="/c/"></head>
<body>
<div class="quote" id="q1"><span class="text">To <em>be</em></span><a href="/a?x=1&amp;y=2" title="one">Ann</a></div>
<div class="quote" id="q2"><span class="text">Or not</span><a href="/b">Bob</a><p>in <b>p</b></p></div>
<noscript><a href="/n">no script</a></noscript>
<!-- <a href="/c">comment</a> -->
<svg><a xlink:href="/s">svg</a></svg>
</body></html>`

func TestParseIsForAnyBytes(t *testing.T) {
	for name, body := range map[string]string{
		"nil":             "",
		"text":            "just text",
		"byte order mark": "\uFEFF<p>x",
		"invalid UTF-8":   "<p>\xff\xfe</p>",
		"NUL":             "<p>\x00</p>",
		"cut in a tag":    "<p><a href='x",
		"frameset":        "<frameset><frame src=x></frameset>",
	} {
		t.Run(name, func(t *testing.T) {
			d := selector.Parse([]byte(body))
			if d.Err() != nil {
				t.Fatalf("Err = %v", d.Err())
			}
			if n := d.CSS("html").Len(); n != 1 {
				t.Errorf("%d html elements, want 1", n)
			}
		})
	}
	if got := selector.Parse([]byte("\uFEFF<p>x")).CSS("body").Text(); got != "x" {
		t.Errorf("text after a byte order mark = %q", got)
	}
}

func TestDeep(t *testing.T) {
	d := selector.Parse([]byte(strings.Repeat("<div>", 100_000) + "<a href=x>deep</a>"))
	if d.Err() != nil {
		t.Fatal(d.Err())
	}
	check(t, "CSS", d.CSS("div div > a::attr(href)").Get(), "x")
	check(t, "XPath", d.XPath("//div/a/@href").Get(), "x")
	check(t, "Text", d.CSS("body").Text(), "deep")
	if n := len(d.CSS("body").HTML()); n < 1_100_000 {
		t.Errorf("%d bytes of markup", n)
	}
}

// TestTooManyNodes parses a page whose unclosed tags each paragraph repeats.
func TestTooManyNodes(t *testing.T) {
	var page strings.Builder
	page.WriteString("<p>")
	for i := range 100 {
		fmt.Fprintf(&page, "<b id=%d>", i)
	}
	page.WriteString(strings.Repeat("<p>x", 1000))
	d := selector.Parse([]byte(page.String()))
	var parseErr *selector.ParseError
	var limit *html.LimitError
	if !errors.As(d.Err(), &parseErr) || !errors.As(d.Err(), &limit) {
		t.Fatalf("Err = %v, want a *ParseError of a *html.LimitError", d.Err())
	}
	if d.CSS("*").Len() != 0 || d.XPath("//*").Len() != 0 || d.Base() != "" {
		t.Error("a page that could not be parsed is not empty")
	}
}

func TestBase(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"first with href":   {page, "/b/"},
		"none":              {"<p>", ""},
		"empty":             {`<base href="">`, ""},
		"empty counts":      {`<base href=""><base href=x>`, ""},
		"entities":          {`<base href="/?a=1&amp;b">`, "/?a=1&b"},
		"commented out":     {`<!--<base href=x>--><base href=y>`, "y"},
		"in the body":       {`<p><base href=x>`, "x"},
		"in a template":     {`<template><base href=x></template><base href=y>`, "y"},
		"in SVG":            {`<svg><base href=x></base></svg>`, ""},
		"in noscript":       {`<noscript><base href=x></noscript>`, "x"},
		"white space stays": {`<base href=" x ">`, " x "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := selector.Parse([]byte(test.body)).Base(); got != test.want {
				t.Errorf("Base = %q, want %q", got, test.want)
			}
		})
	}
}

func TestSelectionReads(t *testing.T) {
	d := selector.Parse([]byte(page))
	quotes := d.CSS("div.quote")
	checkStrings(t, "Texts", quotes.Texts(), "To beAnn", "Or notBob in p")
	check(t, "Text", quotes.Text(), "To beAnn Or notBob in p")
	check(t, "Attr", quotes.Attr("id"), "q1")
	check(t, "Attr in capitals", quotes.Attr("ID"), "q1")
	check(t, "Attr that is absent", quotes.Attr("href"), "")
	checkStrings(t, "Attrs", d.CSS("a").Attrs("title"), "one")
	checkStrings(t, "Attrs of SVG", d.CSS("svg a").Attrs("xlink:href"), "/s")
	check(t, "HTML", quotes.CSS("em").HTML(), "<em>be</em>")
	check(t, "Get", quotes.CSS("em").Get(), "<em>be</em>")
	check(t, "HTML of escaped", d.CSS("#q1 a").HTML(), `<a href="/a?x=1&amp;y=2" title="one">Ann</a>`)
	check(t, "First", quotes.First().Attr("id"), "q1")
	check(t, "First has one", quotes.First().CSS("a").Text(), "Ann")
	check(t, "HTML of an attribute", d.CSS("a::attr(href)").HTML(), "")
	check(t, "Attr of an attribute", d.CSS("a::attr(href)").Attr("href"), "")
	checkStrings(t, "noscript is content", d.CSS("noscript a").Texts(), "no script")

	var ids []string
	for i, quote := range quotes.All() {
		if quote.Len() != 1 || i != len(ids) {
			t.Errorf("All gave index %d and %d nodes", i, quote.Len())
		}
		ids = append(ids, quote.Attr("id"))
	}
	checkStrings(t, "All", ids, "q1", "q2")
	for range quotes.All() {
		break
	}
}

func TestNothingIsUsable(t *testing.T) {
	var none *selector.Selection
	var noDocument *selector.Document
	for name, s := range map[string]*selector.Selection{
		"nil":          none,
		"no match":     selector.Parse(nil).CSS("x"),
		"chain":        selector.Parse(nil).CSS("x").CSS("y").XPath("./z").First(),
		"nil document": noDocument.CSS("a"),
		"nil XPath":    noDocument.XPath("//a"),
	} {
		t.Run(name, func(t *testing.T) {
			if s.Len() != 0 || s.Text() != "" || s.Texts() != nil || s.Attr("a") != "" || s.Attrs("a") != nil ||
				s.HTML() != "" || s.Get() != "" || s.GetAll() != nil || s.First().Len() != 0 ||
				s.CSS("a::text").Len() != 0 || s.XPath("count(//a)").Len() != 0 {
				t.Error("an empty Selection gave something")
			}
			for range s.All() {
				t.Error("All gave something")
			}
		})
	}
	if noDocument.Base() != "" || noDocument.Err() != nil {
		t.Error("a nil Document gave something")
	}
}

func TestText(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"paragraphs":    {"<p>alpha</p><p>beta</p>", "alpha beta"},
		"inline":        {"al<b>ph</b>a", "alpha"},
		"list":          {"<ul><li>a<li>b</ul>c", "a b c"},
		"trimmed":       {" \n a\t b \r\n", "a b"},
		"entities":      {"a &amp; b &lt;i&gt;", "a & b <i>"},
		"invalid UTF-8": {"a\xffb", "a\xffb"},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, "Text", selector.Parse([]byte("<body>"+test.body)).CSS("body").Text(), test.want)
		})
	}
	d := selector.Parse([]byte("<title>\n two\n lines </title><script> a  b </script>"))
	check(t, "multi-line title", d.CSS("title").Text(), "two lines")
	check(t, "the script itself", d.CSS("script").Text(), "a b")
	check(t, "the script as it is", d.CSS("script::text").Get(), " a  b ")
}

func TestSyntaxErrorPanics(t *testing.T) {
	d := selector.Parse([]byte(page))
	for name, query := range map[string]func(){
		"CSS of a document":    func() { d.CSS("a[") },
		"CSS of a selection":   func() { d.CSS("a").CSS("a[") },
		"CSS of nothing":       func() { d.CSS("nosuch").CSS("a[") },
		"XPath of a document":  func() { d.XPath("//a[") },
		"XPath of a selection": func() { d.CSS("a").XPath("//a[") },
		"XPath of wrong types": func() { d.XPath("count(1)") },
		"regular expression":   func() { d.CSS("a").Re("(") },
		"regular expression 2": func() { d.CSS("nosuch").ReFirst("(") },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				e, ok := recover().(*selector.SyntaxError)
				if !ok || e.Query == "" || e.Err == nil || !errors.Is(e, e.Err) || !strings.Contains(e.Error(), e.Query) {
					t.Errorf("panic with %v, want a full *SyntaxError", e)
				}
			}()
			query()
		})
	}
}

func TestCompile(t *testing.T) {
	d := selector.Parse([]byte(page))
	for _, compile := range []struct {
		name, query string
		f           func(string) (*selector.Query, error)
	}{{"CSS", "div.quote", selector.Compile}, {"XPath", "//div[@class='quote']", selector.CompileXPath}} {
		t.Run(compile.name, func(t *testing.T) {
			q, err := compile.f(compile.query)
			if err != nil {
				t.Fatal(err)
			}
			check(t, "String", q.String(), compile.query)
			checkStrings(t, "Select", d.Select(q).Attrs("id"), "q1", "q2")
			if n := d.CSS("body").Select(q).Len(); n != 2 {
				t.Errorf("Select in body found %d, want 2", n)
			}
			_, err = compile.f("a[")
			var syntax *selector.SyntaxError
			if !errors.As(err, &syntax) || syntax.Query != "a[" {
				t.Errorf("error %v, want a *SyntaxError", err)
			}
		})
	}
}

// TestManyQueries fills the cache several times over.
func TestManyQueries(t *testing.T) {
	d := selector.Parse([]byte(`<p id=i7>x</p>`))
	found := 0
	for i := range 3000 {
		found += d.CSS("#i" + strings.Repeat("7", i%1500+1)).Len()
	}
	if found != 2 {
		t.Errorf("found %d, want 2", found)
	}
	if d.CSS("p"+strings.Repeat(":not(b)", 1000)).Len() != 1 {
		t.Error("a long selector does not match")
	}
}

func TestConcurrentReads(t *testing.T) {
	d := selector.Parse([]byte(page))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if d.CSS("div.quote a::attr(href)").Len() != 2 || d.XPath("//a | //b/ancestor::*").Len() != 8 ||
					d.XPath("count(//a[contains(@href, 'a')])").Get() != "1" || d.CSS("body").Text() == "" {
					t.Error("wrong result")
				}
			}
		})
	}
	wg.Wait()
}

func check(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %q, want %q", what, got, want)
	}
}

func checkStrings(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s = %q, want %q", what, got, want)
	}
}

// results are what a selection holds.
type results struct {
	name string
	got  *selector.Selection
	want []string
}

func checkResults(t *testing.T, tests []results) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			checkStrings(t, "GetAll", test.got.GetAll(), test.want...)
		})
	}
}

// TestSizeError: elements inside each other, each with all the text, would fill the memory.
func TestSizeError(t *testing.T) {
	d := selector.Parse([]byte("<base href='/"+strings.Repeat("x", 30_000)+"/'>"+strings.Repeat("<div id=x>", 3_000)+strings.Repeat("word ", 10_000)),
		selector.URL("http://a.example/"))
	tests := []struct {
		name string
		call func(*selector.Selection)
	}{
		{"GetAll", func(s *selector.Selection) { s.GetAll() }},
		{"Text", func(s *selector.Selection) { s.Text() }},
		{"Texts", func(s *selector.Selection) { s.Texts() }},
		{"Re", func(s *selector.Selection) { s.Re("nosuch") }},
		{"ReFirst", func(s *selector.Selection) { s.ReFirst("nosuch") }},
		{"JSON", func(s *selector.Selection) { s.JSON("nosuch") }},
		{"URLs", func(s *selector.Selection) { s.XPath("ancestor-or-self::div/@id").URLs() }},
	}
	if testing.Short() {
		tests = tests[:1] // 64 MiB of results each
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.call(d.CSS("div:nth-last-of-type(1) > div").First())
			defer func() {
				e, ok := recover().(*selector.SizeError)
				if !ok || e.Limit != 1<<26+len(d.Root().Document().Source()) || e.Error() == "" {
					t.Errorf("panic with %v", e)
				}
			}()
			test.call(d.CSS("div"))
			t.Error("no panic")
		})
	}
}

// TestAllocations: a query of one result allocates the Selection, a text its string.
func TestAllocations(t *testing.T) {
	doc := selector.Parse([]byte("<!DOCTYPE html><h1>  One   <b>title</b></h1><ul><li>1<li>2</ul>"))
	for _, test := range []struct {
		name string
		do   func() bool
		want float64
	}{
		{"one result", func() bool { return doc.CSS("h1").Len() == 1 }, 1},
		{"two results", func() bool { return doc.CSS("li").Len() == 2 }, 2},
		{"first of two", func() bool { return doc.CSS("li").First().Len() == 1 }, 2},
		{"inside", func() bool { return doc.CSS("ul").First().CSS("li").First().Len() == 1 }, 3},
		{"text", func() bool { return doc.CSS("h1").Text() == "One title" }, 2},
	} {
		if got := testing.AllocsPerRun(100, func() {
			if !test.do() {
				t.Fatal(test.name)
			}
		}); deep.Checks() && got != test.want {
			t.Errorf("%s allocates %v times, want %v", test.name, got, test.want)
		}
	}
}

package links_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/links"
)

// refs writes the links that an iterator hands out, with all that is known of each.
func refs(each func(yield func(*links.Ref) bool)) []string {
	var list []string
	for r := range each {
		list = append(list, fmt.Sprintf("%s#%s <%s %s> %q %v", r.URL, r.Fragment, r.Tag, r.Attr, r.Rel, r.NoFollow))
	}
	return list
}

// checkFrom compares what EachFrom and ExtractFrom find with what Each and Extract find in the same page.
func checkFrom(t *testing.T, body []byte, docURL string, opts ...links.Option) {
	t.Helper()
	doc, err := html.Parse(body)
	if err != nil {
		return // the page has no tree to take links from
	}
	if got, want := refs(links.EachFrom(doc, docURL, opts...)), refs(links.Each(body, docURL, opts...)); !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nEachFrom %q\nEach     %q", body, got, want)
	}
	if got, want := links.ExtractFrom(doc, docURL, opts...), links.Extract(body, docURL, opts...); !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nExtractFrom %+v\nExtract     %+v", body, got, want)
	}
}

func parsed(t *testing.T, body []byte) *html.Document {
	t.Helper()
	doc, err := html.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestFrom(t *testing.T) {
	for _, test := range []struct {
		name, page string
		want       []string
	}{
		{"a and area", `<a href=" 1 " rel="a NoFollow">x</a><AREA HREF=2#f><a name=b></a><a href=""></a>`,
			[]string{`http://h/d/1# <a href> "a NoFollow" true`, `http://h/d/2#f <area href> "" false`}},
		{"character references", `<a href="?a&amp;b" rel="&#110;ofollow">`, []string{`http://h/d/p?a&b# <a href> "nofollow" true`}},
		{"of two attributes the first", `<a href=1 href=2 rel=a rel=b>`, []string{`http://h/d/1# <a href> "a" false`}},
		{"base behind a link", `<a href=1></a><base><base target=x><base href=/b/><base href=/c/>`, []string{`http://h/b/1# <a href> "" false`}},
		{"base in SVG", `<svg><base href=/b/></svg><a href=1>`, []string{`http://h/d/1# <a href> "" false`}},
		{"base in a template", `<template><base href=/b/></template><base href=/c/><a href=1>`, []string{`http://h/c/1# <a href> "" false`}},
		{"other schemes", `<a href=mailto:x><a href="javascript:x"><a href=//i/>`, []string{`http://i/# <a href> "" false`}},
		{"moved and copied", `<table><a href=1><tr><td><b><a href=2><p></b>x</a></table>`,
			[]string{`http://h/d/1# <a href> "" false`, `http://h/d/2# <a href> "" false`}},
		{"dropped", `<frameset><a href=1><title><a href=2></title>`, []string{`http://h/d/1# <a href> "" false`}},
		{"only for the stream", `<svg><g></math><title><a href=1></title></svg><a href=2>`, []string{`http://h/d/2# <a href> "" false`}},
		{"in SVG", `<svg><a href=1 xlink:href=2><title><a href=3></title></svg>`,
			[]string{`http://h/d/1# <a href> "" false`, `http://h/d/3# <a href> "" false`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			doc := parsed(t, []byte(test.page))
			checkStrings(t, "EachFrom", refs(links.EachFrom(doc, "http://h/d/p")), test.want...)
			checkFrom(t, []byte(test.page), "http://h/d/p")
		})
	}
}

func TestFromStops(t *testing.T) {
	doc := parsed(t, []byte(`<a href=1><a href=2>`))
	seen := 0
	for range links.EachFrom(doc, "http://h/") {
		seen++
		break
	}
	if seen != 1 {
		t.Errorf("%d links after the first was enough", seen)
	}
}

// TestFromXML: the links of XML are those of its tree, which is not that of the same bytes in HTML.
func TestFromXML(t *testing.T) {
	const spaces = ` xmlns="http://www.w3.org/1999/xhtml" xmlns:s="http://www.w3.org/2000/svg" xmlns:l="http://www.w3.org/1999/xlink"`
	for _, test := range []struct {
		name, page string
		opts       []links.Option
		want       []string
	}{
		{"in a title", `<r><title><a href="1"/></title><A href="2"/></r>`, nil, []string{`http://h/d/1# <a href> "" false`}},
		{"restricted by CSS", `<r><a href="1"/><b><a href="2"/></b><a href="3"/></r>`, []links.Option{links.CSS("b")}, []string{`http://h/d/2# <a href> "" false`}},
		{"restricted by XPath", `<r><title/><a href="1"/><b><a href="2"/></b></r>`, []links.Option{links.XPath("//b")}, []string{`http://h/d/2# <a href> "" false`}},
		{"XHTML", `<html` + spaces + `><title/><script/><a rel="nofollow" href="1#f">x</a><area href="2"/></html>`, nil,
			[]string{`http://h/d/1#f <a href> "nofollow" true`, `http://h/d/2# <area href> "" false`}},
		{"a base", `<html` + spaces + `><title/><a href="1"/><base href="/b/"/><base href="/c/"/></html>`, nil, []string{`http://h/b/1# <a href> "" false`}},
		{"a base of something else", `<r><base href="/b/"/><a href="1"/></r>`, nil, []string{`http://h/d/1# <a href> "" false`}},
		{"sections and comments", `<r><![CDATA[<a href="1">]]><!-- <a href="2"/> --><a href="3"/></r>`, nil, []string{`http://h/d/3# <a href> "" false`}},
		{"references", `<r><a href="?a&amp;b=&#x63;"/></r>`, nil, []string{`http://h/d/p?a&b=c# <a href> "" false`}},
		{"everything of SVG", `<html` + spaces + `><s:image l:href="1"/><img src="2" srcset="3 1x, 4 2x"/><style>@import "5";</style><s:style><![CDATA[a{b:url(6)}]]></s:style></html>`,
			[]links.Option{links.Everything()}, []string{`http://h/d/1# <image xlink:href> "" false`, `http://h/d/2# <img src> "" false`, `http://h/d/3# <img srcset> "" false`,
				`http://h/d/4# <img srcset> "" false`, `http://h/d/5# <style > "" false`, `http://h/d/6# <style > "" false`}},
		{"everything of a feed", `<feed xmlns="http://www.w3.org/2005/Atom"><title/><link rel="alternate" href="1"/></feed>`, []links.Option{links.Everything()},
			[]string{`http://h/d/1# <link href> "alternate" false`}},
		{"elements of a feed", `<rss xmlns:media="http://search.yahoo.com/mrss/"><title/><enclosure url="1"/><media:content url="2"/></rss>`,
			[]links.Option{links.Tags("Enclosure", "media:content"), links.Attrs("url")}, []string{`http://h/d/1# <enclosure url> "" false`, `http://h/d/2# <media:content url> "" false`}},
		{"texts", `<html` + spaces + `><title/><a href="1">yes</a><a href="2">no</a></html>`, []links.Option{links.Text("yes")}, []string{`http://h/d/1# <a href> "" false`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			doc, err := html.ParseXML([]byte(test.page))
			if err != nil {
				t.Fatal(err)
			}
			checkStrings(t, "EachFrom", refs(links.EachFrom(doc, "http://h/d/p", test.opts...)), test.want...)
			var each []string
			for r := range links.EachFrom(doc, "http://h/d/p", test.opts...) {
				each = append(each, string(r.URL))
			}
			checkStrings(t, "ExtractFrom", urls(links.ExtractFrom(doc, "http://h/d/p", test.opts...)), each...)
		})
	}
	doc, err := html.ParseXML([]byte(`<r><title/><a href="1"> a<![CDATA[ & b]]> <c>d</c></a></r>`))
	if err != nil {
		t.Fatal(err)
	}
	if got := links.ExtractFrom(doc, "http://h/"); len(got) != 1 || got[0].Text != "a & b d" {
		t.Errorf("%+v", got)
	}
}

// optionSets are what checkFrom is tried with: each way that a page is read in.
var optionSets = [][]links.Option{
	nil,
	{links.Charset(charset.ShiftJIS), links.SkipNoFollow(), links.Process(strings.TrimSpace)},
	{links.Text(".")},
	{links.CSS("p, a")},
	{links.Tags("*")},
	{links.Everything()},
}

// TestFromCorpora compares on the pages that fuzzing has found worth keeping, here and in package html.
func TestFromCorpora(t *testing.T) {
	files, err := filepath.Glob("testdata/fuzz/Fuzz*/*")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../html/testdata/fuzz/Fuzz*/*")
	if err != nil {
		t.Fatal(err)
	}
	values := 0
	for _, file := range append(files, more...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			for _, kind := range []string{"[]byte(", "string("} {
				quoted, ok := strings.CutPrefix(strings.TrimSpace(line), kind)
				if !ok {
					continue
				}
				page, err := strconv.Unquote(strings.TrimSuffix(quoted, ")"))
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				values++
				for _, opts := range optionSets {
					checkFrom(t, []byte(page), fuzzBase, opts...)
				}
			}
		}
	}
	if values < 40 {
		t.Errorf("only %d pages", values)
	}
}

func TestFromAllocates(t *testing.T) {
	doc := parsed(t, listing(120))
	few := testing.AllocsPerRun(20, func() { eachFrom(t, doc, 120) })
	doc = parsed(t, listing(600))
	if many := testing.AllocsPerRun(20, func() { eachFrom(t, doc, 600) }); deep.Checks() && many > few {
		t.Errorf("%v allocations for 600 links, %v for 120", many, few)
	}
}

func eachFrom(t *testing.T, doc *html.Document, want int) {
	n := 0
	for range links.EachFrom(doc, "https://example.com/list/") {
		n++
	}
	if n != want {
		t.Fatalf("%d links, want %d", n, want)
	}
}

// FuzzFrom: whether a page was parsed before makes no difference to its links.
func FuzzFrom(f *testing.F) {
	for _, page := range []string{
		`<base href=/b/><p><a href=1 rel="x y">a</a><AREA HREF='?a=1&amp;b'><template><base href=c><a href=2></template>`,
		`<svg><title><a href=1></title><style><a href=2></style><![CDATA[<a href=3>]]><font color=x><a href=4></svg></p><a href=5>`,
		`<table><a href=1><tr><td><b><a href=2><p></b>x</a><math><mi><svg></mi></math><select><a href=3></table><plaintext><a href=4>`,
		`<frameset><a href=1><noframes><a href=2></noframes><script><a href=3></script>`,
	} {
		f.Add([]byte(page))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		for _, opts := range optionSets {
			checkFrom(t, body, fuzzBase, opts...)
		}
		if !bytes.Equal(body, before) {
			t.Error("the body was changed")
		}
	})
}

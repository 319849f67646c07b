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
			doc, err := html.Parse([]byte(test.page))
			if err != nil {
				t.Fatal(err)
			}
			checkStrings(t, "EachFrom", refs(links.EachFrom(doc, "http://h/d/p")), test.want...)
			checkFrom(t, []byte(test.page), "http://h/d/p")
		})
	}
}

func TestFromStops(t *testing.T) {
	doc, err := html.Parse([]byte(`<a href=1><a href=2>`))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for range links.EachFrom(doc, "http://h/") {
		seen++
		break
	}
	if seen != 1 {
		t.Errorf("%d links after the first was enough", seen)
	}
}

// TestFromXML: a tree in XML is not that of the same bytes in HTML.
func TestFromXML(t *testing.T) {
	const page = `<r><title><a href="1"/></title><A href="2"/></r>`
	doc, err := html.ParseXML([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	for _, opts := range [][]links.Option{nil, {links.CSS("a")}} {
		checkStrings(t, "EachFrom", refs(links.EachFrom(doc, "http://h/", opts...)), `http://h/2# <a href> "" false`)
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
	doc, err := html.Parse(listing(120))
	if err != nil {
		t.Fatal(err)
	}
	few := testing.AllocsPerRun(20, func() { eachFrom(t, doc, 120) })
	doc, err = html.Parse(listing(600))
	if err != nil {
		t.Fatal(err)
	}
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

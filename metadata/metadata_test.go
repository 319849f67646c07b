package metadata_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/metadata"
)

const site = "http://h.example/d/p"

func parsed(t testing.TB, page string) *html.Document {
	t.Helper()
	doc, err := html.Parse([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func extract(t testing.TB, page string, opts ...metadata.Option) *metadata.Page {
	t.Helper()
	return metadata.Extract(parsed(t, page), site, opts...)
}

// checkURLs fails unless all URLs of a page are absolute.
func checkURLs(t *testing.T, p *metadata.Page) {
	t.Helper()
	var urls []string
	if p.Canonical != "" {
		urls = append(urls, p.Canonical)
	}
	for _, a := range p.Alternates {
		urls = append(urls, a.URL)
	}
	for _, f := range p.Feeds {
		urls = append(urls, f.URL)
	}
	for _, i := range p.Icons {
		urls = append(urls, i.URL)
	}
	for _, u := range urls {
		if scheme, _, ok := strings.Cut(u, ":"); !ok || scheme == "" {
			t.Errorf("the URL %q is not absolute", u)
		}
	}
}

func notes(p *metadata.Page) (list []string) {
	for _, n := range p.Notes {
		list = append(list, fmt.Sprint(n.Syntax, ": ", n.Text))
	}
	return list
}

func TestHead(t *testing.T) {
	const page = `<!DOCTYPE html><html prefix="shop: http://shop.example/ns#"><head>
<title> A &amp;
 B </title><title>C</title><base href="/b/">
<meta name=Description content=" about  it ">
<link rel="nofollow Canonical" href="x?q=1#f"><link rel=canonical href=other>
<link rel=alternate hreflang=de href=de><link rel=alternate hreflang=x-default href="//i.example">
<link rel=alternate type="application/rss+xml; charset=utf-8" title="The  news" href=rss><link rel=feed href=f>
<link rel="alternate stylesheet" href=s title=dark type=text/css><link rel=alternate hreflang=fr href=" ">
<link rel="shortcut icon" href=i.ico sizes="16x16 32x32" type=image/x-icon><link rel=apple-touch-icon href=t.png>
<meta property="og:title" content="O"><meta name="og:image" content="1"><meta property=og:image content="2"><meta property="shop:x" content=y>
<meta property=article:published_time content="2024-02-03T04:05:06+01:00"><meta property="other:x" content=z><meta name=no>
<meta name="twitter:card" content=summary><meta property=twitter:site name=twitter:site content="@x"><meta name=author content=me>
<template><meta property=og:title content=T><link rel=canonical href=t></template></head>
<body><svg><title>S</title></svg><meta property="og:late" content=L>`
	p := extract(t, page)
	want := &metadata.Page{
		Title: "A & B", Description: "about it", Canonical: "http://h.example/b/x?q=1#f",
		Published:  time.Date(2024, 2, 3, 3, 5, 6, 0, time.UTC),
		Alternates: []metadata.Alternate{{"de", "http://h.example/b/de"}, {"x-default", "http://i.example/"}},
		Feeds:      []metadata.Feed{{"http://h.example/b/rss", "The news", "application/rss+xml"}, {"http://h.example/b/f", "", ""}},
		Icons: []metadata.Icon{{"http://h.example/b/i.ico", "icon", "image/x-icon", "16x16 32x32"},
			{"http://h.example/b/t.png", "apple-touch-icon", "", ""}},
		OpenGraph: metadata.Properties{{"og:title", "O"}, {"og:image", "1"}, {"og:image", "2"}, {"shop:x", "y"},
			{"article:published_time", "2024-02-03T04:05:06+01:00"}, {"og:late", "L"}},
		Twitter: metadata.Properties{{"twitter:card", "summary"}, {"twitter:site", "@x"}},
	}
	if len(p.Meta) != 11 || p.Meta.Get("author") != "me" || p.Meta.Get("other:x") != "z" || p.Meta.Get("no") != "" {
		t.Errorf("Meta %q", p.Meta)
	}
	if got := p.OpenGraph.All("og:image"); !reflect.DeepEqual(got, []string{"1", "2"}) {
		t.Errorf("og:image %q", got)
	}
	p.Meta, p.Published = nil, p.Published.UTC()
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
}

func TestHeadFallbacks(t *testing.T) {
	for _, test := range []struct{ name, page, title, description, canonical string }{
		{"OpenGraph", `<meta property=og:title content="a  b"><meta property=og:description content=c><meta name=twitter:title content=d>`, "a b", "c", ""},
		{"Twitter", `<meta name=twitter:title content=d><meta property=twitter:description content=e>`, "d", "e", ""},
		{"empty title", `<title> </title><meta property=og:title content=x>`, "x", "", ""},
		{"bad URL", `<link rel=canonical href="http://[">`, "", "", ""},
		{"bad base", `<base href="http://["><link rel=canonical href=x>`, "", "", "http://h.example/d/x"},
		{"nothing", ``, "", "", ""},
	} {
		p := extract(t, test.page)
		if p.Title != test.title || p.Description != test.description || p.Canonical != test.canonical {
			t.Errorf("%s: %q, %q, %q", test.name, p.Title, p.Description, p.Canonical)
		}
	}
}

// Words of rel are separated by white space, and by commas on many pages.
func TestRelWithCommas(t *testing.T) {
	p := extract(t, `<link rel="nofollow,canonical" href=c><link rel="shortcut , ICON" href=i><link rel=",alternate,feed," href=f>
<link rel="alternate,stylesheet" hreflang=fr href=s><link rel=alternate,nofollow hreflang=de href=de><link rel="," hreflang=it href=it>`)
	if p.Canonical != "http://h.example/d/c" || len(p.Icons) != 1 || p.Icons[0].Rel != "icon" || len(p.Feeds) != 1 ||
		len(p.Alternates) != 1 || p.Alternates[0].Language != "de" {
		t.Errorf("%q, icons %+v, feeds %+v, alternates %+v", p.Canonical, p.Icons, p.Feeds, p.Alternates)
	}
}

func TestCharset(t *testing.T) {
	const page = `<link rel=canonical href="?ä">`
	latin1, _ := charset.Lookup("iso-8859-1")
	if p := extract(t, page, metadata.Charset(latin1), nil); p.Canonical != site+"?%E4" {
		t.Errorf("in ISO 8859-1 %q", p.Canonical)
	}
	if p := extract(t, page); p.Canonical != site+"?%C3%A4" {
		t.Errorf("in UTF-8 %q", p.Canonical)
	}
}

func block(json string) string { return `<script type="application/ld+json">` + json + `</script>` }

func TestJSONLD(t *testing.T) {
	for _, test := range []struct {
		name, page string
		want       []string // the blocks
		notes      []string
	}{
		{"as it is", block(` {"@type" : "A", "x":[1,-2.5e+3,true,null,"\u00e4\/"]} `), []string{`{"@type" : "A", "x":[1,-2.5e+3,true,null,"\u00e4\/"]}`}, nil},
		{"list", block(`[{"a":1},{"b":2},3,[{"c":3}]]`), []string{`{"a":1}`, `{"b":2}`}, nil},
		{"two blocks", block(`{"a":1}`) + block(`{"b":2}`), []string{`{"a":1}`, `{"b":2}`}, nil},
		{"empty", block(``) + block(" \n") + block(`{}`) + block(`[]`) + block(`"x"`), []string{`{}`}, nil},
		{"parameters of the type", `<script type=" Application/LD+JSON ; charset=utf-8">{"a":1}</script>`, []string{`{"a":1}`}, nil},
		{"other scripts", `<script>{"a":1}</script><script type="application/json">{"a":1}</script>`, nil, nil},
		{"in SVG and templates", `<svg>` + block(`{"a":1}`) + `</svg><template>` + block(`{"a":1}`) + `</template>`, nil, nil},
		{"HTML comment around", block("<!--\n{\"a\":1}\n//-->"), []string{`{"a":1}`}, []string{"a mark of HTML or XML around the JSON was left out", "a comment was left out"}},
		{"HTML comment before", block("<!-- by a plugin -->\n{\"a\":1}"), []string{`{"a":1}`}, []string{"a comment was left out"}},
		{"CDATA", block(`<![CDATA[{"a":1}]]>`), []string{`{"a":1}`}, []string{"a mark of HTML or XML around the JSON was left out"}},
		{"CDATA in comments, in one line", block(`//<![CDATA[ {"a":"//x"} //]]>`), []string{`{"a":"//x"}`},
			[]string{"a comment was left out", "a mark of HTML or XML around the JSON was left out"}},
		{"comments", block("{/* x */\"a\"/*,*/:1, // }\n\"b\":[1,/*2,*/]}"), []string{"{\"a\":1, \n\"b\":[1]}"},
			[]string{"a comment was left out", "a comma before a closing bracket was left out"}},
		{"trailing commas", block(`{"a":[1,2, ],"b":{"c":[],},}`), []string{`{"a":[1,2 ],"b":{"c":[]}}`}, []string{"a comma before a closing bracket was left out"}},
		{"commas in rows", block(`[{"a":[1,,2,,,]},,]`), []string{`{"a":[1,2]}`}, []string{"a second comma was left out", "a comma before a closing bracket was left out"}},
		{"control characters", block("{\"a\":\"x\ny\tz\x01\"}"), []string{`{"a":"x\ny\tz\u0001"}`}, []string{"a control character in a string was escaped"}},
		{"escapes", block(`{"a":"it\'s \x \u12 \\"}`), []string{`{"a":"it's \\x \\u12 \\"}`},
			[]string{"a backslash that escapes nothing was left out", "a backslash that escapes nothing was doubled"}},
		{"strange white space", block("\ufeff{\u00a0\"a\":\x00 1\v}"), []string{`{"a": 1}`}, []string{"white space that JSON does not know was left out"}},
		{"semicolon", block(`{"a":1};`), []string{`{"a":1}`}, []string{"a sign behind the JSON was left out"}},
		{"several values", block(`{"a":1}{"b":[2,]},{"c":3}`), []string{`{"a":1}`, `{"b":[2]}`, `{"c":3}`},
			[]string{"several values were read from one block", "a comma before a closing bracket was left out", "a sign behind the JSON was left out"}},
		{"escaped as HTML", block(`{&quot;a&quot;:&quot;b &amp; c&quot;}`), []string{`{"a":"b & c"}`}, nil},
		{"not UTF-8", block("{\"a\":\"\xff\"}"), []string{"{\"a\":\"\ufffd\"}"}, nil},
		{"no JSON", block(`{"a":1}{b}`), []string{`{"a":1}`},
			[]string{"several values were read from one block", `a block that is not JSON was left out: there is 'b' instead of a name in quotes at byte 8 of the block`}},
		{"too deep", block(strings.Repeat(`[`, 501)), nil, []string{"a block that is not JSON was left out: the value is too deep at byte 500 of the block"}},
	} {
		p := extract(t, test.page)
		var got, gotNotes []string
		for _, n := range p.JSONLD {
			got = append(got, n.String())
			if !json.Valid([]byte(n.String())) {
				t.Errorf("%s: %q is not JSON", test.name, n)
			}
		}
		for _, n := range p.Notes {
			gotNotes = append(gotNotes, n.Text)
			if n.Syntax != metadata.JSONLD || !strings.HasPrefix(test.page[n.Offset:], "<script") {
				t.Errorf("%s: %+v", test.name, n)
			}
		}
		if !reflect.DeepEqual(got, test.want) || !reflect.DeepEqual(gotNotes, test.notes) {
			t.Errorf("%s:\n got %q\nwant %q\n got %q\nwant %q", test.name, got, test.want, gotNotes, test.notes)
		}
	}
}

// What is no JSON is no value, whatever else is repaired.
func TestNotJSON(t *testing.T) {
	for _, text := range []string{`{`, `}`, `]`, `{]`, `[}`, `{"a"}`, `{"a":}`, `{"a":1 "b":2}`, `{,}x`, `[1 2]`, `{a:1}`, `{'a':1}`, `"x`, `"x\`, `[01]`, `[.5]`, `[1.]`, `[1e]`,
		`[+1]`, `[tru]`, `[-]`, `[0x1]`, `[NaN]`, `{"a":1}}`, `/* x`, `<!-- x`, `/`, `{"a"::1}`, `:`, `{1:2}`, `[1:2]`} {
		p := extract(t, block(text))
		if len(p.Notes) == 0 || !strings.Contains(p.Notes[len(p.Notes)-1].Text, "not JSON") {
			t.Errorf("%s: nodes %v, notes %q", text, p.JSONLD, notes(p))
		}
	}
}

func TestNodes(t *testing.T) {
	const page = `<script type="application/ld+json">{"@context":"https://schema.org","@graph":[
{"@type":["Product","http://schema.org/Thing"],"@id":"#p","name":"N","offers":[{"@type":"Offer","price":"1.50"},{"@type":"schema:Offer","price":2,"seller":{"@id":"#s"}}]},
{"@type":"Organization","@id":"#s","name":"S","datePublished":"2020-01-02"},{"@graph":[{"@type":"http://other.example/Product"}]}]}</script>
<div itemscope itemtype="https://schema.org/Product"><b itemprop=name>M</b></div>
<div vocab="http://schema.org/" typeof=Product><b property=name>R</b></div>`
	p := extract(t, page)
	list := func(name string) (values []string) {
		for n := range p.TypeOf(name) {
			values = append(values, fmt.Sprint(n.Syntax(), " ", n.ID(), n.Get("name"), n.Get("price"), n.Types()))
		}
		return values
	}
	if got, want := list("Product"), []string{"JSON-LD #pN[Product http://schema.org/Thing]", "microdata M[Product]", "RDFa R[Product]"}; !reflect.DeepEqual(got, want) {
		t.Errorf("products %q, want %q", got, want)
	}
	if got, want := list("https://schema.org/Offer"), []string{"JSON-LD 1.50[Offer]", "JSON-LD 2[schema:Offer]"}; !reflect.DeepEqual(got, want) {
		t.Errorf("offers %q, want %q", got, want)
	}
	if got := list("http://other.example/Product"); len(got) != 1 {
		t.Errorf("of another vocabulary %q", got)
	}
	if n, ok := p.ByID("#s"); !ok || n.Get("name") != "S" || n.Get(`\@id`) != "#s" {
		t.Errorf("#s is %v, %v", n, ok)
	}
	if n, ok := p.ByID("#t"); ok {
		t.Errorf("#t is %v", n)
	}
	for n := range p.TypeOf("Product") {
		var product struct {
			Name   string
			Offers []struct{ Price any }
		}
		if err := n.Decode(&product); err != nil || product.Name != "N" || len(product.Offers) != 2 || product.Offers[0].Price != "1.50" {
			t.Errorf("decoded %+v, %v", product, err)
		}
		var wrong struct{ Name int }
		if err := n.Decode(&wrong); err == nil || !strings.Contains(err.Error(), `"Product"`) || !strings.Contains(err.Error(), "JSON-LD") {
			t.Errorf("a wrong type is %v", err)
		}
		break
	}
	if p.Published.Format(time.DateOnly) != "2020-01-02" || !p.Modified.IsZero() {
		t.Errorf("published %v, modified %v", p.Published, p.Modified)
	}
	var none metadata.Node
	if none.String() != "{}" || none.ID() != "" || none.Types() != nil || none.Is("") || none.Get("x") != "" {
		t.Error("the zero Node is no empty object")
	}
}

func TestNothing(t *testing.T) {
	xml, err := html.ParseXML([]byte(`<html><head><title>x</title></head></html>`))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*metadata.Page{metadata.Extract(nil, site), metadata.Extract(xml, site), extract(t, ""), extract(t, "text")} {
		if !reflect.DeepEqual(p, new(metadata.Page)) {
			t.Errorf("%+v", p)
		}
	}
}

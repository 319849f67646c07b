package metadata_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/metadata"
)

var hostile = flag.Int("hostile", 5, "the size of the pages that are made to take long, in MiB")

// Pages that are made to take long or much memory are read in time and memory in proportion to their size. What would take time in
// proportion to the square of the size would end at the limit of time for all tests.
func TestHostile(t *testing.T) {
	size := *hostile << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	chain := func(n int, one func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(one(i))
		}
		return b.String()
	}
	for _, test := range []struct{ name, page string }{
		{"open brackets", block(fill("["))}, {"open objects", block(fill(`{"a":`))}, {"flat list", block("[" + fill("{},") + "{}]")},
		{"10,000 levels", block(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000))}, {"values", block(fill("{}"))},
		{"long string in 499 objects", block(strings.Repeat(`{"a":`, 499) + `"` + fill(`\\x`) + `"` + strings.Repeat("}", 499))},
		{"long list in a graph", block(`{"@graph":[` + fill("1,") + "1]}")}, {"many types", block(`{"@type":[` + fill("1,") + "1]}")},
		{"long list in 249 graphs", block(strings.Repeat(`{"@graph":[`, 249) + fill(`"\\",`) + "1" + strings.Repeat("]}", 249))},
		{"commas", block("[1" + fill(",") + "]")}, {"comments", block(fill("<!--"))}, {"line comments", block(fill("//\n"))}, {"open comments", block(fill("/*"))},
		{"escapes", block(`{"a":"` + fill(`\'`) + `"}`)}, {"control characters", block(`{"a":"` + fill("\n") + `"}`)}, {"NULs", fill("\x00")},
		{"NULs in a block", block(fill("\x00"))}, {"long string", block(`{"a":"` + fill("x") + `"}`)}, {"quotes", block(fill("&quot;"))},
		{"blocks", fill(block("{"))}, {"graphs", block(fill(`{"@graph":[`))}, {"not UTF-8", block(fill("\xff"))},
		{"metas", fill("<meta property=og:a content=b>")}, {"links", fill("<link rel='alternate icon' hreflang=a href=b>")},
		{"prefixes", "<html prefix='" + fill("a: b ") + "'><meta property=a:b content=c>"}, {"long title", "<title>" + fill("x ")},
		{"items", fill("<b itemscope></b>")}, {"properties", "<div itemscope>" + fill("<b itemprop=a>x</b>")}, {"names", "<div itemscope><b itemprop='" + fill("a b ") + "'>x"},
		{"properties in each other", "<div itemscope>" + strings.Repeat("<div itemprop=a>", 10_000) + fill("x ")},
		{"items in each other", strings.Repeat("<div itemscope itemprop='a b'>", 10_000) + fill("x ")},
		{"itemref to all", "<div id=x>" + fill("<b itemprop=a>x</b>") + "</div>" + strings.Repeat("<div itemscope itemref=x></div>", 1000)},
		{"itemref doubles", "<div itemscope itemref=i0></div>" + chain(100, func(i int) string {
			return fmt.Sprintf("<div id=i%d itemscope itemprop='a b' itemref='i%d'></div>", i, i+1)
		})},
		{"itemref refers", "<div itemscope itemref='" + fill("x y ") + "'></div><b id=x itemprop=a>x</b>"},
		{"typed in each other", strings.Repeat("<div typeof=a property=b>", 10_000) + fill("x ")}, {"typed", fill("<b typeof=a property=b></b>")},
		{"vocabularies", strings.Repeat("<div typeof=a vocab=b prefix='c: d'>", 10_000) + fill("x ")},
	} {
		t.Run(test.name, func(t *testing.T) {
			doc, err := html.Parse([]byte(test.page))
			if err != nil {
				t.Logf("the parser refuses it: %v", err)
				return
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			p := metadata.Extract(doc, site)
			took := time.Since(begin)
			runtime.ReadMemStats(&after)
			nodes := 0
			for range p.TypeOf("Product") {
				nodes++
			}
			if made := after.TotalAlloc - before.TotalAlloc; deep.Checks() && made > uint64(16*len(test.page)+64<<20) {
				t.Errorf("%d MB were allocated for a page of %d MB", made>>20, len(test.page)>>20)
			}
			t.Logf("%v, and %d nodes in %v", took, nodes, time.Since(begin)-took)
		})
	}
}

// Nodes are looked for to a depth of 50. It fails if a page can have each of its levels read again for each of 500 around it.
func TestDeepNodes(t *testing.T) {
	for levels, want := range map[int]int{50: 1, 51: 0} {
		p := extract(t, block(strings.Repeat(`{"a":`, levels)+`{"@type":"Product","@id":"#p","name":"N"}`+strings.Repeat("}", levels)))
		found := 0
		for range p.TypeOf("Product") {
			found++
		}
		if _, ok := p.ByID("#p"); found != want || ok != (want == 1) {
			t.Errorf("%d levels: %d found, by its identifier %v", levels, found, ok)
		}
	}
}

// The naughty strings in every field: in texts, attributes, references and JSON-LD. Texts come through with their white
// space collapsed, attributes of items and JSON as they are, and URLs are absolute or left out.
func TestNaughtyStrings(t *testing.T) {
	var naughty []string
	if err := json.Unmarshal(conformance.Read(t, "blns.json"), &naughty); err != nil {
		t.Fatal(err)
	}
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;")
	for _, text := range naughty {
		object, err := json.Marshal(map[string]string{"@type": "T", "name": text, "datePublished": text})
		if err != nil {
			t.Fatal(err)
		}
		s := escape.Replace(text)
		p := extract(t, "<title>"+s+`</title><meta name=description content="`+s+`"><meta property=og:x content="`+s+`"><meta name=twitter:x content="`+s+`"><meta name=date content="`+s+
			`"><link rel=canonical href="`+s+`"><link rel=alternate hreflang="`+s+`" href="`+s+`"><link rel=feed title="`+s+`" href="`+s+`"><link rel=icon sizes="`+s+`" href="`+s+`">`+
			block(string(object))+`<div itemscope><b itemprop=a>`+s+`</b><meta itemprop=b content="`+s+`"></div><div typeof=T><b property=a content="`+s+`"></b></div>`)
		collapsed := strings.Join(strings.Fields(text), " ")
		if p.Title != collapsed || p.Description != collapsed || p.Microdata[0].Get("a") != collapsed {
			t.Errorf("%q: title %q, description %q, microdata %q", text, p.Title, p.Description, p.Microdata[0].Get("a"))
		}
		if got := p.Microdata[0].Get("b"); got != text {
			t.Errorf("%q: microdata of an attribute %q", text, got)
		}
		if got := p.JSONLD[0].Get("name"); got != strings.ToValidUTF8(text, "\ufffd") {
			t.Errorf("%q: JSON-LD %q", text, got)
		}
		checkURLs(t, p)
		for n := range p.Nodes() {
			checkNode(t, n)
		}
	}
}

// Pages that are cut off anywhere are read as far as they go.
func TestCutOff(t *testing.T) {
	for i := range shopPage {
		extract(t, shopPage[:i])
	}
	if p := extract(t, string(bytes.Repeat([]byte{0, 0xff, '<', '"'}, 1000))); len(p.Notes) > 0 {
		t.Error(p.Notes)
	}
}

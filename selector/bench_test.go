package selector_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/selector"
)

// listing is a page of about 20 kB with 120 entries.
func listing() []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><html><head><title>Shop</title></head><body><ul id=list>")
	for i := range 120 {
		fmt.Fprintf(&b, `<li class="entry"><h3><a href="/entry/%d?from=list" title="Entry %d">Entry number %d</a></h3>`+
			"\n  <p>Some text about it &amp; more.</p><span class=price>%d.99</span></li>\n", i, i, i, i)
	}
	b.WriteString("</ul></body></html>")
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	body := listing()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		selector.Parse(body)
	}
}

func BenchmarkCSS(b *testing.B) {
	benchmarkQuery(b, (*selector.Document).CSS, "li.entry h3 > a::attr(href)")
}

func BenchmarkXPath(b *testing.B) {
	benchmarkQuery(b, (*selector.Document).XPath, "//li[@class='entry']/h3/a/@href")
}

func benchmarkQuery(b *testing.B, query func(*selector.Document, string) *selector.Selection, text string) {
	doc := selector.Parse(listing())
	b.ReportAllocs()
	for b.Loop() {
		if n := query(doc, text).Len(); n != 120 {
			b.Fatalf("found %d", n)
		}
	}
}

func BenchmarkText(b *testing.B) {
	doc := selector.Parse(listing())
	b.ReportAllocs()
	for b.Loop() {
		doc.CSS("li").Texts()
	}
}

package selector_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/andybalholm/cascadia"
	xhtml "golang.org/x/net/html"

	"github.com/tegenaria/tegenaria/links"
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
	benchmarkQuery(b, func(d *selector.Document, expr string) *selector.Selection { return d.XPath(expr) }, "//li[@class='entry']/h3/a/@href")
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

// product is a page of 20 kB as the pages of shops are: 34 links, an item, and rows of text.
func product() []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html><head><title>Page 17</title></head><body>\n<ul class=\"links\">\n")
	for i := range 34 {
		fmt.Fprintf(&b, "<li><a href=\"/p/%d\">quartz ladder</a></li>\n", 37*i+52)
	}
	b.WriteString("</ul>\n<div class=\"product\"><h1 class=\"title\">amber desk fresh island warm</h1>" +
		"<span class=\"sku\">SKU-0000017</span><span class=\"price\">412.50</span>\n<p class=\"description\">" +
		strings.Repeat("narrow kettle umbrella ", 8) + "</p><ul class=\"tags\"><li>calm</li><li>dark</li><li>rough</li></ul></div>\n")
	for i := 0; b.Len() < 20_000; i++ {
		fmt.Fprintf(&b, "<div class=\"row r%d\"><p>%s</p><span data-n=\"%d\">bright velvet yarn</span></div>\n", i%7,
			strings.Repeat("heavy mirror garden ", 6), i)
	}
	b.WriteString("</body></html>\n")
	return []byte(b.String())
}

// BenchmarkPage does what a spider does with a page: parse it, run five selectors, resolve all links.
func BenchmarkPage(b *testing.B) {
	b.Run("product", func(b *testing.B) {
		benchmarkPage(b, product(), "title", ".product h1.title", ".price", "p.description", "ul.tags > li")
	})
	b.Run("listing", func(b *testing.B) {
		benchmarkPage(b, listing(), "title", "li.entry h3 > a", ".price", "#list > li", "li p")
	})
}

func benchmarkPage(b *testing.B, body []byte, queries ...string) {
	b.Run("selector", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			doc := selector.Parse(body)
			for _, q := range queries {
				if doc.CSS(q).Len() == 0 {
					b.Fatal(q)
				}
			}
			for ref := range links.Each(body, "http://shop.test/") {
				if len(ref.URL) == 0 {
					b.Fatal("no URL")
				}
			}
		}
	})
	b.Run("cascadia", func(b *testing.B) {
		var compiled []cascadia.Selector
		for _, q := range queries {
			compiled = append(compiled, cascadia.MustCompile(q))
		}
		anchors := cascadia.MustCompile("a[href]")
		base, err := url.Parse("http://shop.test/")
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			root, err := xhtml.Parse(strings.NewReader(string(body)))
			if err != nil {
				b.Fatal(err)
			}
			for _, q := range compiled {
				if len(cascadia.QueryAll(root, q)) == 0 {
					b.Fatal(q)
				}
			}
			for _, a := range cascadia.QueryAll(root, anchors) {
				for _, attr := range a.Attr {
					if attr.Key == "href" {
						if _, err := base.Parse(attr.Val); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
		}
	})
}

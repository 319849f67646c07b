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

// BenchmarkPage does what a spider does with a page: parse it, run five selectors, resolve all links.
func BenchmarkPage(b *testing.B) {
	body := listing()
	queries := []string{"title", "li.entry h3 > a", ".price", "#list > li", "li p"}
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

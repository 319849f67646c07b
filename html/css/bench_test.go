package css_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/andybalholm/cascadia"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/css"
)

// shop makes a page of about size bytes that looks like a list of products.
func shop(size int) string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><title>Shop</title><link rel="stylesheet" href="/s.css"></head>
<body class="shop"><nav id="menu"><ul><li><a href="/">Home</a></li><li><a href="/all" class="active">All</a></li></ul></nav>
<main id="content"><div class="list">`)
	for i := 0; b.Len() < size-120; i++ {
		fmt.Fprintf(&b, `<article class="product card" data-id="%d"><h3 class="title"><a href="/p/%d" title="Product %d">Product number %d</a></h3>
<p class="text">Some words about it &amp; <em>why</em> it is good.</p><div class="row"><span class="price">%d.99</span><a class="buy button" href="/buy/%d">Buy</a></div></article>
`, i, i, i, i, i, i)
	}
	b.WriteString(`</div></main><footer><p>The end. <a href="/about">About</a></p></footer></body></html>`)
	return b.String()
}

var pageSizes = []struct {
	name string
	size int
}{{"2KB", 2_000}, {"20KB", 20_000}, {"100KB", 100_000}}

var benchSelectors = []struct{ name, text string }{
	{"class", ".price"},
	{"id", "#menu"},
	{"name", "article"},
	{"compound", "a.buy.button"},
	{"attribute", "a[href]"},
	{"prefix", `a[href^="/p/"]`},
	{"descendant", "#content .product .price"},
	{"child", "article.product > h3 > a"},
	{"deep", "body main div article div span"},
	{"sibling", "h3 + p em"},
	{"nth", ".row > :nth-child(2)"},
	{"oftype", "article p:first-of-type"},
	{"not", "a:not(.buy)"},
	{"has", "article:has(em)"},
	{"list", "h3 a, .price, nav a"},
	{"universal", "*"},
}

// bench measures what is done with a page that is the same each time.
func bench(b *testing.B, name string, do func(b *testing.B)) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			do(b)
		}
	})
}

// benchFresh measures what is done with a page that was not queried before: with the making of the index, but not of the tree.
func benchFresh(b *testing.B, name, page string, do func(b *testing.B, doc *html.Document)) {
	source, doc := []byte(page), parse(b, page)
	bench(b, name, func(b *testing.B) {
		b.StopTimer()
		if err := doc.Reset(source); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		do(b, doc)
	})
}

// BenchmarkSelect measures a query of the whole page by a compiled selector; the index of the
// document is there.
func BenchmarkSelect(b *testing.B) {
	for _, page := range pageSizes {
		doc := parse(b, shop(page.size))
		root, _ := parseX(b, []byte(shop(page.size)))
		for _, s := range benchSelectors {
			ours, theirs := css.MustCompile(s.text), cascadia.MustCompile(s.text)
			want := len(cascadia.QueryAll(root, theirs))
			bench(b, page.name+"/"+s.name+"/css", func(b *testing.B) {
				if n := len(ours.Select(doc.Root())); n != want {
					b.Fatalf("found %d, cascadia %d", n, want)
				}
			})
			bench(b, page.name+"/"+s.name+"/cascadia", func(*testing.B) { cascadia.QueryAll(root, theirs) })
		}
	}
}

// BenchmarkSweep measures the same queries by a sweep of the page, without the index.
func BenchmarkSweep(b *testing.B) {
	for _, page := range pageSizes {
		doc := parse(b, shop(page.size))
		for _, s := range benchSelectors {
			selector := css.MustCompile(s.text)
			want := len(selector.Indexed(doc.Root()))
			_, steps, ok := selector.Swept(doc.Root(), math.MaxInt)
			if !ok {
				continue
			}
			b.Run(page.name+"/"+s.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if found, _, _ := selector.Swept(doc.Root(), math.MaxInt); len(found) != want {
						b.Fatalf("found %d, want %d", len(found), want)
					}
				}
				b.ReportMetric(float64(steps), "steps/op")
			})
		}
	}
}

// BenchmarkFresh measures five queries of a page that was not queried before.
func BenchmarkFresh(b *testing.B) {
	var ours []*css.Selector
	var theirs []cascadia.Selector
	for _, q := range []string{"h3.title a", ".price", "article.product", "a.buy[href]", "#menu a"} {
		ours, theirs = append(ours, css.MustCompile(q)), append(theirs, cascadia.MustCompile(q))
	}
	for _, page := range pageSizes {
		benchFresh(b, page.name+"/css", shop(page.size), func(_ *testing.B, doc *html.Document) {
			for _, s := range ours {
				s.Select(doc.Root())
			}
		})
		root, _ := parseX(b, []byte(shop(page.size)))
		bench(b, page.name+"/cascadia", func(*testing.B) {
			for _, s := range theirs {
				cascadia.QueryAll(root, s)
			}
		})
	}
}

// BenchmarkHundred measures a hundred queries of a page that was not queried before.
func BenchmarkHundred(b *testing.B) {
	var queries []*css.Selector
	for _, s := range benchSelectors[:10] {
		queries = append(queries, css.MustCompile(s.text))
	}
	for _, page := range pageSizes {
		benchFresh(b, page.name, shop(page.size), func(_ *testing.B, doc *html.Document) {
			for i := range 100 {
				queries[i%len(queries)].Select(doc.Root())
			}
		})
	}
}

// BenchmarkItems measures what a spider does with a list of products: a query for the items and four
// inside each, on a page that was not queried before.
func BenchmarkItems(b *testing.B) {
	items := css.MustCompile("article.product")
	fields := []*css.Selector{css.MustCompile("h3.title > a"), css.MustCompile(".price"), css.MustCompile("p.text em"), css.MustCompile("a.buy::attr(href)")}
	for _, page := range pageSizes {
		var space [4]html.Ref
		benchFresh(b, page.name, shop(page.size), func(b *testing.B, doc *html.Document) {
			for _, item := range items.Select(doc.Root()) {
				for _, field := range fields {
					if len(field.Append(space[:0], item.Node())) != 1 {
						b.Fatal(field)
					}
				}
			}
		})
	}
}

// BenchmarkNested measures a query inside each of the products, as spiders do it.
func BenchmarkNested(b *testing.B) {
	page := shop(20_000)
	doc := parse(b, page)
	root, _ := parseX(b, []byte(page))
	items, price := css.MustCompile("article"), css.MustCompile(".row > .price")
	itemsX, priceX := cascadia.MustCompile("article"), cascadia.MustCompile(".row > .price")
	bench(b, "css", func(b *testing.B) {
		for _, item := range items.Select(doc.Root()) {
			if _, ok := price.First(item.Node()); !ok {
				b.Fatal("no price")
			}
		}
	})
	bench(b, "cascadia", func(b *testing.B) {
		for _, item := range cascadia.QueryAll(root, itemsX) {
			if cascadia.Query(item, priceX) == nil {
				b.Fatal("no price")
			}
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	const text = "div.quote > a[href^='/x']:not(.y) span:nth-child(2n+1)"
	bench(b, "css", func(*testing.B) { css.MustCompile(text) })
	bench(b, "cascadia", func(*testing.B) { cascadia.MustCompile(text) })
}

// BenchmarkIndex measures the making of the index in full.
func BenchmarkIndex(b *testing.B) {
	for _, page := range pageSizes {
		benchFresh(b, page.name, shop(page.size), func(_ *testing.B, doc *html.Document) { doc.Index().Words() })
	}
}

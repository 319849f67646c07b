package html_test

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"

	"github.com/tegenaria/tegenaria/html"
)

// page makes a page of about the given size, of the shape of a shop: head, navigation, a product with
// a table, paragraphs with links and formatting, a list of related products.
func page(size int) []byte {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Product 4711 &ndash; The Shop</title>
<link rel="stylesheet" href="/static/main.css?v=3">
<link rel="canonical" href="https://shop.example/products/4711">
<script>window.dataLayer = window.dataLayer || []; if (1 < 2) { dataLayer.push({page: "product"}); }</script>
</head>
<body class="product page">
<nav id="top"><ul>
`)
	for i := range 12 {
		fmt.Fprintf(&b, "<li class=\"item\"><a href=\"/category/%d\" title=\"Category %d\">Category %d</a></li>\n", i, i, i)
	}
	b.WriteString(`</ul></nav>
<main>
<h1 class="title" itemprop="name">Product 4711</h1>
<p class="price"><span class="amount">12.50</span> <span class="currency">EUR</span></p>
<img src="/img/4711.jpg" alt="A product" width="640" height="480">
`)
	for i := 0; b.Len() < size-200; i++ {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, "<div class=\"block\" id=\"b%d\"><p>The quick brown fox jumps over the lazy dog, and <b>then</b> it reads "+
				"<a class=\"more link\" href=\"/products/%d?ref=text&amp;pos=%d\">about another product</a> that is described in a few words here. "+
				"Nobody knows why it does so, but <em>everybody</em> has seen it.</p></div>\n", i, i*7, i)
		case 1:
			fmt.Fprintf(&b, "<table class=\"facts\"><tr><th>Weight</th><td>%d g</td></tr><tr><th>Size</th><td>%d &times; 20 mm</td></tr></table>\n", i*3, i)
		case 2:
			fmt.Fprintf(&b, "<!-- block %d --><ul><li>First point of the list</li><li>Second point, a bit longer than the first one</li></ul>\n", i)
		case 3:
			fmt.Fprintf(&b, "<p>Plain text without any markup in it, which is what pages are mostly made of: words, words, words, and "+
				"sometimes a number such as %d or a name. It goes on for a while so that the proportion is right.<br>Then it ends.</p>\n", i)
		}
	}
	b.WriteString("</main>\n<footer><p>&copy; The Shop</p></footer>\n</body>\n</html>\n")
	return []byte(b.String())
}

var sizes = []struct {
	name string
	size int
}{{"2KB", 2 << 10}, {"20KB", 20 << 10}, {"100KB", 100 << 10}}

// bench measures what is done with a page.
func bench(b *testing.B, name string, source []byte, do func() error) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(int64(len(source)))
		b.ReportAllocs()
		for b.Loop() {
			if err := do(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchParse compares the parser with that of x/net.
func benchParse(b *testing.B, name string, source []byte) {
	bench(b, name+"/ours", source, func() error {
		_, err := html.Parse(source)
		return err
	})
	bench(b, name+"/xnet", source, func() error {
		_, err := nethtml.Parse(bytes.NewReader(source))
		return err
	})
}

func BenchmarkParse(b *testing.B) {
	for _, s := range sizes {
		src := page(s.size)
		benchParse(b, s.name, src)
		var d html.Document
		bench(b, s.name+"/reset", src, func() error { return d.Reset(src) })
	}
}

// BenchmarkPages parses real pages: ten of the folder that -pythondoc names, spread over their sizes.
func BenchmarkPages(b *testing.B) {
	files := pythonPages(b)
	if len(files) < 10 {
		b.Fatalf("%d pages", len(files))
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(len(a.source), len(b.source)) })
	for i := range 10 {
		f := files[(2*i+1)*len(files)/20]
		benchParse(b, fmt.Sprintf("%s/%dKB", filepath.Base(f.path), (len(f.source)+512)>>10), f.source)
	}
}

// BenchmarkTags reads the tags of a page and the addresses of its links.
func BenchmarkTags(b *testing.B) {
	for _, s := range sizes {
		src, tags := page(s.size), html.NewTags(nil)
		bench(b, s.name+"/ours", src, func() error {
			tags.Reset(src)
			ourTags(tags)
			return nil
		})
		bench(b, s.name+"/xnet", src, func() error {
			netTags(src)
			return nil
		})
	}
}

func ourTags(tags *html.Tags) (links int) {
	for tags.Next() {
		if tags.Atom() == html.AtomA && !tags.IsEnd() {
			if _, ok := tags.Attr(html.AtomHref); ok {
				links++
			}
		}
	}
	return links
}

func netTags(src []byte) (links int) {
	z := nethtml.NewTokenizer(bytes.NewReader(src))
	for {
		switch z.Next() {
		case nethtml.ErrorToken:
			return links
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			name, more := z.TagName()
			if string(name) != "a" {
				continue
			}
			for more {
				var key []byte
				key, _, more = z.TagAttr()
				if string(key) == "href" {
					links++
				}
			}
		}
	}
}

// BenchmarkTokenizer reads the tokens of a page, with names, attributes and text.
func BenchmarkTokenizer(b *testing.B) {
	for _, s := range sizes {
		src, z := page(s.size), html.NewTokenizer(nil)
		bench(b, s.name+"/ours", src, func() error {
			z.Reset(src)
			for kind := z.Next(); kind != html.EndToken; kind = z.Next() {
				switch kind {
				case html.TextToken, html.CommentToken:
					z.Text()
				case html.StartTagToken:
					for range z.Attrs() {
					}
				}
			}
			return nil
		})
		bench(b, s.name+"/xnet", src, func() error {
			z := nethtml.NewTokenizer(bytes.NewReader(src))
			for kind := z.Next(); kind != nethtml.ErrorToken; kind = z.Next() {
				switch kind {
				case nethtml.TextToken, nethtml.CommentToken:
					z.Text()
				case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
					_, more := z.TagName()
					for more {
						_, _, more = z.TagAttr()
					}
				}
			}
			return nil
		})
	}
}

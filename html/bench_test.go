package html_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
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

func BenchmarkParse(b *testing.B) {
	for _, s := range sizes {
		src := page(s.size)
		b.Run(s.name+"/ours", func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := html.Parse(src); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.name+"/reset", func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			var d html.Document
			for b.Loop() {
				if err := d.Reset(src); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.name+"/xnet", func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := nethtml.Parse(bytes.NewReader(src)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPages parses real pages: ten of the folder that -pythondoc names, spread over their sizes.
func BenchmarkPages(b *testing.B) {
	if *pythonDoc == "" {
		b.Skip("no documentation to parse: run this benchmark with -args -pythondoc DIR")
	}
	type file struct {
		name   string
		source []byte
	}
	var files []file
	err := filepath.WalkDir(*pythonDoc, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".html" {
			return err
		}
		source, err := os.ReadFile(path)
		files = append(files, file{filepath.Base(path), source})
		return err
	})
	if err != nil || len(files) < 10 {
		b.Fatalf("%d pages, %v", len(files), err)
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(len(a.source), len(b.source)) })
	for i := range 10 {
		f := files[(2*i+1)*len(files)/20]
		name := fmt.Sprintf("%s/%dKB", f.name, (len(f.source)+512)>>10)
		b.Run(name+"/ours", func(b *testing.B) {
			b.SetBytes(int64(len(f.source)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := html.Parse(f.source); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/xnet", func(b *testing.B) {
			b.SetBytes(int64(len(f.source)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := nethtml.Parse(bytes.NewReader(f.source)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTags reads the tags of a page and the addresses of its links.
func BenchmarkTags(b *testing.B) {
	for _, s := range sizes {
		src := page(s.size)
		b.Run(s.name+"/ours", func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			tags := html.NewTags(nil)
			for b.Loop() {
				tags.Reset(src)
				ourTags(tags)
			}
		})
		b.Run(s.name+"/xnet", func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				netTags(src)
			}
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
		src := page(s.size)
		b.Run(s.name+"/ours", func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			z := html.NewTokenizer(nil)
			for b.Loop() {
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
			}
		})
		b.Run(s.name+"/xnet", func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
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
			}
		})
	}
}

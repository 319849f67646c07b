package links_test

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	ourhtml "github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/links"
)

// listing is a page with n links and their surroundings, about 170 bytes each.
func listing(n int) []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><html><head><title>Shop</title></head><body><ul id=list>")
	for i := range n {
		fmt.Fprintf(&b, `<li class="entry"><h3><a href="/entry/%d?from=list" title="Entry %d">Entry number %d</a></h3>`+
			"\n  <p>Some text about it &amp; more.</p><span class=price>%d.99</span></li>\n", i, i, i, i)
	}
	b.WriteString("</ul></body></html>")
	return []byte(b.String())
}

func BenchmarkExtract(b *testing.B) {
	body := listing(120)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if n := len(links.Extract(body, "https://example.com/list/")); n != 120 {
			b.Fatalf("found %d", n)
		}
	}
}

// BenchmarkEach compares with what it would be written as on golang.org/x/net/html and net/url, on
// made-up pages (also when they were parsed before) and, with -documentation, on ten real ones.
func BenchmarkEach(b *testing.B) {
	const site = "https://example.com/list/"
	run := func(name string, pages [][]byte, find func(body []byte) int) {
		b.Run(name, func(b *testing.B) {
			size, want := 0, 0
			for _, page := range pages {
				size += len(page)
				want += eachOfTokenizer(b, page, site)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, page := range pages {
					n += find(page)
				}
				if n != want {
					b.Fatalf("found %d, want %d", n, want)
				}
			}
		})
	}
	with := func(opts ...links.Option) func([]byte) int {
		return func(body []byte) (n int) {
			for range links.Each(body, site, opts...) {
				n++
			}
			return n
		}
	}
	x := func(body []byte) int { return eachOfTokenizer(b, body, site) }
	for _, n := range []int{12, 120, 600} {
		pages := [][]byte{listing(n)}
		size := fmt.Sprintf("%dkB", (len(pages[0])+500)/1000)
		run(size+"/ours", pages, with())
		doc, err := ourhtml.Parse(pages[0])
		if err != nil {
			b.Fatal(err)
		}
		run(size+"/parsed", pages, func([]byte) (n int) {
			for range links.EachFrom(doc, site) {
				n++
			}
			return n
		})
		run(size+"/x", pages, x)
	}
	pages := [][]byte{listing(120)}
	run("filtered", pages, with(links.Allow("/entry/"), links.Domains("example.com"), links.DenyExtensions(links.IgnoredExtensions()...)))
	run("everything", pages, with(links.Everything()))
	if *documentation == "" {
		return
	}
	pages = nil
	all := documentationPages(b)
	for i := range 10 {
		page, err := os.ReadFile(filepath.Join(*documentation, all[i*len(all)/10]))
		if err != nil {
			b.Fatal(err)
		}
		pages = append(pages, page)
	}
	run("documentation/ours", pages, with())
	run("documentation/x", pages, x)
}

// eachOfTokenizer finds links with the tokenizer of golang.org/x/net/html and net/url.
func eachOfTokenizer(b *testing.B, body []byte, pageURL string) (n int) {
	base, err := url.Parse(pageURL)
	if err != nil {
		b.Fatal(err)
	}
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return n
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			if string(name) != "a" && string(name) != "area" {
				continue
			}
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				if string(key) != "href" || len(bytes.TrimSpace(value)) == 0 {
					continue
				}
				ref, err := base.Parse(string(value))
				if err == nil && (ref.Scheme == "http" || ref.Scheme == "https") && ref.String() != "" {
					n++
				}
			}
		}
	}
}

func BenchmarkStylesheet(b *testing.B) {
	sheet := []byte(strings.Repeat("a.b > c { color: #123456; background: url('/img/a.png') no-repeat } /* note */\n", 250))
	b.SetBytes(int64(len(sheet)))
	b.ReportAllocs()
	for b.Loop() {
		if n := len(links.Stylesheet(sheet, "https://example.com/a.css")); n != 1 {
			b.Fatalf("found %d", n)
		}
	}
}

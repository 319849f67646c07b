package links_test

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/tegenaria/tegenaria/links"
)

// listing is a page of about 20 kB with 120 links and their surroundings.
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

func BenchmarkExtract(b *testing.B) {
	body := listing()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if n := len(links.Extract(body, "https://example.com/list/")); n != 120 {
			b.Fatalf("found %d", n)
		}
	}
}

// BenchmarkEach compares with what it would be written as on golang.org/x/net/html and net/url.
func BenchmarkEach(b *testing.B) {
	body := listing()
	run := func(name string, find func() int) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if n := find(); n != 120 {
					b.Fatalf("found %d", n)
				}
			}
		})
	}
	run("ours", func() (n int) {
		for range links.Each(body, "https://example.com/list/") {
			n++
		}
		return n
	})
	run("everything", func() (n int) {
		for range links.Each(body, "https://example.com/list/", links.Everything()) {
			n++
		}
		return n
	})
	run("filtered", func() (n int) {
		for range links.Each(body, "https://example.com/list/", links.Allow("/entry/"), links.Domains("example.com"),
			links.DenyExtensions(links.IgnoredExtensions()...)) {
			n++
		}
		return n
	})
	run("x", func() int { return eachOfTokenizer(b, body, "https://example.com/list/") })
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
				if string(key) != "href" {
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

package metadata_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/metadata"
)

// listing is a page of n entries, about 250 bytes each, with or without metadata in its head and on each tenth entry.
func listing(n int, with bool) []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><html><head>")
	if with {
		b.WriteString(strings.SplitAfter(shopPage, "<head>")[1])
	}
	b.WriteString("</head><body><ul id=list>")
	for i := range n {
		scope, name := "", ""
		if with && i%10 == 0 {
			scope, name = ` itemscope itemtype="https://schema.org/Product"`, " itemprop=name"
		}
		fmt.Fprintf(&b, `<li class="entry"%s><h3%s><a href="/entry/%d?from=list" title="Entry %d">Entry number %d</a></h3>`+
			"\n  <p>Some text about it &amp; more, in <em>two</em> sentences. It is as long as such texts are.</p><span class=price>%d.99</span></li>\n", scope, name, i, i, i, i)
	}
	b.WriteString("</ul></body></html>")
	return []byte(b.String())
}

// BenchmarkExtract measures pages in turns: each round parses a page and reads its metadata, and the ratio of both times is reported.
// With -readability and -trafilatura, so it does with the real pages.
func BenchmarkExtract(b *testing.B) {
	run := func(name string, pages [][]byte) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var parse, read time.Duration
			for b.Loop() {
				for _, page := range pages {
					begin := time.Now()
					doc, err := html.Parse(page)
					if err != nil {
						b.Fatal(err)
					}
					between := time.Now()
					metadata.Extract(doc, site)
					parse, read = parse+between.Sub(begin), read+time.Since(between)
				}
			}
			b.ReportMetric(float64(read)/float64(parse), "of-parse")
		})
	}
	run("without", [][]byte{listing(400, false)})
	run("with", [][]byte{listing(400, true)})
	if *readability != "" {
		var pages [][]byte
		for _, path := range realPages(b) {
			text, _ := decodedPage(b, path)
			pages = append(pages, text)
		}
		run("real", pages)
	}
}

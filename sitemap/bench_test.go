package sitemap_test

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/sitemap"
)

const benchURLs = 10_000

// document makes a sitemap of n pages.
func document(n int, extension string) []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for i := range n {
		fmt.Fprintf(&b, "  <url>\n    <loc>https://www.example.com/shop/category-%d/article-%d?ref=map&amp;id=%d</loc>\n"+
			"    <lastmod>2024-05-%02dT10:20:30+02:00</lastmod>\n    <changefreq>weekly</changefreq>\n    <priority>0.7</priority>\n%s  </url>\n",
			i%50, i, i, i%28+1, extension)
	}
	b.WriteString("</urlset>\n")
	return b.Bytes()
}

func packed(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(body); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	images := strings.Repeat("    <image:image><image:loc>https://img.example.com/a/b/c.jpg</image:loc><image:title>A &amp; B</image:title></image:image>\n", 3)
	plain := document(benchURLs, "")
	var text bytes.Buffer
	for i := range benchURLs {
		fmt.Fprintf(&text, "https://www.example.com/shop/category-%d/article-%d?ref=map&id=%d\n", i%50, i, i)
	}
	for _, bb := range []struct {
		name string
		body []byte
		size int
	}{
		{"plain", plain, len(plain)},
		{"gzip", packed(plain), len(plain)},
		{"images", document(benchURLs, images), 0},
		{"text", text.Bytes(), 0},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(max(bb.size, len(bb.body))))
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, err := range sitemap.Parse(bytes.NewReader(bb.body), "https://www.example.com/sitemap.xml") {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != benchURLs {
					b.Fatalf("%d entries", n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchURLs, "ns/url")
		})
	}
}

// BenchmarkEncodingXML is what the standard library needs for the tags and texts of BenchmarkParse/plain alone.
func BenchmarkEncodingXML(b *testing.B) {
	body := document(benchURLs, "")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		d := xml.NewDecoder(bytes.NewReader(body))
		d.Strict = false
		for {
			if _, err := d.RawToken(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}

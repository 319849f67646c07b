package links_test

import (
	"fmt"
	"strings"
	"testing"

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

func BenchmarkEach(b *testing.B) {
	body := listing()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for range links.Each(body, "https://example.com/list/") {
			n++
		}
		if n != 120 {
			b.Fatalf("found %d", n)
		}
	}
}

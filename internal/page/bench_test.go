package page_test

import (
	"bytes"
	"strings"
	"testing"
)

// BenchmarkTextAndLinks takes text and links from pages of about 40 kB in valid UTF-8, by how their encoding is known,
// and of the first also with the tree.
func BenchmarkTextAndLinks(b *testing.B) {
	const part = `<div class=item><h2>Füße, été, текст und 文字</h2><p>Plain words, as most pages have them. <a href="/p?q=1&amp;r=2">Ein Verweis</a></p></div>` + "\n"
	page := "<!DOCTYPE html><html><head><title>Page</title></head><body>" + strings.Repeat(part, 260) + "</body></html>"
	for _, bm := range []struct {
		name, contentType, body string
		tree                    bool
	}{
		{"header", "text/html; charset=utf-8", page, false},
		{"header and tree", "text/html; charset=utf-8", page, true},
		{"meta", "text/html", strings.Replace(page, "<title>", "<meta charset=utf-8><title>", 1), false},
		{"validity", "text/html", page, false},
	} {
		b.Run(bm.name, func(b *testing.B) {
			body := []byte(bm.body)
			header := map[string][]string{"Content-Type": {bm.contentType}}
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				r := &response{url: "http://a.test/dir/page", header: header, buffer: bytes.NewBuffer(body)}
				if bm.tree {
					r.page.Document(r)
				}
				text, err := r.page.Text(r)
				if found := r.page.Links(r, nil); err != nil || len(text) != len(body) || len(found) != 1 {
					b.Fatalf("%d bytes of text, %d links, %v", len(text), len(found), err)
				}
			}
		})
	}
}

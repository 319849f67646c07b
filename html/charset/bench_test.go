package charset_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/htmlindex"

	ours "github.com/tegenaria/tegenaria/html/charset"
)

// BenchmarkDecode decodes pages of about 20 kB, side by side with golang.org/x/net/html/charset.
func BenchmarkDecode(b *testing.B) {
	page := strings.Repeat("<p>Текст страницы, 文字 and some English.</p>\n", 300)
	for _, bm := range []struct{ name, encoding, header, text string }{
		{"UTF-8", "utf-8", "text/html; charset=utf-8", page},
		{"UTF-8 undeclared", "utf-8", "text/html", page},
		{"windows-1251", "windows-1251", "text/html; charset=windows-1251", strings.ReplaceAll(page, "文字", "и")},
		{"Shift_JIS", "shift_jis", "text/html; charset=shift_jis", page},
		{"GBK", "gbk", "text/html; charset=gbk", page},
	} {
		enc, err := htmlindex.Get(bm.encoding)
		if err != nil {
			b.Fatal(err)
		}
		body, err := enc.NewEncoder().Bytes([]byte(bm.text))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(bm.name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				ours.Decode(body, bm.header)
			}
		})
		b.Run(bm.name+"/x", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				e, _, _ := charset.DetermineEncoding(body, bm.header)
				if _, err := e.NewDecoder().Bytes(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

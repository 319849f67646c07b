package urlx_test

import (
	"net/url"
	"testing"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

var benchRefs = []struct{ name, ref string }{
	{"absolute", "https://www.example.com/articles/2024/05/some-title.html?page=2"},
	{"schemeRelative", "//cdn.example.com/assets/images/logo.png"},
	{"path", "/articles/2024/05/some-title.html"},
	{"relative", "../05/some-title.html#comments"},
	{"query", "?page=2&sort=asc"},
	{"fragment", "#main-content"},
	{"mailto", "mailto:someone@example.com"},
	{"slow", `\articles\2024`},
}

const benchBase = "https://www.example.com/articles/2024/04/index.html?x=y"

func BenchmarkResolve(b *testing.B) {
	base, err := urlx.ParseBase(benchBase)
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range benchRefs {
		b.Run(r.name, func(b *testing.B) {
			b.ReportAllocs()
			dst := make([]byte, 0, 256)
			for b.Loop() {
				if dst, err = base.Resolve(dst[:0], r.ref); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNetURL is the peer: what net/url takes for the same references.
func BenchmarkNetURL(b *testing.B) {
	base, err := url.Parse(benchBase)
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range benchRefs {
		b.Run(r.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				u, err := base.Parse(r.ref)
				if err != nil {
					b.Fatal(err)
				}
				_ = u.String()
			}
		})
	}
}

func BenchmarkAppendKey(b *testing.B) {
	for _, u := range []struct{ name, url string }{
		{"plain", "https://www.example.com/articles/2024/05/some-title.html"},
		{"sorted", "https://www.example.com/articles/list.html?page=2&sort=asc"},
		{"unsorted", "https://www.example.com/articles/list.html?sort=asc&page=2&lang=en"},
		{"encoded", "https://www.example.com/articles/%7euser/caf%c3%a9.html"},
	} {
		b.Run(u.name, func(b *testing.B) {
			b.ReportAllocs()
			dst := make([]byte, 0, 256)
			var err error
			for b.Loop() {
				if dst, err = urlx.AppendKey(dst[:0], u.url, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseBase(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := urlx.ParseBase(benchBase); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHostname(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = urlx.Hostname(benchBase)
	}
}

func BenchmarkPath(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = urlx.Path(benchBase)
	}
}

func BenchmarkRegistrableDomain(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = urlx.RegistrableDomain("www.example.co.uk")
	}
}

func BenchmarkHTTP(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := urlx.HTTP(benchBase); err != nil {
			b.Fatal(err)
		}
	}
}

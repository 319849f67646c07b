package robots_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/robots"
)

// file10KB is like a big site's robots.txt: 280 rules, a tenth of them with wildcards.
func file10KB() string {
	var b strings.Builder
	b.WriteString("# robots.txt\nUser-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\nUser-agent: *\nCrawl-delay: 1\n")
	for i := 0; b.Len() < 10<<10; i++ {
		switch {
		case i%10 == 9:
			fmt.Fprintf(&b, "Disallow: /*?sort%d=*&page=\n", i)
		case i%7 == 0:
			fmt.Fprintf(&b, "Allow: /gp/section-%d/public/index.html\n", i)
		default:
			fmt.Fprintf(&b, "Disallow: /gp/section-%d/account\n", i)
		}
	}
	b.WriteString("Sitemap: https://www.example.com/sitemap.xml\n")
	return b.String()
}

func BenchmarkParse(b *testing.B) {
	body := []byte(file10KB())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		robots.Parse(body)
	}
}

// A file of nothing but sitemaps.
func BenchmarkParseSitemaps(b *testing.B) {
	var body strings.Builder
	for i := 0; body.Len() < robots.MaxBytes; i++ {
		fmt.Fprintf(&body, "Sitemap: http://a.example/%d\n", i)
	}
	b.SetBytes(int64(body.Len()))
	b.ReportAllocs()
	for b.Loop() {
		robots.Parse([]byte(body.String()))
	}
}

func BenchmarkAgent(b *testing.B) {
	rules := robots.Parse([]byte(file10KB()))
	b.ReportAllocs()
	for b.Loop() {
		rules.Agent("tegenaria/1.0")
	}
}

func BenchmarkAllowed(b *testing.B) {
	typical := star("Disallow: /wp-admin/", "Allow: /wp-admin/admin-ajax.php", "Disallow: /search", "Disallow: /*?replytocom=", "Disallow: /cart/", "Disallow: /checkout/", "Disallow: /*.pdf$")
	for _, bb := range []struct{ name, body, target string }{
		{"none", "", "/blog/2024/05/some-article-title?page=2"},
		{"typical", typical, "/blog/2024/05/some-article-title?page=2"},
		{"absolute", typical, "https://www.example.com/blog/2024/05/some-article-title?page=2"},
		{"escaped", typical, "/wiki/K%C3%A4ytt%C3%A4j%C3%A4"},
		{"unescaped", typical, "/wiki/Käyttäjä"},
		{"literals10KB", strings.ReplaceAll(file10KB(), "/*?", "/x?"), "/gp/section-77/public/items"},
		{"wildcards10KB", file10KB(), "/gp/section-77/public/items?page=2"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			g := robots.Parse([]byte(bb.body)).Agent("tegenaria/1.0")
			b.ReportAllocs()
			for b.Loop() {
				g.Allowed(bb.target)
			}
		})
	}
}

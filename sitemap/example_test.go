package sitemap_test

import (
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria/sitemap"
)

func ExampleParse() {
	body := strings.NewReader(`<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <url><loc>https://example.com/</loc><lastmod>2024-05-06</lastmod></url>
  <url><loc>/about?lang=en&amp;print=1</loc></url>
  <url><loc>https://[/</loc></url>
</urlset>`)
	for entry, err := range sitemap.Parse(body, "https://example.com/sitemap.xml") {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(entry.URL, entry.LastMod.Year())
	}
	// Output:
	// https://example.com/ 2024
	// https://example.com/about?lang=en&print=1 1
	// sitemap: entry "https://[/": an IPv6 address lacks the closing ]
}

func ExampleParse_index() {
	index := strings.NewReader(`<sitemapindex>
  <sitemap><loc>pages.xml.gz</loc></sitemap>
</sitemapindex>`)
	for entry := range sitemap.Parse(index, "https://example.com/maps/index.xml") {
		fmt.Println(entry.Sitemap, entry.URL)
	}
	// Output: true https://example.com/maps/pages.xml.gz
}

func ExampleParseTime() {
	for _, date := range []string{"2024-05", "2024-05-06T07:08+02:00", "Mon, 06 May 2024 07:08:09 GMT"} {
		fmt.Println(sitemap.ParseTime(date))
	}
	// Output:
	// 2024-05-01 00:00:00 +0000 UTC <nil>
	// 2024-05-06 07:08:00 +0200 +0200 <nil>
	// 2024-05-06 07:08:09 +0000 UTC <nil>
}

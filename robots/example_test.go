package robots_test

import (
	"fmt"

	"github.com/tegenaria/tegenaria/robots"
)

func Example() {
	rules := robots.Parse([]byte(`
User-agent: *
Disallow: /search
Allow: /search/about
Crawl-delay: 2

User-agent: badbot
Disallow: /

Sitemap: https://example.com/sitemap.xml
`))
	group := rules.Agent("mybot/1.0 (+https://example.com/bot)")
	fmt.Println(group.Allowed("/search?q=go"))
	fmt.Println(group.Allowed("https://example.com/search/about"))
	fmt.Println(group.CrawlDelay())
	fmt.Println(rules.Agent("badbot").Allowed("/"))
	fmt.Println(rules.Sitemaps())
	// Output:
	// false
	// true
	// 2s true
	// false
	// [https://example.com/sitemap.xml]
}

func ExampleDisallowAll() {
	group := robots.DisallowAll().Agent("mybot")
	fmt.Println(group.Allowed("/"), group.Allowed("/robots.txt"))
	// Output: false true
}

func ExampleGroup_Allowed() {
	group := robots.Parse([]byte(`
User-agent: *
Disallow: /*.gif$
Disallow: /~joe/
`)).Agent("mybot")
	fmt.Println(group.Allowed("/picture.gif"))
	fmt.Println(group.Allowed("/picture.gif?size=2"))
	fmt.Println(group.Allowed("/%7Ejoe/"))
	// Output:
	// false
	// true
	// false
}

func ExampleGroup_RequestRate() {
	group := robots.Parse([]byte("User-agent: *\nRequest-rate: 30/1m\n")).Agent("mybot")
	fmt.Println(group.RequestRate())
	// Output: 2s true
}

func ExampleRules_GoogleAgent() {
	rules := robots.Parse([]byte("User-agent: mybot\nDisallow: /%62az\nDisallow: /caf\u00e9\n"))
	for _, group := range []*robots.Group{rules.Agent("mybot/1.0"), rules.GoogleAgent("mybot"), rules.GoogleAgent("mybot/1.0")} {
		fmt.Println(group.Allowed("/baz"), group.Allowed("/%62az"), group.Allowed("/caf%C3%A9"), group.Allowed("/caf\u00e9"))
	}
	// Output:
	// false false false false
	// true false false true
	// true true true true
}

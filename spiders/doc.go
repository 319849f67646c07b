// Package spiders has ready-made spiders. [Sitemap] finds the pages of sites in their sitemaps:
//
//	spider := spiders.NewSitemap("shop", tegenaria.Handle(parse), "shop.example.com")
//	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider))
//	err := engine.Execute("shop")
//
// [Site] crawls whole sites by their links, and returns title, words and links of each page.
package spiders

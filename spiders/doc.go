// Package spiders holds spiders for what many crawls begin with. [Sitemap] finds the pages of sites in their sitemaps:
//
//	spider := spiders.NewSitemap("shop", tegenaria.Handle(parse), "shop.example.com")
//	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider))
//	err := engine.Execute("shop")
package spiders

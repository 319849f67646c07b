// Package spidertest tests spiders without a network, and implementations of Tegenaria's interfaces against their contracts.
//
// [Parse] calls a parser with one page, and returns the items and requests that it sent:
//
//	quotes, requests := spidertest.Parse[Quote](t, tegenaria.Handle(parse), spidertest.File("testdata/quotes.html"), "https://quotes.example/")
//
// [Site] serves a folder as a web site, and [Crawl] crawls it:
//
//	site := spidertest.Site(t, os.DirFS("testdata/site"))
//	quotes := spidertest.Crawl[Quote](t, tegenaria.NewSpider("quotes", tegenaria.Handle(parse), site.URL()+"/"), site.Engine())
//
// [NewWeb] does the same for a handler whose answers are computed.
//
// [TestCache] is the suite for implementations of tegenaria.CacheInterface:
//
//	func TestMyCache(t *testing.T) {
//		spidertest.TestCache(t, spidertest.CacheHarness{
//			Open: func(t *testing.T) tegenaria.CacheInterface { return mycache.New(t.TempDir()) },
//		})
//	}
//
// [HostileResolver] gives a name other addresses at each look-up.
//
// What the suites draw at random depends on the name of the test alone: each run draws the same. They print the seed.
package spidertest

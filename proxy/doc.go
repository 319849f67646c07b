// Package proxy sends the requests of a crawl through many proxies:
//
//	pool := proxy.NewPool(proxy.File("proxies.txt"), proxy.Options{})
//	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithMiddlewares(pool), …)
//
// A [Pool] is a middleware. Everything that the crawl asks for goes through it: pages, redirects, Fetch, files, sitemaps and each
// robots.txt. It measures how the proxies do, does not use those that fail for a while, and tries them again with one real request.
// A request whose proxy has failed goes through another one, which costs it none of its attempts.
//
// While no proxy can be used requests wait in their queues: nothing is ever sent from the address of this machine, unless
// [Options].Direct says so.
package proxy

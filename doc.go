// Package tegenaria is a crawler framework: one engine, a spider API, and what a real crawl needs.
//
// A user writes a spider (or one func), registers middlewares and pipelines, and runs it:
//
//	spider := tegenaria.NewSpider("quotes", tegenaria.Handle(parse), "https://example.com/")
//	for quote, err := range tegenaria.Crawl[Quote](ctx, spider) {
//		…
//	}
//
// or, with an engine of one's own:
//
//	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Second}))
//	engine.RegisterSpiders(spider)
//	engine.RegisterPipelines(pipeline)
//	err := engine.Execute("quotes")
//
// # The life of a request
//
//  1. Emit. StartRequest sends a seed, a callback a child: over a channel, or by an Output, which makes no request of a plain
//     link (starter.receive in inbox.go, inbox.receive in inbox.go, output.holdRef in follow.go).
//  2. Scope. The acceptor asks whether the request belongs to the crawl (acceptor.record in accept.go, acceptor.scope in
//     accept.go, acceptor.addPlain in follow.go).
//  3. Accept. The cache alone knows whether the key is new. It marks it as seen and stores the record in one step, and the
//     ledger counts it (acceptor.store in accept.go, Ledger.Discover in internal/frontier).
//  4. Wait. The record lies in the slot of its host. When that is ready, a free worker takes the record. The first one of an
//     origin has robots.txt fetched (Frontier.Take in internal/frontier, reader.page in page.go, robotsGate.pass in robots.go).
//  5. Process the request. The middlewares see it in ascending order (Middlewares.processRequest in exchange.go).
//  6. Download. The slot is stamped at its start, released at its end (fetcher.download in exchange.go, Client.Do in internal/fetch).
//  7. Process the response. The middlewares see it in reverse. A redirect puts its target in the request's place, a status
//     that is not allowed is a failure (Middlewares.processResponse in exchange.go, fetcher.follow in redirect.go).
//  8. Parse. The parser reads the response, and sends items into an elastic buffer and requests back to step 1 (reader.parse
//     in page.go, mill.add in items.go).
//  9. Items and settling. Items pass the pipelines in ascending order. When nothing of the request is open any more,
//     committers make its items durable, the cache stores its outcome, and the ledger counts it: at zero the crawl has
//     finished (mill.pipe in items.go, settler.settle in settle.go, Ledger.Settle in internal/frontier).
//
// Failures of every step become a [HandleError]: ErrorMiddlewares see it, then the ErrorHandlers, which may send requests.
//
// # What the engine promises
//
// Every URL that was ever discovered ends in exactly one [Outcome]. Politeness belongs to the queue: waiting for a host never
// occupies a worker. User code cannot break the engine: panics, errors and slowness become failures of that request. Memory,
// goroutines and handles do not grow with the number of queued URLs. See docs/architecture.md for how, docs/design for why.
package tegenaria

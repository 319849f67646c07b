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
//  1. StartRequest sends a seed, a parser or an ErrorHandler a child (start.receive, job.requests).
//  2. It is accepted: counted, filtered by scope, identified by its fingerprint, and handed to the
//     cache, which alone knows whether it is new and stores it in the same step (crawl.accept).
//  3. It waits in its slot, the queue of its host, as a compact record (CacheInterface, memoryCache).
//  4. When the slot is ready a worker that is free takes it (scheduler.take).
//  5. robots.txt is asked, once per origin (robotsGate.pass).
//  6. It passes the middlewares in ascending order and is downloaded; the slot is stamped when the
//     download starts (crawl.exchange).
//  7. The response passes the middlewares in reverse. A redirect ends the request and puts its target in its
//     place; a status that is not allowed is a failure (crawl.follow).
//  8. Its parser reads the response, sends items into an elastic buffer and requests back to step 2
//     (crawl.parse); items pass the pipelines in ascending order (crawl.pipe).
//  9. When its children are accepted and its items have left the last pipeline, committers make them
//     durable and the cache stores that it is done (settler.settle). The ledger counts it; when nothing
//     is open any more the crawl is finished (frontier.Ledger).
//
// Failures of every step become a [HandleError]: ErrorMiddlewares see it, then the ErrorHandlers, which
// may send requests.
//
// # What the engine promises
//
// Every URL that was ever discovered ends in exactly one [Outcome]. Politeness belongs to the queue: waiting
// for a host never occupies a worker. User code cannot break the engine: panics, errors and slowness become
// failures of that request. Memory, goroutines and handles do not grow with the number of queued URLs.
// See docs/architecture.md for how, and docs/design for why.
package tegenaria

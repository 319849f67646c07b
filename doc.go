// Package tegenaria is a crawler framework: an engine, and the API that spiders are written with.
//
// [Handle] makes a parser of a func that reads a page and sends items and requests by an [Output]. [NewSpider] makes a
// spider of a parser and the first URLs. [Crawl] runs the spider and yields its items. A whole program:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/tegenaria/tegenaria"
//		"github.com/tegenaria/tegenaria/middleware"
//	)
//
//	type quote struct{ Text, Author string }
//
//	func parse(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[quote]) error {
//		for _, q := range page.CSS("div.quote").All() {
//			if err := out.Item(quote{q.CSS("span.text").Text(), q.CSS("small.author").Text()}); err != nil {
//				return err
//			}
//		}
//		return out.Follow(page.CSS("li.next a").Attr("href"))
//	}
//
//	func main() {
//		spider := tegenaria.NewSpider("quotes", tegenaria.Handle(parse), "https://quotes.toscrape.com/")
//		middlewares := tegenaria.EngineWithMiddlewares(middleware.Standard()...)
//		for q, err := range tegenaria.Crawl[quote](context.Background(), spider, middlewares) {
//			if err != nil {
//				log.Fatal(err)
//			}
//			fmt.Println(q.Author, q.Text)
//		}
//	}
//
// [NewSpiderOf] makes a spider with other first requests, several named parsers and an error handler. [NewSpiderEngine]
// makes an engine that runs spiders by name, with pipelines, limits and a cache that survives the process:
//
//	engine := tegenaria.NewSpiderEngine(
//		tegenaria.EngineWithSpiders(spider),
//		tegenaria.EngineWithPipelines(feed.JSONL("quotes.jsonl")),
//		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Second}),
//	)
//	err := engine.Execute("quotes")
//
// # Errors
//
// Failures of requests and items are given to error handlers as a [HandleError]; errors.As finds the cause in it. The
// causes, by the step in which they occur:
//
//   - Requests: [RequestError] (a bad URL or option), [UnnamedParserError] (a durable cache cannot store its parser),
//     [ErrIgnoreRequest] (a middleware refused it).
//   - Download: [TimeoutError], [TooSlowError], [ProxyError], [PrivateAddressError], [UnansweredError], [FramingError],
//     [UnexpectedStatusError], [TruncatedHeaderError], [HeaderTooLargeError], [TruncatedBodyError], [BodyTooLargeError],
//     [RatioError], [CorruptBodyError], [NoResultError] and [WriterBusyError].
//   - Status and redirects: [StatusError], [TooManyRedirectsError], [RedirectLoopError].
//   - robots.txt: [RobotsError] (the rules forbid the URL of a Fetch), [RobotsUnreachableError], [RobotsAnswerError].
//   - Parsers and other callbacks: [PanicError], [CallbackTimeoutError], [AbandonedError], [DataError], [ErrOutputClosed],
//     [ProcessDiedError] (the process died more than once while the request was in flight).
//   - Configuration and storage: [RunError], [QueueFullError].
//   - The end of a run: [NothingError] (there was no page, or no parser has succeeded; it lists a [SeedError] for each
//     first request), [StoppedError] (it was stopped before it was done), [StopError] (it has not ended within its
//     grace).
//
// [Retry], [NotNow], [GiveUp], [IgnoreRequest], [DropItem] and [CloseSpider] make errors that user code returns to decide how the
// request, the item or the crawl goes on.
//
// # The life of a request
//
//  1. Emit. StartRequest sends a seed, a callback a child: over a channel, or by an Output, which makes no request of a plain
//     link (starter.accept in start.go, requestChannel.receive in channels.go, acceptor.follow in
//     references.go).
//  2. Scope. The acceptor asks whether the request belongs to the crawl (acceptor.record in record.go, scope.check in
//     accept.go, acceptor.addPlain in references.go).
//  3. Accept. The cache alone knows whether the key is new. It marks it as seen and stores the record in one step, and the
//     ledger counts it (acceptor.store in accept.go, Ledger.Discover in internal/frontier).
//  4. Wait. The record lies in the slot of its host. When the slot is ready, a free worker takes the record. The first request
//     to an origin makes the engine fetch its robots.txt (Frontier.Take in internal/frontier, Table.Acquire in
//     internal/slots, pages.fetch in page.go, gates.enter in gates.go, fetcher.obeyRobots in robots.go).
//  5. Process the request. The middlewares see it in ascending order (fetcher.processRequest in exchange.go).
//  6. Download. The slot is stamped at its start, released at its end (fetcher.download in download.go, Client.Do in
//     internal/fetch).
//  7. Process the response. The middlewares see it in reverse. A redirect puts its target in the request's place, a status
//     that is not allowed is a failure (fetcher.processResponse in exchange.go, fetcher.follow in exchange.go).
//  8. Parse. The parser reads the response, and sends items into an elastic buffer and requests back to step 1 (pages.runParser
//     in page.go, items.add in items.go).
//  9. Items and settling. Items pass the pipelines in ascending order. When nothing of the request is open any more,
//     committers make its items durable, the cache stores its outcome (a crawl in memory without committers skips both), and
//     the ledger counts it: at zero the crawl has finished (items.pipe in items.go; visit.MarkAsProcessed in visit.go, which a worker calls when a page has gone its
//     way, settler.end in settle.go, Ledger.Settle in internal/frontier).
//
// Failures of every step become a [HandleError]: ErrorMiddlewares see it, then the ErrorHandlers, which may send
// requests.
//
// # What the engine promises
//
// Every URL that was ever discovered ends in exactly one [Outcome]. Politeness belongs to the queue: waiting for a host
// never occupies a worker. User code cannot break the engine: panics, errors and, with Limits.Callback, slowness become
// failures of that request. Memory, goroutines and handles do not grow with the number of queued URLs. See
// docs/architecture.md for how, docs/design for why.
package tegenaria

// Version is the version of this module.
const Version = "0.1.0"

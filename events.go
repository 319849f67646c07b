package tegenaria

import (
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// Events are funcs that the engine calls when something happens; nil ones cost nothing. They run in
// the goroutine of the event, may be called concurrently, and must not block. A panic in one
// is recovered and reported on ErrorChan, and has no other effect.
//
// RequestStarted is called once for each download, before the slot's delay begins: a slow func postpones the download,
// and the delay after it is kept in full. If the slot is blocked when the func returns, the request is queued again;
// RequestStarted is not called a second time, and the request counts once in Politeness.MaxPages. A request that ends
// between the call and the download, such as a Fetch whose caller is abandoned, is not downloaded and not counted.
// RequestStarted is not called for a response without a download, from a middleware or from the engine's own
// robots.txt.
//
// SlowCallback and Abandoned, and Error, RequestSettled and RequestEnded of a request whose callback was given up, are
// called with a copy of the request as it was accepted; that of a Fetch has only its URL and ResponseWriter. Closed is
// called last: Run waits up to a second for calls that abandoned callbacks have begun, and makes none after it.
type Events struct {
	Started func(spider SpiderInterface)
	Paused  func()
	Resumed func()
	Closed  func(reason string) // the run is over; reason is "finished", or that of StoppedError

	// the request was queued; not called for duplicates and filtered requests
	RequestAccepted func(r *Request)
	RequestStarted  func(r *Request) // the download is about to start
	// the response has arrived, before ProcessResponse
	Downloaded     func(r *Request, resp *Response)
	RequestRetried func(r *Request, after time.Duration, why error) // the request has failed and is queued again
	RequestSettled func(r *Request, outcome Outcome, reason string) // the request has ended; called exactly once
	// a request that was accepted, or that Fetch has sent, has ended; called exactly once, after RequestSettled. It is not
	// called for duplicates and for requests that are refused when they are sent: so it needs no Request for each link,
	// as RequestSettled does
	RequestEnded func(end RequestEnd)
	ItemScraped  func(item *ItemMeta)   // the item has passed all pipelines
	ItemDropped  func(err *HandleError) // a pipeline has returned DropItem
	// the item was scraped, or was dropped or has failed in a pipeline; called once for each, after ItemScraped and
	// ItemDropped. It is not called for an item that is lost because code of its page was given up
	ItemEnded    func(end ItemEnd)
	Error        func(err *HandleError)                            // a failure, before the ErrorHandlers are called
	SlowCallback func(stage Stage, r *Request, took time.Duration) // a callback has been running for 60 s
	// a callback did not return in time and is no longer waited for: its request fails, unless the crawl gives up
	Abandoned func(stage Stage, r *Request)
	// no request of a slot starts for more than a minute; once for each block
	SlotBlocked func(block SlotBlock)
}

// and returns events that call the funcs of both, e's first. Those that are nil in both stay nil, and cost nothing.
func (e Events) and(more Events) Events {
	return Events{
		Started: guard.Both(e.Started, more.Started), Closed: guard.Both(e.Closed, more.Closed),
		Paused: guard.BothPlain(e.Paused, more.Paused), Resumed: guard.BothPlain(e.Resumed, more.Resumed),
		RequestAccepted: guard.Both(e.RequestAccepted, more.RequestAccepted),
		RequestStarted:  guard.Both(e.RequestStarted, more.RequestStarted),
		Downloaded:      guard.BothOfTwo(e.Downloaded, more.Downloaded),
		RequestRetried:  guard.BothOfThree(e.RequestRetried, more.RequestRetried),
		RequestSettled:  guard.BothOfThree(e.RequestSettled, more.RequestSettled),
		RequestEnded:    guard.Both(e.RequestEnded, more.RequestEnded),
		ItemScraped:     guard.Both(e.ItemScraped, more.ItemScraped),
		ItemDropped:     guard.Both(e.ItemDropped, more.ItemDropped),
		ItemEnded:       guard.Both(e.ItemEnded, more.ItemEnded), Error: guard.Both(e.Error, more.Error),
		SlowCallback: guard.BothOfThree(e.SlowCallback, more.SlowCallback),
		Abandoned:    guard.BothOfTwo(e.Abandoned, more.Abandoned),
		SlotBlocked:  guard.Both(e.SlotBlocked, more.SlotBlocked),
	}
}

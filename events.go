package tegenaria

import "time"

// Events are funcs that the engine calls when something happens; nil ones cost nothing. They run in
// the goroutine in which it happened, may be called concurrently, and must not block. A panic in one
// is recovered and reported on ErrorChan, without further effect.
//
// RequestStarted is told once for each download, before the slot is stamped: so a func that takes its time holds the
// download up, and not the delay that follows it. If the slot is blocked when the func returns, the request waits in line
// again, is not announced a second time, and keeps its page of Politeness.MaxPages. A request that is announced and has its
// end meanwhile, such as a Fetch that is given up with its caller, is not downloaded any more, and its page is free for
// another. An answer without a download, of a middleware or of the engine's own robots.txt, is not announced.
//
// RequestSettled, SlowCallback and Abandoned are told of a callback that was given up, or may be, with a copy of the request
// as it was accepted. Closed is the last to be told: Run waits up to a second for what callbacks that were given up are
// about to tell, and nothing is told after it.
type Events struct {
	Started func(spider SpiderInterface)
	Paused  func()
	Resumed func()
	Closed  func(reason string) // the run is over; "finished", or StoppedError's reason

	RequestAccepted func(r *Request)                                  // New or Later; not for duplicates and filtered ones
	RequestStarted  func(r *Request)                                  // its download is about to start
	Downloaded      func(r *Request, resp *Response)                  // a response arrived, before ProcessResponse
	RequestRetried  func(r *Request, after time.Duration, why error)  // it waits again
	RequestSettled  func(r *Request, outcome Outcome, reason string)  // its one end
	ItemScraped     func(item *ItemMeta)                              // it passed all pipelines
	ItemDropped     func(err *HandleError)                            // DropItem
	Error           func(err *HandleError)                            // each failure, before the ErrorHandlers
	SlowCallback    func(stage Stage, r *Request, took time.Duration) // a callback runs for 60 s already
	Abandoned       func(stage Stage, r *Request)                     // a callback was given up
	SlotBlocked     func(block SlotBlock)                             // for more than a minute nothing will be asked of a slot; once for each block
}

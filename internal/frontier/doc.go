// Package frontier knows what of a crawl is open and when nothing is open any more, and lends parsers their places.
//
// A request goes through a [Ledger] like this: Discover counts it before a queue has it, TakeLocked moves it in flight
// when somebody takes it out, and Settle ends it. PutBack and Later move it to those that wait, at once or for later;
// Refuse ends one that was never stored. The channel of Finished is closed when the last one has ended.
//
// A parser has one of the [Places] while it runs. One that waits for a request of its own gives its place up, and goes
// before new pages when it comes for one again.
//
// The package starts no goroutine and has no clock.
package frontier

// Package rfc9111 is a private HTTP cache as a state machine: it decides, and its caller stores and asks. It has no I/O and no
// clock. The rules are those of RFC 9111, with RFC 9110 (preconditions, ranges), RFC 5861 (stale-while-revalidate, stale-if-error)
// and RFC 8246 (immutable); each func names its section.
//
//	request, entries, now → Decide → Decision ─┬─ Serve, ServeStale: hand out Reply
//	                                           ├─ Refuse: 504, the request is only-if-cached
//	                                           └─ Fetch, Validate: ask the origin ─┬─ Answered → Outcome: store, update, drop
//	                                                                               └─ Failed → a stale Reply, or the error
//
// A short example:
//
//	d := rfc9111.Decide(request, entries, now)
//	switch d.Action {
//	case rfc9111.Serve:
//		return d.Reply // with the body of entries[d.Entry]
//	case rfc9111.Validate:
//		response := ask(request, d.Condition)
//		outcome := d.Answered(response)
//	}
//
// What is for shared caches alone has no meaning here: s-maxage, proxy-revalidate, the surrogate headers, and the limits on private
// responses and on those to requests with Authorization. Only whole responses to GET are stored, so not those to POST (RFC 9110
// §9.3.3) and no parts of responses. A stale response is handed out only where a directive permits it, never because the network is
// down.
package rfc9111

import (
	"net/http"
	"time"
)

// Request is what the cache knows of a request. The keys of each http.Header of this package are canonical.
type Request struct {
	Method string
	URL    string // absolute
	Header http.Header
}

// Response is an answer of the origin without its body.
type Response struct {
	Status              int
	Header              http.Header
	Requested, Received time.Time // when the request was sent and when the header of the response arrived, by the caller's clock
}

// Entry is a stored response without its body.
type Entry struct {
	Response
	// Vary has the request header fields that the Vary of the response names, as they were in the request, normalized. A field
	// that the request did not have has no values.
	Vary http.Header
	// Length is the number of bytes of the stored body. The caller sets it; while it is 0, no ranges are answered.
	Length int64
}

// Reply is the response that the cache hands out, with the body of an entry.
type Reply struct {
	Status int // that of the entry, or 206 when there is a Range, or 304 when a precondition of the request holds
	Header http.Header
	Age    time.Duration // as in the header
	Range  *Range        // nil: the whole body
}

// Action is what the caller is to do with a request.
type Action int

const (
	// Fetch: send the request to the origin as it is.
	Fetch Action = iota
	// Serve: hand out Reply.
	Serve
	// ServeStale: hand out Reply, which is stale, as a max-stale of the request permits.
	ServeStale
	// ServeWhileRevalidating: hand out Reply, which is stale, as its stale-while-revalidate permits. The caller may ask the
	// origin beside, with Condition, and call Answered.
	ServeWhileRevalidating
	// Validate: send the request to the origin with the fields of Condition.
	Validate
	// Refuse: answer 504 (Gateway Timeout), since the request is only-if-cached.
	Refuse
)

// Decision is how a request is to be answered.
type Decision struct {
	Action    Action
	Entry     int         // index of the entry that was chosen, -1 if none was
	Condition http.Header // the header fields that make a request conditional, none if the entry has no validator
	Reply     Reply

	request Request
	stored  []Entry
}

// Decide says how to answer a request (§4). The entries are the stored responses to GET of its URL, in any order.
func Decide(r Request, stored []Entry, now time.Time) Decision {
	d := Decision{Entry: -1, request: r, stored: stored}
	asked := parseDirectives(r.Header["Cache-Control"])
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		d.Entry = choose(r, stored)
	}
	if d.Entry >= 0 {
		e := stored[d.Entry]
		d.Action = e.use(r, asked, now)
		switch d.Action {
		case Serve, ServeStale:
			d.Reply = e.reply(r, now, false)
		case ServeWhileRevalidating:
			d.Reply, d.Condition = e.reply(r, now, false), e.condition()
		case Validate:
			d.Condition = e.condition()
		}
	}
	if asked.onlyIfCached && (d.Action == Fetch || d.Action == Validate) { // §5.2.1.7
		d.Action, d.Condition = Refuse, nil
	}
	return d
}

// use says how a request may be answered that an entry was chosen for (§4, §4.2.4, and the directives of §5.2).
func (e Entry) use(r Request, asked directives, now time.Time) Action {
	said := parseDirectives(e.Header["Cache-Control"])
	age, lifetime := e.age(now), e.lifetime()
	fresh := lifetime > age
	stale := age - lifetime
	validate := Validate
	if r.Method == http.MethodHead || hasPrecondition(r) {
		validate = Fetch // a 304 would not be about the body that is stored
	}
	switch {
	case originOnly(r):
		return Fetch
	case asked.noCache || said.noCache: // §5.2.1.4, §5.2.2.4
		return validate
	case asked.maxAge != none && age >= asked.maxAge && !(said.immutable && fresh): // §5.2.1.1; RFC 8246 §2: a reload
		return validate
	case asked.minFresh != none && lifetime-age < asked.minFresh: // §5.2.1.3
		return validate
	case fresh:
		return Serve
	case said.mustRevalidate: // §5.2.2.2
		return validate
	case asked.maxStale != none && stale <= asked.maxStale: // §5.2.1.2
		return ServeStale
	case asked.maxAge != none || asked.minFresh != none || r.Method == http.MethodHead: // §5.2.1.1: it takes no stale response
		return validate
	case said.staleWhileRevalidate != none && stale <= said.staleWhileRevalidate: // RFC 5861 §3
		return ServeWhileRevalidating
	}
	return validate
}

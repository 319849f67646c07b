package tegenaria

import (
	"context"
	"slices"
)

// MiddlewaresInterface stands between the scheduler and the downloader. The smaller the priority
// number, the nearer to the scheduler: requests pass the middlewares in ascending order, responses
// in exact reverse; equal numbers keep the order of registration. All methods may be called
// concurrently.
type MiddlewaresInterface interface {
	GetPriority() int

	// ProcessRequest may change the request, set ctx.DownloadResult (then nothing is downloaded and
	// the result passes the ProcessResponse of all middlewares), or return an error:
	// [ErrIgnoreRequest], [IgnoreRequest], [Retry], [GiveUp], [CloseSpider], or a failure.
	ProcessRequest(ctx *Context) error

	// ProcessResponse sees every response whatever its status, redirects too, and may change it, send
	// new requests and return the same errors.
	ProcessResponse(ctx *Context, req chan<- *Context) error

	GetName() string
}

// ErrorMiddleware is an optional ability of middlewares: it sees each failure of a request before
// the ErrorHandlers do, in the order of responses. It returns the error to go on with, which may be
// [Retry]; nil ends the request as dropped, with nobody told.
//
// It also sees what a middleware or parser returns to steer the engine, which is no failure: a [*RetryError], found by
// errors.As, and [ErrIgnoreRequest], found by errors.Is. To leave these alone it returns them as they are.
type ErrorMiddleware interface {
	ProcessError(ctx *Context, err error, req chan<- *Context) error
}

// RequestFilter is an optional ability of middlewares: it is asked for every request about to be
// accepted (seeds, children, redirect targets, Fetch), before deduplication, so that what it
// refuses is never queued. It may change the request, its Priority too. It must not block. Its error becomes the
// request's outcome filtered, with the error's text (or what [IgnoreRequest] says) as reason; parent is nil for
// seeds. It is called concurrently. With such a middleware each link costs the making of a request object.
type RequestFilter interface {
	AcceptRequest(parent *Response, r *Request) error
}

// InternalMiddleware is an optional ability of middlewares: those whose SeesInternal is true also
// process the engine's own requests, the ones for robots.txt. SeesInternal is asked once for each run.
//
// Such a request passes ProcessRequest and ProcessResponse like any other, and each redirect of a robots.txt is a request
// of its own. Its response has its body in memory, content coding removed, whatever the request's ResponseWriter and
// [RequestWithSpool] say; of a body longer than 500 KiB, which is as much as counts, the first 500 KiB and one byte. What
// these middlewares send is discarded, their Contexts cannot Fetch, and an error of theirs is the failure of the request
// that robots.txt was asked for. The engine follows the redirects, whatever AllowRedirects says.
//
// A middleware may answer for the site, by ctx.DownloadResult, and change what came: the engine obeys what is left in the
// end. An empty robots.txt allows everything. So a response of 2xx that has no body because a middleware answered it or
// took the body away, and a redirect answered without its Location, are failures, with a [*RobotsAnswerError]. Say
// by status 404, 204, or the header "Content-Length: 0" that there are no rules.
type InternalMiddleware interface {
	SeesInternal() bool
}

// Opener is an optional ability of any registered part: Open is called before the first request of a
// run, in order of registration. Its error ends the run before it has begun.
type Opener interface {
	Open(ctx context.Context, spider SpiderInterface) error
}

// Closer is an optional ability of any registered part: Close is called when the run is over, in
// reverse order of opening, for every part whose Open succeeded. Its error is joined to Run's.
type Closer interface {
	Close(ctx context.Context, reason string) error
}

// Middlewares is a list of middlewares by ascending priority number.
type Middlewares []MiddlewaresInterface

// Len is part of sort.Interface.
func (m Middlewares) Len() int { return len(m) }

// Swap is part of sort.Interface.
func (m Middlewares) Swap(i, j int) { m[i], m[j] = m[j], m[i] }

// Less is part of sort.Interface.
func (m Middlewares) Less(i, j int) bool { return m[i].GetPriority() < m[j].GetPriority() }

func (m Middlewares) sorted() Middlewares {
	sorted := slices.Clone(m)
	slices.SortStableFunc(sorted, func(a, b MiddlewaresInterface) int {
		return a.GetPriority() - b.GetPriority()
	})
	return sorted
}

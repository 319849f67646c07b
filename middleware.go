package tegenaria

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// MiddlewaresInterface stands between the queue and the downloader. The smaller the priority
// number, the nearer to the queue: requests pass the middlewares in ascending order, responses
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
// [Retry]; nil ends the request as dropped, without a report.
//
// It also sees errors that steer the engine and are no failures: a [*RetryError], found by
// errors.As, and [ErrIgnoreRequest], found by errors.Is. To leave these alone it returns them as they are.
type ErrorMiddleware interface {
	ProcessError(ctx *Context, err error, req chan<- *Context) error
}

// RequestFilter is an optional ability of middlewares: it is asked for every request about to be
// accepted (seeds, children, redirect targets, Fetch), before deduplication, so that a request
// that it refuses is never queued. It may change the request, its Priority too. It must not block. Its error becomes the
// request's outcome filtered, with the error's text (or that of [IgnoreRequest]) as reason; parent is nil for
// seeds. It is called concurrently. With such a middleware each link costs the making of a request object.
type RequestFilter interface {
	AcceptRequest(parent *Response, r *Request) error
}

// InternalMiddleware is an optional ability of middlewares. A middleware whose SeesInternal returns true also processes
// the engine's own requests, the ones for robots.txt. SeesInternal is called once for each run.
//
// A request for robots.txt passes ProcessRequest and ProcessResponse like any other, with these differences:
//
//   - The response has its body in memory, decompressed, even if the request has a ResponseWriter or
//     [RequestWithSpool]. Of a body longer than 500 KiB it has the first 500 KiB and one byte: the engine reads no more of a robots.txt.
//   - The engine follows redirects, whatever AllowRedirects says. Each redirect is a request of its own.
//   - Requests that the middleware sends to the channel req are discarded, and its Context cannot Fetch.
//   - If the middleware returns an error, the page's request that needed robots.txt fails with it.
//
// A middleware may answer the request itself by setting ctx.DownloadResult, and may change the response of the site. The
// engine obeys the response as the last middleware leaves it. An empty robots.txt allows everything, so the engine does
// not accept emptiness by mistake: a 2xx response without a body fails with a [*RobotsAnswerError] if a middleware made
// it or removed its body, and so does a redirect that a middleware made without a Location. To say that a site has no
// rules, answer with status 404 or 204, or with the header "Content-Length: 0".
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

// requestFilters are the RequestFilters of a run.
type requestFilters []RequestFilter

// ask asks all of them, until one refuses the request. err is its error, unless that is ErrIgnoreRequest or it panics.
func (filters requestFilters) ask(parent *Response, r *Request) (no *refusal, err error) {
	for _, f := range filters {
		stack, err := guard.Protect(func() error { return f.AcceptRequest(parent, r) })
		var panicked *PanicError
		switch {
		case err == nil:
			continue
		case errors.Is(err, ErrIgnoreRequest):
			return refuse(Filtered, ignoreReason(err)), nil
		case errors.As(err, &panicked):
			return &refusal{Failed, "accept", &stackError{err, stack}}, nil
		}
		return refuse(Filtered, err.Error()), err
	}
	return nil, nil
}

// middlewareName names a middleware.
func middlewareName(m MiddlewaresInterface) string { return cmp.Or(m.GetName(), fmt.Sprintf("%T", m)) }

var errNilRequest = errors.New("a middleware took the Context's Request away")

// keepRequest puts the request back that a middleware has taken away.
func keepRequest(ctx *Context, asked *Request) {
	if ctx.Request == nil {
		ctx.Request = asked
	}
}

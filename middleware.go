package tegenaria

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sort"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// MiddlewaresInterface sees each request before the download and each response after it. Requests pass
// the middlewares in ascending order of their priority numbers, responses in exactly the reverse order;
// equal numbers keep the order of registration. All methods may be called concurrently.
// [MiddlewareFuncs] makes a middleware from funcs.
type MiddlewaresInterface interface {
	GetPriority() int

	// ProcessRequest may change the request, set ctx.DownloadResult (then nothing is downloaded and
	// the result passes the ProcessResponse of all middlewares), or return an error:
	// [ErrIgnoreRequest], [IgnoreRequest], [Retry], [NotNow], [GiveUp], [CloseSpider], or a failure.
	ProcessRequest(ctx *Context) error

	// ProcessResponse sees every response whatever its status, redirects too, and may change it, send
	// new requests and return the same errors.
	ProcessResponse(ctx *Context, req chan<- *Context) error

	GetName() string
}

// ErrorMiddleware is an optional interface of middlewares: it is called for each failure of a request, before
// the ErrorHandlers and in the order of responses. The error that it returns replaces the failure and may be
// [Retry]; nil ends the request as dropped, and no handler is called.
//
// It is also called for errors that steer the engine and are not failures: a [*RetryError], found by
// errors.As, and [ErrIgnoreRequest], found by errors.Is. It should return these unchanged.
type ErrorMiddleware interface {
	ProcessError(ctx *Context, err error, req chan<- *Context) error
}

// RequestFilter is an optional interface of middlewares: it is called for every request that is about to be accepted
// (seeds, children, redirect targets, Fetch), before deduplication, so a request that it refuses is never queued, and,
// with a request without a parent, for every document to which an action of package browser leads ([Network]). It may
// change the request, including its Priority. It must not block. An error ends the request as filtered, with the
// error's text (or that of [IgnoreRequest]) as reason; parent is nil for seeds. It is called concurrently. With such a
// middleware a request is allocated for each link, even for duplicates.
type RequestFilter interface {
	AcceptRequest(parent *Response, r *Request) error
}

// InternalMiddleware is an optional interface of middlewares. A middleware whose SeesInternal returns true also
// processes the engine's own requests, the ones for robots.txt. SeesInternal is called once for each run.
//
// A request for robots.txt passes ProcessRequest and ProcessResponse like any other, with these differences:
//
//   - The response has its body in memory, decompressed, even if the request has a ResponseWriter or
//     [RequestWithSpool]. Of a body longer than 500 KiB it has the first 500 KiB and one byte: the engine reads no more of a robots.txt.
//   - The engine follows redirects, whatever AllowRedirects says. Each redirect is a request of its own.
//   - Requests that the middleware sends to the channel req are discarded, and its Context cannot Fetch.
//   - If the middleware returns an error, the page's request that needed robots.txt fails with it.
//   - ProcessError of an [ErrorMiddleware] is called if the request fails, before ProcessError of the page's own request.
//
// A middleware may answer the request itself by setting ctx.DownloadResult, and may change the response of the site.
// The engine obeys the response as the last middleware leaves it. An empty robots.txt allows everything, so the engine
// does not accept emptiness by mistake: a 2xx response without a body fails with a [*RobotsAnswerError] if a middleware
// made it or removed its body, and so does a redirect that a middleware made without a Location. To say that a site has
// no rules, answer with status 404 or 204, or with the header "Content-Length: 0".
type InternalMiddleware interface {
	SeesInternal() bool
}

// MiddlewareGroup is an optional interface of a middleware that works together with others, as sessions do with cookies and proxies.
type MiddlewareGroup interface {
	// Group is given those that the program has registered, once for each run, and returns those that it needs: the engine registers these
	// too, each once, also if the program has registered it itself.
	Group(registered []MiddlewaresInterface) (more []MiddlewaresInterface)
}

// Opener is an optional interface of any registered part: Open is called before the first request of a
// run, in order of registration. An error ends the run before the first request.
type Opener interface {
	Open(ctx context.Context, spider SpiderInterface) error
}

// Closer is an optional interface of any registered part: Close is called when the run is over, in
// reverse order of opening, for every part whose Open succeeded. Its error is joined to that of Run.
type Closer interface {
	Close(ctx context.Context, reason string) error
}

// StateKeeper is an optional interface of any registered part that has state which the next run of a durable job needs, such as cookies: a
// map that belongs to no single request. Where a job is not durable its methods are not called. They may be called
// concurrently with the part's other methods, but not with each other.
type StateKeeper interface {
	// StateKey names the state within the job. It is stable. Several parts of a run may have the same.
	StateKey() string
	// RestoreState is called before the first request, after Open, with all that was stored, by name. A value may be empty.
	RestoreState(state map[string][]byte) error
	// ChangedState returns what has changed since a version, by name, and the version that the state has now. It is called with 0
	// first. What it returns is stored in one step with the end of requests; an empty value stands for nothing.
	ChangedState(since uint64) (state map[string][]byte, version uint64, err error)
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
	for i := 0; i < len(sorted); i++ { // those of groups may be groups
		group, ok := sorted[i].(MiddlewareGroup)
		if !ok {
			continue
		}
		for _, one := range group.Group(m) {
			if !slices.ContainsFunc(sorted, func(known MiddlewaresInterface) bool { return isSame(known, one) }) {
				sorted = append(sorted, one)
			}
		}
	}
	sort.Stable(sorted)
	return sorted
}

// isSame reports whether two middlewares are one, which both are pointers then.
func isSame(a, b MiddlewaresInterface) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Kind() == reflect.Pointer && a == b
}

// askName asks a part for its name, which is none if that panics.
func askName(part interface{ GetName() string }) (name string, err error) {
	err = guard.Protect(func() error { name = part.GetName(); return nil })
	return name, err
}

// MiddlewareFuncs is a middleware made of funcs:
//
//	tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{
//		Name: "language",
//		Request: func(ctx *tegenaria.Context) error {
//			ctx.Request.Header["Accept-Language"] = "en"
//			return nil
//		},
//	})
//
// A func that is nil does nothing; one of them must be there, or Run fails. The funcs may be called concurrently. For
// the other abilities of a middleware, such as [RequestFilter], [Opener] and [Closer], write a type: it may embed a
// MiddlewareFuncs.
type MiddlewareFuncs struct {
	Name string // GetName: names the middleware in messages
	// SeesInternal of [InternalMiddleware]: it also sees the requests for robots.txt
	Internal bool
	// GetPriority: the smaller, the nearer to the queue
	Priority int
	Request  func(ctx *Context) error                                 // ProcessRequest
	Response func(ctx *Context, req chan<- *Context) error            // ProcessResponse
	Error    func(ctx *Context, err error, req chan<- *Context) error // ProcessError of [ErrorMiddleware]
}

var (
	_ MiddlewaresInterface = MiddlewareFuncs{}
	_ ErrorMiddleware      = MiddlewareFuncs{}
	_ InternalMiddleware   = MiddlewareFuncs{}
)

// GetPriority returns Priority.
func (m MiddlewareFuncs) GetPriority() int { return m.Priority }

// SeesInternal returns Internal.
func (m MiddlewareFuncs) SeesInternal() bool { return m.Internal }

// GetName returns Name.
func (m MiddlewareFuncs) GetName() string { return m.Name }

// ProcessRequest calls Request.
func (m MiddlewareFuncs) ProcessRequest(ctx *Context) error {
	if m.Request == nil {
		return nil
	}
	return m.Request(ctx)
}

// ProcessResponse calls Response.
func (m MiddlewareFuncs) ProcessResponse(ctx *Context, req chan<- *Context) error {
	if m.Response == nil {
		return nil
	}
	return m.Response(ctx, req)
}

// ProcessError calls Error, or returns err.
func (m MiddlewareFuncs) ProcessError(ctx *Context, err error, req chan<- *Context) error {
	if m.Error == nil {
		return err
	}
	return m.Error(ctx, err, req)
}

// hasFuncs refuses a MiddlewareFuncs without funcs. Types that embed one may have methods of their own.
func hasFuncs(part MiddlewaresInterface) error {
	m, _ := part.(*MiddlewareFuncs)
	if funcs, ok := part.(MiddlewareFuncs); ok {
		m = &funcs
	}
	if m != nil && m.Request == nil && m.Response == nil && m.Error == nil {
		return fmt.Errorf("MiddlewareFuncs %q: Request, Response and Error are nil, so it does nothing; set one of them", m.Name)
	}
	return nil
}

// all returns those of the parts that are a T too.
func all[T, P any](parts []P) (list []T) {
	for _, part := range parts {
		if t, ok := any(part).(T); ok {
			list = append(list, t)
		}
	}
	return list
}

// internal returns those that see the engine's own requests.
func (m Middlewares) internal() (list Middlewares) {
	for _, one := range m {
		if i, ok := one.(InternalMiddleware); ok && i.SeesInternal() {
			list = append(list, one)
		}
	}
	return list
}

package tegenaria

import (
	"context"
	"errors"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
)

// Context is one request on its way, and the smallest thing that is scheduled before the pipelines.
// It is itself a context.Context, cancelled when the crawl gives the request up; a Context that was
// made by [NewContext] and has not been sent yet follows Ctx.
//
// A Context belongs to one goroutine at a time: the callback that it was handed to. Fetch,
// SlotDelay and the context.Context methods may be called concurrently.
type Context struct {
	Request        *Request        // what is asked
	DownloadResult *RequestResult  // what came of it; nil before the download. ProcessRequest may set it
	Item           ItemInterface   // the user's own: the engine neither sets it nor looks at it
	Ctx            context.Context // cancels the request: before it is sent that of [WithContext] or nil, in a run the engine's
	CtxId          string          // names this request in items, errors and committers; a durable cache keeps one that the user has set
	Error          error           // why the request failed, once it has; set by the engine

	job  *job        // the engine's part; nil outside a run
	made identity.ID // the CtxId as NewContext made it
}

// RequestResult is the result of a download: a Response, an Error, or both when a body was cut off.
type RequestResult struct {
	Response *Response
	Error    *HandleError
}

// ContextOption changes a Context under construction.
type ContextOption func(c *Context)

// WithContext sets the parent context: when it is cancelled the request is given up. Such a request
// cannot be stored by a durable cache.
func WithContext(ctx context.Context) ContextOption {
	return func(c *Context) { c.Ctx = ctx }
}

// NewContext makes the Context by which a request is sent. A nil option makes the request fail with a [*RequestError]
// when it is sent.
func NewContext(request *Request, opts ...ContextOption) *Context {
	id := identity.NewID()
	c := &Context{Request: request, CtxId: id.Text, made: id}
	for i, opt := range opts {
		switch {
		case opt != nil:
			opt(c)
		case request != nil: // otherwise that is reported
			request.fail(nilOption(request.Url, "ContextOption", i))
		}
	}
	return c
}

// errNoRequest is the failure of a Context sent without a request.
var errNoRequest = errors.New("the Context has no Request; make it with NewContext(NewRequest(…))")

func (c *Context) parent() context.Context {
	if c == nil || c.Ctx == nil {
		return context.Background()
	}
	return c.Ctx
}

// Deadline is that of the request's context.
func (c *Context) Deadline() (time.Time, bool) { return c.parent().Deadline() }

// Done is closed when the request is given up: the crawl is cancelled, the callback overran its limit,
// or the context of [WithContext] ended.
func (c *Context) Done() <-chan struct{} { return c.parent().Done() }

// Err says why Done is closed.
func (c *Context) Err() error { return c.parent().Err() }

// Value looks key up in the request's context.
func (c *Context) Value(key any) any { return c.parent().Value(key) }

// Response returns the response, or nil if there is none.
func (c *Context) Response() *Response {
	if c == nil || c.DownloadResult == nil {
		return nil
	}
	return c.DownloadResult.Response
}

// SlotDelay sets the delay between the starts of downloads of this request's slot, from now on and
// for all its requests. It cannot go below what Politeness asks for.
func (c *Context) SlotDelay(d time.Duration) {
	if c.job != nil {
		c.job.crawl.frontier.SetDelay(c.job.rec.Slot, d, c.job.started)
	}
}

// Fetch downloads r now and returns its response: an inline request. It passes scope filters,
// robots.txt, its slot's politeness, the middlewares and redirects like any other and is counted
// by the ledger, but it is never deduplicated and never stored: it lives and is settled with its
// caller. While it waits the caller's parse worker works for other pages. It may be called
// concurrently and nested up to 8 deep, from parsers, middlewares, ErrorHandlers and pipelines, as long as c has not settled.
//
// The error is a [*HandleError]; its Response is set if there was one.
func (c *Context) Fetch(r *Request) (*Response, error) {
	if c.job == nil {
		return nil, NewError(c.CtxId, errors.New("Fetch needs a running crawl"), ErrorWithRequest(r), ErrorWithStage(StageAccept))
	}
	return c.job.crawl.reader.fetchInline(c, r)
}

// resent returns the Context to accept: one that has been on its way before, and is sent again, is the
// engine's and cannot go twice.
func (c *Context) resent() *Context {
	if c == nil || c.job == nil {
		return c
	}
	again := &Context{Request: c.Request}
	if own, ok := c.Ctx.(*guard.Joint); ok {
		again.Ctx = own.User
	}
	return again
}

// internal returns the context of a request of the engine's own; nil if it is another one.
func (c *Context) internal() *internalContext {
	if c.job != nil {
		return nil
	}
	own := c.Ctx
	if life, ok := own.(*guard.Context); ok { // a downloader is asked with that
		own = life.Parent
	}
	in, _ := own.(*internalContext)
	return in
}

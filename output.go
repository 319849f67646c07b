package tegenaria

import (
	"context"
	"errors"
	"sync"

	"github.com/tegenaria/tegenaria/internal/funcname"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
)

// Output sends for a handler made by [Handle]: items of one type, and requests. Its methods may
// be called concurrently until the handler returns; after that they return [ErrOutputClosed].
//
// Requests and references are accepted in the order in which they were sent. References may be held back for
// a moment to be accepted together: until the handler returns, sends a request or calls Fetch, or until the
// engine has nothing else to download.
//
// In a unit test, outside a run, an Output writes to the two channels that the Parser was given.
type Output[T any] struct{ output }

// output is the part of an Output that does not depend on its type.
type output struct {
	ctx  *Context
	item chan<- *ItemMeta
	req  chan<- *Context

	mu     sync.RWMutex // held for reading while something is sent; taken before holding
	closed bool         // written with both mutexes
	listed bool         // the job knows it; guarded by holding

	holding sync.Mutex // guards the fields below; all that a plain reference takes
	held    *scratch   // references that the cache has not been asked about yet; nil if there are none
	base    page.Base  // that they were resolved against
	older   *output    // that the job knows
}

// Handle makes a Parser of a func that sees the response and sends by an Output. ctx is the request's
// context, r.Context(). Items and requests go to the engine directly, without a channel; references that
// are known already cost neither a request nor a string. A nil h gives a nil Parser.
func Handle[T any](h func(ctx context.Context, r *Response, out *Output[T]) error) Parser {
	if h == nil {
		return nil // a mistake like any nil parser
	}
	return handled(func(c *Context, item chan<- *ItemMeta, req chan<- *Context) error {
		resp := c.Response()
		if resp == nil {
			return errors.New("tegenaria: Handle: the Context has no response")
		}
		out := &Output[T]{output{ctx: c, item: item, req: req}}
		defer out.close()
		return h(c, resp, out)
	})
}

// handled marks a parser as one that needs no channels: all parsers that it returns share their code.
//
//go:noinline
func handled(p Parser) Parser {
	return func(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
		return p(resp, item, req)
	}
}

var anyHandled = funcname.Of(handled(nil))

func isHandled(p Parser) bool { return funcname.SameCode(funcname.Of(p), anyHandled) }

// Item sends an item on to the pipelines. It waits while they are busy.
func (o *Output[T]) Item(v T) error {
	return o.send(func() bool { return o.sendItem(&ItemMeta{CtxId: o.ctx.CtxId, Item: v}) })
}

// Request sends a request, a child of this page.
func (o *Output[T]) Request(r *Request) error {
	return o.send(func() bool { return o.sendRequest(r) })
}

// Follow sends a GET request of a reference found in the page, resolved against the document's base as
// browsers do, without its fragment. A reference that cannot be followed (empty, malformed, of another
// scheme) settles as filtered, and is no error here.
func (o *Output[T]) Follow(ref string, opts ...RequestOption) error {
	if len(opts) == 0 && o.plain() {
		if !o.holdRef(ref) {
			return ErrOutputClosed
		}
		return nil
	}
	return o.send(func() bool { return o.follow(ref, opts) })
}

// FollowLinks sends a GET request for each link of the page that the options accept. See package links.
func (o *Output[T]) FollowLinks(opts ...links.Option) error {
	return o.send(func() bool { return o.followLinks(opts) })
}

// Fetch is [Context.Fetch] for this page.
func (o *Output[T]) Fetch(r *Request) (*Response, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.closed {
		return nil, ErrOutputClosed
	}
	o.handOver()
	return o.ctx.Fetch(r)
}

// send runs f while the output is open.
func (o *output) send(f func() bool) error {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.over() || !f() {
		return ErrOutputClosed
	}
	return nil
}

// over reports whether the page takes nothing any more. The caller holds mu or holding.
func (o *output) over() bool {
	return o.closed || o.ctx.job != nil && (o.ctx.job.call.GivenUp() || o.ctx.job.crawl.work.Err() != nil)
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holding.Lock()
	defer o.holding.Unlock()
	o.closed = true
	o.handOverLocked()
}

// direct reports whether the output hands over to the engine itself. It does not if user code put channels of its own
// between the handler and the engine.
func (o *output) direct() bool { return o.ctx.job != nil && o.item == nil && o.req == nil }

// plain reports whether references need no request object.
func (o *output) plain() bool { return o.direct() && o.ctx.job.crawl.acceptor.plain }

func (o *output) sendItem(item *ItemMeta) bool {
	if o.direct() {
		return o.ctx.job.crawl.mill.add(o.ctx.job, item)
	}
	return sendTo(o.ctx, o.item, item)
}

func (o *output) sendRequest(r *Request) bool {
	if o.direct() {
		o.handOver() // requests are accepted in the order in which they are sent
		o.ctx.job.crawl.acceptor.accept(emission{parent: o.ctx.job}, &Context{Request: r})
		return true
	}
	return sendTo(o.ctx, o.req, NewContext(r))
}

// sendTo sends to a channel that is not the engine's.
func sendTo[T any](ctx context.Context, to chan<- T, v T) bool {
	if to == nil {
		return false
	}
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

func (o *output) follow(ref string, opts []RequestOption) bool {
	resp := o.ctx.Response()
	r, err := resp.Follow(ref, opts...)
	if err != nil {
		o.refuse(ref, err)
		return true
	}
	if scheme := urlx.Scheme(r.Url); scheme != "http" && scheme != "https" {
		o.refuse(ref, errScheme)
		return true
	}
	return o.sendRequest(r)
}

var errScheme = errors.New("scheme")

// refuse settles a reference that cannot be followed.
func (o *output) refuse(ref string, err error) {
	if o.ctx.job == nil {
		return
	}
	reason := "url"
	switch {
	case errors.Is(err, page.ErrEmptyRef):
		reason = "empty"
	case errors.Is(err, errScheme):
		reason = "scheme"
	}
	o.ctx.job.crawl.acceptor.refuseRef(ref, reason)
}

func (o *output) followLinks(opts []links.Option) bool {
	open, plain := true, o.plain()
	o.ctx.Response().eachLink(opts, func(ref *links.Ref) bool {
		if plain {
			open = o.holdLink(ref.URL)
		} else {
			open = o.sendRequest(NewRequest(string(ref.URL), GET, nil))
		}
		return open
	})
	return open
}

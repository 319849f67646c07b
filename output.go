package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/funcname"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
)

// Output sends the items, all of type T, and the requests of a func given to [Handle]. Its methods may
// be called concurrently until the func returns; after that they return [ErrOutputClosed].
//
// Requests are accepted in the order in which they were sent. The links given to Follow may be held back for
// a moment and accepted together: until the func returns, sends a request or calls Fetch, or until the
// engine has nothing else to download.
//
// In a unit test, outside a run, an Output writes to the two channels that the Parser was called with.
type Output[T any] struct{ output }

// output is the part of an Output that does not depend on its type.
type output struct {
	ctx  *Context
	sink sink // of ctx; nil outside a run
	item chan<- *ItemMeta
	req  chan<- *Context

	mu     sync.RWMutex // held for reading while something is sent; a plain reference has the mutex of the page's references
	closed atomic.Bool  // written with mu
}

// sink is where an Output sends during a run: it is the [visit] of the page. From there a request goes the way that the
// package comment tells under "The life of a request". A method that returns false takes nothing any more: the crawl is
// over, or the code was given up, and its page will not be settled as it is.
type sink interface {
	isOver() bool
	isPlain() bool // no user code has to see a request that is made of a plain reference: no [Request] is made of it
	addItem(item *ItemMeta) bool
	addRequest(r *Request) bool
	follow(resp *Response, ref string, closed *atomic.Bool) bool
	followURL(url []byte) bool
	refuse(ref string, err error) // a reference that cannot be followed
	handOver()                    // references that are held back
}

// Handle makes a [Parser] from a func that reads a response and sends items and requests with an [Output]. T is the
// type of its items. ctx is the request's context, r.Context(). If h returns an error, the request fails, unless the
// error is one of those that steer the engine, such as [Retry] or [CloseSpider]. h is called concurrently for several
// pages. Links that were seen before are recognised before a request is allocated for them. Handle of a nil h is a nil
// Parser.
func Handle[T any](h func(ctx context.Context, r *Response, out *Output[T]) error) Parser {
	if h == nil {
		return nil // a mistake like any nil parser
	}
	return handled(&madeOf{funcname.Of(h)}, func(c *Context, item chan<- *ItemMeta, req chan<- *Context) error {
		resp := c.Response()
		if resp == nil {
			return errNoResponse
		}
		out := &Output[T]{output{ctx: c, item: item, req: req}}
		out.sink, _ = c.run.(sink)
		defer out.close()
		return h(c, resp, out)
	})
}

var errNoResponse = errtext.New("Handle: the Context has no response")

// handled marks a parser as one that needs no channels: the parsers that it returns are closures of one literal, so
// they share their code. Called with the probe they return made.
//
//go:noinline
func handled(made *madeOf, p Parser) Parser {
	return func(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
		if resp == probe {
			return made
		}
		return p(resp, item, req)
	}
}

// probe is a Context that only parsers of [handled] are ever called with.
var probe = new(Context)

var anyHandled = funcname.Of(handled(nil, nil))

func isHandled(p Parser) bool { return funcname.SameCode(funcname.Of(p), anyHandled) }

// madeOf is how a parser made by Handle answers the probe. It holds the func that the parser was made of.
type madeOf struct{ h funcname.Func }

// Error makes it an error, which is what a parser returns.
func (m *madeOf) Error() string { return "a parser made by Handle" }

// insideOf returns the func that a parser was made of by Handle; false for other parsers.
func insideOf(p Parser) (h funcname.Func, ok bool) {
	if !isHandled(p) {
		return h, false
	}
	made, ok := p(probe, nil, nil).(*madeOf)
	return made.h, ok
}

// Item sends an item to the pipelines. It blocks while they are busy. It returns [ErrOutputClosed] if the crawl is
// over: return that error.
func (o *Output[T]) Item(v T) error {
	return o.send(func() bool { return o.sendItem(&ItemMeta{CtxId: o.ctx.CtxId, Item: v}) })
}

// Request sends a request; its depth is that of this page plus one. It returns [ErrOutputClosed] if the crawl is over.
// If the request is invalid, the request fails; Request itself returns nil.
func (o *Output[T]) Request(r *Request) error {
	return o.send(func() bool { return o.sendRequest(r) })
}

// Follow sends a request for a link found in the page. The link is resolved as browsers do, with the page's <base>, and
// its fragment is removed. The method is GET, or POST if the options give the request a body and no method. A link that
// cannot be followed (empty, malformed, neither http nor https) is counted as filtered, and Follow returns nil: to send
// another body to the page's own URL, name that URL. It returns [ErrOutputClosed] if the crawl is over.
func (o *Output[T]) Follow(ref string, opts ...RequestOption) error {
	if len(opts) == 0 && o.plain() {
		if !o.sink.follow(o.ctx.Response(), ref, &o.closed) {
			return ErrOutputClosed
		}
		return nil
	}
	return o.send(func() bool { return o.follow(ref, opts) })
}

// FollowOption is an option of [Output.FollowLinks]: a [links.Option], which says what links are followed, or a
// [RequestOption], which all of their requests get. There are no others.
type FollowOption interface{ IsFollowOption() }

var (
	_ FollowOption = links.Option(nil)
	_ FollowOption = RequestOption(nil)
)

// FollowLinks sends a request for each link of the page that satisfies the options of package links; without any, for
// all links that a reader can click on. The requests have the other options, and their method is that of
// [Output.Follow]. This follows the links of the products in a list, and has another parser read their pages:
//
//	return out.FollowLinks(links.CSS("li.product a"), tegenaria.RequestWithParser(tegenaria.Handle(product)))
func (o *Output[T]) FollowLinks(opts ...FollowOption) error {
	return o.send(func() bool { return o.followLinks(opts) })
}

// Fetch sends a request, waits for its response, and returns it. It is [Context.Fetch] for this page.
func (o *Output[T]) Fetch(r *Request) (*Response, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.closed.Load() {
		return nil, ErrOutputClosed
	}
	if o.sink != nil {
		o.sink.handOver()
	}
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

// over reports whether the page takes nothing any more.
func (o *output) over() bool { return o.closed.Load() || o.sink != nil && o.sink.isOver() }

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed.Store(true)
	if o.sink != nil {
		o.sink.handOver()
	}
}

// direct reports whether the output hands over to the engine itself. It does not if user code put channels of its own
// between the handler and the engine.
func (o *output) direct() bool { return o.sink != nil && o.item == nil && o.req == nil }

// plain reports whether references need no request object.
func (o *output) plain() bool { return o.direct() && o.sink.isPlain() }

func (o *output) sendItem(item *ItemMeta) bool {
	if o.direct() {
		return o.sink.addItem(item)
	}
	return sendTo(o.ctx, o.item, item)
}

func (o *output) sendRequest(r *Request) bool {
	if o.direct() {
		return o.sink.addRequest(r)
	}
	return sendTo(o.ctx, o.req, NewContext(r))
}

func (o *output) follow(ref string, opts []RequestOption) bool {
	resp := o.ctx.Response()
	r, err := resp.Follow(ref, opts...)
	if err != nil {
		o.refuse(ref, err)
		return true
	}
	r.Url, _ = urlx.CutFragment(r.Url)
	if scheme := urlx.Scheme(r.Url); scheme != "http" && scheme != "https" {
		o.refuse(ref, errScheme)
		return true
	}
	return o.sendRequest(r)
}

var errScheme = errors.New("scheme")

// refuse settles a reference that cannot be followed.
func (o *output) refuse(ref string, err error) {
	if o.sink != nil {
		o.sink.refuse(ref, err)
	}
}

func (o *output) followLinks(opts []FollowOption) bool {
	choice, ofRequests := splitOptions(opts)
	open, plain, resp := true, len(ofRequests) == 0 && o.plain(), o.ctx.Response()
	resp.page.EachLink((*pageHost)(resp), choice, func(ref *links.Ref) bool {
		if plain {
			open = o.sink.followURL(ref.URL)
		} else {
			open = o.sendRequest(newFollowing(string(ref.URL), ofRequests))
		}
		return open
	})
	return open
}

// splitOptions returns the options that choose links, and those of their requests. It panics at any other, as links does.
func splitOptions(opts []FollowOption) (choice []links.Option, ofRequests []RequestOption) {
	for i, opt := range opts {
		switch opt := opt.(type) {
		case links.Option:
			choice = append(choice, opt)
		case RequestOption:
			ofRequests = append(ofRequests, opt)
		case nil:
			panic(fmt.Sprintf("FollowLinks: option %d is nil; leave it out", i+1))
		default:
			panic(fmt.Sprintf("FollowLinks: option %d is a %T; it takes links.Option and RequestOption", i+1, opt))
		}
	}
	return choice, ofRequests
}

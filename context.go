package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// Context is one request on its way through the engine, with its result.
// It is itself a context.Context, which is cancelled when the request is cancelled. A Context that was
// made by [NewContext] and not sent yet follows Ctx.
//
// A Context belongs to one goroutine at a time: that of the callback that got it. Only Fetch,
// SlotDelay and the context.Context methods may be called concurrently.
type Context struct {
	Request        *Request        // the request
	DownloadResult *RequestResult  // the result; nil before the download. ProcessRequest may set it
	Item           ItemInterface   // the user's own: the engine neither sets it nor looks at it
	Ctx            context.Context // cancels the request: before it is sent that of [WithContext] or nil, in a run the engine's
	CtxId          string          // names this request in items, errors and committers; a durable cache keeps one that the user has set
	Error          error           // why the request failed, once it has; set by the engine

	run  inRun     // the engine's part; nil outside a run
	made uuid.UUID // the CtxId as NewContext made it
	wire io.Writer // of CopyWire
}

// inRun is what a Context, and its Response, ask of the run that they belong to.
type inRun interface {
	// fetch is Context.Fetch.
	fetch(caller *Context, r *Request) (*Response, error)
	// slotDelay is Context.SlotDelay.
	slotDelay(d time.Duration)
	// lend makes a Context that user code is given in a call of its own part of the same run.
	lend(ctx *Context, by *guard.Call)
	// Run is the request's share in the memory of the run.
	page.Run
	// notJSON warns that Response.Json has returned nil for a page.
	notJSON(url string, err error)
}

// RequestResult is the result of a download: a Response, an Error, or both when a body was cut off.
type RequestResult struct {
	Response *Response
	Error    *HandleError
}

// ContextOption changes a Context under construction.
type ContextOption func(c *Context)

// WithContext sets the parent context: when it is cancelled, the request is cancelled too. A durable cache
// cannot store such a request.
func WithContext(ctx context.Context) ContextOption {
	return func(c *Context) { c.Ctx = ctx }
}

// NewContext wraps a request, to be sent on a channel of requests. A nil option makes the request fail with a
// [*RequestError] when it is sent.
func NewContext(request *Request, opts ...ContextOption) *Context {
	id := identity.NewID()
	c := &Context{Request: request, CtxId: id.String(), made: id}
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

// hasOwnID reports whether CtxId is as [NewContext] made it.
func (c *Context) hasOwnID() bool { return identity.IsText(c.made, c.CtxId) }

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

// Done is closed when the request is cancelled: the crawl is cancelled, the callback exceeded its time limit,
// or the context of [WithContext] was cancelled.
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
	if c.run != nil {
		c.run.slotDelay(d)
	}
}

// Fetch sends r, waits for its response and returns it. Scope filters, robots.txt, politeness, middlewares
// and redirects apply to this inline request as to any other, and it is counted in the statistics. But it is
// never deduplicated and never stored: it ends with its caller. While it waits, the
// caller's parse worker processes other pages. It may be called concurrently, and nested up to 8 deep,
// from parsers, middlewares, ErrorHandlers and pipelines, until c has settled.
//
// The error is a [*HandleError], which has the Response if there was one.
func (c *Context) Fetch(r *Request) (*Response, error) {
	if c.run == nil {
		return nil, NewError(c.CtxId, errors.New("Fetch needs a running crawl"), ErrorWithRequest(r), ErrorWithStage(StageAccept))
	}
	return c.run.fetch(c, r)
}

// CopyWire makes the engine's own downloader also write the body to w as it arrives: the transfer coding is removed, the content
// coding is kept. It is for layers around downloaders (see [EngineWithDownloaderLayers]), which call it before they pass the
// Context on. If Write returns an error, the request fails with it. w is not used after the download has sent its result. Bytes
// that are not read, such as most of the body of a redirect that is followed, are not written to w. If several layers call
// CopyWire, each writer gets the body.
func (c *Context) CopyWire(w io.Writer) {
	if c.wire != nil { // of a layer around the one that calls this
		w = io.MultiWriter(c.wire, w)
	}
	c.wire = w
}

// resent returns the Context to accept: one that has been on its way before, and is sent again, is the
// engine's and cannot go twice.
func (c *Context) resent() *Context {
	if c == nil || c.run == nil {
		return c
	}
	again := &Context{Request: c.Request}
	if own, ok := c.Ctx.(*guard.Joint); ok {
		again.Ctx = own.User
	}
	return again
}

// ItemInterface is the type of items: any value that a parser extracts.
type ItemInterface interface{}

// ItemMeta is an item on its way through the pipelines. CtxId is that of the Context it came from.
type ItemMeta struct {
	CtxId string
	Item  ItemInterface
}

// NewItem makes an item from a value found in ctx's response.
func NewItem(ctx *Context, item ItemInterface) *ItemMeta {
	return &ItemMeta{CtxId: ctx.CtxId, Item: item}
}

// RequestWithData attaches a value to a request, which [Data] returns from its response: for example a price from a list,
// for the page of the product. The value survives redirects, retries and, with a durable cache, the process. It is stored as
// JSON under the name of the type T, even in a memory cache, so fields that encoding/json ignores are lost. A second value
// replaces the first. If it cannot be encoded as JSON, the request fails with a [*DataError] when it is sent.
func RequestWithData[T any](v T) RequestOption {
	return func(r *Request) {
		d, err := wire.NewDatum(v)
		if err != nil {
			r.fail(&DataError{URL: r.Url, Sent: wire.TypeName[T](), Err: err})
			return
		}
		r.newExtras().Data = d
	}
}

// Data returns the value that [RequestWithData] attached to the request of a response, as a new copy each time. The error is
// a [*DataError] if the request has no value, or one of another type. It may be called concurrently.
func Data[T any](resp *Response) (T, error) {
	var none T
	want := wire.TypeName[T]()
	if resp == nil || resp.req == nil {
		return none, &DataError{Wanted: want}
	}
	url, d := resp.req.Url, resp.req.extras().Data
	switch {
	case d == nil:
		return none, &DataError{URL: url, Wanted: want}
	case d.Type != want:
		return none, &DataError{URL: url, Sent: d.Type, Wanted: want}
	}
	v, err := wire.Decode[T](d)
	if err != nil {
		return none, &DataError{URL: url, Sent: want, Wanted: want, Err: err}
	}
	return v, nil
}

// DataError is the error of a value that [RequestWithData] could not encode, or that [Data] did not find.
type DataError struct {
	URL    string // of the request
	Sent   string // the type of the value that the request has, with the import path of its package; "" if it has none
	Wanted string // the type that Data was asked for; "" if the value could not be sent
	Err    error  // of encoding/json; nil if the types differ
}

// Error names both types and the remedy.
func (e *DataError) Error() string {
	url := urlx.Redact(e.URL)
	switch {
	case e.Wanted == "":
		return fmt.Sprintf("RequestWithData of %s: a value of the type %s cannot be written as JSON: %v; send a type that can, or Meta with the memory cache", url, e.Sent, e.Err)
	case e.Err != nil:
		return fmt.Sprintf("Data of %s: its value was sent as %s, and cannot be read as that now: %v; has the type changed since the job began?", url, e.Sent, e.Err)
	case e.Sent == "":
		return fmt.Sprintf("Data of %s: the request has no data, and %s is asked for; send it with RequestWithData", url, e.Wanted)
	}
	return fmt.Sprintf("Data of %s: the request has data of the type %s, and %s is asked for; ask for the type that was sent, a pointer and its value being two types", url, e.Sent, e.Wanted)
}

// Unwrap returns the error of encoding/json.
func (e *DataError) Unwrap() error { return e.Err }

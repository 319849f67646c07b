package tegenaria

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/page"
)

// Context is one request on its way through the engine, with its result.
// It is itself a context.Context, which is cancelled when the request is cancelled. A Context that was
// made by [NewContext] and not sent yet follows Ctx.
//
// A Context belongs to one goroutine at a time: that of the callback that got it. Only Fetch,
// SlotDelay and the context.Context methods may be called concurrently.
type Context struct {
	Request        *Request       // the request
	DownloadResult *RequestResult // the result; nil before the download. ProcessRequest may set it
	Item           ItemInterface  // the user's own: the engine neither sets it nor looks at it
	// cancels the request: before it is sent that of [WithContext] or nil, in a run the engine's
	Ctx context.Context
	// names this attempt at the request in items, errors and committers. A durable cache keeps one that the user has
	// set, for the first attempt
	CtxId string
	Error error // why the request failed, once it has; set by the engine

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
	// ofRun returns the job of the request.
	ofRun() *job
	// ownDownloader returns the engine's own downloader, which makes responses.
	ownDownloader() *httpDownloader
	// keepState is Context.KeepState.
	keepState() error
	// turn returns when the slot lets the request start.
	turn() time.Time
}

// KeepState stores at once what the [StateKeeper]s of a durable job have changed, such as cookies and logins, and
// returns when that is on disk, after some milliseconds. It is for a step that the site must not see twice, such as a
// login; everything else is stored with the next batch of requests. Where the job is not durable, and outside a run, it
// does nothing.
func (c *Context) KeepState() error {
	if c.run == nil {
		return nil
	}
	return c.run.keepState()
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
		return nil, NewError(c.CtxId, errors.New("Fetch needs a running crawl"), ErrorWithRequest(r),
			ErrorWithStage(StageAccept))
	}
	return c.run.fetch(c, r)
}

// CopyWire makes the engine's own downloader also write the body to w as it arrives: the transfer coding is removed,
// the content coding is kept. It is for layers around downloaders (see [EngineWithDownloaderLayers]), which call it
// before they pass the Context on. If Write returns an error, the request fails with it. w is not used after the
// download has sent its result. Bytes that are not read, such as most of the body of a redirect that is followed, are
// not written to w. If several layers call CopyWire, each writer gets the body.
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

// Respond makes a response to c's request from a stored answer. It is for an [Answerer] or a [Downloader]. The body
// goes where the request wants it: into memory, into a temporary file ([RequestWithSpool]) or to its ResponseWriter.
// The limits of a download apply: Limits.Body, Spool, Ratio and BodiesInFlight, and the request's timeout. The content
// coding that the header names is removed. Respond reads body to its end and does not close it; a nil body is empty.
// header is not changed.
//
// The errors are those of a download, such as [*BodyTooLargeError] and [*RatioError]. With a [*TruncatedBodyError] it
// also returns a response, which has the part of the body that could be read.
func (c *Context) Respond(status int, header map[string][]string, body io.Reader) (*Response, error) {
	d := c.responder()
	return d.exchange(c, func(ctx context.Context, r fetch.Request) (*fetch.Answer, error) {
		return d.client.Respond(ctx, r, status, header, body)
	})
}

// UserAgent returns what is sent as User-Agent with a request that has none, see Politeness.UserAgent; "" outside a run.
func (c *Context) UserAgent() string {
	if c.run == nil && c.internal() == nil {
		return ""
	}
	return c.responder().agent
}

// MaxBody returns Limits.Body of the run: a [Downloader] need not collect more for [Response.SetValue].
func (c *Context) MaxBody() int64 { return c.responder().limits.Body }

// responder returns what makes responses in the run of a Context.
func (c *Context) responder() *httpDownloader {
	if in := c.internal(); in != nil {
		return in.by
	}
	if c.run != nil {
		return c.run.ownDownloader()
	}
	return newHTTPDownloader(Limits{}.withDefaults(), nil, fetch.Config{})
}

// internal returns the context of a request of the engine's own; nil if it is another one.
func (c *Context) internal() *internalContext {
	if c.run != nil {
		return nil
	}
	own := c.Ctx
	if life, ok := own.(*guard.Context); ok { // a downloader is asked with that
		own = life.Parent
	}
	in, _ := own.(*internalContext)
	return in
}

// AwaitTurn is for a [Downloader] that needs time before it sends a request, to open a tab for example: it waits until
// the request may be sent, and the delay of its slot counts from then on instead of from the call of Download. The
// error is the cause of the Context's end.
func (c *Context) AwaitTurn() error {
	if c.run == nil {
		return nil
	}
	return frontier.Sleep(c, time.Until(c.run.turn()))
}

// IsInline reports whether the request is one of [Context.Fetch]: its caller waits for the response, and no parser gets
// it.
func (c *Context) IsInline() bool {
	j := jobOf(c)
	return j != nil && j.inCall != nil
}

// IsInternal reports whether the request is the engine's own, for a robots.txt: see [InternalMiddleware].
func (c *Context) IsInternal() bool { return c.internal() != nil }

// IsForOwnDownloader reports whether the engine's own downloader downloads the request, neither one that was given by
// [EngineWithDownloader] nor one that the request names.
func (c *Context) IsForOwnDownloader() bool {
	return c.Request.Downloader() == "" && c.responder().isDefault
}

// hold returns the request's share of Limits.BodiesInFlight; nil outside a run.
func (c *Context) hold() *fetch.Hold {
	if j := jobOf(c); j != nil {
		return &j.root().hold
	}
	if in := c.internal(); in != nil {
		return &in.hold
	}
	return nil
}

// downloaded sets the result of a download.
func (c *Context) downloaded(resp *Response, err error) {
	c.DownloadResult = &RequestResult{Response: resp}
	if err != nil {
		c.DownloadResult.Error = &HandleError{CtxId: c.CtxId, Err: err, Request: c.Request, Response: resp,
			Stage: StageDownload}
	}
}

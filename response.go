package tegenaria

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
)

// Response is the response of a download. It is never recycled: user code may keep it. Its methods may
// be called concurrently; its fields are the owner's to change until the parser runs.
type Response struct {
	Status        int
	Header        map[string][]string
	Delay         float64 // seconds from the start of the download to its last byte
	ContentLength int     // length of the body in bytes
	URL           string  // where the body came from; Request().Url is the URL that was asked for
	// Buffer is a view of the body: reading it takes nothing from the methods below. Another Buffer
	// set by user code is the body from then on. It is nil for a spooled body.
	Buffer *bytes.Buffer

	ctx      *Context
	req      *Request
	transfer *Transfer
	page     page.Page // its lock guards the fields above while the engine changes them
}

// NewResponse makes a response by hand, for downloaders and tests. It keeps body.
func NewResponse(req *Request, status int, header map[string][]string, body []byte) *Response {
	if header == nil {
		header = make(map[string][]string)
	}
	both := &struct {
		Response
		buffer bytes.Buffer
	}{Response: Response{Status: status, Header: header, req: req}, buffer: *bytes.NewBuffer(body[:len(body):len(body)])}
	r := &both.Response
	if req != nil {
		r.URL = req.Url
	}
	r.Buffer, r.ContentLength = &both.buffer, len(body)
	r.page.Adopt(r.Buffer)
	return r
}

// Context returns the Context that the response answers, or nil outside a run.
func (r *Response) Context() *Context { return r.ctx }

// Request returns the request that the response answers.
func (r *Response) Request() *Request { return r.req }

// SetBody replaces the body, Buffer and ContentLength. It keeps body.
func (r *Response) SetBody(body []byte) {
	r.page.Lock()
	defer r.page.Unlock()
	r.Buffer = bytes.NewBuffer(body[:len(body):len(body)])
	r.page.Adopt(r.Buffer)
	r.ContentLength = len(body)
}

// Bytes returns the body as it was sent, content coding removed. It must not be changed. It is nil for a spooled body,
// whatever its size: [Response.Reader] reads that.
func (r *Response) Bytes() []byte { return r.page.Bytes((*pageHost)(r)) }

// String returns the body as a string, without decoding its charset. A spooled body that cannot be read is a panic, as
// with [Response.CSS].
func (r *Response) String() string { return r.page.String((*pageHost)(r)) }

// Reader returns a new independent reader of the body from its beginning, in memory or spooled.
func (r *Response) Reader() io.ReadCloser { return r.page.Reader((*pageHost)(r)) }

// Text returns the body decoded to UTF-8, as browsers decode it (WHATWG Encoding and HTML §13.2.3.2):
// by its byte order mark, the charset of Content-Type, or what the document declares; a body that says
// nothing and is valid UTF-8 is UTF-8. Bytes that cannot be decoded become U+FFFD. See package html/charset
// for the rest. The error is that of a spooled body, a [*BodyTooLargeError] above Limits.Body, or one of its file, which
// is closed once the request has settled; or a [*selector.ParseError], where the text finds no memory.
func (r *Response) Text() (string, error) { return r.page.Text((*pageHost)(r)) }

// CSS selects nodes of the body, which is parsed at most once, at the first call of CSS or XPath: as XML
// if its Content-Type says so (text/xml, application/rss+xml …; XHTML is read as HTML), else as HTML. See
// package selector for the syntax of queries. The Selection's URLs are resolved as [Response.Follow] does.
//
// It panics with a *selector.SyntaxError if the query is wrong, as regexp.MustCompile does, and with a
// *selector.ParseError if the page is larger than Limits.Nodes, Limits.Attributes or the memory that one page may take; the
// engine makes a HandleError of both.
//
// A spooled body is read into memory for it, and counts in Limits.BodiesInFlight. One that is larger than Limits.Body, or
// whose file is closed, is a panic with the error that [Response.Text] returns.
func (r *Response) CSS(query string) *selector.Selection {
	return r.page.Document((*pageHost)(r)).CSS(query)
}

// XPath selects nodes of the body by an XPath 1.0 expression, with the rules of CSS.
func (r *Response) XPath(expr string) *selector.Selection {
	return r.page.Document((*pageHost)(r)).XPath(expr)
}

// Json decodes a JSON object. It is nil if the body is anything else; [Response.Decode] says why.
func (r *Response) Json() map[string]any {
	var v map[string]any
	if r.Decode(&v) != nil {
		return nil
	}
	return v
}

// Decode decodes a JSON body into v. The memory for that is estimated from the body and from v's type, and counts as made of
// the page: the error of a body that takes too much is a [*selector.ParseError]. A decoder of encoding/json that reads
// [Response.Reader] takes less, value by value. A spooled body is read into memory, as for [Response.CSS].
func (r *Response) Decode(v any) error {
	if err := r.page.DecodeJSON((*pageHost)(r), v); err != nil {
		return fmt.Errorf("tegenaria: decoding the JSON of %s: %w", urlx.Redact(r.URL), err)
	}
	return nil
}

// Links returns the page's links in document order, each URL once. The options know its encoding and,
// for links.Everything, its header. See package links for them. A spooled body that cannot be read is a panic, as with
// [Response.CSS].
func (r *Response) Links(opts ...links.Option) []links.Link {
	return r.page.Links((*pageHost)(r), opts)
}

// Follow makes a GET request of a reference found in the page, resolved against the document's base
// as browsers do.
func (r *Response) Follow(ref string, opts ...RequestOption) (*Request, error) {
	url, err := r.page.Resolve((*pageHost)(r), ref)
	if err != nil {
		if wrong := (*page.RefError)(nil); errors.As(err, &wrong) {
			err = &RequestError{URL: wrong.URL, Field: "Url", Err: wrong.Err}
		}
		return nil, err
	}
	return NewRequest(url, GET, nil, opts...), nil
}

// eachLink calls yield for each link of the page until it returns false, see [links.Each].
func (r *Response) eachLink(opts []links.Option, yield func(*links.Ref) bool) {
	r.page.EachLink((*pageHost)(r), opts, yield)
}

// base returns what references in the page are resolved against.
func (r *Response) base() (page.Base, error) { return r.page.Base((*pageHost)(r)) }

// hasBody reports whether the response has a body, in memory or spooled.
func (r *Response) hasBody() bool { return !r.page.IsEmpty((*pageHost)(r)) }

// beginning returns so many bytes of the body, or all of them if there are fewer.
func (r *Response) beginning(most int) ([]byte, error) {
	return r.page.Beginning((*pageHost)(r), most)
}

// isSpooled reports whether the body is a file, which closeSpool has to close.
func (r *Response) isSpooled() bool {
	r.page.Lock()
	defer r.page.Unlock()
	return r.page.IsSpooled()
}

// closeSpool removes the file of a spooled body; its readers fail from then on. The engine calls it when the request has
// settled.
func (r *Response) closeSpool() { r.page.CloseSpool() }

// complete fills in the fields that a response made by hand lacks.
func (r *Response) complete(ctx *Context) {
	r.page.Lock()
	defer r.page.Unlock()
	r.ctx, r.req = ctx, ctx.Request
	if r.Header == nil {
		r.Header = make(map[string][]string)
	}
	if r.URL == "" {
		r.URL = ctx.Request.Url
	}
	if r.Buffer == nil && !r.page.IsSpooled() {
		r.Buffer = new(bytes.Buffer)
	}
	r.page.Sync((*pageHost)(r))
}

// Transfer returns how the response came. It is never nil: all of it is zero if the engine's own downloader did not bring
// the response.
func (r *Response) Transfer() *Transfer {
	if r.transfer == nil {
		return new(Transfer)
	}
	return r.transfer
}

// job returns the job that the response belongs to, nil outside a run.
func (r *Response) job() *job {
	if r.ctx == nil || r.ctx.job == nil || r.ctx.job.crawl == nil {
		return nil
	}
	return r.ctx.job
}

// pageHost is a Response as package page needs it.
type pageHost Response

// Given returns the fields that users may change.
func (h *pageHost) Given() page.Given {
	return page.Given{URL: h.URL, Header: h.Header, Buffer: h.Buffer}
}

// ContentType returns the value of that field of the header.
func (h *pageHost) ContentType() string { return fetch.FirstHeader(h.Header, "Content-Type") }

// Unreadable returns the error of a spooled body that cannot be read into memory.
func (h *pageHost) Unreadable(limit int64, cause error) error {
	if cause == nil {
		return &BodyTooLargeError{URL: h.URL, Limit: limit}
	}
	return fmt.Errorf("tegenaria: reading the spooled body of %s: %w", urlx.Redact(h.URL), cause)
}

// Run returns the share of the request in the memory of its crawl, nil outside a run.
func (h *pageHost) Run() page.Run {
	if j := (*Response)(h).job(); j != nil {
		return (*pageShare)(j)
	}
	return nil
}

// What is made of a page (its tree and the index of that, its text, its list of links, the results of queries) counts in
// Limits.BodiesInFlight with the page's body, and is given back with it. A parser waits for room as a download does. It
// lends its place among the parsers meanwhile: so the one request that may go over the bound always finds a place to
// be parsed, and no two wait for each other. Code that another part may wait for does not wait itself: a parser
// whose page has items in the pipelines or a Fetch under way, and all code that is no parser.

// pageShare is a job as the share of a request in the memory of its crawl.
type pageShare job

// Bounds returns the bounds of all pages of the crawl.
func (s *pageShare) Bounds() *page.Bounds { return &s.crawl.reader.bounds }

// Add counts bytes of a spooled body that was read into memory.
func (s *pageShare) Add(n int64) { s.crawl.fetcher.bodies.Add(&(*job)(s).root().hold, n) }

// Grow adds n bytes to the share of the request, or gives them back. A parser waits for them.
func (s *pageShare) Grow(n int64) error {
	j := (*job)(s)
	c, root := j.crawl, j.root()
	hold := &root.hold
	if n <= 0 {
		c.fetcher.bodies.Shrink(hold, -n)
		return nil
	}
	if c.fetcher.bodies.TryGrow(hold, n) {
		return nil
	}
	if j != root || !c.reader.lendToWait(j) {
		c.fetcher.bodies.Add(hold, n)
		return nil
	}
	c.watch.Pause(&j.call)
	err := c.fetcher.bodies.GrowUnless(j.ctx, hold, n, func() bool { return mustGetMemory(j) })
	back := c.reader.places.Reclaim(j.ctx, &j.place)
	c.watch.Resume(&j.call)
	if err == nil {
		err = back
	}
	return err
}

// mustGetMemory reports whether other code may wait for the parser while it waits for memory: an item of the page is in the
// pipelines, or a Fetch of it is under way. Another goroutine of the parser may have begun that; tryOpen ends the waiting.
func mustGetMemory(j *job) bool { return j.open.Load() > 1 }

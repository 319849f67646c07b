package tegenaria

import (
	"bytes"
	"errors"
	"io"
	"iter"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/metadata"
	"github.com/tegenaria/tegenaria/selector"
)

// Response is the response to a request. Its memory is never reused, so user code may keep it. Its methods may
// be called concurrently. Downloaders and middlewares may change its fields until the parser runs.
type Response struct {
	Status        int
	Header        map[string][]string
	Delay         float64 // seconds from the start of the download to its last byte
	ContentLength int     // length of the body in bytes
	URL           string  // the URL that the body came from; Request().Url is the URL that was requested
	// Buffer has the body; reading from it does not affect the methods below. If user code sets another Buffer,
	// its content is the body from then on. It is nil for a spooled body.
	Buffer *bytes.Buffer

	ctx      *Context
	req      *Request
	transfer *Transfer
	values   map[any]any // by SetValue
	cached   *cachedPage // by SetCached; nil: no cache has had a part in it
	change   PageChange  // what is known before the parser
	page     page.Page   // its lock guards the fields above while the engine changes them
}

// NewResponse makes a response for a downloader, a middleware or a test. It does not copy body.
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

// Value returns the value that [Response.SetValue] has left under a key; nil if there is none.
func (r *Response) Value(key any) any { return r.values[key] }

// SetBody replaces the body, Buffer and ContentLength. It does not copy body.
func (r *Response) SetBody(body []byte) {
	r.page.Lock()
	defer r.page.Unlock()
	r.Buffer = bytes.NewBuffer(body[:len(body):len(body)])
	r.page.Adopt(r.Buffer)
	r.ContentLength = len(body)
}

// Bytes returns the body as it was sent, with content codings removed. It must not be changed. It is nil for a spooled
// body, whatever its size: use [Response.Reader] for that.
func (r *Response) Bytes() []byte { return r.page.Bytes((*pageHost)(r)) }

// String returns the body as a string, without decoding its charset. It panics if a spooled body cannot be read, as
// [Response.CSS] does.
func (r *Response) String() string { return r.page.String((*pageHost)(r)) }

// Reader returns a new independent reader of the body from its beginning, in memory or spooled.
func (r *Response) Reader() io.ReadCloser { return r.page.Reader((*pageHost)(r)) }

// Text returns the body decoded to UTF-8, as browsers decode it (WHATWG Encoding and HTML §13.2.3.2): by its byte order
// mark, the charset of Content-Type, or the declaration in the document; without any of these, valid UTF-8 is UTF-8.
// Bytes that cannot be decoded become U+FFFD. See package html/charset for the other cases. For a spooled body the
// error is a [*BodyTooLargeError] above Limits.Body, or that of its file, which is closed when the request has settled.
// If there is no memory for the text, it is a [*selector.ParseError].
func (r *Response) Text() (string, error) { return r.page.Text((*pageHost)(r)) }

// base returns what references in the page are resolved against.
func (r *Response) base() (page.Base, error) { return r.page.Base((*pageHost)(r)) }

// hasBody reports whether the response has a body, in memory or spooled.
func (r *Response) hasBody() bool { return !r.page.IsEmpty((*pageHost)(r)) }

// beginning returns the first bytes of the body, at most that many.
func (r *Response) beginning(most int) ([]byte, error) {
	return r.page.Beginning((*pageHost)(r), most)
}

// isSpooled reports whether the body is a file, which closeSpool has to close.
func (r *Response) isSpooled() bool {
	r.page.Lock()
	defer r.page.Unlock()
	return r.page.IsSpooled()
}

// closeSpool removes the file of a spooled body; its readers fail from then on. The engine calls it when the request
// has settled.
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

// Transfer describes how a response came over the network. If an existing connection was reused, Lookup, Connect and
// Handshake are zero.
//
//	Proto      string               // "HTTP/1.1" or "HTTP/2.0"
//	RemoteAddr net.Addr             // of the server, or of the proxy; nil if unknown
//	Reused     bool                 // the connection had served another request before
//	TLS        *tls.ConnectionState // with the certificates of the server, or of an https proxy that plain HTTP goes to; nil without TLS
//
//	Lookup    time.Duration // of the host's addresses
//	Connect   time.Duration // to the first address that answered
//	Handshake time.Duration // of TLS
//	FirstByte time.Duration // from the request's way to the connection to the first byte of the answer
//	Body      time.Duration // from the header to the last byte
//
//	WireBytes int64 // of the body as it was received
//	BodyBytes int64 // of the body after its content coding was removed
//
//	Err error // why the body broke off, or what is wrong with the end of its content coding; nil if it is whole
//
// A content coding without its end, or with a wrong checksum, in a message that HTTP says is complete is no failure:
// the same bytes would come again. What was decoded is the body, Err is a [*TruncatedBodyError] with a
// [*CorruptBodyError], and Stats.Damaged counts it.
//
// Its method Sent returns the header of the request as it was sent, without Host, and the host that it named; Removed
// returns the fields that Response.Header lacks because a content coding was removed. Their maps must not be changed.
type Transfer = fetch.Transfer

// Transfer returns protocol, address, timings and sizes of the download. It is never nil; it is empty if the engine's
// own downloader did not fetch the response.
func (r *Response) Transfer() *Transfer {
	if r.transfer == nil {
		return new(Transfer)
	}
	return r.transfer
}

// pageHost is a Response as package page needs it.
type pageHost Response

// Given returns the fields that users may change.
func (h *pageHost) Given() page.Given {
	return page.Given{Status: h.Status, URL: h.URL, Header: h.Header, Buffer: h.Buffer}
}

// ContentType returns the value of that field of the header.
func (h *pageHost) ContentType() string { return fetch.FirstHeader(h.Header, "Content-Type") }

// Unreadable returns the error of a spooled body that cannot be read into memory.
func (h *pageHost) Unreadable(limit int64, cause error) error {
	if cause == nil {
		return &fetch.BodyTooLargeError{URL: h.URL, Limit: limit}
	}
	return errtext.Failed("reading the spooled body", " of ", h.URL, cause)
}

// Run returns the share of the request in the memory of its crawl, nil outside a run.
func (h *pageHost) Run() page.Run {
	if h.ctx == nil || h.ctx.run == nil {
		return nil
	}
	return h.ctx.run
}

// CSS selects nodes of the body with a CSS selector. The body is parsed once, at the first call of CSS or XPath: as XML
// if its Content-Type is XML (text/xml, application/rss+xml …; XHTML only if it is well-formed), else as HTML. See
// package selector for the syntax of queries. The Selection's URLs are resolved as [Response.Follow] does.
//
// CSS panics with a *selector.SyntaxError if the query is invalid, as regexp.MustCompile does, and with a
// *selector.ParseError if the page exceeds Limits.Nodes or Limits.Attributes, or its text Limits.Body. In a
// callback these panics become a HandleError of the request.
//
// A spooled body is read into memory, and counts towards Limits.BodiesInFlight. If that fails, CSS panics with the
// error that [Response.Text] returns.
func (r *Response) CSS(query string) *selector.Selection {
	return r.page.Document((*pageHost)(r)).CSS(query)
}

// XPath selects nodes of the body with an XPath 1.0 expression. Variables get their values by [selector.Var]. Parsing,
// panics and spooled bodies are as for [Response.CSS].
func (r *Response) XPath(expr string, vars ...selector.Variable) *selector.Selection {
	return r.page.Document((*pageHost)(r)).XPath(expr, vars...)
}

// JSON selects values of a JSON body by a path, as [selector.Selection.JSON] does: "products.#.name". The Content-Type
// need not say JSON. URLs of the values are resolved as [Response.Follow] does. It panics with a [*selector.ParseError]
// if the body is not JSON, and as [Response.CSS] does. [Response.Decode] reads the body into a variable.
func (r *Response) JSON(path string) *selector.Selection {
	doc, err := r.page.Typed((*pageHost)(r))
	if found := doc.JSON(path); err == nil && found != nil {
		return found
	}
	text := ""
	if err == nil { // its Content-Type says something else
		text, err = r.Text()
	}
	if err != nil {
		panic(err)
	}
	resolve := func(ref string) (string, error) { return r.page.Resolve((*pageHost)(r), ref) }
	if doc = selector.Parse([]byte(text), selector.JSON(), selector.Resolver(resolve)); doc.Err() != nil {
		panic(doc.Err())
	}
	return doc.JSON(path)
}

// Json decodes a JSON object. It returns nil if the body is anything else; the log warns of the first three such bodies
// of a run. [Response.Decode] returns the error, and decodes other values too; [Response.JSON] finds single values.
func (r *Response) Json() map[string]any {
	var v map[string]any
	if err := r.Decode(&v); err != nil {
		if r.ctx != nil && r.ctx.run != nil {
			r.ctx.run.notJSON(r.URL, err)
		}
		return nil
	}
	return v
}

// Decode decodes a JSON body into v. The body is in the encoding of its byte order mark, or else in the charset of its
// Content-Type, or else in UTF-8. The memory that this takes is estimated from the body and from v's type, and counts
// towards the memory of the page: if it is too much, the error is a [*selector.ParseError]. A json.Decoder that reads
// values one by one from [Response.Reader] takes less. A spooled body is read into memory, as for [Response.CSS].
func (r *Response) Decode(v any) error {
	if err := r.page.DecodeJSON((*pageHost)(r), v); err != nil {
		return errtext.Failed("decoding the JSON", " of ", r.URL, err)
	}
	return nil
}

// Unmarshal fills the struct that v points to from the page, by the words in the tags of its fields, see
// [selector.Selection.Unmarshal]. In a JSON body (by its Content-Type) only the word path finds values; the body is
// decoded as [Response.Decode] does. References are resolved as [Response.Follow] does, and relative times by the Date
// of the response. Each field is counted in [Stats], see [FieldStats].
//
// The error joins a [*selector.FieldError] for each field that is required and not found, or whose text cannot be
// converted; the others are filled. If the page cannot be read, the error is that of [Response.Text], or a
// [*selector.ParseError].
func (r *Response) Unmarshal(v any) error {
	doc, err := r.page.Typed((*pageHost)(r))
	if err == nil {
		err = doc.Unmarshal(v)
	}
	return r.extractError(err)
}

func (r *Response) extractError(err error) error {
	if err == nil {
		return nil
	}
	return errtext.Failed("extracting", " from ", r.URL, err)
}

// Each returns an iterator over the results of a CSS selector in the page, each as a new T, a struct or a pointer to
// one, that was filled from it, see [Response.Unmarshal]. An item with an error is yielded with that error, and the
// loop goes on: leave the item out, or return the error. For a JSON body the query is a path, "products" for example,
// and the results are the values in it. If the page cannot be read, the type has mistakes, or the query is wrong, the
// error comes once, with no item. If all items together take too many steps, a *selector.WorkError comes last.
func Each[T any](r *Response, query string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		doc, err := r.page.Typed((*pageHost)(r))
		if err != nil {
			var none T
			yield(none, r.extractError(err))
			return
		}
		for item, err := range selector.Each[T](doc, query) {
			if !yield(item, r.extractError(err)) {
				return
			}
		}
	}
}

// Links returns the page's links in document order, each URL once, and with links.Everything those of its header too.
// For XML they are taken from the tree that [Response.CSS] uses. See package links for the options. It panics if a
// spooled body cannot be read, or XML cannot be parsed, as CSS does.
func (r *Response) Links(opts ...links.Option) []links.Link {
	return r.page.Links((*pageHost)(r), opts)
}

// Metadata returns what the page says about itself: JSON-LD, microdata, OpenGraph, its canonical URL and so on. See
// package metadata. It is read from the page at each call. XML other than XHTML has none. Panics are as for
// [Response.CSS].
func (r *Response) Metadata() *metadata.Page { return r.page.Metadata((*pageHost)(r)) }

// Article returns the main text of the page, with its title, author, date and language: see package content for it and
// its options. It is computed again at each call. The error is a [*content.NoTextError] or a [*content.TooLargeError].
// Panics are as for [Response.CSS].
func (r *Response) Article(opts ...content.Option) (*content.Article, error) {
	return r.page.Article((*pageHost)(r), opts)
}

// Follow makes a request for a link found in the page, but does not send it. The link is resolved as browsers do, with
// the page's <base>. The method is GET, or POST if the options give the request a body and no method.
func (r *Response) Follow(ref string, opts ...RequestOption) (*Request, error) {
	url, err := r.page.Resolve((*pageHost)(r), ref)
	if err != nil {
		if wrong := (*page.RefError)(nil); errors.As(err, &wrong) {
			err = &RequestError{URL: wrong.URL, Field: "Url", Err: wrong.Err}
		}
		return nil, err
	}
	return newFollowing(url, opts), nil
}

// newFollowing makes the request for a link: a GET, or a POST if the options give it a body and no method.
func newFollowing(url string, opts []RequestOption) *Request {
	req := NewRequest(url, "", nil, opts...)
	req.Method = req.method()
	return req
}

// SetValue leaves the parser a value, which [Response.Value] returns. It is for a [Downloader] that has more than a
// body, a picture of the page for example, and is called before the result is sent. Keys are as those of
// [context.WithValue]. size is how many bytes of memory the value takes: they count in Limits.BodiesInFlight, without a
// wait. The error is a [*BodyTooLargeError] above Limits.Body.
func (r *Response) SetValue(key, value any, size int64) error {
	if r.ctx != nil {
		if limit := r.ctx.MaxBody(); size > limit {
			return &BodyTooLargeError{URL: r.URL, Limit: limit}
		}
		if r.ctx.run != nil {
			r.ctx.run.Add(size)
		}
	}
	if r.values == nil {
		r.values = make(map[any]any)
	}
	r.values[key] = value
	return nil
}

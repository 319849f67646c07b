package tegenaria

import (
	"bytes"
	"fmt"
	"io"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/internal/wire"
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
	page     page.Page // its lock guards the fields above while the engine changes them
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

// SetBody replaces the body, Buffer and ContentLength. It does not copy body.
func (r *Response) SetBody(body []byte) {
	r.page.Lock()
	defer r.page.Unlock()
	r.Buffer = bytes.NewBuffer(body[:len(body):len(body)])
	r.page.Adopt(r.Buffer)
	r.ContentLength = len(body)
}

// Bytes returns the body as it was sent, with content codings removed. It must not be changed. It is nil for a spooled body,
// whatever its size: use [Response.Reader] for that.
func (r *Response) Bytes() []byte { return r.page.Bytes((*pageHost)(r)) }

// String returns the body as a string, without decoding its charset. It panics if a spooled body cannot be read, as
// [Response.CSS] does.
func (r *Response) String() string { return r.page.String((*pageHost)(r)) }

// Reader returns a new independent reader of the body from its beginning, in memory or spooled.
func (r *Response) Reader() io.ReadCloser { return r.page.Reader((*pageHost)(r)) }

// Text returns the body decoded to UTF-8, as browsers decode it (WHATWG Encoding and HTML §13.2.3.2): by its byte order
// mark, the charset of Content-Type, or the declaration in the document; without any of these, valid UTF-8 is UTF-8. Bytes
// that cannot be decoded become U+FFFD. See package html/charset for the other cases. For a spooled body the error is a
// [*BodyTooLargeError] above Limits.Body, or that of its file, which is closed when the request has settled. If there is no
// memory for the text, it is a [*selector.ParseError].
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

// Transfer describes how a response came over the network. If an existing connection was reused, Lookup, Connect and Handshake are
// zero.
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
// A content coding without its end, or with a wrong checksum, in a message that HTTP says is complete is no failure: the same bytes would
// come again. What was decoded is the body, Err is a [*TruncatedBodyError] with a [*CorruptBodyError], and Stats.Damaged counts it.
//
// Its method Sent returns the header of the request as it was sent, without Host, and the host that it named; Removed returns the
// fields that Response.Header lacks because a content coding was removed. Their maps must not be changed.
type Transfer = fetch.Transfer

// Transfer returns protocol, address, timings and sizes of the download. It is never nil; it is empty if the engine's own
// downloader did not fetch the response.
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
	return fmt.Errorf("tegenaria: reading the spooled body of %s: %w", urlx.Redact(h.URL), cause)
}

// Run returns the share of the request in the memory of its crawl, nil outside a run.
func (h *pageHost) Run() page.Run {
	if h.ctx == nil || h.ctx.run == nil {
		return nil
	}
	return h.ctx.run
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
		r.newExtras().data = d
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
	url, d := resp.req.Url, resp.req.extras().data
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

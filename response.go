package tegenaria

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/jsonsize"
	"github.com/tegenaria/tegenaria/internal/multiread"
	"github.com/tegenaria/tegenaria/internal/urlx"
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
	readable int64        // largest spooled body that is read into memory
	made     atomic.Int64 // bytes that are made of the body, see grow
	copies   fetch.Copies // of them: the largest copy that was handed out

	mu   sync.Mutex // guards the fields below
	body []byte
	view *bytes.Buffer // the Buffer that body belongs to
	file *multiread.Body
	read []byte           // the bytes of file, nil until asked for
	text []byte           // the decoded body, nil until asked
	enc  charset.Encoding // that it was decoded from
	doc  *selector.Document
	base *urlx.Base
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
	r.adopt()
	return r
}

// Context returns the Context that the response answers, or nil outside a run.
func (r *Response) Context() *Context { return r.ctx }

// Request returns the request that the response answers.
func (r *Response) Request() *Request { return r.req }

// SetBody replaces the body, Buffer and ContentLength. It keeps body.
func (r *Response) SetBody(body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Buffer = bytes.NewBuffer(body[:len(body):len(body)])
	r.adopt()
	r.ContentLength = len(body)
}

// adopt makes the present Buffer the body. The caller holds mu.
func (r *Response) adopt() {
	r.view = r.Buffer
	r.body = nil
	if r.Buffer != nil {
		r.body = r.Buffer.Bytes()
		if r.file != nil { // of a spooled body that is replaced
			r.file.Close()
			r.file = nil
		}
	}
	r.read, r.text, r.enc, r.doc, r.base = nil, nil, charset.UTF8, nil, nil
}

// sync takes over a Buffer that user code has set. The caller holds mu.
func (r *Response) sync() {
	if r.Buffer != r.view {
		r.adopt()
	}
}

// Bytes returns the body as it was sent, content coding removed. It must not be changed. It is nil for a spooled body,
// whatever its size: [Response.Reader] reads that.
func (r *Response) Bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sync()
	return r.body
}

// String returns the body as a string, without decoding its charset. A spooled body that cannot be read is a panic, as
// with [Response.CSS].
func (r *Response) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := r.inMemory()
	if err == nil {
		err = r.growCopy(0, int64(len(body)))
	}
	if err != nil {
		panic(err)
	}
	return string(body)
}

// inMemory returns the body; a spooled one is read into memory. The error is a [*BodyTooLargeError], or one of the
// file: it is closed once the request has settled. The caller holds mu.
func (r *Response) inMemory() ([]byte, error) {
	r.sync()
	if r.file == nil {
		return r.body, nil
	}
	if body, ok := r.file.Bytes(); ok {
		return body, nil
	}
	if r.read != nil {
		return r.read, nil
	}
	size := r.file.Len()
	if size > r.readable {
		return nil, &BodyTooLargeError{URL: r.URL, Limit: r.readable}
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r.file.Reader(), body); err != nil {
		return nil, fmt.Errorf("tegenaria: reading the spooled body of %s: %w", urlx.Redact(r.URL), err)
	}
	if r.ctx != nil && r.ctx.job != nil && r.ctx.job.crawl != nil { // the file is open: the request has not settled
		r.ctx.job.crawl.fetcher.bodies.Add(r.ctx.hold(), size)
	}
	r.read = body
	return body, nil
}

// Reader returns a new independent reader of the body from its beginning, in memory or spooled.
func (r *Response) Reader() io.ReadCloser {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sync()
	if r.file != nil {
		return r.file.Reader()
	}
	return multiread.New(r.body).Reader()
}

// Text returns the body decoded to UTF-8, as browsers decode it (WHATWG Encoding and HTML §13.2.3.2):
// by its byte order mark, the charset of Content-Type, or what the document declares; a body that says
// nothing and is valid UTF-8 is UTF-8. Bytes that cannot be decoded become U+FFFD. See package html/charset
// for the rest. The error is that of a spooled body, a [*BodyTooLargeError] above Limits.Body, or one of its file, which
// is closed once the request has settled; or a [*selector.ParseError], where the text finds no memory.
func (r *Response) Text() (string, error) {
	text, err := r.decoded()
	if err == nil {
		err = r.growCopy(0, int64(len(text)))
	}
	if err != nil {
		return "", err
	}
	return string(text), nil
}

func (r *Response) decoded() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.decodedLocked()
}

func (r *Response) decodedLocked() ([]byte, error) {
	body, err := r.inMemory()
	if err != nil {
		return nil, err
	}
	if r.text == nil {
		text, e, _, err := charset.DecodeCharged(body, fetch.FirstHeader(r.Header, "Content-Type"), r.grow)
		if err != nil {
			return nil, &selector.ParseError{Err: err}
		}
		r.text, r.enc = text, e
	}
	return r.text, nil
}

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
func (r *Response) CSS(query string) *selector.Selection { return r.document().CSS(query) }

// XPath selects nodes of the body by an XPath 1.0 expression, with the rules of CSS.
func (r *Response) XPath(expr string) *selector.Selection { return r.document().XPath(expr) }

func (r *Response) document() *selector.Document {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sync()
	if r.doc == nil {
		text, err := r.decodedLocked()
		if err != nil {
			panic(err)
		}
		r.doc = r.parse(text)
	}
	return r.doc
}

// parse parses the decoded body as the type that the Content-Type names.
func (r *Response) parse(text []byte) *selector.Document {
	var room [3]selector.Option
	options := append(room[:0], selector.For((*pageHost)(r)))
	if j := r.job(); j != nil {
		options = append(options, j.crawl.reader.options.of(text))
	}
	if isXML(fetch.FirstHeader(r.Header, "Content-Type")) {
		options = append(options, selector.XML())
	}
	doc := selector.Parse(text, options...)
	if err := doc.Err(); err != nil {
		panic(err)
	}
	return doc
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
	if err := r.decodeJSON(v); err != nil {
		return fmt.Errorf("tegenaria: decoding the JSON of %s: %w", urlx.Redact(r.URL), err)
	}
	return nil
}

func (r *Response) decodeJSON(v any) error {
	r.mu.Lock()
	body, err := r.inMemory()
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if len(body) > smallPage {
		if err := r.growCopy(0, jsonsize.Of(body, v)); err != nil {
			return err
		}
	}
	// Unmarshal reads all before it touches v. The decoder has the better error.
	err = json.Unmarshal(body, v)
	if wrong := (*json.SyntaxError)(nil); !errors.As(err, &wrong) || len(body) > fetch.Uncharged {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(v); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// hasBody reports whether the response has a body, in memory or spooled.
func (r *Response) hasBody() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sync()
	return len(r.body) > 0 || r.file != nil && r.file.Len() > 0
}

// beginning returns so many bytes of the body, or all of them if there are fewer.
func (r *Response) beginning(most int) ([]byte, error) {
	if body := r.Bytes(); len(body) > 0 {
		return body[:min(len(body), most)], nil
	}
	reader := r.Reader()
	defer reader.Close()
	return io.ReadAll(io.LimitReader(reader, int64(most)))
}

// complete fills in the fields that a response made by hand lacks.
func (r *Response) complete(ctx *Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ctx, r.req = ctx, ctx.Request
	if r.Header == nil {
		r.Header = make(map[string][]string)
	}
	if r.URL == "" {
		r.URL = ctx.Request.Url
	}
	if r.Buffer == nil && r.file == nil {
		r.Buffer = new(bytes.Buffer)
	}
	r.sync()
}

// closeSpool gives back the file of a spooled body; its readers fail from then on. The engine calls it
// when the request has settled.
func (r *Response) closeSpool() {
	r.mu.Lock()
	file := r.file
	r.mu.Unlock()
	if file != nil {
		file.Close()
	}
}

// Transfer returns how the response came. It is never nil: all of it is zero if the engine's own downloader did not bring
// the response.
func (r *Response) Transfer() *Transfer {
	if r.transfer == nil {
		return new(Transfer)
	}
	return r.transfer
}

package tegenaria

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/identity"
)

// Methods are plain strings; these are the ones HTTP defines most uses of (RFC 9110 §9, RFC 5789).
const (
	GET     = http.MethodGet
	POST    = http.MethodPost
	PUT     = http.MethodPut
	PATCH   = http.MethodPatch
	DELETE  = http.MethodDelete
	HEAD    = http.MethodHead
	OPTIONS = http.MethodOptions
)

// Defaults of a request made by [NewRequest].
const (
	DefaultTimeout      = 60 * time.Second // whole exchange: connect to last body byte
	DefaultMaxRedirects = 10
)

// Parser reads one response. It sends items and new requests while it runs; the engine receives
// from both channels until the parser returns and never closes them. A parser must not use the
// channels, nor let others use them, after it has returned. It may block; what it returns becomes
// a [HandleError] of the request, unless it is nil or [Retry].
type Parser func(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error

// Proxy names the proxy that a request goes through: http, https or socks5, credentials in the
// URL's userinfo. The environment (HTTP_PROXY and the like) names none.
type Proxy struct {
	ProxyUrl string
}

// Request says which URL to download, how, and which parser reads the response. Make one with [NewRequest] or [Response.Follow]: a Request
// written by hand follows no redirects, since AllowRedirects and MaxRedirects are zero. A Request belongs to
// the engine once it was sent and must not be changed any more, except by middlewares.
type Request struct {
	Url            string            // absolute, or anything [Response.Follow] resolved; sent as found
	Header         map[string]string // never nil in user hands
	Method         string            // GET if empty
	Body           []byte            // request body
	Params         map[string]string // merged into the URL's query when sent; a name given here replaces the URL's own
	Proxy          *Proxy            // nil: none, or what a client of EngineWithHTTPClient has
	Cookies        map[string]string // sent as one Cookie header
	Meta           map[string]any    // the user's data; travels with the request and its redirects
	AllowRedirects bool              // false: a 3xx reaches the parser as it is
	MaxRedirects   int               // longest chain of hops; 0 and less: as AllowRedirects false
	BodyReader     io.Reader         // read once into Body when the request is accepted
	ResponseWriter io.Writer         // takes the body instead of Response.Buffer; memory cache only

	Priority  int      // larger goes first within a slot
	Depth     int      // 0 for seeds; set by the engine to the parent's + 1
	Attempt   int      // 0 at first; how often this request was tried before
	Redirects []string // URLs of the hops that led here, the first asked one at index 0

	parser          Parser
	parserName      string
	named           bool // parserName was set by the user
	maxConnsPerHost int
	doNotFilter     bool
	sameDepth       bool // only of use when the request is accepted
	timeout         time.Duration
	allowStatus     []uint64
	slot            string
	downloader      string
	notBefore       time.Time
	spool           bool
	partial         bool
	chain           identity.Chain
	err             error // of an option; reported when the request is accepted
}

// RequestOption changes a request under construction. The error of an option (a value that JSON
// cannot hold, say) is kept and reported as the request's failure when it is sent; so is a nil option, by a
// [*RequestError].
type RequestOption func(r *Request)

// NewRequest makes a request that parser will read; a nil parser stands for the spider's Parser.
// A URL that cannot be asked (unknown scheme, no host) is reported when the request is sent: it
// settles as filtered and reaches the spider's ErrorHandler.
func NewRequest(url, method string, parser Parser, opts ...RequestOption) *Request {
	r := &Request{
		Url:            url,
		Header:         make(map[string]string),
		Method:         method,
		AllowRedirects: true,
		MaxRedirects:   DefaultMaxRedirects,
		parser:         parser,
	}
	for i, opt := range opts {
		if opt == nil {
			r.fail(nilOption(url, "RequestOption", i))
			continue
		}
		opt(r)
	}
	return r
}

var errNilOption = errors.New("it is nil")

// nilOption is the mistake of the option that is i-th of its kind, counted from 0.
func nilOption(url, kind string, i int) error {
	return &RequestError{URL: url, Field: fmt.Sprintf("%s %d", kind, i+1), Err: errNilOption, Remedy: "leave it out"}
}

// clone returns a copy that shares nothing with the request but its values of Meta.
func (r *Request) clone() *Request {
	c := *r
	c.Header, c.Params, c.Cookies, c.Meta = maps.Clone(r.Header), maps.Clone(r.Params), maps.Clone(r.Cookies), maps.Clone(r.Meta)
	c.Body, c.Redirects = slices.Clone(r.Body), slices.Clone(r.Redirects)
	if r.Proxy != nil {
		c.Proxy = &Proxy{r.Proxy.ProxyUrl}
	}
	return &c
}

func (r *Request) method() string {
	if r.Method == "" {
		return GET
	}
	return r.Method
}

func (r *Request) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// RequestWithRequestHeader adds headers; a name given twice keeps the later value.
func RequestWithRequestHeader(header map[string]string) RequestOption {
	return func(r *Request) { maps.Copy(r.Header, header) }
}

// RequestWithRequestBody sends the map as a JSON body, with its Content-Type unless one is set.
func RequestWithRequestBody(body map[string]any) RequestOption { return RequestWithJSON(body) }

// RequestWithJSON sends v as a JSON body, with its Content-Type unless one is set.
func RequestWithJSON(v any) RequestOption {
	return func(r *Request) {
		body, err := json.Marshal(v)
		if err != nil {
			r.fail(fmt.Errorf("tegenaria: encoding the JSON body of %s: %w", r.Url, err))
			return
		}
		r.Body = body
		r.setDefaultHeader("Content-Type", "application/json")
	}
}

// RequestWithForm sends a URL-encoded form, with its Content-Type unless one is set.
func RequestWithForm(form url.Values) RequestOption {
	return func(r *Request) {
		r.Body = []byte(form.Encode())
		r.setDefaultHeader("Content-Type", "application/x-www-form-urlencoded")
	}
}

// RequestWithBody sends these bytes. The request keeps the slice.
func RequestWithBody(body []byte) RequestOption {
	return func(r *Request) { r.Body = body }
}

// RequestWithBodyReader sends what the reader yields. It is read once, when the request is
// accepted, so that the body takes part in the fingerprint and can be sent again; a reader of more
// than Limits.Body bytes fails the request.
func RequestWithBodyReader(body io.Reader) RequestOption {
	return func(r *Request) { r.BodyReader = body }
}

// RequestWithRequestParams adds query parameters to the URL's own; a name given here replaces the
// URL's pairs of that name.
func RequestWithRequestParams(params map[string]string) RequestOption {
	return func(r *Request) {
		if r.Params == nil {
			r.Params = make(map[string]string, len(params))
		}
		maps.Copy(r.Params, params)
	}
}

// RequestWithRequestProxy sends the request through a proxy.
func RequestWithRequestProxy(proxy Proxy) RequestOption {
	return func(r *Request) { r.Proxy = &proxy }
}

// RequestWithRequestCookies adds cookies by name.
func RequestWithRequestCookies(cookies map[string]string) RequestOption {
	return func(r *Request) {
		if r.Cookies == nil {
			r.Cookies = make(map[string]string, len(cookies))
		}
		maps.Copy(r.Cookies, cookies)
	}
}

// RequestWithRequestMeta adds data of the user's own, to be found in the parser's
// resp.Request.Meta. A durable cache stores bool, string, []byte, integers, floats, time.Time,
// slices and string-keyed maps of these, and the types named by [EngineWithMetaType].
func RequestWithRequestMeta(meta map[string]any) RequestOption {
	return func(r *Request) {
		if r.Meta == nil {
			r.Meta = make(map[string]any, len(meta))
		}
		maps.Copy(r.Meta, meta)
	}
}

// RequestWithAllowRedirects says whether redirects are followed (default true).
func RequestWithAllowRedirects(allow bool) RequestOption {
	return func(r *Request) { r.AllowRedirects = allow }
}

// RequestWithMaxRedirects bounds the chain of redirects (default 10). Zero or less follows none.
func RequestWithMaxRedirects(n int) RequestOption {
	return func(r *Request) { r.MaxRedirects = n }
}

// RequestWithResponseWriter streams the body to w instead of memory: the parser then finds an empty
// Response.Buffer. Such a request cannot be stored by a durable cache, and is retried only if
// nothing was written or w can be truncated (Truncate and Seek, as *os.File).
func RequestWithResponseWriter(w io.Writer) RequestOption {
	return func(r *Request) { r.ResponseWriter = w }
}

// RequestWithMaxConnsPerHost caps how many requests of this request's slot are in flight at once.
func RequestWithMaxConnsPerHost(n int) RequestOption {
	return func(r *Request) {
		if n < 0 {
			r.fail(fmt.Errorf("tegenaria: MaxConnsPerHost of %s is %d; it must not be negative", r.Url, n))
			return
		}
		r.maxConnsPerHost = n
	}
}

// RequestWithPriority orders requests within a slot: larger first, default 0.
func RequestWithPriority(priority int) RequestOption {
	return func(r *Request) { r.Priority = priority }
}

// RequestWithDoNotFilter lets the request pass even if an equal one was seen before.
func RequestWithDoNotFilter(doNotFilter bool) RequestOption {
	return func(r *Request) { r.doNotFilter = doNotFilter }
}

// RequestWithSameDepth gives a parser's request the depth of the page that sends it, not one more: for a
// target that takes the page's place, such as that of a meta refresh. A parser that follows such targets must bound
// their number itself.
func RequestWithSameDepth() RequestOption {
	return func(r *Request) { r.sameDepth = true }
}

// RequestWithTimeout bounds the whole exchange, from connecting to the last body byte. Zero keeps
// the default of 60 s; a negative value sets no bound.
func RequestWithTimeout(timeout time.Duration) RequestOption {
	return func(r *Request) { r.timeout = timeout }
}

// RequestWithAllowedStatusCode names codes of 400 and over that reach the parser instead of the
// ErrorHandler.
func RequestWithAllowedStatusCode(codes []uint64) RequestOption {
	return func(r *Request) { r.allowStatus = slices.Clone(codes) }
}

// AllowsStatus reports whether [RequestWithAllowedStatusCode] named the code.
func (r *Request) AllowsStatus(code int) bool {
	return code >= 0 && slices.Contains(r.allowStatus, uint64(code))
}

// RequestWithSlot puts the request into the named politeness slot instead of its host's.
func RequestWithSlot(name string) RequestOption {
	return func(r *Request) { r.slot = name }
}

// RequestWithDownloader names the registered downloader that fetches the request.
func RequestWithDownloader(name string) RequestOption {
	return func(r *Request) { r.downloader = name }
}

// RequestWithNotBefore keeps the request waiting until t.
func RequestWithNotBefore(t time.Time) RequestOption {
	return func(r *Request) { r.notBefore = t }
}

// RequestWithParser sets the parser; a func registered by name is recognised and stored by its name.
func RequestWithParser(parser Parser) RequestOption {
	return func(r *Request) { r.parser = parser }
}

// RequestWithParserName sets the parser by the name it was registered under; "" is the spider's
// Parser.
func RequestWithParserName(name string) RequestOption {
	return func(r *Request) { r.parserName, r.named = name, true }
}

// RequestWithSpool lets the body exceed Limits.Body, up to Limits.Spool: it goes to a temporary file, Response.Buffer
// and Bytes are nil, and [Response.Reader] and Decode read it. Text, String, CSS, XPath and Links read it into memory if
// it is not larger than Limits.Body, and fail if it is. The file is there until the request has settled, or the caller of Fetch:
// its parser has returned and its items have left the pipelines.
func RequestWithSpool() RequestOption {
	return func(r *Request) { r.spool = true }
}

func (r *Request) setDefaultHeader(name, value string) {
	if r.Header == nil {
		r.Header = make(map[string]string)
	}
	if !fetch.HasHeader(r.Header, name) {
		r.Header[name] = value
	}
}

// RequestWithPartialBody lets a response whose body breaks off reach the parser, with the bytes that came:
// Response.Transfer().Err then is the [*TruncatedBodyError]. Without the option it is a failure of the request,
// whose HandleError has that Response. Of a spooled body nothing is kept.
func RequestWithPartialBody() RequestOption {
	return func(r *Request) { r.partial = true }
}

// timeoutOrDefault returns the longest that an exchange of the request may take.
func (r *Request) timeoutOrDefault() time.Duration {
	switch {
	case r.timeout == 0:
		return DefaultTimeout
	case r.timeout < 0:
		return 1<<62 - farewell
	}
	return r.timeout
}

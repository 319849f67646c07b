package tegenaria

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"
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

// Request says what to download and who reads it. Make one with [NewRequest] or [Response.Follow]: a Request
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
	chain           redirectChain
	err             error // what an option could not do; reported when the request is accepted
}

// RequestOption changes a request under construction. What an option cannot do (a value that JSON
// cannot hold, say) is kept and reported as the request's failure when it is sent; so is a nil option, by a
// [*RequestError].
type RequestOption func(r *Request)

// NewRequest makes a request that parser will read; a nil parser stands for the spider's Parser.
// An URL that cannot be asked (unknown scheme, no host) is reported when the request is sent: it
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

// redirectChain is what a redirected request inherits from the chain that led to it.
type redirectChain struct {
	filtered  bool // the chain began with a filtered GET: targets are deduplicated
	keys      []Key
	setCookie bool // a hop of the chain set a cookie
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

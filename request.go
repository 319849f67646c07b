package tegenaria

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/remedy"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// The usual HTTP methods (RFC 9110 §9, RFC 5789). A method is a plain string, so others work too.
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
	DefaultTimeout      = 60 * time.Second // of the whole exchange, from connecting to the last byte of the body
	DefaultMaxRedirects = 10
)

// Parser reads one response. [Handle] makes one from a func without channels. A Parser sends items and new requests
// while it runs; the engine receives from both channels until the parser returns, and never closes them. After its
// return neither the parser nor its goroutines may use the channels. It may block. An error other than [Retry] becomes
// a [HandleError] of the request.
type Parser func(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error

// Proxy is the proxy that a request goes through: an http, https, socks5 or socks5h URL, with the credentials in its
// userinfo part. Environment variables such as HTTP_PROXY are ignored.
type Proxy struct {
	ProxyUrl string
}

// Request is a URL to download, with its method, headers, body and options, and the parser that reads the response.
// Make one with [NewRequest] or [Response.Follow]: a Request literal follows no redirects, since its AllowRedirects and
// MaxRedirects are zero. Once it was sent, a Request belongs to the engine, and only middlewares may change it.
type Request struct {
	Url    string            // absolute; sent as it is written here
	Header map[string]string // never nil in a request that user code gets
	// if empty, POST with a body and GET without; "post" is POST, see [RequestWithMethod]
	Method         string
	Body           []byte            // request body
	Params         map[string]string // merged into the URL's query when sent; a name given here replaces the URL's own
	Proxy          *Proxy            // nil: none, or that of a client given by EngineWithHTTPClient
	Cookies        map[string]string // sent as one Cookie header
	Meta           map[string]any    // the user's data; kept over redirects and retries
	AllowRedirects bool              // false: a 3xx reaches the parser as it is
	MaxRedirects   int               // longest chain of redirects; 0 or less: as AllowRedirects false
	BodyReader     io.Reader         // read once into Body when the request is accepted
	ResponseWriter io.Writer         // the body is written to it instead of Response.Buffer; memory cache only

	Priority  int      // of the requests that wait in a slot the one with the largest goes first
	Depth     int      // 0 for seeds; otherwise the engine sets it to the parent's depth + 1
	Attempt   int      // how often this request was tried before; 0 at first
	Redirects []string // the URLs that were redirected to this one, the first at index 0

	parser     Parser
	parserName string
	parent     report.PageID // of the request that led to it, for the log
	few        *extras       // nil: none; read it with extras

	named       bool // parserName was set by the user
	doNotFilter bool
	sameDepth   bool // only of use when the request is accepted
	spool       bool
	partial     bool
}

// NewRequest makes a request whose response is read by parser; nil means the spider's Parser. An empty method is
// POST if the options give the request a body, and GET otherwise; see [RequestWithMethod] for the spelling of methods.
// A URL that cannot be requested (unknown scheme, no host) is reported when the request is sent: the request
// ends as filtered, and the ErrorHandlers are called.
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
	r.settleMethod()
	return r
}

// clone returns a copy that shares nothing with the request but its values of Meta.
func (r *Request) clone() *Request {
	c := *r
	c.Header, c.Params, c.Cookies, c.Meta = maps.Clone(r.Header), maps.Clone(r.Params), maps.Clone(r.Cookies),
		maps.Clone(r.Meta)
	c.Body, c.Redirects = slices.Clone(r.Body), slices.Clone(r.Redirects)
	if r.Proxy != nil {
		c.Proxy = &Proxy{r.Proxy.ProxyUrl}
	}
	return &c
}

// method returns the method that is sent.
func (r *Request) method() string {
	switch {
	case r.Method != "":
		return fetch.Method(r.Method)
	case r.Body != nil || r.BodyReader != nil: // an empty one too
		return POST
	}
	return GET
}

// settleMethod writes down the method that is sent. An empty one without a body stays, since a body may be set yet.
func (r *Request) settleMethod() {
	if m := r.method(); m != r.Method && (r.Method != "" || m != GET) {
		r.Method = m
	}
}

// checkMethod returns the error of a method that cannot be sent.
func (r *Request) checkMethod() error {
	if err := fetch.CheckMethod(r.method()); err != nil {
		return &RequestError{URL: r.Url, Field: "Method", Err: err, Remedy: "write GET or POST, for example"}
	}
	return nil
}

func (r *Request) fail(err error) {
	if r.extras().err == nil {
		r.newExtras().err = err
	}
}

// ParserName returns the name that [RequestWithParserName] gave, "" for a request without one.
func (r *Request) ParserName() string { return r.parserName }

func (r *Request) setDefaultHeader(name, value string) {
	if r.Header == nil {
		r.Header = make(map[string]string)
	}
	if !fetch.HasHeader(r.Header, name) {
		r.Header[name] = value
	}
}

// follows reports whether the request allows its redirects to be followed.
func (r *Request) follows() bool { return r.AllowRedirects && r.MaxRedirects > 0 }

// extras are the fields of a request that few requests have. Copies of a request share them: a change makes new extras.
type extras struct {
	wire.Extras
	notBefore time.Time
	chain     identity.Chain
	err       error // of an option; reported when the request is accepted

	sessionOwn any // of SetSession
}

// noExtras are those of a request that has none.
var noExtras = new(extras)

// extras returns the request's extras, to be read.
func (r *Request) extras() *extras {
	if r.few == nil {
		return noExtras
	}
	return r.few
}

// newExtras gives the request a copy of its extras, and returns it to be changed.
func (r *Request) newExtras() *extras {
	few := *r.extras()
	r.few = &few
	return r.few
}

// stored reports whether there is anything that the encoding of a request has a place for.
func (x *extras) stored() bool {
	return !x.IsZero() || len(x.chain.Keys) > 0 || x.chain.Filtered || x.chain.SetCookie
}

// AllowsStatus reports whether [RequestWithAllowedStatusCode] named the code.
func (r *Request) AllowsStatus(code int) bool {
	return code >= 0 && slices.Contains(r.extras().AllowStatus, uint64(code))
}

// Downloader returns the name that [RequestWithDownloader] gave, "" for a request without one.
func (r *Request) Downloader() string { return r.extras().Downloader }

// Session returns the name of the session that the request is sent in, see [RequestWithSession]; "" and "-" are none. That of a session
// without a name of its own begins with "#".
func (r *Request) Session() string { return r.extras().Session }

// namedSession is Session for one that a request can name, "" if there is none.
func (r *Request) namedSession() string {
	name := r.extras().Session
	if name == "-" || strings.HasPrefix(name, "#") {
		return ""
	}
	return name
}

// SetSession names the session that the request is sent in, for the middleware that keeps the sessions. own is its own, which SessionOwn
// returns: it is not stored with the request.
func (r *Request) SetSession(name string, own any) {
	x := r.newExtras()
	x.Session, x.sessionOwn = name, own
}

// SessionOwn returns what SetSession was given with the session's name, nil if it was not called in this run.
func (r *Request) SessionOwn() any { return r.extras().sessionOwn }

// inherit has a request that is sent for another one stay in its session, unless it names one.
func (r *Request) inherit(parent *Request) {
	if parent != nil && parent.extras().Session != "" && r.extras().Session == "" {
		r.SetSession(parent.extras().Session, nil)
	}
}

// Variant returns what [RequestWithVariant] gave, "" for a request without one.
func (r *Request) Variant() string { return r.extras().Variant }

// timeoutOrDefault returns the longest that an exchange of the request may take.
func (r *Request) timeoutOrDefault() time.Duration {
	switch timeout := r.extras().Timeout; {
	case timeout == 0:
		return DefaultTimeout
	case timeout < 0:
		return 1<<62 - guard.CancelGrace
	default:
		return timeout
	}
}

// readBody reads BodyReader into Body, once. A body above limit bytes fails the request.
func (r *Request) readBody(limit int64) error {
	if r.BodyReader == nil {
		return nil
	}
	var body []byte
	err := guard.Protect(func() (err error) {
		body, err = io.ReadAll(io.LimitReader(r.BodyReader, limit+1))
		return err
	})
	if err != nil {
		return &RequestError{URL: r.Url, Field: "BodyReader", Err: fmt.Errorf("reading it: %w", err)}
	}
	if int64(len(body)) > limit {
		return &RequestError{URL: r.Url, Field: "BodyReader", Err: fmt.Errorf("%w of %d bytes", errBodyLimit, limit),
			Remedy: "raise " + remedy.Body.String()}
	}
	r.Body, r.BodyReader = body, nil
	return nil
}

// errBodyLimit is the failure of a request body that is too large.
var errBodyLimit = errors.New("the body is larger than the limit")

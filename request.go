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
	"github.com/tegenaria/tegenaria/internal/report"
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

// Parser reads one response. [Handle] makes one from a func without channels. A Parser sends items and new requests while
// it runs; the engine receives from both channels until the parser returns, and never closes them. After its return
// neither the parser nor its goroutines may use the channels. It may block. An error other than [Retry] becomes
// a [HandleError] of the request.
type Parser func(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error

// Proxy is the proxy that a request goes through: an http, https, socks5 or socks5h URL, with the credentials in its
// userinfo part. Environment variables such as HTTP_PROXY are ignored.
type Proxy struct {
	ProxyUrl string
}

// Request is a URL to download, with its method, headers, body and options, and the parser that reads the response. Make
// one with [NewRequest] or [Response.Follow]: a Request literal follows no redirects, since its AllowRedirects and
// MaxRedirects are zero. Once it was sent, a Request belongs to the engine, and only middlewares may change it.
type Request struct {
	Url            string            // absolute; sent as it is written here
	Header         map[string]string // never nil in a request that user code gets
	Method         string            // if empty, POST with a body and GET without; "post" is POST, see [RequestWithMethod]
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

// RequestOption changes a request under construction. If an option has an error (a value that cannot be encoded as JSON,
// say), the request fails with it when it is sent; a nil option is a [*RequestError].
type RequestOption func(r *Request)

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

// nilOption is the mistake of the option that is i-th of its kind, counted from 0.
func nilOption(url, kind string, i int) error {
	return &RequestError{URL: url, Field: fmt.Sprintf("%s %d", kind, i+1), Err: errors.New("it is nil"), Remedy: "leave it out"}
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

// RequestWithMethod sets the method, instead of the one given to [NewRequest], or the GET of [Response.Follow] and
// [Output.Follow]. The methods of RFC 9110 and PATCH may be written in lower case: "post" is POST. Any other token
// (RFC 9110 §5.6.2) is sent as it is, such as "purge"; only the duplicate filter ignores its case. If the method is not a
// token, such as "GET IT", the request fails when it is sent: with a [*RequestError] whose Field is "Method".
//
// A request that has a body, from whichever option, and no method is a POST. An explicit GET remains a GET:
// NewRequest(url, GET, …) and RequestWithMethod(GET) send the body with it.
func RequestWithMethod(method string) RequestOption {
	return func(r *Request) { r.Method = method }
}

func (r *Request) fail(err error) {
	if r.extras().err == nil {
		r.newExtras().err = err
	}
}

// RequestWithRequestHeader adds headers; a name given twice keeps the later value.
func RequestWithRequestHeader(header map[string]string) RequestOption {
	return func(r *Request) { maps.Copy(r.Header, header) }
}

// RequestWithRequestBody sends the map as a JSON body, as [RequestWithJSON] does.
func RequestWithRequestBody(body map[string]any) RequestOption { return RequestWithJSON(body) }

// RequestWithJSON sends v as a JSON body, with its Content-Type unless one is set. A request without a method is then a POST.
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

// RequestWithForm sends a URL-encoded form in the body, with its Content-Type unless one is set. A request without a method
// is then a POST. The fields of a form that is sent with GET belong in the URL: [RequestWithRequestParams].
func RequestWithForm(form url.Values) RequestOption {
	return func(r *Request) {
		r.Body = []byte(form.Encode())
		r.setDefaultHeader("Content-Type", "application/x-www-form-urlencoded")
	}
}

// RequestWithBody sends these bytes. The slice is not copied; nil means no body. A request without a method is then a POST.
func RequestWithBody(body []byte) RequestOption {
	return func(r *Request) { r.Body = body }
}

// RequestWithBodyReader sends the data of a reader. A request without a method is then a POST. The data is read once, when
// the request is accepted, and can be sent again. The request fails if there are more than Limits.Body bytes.
func RequestWithBodyReader(body io.Reader) RequestOption {
	return func(r *Request) { r.BodyReader = body }
}

// merge copies entries into a map, and makes the map if there is none.
func merge[V any](to *map[string]V, entries map[string]V) {
	if *to == nil {
		*to = make(map[string]V, len(entries))
	}
	maps.Copy(*to, entries)
}

// RequestWithRequestParams adds query parameters to the URL's; each replaces the URL's parameters of the same name.
func RequestWithRequestParams(params map[string]string) RequestOption {
	return func(r *Request) { merge(&r.Params, params) }
}

// RequestWithRequestProxy sends the request through a proxy.
func RequestWithRequestProxy(proxy Proxy) RequestOption {
	return func(r *Request) { r.Proxy = &proxy }
}

// RequestWithRequestCookies adds cookies by name. Their values are sent as they are, byte for byte, sorted by name; they replace those of
// the same names in a Cookie header. A value with control characters or a semicolon fails the request.
func RequestWithRequestCookies(cookies map[string]string) RequestOption {
	return func(r *Request) { merge(&r.Cookies, cookies) }
}

// RequestWithRequestMeta adds data of your own, which middlewares and the parser find in the request's Meta. A durable cache
// stores bool, string, []byte, integers, floats, time.Time, slices and string-keyed maps of these, and the types registered
// with [EngineWithMetaType]. For data of one type see [RequestWithData].
func RequestWithRequestMeta(meta map[string]any) RequestOption {
	return func(r *Request) { merge(&r.Meta, meta) }
}

// RequestWithAllowRedirects sets whether redirects are followed (default true).
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

// RequestWithPriority orders the requests that wait in a slot: larger first, default 0. A request that finds its slot ready
// and a worker free starts at once, even if one with a larger priority is sent later.
func RequestWithPriority(priority int) RequestOption {
	return func(r *Request) { r.Priority = priority }
}

// RequestWithDoNotFilter(true) exempts the request from deduplication: it is sent even if an equal one was seen before.
func RequestWithDoNotFilter(doNotFilter bool) RequestOption {
	return func(r *Request) { r.doNotFilter = doNotFilter }
}

// RequestWithSameDepth gives a parser's request the depth of the page that sends it, not one more: for a
// target that replaces the page, such as that of a meta refresh. A parser that follows such targets must bound
// their number itself.
func RequestWithSameDepth() RequestOption {
	return func(r *Request) { r.sameDepth = true }
}

// RequestWithParser sets the parser of the response. With a durable cache it must have a name; see [Spider.On].
func RequestWithParser(parser Parser) RequestOption {
	return func(r *Request) { r.parser = parser }
}

// RequestWithParserName sets the parser by the name it was registered under; "" is the spider's Parser. A name that nothing was registered
// under fails the request with a [*RequestError] when it is sent; with a durable cache it ends the run, so that nothing is lost: when
// the name is right, the job goes on with the page that sent the request.
func RequestWithParserName(name string) RequestOption {
	return func(r *Request) { r.parserName, r.named = name, true }
}

// ParserName returns the name that [RequestWithParserName] gave, "" for a request without one.
func (r *Request) ParserName() string { return r.parserName }

// RequestWithSpool lets the body exceed Limits.Body, up to Limits.Spool: it goes to a temporary file, Response.Buffer
// and Bytes are nil, and [Response.Reader] and Decode read it. Text, String, CSS, XPath and Links read it into memory if
// it is not larger than Limits.Body, and fail if it is. The file exists until the request (for a Fetch, the request of its
// caller) has settled: the parser has returned and the items have left the pipelines.
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

// RequestWithPartialBody lets a response whose body breaks off reach the parser, with the bytes that were received:
// Response.Transfer().Err is then the [*TruncatedBodyError]. Without this option the request fails with that error, and
// the HandleError has the Response. An incomplete spooled body is not kept.
func RequestWithPartialBody() RequestOption {
	return func(r *Request) { r.partial = true }
}

// Curl returns a command line of curl that sends the request, for bash, in one line; [RequestFromCurl] reads it back. It has all secrets of the request:
// [Request.CurlRedacted] is for logs. Params are part of its URL. The files of a form are read; for any other BodyReader the line reads standard input (@-). The engine's own
// headers are not in it, nor is Meta, which is not sent.
func (r *Request) Curl() string { return curlCommand(r, false, nil) }

// CurlRedacted is [Request.Curl] for logs. An ellipsis stands in place of what may be secret: cookies, the headers that a redirect to another
// origin loses (see [EngineWithSecretHeaders]) and those that are named here, passwords in URLs, the fields of a form or query whose names
// speak of passwords, tokens or keys, and any other body.
func (r *Request) CurlRedacted(headers ...string) string { return curlCommand(r, true, headers) }

// follows reports whether the request allows its redirects to be followed.
func (r *Request) follows() bool { return r.AllowRedirects && r.MaxRedirects > 0 }

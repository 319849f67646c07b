package tegenaria

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// RequestOption changes a request under construction. If an option has an error (a value that cannot be encoded as
// JSON, say), the request fails with it when it is sent; a nil option is a [*RequestError].
type RequestOption func(r *Request)

// IsFollowOption makes it an option of [Output.FollowLinks] too.
func (RequestOption) IsFollowOption() {}

// RequestWithMethod sets the method, instead of the one given to [NewRequest], or the GET of [Response.Follow] and
// [Output.Follow]. The methods of RFC 9110 and PATCH may be written in lower case: "post" is POST. Any other token (RFC
// 9110 §5.6.2) is sent as it is, such as "purge"; only the duplicate filter ignores its case. If the method is not a
// token, such as "GET IT", the request fails when it is sent: with a [*RequestError] whose Field is "Method".
//
// A request that has a body, from whichever option, and no method is a POST. An explicit GET remains a GET:
// NewRequest(url, GET, …) and RequestWithMethod(GET) send the body with it.
func RequestWithMethod(method string) RequestOption {
	return func(r *Request) { r.Method = method }
}

// RequestWithRequestHeader adds headers; a name given twice keeps the later value.
func RequestWithRequestHeader(header map[string]string) RequestOption {
	return func(r *Request) { maps.Copy(r.Header, header) }
}

// RequestWithRequestBody sends the map as a JSON body, as [RequestWithJSON] does.
func RequestWithRequestBody(body map[string]any) RequestOption { return RequestWithJSON(body) }

// RequestWithJSON sends v as a JSON body, with its Content-Type unless one is set. A request without a method is then a
// POST.
func RequestWithJSON(v any) RequestOption {
	return func(r *Request) {
		body, err := json.Marshal(v)
		if err != nil {
			r.fail(fmt.Errorf("encoding the JSON body: %w", err))
			return
		}
		r.Body = body
		r.setDefaultHeader("Content-Type", "application/json")
	}
}

// RequestWithForm sends a URL-encoded form in the body, with its Content-Type unless one is set. A request without a
// method is then a POST. The fields of a form that is sent with GET belong in the URL: [RequestWithRequestParams].
func RequestWithForm(form url.Values) RequestOption {
	return func(r *Request) {
		r.Body = []byte(form.Encode())
		r.setDefaultHeader("Content-Type", "application/x-www-form-urlencoded")
	}
}

// RequestWithBody sends these bytes. The slice is not copied; nil means no body. A request without a method is then a
// POST.
func RequestWithBody(body []byte) RequestOption {
	return func(r *Request) { r.Body = body }
}

// RequestWithBodyReader sends the data of a reader. A request without a method is then a POST. The data is read once,
// when the request is accepted, and can be sent again. The request fails if there are more than Limits.Body bytes.
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

// RequestWithRequestProxy sends the request through a proxy. Beside a pool of package proxy it must be one of the pool's list, or else the
// pool chooses.
func RequestWithRequestProxy(proxy Proxy) RequestOption {
	return func(r *Request) { r.Proxy = &proxy }
}

// RequestWithRequestCookies adds cookies by name. Their values are sent as they are, byte for byte, sorted by name;
// they replace those of the same names in a Cookie header. A value with control characters or a semicolon fails the
// request.
func RequestWithRequestCookies(cookies map[string]string) RequestOption {
	return func(r *Request) { merge(&r.Cookies, cookies) }
}

// RequestWithRequestMeta adds data of your own, which middlewares and the parser find in the request's Meta. A durable
// cache stores bool, string, []byte, integers, floats, time.Time, slices and string-keyed maps of these, and the types
// registered with [EngineWithMetaType]. For data of one type see [RequestWithData].
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

// RequestWithPriority orders the requests that wait in a slot: larger first, default 0. A request that finds its slot
// ready and a worker free starts at once, even if one with a larger priority is sent later.
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

// RequestWithParserName sets the parser by the name it was registered under; "" is the spider's Parser. A name that
// nothing was registered under fails the request with a [*RequestError] when it is sent; with a durable cache it ends
// the run, so that nothing is lost: when the name is right, the job goes on with the page that sent the request.
func RequestWithParserName(name string) RequestOption {
	return func(r *Request) { r.parserName, r.named = name, true }
}

// RequestWithSpool lets the body exceed Limits.Body, up to Limits.Spool: it goes to a temporary file, Response.Buffer
// and Bytes are nil, and [Response.Reader] and Decode read it. Text, String, CSS, XPath and Links read it into memory
// if it is not larger than Limits.Body, and fail if it is. The file exists until the request (for a Fetch, the request
// of its caller) has settled: the parser has returned and the items have left the pipelines.
func RequestWithSpool() RequestOption {
	return func(r *Request) { r.spool = true }
}

// RequestWithPartialBody lets a response whose body breaks off reach the parser, with the bytes that were received:
// Response.Transfer().Err is then the [*TruncatedBodyError]. Without this option the request fails with that error, and
// the HandleError has the Response. An incomplete spooled body is not kept.
func RequestWithPartialBody() RequestOption {
	return func(r *Request) { r.partial = true }
}

// RequestWithMaxConnsPerHost caps how many requests of this request's slot are in flight at once.
func RequestWithMaxConnsPerHost(n int) RequestOption {
	return func(r *Request) {
		if n < 0 {
			r.fail(fmt.Errorf("MaxConnsPerHost is %d; it must not be negative", n))
			return
		}
		r.newExtras().MaxConns = n
	}
}

// RequestWithTimeout bounds the whole exchange, from connecting to the last body byte. Zero keeps
// the default of 60 s; a negative value sets no bound.
func RequestWithTimeout(timeout time.Duration) RequestOption {
	return func(r *Request) { r.newExtras().Timeout = timeout }
}

// RequestWithAllowedStatusCode names codes of 400 and over that reach the parser instead of the
// ErrorHandler.
func RequestWithAllowedStatusCode(codes []uint64) RequestOption {
	return func(r *Request) { r.newExtras().AllowStatus = slices.Clone(codes) }
}

// RequestWithSlot puts the request into the named politeness slot instead of its host's.
func RequestWithSlot(name string) RequestOption {
	return func(r *Request) { r.newExtras().Slot = name }
}

// RequestWithDownloader names the registered downloader that fetches the request.
func RequestWithDownloader(name string) RequestOption {
	return func(r *Request) { r.newExtras().Downloader = name }
}

// RequestWithVariant says in which form the request wants its page, in words that its downloader understands: requests
// that differ in their variants alone are no duplicates. A redirect keeps the variant, and a durable cache stores it.
func RequestWithVariant(variant string) RequestOption {
	return func(r *Request) { r.newExtras().Variant = variant }
}

// RequestWithSession has the request sent in the session of that name, an identity with cookies, proxy and login of its own, which package
// session keeps. Requests for one URL in different sessions are different requests. What [Context.Fetch] asks for,
// redirects and forms stay in the session of the page that they come from, other requests do not; the name "-" has a
// request sent without one, and "" is no name, as without this option. A name that begins with "#" is an error, since
// those are of sessions that no request names, and so is one of more than 256 bytes.
func RequestWithSession(name string) RequestOption {
	return func(r *Request) {
		x := r.newExtras()
		x.Session = name
		var why error
		switch {
		case strings.HasPrefix(name, "#"):
			why = errSessionName
		case len(name) > mostSessionName:
			why = errSessionLong
		default:
			return
		}
		x.err = cmp.Or(x.err, error(&RequestError{URL: r.Url, Field: "Session", Err: why, Remedy: "name it otherwise"}))
	}
}

const mostSessionName = 256 // bytes

var (
	errSessionName = errors.New(`the name of a session begins with "#"`)
	errSessionLong = fmt.Errorf("the name of a session has more than %d bytes", mostSessionName)
)

// RequestWithNotBefore keeps the request waiting until t. In a durable job whose clock was set back since the request was
// stored, it waits for as long as was left then.
func RequestWithNotBefore(t time.Time) RequestOption {
	return func(r *Request) { r.newExtras().notBefore = t }
}

// nilOption is the mistake of the option that is i-th of its kind, counted from 0.
func nilOption(url, kind string, i int) error {
	return &RequestError{URL: url, Field: fmt.Sprintf("%s %d", kind, i+1), Err: errors.New("it is nil"),
		Remedy: "leave it out"}
}

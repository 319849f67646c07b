package tegenaria

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"time"
)

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

// RequestWithForm sends an URL-encoded form, with its Content-Type unless one is set.
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
// target that takes the page's place, such as that of a meta refresh. What follows such targets must bound
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

// AllowsStatus tells whether [RequestWithAllowedStatusCode] named the code.
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
	if _, ok := headerValue(r.Header, name); !ok {
		r.Header[name] = value
	}
}

// RequestWithPartialBody lets a response whose body breaks off reach the parser, with what came of it:
// Response.Transfer().Err then is the [*TruncatedBodyError]. Without the option it is a failure of the request,
// whose HandleError has that Response. Of a spooled body nothing is kept.
func RequestWithPartialBody() RequestOption {
	return func(r *Request) { r.partial = true }
}

package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Request is the request of an exchange. Its maps and slices belong to the exchange until that is over.
type Request struct {
	URL      string            // absolute, http or https
	Method   string            // GET if empty
	Params   map[string]string // merged into the URL's query
	Header   map[string]string
	Cookies  map[string]string // sent as one Cookie header
	Body     []byte
	ReadBody func() ([]byte, error) // makes the body, once, in place of Body; nil: Body is sent. Its error ends the exchange
	Proxy    *string                // URL of the proxy that it goes through: http, https, socks5 or socks5h; nil: none
	Timeout  time.Duration          // of the whole exchange; 0: none

	Follows   bool      // a redirect will be followed: of its body little is read, and nothing that is wrong with it matters
	Beginning int64     // how many bytes of the body are read into memory, the rest is left; 0: all of it is read
	Writer    Writer    // takes the body; nil: memory
	Spool     bool      // the body goes to a temporary file
	Wire      io.Writer // takes the body as it comes, too, its transfer coding removed; nil: none
	Partial   bool      // a body that breaks off is no failure, unless it goes to a file

	Hold      *Hold // counts the body in memory; nil: it does not count
	Unbounded bool  // the body counts, but does not wait until the budget has room

	Progress Progress // is told how far the exchange is; nil: nobody wants to know
}

// Progress is told how far an exchange is. Its methods may be called concurrently, and must not wait.
type Progress interface {
	Enter(Step)
	// WaitedForMemory follows a wait for the budget, during which the step was StepMemory.
	WaitedForMemory(took time.Duration)
}

// Step is a part of an exchange.
type Step uint8

// The steps, in their order; a wait for memory lies in the body.
const (
	StepLookup  Step = iota
	StepConnect      // with TLS
	StepFirstByte
	StepBody
	StepMemory
)

// Writer takes the body of a response as it comes, in pieces.
type Writer interface {
	// Takes reports whether the body of a response with this status goes to the writer. Any other goes where it went
	// without one.
	Takes(status int) bool
	// WriteWithin writes a piece, as [io.Writer] does. left is how much of the exchange's time is left, 0 for no limit, and late
	// the exchange's failure when it is over. The exchange waits until WriteWithin returns, however long that takes.
	WriteWithin(p []byte, left time.Duration, late error) (int, error)
}

// method returns the method.
func (r *Request) method() string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

// methods are those of RFC 9110 §9.3, and PATCH of RFC 5789.
var methods = [...]string{
	http.MethodGet, http.MethodPost, http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions, http.MethodConnect, http.MethodTrace,
}

// Method returns one of the standard methods in upper case, however it is written. Any other is returned as it is: the case of
// methods counts (RFC 9110 §9.1).
func Method(m string) string {
	if m == http.MethodGet {
		return m
	}
	for _, standard := range methods {
		if len(m) == len(standard) && strings.EqualFold(m, standard) { // "poſt" folds to POST, and is no token
			return standard
		}
	}
	return m
}

// CheckMethod returns an error that says what a method is, unless m is one: a token (RFC 9110 §5.6.2).
func CheckMethod(m string) error {
	if httpguts.ValidHeaderFieldName(m) {
		return nil
	}
	return fmt.Errorf("%q is not a method, which is one word without spaces and separators (a token of RFC 9110 §5.6.2)", m)
}

var (
	errBadName  = errors.New("not the name of a header, which has letters, digits and hyphens, and no spaces (RFC 9110 §5.6.2)")
	errBadValue = errors.New("control characters such as line ends are not allowed in a header value (RFC 9110 §5.5)")
	errBadHost  = errors.New("not a host name")
)

// request makes a request for net/http of the caller's. The errors are [*RequestError]s, and those of ReadBody; none
// holds a header's or a cookie's value.
func (x *exchange) request() (*http.Request, error) {
	r := &x.r
	raw := urlx.MergeParams(r.URL, r.Params)
	x.url, _ = urlx.CutFragment(raw)
	target, err := urlx.HTTP(raw)
	if err != nil {
		return nil, &RequestError{URL: x.url, Field: "Url", Err: urlx.Cause(err), Remedy: urlx.Remedy(x.url, err)}
	}
	if err := CheckMethod(r.method()); err != nil {
		return nil, &RequestError{URL: x.url, Field: "Method", Err: err}
	}
	content := r.Body
	if r.ReadBody != nil {
		if content, err = r.ReadBody(); err != nil {
			return nil, err
		}
	}
	x.traced, x.trace.uploads = tracedContext{x.life, &x.trace}, len(content) > 0
	req := &http.Request{
		Method: r.method(), URL: target, Host: target.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if len(content) > 0 {
		setBody(req, content)
	}
	return req, x.setHeader(req)
}

// setBody gives req a body, which can be sent more than once.
func setBody(req *http.Request, content []byte) {
	req.ContentLength = int64(len(content))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	req.Body, _ = req.GetBody()
}

// setHeader gives req the request's headers and cookies.
func (x *exchange) setHeader(req *http.Request) error {
	r := &x.r
	req.Header = make(http.Header, len(r.Header)+4)
	values := make([]string, 0, len(r.Header)+4) // one array for the values of all names
	for name, value := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return x.headerError(name, errBadName)
		}
		if !httpguts.ValidHeaderFieldValue(value) {
			return x.headerError(name, errBadValue)
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		if name == "Host" {
			if !httpguts.ValidHostHeader(value) || value == "" {
				return x.headerError(name, errBadHost)
			}
			req.Host = value
			continue
		}
		if known := req.Header[name]; known != nil {
			req.Header[name] = append(known, value)
			slices.Sort(req.Header[name]) // spellings of one name come in no order
			continue
		}
		values = append(values, value)
		req.Header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	set := func(name, value string) {
		values = append(values, value)
		req.Header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	if _, ok := req.Header["User-Agent"]; !ok {
		set("User-Agent", x.client.config.Agent)
	}
	if req.Header["Accept-Encoding"] == nil && req.Header["Range"] == nil {
		set("Accept-Encoding", httpx.AcceptEncoding)
	}
	if user := req.URL.User; user != nil && req.Header["Authorization"] == nil {
		set("Authorization", basicAuth(user))
	}
	if len(r.Cookies) == 0 {
		return nil
	}
	cookies, err := x.cookies(strings.Join(req.Header["Cookie"], "; "))
	set("Cookie", cookies)
	return err
}

func (x *exchange) headerError(name string, err error) error {
	return &RequestError{URL: x.url, Field: fmt.Sprintf("Header[%q]", name), Err: err}
}

var (
	errCookieEmpty = errors.New("it has neither a name nor a value")
	errCookieName  = errors.New("the name of a cookie cannot hold control characters, semicolons or equals signs")
	errCookieValue = errors.New("the value of a cookie cannot hold control characters or semicolons")
)

// cookies appends the request's cookies, sorted by name, to the value of a Cookie header, in which they replace those of their
// names (RFC 6265 §5.4). All bytes are sent as they are: sites set cookies that their own grammar (§4.1.1) forbids, and
// know them by their bytes.
func (x *exchange) cookies(header string) (string, error) {
	pairs := httpx.WithoutCookies(header, x.r.Cookies)
	for _, name := range slices.Sorted(maps.Keys(x.r.Cookies)) {
		value := x.r.Cookies[name]
		var err error
		switch {
		case name == "" && value == "":
			err = errCookieEmpty
		case !httpx.ValidCookiePart(name) || strings.Contains(name, "="):
			err = errCookieName
		case !httpx.ValidCookiePart(value):
			err = errCookieValue
		}
		if err != nil {
			return "", &RequestError{URL: x.url, Field: fmt.Sprintf("Cookies[%q]", name), Err: err, Remedy: "encode it as the site does"}
		}
		if name != "" { // as browsers do (RFC 6265bis §5.8.3 step 4)
			value = name + "=" + value
		}
		if pairs != "" {
			pairs += "; "
		}
		pairs += value
	}
	return pairs, nil
}

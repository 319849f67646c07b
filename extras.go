package tegenaria

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/forms"
	"github.com/tegenaria/tegenaria/internal/curl"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// extras are the fields of a request that few requests have. Copies of a request share them: a change makes new extras.
type extras struct {
	wire.Extras
	notBefore time.Time
	chain     identity.Chain
	err       error // of an option; reported when the request is accepted
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

// RequestWithMaxConnsPerHost caps how many requests of this request's slot are in flight at once.
func RequestWithMaxConnsPerHost(n int) RequestOption {
	return func(r *Request) {
		if n < 0 {
			r.fail(fmt.Errorf("tegenaria: MaxConnsPerHost of %s is %d; it must not be negative", r.Url, n))
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

// AllowsStatus reports whether [RequestWithAllowedStatusCode] named the code.
func (r *Request) AllowsStatus(code int) bool {
	return code >= 0 && slices.Contains(r.extras().AllowStatus, uint64(code))
}

// RequestWithSlot puts the request into the named politeness slot instead of its host's.
func RequestWithSlot(name string) RequestOption {
	return func(r *Request) { r.newExtras().Slot = name }
}

// RequestWithDownloader names the registered downloader that fetches the request.
func RequestWithDownloader(name string) RequestOption {
	return func(r *Request) { r.newExtras().Downloader = name }
}

// Downloader returns the name that [RequestWithDownloader] gave, "" for a request without one.
func (r *Request) Downloader() string { return r.extras().Downloader }

// RequestWithVariant says in which form the request wants its page, in words that its downloader understands: requests that
// differ in their variants alone are no duplicates. A redirect keeps the variant, and a durable cache stores it.
func RequestWithVariant(variant string) RequestOption {
	return func(r *Request) { r.newExtras().Variant = variant }
}

// Variant returns what [RequestWithVariant] gave, "" for a request without one.
func (r *Request) Variant() string { return r.extras().Variant }

// RequestWithNotBefore keeps the request waiting until t.
func RequestWithNotBefore(t time.Time) RequestOption {
	return func(r *Request) { r.newExtras().notBefore = t }
}

// timeoutOrDefault returns the longest that an exchange of the request may take.
func (r *Request) timeoutOrDefault() time.Duration {
	switch timeout := r.extras().Timeout; {
	case timeout == 0:
		return DefaultTimeout
	case timeout < 0:
		return 1<<62 - guard.Farewell
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
	stack, err := guard.Protect(func() (err error) {
		body, err = io.ReadAll(io.LimitReader(r.BodyReader, limit+1))
		return err
	})
	if stack != nil {
		err = &stackError{err, stack}
	}
	if err != nil {
		return &RequestError{URL: r.Url, Field: "BodyReader", Err: fmt.Errorf("reading it: %w", err)}
	}
	if int64(len(body)) > limit {
		return &RequestError{URL: r.Url, Field: "BodyReader", Err: fmt.Errorf("%w of %d bytes", errBodyLimit, limit), Remedy: "raise Limits.Body"}
	}
	r.Body, r.BodyReader = body, nil
	return nil
}

// errBodyLimit is the failure of a request body that is too large.
var errBodyLimit = errors.New("the body is larger than the limit")

// Form is a form of a page. Its methods Set, Add, Check, Uncheck, Choose, Upload, Click and ClickAt fill it in as a person would, Values and
// Entries are what it sends; see [forms.Form]. Hidden fields, such as tokens against forged requests, are sent automatically. A method that is
// called with a name or an option that the form does not have returns a [*FormError], which Request returns again: so it is enough to check the
// error of Request. A Form is not safe for concurrent use.
//
//	form, err := page.Form("form#login")
//	if err != nil {
//		return err
//	}
//	form.Set("user", "ada")
//	form.Set("password", secret)
//	r, err := form.Request(tegenaria.RequestWithParserName("in"))
type Form struct {
	*forms.Form
}

// FormError says why a form was not found, or cannot be filled in or sent, and lists what the page or the form has instead.
//
//	URL    string   // of the page
//	Form   string   // how the form can be selected
//	Name   string   // of the control
//	Reason string
//	Exists []string // the first 20 of what there is instead; More is the number of the others
type FormError = forms.FormError

// CSRF is a token that a page has for the scripts that log in or send data.
//
//	Token, Header, Field, From string
//
// Its method Headers returns the header that sends it.
type CSRF = forms.CSRF

// CurlError says which part of a command line of curl cannot be read: Option names the option.
type CurlError = curl.Error

// Form returns the form that the first match of a CSS selector is, belongs to, or stands in. The error is a [*FormError] that lists the forms of
// the page. Panics are as for [Response.CSS].
func (r *Response) Form(query string) (*Form, error) {
	form, err := r.page.Form((*pageHost)(r), query)
	if err != nil {
		return nil, err
	}
	return &Form{form}, nil
}

// CSRF returns the token of a page whose login is sent by a script: that of a meta element, or else of a cookie that such scripts send back, which the
// response has set or the request has sent. The zero CSRF means that there is none. Panics are as for [Response.CSS].
//
//	tegenaria.RequestWithRequestHeader(page.CSRF().Headers())
func (r *Response) CSRF() CSRF {
	if r.req == nil {
		return r.page.CSRF((*pageHost)(r), nil, nil)
	}
	return r.page.CSRF((*pageHost)(r), r.req.Header, r.req.Cookies)
}

// Request makes the request that a browser would send for the form: by GET with the fields in the URL, or by POST in the encoding that the form or the
// button names. Further options follow. It sends nothing yet. Files are not read into memory before the request is accepted; a durable
// cache stores them with it, up to Limits.Body. The error is a [*FormError].
func (f *Form) Request(opts ...RequestOption) (*Request, error) {
	s, err := f.Submit()
	if err != nil {
		return nil, err
	}
	return NewRequest(s.URL, s.Method, nil, slices.Concat([]RequestOption{withForm(s.Body)}, opts)...), nil
}

// withForm sends the body of a form.
func withForm(body *forms.Body) RequestOption {
	return func(r *Request) {
		if body == nil {
			return
		}
		if data, ok := body.Bytes(); ok {
			r.Body = data
		} else {
			r.BodyReader = &formReader{body.Reader(), body}
		}
		maps.DeleteFunc(r.Header, func(name, _ string) bool { return strings.EqualFold(name, "Content-Type") })
		r.setDefaultHeader("Content-Type", body.Type)
	}
}

// formReader reads a body that can be read again.
type formReader struct {
	io.Reader
	body *forms.Body
}

// RequestWithMultipart sends fields and files as multipart/form-data (RFC 7578), as a browser sends a form; entries are made by [forms.Text],
// [forms.Upload] and [forms.FileAt]. It sets the Content-Type. A request without a method is then a POST. Equal entries make equal bodies, so
// duplicates are found. Files that are opened are read when the request is accepted, up to Limits.Body. If one cannot be read, the
// request fails when it is sent.
func RequestWithMultipart(entries ...forms.Entry) RequestOption {
	return func(r *Request) {
		body, err := forms.Multipart(entries...)
		if err != nil {
			r.fail(&RequestError{URL: r.Url, Field: "BodyReader", Err: err, Remedy: "name a file that can be read"})
			return
		}
		withForm(body)(r)
	}
}

// RequestFromCurl makes a request from a command line of curl, such as "Copy as cURL" of a browser's network panel gives, for bash or for cmd. Further
// request options may follow, such as the parser. Nothing is run. The request is what curl would send: without -L it follows no redirects, -k is
// refused, and so is an option that is not known, by a [*CurlError] that names it. Options about the response, such as -o
// and -s, are ignored. The headers that curl adds by itself (User-Agent, Accept) are left to the engine. Files that the line names
// with @ are read from the disk, so pass no lines that others wrote without looking at them.
func RequestFromCurl(command string, opts ...RequestOption) (*Request, error) {
	c, err := curl.Parse(command, curl.OpenFile)
	if err != nil {
		return nil, err
	}
	return NewRequest(c.URL, c.Method, nil, slices.Concat([]RequestOption{func(r *Request) {
		if c.Form != nil {
			withForm(c.Form)(r)
		} else {
			r.Body = c.Body
		}
		for _, field := range c.Header {
			r.Header[field.Name] = field.Value
		}
		if len(c.Cookies) > 0 {
			r.Cookies = c.Cookies
		}
		if c.Proxy != "" {
			r.Proxy = &Proxy{c.Proxy}
		}
		if r.AllowRedirects = c.Follow; c.MaxRedirects >= 0 {
			r.MaxRedirects = c.MaxRedirects
		}
		if c.Timeout > 0 {
			r.newExtras().Timeout = c.Timeout
		}
	}}, opts)...), nil
}

// curlCommand returns the command line that sends a request. If it shall be safe to show, what may be secret is hidden.
func curlCommand(r *Request, safe bool, secret []string) string {
	url := urlx.MergeParams(r.Url, r.Params)
	if strings.ContainsFunc(url, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		if plain, err := urlx.Parse(url); err == nil { // curl does not encode it
			url = plain
		}
	}
	c := &curl.Command{URL: url, Method: r.method(), Body: r.Body, Follow: r.follows(), MaxRedirects: -1, Timeout: r.extras().Timeout}
	if r.BodyReader != nil {
		c.Form = new(forms.Body)
		if form, ok := r.BodyReader.(*formReader); ok {
			if data, err := io.ReadAll(io.LimitReader(form.body.Reader(), curl.MaxFile+1)); err == nil && len(data) <= curl.MaxFile {
				c.Body, c.Form = data, nil
			}
		}
	}
	if r.MaxRedirects != DefaultMaxRedirects {
		c.MaxRedirects = max(r.MaxRedirects, 0)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		c.Header = append(c.Header, curl.Field{Name: name, Value: r.Header[name]})
	}
	c.Cookies = r.Cookies
	if r.Proxy != nil {
		c.Proxy = r.Proxy.ProxyUrl
	}
	if safe {
		c.Redact(func(name string) bool { return fetch.IsCredential(name, secret) })
	}
	return c.String()
}

package tegenaria

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

var (
	errBadToken = errors.New("not a token (RFC 9110 §5.6.2)")
	errBadValue = errors.New("control characters are not allowed in a header value (RFC 9110 §5.5)")
	errBadHost  = errors.New("not a host name")
)

// request makes of the user's request what net/http sends. The errors are [*RequestError]s; none holds a
// header's or a cookie's value.
func (x *exchange) request() (*http.Request, error) {
	r := x.r
	raw := urlx.MergeParams(r.Url, r.Params)
	x.url, _ = urlx.CutFragment(raw)
	target, err := urlx.HTTP(raw)
	if err != nil {
		return nil, &RequestError{URL: x.url, Field: "Url", Err: bareURLError(err)}
	}
	if !httpguts.ValidHeaderFieldName(r.method()) {
		return nil, &RequestError{URL: x.url, Field: "Method", Err: errBadToken}
	}
	if err := r.readBody(x.down.limits.Body); err != nil {
		return nil, err
	}
	x.traced, x.trace.uploads = tracedContext{x.life, &x.trace}, len(r.Body) > 0
	req := &http.Request{
		Method: r.method(), URL: target, Host: target.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if len(r.Body) > 0 {
		req.ContentLength = int64(len(r.Body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req, x.setHeader(req)
}

// bareURLError takes the URL out of an error's text: what is printed of it is up to redact.
func bareURLError(err error) error {
	var ours *urlx.Error
	var theirs *url.Error
	switch {
	case errors.As(err, &ours):
		return ours.Err
	case errors.As(err, &theirs):
		return theirs.Err
	}
	return err
}

// setHeader gives req the request's headers and cookies.
func (x *exchange) setHeader(req *http.Request) error {
	r := x.r
	req.Header = make(http.Header, len(r.Header)+4)
	values := make([]string, 0, len(r.Header)+4) // one array for the values of all names
	for name, value := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return x.headerError(name, errBadToken)
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
		set("User-Agent", x.down.agent)
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

// cookies appends the request's cookies, sorted by name, to the value of a Cookie header (RFC 6265 §4.2.1).
// A value with a space or a comma is quoted, as net/http does.
func (x *exchange) cookies(header string) (string, error) {
	var b strings.Builder
	b.WriteString(header)
	for _, name := range slices.Sorted(maps.Keys(x.r.Cookies)) {
		value := x.r.Cookies[name]
		quoted := len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"'
		if quoted {
			value = value[1 : len(value)-1]
		}
		cookie := http.Cookie{Name: name, Value: value}
		if err := cookie.Valid(); err != nil {
			return "", &RequestError{URL: x.url, Field: fmt.Sprintf("Cookies[%q]", name), Err: err,
				Remedy: "encode it, or write the Cookie header yourself"}
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(name)
		b.WriteByte('=')
		if quoted = quoted || strings.ContainsAny(value, " ,"); quoted {
			b.WriteByte('"')
		}
		b.WriteString(value)
		if quoted {
			b.WriteByte('"')
		}
	}
	return b.String(), nil
}

package tegenaria

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/forms"
	"github.com/tegenaria/tegenaria/internal/curl"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// CurlError says which part of a command line of curl cannot be read: Option names the option.
type CurlError = curl.Error

// RequestFromCurl makes a request from a command line of curl, such as "Copy as cURL" of a browser's network panel
// gives, for bash or for cmd. Further request options may follow, such as the parser. Nothing is run. The request is
// what curl would send: without -L it follows no redirects, -k is refused, and so is an option that is not known, by a
// [*CurlError] that names it. Options about the response, such as -o and -s, are ignored. The headers that curl adds by
// itself (User-Agent, Accept) are left to the engine. Files that the line names with @ are read from the disk, so pass
// no lines that others wrote without looking at them.
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

// Curl returns a command line of curl that sends the request, for bash, in one line; [RequestFromCurl] reads it back.
// It has all secrets of the request: [Request.CurlRedacted] is for logs. Params are part of its URL. The files of a
// form are read; for any other BodyReader the line reads standard input (@-). The engine's own headers are not in it,
// nor is Meta, which is not sent.
func (r *Request) Curl() string { return curlCommand(r, false, nil) }

// CurlRedacted is [Request.Curl] for logs. An ellipsis stands in place of what may be secret: cookies, the headers that
// a redirect to another origin loses (see [EngineWithSecretHeaders]) and those that are named here, passwords in URLs,
// the fields of a form or query whose names speak of passwords, tokens or keys, and any other body.
func (r *Request) CurlRedacted(headers ...string) string { return curlCommand(r, true, headers) }

// curlCommand returns the command line that sends a request. If it shall be safe to show, what may be secret is hidden.
func curlCommand(r *Request, safe bool, secret []string) string {
	url := urlx.MergeParams(r.Url, r.Params)
	if strings.ContainsFunc(url, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		if plain, err := urlx.Parse(url); err == nil { // curl does not encode it
			url = plain
		}
	}
	c := &curl.Command{
		URL: url, Method: r.method(), Body: r.Body, Follow: r.follows(), MaxRedirects: -1, Timeout: r.extras().Timeout,
	}
	if r.BodyReader != nil {
		c.Form = new(forms.Body)
		if form, ok := r.BodyReader.(*formReader); ok {
			if data, err := io.ReadAll(io.LimitReader(form.body.Reader(), curl.MaxFile+1)); err == nil &&
				len(data) <= curl.MaxFile {
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

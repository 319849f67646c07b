package browser

import (
	"errors"
	"net/http"
	"net/textproto"
	"slices"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// query is a request in the form in which Chromium is asked.
type query struct {
	url      string
	agent    string            // "": that of the browser
	referrer string            // "": none
	header   map[string]string // the other fields of the document's request
	cookies  []*network.CookieParam
	follows  bool // it allows redirects
	plan     plan
}

// unsendable are header fields that Chromium does not let anybody set, or that belong to a single connection.
var unsendable = []string{
	"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

var (
	errMethod = errors.New("a browser sends GET only")
	errBody   = errors.New("a browser sends no body")
	errProxy  = errors.New("a browser uses no proxy of a request")
	errField  = errors.New("it cannot be set in Chromium")
)

const byHTTP = "download it without RequestWithDownloader"

// newQuery translates a request. What Chromium cannot send is a [*tegenaria.RequestError].
func newQuery(r *tegenaria.Request) (*query, error) {
	unfit := func(field string, err error, remedy string) error {
		return &tegenaria.RequestError{URL: r.Url, Field: field, Err: err, Remedy: remedy}
	}
	switch {
	case r.Method != "" && r.Method != tegenaria.GET:
		return nil, unfit("Method", errMethod, byHTTP)
	case len(r.Body) > 0 || r.BodyReader != nil:
		return nil, unfit("Body", errBody, byHTTP)
	case r.Proxy != nil:
		return nil, unfit("Proxy", errProxy, byHTTP+", or without its proxy")
	}
	p, err := planOf(r)
	if err != nil {
		return nil, err
	}
	q := &query{plan: p, url: urlx.MergeParams(r.Url, r.Params), header: make(map[string]string), follows: r.AllowRedirects && r.MaxRedirects > 0}
	for name, value := range r.Header {
		switch name = textproto.CanonicalMIMEHeaderKey(name); {
		case slices.Contains(unsendable, name):
			return nil, unfit("Header["+name+"]", errField, "leave it out, or "+byHTTP)
		case name == "User-Agent":
			q.agent = value
		case name == "Referer":
			q.referrer = value
		case name == "Cookie":
			cookies, err := http.ParseCookie(value)
			if err != nil {
				return nil, unfit("Header[Cookie]", err, "write it as name=value; name=value")
			}
			for _, c := range slices.Backward(cookies) { // of two with one name the first is for the longer path, and replaces the other one
				q.add(c.Name, c.Value)
			}
		default:
			q.header[name] = value
		}
	}
	for name, value := range r.Cookies {
		q.add(name, value)
	}
	return q, nil
}

// fields returns the header of the document's request: that of Chromium with the fields of the query.
func (q *query) fields(own network.Headers) (fields []*fetch.HeaderEntry) {
	for name, value := range own {
		text, _ := value.(string)
		if _, replaced := q.header[textproto.CanonicalMIMEHeaderKey(name)]; !replaced {
			fields = append(fields, &fetch.HeaderEntry{Name: name, Value: text})
		}
	}
	for name, value := range q.header {
		fields = append(fields, &fetch.HeaderEntry{Name: name, Value: value})
	}
	return fields
}

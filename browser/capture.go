package browser

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/chromedp/cdproto/network"

	"github.com/tegenaria/tegenaria"
)

// Exchange is a request that a page has made by fetch or XMLHttpRequest, and its answer. One that was redirected is one exchange.
type Exchange struct {
	Method      string // of the last request, after redirects
	URL         string // of the last request, after redirects
	RequestBody []byte
	Status      int         // 0: there was no answer
	Header      http.Header // of the answer
	Body        []byte      // of the answer, without content codings; text is in UTF-8
	// Err says why the answer or a body is missing: a [*tegenaria.BodyTooLargeError] if there was no memory left for it, else a
	// [*CaptureError]. It is nil if the exchange is complete.
	Err error
}

// Decode decodes the body of the answer as JSON, as [tegenaria.Response.Decode] does. The error is that of the exchange if it has one.
func (e *Exchange) Decode(v any) error {
	if e.Err != nil {
		return e.Err
	}
	resp := tegenaria.NewResponse(nil, e.Status, nil, e.Body)
	resp.URL = e.URL
	return resp.Decode(v)
}

// Capture keeps what the page exchanges with servers by fetch and XMLHttpRequest, for [Captured]. A pattern is compared with the
// whole URL; in it, * stands for any text: "*/api/*". An exchange is kept if one of its URLs, before and after redirects, matches one of
// the patterns.
//
// All exchanges of a request together take no more memory than Limits.Body: bodies that are above it are left out, and their exchanges
// say so. What workers and frames of other sites exchange is not captured. The patterns are part of the request's variant,
// as the actions of [Do] are, and replace those of an earlier Capture.
func Capture(patterns ...string) tegenaria.RequestOption {
	return with(func(p *plan) { p.Capture = patterns })
}

// capturedKey is that of the exchanges in a Response.
type capturedKey struct{}

// Captured returns the exchanges that [Capture] has kept, in the order in which the page began them.
func Captured(resp *tegenaria.Response) []Exchange {
	all, _ := resp.Value(capturedKey{}).([]Exchange)
	return all
}

// matchesURL reports whether a pattern, in which * stands for any text, matches a whole text.
func matchesURL(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	text, ok := strings.CutPrefix(text, parts[0])
	if last := len(parts) - 1; last > 0 {
		for _, part := range parts[1:last] {
			at := strings.Index(text, part)
			if at < 0 {
				return false
			}
			text = text[at+len(part):]
		}
		return ok && strings.HasSuffix(text, parts[last])
	}
	return ok && text == ""
}

// capture collects the exchanges of a tab, whose lock guards it. Chromium keeps the bodies until they are taken.
type capture struct {
	patterns []string
	limit    int64
	size     int64 // memory that the exchanges take
	all      []*exchange
	open     map[network.RequestID]*exchange // that have not ended
}

// exchange is one that is being collected.
type exchange struct {
	Exchange
	id       network.RequestID
	asks     bool  // the body of the request must be asked for
	finished bool  // the body of the answer is in Chromium
	length   int64 // of the body of the answer, as far as it has come
}

// exchangeSize is the memory of an exchange without its texts.
const exchangeSize = 256

var errUnderWay = errors.New("it was under way when the page was ready")

func newCapture(patterns []string, limit int64) *capture {
	return &capture{patterns: patterns, limit: limit, open: make(map[network.RequestID]*exchange)}
}

// note notes an event of the tab.
func (c *capture) note(event any) {
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		if event.Type == network.ResourceTypeXHR || event.Type == network.ResourceTypeFetch {
			c.began(event.RequestID, event.Request)
		}
	case *network.EventResponseReceived:
		if x := c.open[event.RequestID]; x != nil {
			x.Status, x.Header = int(event.Response.Status), make(http.Header)
			for name, value := range event.Response.Headers {
				text, _ := value.(string)
				x.Header[http.CanonicalHeaderKey(name)] = strings.Split(text, "\n")
				c.size += int64(len(name) + len(text))
			}
		}
	case *network.EventDataReceived:
		if x := c.open[event.RequestID]; x != nil {
			x.length += event.DataLength
		}
	case *network.EventLoadingFinished:
		if x := c.open[event.RequestID]; x != nil {
			x.finished = true
		}
	case *network.EventLoadingFailed:
		if x := c.open[event.RequestID]; x != nil {
			x.Err = &CaptureError{x.URL, errors.New(event.ErrorText)}
			delete(c.open, event.RequestID)
		}
	}
}

// began notes a request, or the next one of an exchange that was redirected. When there is no memory left, it is not noted: the whole
// request will fail.
func (c *capture) began(id network.RequestID, r *network.Request) {
	x := c.open[id]
	if x == nil {
		if c.size > c.limit || !c.wants(r.URL) {
			return
		}
		x = &exchange{id: id}
		c.all, c.open[id] = append(c.all, x), x
		c.size += exchangeSize
	}
	c.size += int64(len(r.URL) - len(x.RequestBody))
	x.Method, x.URL, x.RequestBody, x.asks = r.Method, r.URL, nil, r.HasPostData
}

func (c *capture) wants(url string) bool {
	for _, pattern := range c.patterns {
		if matchesURL(pattern, url) {
			return true
		}
	}
	return false
}

// finished returns the exchanges whose bodies can be taken.
func (c *capture) finished() (found []*exchange) {
	for _, x := range c.all {
		if x.finished && c.open[x.id] == x {
			found = append(found, x)
			delete(c.open, x.id)
		}
	}
	return found
}

// takeBodies takes the bodies of the exchanges that have ended from Chromium.
func (t *tab) takeBodies(work context.Context) {
	if t.capture == nil {
		return
	}
	t.taking <- struct{}{}
	defer func() { <-t.taking }()
	t.mu.Lock()
	found := t.capture.finished()
	t.mu.Unlock()
	for _, x := range found { // no event changes them any more
		if x.asks {
			got, err := call(work, t.target, network.GetRequestPostData, network.GetRequestPostDataParams{RequestID: x.id})
			t.take(x, &x.RequestBody, got.PostData, err)
		}
		if x.length > t.left() {
			t.take(x, &x.Body, nil, t.tooLarge(x))
			continue
		}
		got, err := call(work, t.target, network.GetResponseBody, network.GetResponseBodyParams{RequestID: x.id})
		if x.length == 0 {
			err = nil // of an empty body Chromium knows nothing
		}
		t.take(x, &x.Body, got.Body, err)
	}
}

// left returns how much memory is left for bodies.
func (t *tab) left() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.capture.limit - t.capture.size
}

func (t *tab) tooLarge(x *exchange) error {
	return &tegenaria.BodyTooLargeError{URL: x.URL, Limit: t.capture.limit}
}

// take puts a body into its place in an exchange, or notes why it is missing.
func (t *tab) take(x *exchange, place *[]byte, body []byte, err error) {
	if err == nil && int64(len(body)) > t.left() {
		err = t.tooLarge(x)
	}
	if err != nil {
		if _, ok := errors.AsType[*tegenaria.BodyTooLargeError](err); !ok {
			err = &CaptureError{x.URL, err}
		}
		x.Err = err
		return
	}
	*place = bytes.Clone(body)
	t.mu.Lock()
	t.capture.size += int64(len(body))
	t.mu.Unlock()
}

// keepCaptured gives a response the exchanges, of which some may still be under way.
func (t *tab) keepCaptured(resp *tegenaria.Response) error {
	t.taking <- struct{}{} // the exchanges must not change meanwhile
	defer func() { <-t.taking }()
	t.mu.Lock()
	size, all := t.capture.size, make([]Exchange, len(t.capture.all))
	for i, x := range t.capture.all {
		all[i] = x.Exchange
		if t.capture.open[x.id] == x {
			all[i].Err = &CaptureError{x.URL, errUnderWay}
		}
	}
	t.mu.Unlock()
	return resp.SetValue(capturedKey{}, all, size)
}

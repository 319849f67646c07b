package middleware

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
)

// MetaRefreshOptions say which refreshes [MetaRefresh] follows.
type MetaRefreshOptions struct {
	Priority int           // 0: the place in the package comment's table
	MaxDelay time.Duration // a refresh with a longer delay is ignored; 0: 100 s
}

// MetaRefresh follows a Refresh header, or else <meta http-equiv=refresh> (HTML standard §4.2.5.3), as a redirect, whatever the
// status of a response that reaches the parser: the response becomes a 303
// with the target as its Location, and the engine does the rest. So the target replaces the page, counts
// towards MaxRedirects, loops are detected, and credentials are not sent to another origin.
//
// A request that does not follow redirects, a page that only reloads itself, an element in noscript and a target
// that is not http or https are left alone.
type MetaRefresh struct {
	part
	longest time.Duration
}

var _ tegenaria.MiddlewaresInterface = (*MetaRefresh)(nil)

// NewMetaRefresh makes a MetaRefresh.
func NewMetaRefresh(o MetaRefreshOptions) *MetaRefresh {
	return &MetaRefresh{newPart("meta refresh", o.Priority, priorityMetaRefresh), orDefault(o.MaxDelay, 100*time.Second)}
}

// ProcessResponse turns a page with a refresh into a redirect.
func (m *MetaRefresh) ProcessResponse(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
	r, resp := ctx.Request, ctx.Response()
	if !r.AllowRedirects || r.MaxRedirects <= 0 || r.Method == http.MethodHead || !reachesParser(r, resp) {
		return nil
	}
	url, after, ok := headerRefresh(resp)
	if !ok {
		if !mayRefresh(resp.Bytes()) || !isHTML(resp) {
			return nil
		}
		text, err := resp.Text()
		if err != nil {
			return fmt.Errorf("middleware: reading a page for its refresh: %w", err)
		}
		url, after, ok = links.Refresh([]byte(text), resp.URL)
	}
	if !ok || after >= m.longest || samePage(url, resp.URL) {
		return nil
	}
	header := make(map[string][]string, len(resp.Header)+1)
	for name, values := range resp.Header {
		if !strings.EqualFold(name, "Location") {
			header[name] = values
		}
	}
	header["Location"] = []string{url}
	resp.Status, resp.Header = http.StatusSeeOther, header
	return nil
}

// reachesParser reports whether the status is one that the parser is given: neither a failure nor a redirect.
func reachesParser(r *tegenaria.Request, resp *tegenaria.Response) bool {
	switch {
	case resp.Status >= 400:
		return r.AllowsStatus(resp.Status)
	case resp.Status >= 300:
		return first(resp.Header, "Location") == ""
	}
	return true
}

// headerRefresh reads the Refresh header, the first that has a time. It comes before the meta element, as in browsers.
func headerRefresh(resp *tegenaria.Response) (url string, after time.Duration, ok bool) {
	values, _ := field(resp.Header, "Refresh")
	for _, value := range values {
		if url, after, ok = links.RefreshHeader(value, resp.URL); ok {
			return url, after, true
		}
	}
	return "", 0, false
}

// samePage reports whether two URLs differ in the fragment at most.
func samePage(a, b string) bool {
	a, _ = urlx.CutFragment(a)
	b, _ = urlx.CutFragment(b)
	return a == b
}

// mayRefresh spares most pages the decoding: it finds "http-equiv" in a page whose encoding extends ASCII, by its
// rarest letter.
func mayRefresh(body []byte) bool {
	const word, at = "http-equiv", len("http-e")
	for _, q := range [...]byte{'q', 'Q'} {
		for rest := body; ; {
			i := bytes.IndexByte(rest, q)
			if i < 0 {
				break
			}
			if i >= at && i-at+len(word) <= len(rest) && bytes.EqualFold(rest[i-at:i-at+len(word)], []byte(word)) {
				return true
			}
			rest = rest[i+1:]
		}
	}
	return false
}

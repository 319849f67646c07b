package browser

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"

	"github.com/tegenaria/tegenaria/internal/cookiejar"
)

// add adds a cookie of the document's host: whatever the page asks of this host carries it.
func (q *query) add(name, value string) {
	from, _ := cookiejar.OriginOf(q.url)
	q.cookies = append(q.cookies, &network.CookieParam{Name: name, Value: value, URL: q.url, Path: "/", Secure: from.Secure})
}

// setCookies makes the Set-Cookie fields of a header: what has changed among the cookies of the host of a URL since the document was
// asked for. Chromium does not tell the fields that it has got.
func (t *tab) setCookies(work context.Context, header http.Header, url string) error {
	c := chromedp.FromContext(work)
	left, err := call(work, c.Browser, storage.GetCookies, storage.GetCookiesParams{BrowserContextID: c.BrowserContextID})
	if err != nil {
		return err
	}
	header.Del("Set-Cookie")
	for _, c := range t.asked.newCookies(left.Cookies, url) {
		header.Add("Set-Cookie", setCookie(c))
	}
	return nil
}

// newCookies returns the cookies that are left for the host of a URL, without those that are as the query has sent them. One that the
// query has sent and that is not left is returned as an expired one.
func (q *query) newCookies(left []*network.Cookie, url string) (changed []*network.Cookie) {
	to, _ := cookiejar.OriginOf(url)
	sent := make(map[string]*network.CookieParam) // by their names; Chromium has them for this host alone, and for all paths
	if asked, _ := cookiejar.OriginOf(q.url); asked.Host == to.Host {
		for _, c := range q.cookies {
			sent[c.Name] = c
		}
	}
	for _, c := range left {
		own := strings.Trim(c.Domain, "[]") == to.Host
		if !own && !(strings.HasPrefix(c.Domain, ".") && strings.HasSuffix("."+to.Host, c.Domain)) {
			continue
		}
		if old, ok := sent[c.Name]; ok && own && c.Path == old.Path {
			delete(sent, c.Name)
			if c.Value == old.Value && c.Secure == old.Secure && c.Session && !c.HTTPOnly && c.SameSite == "" {
				continue
			}
		}
		changed = append(changed, c)
	}
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		changed = append(changed, &network.Cookie{Name: name, Path: sent[name].Path, Secure: sent[name].Secure})
	}
	return changed
}

// setCookie writes the Set-Cookie field that makes a cookie.
func setCookie(c *network.Cookie) string {
	field := c.Name + "=" + c.Value + "; Path=" + c.Path
	if domain, wide := strings.CutPrefix(c.Domain, "."); wide {
		field += "; Domain=" + domain
	}
	if !c.Session {
		field += "; Expires=" + time.Unix(int64(c.Expires), 0).UTC().Format(http.TimeFormat)
	}
	if c.Secure {
		field += "; Secure"
	}
	if c.HTTPOnly {
		field += "; HttpOnly"
	}
	if c.SameSite != "" {
		field += "; SameSite=" + string(c.SameSite)
	}
	return field
}

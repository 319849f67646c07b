package spiders

import (
	"context"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
)

// SitePage is what [Site] says of a page. URLs have neither user nor password.
type SitePage struct {
	URL      string `json:"url"`       // as it was found, before redirects
	FinalURL string `json:"final_url"` // the one that answered
	Status   int    `json:"status"`
	Depth    int    `json:"depth"` // links from a seed; neither redirects nor refreshes count
	Title    string `json:"title"` // of the document, white space collapsed
	Words    int    `json:"words"` // of the text that a reader sees in the body, between white space
	Links    int    `json:"links"` // different http and https URLs that the page links to, without fragments
}

// Site is a spider that crawls whole sites and sends a [SitePage] for each page. It follows a and area links, Refresh
// headers and meta refreshes; [tegenaria.EngineWithAllowedDomains] keeps it on the sites. Leave middleware.MetaRefresh
// out of its engine: a page with a refresh is a page of its own. Make one with [NewSite].
type Site struct {
	*tegenaria.BaseSpider
	parser tegenaria.Parser
	maps   *Sitemap // nil: it starts from the URLs alone
}

// NewSite makes a Site that starts from these URLs and, with sitemaps, also from what the sitemaps of their sites list: those that
// robots.txt names or, if it names none, /sitemap.xml. parser reads the pages and calls [ReadSite]; nil sends items of the type SitePage.
func NewSite(name string, sitemaps bool, parser tegenaria.Parser, urls ...string) *Site {
	if parser == nil {
		parser = tegenaria.Handle(func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[SitePage]) error {
			return ReadSite(resp, out, func(p SitePage) SitePage { return p })
		})
	}
	s := &Site{BaseSpider: &tegenaria.BaseSpider{Name: name, FeedUrls: urls}, parser: parser}
	if sitemaps {
		var sites []string
		for _, raw := range urls {
			if origin := urlx.Origin(raw); !slices.Contains(sites, origin) {
				sites = append(sites, origin)
			}
		}
		s.maps = NewSitemap(name, s.parser, sites...)
	}
	return s
}

// StartRequest sends the URLs, then the sites.
func (s *Site) StartRequest(req chan<- *tegenaria.Context) {
	s.BaseSpider.StartRequest(req)
	if s.maps != nil {
		s.maps.StartRequest(req)
	}
}

// Parser reads a page.
func (s *Site) Parser(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	return s.parser(resp, item, req)
}

// Parsers are those for sitemaps.
func (s *Site) Parsers() map[string]tegenaria.Parser {
	if s.maps == nil {
		return nil
	}
	return s.maps.Parsers()
}

// ReadSite is the parser of a [Site] whose items are of a type of your own: item makes one of what is known of the page. The item is sent
// last: a page that cannot be read has none.
func ReadSite[T any](resp *tegenaria.Response, out *tegenaria.Output[T], item func(page SitePage) T) error {
	r := resp.Request()
	p := SitePage{URL: withoutLogin(r.Url), FinalURL: withoutLogin(resp.URL), Status: resp.Status, Depth: r.Depth}
	if len(r.Redirects) > 0 {
		p.URL = withoutLogin(r.Redirects[0])
	}
	if isHTML(resp) {
		if titles := within(resp, "title:not(svg title)"); len(titles) > 0 {
			p.Title = titles[0].Text()
		}
		for _, body := range within(resp, "body") {
			for range strings.FieldsSeq(body.Text()) {
				p.Words++
			}
		}
		found := resp.Links() // each once, so that the page is read once for both
		p.Links = len(found)
		for _, link := range found {
			if err := out.Follow(link.URL); err != nil {
				return err
			}
		}
	}
	if err := followRefresh(resp, out); err != nil {
		return err
	}
	return out.Item(item(p))
}

// within returns the nodes below the root that a query matches. The root is asked for too: a query that matches nothing on any page
// would be reported at the end of the crawl, although a page without a title, say, is no mistake.
func within(resp *tegenaria.Response, query string) (found []*selector.Selection) {
	for i, node := range resp.CSS(":root, " + query).All() {
		if i > 0 {
			found = append(found, node)
		}
	}
	return found
}

// isHTML reports whether a response is a page with links and text: by its Content-Type, or by what the body
// looks like if there is none.
func isHTML(resp *tegenaria.Response) bool {
	contentType := http.Header(resp.Header).Get("Content-Type")
	if contentType == "" {
		contentType = http.DetectContentType(resp.Bytes())
	}
	media, _, _ := mime.ParseMediaType(contentType) // it is returned even if a parameter is wrong
	return media == "text/html" || media == "application/xhtml+xml"
}

// MaxRefreshes is how many refreshes in a row keep the depth, as MaxRedirects for redirects. What follows is a link
// like any other, so that Limits.Depth bounds it.
const MaxRefreshes = tegenaria.DefaultMaxRedirects

// MetaRefreshes is the key in Request.Meta of the number of refreshes in a row that led to a page of a [Site].
const MetaRefreshes = "refreshes"

// followRefresh follows the page's refresh, whatever its time.
func followRefresh[T any](resp *tegenaria.Response, out *tegenaria.Output[T]) error {
	target, err := refresh(resp)
	if target == "" || err != nil {
		return err
	}
	n, _ := resp.Request().Meta[MetaRefreshes].(int)
	if n == MaxRefreshes {
		return out.Follow(target)
	}
	return out.Follow(target, tegenaria.RequestWithSameDepth(),
		tegenaria.RequestWithRequestMeta(map[string]any{MetaRefreshes: n + 1}))
}

// refresh returns where a page sends browsers, by its Refresh header or else by a meta element; "" is nowhere.
func refresh(resp *tegenaria.Response) (target string, err error) {
	for _, value := range http.Header(resp.Header).Values("Refresh") {
		if target, _, ok := links.RefreshHeader(value, resp.URL); ok {
			return target, nil
		}
	}
	if !isHTML(resp) || len(within(resp, "meta[http-equiv]")) == 0 { // most pages need not be copied
		return "", nil
	}
	text, err := resp.Text()
	if err == nil {
		target, _, _ = links.Refresh([]byte(text), resp.URL)
	}
	return target, err
}

// withoutLogin returns a URL without user and password.
func withoutLogin(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "//")
	if !ok {
		return raw
	}
	end := len(rest)
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		end = i
	}
	return scheme + "//" + rest[strings.LastIndexByte(rest[:end], '@')+1:]
}

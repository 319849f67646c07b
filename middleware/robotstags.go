package middleware

import (
	"maps"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/cookiejar"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
)

// MetaIgnoreRobotsTags is a key of Request.Meta. If its value is true, [RobotsTags] passes the response to the parser and
// lets its links be followed, whatever its tags say. spiders.Sitemap sets it for sitemaps, which are often sent
// with noindex although their links are meant to be followed.
const MetaIgnoreRobotsTags = "ignore_robots_tags"

// RobotsTagOptions say which directives of a page [RobotsTags] obeys. The zero value obeys none.
type RobotsTagOptions struct {
	Priority int // 0: the place in the package comment's table

	// Agent is your name in directives for a single crawler, in any case; with "" only directives for all crawlers are obeyed.
	Agent string

	NoIndex     bool // a page that asks for noindex, none or an unavailable_after that has passed is not parsed
	NoFollow    bool // links of a page that asks for nofollow or none are not followed
	RelNoFollow bool // links with rel=nofollow, ugc or sponsored are not followed
}

// RobotsTags obeys the directives of pages for crawlers: the X-Robots-Tag header and <meta name=robots>, each also for one
// crawler by name, and the rel attribute of links. Refused pages and links end as filtered, with noindex, nofollow or
// rel=nofollow as reason. A page that is not parsed yields no links either.
//
// All of this is opt-in, since the tags are meant for search engines that republish pages. The engine itself obeys robots.txt.
type RobotsTags struct {
	part
	options RobotsTagOptions
	pages   perPage[*pageWishes]
}

// pageWishes is what a page asks for.
type pageWishes struct {
	noIndex, noFollow bool
	avoid             map[string]bool // URLs that only links with such a rel lead to
}

var (
	_ tegenaria.MiddlewaresInterface = (*RobotsTags)(nil)
	_ tegenaria.RequestFilter        = (*RobotsTags)(nil)
)

// NewRobotsTags makes a RobotsTags.
func NewRobotsTags(o RobotsTagOptions) *RobotsTags {
	o.Agent = strings.ToLower(o.Agent)
	return &RobotsTags{part: newPart("robots tags", o.Priority, priorityRobotsTags), options: o}
}

// ProcessResponse filters pages that must not be indexed.
func (m *RobotsTags) ProcessResponse(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
	resp := ctx.Response()
	if m.options.NoIndex && !ignoresTags(ctx.Request) && !isFollowed(ctx.Request, resp) && m.pages.of(resp, m.read).noIndex {
		return tegenaria.IgnoreRequest("noindex")
	}
	return nil
}

// AcceptRequest refuses links that must not be followed. Redirects do not count as links.
func (m *RobotsTags) AcceptRequest(parent *tegenaria.Response, r *tegenaria.Request) error {
	if parent == nil || !m.options.NoFollow && !m.options.RelNoFollow || r.Attempt > 0 || isRedirectOf(parent, r) || ignoresTags(parent.Request()) {
		return nil
	}
	wishes := m.pages.of(parent, m.read)
	if m.options.NoFollow && wishes.noFollow {
		return tegenaria.IgnoreRequest("nofollow")
	}
	if len(wishes.avoid) > 0 {
		if url, _ := urlx.CutFragment(r.Url); wishes.avoid[url] {
			return tegenaria.IgnoreRequest("rel=nofollow")
		}
	}
	return nil
}

// ignoresTags reports whether a request has MetaIgnoreRobotsTags set.
func ignoresTags(r *tegenaria.Request) bool {
	if r == nil {
		return false
	}
	ignores, _ := r.Meta[MetaIgnoreRobotsTags].(bool)
	return ignores
}

// read finds the wishes of a page.
func (m *RobotsTags) read(page *tegenaria.Response) *pageWishes {
	w := &pageWishes{}
	headers, _ := field(page.Header, "X-Robots-Tag")
	now := time.Now()
	for _, header := range headers {
		w.add(m.ours(header), now)
	}
	for _, element := range metas(page, "robots", m.options.Agent) {
		if element.name == "robots" || m.options.Agent != "" && element.name == m.options.Agent {
			w.add(element.content, now)
		}
	}
	if m.options.RelNoFollow && isHTML(page) && mentions(page.Bytes(), "rel") {
		w.avoid = avoided(page)
	}
	return w
}

// ours returns the directives of an X-Robots-Tag header that are meant for us. "agent: a, b" speaks to that crawler;
// a colon may also belong to a directive.
func (m *RobotsTags) ours(header string) string {
	agent, directives, ok := strings.Cut(header, ":")
	if agent = strings.ToLower(strings.TrimSpace(agent)); !ok || strings.ContainsAny(agent, ", ") || isRobotsDirective(agent) {
		return header
	}
	if agent == m.options.Agent || agent == "*" {
		return directives
	}
	return ""
}

// isRobotsDirective says which directives have a value after a colon.
func isRobotsDirective(name string) bool {
	switch name {
	case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
		return true
	}
	return false
}

// add reads directives.
func (w *pageWishes) add(directives string, now time.Time) {
	if i := indexFold(directives, "unavailable_after"); i >= 0 {
		_, date, more := strings.Cut(directives[i:], ":")
		for more { // the date may have a comma, and others may follow it
			if at, ok := parseRobotsDate(date); ok {
				w.noIndex = w.noIndex || !at.After(now)
				break
			}
			i := max(strings.LastIndexByte(date, ','), 0)
			date, more = date[:i], i > 0
		}
	}
	for directive := range strings.SplitSeq(directives, ",") {
		switch strings.ToLower(strings.TrimSpace(directive)) {
		case "noindex":
			w.noIndex = true
		case "nofollow":
			w.noFollow = true
		case "none":
			w.noIndex, w.noFollow = true, true
		}
	}
}

// indexFold is strings.Index of a lower-case ASCII word, in any case.
func indexFold(s, word string) int {
	for i := 0; i+len(word) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}

// parseRobotsDate reads the dates in use: ISO 8601, RFC 822, RFC 850.
func parseRobotsDate(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	for _, layout := range [...]string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02", "02 Jan 2006 15:04:05 MST"} {
		if at, err := time.Parse(layout, s); err == nil {
			return at, true
		}
	}
	return cookiejar.ParseDate(s) // which takes about anything
}

// avoided returns the URLs that only links with nofollow, ugc or sponsored lead to.
func avoided(page *tegenaria.Response) map[string]bool {
	avoid := make(map[string]bool)
	for _, link := range page.Links(links.Unique(false)) {
		no := false
		for _, rel := range link.Rel {
			no = no || rel == "nofollow" || rel == "ugc" || rel == "sponsored"
		}
		if before, seen := avoid[link.URL]; !seen || before {
			avoid[link.URL] = no
		}
	}
	maps.DeleteFunc(avoid, func(_ string, no bool) bool { return !no })
	return avoid
}

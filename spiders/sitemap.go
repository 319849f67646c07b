package spiders

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/robots"
	"github.com/tegenaria/tegenaria/sitemap"
)

// Sitemap is a spider that crawls the pages listed in sitemaps. It reads all kinds of sitemaps that package sitemap knows, and
// follows indexes. The first of its Rules that matches a page chooses the parser; without Rules it is Parser.
//
// Make one with [NewSitemap]; or embed *Sitemap in a spider of your own, set Name and Sites, and write only the method Parser:
//
//	type shop struct{ *spiders.Sitemap }
//
//	func (s *shop) Parser(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error
//
// Pages and sitemaps that a sitemap lists have depth 0, like seeds. robots.txt, scope and delays apply to sitemaps as to pages.
// Sitemaps are spooled and read as a stream. They have a lower priority than pages, so that the sitemaps of a large index do not
// fill the queue all at once. Do not change a Sitemap while a crawl runs.
type Sitemap struct {
	Name string // what GetName returns

	// Sites are the sites to crawl. For "https://example.com", or "example.com" (which means https), the sitemaps named in
	// robots.txt are read or, if there are none, /sitemap.xml. For "https://example.com/robots.txt" only the sitemaps named there
	// are read. Any other URL is that of a sitemap or feed.
	Sites []string

	// Rules choose the parser of each page. The first rule that matches counts; a page that no rule matches is left out. Without
	// rules the spider's Parser reads all pages.
	Rules []Rule

	// Indexed matches the URLs of those sitemaps of an index that are read; nil: all.
	Indexed *regexp.Regexp

	// Alternates also crawls the translations and variants of a page that its sitemap lists.
	Alternates bool

	// Since leaves out pages and sitemaps whose last change was earlier. Those without a date are crawled; those with a date that cannot be
	// read are crawled too, and the sitemap's request fails at its end with a [*DateError].
	Since time.Time

	// Filter, if set, is called for each page and sitemap before its request is sent, and leaves out those for which it returns
	// false. It may change the request, for example to pass data of the entry to the parser in Meta. It is called concurrently.
	Filter func(entry sitemap.Entry, r *tegenaria.Request) bool

	// Options are the limits of the sitemap parser.
	Options []sitemap.Option

	parser tegenaria.Parser
}

// Rule chooses the parser of the pages whose URLs match.
type Rule struct {
	Match *regexp.Regexp // found anywhere in the URL; nil: every URL

	// Parser parses the page. It is registered under Name for the spider's runs, so that a durable job finds it again. If it is
	// nil, the parser that is registered as Name elsewhere is used, or, if Name is "" too, the spider's Parser.
	Parser tegenaria.Parser
	Name   string // "": "sitemap rule " and the regular expression
}

var (
	_ tegenaria.SpiderInterface = (*Sitemap)(nil)
	_ tegenaria.ParserSet       = (*Sitemap)(nil)
)

// NewSitemap makes a spider from a name, a parser for the pages, and the sites to crawl; see [Sitemap].Sites.
func NewSitemap(name string, parser tegenaria.Parser, sites ...string) *Sitemap {
	return &Sitemap{Name: name, Sites: sites, parser: parser}
}

// GetName returns Name.
func (s *Sitemap) GetName() string { return s.Name }

// ErrorHandler does nothing: the engine has logged and counted the error already.
func (s *Sitemap) ErrorHandler(*tegenaria.HandleError, chan<- *tegenaria.Context) {}

// Parser is the parser given to NewSitemap. A spider that embeds *Sitemap writes its own.
func (s *Sitemap) Parser(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	if s.parser == nil {
		return fmt.Errorf("spiders: the spider %q has no parser: give NewSitemap one, embed *Sitemap and write Parser, or set Rules", s.Name)
	}
	return s.parser(resp, item, req)
}

// The names of the parsers of a Sitemap. A durable job stores them.
const (
	sitemapParser = "sitemap"
	robotsParser  = "sitemap: robots.txt"
	siteParser    = "sitemap: site"
)

// metaLevel is the key in Request.Meta of how many indexes led to a sitemap, an int.
const metaLevel = "sitemap: level"

// ignoreTags sets middleware.MetaIgnoreRobotsTags: many sites send their sitemaps with noindex.
func ignoreTags(r *tegenaria.Request) {
	tegenaria.RequestWithRequestMeta(map[string]any{"ignore_robots_tags": true})(r)
}

// maxLevel bounds metaLevel. By the protocol an index names no index; some do.
const maxLevel = 4

// asSitemap is the priority of sitemaps: the pages of one go before the next one.
const asSitemap = -1

// Parsers returns the parsers of robots.txt, of sitemaps and of the rules, by name. A spider that embeds *Sitemap adds its own
// parsers to this map.
func (s *Sitemap) Parsers() map[string]tegenaria.Parser {
	parsers := map[string]tegenaria.Parser{
		sitemapParser: tegenaria.Handle(s.readSitemap),
		robotsParser:  tegenaria.Handle(s.readRobots),
		siteParser:    tegenaria.Handle(s.readSite),
	}
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Parser != nil {
			parsers[r.name()] = r.Parser
		}
	}
	return parsers
}

// name is what the rule's parser is registered as; "" is the spider's Parser.
func (r *Rule) name() string {
	switch {
	case r.Name != "" || r.Parser == nil:
		return r.Name
	case r.Match == nil:
		return "sitemap rule"
	}
	return "sitemap rule " + r.Match.String()
}

// matches reports whether the rule is for this URL.
func (r *Rule) matches(url string) bool { return r.Match == nil || r.Match.MatchString(url) }

// StartRequest sends a request for each of Sites.
func (s *Sitemap) StartRequest(req chan<- *tegenaria.Context) {
	for _, r := range s.Seeds() {
		req <- tegenaria.NewContext(r)
	}
}

// Seeds returns the requests that StartRequest sends. It is for a spider that embeds *Sitemap and has further seeds.
func (s *Sitemap) Seeds() []*tegenaria.Request {
	var seeds []*tegenaria.Request
	for _, site := range s.Sites {
		if !strings.Contains(site, "://") {
			site = "https://" + site
		}
		switch urlx.Path(site) {
		case "/":
			seeds = append(seeds, tegenaria.NewRequest(strings.TrimSuffix(site, "/")+"/robots.txt", tegenaria.GET, nil,
				tegenaria.RequestWithParserName(siteParser), tegenaria.RequestWithAllowedStatusCode(noRobots()), ignoreTags))
		case "/robots.txt":
			seeds = append(seeds, tegenaria.NewRequest(site, tegenaria.GET, nil, tegenaria.RequestWithParserName(robotsParser), ignoreTags))
		default:
			seeds = append(seeds, s.ask(site, 0))
		}
	}
	return seeds
}

// noRobots lists the status codes that say that there is no robots.txt (RFC 9309 §2.3.1.3).
func noRobots() (codes []uint64) {
	for code := uint64(400); code < 500; code++ {
		if code != http.StatusRequestTimeout && code != http.StatusTooManyRequests {
			codes = append(codes, code)
		}
	}
	return codes
}

// ask makes the request for a sitemap.
func (s *Sitemap) ask(url string, level int) *tegenaria.Request {
	return tegenaria.NewRequest(url, tegenaria.GET, nil,
		tegenaria.RequestWithParserName(sitemapParser), tegenaria.RequestWithSpool(), tegenaria.RequestWithSameDepth(),
		tegenaria.RequestWithPriority(asSitemap), tegenaria.RequestWithRequestMeta(map[string]any{metaLevel: level}), ignoreTags)
}

// output sends requests alone.
type output = tegenaria.Output[struct{}]

// readRobots asks for the sitemaps that a robots.txt names.
func (s *Sitemap) readRobots(_ context.Context, resp *tegenaria.Response, out *output) error {
	_, err := s.followRobots(resp, out)
	return err
}

// readSite is readRobots for a site, which may have a sitemap where all have theirs.
func (s *Sitemap) readSite(_ context.Context, resp *tegenaria.Response, out *output) error {
	if resp.Status < 300 {
		if n, err := s.followRobots(resp, out); n > 0 || err != nil {
			return err
		}
	}
	url, err := urlx.Resolve(resp.URL, "/sitemap.xml")
	if err != nil {
		return err
	}
	return out.Request(s.ask(url, 0))
}

// followRobots returns how many sitemaps were named.
func (s *Sitemap) followRobots(resp *tegenaria.Response, out *output) (n int, err error) {
	for _, ref := range robots.Parse(resp.Bytes()).Sitemaps() {
		url, err := urlx.Resolve(resp.URL, ref)
		if err != nil {
			url = ref // the engine says what is wrong with it
		}
		n++
		if err := out.Request(s.ask(url, 0)); err != nil {
			return n, err
		}
	}
	return n, nil
}

// readSitemap sends what a sitemap names.
func (s *Sitemap) readSitemap(_ context.Context, resp *tegenaria.Response, out *output) error {
	level, _ := resp.Request().Meta[metaLevel].(int)
	body := resp.Reader()
	defer body.Close()
	tooDeep, undated := 0, 0
	var unread error // of the first of those
	for entry, err := range sitemap.Parse(body, resp.URL, s.Options...) {
		if err == nil && !s.Since.IsZero() && entry.LastMod.IsZero() && entry.UnreadDate != "" {
			if undated++; unread == nil {
				unread = &DateError{Entry: entry.URL, Date: entry.UnreadDate}
			}
		}
		var bad *sitemap.URLError
		switch {
		case errors.As(err, &bad): // one entry, of which the engine says what is wrong
			err = out.Request(tegenaria.NewRequest(bad.URL, tegenaria.GET, nil, tegenaria.RequestWithSameDepth()))
		case err != nil:
			return fmt.Errorf("spiders: reading a sitemap: %w", err)
		case entry.LastMod.Before(s.Since) && !entry.LastMod.IsZero():
		case entry.Sitemap && level == maxLevel:
			tooDeep++
		case entry.Sitemap:
			err = s.sendSitemap(entry, level+1, out)
		default:
			err = s.sendPages(entry, out)
		}
		if err != nil {
			return err
		}
	}
	var wrong error
	if tooDeep > 0 {
		wrong = fmt.Errorf("spiders: %d sitemaps are not read: more than %d indexes lead to them", tooDeep, maxLevel)
	}
	if undated > 0 {
		unread = fmt.Errorf("spiders: Since leaves out none of the %d entries whose date cannot be read, the first: %w", undated, unread)
	}
	return errors.Join(wrong, unread)
}

// sendSitemap asks for a sitemap that an index names.
func (s *Sitemap) sendSitemap(entry sitemap.Entry, level int, out *output) error {
	if s.Indexed != nil && !s.Indexed.MatchString(entry.URL) {
		return nil
	}
	r := s.ask(entry.URL, level)
	if s.Filter != nil && !s.Filter(entry, r) {
		return nil
	}
	return out.Request(r)
}

// sendPages asks for a page and, if they are wanted, for its alternates.
func (s *Sitemap) sendPages(entry sitemap.Entry, out *output) error {
	if err := s.sendPage(entry, out); err != nil || !s.Alternates {
		return err
	}
	for _, alternate := range entry.Alternates {
		entry.URL = alternate.URL
		if err := s.sendPage(entry, out); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sitemap) sendPage(entry sitemap.Entry, out *output) error {
	name, ok := s.rule(entry.URL)
	if !ok {
		return nil
	}
	r := tegenaria.NewRequest(entry.URL, tegenaria.GET, nil, tegenaria.RequestWithSameDepth())
	if name != "" {
		tegenaria.RequestWithParserName(name)(r)
	}
	if s.Filter != nil && !s.Filter(entry, r) {
		return nil
	}
	return out.Request(r)
}

// rule finds the name of a page's parser. ok is false for a page that is left out.
func (s *Sitemap) rule(url string) (name string, ok bool) {
	for i := range s.Rules {
		if r := &s.Rules[i]; r.matches(url) {
			return r.name(), true
		}
	}
	return "", len(s.Rules) == 0
}

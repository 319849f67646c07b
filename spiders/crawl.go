package spiders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/links"
)

// Crawl is a spider that finds its pages by rules: on each page that it follows it looks for links, and the first rule
// that is for a link says what parses the page behind it, and whether that page's links are followed in turn. Links
// that no rule is for are left out. Links of the first pages are always followed.
//
//	spider := spiders.NewCrawl("shop", nil, "https://shop.example/")
//	spider.Rules = []spiders.LinkRule{
//		{Links: []links.Option{links.CSS(".product a")}, Parser: tegenaria.Handle(product)},
//		{Links: []links.Option{links.CSS(".next")}, Follow: true},
//	}
//
// Make one by [NewCrawl]. Pages without a parser of their own, the first ones among them, are for the parser given to
// NewCrawl; if that is nil too, their links alone count. A page that fails in its parser has its links followed all the
// same. Nothing of a Crawl may be changed while a crawl runs.
type Crawl struct {
	Name string   // what GetName returns
	URLs []string // the first pages

	// Rules say which links are followed. They are tried in their order.
	Rules []LinkRule

	// Options are for the requests of the first pages.
	Options []tegenaria.RequestOption

	parser tegenaria.Parser
}

// LinkRule says which links of a page are followed, and what becomes of the pages behind them.
type LinkRule struct {
	// Links say which links the rule is for, and where in a page they are: the options of package links. Without any the
	// rule is for all that a reader can click on.
	Links []links.Option

	// Match has to be found in the URL of the link, too; nil: every URL.
	Match *regexp.Regexp

	// Parser parses the pages; nil stands for the parser given to NewCrawl.
	Parser tegenaria.Parser

	// Name is what a durable job stores of the rule, to find it again: the pages that wait when a program is started anew
	// are parsed by the rule that has their name then. It is "crawl rule 1" for the first rule without a Name, and so on
	// by their places. Two rules cannot have one name; the Names of a job that goes on must stay as they are, and the
	// order of rules without.
	Name string

	// Follow has the links of the pages followed as those of the first ones are.
	Follow bool

	// Process, unless nil, is called with each request before it is sent, and may change it. The request is left out if it
	// returns false; no later rule is asked for its link. It is called concurrently for several pages, with requests that
	// may turn out to be known already.
	Process func(*tegenaria.Request) bool
}

var (
	_ tegenaria.SpiderInterface = (*Crawl)(nil)
	_ tegenaria.ParserSet       = (*Crawl)(nil)
)

// NewCrawl makes a spider of a name, a parser for the pages whose rule has none, which may be nil, and the URLs of the first pages.
func NewCrawl(name string, parser tegenaria.Parser, urls ...string) *Crawl {
	return &Crawl{Name: name, URLs: urls, parser: parser}
}

// GetName returns Name.
func (s *Crawl) GetName() string { return s.Name }

// ErrorHandler does nothing: the engine has logged and counted the error already.
func (s *Crawl) ErrorHandler(*tegenaria.HandleError, chan<- *tegenaria.Context) {}

// StartRequest sends a request for each of URLs.
func (s *Crawl) StartRequest(req chan<- *tegenaria.Context) {
	for _, r := range s.Seeds() {
		req <- tegenaria.NewContext(r)
	}
}

// Seeds returns the requests that StartRequest sends, for a spider that embeds *Crawl and has other seeds beside, such as a login.
func (s *Crawl) Seeds() []*tegenaria.Request {
	seeds := make([]*tegenaria.Request, len(s.URLs))
	for i, url := range s.URLs {
		seeds[i] = tegenaria.NewRequest(url, tegenaria.GET, nil, s.Options...)
	}
	return seeds
}

// Parser reads the first pages, and all others whose request names no parser: it calls the parser given to NewCrawl,
// and follows the page's links.
func (s *Crawl) Parser(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	return s.parse(s.parser, true, resp, item, req)
}

// Parsers returns the parsers of the rules by their names. A spider that embeds *Crawl and has parsers of its own adds them to these.
func (s *Crawl) Parsers() map[string]tegenaria.Parser {
	parsers := make(map[string]tegenaria.Parser, len(s.Rules))
	for i := range s.Rules {
		rule, name := &s.Rules[i], s.name(i)
		if _, taken := parsers[name]; taken {
			parsers[name] = mistake(fmt.Errorf("spiders: two rules of the spider %q have the name %q: give each its own", s.Name, name))
			continue
		}
		parser := rule.Parser
		if parser == nil {
			parser = s.parser
		}
		parsers[name] = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			return s.parse(parser, rule.Follow, resp, item, req)
		}
	}
	return parsers
}

// mistake is a parser that fails.
func mistake(err error) tegenaria.Parser {
	return func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error { return err }
}

// name returns the name of a rule.
func (s *Crawl) name(i int) string {
	if s.Rules[i].Name != "" {
		return s.Rules[i].Name
	}
	return fmt.Sprintf("crawl rule %d", i+1)
}

// parse reads a page.
func (s *Crawl) parse(parser tegenaria.Parser, follow bool, resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	var failed error
	if parser != nil {
		failed = parser(resp, item, req)
	}
	if !follow {
		return failed
	}
	err := tegenaria.Handle(s.follow)(resp, item, req)
	if failed != nil && err != nil {
		return errors.Join(failed, err)
	}
	return cmp.Or(failed, err)
}

// follow sends requests for the links of a page.
func (s *Crawl) follow(_ context.Context, page *tegenaria.Response, out *output) error {
	seen := make(map[string]bool)
	for i := range s.Rules {
		rule := &s.Rules[i]
		for _, link := range page.Links(rule.Links...) {
			if seen[link.URL] || rule.Match != nil && !rule.Match.MatchString(link.URL) {
				continue
			}
			seen[link.URL] = true
			r := tegenaria.NewRequest(link.URL, tegenaria.GET, nil, tegenaria.RequestWithParserName(s.name(i)))
			if rule.Process != nil && !rule.Process(r) {
				continue
			}
			if err := out.Request(r); err != nil {
				return err
			}
		}
	}
	return nil
}

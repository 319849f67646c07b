package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/spiders"
)

// The flags of the child, which is this test program as a crawler.
var (
	childSeed   = flag.String("bombs-child", "", "be the crawler that TestBombs measures, with this `URL` as seed")
	childFeed   = flag.String("bombs-feed", "", "`file` for the items of the child")
	childLimits = flag.String("bombs-limits", "", "Limits of the child, as `JSON`")
)

// told is a line that the child writes to stdout: how a request ended, or why it failed.
type told struct {
	URL     string
	Outcome string   `json:",omitempty"` // empty: an error
	Reason  string   `json:",omitempty"`
	Types   []string `json:",omitempty"` // of the error and those that it wraps
	Error   string   `json:",omitempty"`
}

// reading is an item of the child: what it found in a page.
type reading struct {
	URL                                                string
	Text, Body, HTML, Texts, Nodes, XPath, Links, Keys int
	JSON                                               bool
}

// childMain is the child: a crawler whose parser does with each page whatever a parser can do.
func childMain() int {
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	tell := func(line told) {
		if strings.HasPrefix(line.URL, "http://127.") {
			mu.Lock()
			defer mu.Unlock()
			_ = out.Encode(line) // the parent is gone
		}
	}
	var limits tegenaria.Limits
	if *childLimits != "" {
		in := json.NewDecoder(strings.NewReader(*childLimits))
		in.DisallowUnknownFields()
		if err := in.Decode(&limits); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	logger := logrus.New()
	logger.SetOutput(io.Discard) // it would tell each error
	domains := []string{"127.0.0.1"}
	for i := range bombAddresses {
		domains = append(domains, bombAddress(i))
	}
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(newReader()),
		tegenaria.EngineWithLogger(logger),
		tegenaria.EngineWithMiddlewares(middleware.Standard()...),
		tegenaria.EngineWithLimits(limits),
		tegenaria.EngineWithAllowedDomains(domains...),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}),
		tegenaria.EngineWithPipelines(feed.JSONL(*childFeed, feed.Overwrite())),
		tegenaria.EngineWithEvents(tegenaria.Events{RequestSettled: func(r *tegenaria.Request, outcome tegenaria.Outcome, reason string) {
			tell(told{URL: r.Url, Outcome: outcome.String(), Reason: reason})
		}}),
		tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
			if err.Request != nil {
				tell(told{URL: err.Request.Url, Types: typesOf(err), Error: fmt.Sprintf("%.300s", err.Error())})
			}
		}))
	if err := engine.Execute("reader"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// typesOf lists the types of an error and of those that it wraps.
func typesOf(err error) (types []string) {
	if err == nil {
		return nil
	}
	types = append(types, fmt.Sprintf("%T", err))
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			types = append(types, typesOf(one)...)
		}
	}
	return append(types, typesOf(errors.Unwrap(err))...)
}

// reader is the child's spider. It reads sitemaps too.
type reader struct{ *spiders.Sitemap }

func newReader() *reader {
	return &reader{spiders.NewSitemap("reader", tegenaria.Handle(readAll))}
}

// StartRequest sends the seed.
func (r *reader) StartRequest(req chan<- *tegenaria.Context) {
	req <- tegenaria.NewContext(tegenaria.NewRequest(*childSeed, tegenaria.GET, nil))
}

// readAll reads a page in all ways that there are. Of a calm page it follows the links.
func readAll(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[reading]) error {
	if strings.Contains(resp.URL, "/calm/") {
		for _, a := range resp.CSS("a").All() {
			var opts []tegenaria.RequestOption
			if a.Attr("class") == "askmap" {
				opts = append(opts, tegenaria.RequestWithParserName("sitemap"), tegenaria.RequestWithSpool())
			}
			if err := out.Follow(a.Attr("href"), opts...); err != nil {
				return err
			}
		}
		return nil
	}
	r := reading{URL: resp.URL}
	if name := resp.Header["X-Query"]; len(name) > 0 {
		r.Texts = queries[name[0]](resp)
		return out.Item(r)
	}
	if strings.Contains(fmt.Sprint(resp.Header["Content-Type"]), "json") {
		var v any
		if err := resp.Decode(&v); err != nil {
			return err
		}
		r.JSON, r.Keys = true, len(resp.Json())
		return out.Item(r)
	}
	text, err := resp.Text()
	if err != nil {
		return err
	}
	r.Text = len(text)
	body := resp.CSS("body")
	r.Body, r.HTML = len(body.Text()), len(body.HTML())
	r.Nodes = resp.CSS("*").Len()
	for _, text := range resp.CSS("div, p, title").Texts() {
		r.Texts += len(text)
	}
	r.XPath = resp.XPath("//a/@href").Len() + resp.XPath("//div//p[contains(., 'words')]").Len()
	r.Links = len(resp.Links())
	return out.Item(r)
}

// queries are what the child asks of the pages that are meant for one query, by name.
var queries = map[string]func(*tegenaria.Response) int{
	"nested-texts": func(r *tegenaria.Response) int { return len(r.CSS("div").Texts()) },
	"nested-gets":  func(r *tegenaria.Response) int { return len(r.CSS("div").GetAll()) },
	"nested-each": func(r *tegenaria.Response) (sum int) {
		for _, div := range r.CSS("div").All() {
			sum += len(div.Text()) + len(div.Get())
		}
		return sum
	},
	"node-sets":   func(r *tegenaria.Response) int { return r.XPath("//div/descendant::*[position()>0]").Len() },
	"contexts":    func(r *tegenaria.Response) int { return r.CSS("div").XPath(".//*").Len() },
	"all-nodes":   func(r *tegenaria.Response) int { return r.XPath("//*//* | //node()/ancestor::*").Len() },
	"matches":     func(r *tegenaria.Response) int { return len(r.CSS("p").Re(".")) },
	"places":      func(r *tegenaria.Response) int { return r.CSS("p:contains(a), body:has(p:contains(a))").Len() },
	"joined":      func(r *tegenaria.Response) int { return len(r.XPath("string-join(//div, '')").Get()) },
	"json-values": func(r *tegenaria.Response) int { return r.CSS("script").JSON("@this").Len() },
	"style-sheet": func(r *tegenaria.Response) int { return len(r.Links(links.Everything())) },
}

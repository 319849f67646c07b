package spiders_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/spiders"
	"github.com/tegenaria/tegenaria/spidertest"
)

// tags are notes of which parser has read which page.
type tags struct {
	mu  sync.Mutex // guards all
	all []string
}

func (l *tags) parser(name string) tegenaria.Parser {
	return tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, _ *tegenaria.Output[string]) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, name+" "+strings.TrimPrefix(page.URL, "http://a.test"))
		return nil
	})
}

func (l *tags) String() string {
	slices.Sort(l.all)
	return strings.Join(l.all, ", ")
}

// anchors makes a page of links.
func anchors(hrefs ...string) string {
	var b strings.Builder
	for _, href := range hrefs {
		fmt.Fprintf(&b, `<p class="%s"><a href="%s">to %s</a></p>`, strings.Trim(strings.SplitAfter(href, "/")[1], "/"), href, href)
	}
	return b.String()
}

func TestCrawlRules(t *testing.T) {
	pages := map[string]string{
		"http://a.test/":          anchors("/list/1", "/product/1", "/about", "/product/9"),
		"http://a.test/list/1":    anchors("/product/2", "/list/2", "/product/1"),
		"http://a.test/list/2":    anchors("/product/3"),
		"http://a.test/product/1": anchors("/product/4", "/list/3"), "http://a.test/product/2": anchors(), "http://a.test/product/3": anchors(),
		"http://a.test/product/4": anchors(), "http://a.test/product/9": anchors(), "http://a.test/list/3": anchors(), "http://a.test/about": anchors("/list/1"),
	}
	product, list := regexp.MustCompile("/product/"), regexp.MustCompile("/list/")
	for _, tt := range []struct {
		name  string
		own   bool // NewCrawl has a parser
		rules func(l *tags) []spiders.LinkRule
		want  string
	}{
		{"no rules", true, func(*tags) []spiders.LinkRule { return nil }, "own /"},
		{"parse and follow", false, func(l *tags) []spiders.LinkRule {
			return []spiders.LinkRule{{Match: product, Parser: l.parser("product")}, {Match: list, Follow: true}}
		}, "product /product/1, product /product/2, product /product/3, product /product/9"},
		{"parse and not follow", false, func(l *tags) []spiders.LinkRule {
			return []spiders.LinkRule{{Match: product, Parser: l.parser("product")}, {Match: list, Parser: l.parser("list")}}
		}, "list /list/1, product /product/1, product /product/9"},
		{"both", false, func(l *tags) []spiders.LinkRule {
			return []spiders.LinkRule{{Match: product, Parser: l.parser("product"), Follow: true}, {Match: list}}
		}, "product /product/1, product /product/4, product /product/9"},
		{"the first rule counts", false, func(l *tags) []spiders.LinkRule {
			return []spiders.LinkRule{{Match: regexp.MustCompile("/product/1"), Parser: l.parser("first")}, {Match: product, Parser: l.parser("second")}}
		}, "first /product/1, second /product/9"},
		{"the spider's own parser", true, func(l *tags) []spiders.LinkRule {
			return []spiders.LinkRule{{Match: product}, {Match: list, Parser: l.parser("list")}}
		}, "list /list/1, own /, own /product/1, own /product/9"},
		{"options of links", false, func(l *tags) []spiders.LinkRule {
			return []spiders.LinkRule{{Links: []links.Option{links.CSS(".product"), links.Deny("9$")}, Parser: l.parser("css")},
				{Links: []links.Option{links.Text("to /about")}, Parser: l.parser("text")}}
		}, "css /product/1, text /about"},
		{"a dropped request is asked of no other rule", false, func(l *tags) []spiders.LinkRule {
			return []spiders.LinkRule{{Match: product, Parser: l.parser("first"), Process: func(r *tegenaria.Request) bool { return strings.HasSuffix(r.Url, "1") }},
				{Parser: l.parser("rest")}}
		}, "first /product/1, rest /about, rest /list/1"},
		{"one parser for two rules", false, func(l *tags) []spiders.LinkRule {
			p := l.parser("p")
			return []spiders.LinkRule{{Match: product, Parser: p}, {Match: list, Parser: p, Name: "lists"}}
		}, "p /list/1, p /product/1, p /product/9"},
		{"a failure does not end the following", false, func(l *tags) []spiders.LinkRule {
			return []spiders.LinkRule{{Match: list, Follow: true, Parser: tegenaria.Handle(func(context.Context, *tegenaria.Response, *tegenaria.Output[string]) error {
				return errors.New("no list")
			})}, {Match: product, Parser: l.parser("product")}}
		}, "product /product/1, product /product/2, product /product/3, product /product/9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &tags{}
				var own tegenaria.Parser
				if tt.own {
					own = l.parser("own")
				}
				spider := spiders.NewCrawl("test", own, "http://a.test/")
				spider.Rules = tt.rules(l)
				crawl(t, &web{pages: pages}, spider)
				if got := l.String(); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
			})
		})
	}
}

// Two rules of one name are told of.
func TestCrawlNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spider := spiders.NewCrawl("test", nil, "http://a.test/")
		spider.Rules = []spiders.LinkRule{{Name: "x", Match: regexp.MustCompile("/1")}, {Name: "x"}}
		var told error
		crawl(t, &web{pages: map[string]string{"http://a.test/": anchors("/b/2"), "http://a.test/b/2": "x"}}, spider,
			tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) { told = err }))
		if told == nil || !strings.Contains(told.Error(), `have the name "x"`) {
			t.Errorf("told %v", told)
		}
	})
}

// A request that Process has changed is sent as it is then.
func TestCrawlProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan string, 1)
		spider := spiders.NewCrawl("test", nil, "http://a.test/")
		spider.Rules = []spiders.LinkRule{{
			Process: func(r *tegenaria.Request) bool {
				tegenaria.RequestWithRequestMeta(map[string]any{"from": "rule"})(r)
				return true
			},
			Parser: tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, _ *tegenaria.Output[string]) error {
				got <- fmt.Sprint(page.Request().Meta["from"], page.Request().Depth)
				return nil
			}),
		}}
		crawl(t, &web{pages: map[string]string{"http://a.test/": anchors("/b/2"), "http://a.test/b/2": "x"}}, spider)
		if g := <-got; g != "rule1" {
			t.Errorf("got %s", g)
		}
	})
}

// The parsers can be tested without a crawl.
func TestCrawlParser(t *testing.T) {
	spider := spiders.NewCrawl("test", nil, "http://a.test/")
	spider.Rules = []spiders.LinkRule{{Match: regexp.MustCompile("/product/")}}
	_, requests := spidertest.Parse[string](t, spider.Parser, spidertest.HTML(anchors("/product/1", "/list/1")), "http://a.test/")
	if len(requests) != 1 || requests[0].Url != "http://a.test/product/1" {
		t.Errorf("requests %v", requests)
	}
}

// A durable job that was stopped, in the middle of a list, goes on with the pages that wait, and finds the parsers of their rules by name.
func TestCrawlDurable(t *testing.T) {
	const lists, each = 6, 5
	var mu sync.Mutex // guards the maps
	times, parsed := make(map[string]int), make(map[string]int)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		times[r.URL.Path]++
		mu.Unlock()
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/list/%d", &n); err == nil {
			var refs []string
			for i := range each {
				refs = append(refs, fmt.Sprintf("/product/%d-%d", n, i))
			}
			if n+1 < lists {
				refs = append(refs, fmt.Sprintf("/list/%d", n+1))
			}
			io.WriteString(w, anchors(refs...))
		}
	})
	rounds := stopAndGoOn(t, 8, func() tegenaria.SpiderInterface {
		spider := spiders.NewCrawl("shop", nil, s.URL+"/list/0")
		spider.Rules = []spiders.LinkRule{
			{Match: regexp.MustCompile("/list/"), Follow: true},
			{Match: regexp.MustCompile("/product/"), Name: "product", Parser: tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, _ *tegenaria.Output[string]) error {
				mu.Lock()
				defer mu.Unlock()
				parsed[page.URL]++
				return nil
			})},
		}
		return spider
	})
	if rounds < 2 || len(parsed) != lists*each {
		t.Errorf("%d rounds, %d pages were parsed, want %d", rounds, len(parsed), lists*each)
	}
	for url, n := range parsed {
		if n != 1 {
			t.Errorf("%s was parsed %d times", url, n)
		}
	}
	for path, n := range times {
		if n != 1 && path != "/robots.txt" {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
}

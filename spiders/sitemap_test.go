package spiders_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/sitemap"
	"github.com/tegenaria/tegenaria/spiders"
)

func TestSites(t *testing.T) {
	const robots = "User-agent: *\nDisallow: /private\nSitemap: /sitemap-a.xml\nSITEMAP: http://b.test/sitemap-b.xml\n"
	pages := map[string]string{
		"http://a.test/robots.txt":        robots,
		"http://a.test/sitemap-a.xml":     urlset("/1", "http://a.test/private/2"),
		"http://a.test/sitemap.xml":       urlset("/wrong"),
		"http://b.test/sitemap-b.xml":     urlset("/3"),
		"http://b.test/sitemap.xml":       index("/sitemap-b.xml", "/sitemap-c.xml.gz"),
		"http://b.test/sitemap-c.xml.gz":  gz(urlset("http://c.test/4?a=1&amp;b=2")),
		"http://c.test/robots.txt":        "User-agent: *\nDisallow: /sitemap\n",
		"http://c.test/sitemap.xml":       urlset("/wrong"),
		"http://c.test/sitemap.txt":       "http://a.test/wrong\n",
		"http://d.test/robots.txt":        "301 http://b.test/sitemaps-of-d.txt",
		"http://b.test/sitemaps-of-d.txt": "Sitemap: sitemap-b.xml\n",
		"http://e.test/robots.txt":        "503",
		"http://e.test/sitemap.xml":       urlset("/wrong"),
		"http://f.test/feed":              "<rss><channel><item><link>/5</link></item></channel></rss>",
		"http://f.test/list":              "http://f.test/6\nhttp://f.test/7\n",
		"http://g.test/sitemap.xml":       urlset("/8"),
		"http://g.test/sitemap.xml.gz":    urlset("/8"),
		"http://g.test/sitemap":           gz(urlset("/8")),
	}
	for _, tt := range []struct{ name, site, want string }{
		{"a site with robots.txt", "http://a.test", "a.test/1 b.test/3"},
		{"with a slash", "http://a.test/", "a.test/1 b.test/3"},
		{"robots.txt", "http://a.test/robots.txt", "a.test/1 b.test/3"},
		{"a site without", "http://b.test", "b.test/3 c.test/4?a=1&b=2"},
		{"a sitemap that robots.txt forbids", "http://c.test", ""},
		{"the same, a text", "http://c.test/sitemap.txt", ""},
		{"a redirect", "http://d.test", "b.test/3"},
		{"robots.txt cannot be read", "http://e.test", ""},
		{"robots.txt alone names none", "http://b.test/robots.txt", ""},
		{"a feed", "http://f.test/feed", "f.test/5 f.test/feed"},
		{"a text", "http://f.test/list", "f.test/6 f.test/7 f.test/list"},
		{"a sitemap", "http://g.test/sitemap.xml", "g.test/8"},
		{"with a query", "http://g.test/?sitemap", ""},
		{"packed by name alone", "http://g.test/sitemap.xml.gz", "g.test/8"},
		{"packed, whatever its name", "http://g.test/sitemap", "g.test/8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &web{pages: pages}
				for _, url := range []string{"http://a.test/1", "http://b.test/3", "http://c.test/4?a=1&b=2", "http://f.test/5", "http://f.test/6", "http://f.test/7", "http://g.test/8"} {
					pages[url] = "x"
				}
				s := crawl(t, w, spiders.NewSitemap("test", seen, tt.site))
				if got := w.paths(); got != tt.want {
					t.Errorf("asked for %s\nwant %s", got, tt.want)
				}
				items := 0
				for _, path := range strings.Fields(tt.want) {
					if path != "f.test/feed" && path != "f.test/list" {
						items++
					}
				}
				if s.ItemScraped != int64(items) {
					t.Errorf("%d items, want %d: %v", s.ItemScraped, items, s.Reasons)
				}
			})
		})
	}
}

// A host alone is meant as https.
func TestHostAlone(t *testing.T) {
	for _, tt := range []struct{ site, want string }{
		{"example.com", "https://example.com/robots.txt"},
		{"example.com:8443", "https://example.com:8443/robots.txt"},
		{"example.com/map.xml", "https://example.com/map.xml"},
		{"http://user:password@example.com", "http://user:password@example.com/robots.txt"},
	} {
		if seeds := spiders.NewSitemap("test", seen, tt.site).Seeds(); len(seeds) != 1 || seeds[0].Url != tt.want {
			t.Errorf("%s: asked for %s, want %s", tt.site, seeds[0].Url, tt.want)
		}
	}
}

// With Since, a date that cannot be read is said, and its page is asked for.
func TestSitemapUnreadDates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{pages: map[string]string{"http://a.test/sitemap.xml": `<urlset><url><loc>/1</loc><lastmod>soon</lastmod></url>` +
			`<url><loc>/2</loc><lastmod>06-May-2020</lastmod></url><url><loc>/3</loc></url></urlset>`, "http://a.test/1": "x", "http://a.test/3": "x"}}
		spider := spiders.NewSitemap("test", seen, "http://a.test/sitemap.xml")
		spider.Since = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
		var wrong []error
		gather(t, w, spider, 0, tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) { wrong = append(wrong, err) }))
		var date *spiders.DateError
		if len(wrong) != 1 || !errors.As(wrong[0], &date) || date.Entry != "http://a.test/1" || date.Date != "soon" {
			t.Errorf("errors %v", wrong)
		}
	})
}

func TestChoices(t *testing.T) {
	date := func(s string) time.Time {
		at, err := sitemap.ParseTime(s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	pages := map[string]string{
		"http://a.test/sitemap.xml":     `<sitemapindex><sitemap><loc>/sitemap-old.xml</loc><lastmod>2020-01-01</lastmod></sitemap><sitemap><loc>/sitemap-new.xml</loc></sitemap></sitemapindex>`,
		"http://a.test/sitemap-old.xml": urlset("/old/1"),
		"http://a.test/sitemap-new.xml": `<urlset><url><loc>/shop/1</loc><lastmod>2024-05-06</lastmod><xhtml:link rel="alternate" hreflang="de" href="/de/shop/1"/></url>` +
			`<url><loc>/shop/2</loc><lastmod>2020-05-06</lastmod></url><url><loc>/blog/1</loc></url></urlset>`,
	}
	for _, url := range []string{"old/1", "shop/1", "shop/2", "blog/1", "de/shop/1"} {
		pages["http://a.test/"+url] = "x"
	}
	for _, tt := range []struct {
		name string
		set  func(s *spiders.Sitemap)
		want string
	}{
		{"all", func(s *spiders.Sitemap) {}, "blog/1 old/1 shop/1 shop/2"},
		{"indexed", func(s *spiders.Sitemap) { s.Indexed = regexp.MustCompile("-old") }, "old/1"},
		{"alternates", func(s *spiders.Sitemap) { s.Alternates = true }, "blog/1 de/shop/1 old/1 shop/1 shop/2"},
		{"since", func(s *spiders.Sitemap) { s.Since = date("2024-05-06") }, "blog/1 shop/1"},
		{"since later", func(s *spiders.Sitemap) { s.Since = date("2024-05-07") }, "blog/1"},
		{"rules", func(s *spiders.Sitemap) {
			s.Rules = []spiders.Rule{{Match: regexp.MustCompile("/shop/"), Parser: seen}}
		}, "shop/1 shop/2"},
		{"a rule for the spider's parser", func(s *spiders.Sitemap) { s.Rules = []spiders.Rule{{Match: regexp.MustCompile("/blog/")}} }, "blog/1"},
		{"a rule for all", func(s *spiders.Sitemap) { s.Rules = []spiders.Rule{{Parser: seen}} }, "blog/1 old/1 shop/1 shop/2"},
		{"alternates by rule", func(s *spiders.Sitemap) {
			s.Alternates, s.Rules = true, []spiders.Rule{{Match: regexp.MustCompile("/de/"), Parser: seen}}
		}, "de/shop/1"},
		{"filter", func(s *spiders.Sitemap) {
			s.Filter = func(e sitemap.Entry, r *tegenaria.Request) bool {
				return e.Sitemap && strings.Contains(e.URL, "-new") || e.URL == r.Url && !e.LastMod.IsZero()
			}
		}, "shop/1 shop/2"},
		{"limits", func(s *spiders.Sitemap) { s.Options = []sitemap.Option{sitemap.MaxURLs(1)} }, "old/1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &web{pages: pages}
				s := spiders.NewSitemap("test", seen, "http://a.test/sitemap.xml")
				tt.set(s)
				stats := crawl(t, w, s)
				if got := strings.ReplaceAll(w.paths(), "a.test/", ""); got != tt.want {
					t.Errorf("asked for %s\nwant %s", got, tt.want)
				}
				if n := len(strings.Fields(tt.want)); stats.ItemScraped != int64(n) {
					t.Errorf("%d items, want %d", stats.ItemScraped, n)
				}
			})
		})
	}
}

// The first rule that matches parses a page; one rule may name the parser of another, or of the engine.
func TestRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{pages: map[string]string{"http://a.test/sitemap.xml": urlset("/p/1", "/p/special", "/q/2", "/r/3", "/s/4"),
			"http://a.test/p/1": "x", "http://a.test/p/special": "x", "http://a.test/q/2": "x", "http://a.test/r/3": "x", "http://a.test/s/4": "x"}}
		var mu sync.Mutex // guards got
		var got []string
		tell := func(name string) tegenaria.Parser {
			return func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, name+strings.TrimPrefix(resp.Request.Url, "http://a.test"))
				return nil
			}
		}
		s := spiders.NewSitemap("test", tell("spider"), "http://a.test/sitemap.xml")
		s.Rules = []spiders.Rule{
			{Match: regexp.MustCompile("special$"), Name: "registered"},
			{Match: regexp.MustCompile("/p/"), Name: "p", Parser: tell("p")},
			{Match: regexp.MustCompile("/q/"), Name: "p"},
			{Match: regexp.MustCompile("/r/"), Parser: tell("r")},
			{},
		}
		crawl(t, w, s, func(e *tegenaria.SpiderEngine) { e.RegisterParser("registered", tell("engine")) })
		slices.Sort(got)
		if want := []string{"engine/p/special", "p/p/1", "p/q/2", "r/r/3", "spider/s/4"}; !slices.Equal(got, want) {
			t.Errorf("parsed %q, want %q", got, want)
		}
	})
}

// embedding is a spider of the user's that embeds a Sitemap.
type embedding struct {
	*spiders.Sitemap
	parsed chan string
}

func (e *embedding) Parser(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
	e.parsed <- resp.Request.Url
	return nil
}

func TestEmbedded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{pages: map[string]string{"http://a.test/sitemap.xml": urlset("/1"), "http://a.test/1": "x"}}
		s := &embedding{&spiders.Sitemap{Name: "mine", Sites: []string{"http://a.test/"}}, make(chan string, 2)}
		crawl(t, w, s)
		if close(s.parsed); <-s.parsed != "http://a.test/1" {
			t.Error("the page did not come to the spider's own parser")
		}
	})
}

func TestWithoutParser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{pages: map[string]string{"http://a.test/sitemap.xml": urlset("/1"), "http://a.test/1": "x"}}
		stats := crawl(t, w, &spiders.Sitemap{Name: "test", Sites: []string{"http://a.test/sitemap.xml"}})
		if stats.Reasons["failed: parse"] != 1 {
			t.Errorf("reasons: %v", stats.Reasons)
		}
	})
}

// What a sitemap names is a seed, however many indexes led there.
func TestDepth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{pages: map[string]string{"http://a.test/robots.txt": "Sitemap: http://a.test/sitemap-index.xml", "http://a.test/sitemap-index.xml": index("/sitemap-1.xml"),
			"http://a.test/sitemap-1.xml": urlset("/1"), "http://a.test/1": "x"}}
		stats := crawl(t, w, spiders.NewSitemap("test", seen, "http://a.test"), tegenaria.EngineWithLimits(tegenaria.Limits{Depth: tegenaria.OnlySeeds}))
		if w.paths() != "a.test/1" || stats.ItemScraped != 1 {
			t.Errorf("asked for %s, reasons %v", w.paths(), stats.Reasons)
		}
	})
}

// Indexes that lead to ever other indexes come to an end, and somebody is told.
func TestEndlessIndexes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]string{}
		for n := range 50 {
			pages[fmt.Sprintf("http://a.test/sitemap-%d.xml", n)] = index(fmt.Sprintf("/sitemap-%d.xml", n+1))
		}
		w := &web{pages: pages}
		var told []string
		stats := crawl(t, w, spiders.NewSitemap("test", seen, "http://a.test/sitemap-0.xml"),
			tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) { told = append(told, err.Error()) }))
		if n := len(w.asked()); n != 6 { // robots.txt, the first one, and four more
			t.Errorf("%d requests: %q", n, w.asked())
		}
		if len(told) != 1 || !strings.Contains(told[0], "more than 4 indexes") || stats.Reasons["failed: parse"] != 1 {
			t.Errorf("told %q, reasons %v", told, stats.Reasons)
		}
	})
}

// A bad entry is one failure; a document that is not a sitemap fails, and what was read before counts.
func TestBadSitemaps(t *testing.T) {
	for _, tt := range []struct {
		name, body, want string
		reasons          string
	}{
		{"a bad entry", urlset("http://[/", "/1"), "a.test/1", "map[filtered: url:1]"},
		{"a relative line", "http://a.test/1\nx\n", "a.test/1", "map[filtered: url:1]"},
		{"a page", "<html>", "", "map[failed: parse:1]"},
		{"breaks off", strings.TrimSuffix(urlset("/1"), "</urlset>"), "a.test/1", "map[failed: parse:1]"},
		{"a bomb", `<!DOCTYPE urlset [<!ENTITY a "b">]>` + urlset("/&a;"), "", "map[failed: parse:1]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &web{pages: map[string]string{"http://a.test/sitemap.xml": tt.body, "http://a.test/1": "x"}}
				stats := crawl(t, w, spiders.NewSitemap("test", seen, "http://a.test/sitemap.xml"))
				if got := fmt.Sprint(stats.Reasons); w.paths() != tt.want || got != tt.reasons {
					t.Errorf("asked for %q, reasons %s, want %q and %s", w.paths(), got, tt.want, tt.reasons)
				}
			})
		})
	}
}

// The pages of a sitemap go before the next one is asked, so that an index of many does not fill the queue.
func TestPagesGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]string{"http://a.test/sitemap.xml": index("/sitemap-1.xml", "/sitemap-2.xml")}
		for n := 1; n <= 2; n++ {
			var urls []string
			for i := range 10 {
				url := fmt.Sprintf("http://a.test/%d/%d", n, i)
				urls = append(urls, url)
				pages[url] = "x"
			}
			pages[fmt.Sprintf("http://a.test/sitemap-%d.xml", n)] = urlset(urls...)
		}
		w := &web{pages: pages}
		crawl(t, w, spiders.NewSitemap("test", seen, "http://a.test/sitemap.xml"), tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Second}))
		if at := slices.Index(w.asked(), "http://a.test/sitemap-2.xml"); at != 13 { // behind robots.txt, the index, a sitemap and its pages
			t.Errorf("the second sitemap was asked as number %d: %q", at, w.asked())
		}
	})
}

// With the standard middlewares and all others that judge pages sitemaps are read: the tags that they come with are not
// for them, and robots.txt may be missing.
func TestWithMiddlewares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scope, err := middleware.NewScope(middleware.ScopeOptions{Domains: []string{"a.test"}})
		if err != nil {
			t.Fatal(err)
		}
		w := &web{tags: "noindex, nofollow", pages: map[string]string{"http://a.test/sitemap.xml": index("/sitemap-1.xml"),
			"http://a.test/sitemap-1.xml": urlset("/1", "http://b.test/2"), "http://a.test/1": "x"}}
		stats := crawl(t, w, spiders.NewSitemap("test", seen, "http://a.test"), tegenaria.EngineWithMiddlewares(append(middleware.Standard(), scope,
			middleware.NewRobotsTags(middleware.RobotsTagOptions{NoIndex: true, NoFollow: true, RelNoFollow: true}),
			middleware.NewHTTPErrors(middleware.HTTPErrorOptions{Drop: true}), middleware.NewDepth(middleware.DepthOptions{Max: -1}))...))
		if want := "a.test/1"; w.paths() != want {
			t.Errorf("asked for %s, want %s: %v", w.paths(), want, stats.Reasons)
		}
		if got, want := fmt.Sprint(stats.Reasons), "map[filtered: noindex:1 filtered: offsite:1]"; got != want {
			t.Errorf("reasons %s, want %s", got, want) // the page itself is not parsed
		}
	})
}

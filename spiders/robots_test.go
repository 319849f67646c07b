package spiders_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/robots"
	"github.com/tegenaria/tegenaria/spiders"
)

// robotsAsked counts the requests for robots.txt, by origin.
func (w *web) robotsAsked() map[string]int {
	asked := make(map[string]int)
	for _, url := range w.asked() {
		if origin, ok := strings.CutSuffix(url, "/robots.txt"); ok {
			asked[origin]++
		}
	}
	return asked
}

// A spider that starts from sitemaps reads the robots.txt that the engine has asked for because of it: the site is asked
// once. It fails when answerByCopy does nothing.
func TestSitemapAsksOnceForRobots(t *testing.T) {
	const a, b = "http://a.test", "http://b.test"
	rules := "User-agent: *\nDisallow: /private\nSitemap: /sitemap-a.xml\n"
	delayed := "User-agent: *\nCrawl-delay: 5\nSitemap: /sitemap-a.xml\n"
	maps1 := map[string]string{a + "/sitemap-a.xml": urlset("/1"), a + "/sitemap.xml": urlset("/2"), a + "/1": "x", a + "/2": "x"}
	for _, tt := range []struct {
		name  string
		sites []string
		pages map[string]string // beside the sitemaps
		p     tegenaria.Politeness
		mw    []tegenaria.MiddlewaresInterface
		asked map[string]int
		paths string
	}{
		{"a site", []string{a}, map[string]string{a + "/robots.txt": rules}, tegenaria.Politeness{}, nil, map[string]int{a: 1}, "a.test/1"},
		{"robots.txt", []string{a + "/robots.txt"}, map[string]string{a + "/robots.txt": rules}, tegenaria.Politeness{}, nil, map[string]int{a: 1}, "a.test/1"},
		{"both", []string{a, a + "/robots.txt"}, map[string]string{a + "/robots.txt": rules}, tegenaria.Politeness{}, nil, map[string]int{a: 1}, "a.test/1"},
		{"a sitemap before it", []string{a + "/sitemap.xml", a}, map[string]string{a + "/robots.txt": rules}, tegenaria.Politeness{}, nil, map[string]int{a: 1}, "a.test/1 a.test/2"},
		{"one at a time", []string{a}, map[string]string{a + "/robots.txt": rules}, tegenaria.Politeness{PerSlot: 1, Delay: time.Second}, nil, map[string]int{a: 1}, "a.test/1"},
		{"its delay", []string{a}, map[string]string{a + "/robots.txt": delayed}, tegenaria.Politeness{}, nil, map[string]int{a: 1}, "a.test/1"},
		{"the standard middlewares", []string{a}, map[string]string{a + "/robots.txt": rules}, tegenaria.Politeness{}, middleware.Standard(), map[string]int{a: 1}, "a.test/1"},
		{"none", []string{a}, nil, tegenaria.Politeness{}, nil, map[string]int{a: 1}, "a.test/2"},
		{"empty", []string{a}, map[string]string{a + "/robots.txt": ""}, tegenaria.Politeness{}, nil, map[string]int{a: 1}, "a.test/2"},
		{"packed", []string{a}, map[string]string{a + "/robots.txt": "gzip " + rules}, tegenaria.Politeness{}, nil, map[string]int{a: 1}, "a.test/1"},
		{"a redirect to another file", []string{a}, map[string]string{a + "/robots.txt": "301 /r.txt", a + "/r.txt": rules},
			tegenaria.Politeness{}, nil, map[string]int{a: 1}, "a.test/1 a.test/r.txt a.test/r.txt"},
		// The engine follows it for a's rules, and asks b for those of b itself.
		{"a redirect to another host", []string{a}, map[string]string{a + "/robots.txt": "301 " + b + "/robots.txt", b + "/robots.txt": "Sitemap: " + a + "/sitemap-a.xml"},
			tegenaria.Politeness{}, nil, map[string]int{a: 1, b: 2}, "a.test/1"},
		{"unreachable", []string{a}, map[string]string{a + "/robots.txt": "503"}, tegenaria.Politeness{}, nil, map[string]int{a: 4}, ""},
		{"ignored", []string{a}, map[string]string{a + "/robots.txt": rules}, tegenaria.Politeness{IgnoreRobots: true}, nil, map[string]int{a: 1}, "a.test/1"},
		// The engine reads no more than its first 500 KiB, and a page is never cut.
		{"long", []string{a}, map[string]string{a + "/robots.txt": rules + strings.Repeat("# filler\n", robots.MaxBytes/9+1)},
			tegenaria.Politeness{}, nil, map[string]int{a: 2}, "a.test/1"},
		// With a login the answer may be another one.
		{"a login", []string{a}, map[string]string{a + "/robots.txt": rules}, tegenaria.Politeness{}, []tegenaria.MiddlewaresInterface{login{}}, map[string]int{a: 2}, "a.test/1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &web{pages: maps.Clone(maps1)}
				maps.Copy(w.pages, tt.pages)
				stats := crawl(t, w, spiders.NewSitemap("test", seen, tt.sites...),
					tegenaria.EngineWithPoliteness(tt.p), tegenaria.EngineWithMiddlewares(tt.mw...))
				if got := w.robotsAsked(); !maps.Equal(got, tt.asked) {
					t.Errorf("robots.txt was asked for %v, want %v: %q", got, tt.asked, w.asked())
				}
				if got := w.paths(); got != tt.paths {
					t.Errorf("asked for the pages %q, want %q: %v", got, tt.paths, stats.Reasons)
				}
			})
		})
	}
}

// login is a middleware that sends a login of its own.
type login struct{}

func (login) GetName() string  { return "login" }
func (login) GetPriority() int { return 1 }
func (login) ProcessRequest(ctx *tegenaria.Context) error {
	ctx.Request.Header["Authorization"] = "Basic Zm9vOmJhcg=="
	return nil
}
func (login) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error { return nil }

// Over real connections, many sites at once: each server's log has one request for robots.txt.
func TestSitemapAsksOnceOverHTTP(t *testing.T) {
	var sites []string
	var logs []func() []string
	for i := range 10 {
		log := make(chan string, 100)
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			log <- r.URL.Path
			var body bytes.Buffer
			switch r.URL.Path {
			case "/robots.txt":
				fmt.Fprintf(&body, "User-agent: *\nDisallow: /no\nSitemap: http://%s/map.xml\n", r.Host)
			case "/map.xml":
				io.WriteString(&body, urlset("/1", "/2", "/no"))
			}
			if i%2 == 0 {
				w.Write(body.Bytes())
				return
			}
			w.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(w)
			zip.Write(body.Bytes())
			zip.Close()
		})
		sites = append(sites, server.URL)
		logs = append(logs, func() (paths []string) {
			for len(log) > 0 {
				paths = append(paths, <-log)
			}
			slices.Sort(paths)
			return paths
		})
	}
	stats := run(t, nil, spiders.NewSitemap("test", seen, sites...))
	for i, log := range logs {
		if got, want := log(), []string{"/1", "/2", "/map.xml", "/robots.txt"}; !slices.Equal(got, want) {
			t.Errorf("%s was asked for %q, want %q", sites[i], got, want)
		}
	}
	if stats.ItemScraped != 20 || stats.RobotsRequests != 10 || stats.Outcomes[tegenaria.Robots] != 10 {
		t.Errorf("stats %+v", stats)
	}
}

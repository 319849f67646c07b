package httpcache_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/enginetest"

	"github.com/tegenaria/tegenaria"
)

// book is a small site: pages with links, a redirect, a page that is missing, a page in a coding, rules.
func book(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Custom", "of "+r.URL.Path)
	switch r.URL.Path {
	case "/robots.txt":
		fmt.Fprint(w, "User-agent: *\nDisallow: /secret\n")
	case "/":
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Cache-Control", "no-store")
		fmt.Fprint(w, `<a href="/1"></a><a href="/2"></a><a href="/moved"></a><a href="/gone"></a><a href="/secret"></a><a href="/long"></a>`)
	case "/moved":
		http.Redirect(w, r, "/target", http.StatusFound)
	case "/gone":
		http.NotFound(w, r)
	case "/long":
		fmt.Fprint(w, strings.Repeat("long ", 300_000))
	default:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<p>this is %s", r.URL.Path)
	}
}

// A site is fetched once: the second crawl asks for nothing, waits for nothing, and finds the same.
func TestDevelop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(book)
		cache := opened(t, t.TempDir(), httpcache.Options{})
		var items string
		for run := range 3 {
			s := crawler(follow, "http://a.test/")
			began := time.Now()
			stats := crawl(t, site, cache, s)
			took, asked := time.Since(began), site.lines()
			if run == 0 {
				items = s.items()
				want := []string{"GET http://a.test/", "GET http://a.test/1", "GET http://a.test/2", "GET http://a.test/gone", "GET http://a.test/long",
					"GET http://a.test/moved", "GET http://a.test/robots.txt", "GET http://a.test/target"}
				if !slices.Equal(asked, want) || took < 6*time.Second || stats.Cache.Stored != 8 || stats.Cache.Hits != 0 {
					t.Fatalf("the first crawl has asked for %q in %s: %+v", asked, took, stats.Cache)
				}
				continue
			}
			if len(asked) > 0 || took != 0 || s.items() != items {
				t.Errorf("crawl %d has asked for %q, took %s, and found\n%s\nwant\n%s", run, asked, took, s.items(), items)
			}
			if stats.RequestDownloaded != 0 || stats.Bytes != 0 || stats.Responses != 7 || stats.Outcomes[tegenaria.Failed] != 1 ||
				stats.Cache.Hits != 8 || stats.Cache.Stored != 0 || stats.Cache.BytesSaved < 1_500_000 {
				t.Errorf("crawl %d: %+v, cache %+v", run, stats, stats.Cache)
			}
		}
	})
}

// What the cache answers does not count as bytes or pages of the host, and causes no delay: the gaps between the
// requests that the site sees hold.
func TestHitsAndMisses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "<p>this is %s", r.URL.Path) })
		cache := opened(t, t.TempDir(), httpcache.Options{})
		var urls, every []string
		for i := range 40 {
			url := fmt.Sprintf("http://a.test/%d", i)
			every = append(every, url)
			if i%3 > 0 {
				urls = append(urls, url)
			}
		}
		crawl(t, site, cache, crawler(follow, urls...))
		site.take()
		s := crawler(follow, every...)
		stats := crawl(t, site, cache, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Second, MaxPages: 14}),
			tegenaria.EngineWithLimits(tegenaria.Limits{Bytes: 14*len64("<p>this is /00") + 1}))
		log := site.take()
		for i := 1; i < len(log); i++ {
			if gap := log[i].at.Sub(log[i-1].at); gap < time.Second {
				t.Errorf("%s came %s after the request before it", log[i].line, gap)
			}
		}
		if len(log) != 14 || stats.Responses != 40 || stats.Cache.Hits != 27 {
			t.Errorf("%d requests, %d responses, %+v, %v", len(log), stats.Responses, stats.Cache, stats.Reasons)
		}
	})
}

func len64(s string) int64 { return int64(len(s)) }

// A parser that panics on every page keeps its pages: when it is mended, nothing is asked for again.
func TestPanickingParser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(book)
		cache := opened(t, t.TempDir(), httpcache.Options{})
		urls := []string{"http://a.test/1", "http://a.test/2", "http://a.test/3"}
		broken := crawler(func(*spider, *tegenaria.Response, *tegenaria.Output[string]) error { panic("nil map") }, urls...)
		crawl(t, site, cache, broken)
		if asked := site.lines(); len(asked) != 4 || len(broken.Errors()) != 3 {
			t.Fatalf("asked for %q, %d errors", asked, len(broken.Errors()))
		}
		mended := crawler(follow, urls...)
		crawl(t, site, cache, mended)
		if asked := site.lines(); len(asked) > 0 || strings.Count(mended.items(), "this is") != 3 {
			t.Errorf("asked for %q, found %s", asked, mended.items())
		}
	})
}

// Replay answers as often as it is asked, and never uses the network.
func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(book)
		folder := t.TempDir()
		s := crawler(follow, "http://a.test/")
		crawl(t, site, opened(t, folder, httpcache.Options{}), s)
		site.take()
		replay := opened(t, folder, httpcache.Options{Policy: httpcache.Replay})
		again := crawler(func(s *spider, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
			if cached := resp.Cached(); cached.State != tegenaria.CacheHit || cached.Age <= 0 {
				t.Errorf("%s: %+v", resp.URL, cached)
			}
			for range 2 {
				if _, err := resp.Context().Fetch(tegenaria.NewRequest(resp.URL, tegenaria.GET, nil)); err != nil {
					t.Error(err)
				}
			}
			return follow(s, resp, out)
		}, "http://a.test/", "http://a.test/unknown")
		enginetest.Sleep(time.Hour)
		stats := crawl(t, site, replay, again)
		if asked := site.lines(); len(asked) > 0 || again.items() != s.items() {
			t.Errorf("asked for %q, found\n%s\nwant\n%s", asked, again.items(), s.items())
		}
		var missing []*httpcache.NotStoredError
		for _, err := range again.Errors() {
			if e := (*httpcache.NotStoredError)(nil); errors.As(err, &e) {
				missing = append(missing, e)
			}
		}
		if len(missing) != 1 || missing[0].URL != "http://a.test/unknown" || missing[0].Folder != folder || stats.RequestDownloaded != 0 {
			t.Errorf("%d pages are missing: %v", len(missing), again.Errors())
		}
	})
}

package httpcache_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/enginetest"

	"github.com/tegenaria/tegenaria"
)

// versions is a site whose pages have validators, and change when it says so.
type versions struct {
	mu      sync.Mutex
	version map[string]int
	odd     bool // its 304 are about another page than the one that was asked about
}

func (v *versions) set(path string, version int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.version[path] = version
}

func (v *versions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	tag := fmt.Sprintf("%q", fmt.Sprint(r.URL.Path, v.version[r.URL.Path]))
	w.Header().Set("ETag", tag)
	w.Header().Set("X-Asked", time.Now().Format(time.TimeOnly))
	if known := r.Header.Get("If-None-Match"); known == tag || known != "" && v.odd {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<p>version %d of %s", v.version[r.URL.Path], r.URL.Path)
}

// Refresh asks for each page by its validator. A 304 hands out the stored page with the newer header; statistics and the slot see the
// 304, and neither parser nor middleware sees the condition. What has changed is stored in its place.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := &versions{version: map[string]int{}}
		site := newSite(pages.ServeHTTP)
		folder := t.TempDir()
		urls := []string{"http://a.test/1", "http://a.test/2"}
		obey := tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: time.Second})
		crawl(t, site, opened(t, folder, httpcache.Options{}), crawler(follow, urls...), obey)
		site.take()
		enginetest.Sleep(time.Hour)
		pages.set("/2", 1)
		s := crawler(func(s *spider, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
			s.note("%s %d %s %s", resp.Cached().State, resp.Status, resp.String(), resp.Header["Content-Type"])
			if asked, err := time.Parse(time.TimeOnly, resp.Header["X-Asked"][0]); err != nil || asked.Hour() != time.Now().Hour() {
				t.Errorf("the header of %s is that of %s", resp.URL, asked)
			}
			if r := resp.Request(); len(r.Header) > 0 || resp.Context().Request != r {
				t.Errorf("the request of %s has %v", resp.URL, r.Header)
			}
			return nil
		}, urls...)
		refresh := opened(t, folder, httpcache.Options{Policy: httpcache.Refresh})
		stats := crawl(t, site, refresh, s, obey)
		const want = "miss 200 <p>version 1 of /2 [text/html]\nrevalidated 200 <p>version 0 of /1 [text/html]"
		if s.items() != want {
			t.Errorf("found\n%s\nwant\n%s", s.items(), want)
		}
		if stats.Status[304] != 1 || stats.Status[200] != 1 || stats.Bytes != int64(len("<p>version 1 of /2")) || stats.RequestDownloaded != 2 ||
			stats.Answered != 0 || stats.Cache.Revalidated != 1 || stats.Cache.Stored != 1 {
			t.Errorf("%+v, cache %+v", stats, stats.Cache)
		}
		for _, a := range site.take() {
			if a.header.Get("If-None-Match") == "" {
				t.Errorf("%s was asked without a condition", a.line)
			}
		}
		again := crawler(follow, urls...)
		crawl(t, site, opened(t, folder, httpcache.Options{}), again, obey)
		if asked := site.lines(); len(asked) > 0 {
			t.Errorf("asked for %q", asked)
		}
	})
}

// A 304 that is about another page than the stored one is not obeyed: the page is asked for once more, whole.
func TestRefreshByAnother304(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := &versions{version: map[string]int{}}
		site := newSite(pages.ServeHTTP)
		folder := t.TempDir()
		crawl(t, site, opened(t, folder, httpcache.Options{}), crawler(follow, "http://a.test/1"))
		site.take()
		pages.set("/1", 1)
		pages.odd = true
		s := crawler(follow, "http://a.test/1")
		stats := crawl(t, site, opened(t, folder, httpcache.Options{Policy: httpcache.Refresh}), s)
		var conditions []bool
		for _, a := range site.take() {
			if a.line == "GET http://a.test/1" {
				conditions = append(conditions, a.header.Get("If-None-Match") != "")
			}
		}
		if !slices.Equal(conditions, []bool{true, false}) || stats.Outcomes[tegenaria.Fetched] != 1 || stats.Retries != 1 {
			t.Errorf("conditions %v, found %s, %v, %v", conditions, s.items(), stats.Outcomes, s.Errors())
		}
	})
}

// The pause that a 503 asks for holds also for the stored pages, and a hit does not shorten it.
func TestPauseHoldsForHits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Bool
		site := newSite(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/busy" && busy.Load() {
				w.Header().Set("Retry-After", "30")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			fmt.Fprint(w, "<p>", r.URL.Path)
		})
		cache := opened(t, t.TempDir(), httpcache.Options{})
		obey := tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: time.Second})
		crawl(t, site, cache, crawler(follow, "http://a.test/1"), obey)
		busy.Store(true)
		began := time.Now()
		var after time.Duration
		s := enginetest.NewSpider("http://a.test/busy", "http://a.test/1")
		s.Parse = func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
			after = time.Since(began)
			return nil
		}
		stats := crawl(t, site, cache, s, obey)
		if after < 30*time.Second || stats.Cache.Hits != 1 {
			t.Errorf("the stored page came after %s: %+v", after, stats.Cache)
		}
	})
}

// A page whose validators never change is asked for without them on each visit of a number.
func TestUnconditional(t *testing.T) {
	for unconditional, want := range map[int]int{0: 10, 3: 3, 1: 2, -1: 0} {
		t.Run(fmt.Sprint(unconditional), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				visit := 0
				site := newSite(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("ETag", `"always"`)
					if r.Header.Get("If-None-Match") != "" {
						w.WriteHeader(http.StatusNotModified)
						return
					}
					w.Header().Set("Content-Type", "text/html")
					fmt.Fprintf(w, "<p>visit %d", visit)
				})
				folder := t.TempDir()
				obey := tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true})
				read := func(s *spider, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
					s.note("%s", resp.String())
					return nil
				}
				found := 0
				for visit = 1; visit <= 12 && found == 0; visit++ {
					s := crawler(read, "http://a.test/")
					cache := opened(t, folder, httpcache.Options{Policy: httpcache.Refresh, Unconditional: unconditional})
					crawl(t, site, cache, s, obey)
					if visit > 1 && s.items() == fmt.Sprintf("<p>visit %d", visit) {
						found = visit
					}
				}
				if found != want {
					t.Errorf("what is new was found on visit %d, want %d", found, want)
				}
			})
		})
	}
}

// storedPages is a part that has the pages of a cache.
type storedPages struct {
	tegenaria.PipelinesInterface
	*httpcache.Cache
}

func (storedPages) GetPriority() int { return 0 }

func (p storedPages) StoredPage(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	return p.Stored(ctx)
}

// A cache has the stored page of a request that has failed: the one for who asks, and none for a request that no cache answers.
func TestStoredPage(t *testing.T) {
	broken := false
	site := newSite(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Vary", "User-Agent")
		if broken {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprintf(w, "<p>%s", r.UserAgent())
	})
	cache := opened(t, t.TempDir(), httpcache.Options{Policy: httpcache.Refresh})
	as := func(agent string) tegenaria.EngineOption {
		return tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, UserAgent: agent})
	}
	for _, agent := range []string{"one", "two"} {
		crawl(t, site, cache, crawler(states, "http://a.test/1", "http://a.test/2"), as(agent))
	}
	broken = true
	s := crawler(states, "http://a.test/1", "http://a.test/3")
	start := s.BaseSpider.StartRequest
	s.Start = func(req chan<- *tegenaria.Context) {
		start(req)
		req <- enginetest.Send("http://a.test/2", tegenaria.RequestWithRequestHeader(map[string]string{"Range": "bytes=0-1"}))
	}
	stats := crawl(t, site, cache, s, as("one"), tegenaria.EngineWithPipelines(storedPages{enginetest.PipelineFunc{}, cache}))
	if want := "stale 200 <p>one 0s"; s.items() != want {
		t.Errorf("read: %q, not %q", s.items(), want)
	}
	if stats.Outcomes[tegenaria.Failed] != 3 || stats.Outcomes[tegenaria.Fetched] != 0 || stats.Cache.BytesSaved != 0 {
		t.Errorf("outcomes %v, cache %+v", stats.Outcomes, stats.Cache)
	}
}

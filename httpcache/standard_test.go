package httpcache_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/enginetest"

	"github.com/tegenaria/tegenaria"
)

var standard = httpcache.Options{Policy: httpcache.RFC9111}

// states is a parser that notes what part the cache has had in a page.
func states(s *spider, resp *tegenaria.Response, _ *tegenaria.Output[string]) error {
	s.note("%s %d %s %s", resp.Cached().State, resp.Status, resp.String(), resp.Cached().Age.Round(time.Minute))
	return nil
}

// A fresh page is handed out without a request and without a delay; a stale one is validated, with the delay of its host; what the
// header does not let be stored is fetched each time.
func TestStandard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(func(w http.ResponseWriter, r *http.Request) {
			control := map[string]string{"/hour": "max-age=3600", "/tag": "max-age=60", "/never": "no-store"}
			w.Header().Set("Cache-Control", control[r.URL.Path])
			if r.URL.Path == "/tag" {
				w.Header().Set("ETag", `"1"`)
			}
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			fmt.Fprint(w, r.URL.Path)
		})
		cache := opened(t, t.TempDir(), standard)
		obey := tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: time.Second})
		urls := []string{"http://a.test/hour", "http://a.test/tag", "http://a.test/never"}
		crawl(t, site, cache, crawler(states, urls...), obey)
		site.take()
		enginetest.Sleep(10 * time.Minute)
		began := time.Now()
		s := crawler(states, urls...)
		stats := crawl(t, site, cache, s, obey)
		if took := time.Since(began); took > 1100*time.Millisecond {
			t.Errorf("two requests took %s", took)
		}
		const want = "hit 200 /hour 10m0s\nmiss 200 /never 0s\nrevalidated 200 /tag 0s"
		if s.items() != want {
			t.Errorf("found\n%s\nwant\n%s", s.items(), want)
		}
		if c := stats.Cache; c.Hits != 1 || c.Revalidated != 1 || c.Stored != 0 || stats.Status[304] != 1 || stats.Answered != 1 {
			t.Errorf("%+v, cache %+v", stats, c)
		}
		if asked := site.lines(); strings.Join(asked, " ") != "GET http://a.test/never GET http://a.test/tag" {
			t.Errorf("asked for %q", asked)
		}
	})
}

// Behind a 503, a connection that is refused, or one that breaks off, stale-if-error has the stored page handed out. Slot and counters
// see what came: the host is paused, by the log of the site. A certificate that is wrong is no outage.
func TestStaleIfError(t *testing.T) {
	for name, fails := range map[string]func(w http.ResponseWriter) error{
		"503": func(w http.ResponseWriter) error {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusServiceUnavailable)
			return nil
		},
		"refused": func(http.ResponseWriter) error {
			return &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		},
		"broken": func(http.ResponseWriter) error { return io.ErrUnexpectedEOF },
		"other":  func(http.ResponseWriter) error { return errors.New("x509: certificate signed by unknown authority") },
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				var down atomic.Bool
				site := newSite(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Cache-Control", "max-age=60, stale-if-error=86400")
					fmt.Fprint(w, r.URL.Path)
				})
				transport := roundTripper(func(r *http.Request) (*http.Response, error) {
					if r.URL.Path != "/1" || !down.Load() {
						return site.RoundTrip(r)
					}
					var err error
					failing := newSite(func(w http.ResponseWriter, _ *http.Request) { err = fails(w) })
					resp, _ := failing.RoundTrip(r)
					return resp, err
				})
				cache := opened(t, folder, standard)
				opts := []tegenaria.EngineOption{tegenaria.EngineWithHTTPClient(&http.Client{Transport: transport}),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: time.Second})}
				crawl(t, site, cache, crawler(states, "http://a.test/1"), opts...)
				down.Store(true)
				enginetest.Sleep(time.Hour)
				site.take()
				began := time.Now()
				s := crawler(states, "http://a.test/1", "http://a.test/2")
				stats := crawl(t, site, cache, s, opts...)
				if name == "other" {
					if s.items() != "miss 200 /2 0s" || len(s.Errors()) != 1 {
						t.Errorf("found %s, %v", s.items(), s.Errors())
					}
					return
				}
				if s.items() != "miss 200 /2 0s\nstale 200 /1 1h0m0s" || stats.Cache.Stale != 1 || stats.Retries != 0 {
					t.Errorf("found %s: %+v, cache %+v, %v", s.items(), stats, stats.Cache, s.Errors())
				}
				if name == "503" {
					if at := site.take()[0].at.Sub(began); at < 30*time.Second || stats.Status[503] != 1 {
						t.Errorf("/2 was asked for after %s; %v", at, stats.Status)
					}
				}
			})
		})
	}
}

// roundTripper is a func as a transport.
type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A request's own Range and preconditions are answered from the whole page that is stored, in memory or in a file; HEAD has the stored
// header; what was stored under a part of it is still whole for the next one.
func TestStandardParts(t *testing.T) {
	for _, size := range []int{100, 3 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			text := bytes.Repeat([]byte("0123456789"), size/10)
			site := newSite(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Cache-Control", "max-age=3600")
				w.Header().Set("ETag", `"1"`)
				_, _ = w.Write(text)
			})
			cache := opened(t, t.TempDir(), standard)
			ask := func(method string, header map[string]string, opts ...tegenaria.RequestOption) (resp *tegenaria.Response) {
				opts = append(opts, tegenaria.RequestWithRequestHeader(header), tegenaria.RequestWithAllowedStatusCode([]uint64{206, 304}))
				s := sends(tegenaria.NewRequest("http://a.test/1", method, nil, opts...))
				s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					resp = ctx.Response()
					return nil
				}
				crawl(t, site, cache, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
				if resp == nil {
					t.Fatal(s.Errors())
				}
				return resp
			}
			ask("GET", nil)
			site.take()
			var to bytes.Buffer
			for _, c := range []struct {
				method string
				header map[string]string
				opts   []tegenaria.RequestOption
				status int
				body   string
			}{
				{"GET", map[string]string{"Range": "bytes=3-7"}, nil, 206, "34567"},
				{"GET", map[string]string{"Range": "bytes=-2"}, nil, 206, "89"},
				{"GET", map[string]string{"range": "bytes=1-2"}, []tegenaria.RequestOption{tegenaria.RequestWithResponseWriter(&to)}, 206, ""},
				{"GET", map[string]string{"If-None-Match": `"1"`}, nil, 304, ""},
				{"HEAD", nil, nil, 200, ""},
				{"GET", nil, nil, 200, string(text)},
			} {
				resp := ask(c.method, c.header, c.opts...)
				if resp.Status != c.status || resp.String() != c.body || resp.Cached().State != tegenaria.CacheHit {
					t.Errorf("%s %v: %d, %d bytes, %s", c.method, c.header, resp.Status, len(resp.Bytes()), resp.Cached().State)
				}
			}
			if to.String() != "12" {
				t.Errorf("the ResponseWriter has %q", to.String())
			}
			if asked := site.lines(); len(asked) > 0 {
				t.Errorf("asked for %q", asked)
			}
		})
	}
}

// A page that varies by User-Agent is that of the name that the crawl goes by, also where no request says it.
func TestStandardUserAgent(t *testing.T) {
	site := newSite(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		w.Header().Set("Vary", "User-Agent")
		fmt.Fprint(w, r.UserAgent())
	})
	cache := opened(t, t.TempDir(), standard)
	for i, agent := range []string{"one", "two", "one", "two"} {
		var want strings.Builder
		fmt.Fprintf(&want, "%s 200 %s 0s", map[bool]string{true: "hit", false: "miss"}[i > 1], agent)
		s := crawler(states, "http://a.test/1")
		crawl(t, site, cache, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, UserAgent: agent}))
		if s.items() != want.String() {
			t.Errorf("%d: %s, want %s", i, s.items(), want.String())
		}
	}
}

// A form that is sent makes the stored page of its URL useless, also if nobody has its body in memory. What is only-if-cached fails
// without a request, by an error that says why.
func TestStandardUnsafe(t *testing.T) {
	site := newSite(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		fmt.Fprint(w, r.Method)
	})
	for _, body := range []tegenaria.RequestOption{tegenaria.RequestWithBody([]byte("a=1")), tegenaria.RequestWithBodyReader(strings.NewReader("a=1"))} {
		cache := opened(t, t.TempDir(), standard)
		cached := map[string]string{"Cache-Control": "only-if-cached"}
		for i, r := range []*tegenaria.Request{
			tegenaria.NewRequest("http://a.test/1", "GET", nil),
			tegenaria.NewRequest("http://a.test/1", "GET", nil, tegenaria.RequestWithRequestHeader(cached)),
			tegenaria.NewRequest("http://a.test/1", "POST", nil, body),
			tegenaria.NewRequest("http://a.test/1", "GET", nil, tegenaria.RequestWithRequestHeader(cached)),
		} {
			s := sends(r)
			s.Parse = func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error { return nil }
			stats := crawl(t, site, cache, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
			var missing *httpcache.NotStoredError
			if failed := len(s.Errors()) > 0 && errors.As(s.Errors()[0], &missing); failed != (i == 3) || stats.Cache.Hits != int64(i%2*(3-i)/2) {
				t.Errorf("%d: %v, cache %+v", i, s.Errors(), stats.Cache)
			} else if failed && (!missing.OnlyIfCached || !strings.Contains(missing.Error(), "only-if-cached: leave that out")) {
				t.Error(missing)
			}
		}
		if asked := site.lines(); strings.Join(asked, " ") != "GET http://a.test/1 POST http://a.test/1" {
			t.Errorf("asked for %q", asked)
		}
	}
}

// Rubbish in the header of a page is neither an error nor trusted.
func TestStandardRubbish(t *testing.T) {
	long := strings.Repeat("x,", 500_000)
	for field, value := range map[string]string{
		"Age": "one hour", "Date": "yesterday", "Vary": "\x7f", "Etag": "W/", "Expires": long, "Cache-Control": long + "max-age=oops",
		"Last-Modified": "Mon, 99 Foo 2026 99:99:99 GMT",
	} {
		t.Run(field, func(t *testing.T) {
			site := newSite(func(w http.ResponseWriter, r *http.Request) {
				w.Header()[field] = []string{value}
				if r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Modified-Since") != "" {
					t.Errorf("asked by %v", r.Header)
				}
				fmt.Fprint(w, "page")
			})
			cache := opened(t, t.TempDir(), standard)
			for range 2 {
				s := crawler(states, "http://a.test/1")
				crawl(t, site, cache, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
				if s.items() != "miss 200 page 0s" {
					t.Errorf("found %s, %v", s.items(), s.Errors())
				}
			}
		})
	}
}

// A 304 or 206 that nobody has asked for is the answer of the site, and is not stored.
func TestStandardUnasked(t *testing.T) {
	for _, status := range []int{304, 206} {
		site := newSite(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "max-age=3600")
			w.WriteHeader(status)
		})
		cache := opened(t, t.TempDir(), standard)
		for range 2 {
			s := sends(tegenaria.NewRequest("http://a.test/1", "GET", nil, tegenaria.RequestWithAllowedStatusCode([]uint64{206, 304})))
			var got *tegenaria.Response
			s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				got = ctx.Response()
				return nil
			}
			stats := crawl(t, site, cache, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
			if got == nil || got.Status != status || got.Cached().State != tegenaria.CacheMiss || stats.Cache.Stored != 0 {
				t.Errorf("%d: %+v, cache %+v, %v", status, got, stats.Cache, s.Errors())
			}
		}
	}
}

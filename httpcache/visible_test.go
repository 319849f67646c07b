package httpcache_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/enginetest"

	"github.com/tegenaria/tegenaria"
)

// What is visible depends on how the request has ended.
func TestVisiblePages(t *testing.T) {
	refuses := tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{Name: "refuses", Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
		if ctx.Response().Status == http.StatusOK {
			return tegenaria.IgnoreRequest("blocked")
		}
		return nil
	}})
	for _, tt := range []struct {
		name    string
		serve   http.HandlerFunc
		parse   func(attempt int) error
		options httpcache.Options
		engine  []tegenaria.EngineOption
		stored  int
	}{
		{name: "fetched", stored: 1},
		{name: "failed in the parser", parse: func(int) error { return errors.New("no price") }, stored: 1},
		{name: "ignored by the parser", parse: func(int) error { return tegenaria.ErrIgnoreRequest }, stored: 1},
		{name: "given up by the parser", parse: func(int) error { return tegenaria.GiveUp(errors.New("captcha")) }},
		{name: "tried again until it is given up", parse: func(int) error { return tegenaria.Retry(0, errors.New("captcha")) }},
		{name: "tried again", parse: func(attempt int) error {
			if attempt == 0 {
				return tegenaria.Retry(0, errors.New("captcha"))
			}
			return nil
		}, stored: 1},
		{name: "blocked", engine: []tegenaria.EngineOption{refuses}},
		{name: "missing", serve: http.NotFound, stored: 1},
		{name: "missing, and allowed", serve: http.NotFound, engine: []tegenaria.EngineOption{tegenaria.EngineWithAllowStatusCode([]uint64{404})}, stored: 1},
		{name: "missing, and not wanted", serve: http.NotFound, options: httpcache.Options{Statuses: []int{200}}},
		{name: "failed", serve: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }},
		{name: "failed, and wanted", serve: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, options: httpcache.Options{Statuses: []int{500}}, stored: 1},
		{name: "not to be kept", options: httpcache.Options{Keep: func(resp *tegenaria.Response) bool { return resp.String() != "<p>page" }}},
		{name: "truncated", serve: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(cut, "yes"); fmt.Fprint(w, "<p>pa") }},
		{name: "damaged", serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed("<p>page")[:20])
		}},
		{name: "packed", serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed("<p>page"))
		}, stored: 1},
		{name: "a part", serve: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(206); fmt.Fprint(w, "<p>p") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(func(w http.ResponseWriter, r *http.Request) {
					if tt.serve != nil {
						tt.serve(w, r)
						return
					}
					fmt.Fprint(w, "<p>page")
				})
				cache := opened(t, t.TempDir(), tt.options)
				s := enginetest.NewSpider("http://a.test/1")
				s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					if tt.parse != nil {
						return tt.parse(ctx.Request.Attempt)
					}
					return nil
				}
				opts := append(tt.engine, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
				crawl(t, site, cache, s, opts...)
				site.take()
				got := 0
				for p := range cache.Pages("") {
					got++
					if p.URL != "http://a.test/1" {
						t.Errorf("%s is stored", p.URL)
					}
				}
				if got != tt.stored {
					t.Errorf("%d pages are stored, want %d", got, tt.stored)
				}
				s.Parse = enginetest.Nothing
				crawl(t, site, cache, s, opts...)
				if asked := len(site.take()); asked == 0 != (tt.stored == 1) {
					t.Errorf("the second crawl has asked %d times", asked)
				}
			})
		})
	}
}

// What Fetch has brought becomes visible with the page of its caller; an attempt of it that was tried again does not.
func TestVisibleWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times atomic.Int64
		site := newSite(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path, times.Add(1)) })
		cache := opened(t, t.TempDir(), httpcache.Options{})
		retries := tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{Name: "retries", Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
			if strings.HasSuffix(ctx.Request.Url, "/inline") && ctx.Request.Attempt == 0 {
				return tegenaria.Retry(0, errors.New("once more"))
			}
			return nil
		}})
		opts := []tegenaria.EngineOption{retries, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true})}
		var inline string
		s := enginetest.NewSpider("http://a.test/1")
		s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			resp, err := ctx.Fetch(tegenaria.NewRequest("http://a.test/inline", tegenaria.GET, nil))
			if err != nil {
				return err
			}
			inline = resp.String()
			for p := range cache.Pages("") {
				t.Errorf("%s is visible before its request has settled", p.URL)
			}
			panic("a bug")
		}
		crawl(t, site, cache, s, opts...)
		if inline != "/inline3" {
			t.Errorf("Fetch has brought %q", inline)
		}
		var stored []string
		for p := range cache.Pages("") {
			body, ok := cache.Body(p)
			if !ok {
				t.Fatal("no body")
			}
			text, err := io.ReadAll(body)
			body.Close()
			stored = append(stored, fmt.Sprint(p.URL, " ", string(text), " ", err))
		}
		if want := []string{"http://a.test/1 /11 <nil>", "http://a.test/inline /inline3 <nil>"}; !slices.Equal(stored, want) {
			t.Errorf("stored %q", stored)
		}
	})
}

// A login whose session has expired in the stored pages is made again over the network, and what it brings is stored.
func TestExpiredLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var session atomic.Int64
		session.Store(1)
		site := newSite(func(w http.ResponseWriter, r *http.Request) {
			now := fmt.Sprint(session.Load())
			switch {
			case r.Method == http.MethodPost:
				fmt.Fprint(w, now)
			case r.URL.Path != "/start" && r.Header.Get("X-Session") != now:
				w.WriteHeader(http.StatusUnauthorized)
			default:
				fmt.Fprint(w, "<p>members of ", r.URL.Path)
			}
		})
		cache := opened(t, t.TempDir(), httpcache.Options{})
		spider := func(paths ...string) *spider {
			s := crawler(nil, "http://a.test/start")
			s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				login := func() string {
					resp, err := ctx.Fetch(tegenaria.NewRequest("http://a.test/login", tegenaria.POST, nil, tegenaria.RequestWithBody([]byte("password"))))
					if err != nil {
						t.Fatal(err)
					}
					return resp.String()
				}
				now := login()
				for _, path := range paths {
					for range 2 {
						resp, err := ctx.Fetch(tegenaria.NewRequest("http://a.test"+path, tegenaria.GET, nil,
							tegenaria.RequestWithRequestHeader(map[string]string{"X-Session": now})))
						if err == nil {
							s.note("%s", resp.String())
							break
						}
						now = login()
					}
				}
				return nil
			}
			return s
		}
		opts := tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true})
		first := spider("/1")
		crawl(t, site, cache, first, opts)
		site.take()
		session.Store(2) // the site has forgotten the first one
		second := spider("/1", "/2")
		crawl(t, site, cache, second, opts)
		if asked := site.lines(); !slices.Equal(asked, []string{"GET http://a.test/2", "GET http://a.test/2", "POST http://a.test/login"}) {
			t.Errorf("asked for %q", asked)
		}
		third := spider("/1", "/2")
		crawl(t, site, cache, third, opts)
		if asked := site.lines(); len(asked) > 0 {
			t.Errorf("asked for %q", asked)
		}
		if want := "<p>members of /1\n<p>members of /2"; second.items() != want || third.items() != want {
			t.Errorf("found %q, then %q", second.items(), third.items())
		}
	})
}

// Bodies for files and writers are stored and handed out as a stream.
func TestStreams(t *testing.T) {
	long := strings.Repeat("0123456789", 300_000)
	for _, coded := range []bool{false, true} {
		t.Run(fmt.Sprint("coded=", coded), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(func(w http.ResponseWriter, _ *http.Request) {
					if coded {
						w.Header().Set("Content-Encoding", "gzip")
						w.Write(packed(long))
						return
					}
					fmt.Fprint(w, long)
				})
				cache := opened(t, t.TempDir(), httpcache.Options{})
				for run := range 2 {
					var writer bytes.Buffer
					var spooled string
					s := sends(
						tegenaria.NewRequest("http://a.test/writer", tegenaria.GET, nil, tegenaria.RequestWithResponseWriter(&writer)),
						tegenaria.NewRequest("http://a.test/spool", tegenaria.GET, nil, tegenaria.RequestWithSpool()),
					)
					s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
						if strings.HasSuffix(ctx.Request.Url, "spool") {
							body, err := io.ReadAll(ctx.Response().Reader())
							spooled = string(body)
							return err
						}
						return nil
					}
					crawl(t, site, cache, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
						tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1 << 20}))
					if writer.String() != long || spooled != long {
						t.Errorf("run %d: %d bytes for the writer, %d of the file", run, writer.Len(), len(spooled))
					}
					want := 2
					if run == 1 {
						want = 0
						if coded { // such a body passes by
							want = 1
						}
					}
					if asked := site.lines(); len(asked) != want {
						t.Errorf("run %d has asked for %q", run, asked)
					}
				}
			})
		})
	}
}

// A page of another downloader passes by, and the end of the log counts it.
func TestOtherDownloaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(book)
		cache := opened(t, t.TempDir(), httpcache.Options{})
		world := enginetest.NewWorld().Page("http://a.test/1", enginetest.Text("rendered"))
		var log bytes.Buffer
		logger := &logrus.Logger{Out: &log, Formatter: &logrus.JSONFormatter{}, Level: logrus.InfoLevel, Hooks: make(logrus.LevelHooks)}
		for range 2 {
			s := sends(
				tegenaria.NewRequest("http://a.test/1", tegenaria.GET, nil, tegenaria.RequestWithDownloader("browser")),
				tegenaria.NewRequest("http://a.test/2", tegenaria.GET, nil),
			)
			s.Parse = enginetest.Nothing
			e := engine(site, cache, s, tegenaria.EngineWithLogger(logger), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
			e.RegisterDownloader("browser", world)
			enginetest.MustRun(t, e)
		}
		if n := world.Count("http://a.test/1"); n != 2 {
			t.Errorf("the browser was asked %d times", n)
		}
		for _, want := range []string{"cache: 0 hits, 1 stored; 1 page of other downloaders not kept", "cache: 1 hit, 13 B saved; 1 page of other downloaders not kept"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, log.String())
			}
		}
	})
}

// Two engines of a process share a cache, and two that crawl at once get the right pages.
func TestTwoEngines(t *testing.T) {
	folder := t.TempDir()
	site := newSite(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<p>", r.URL.Path) })
	var urls []string
	for i := range 50 {
		urls = append(urls, fmt.Sprintf("http://a.test/%d", i))
	}
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			s := crawler(func(s *spider, resp *tegenaria.Response, _ *tegenaria.Output[string]) error {
				if want := "<p>" + strings.TrimPrefix(resp.URL, "http://a.test"); resp.String() != want {
					t.Errorf("%s has %q", resp.URL, resp.String())
				}
				return nil
			}, urls...)
			crawl(t, site, opened(t, folder, httpcache.Options{}), s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
		})
	}
	running.Wait()
}

package httpcache_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/internal/killtest"

	"github.com/tegenaria/tegenaria"
)

// site is a server in memory, which works in a bubble of synctest: the witness of what was asked.
type site struct {
	handler http.Handler

	mu  sync.Mutex
	log []asked
}

// asked is a request that has reached the site.
type asked struct {
	line   string // "GET http://a.test/"
	at     time.Time
	header http.Header
}

func newSite(handler http.HandlerFunc) *site { return &site{handler: handler} }

// RoundTrip has the handler answer.
func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.log = append(s.log, asked{r.Method + " " + r.URL.String(), time.Now(), r.Header.Clone()})
	s.mu.Unlock()
	w := httptest.NewRecorder()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	s.handler.ServeHTTP(w, r)
	resp := w.Result()
	resp.Request = r
	if w.Header().Get(cut) != "" {
		resp.Header.Del(cut)
		resp.ContentLength = int64(w.Body.Len()) + 10
		resp.Body = io.NopCloser(io.MultiReader(resp.Body, iotest.ErrReader(io.ErrUnexpectedEOF)))
	}
	return resp, nil
}

// cut is the header field by which a handler has its body break off.
const cut = "Cut"

// packed returns a text in gzip.
func packed(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text) // to memory
	_ = w.Close()
	return b.Bytes()
}

// sends makes a spider that sends requests.
func sends(requests ...*tegenaria.Request) *enginetest.Spider {
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		for _, r := range requests {
			req <- tegenaria.NewContext(r)
		}
	}
	return s
}

// take returns what was asked since the last call.
func (s *site) take() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

// lines are those of take, sorted.
func (s *site) lines() (lines []string) {
	for _, a := range s.take() {
		lines = append(lines, a.line)
	}
	slices.Sort(lines)
	return lines
}

// opened opens a cache for the time of the test.
func opened(t *testing.T, folder string, o httpcache.Options) *httpcache.Cache {
	t.Helper()
	cache, err := httpcache.Open(folder, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	return cache
}

// spider collects what it finds.
type spider struct {
	*enginetest.Spider
	mu    sync.Mutex
	found []string
}

// crawler makes a spider from its seeds and a func that parses.
func crawler(parse func(s *spider, resp *tegenaria.Response, out *tegenaria.Output[string]) error, urls ...string) *spider {
	s := &spider{Spider: enginetest.NewSpider(urls...)}
	s.Parse = tegenaria.Handle(func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
		return parse(s, resp, out)
	})
	return s
}

func (s *spider) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, fmt.Sprintf(format, args...))
}

// items are what was found, sorted.
func (s *spider) items() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.found)
	return strings.Join(s.found, "\n")
}

// follow is a parser that notes the page and follows its links.
func follow(s *spider, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
	s.note("%d %s %s %q %s", resp.Status, resp.URL, resp.Header["Content-Type"], resp.String(), resp.Header["X-Custom"])
	return out.FollowLinks()
}

// crawl runs a spider over a site with a cache, in memory.
func crawl(t *testing.T, site *site, cache *httpcache.Cache, s tegenaria.SpiderInterface, opts ...tegenaria.EngineOption) tegenaria.Stats {
	t.Helper()
	e := engine(site, cache, s, opts...)
	return enginetest.MustRun(t, e)
}

func engine(site *site, cache *httpcache.Cache, s tegenaria.SpiderInterface, opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	all := []tegenaria.EngineOption{
		tegenaria.EngineWithHTTPClient(&http.Client{Transport: site}), tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Second}),
		tegenaria.EngineWithEmptyOK(),
	}
	if cache != nil {
		all = append(all, tegenaria.EngineWithDownloaderLayers(cache.Layer))
	}
	return enginetest.NewEngine(nil, s, append(all, opts...)...)
}

// TestMain stores a page outside of any bubble: the compression library keeps the channel that it makes then for all tests.
func TestMain(m *testing.M) {
	killtest.RunProgram()
	if err := warmUp(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func warmUp() error {
	folder, err := os.MkdirTemp("", "httpcache")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	cache, err := httpcache.Open(folder, httpcache.Options{})
	if err != nil {
		return err
	}
	site := newSite(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<p>a page") })
	err = engine(site, cache, crawler(follow, "http://a.test/")).Run(context.Background(), "test")
	return errors.Join(err, cache.Close())
}

package cookbook_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/middleware"
)

// The programs of docs/guides/events.md.

// hosts counts the pages and bytes of each host.
type hosts struct {
	mu    sync.Mutex // events come from several goroutines
	pages map[string]int
	bytes map[string]int
}

func (h *hosts) downloaded(r *tegenaria.Request, resp *tegenaria.Response) {
	u, err := url.Parse(resp.URL)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pages[u.Host]++
	h.bytes[u.Host] += resp.ContentLength
}

func TestCountByHost(t *testing.T) {
	site := start(t)
	h := &hosts{pages: make(map[string]int), bytes: make(map[string]int)}
	count := tegenaria.EngineWithEvents(tegenaria.Events{Downloaded: h.downloaded})
	crawl[quote](t, quotes(site), count)
	host := strings.TrimPrefix(site.URL(), "http://")
	if h.pages[host] != 10 || h.bytes[host] < 10_000 {
		t.Errorf("%v, %v; want 10 pages of %s", h.pages, h.bytes, host)
	}
}

// slow reports slow pages and retries.
func slow(w io.Writer) tegenaria.Events {
	return tegenaria.Events{
		Downloaded: func(r *tegenaria.Request, resp *tegenaria.Response) {
			if resp.Delay > 5 { // seconds
				fmt.Fprintln(w, "slow:", r.Url)
			}
		},
		RequestRetried: func(r *tegenaria.Request, after time.Duration, why error) {
			fmt.Fprintln(w, "again in", after, r.Url, why)
		},
		Closed: func(reason string) { fmt.Fprintln(w, "the crawl is over:", reason) },
	}
}

func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := demosite.Handler()
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/flaky/1" {
				<-time.After(6 * time.Second)
			}
			site.ServeHTTP(w, r)
		})
		var lines lockedBuffer
		crawl[string](t, tegenaria.NewSpider("flaky", tegenaria.Handle(titles), "http://demo.example/flaky/1"), web(t, handler),
			tegenaria.EngineWithEvents(slow(&lines)), tegenaria.EngineWithLimits(tegenaria.Limits{Depth: tegenaria.OnlySeeds}),
			tegenaria.EngineWithMiddlewares(middleware.Standard()...))
		for want, times := range map[string]int{"slow: http://demo.example/flaky/1\n": 3, "again in ": 2, "the crawl is over: finished\n": 1} {
			if n := strings.Count(lines.String(), want); n != times {
				t.Errorf("%q is there %d times, want %d, in\n%s", want, n, times, lines.String())
			}
		}
	})
}

package httpcache_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/internal/killtest"

	"github.com/tegenaria/tegenaria"
)

const killPages = 200

// plan is a crawl of a process that is killed.
type plan struct {
	URL, Folder string
	Durable     bool
	Agent       string // the User-Agent
}

// engine makes the engine of the crawl. The func that it returns closes what it has opened.
func (p plan) engine(parse tegenaria.Parser) (*tegenaria.SpiderEngine, func() error, error) {
	cache, err := httpcache.Open(filepath.Join(p.Folder, "pages"), httpcache.Options{})
	if err != nil {
		return nil, nil, err
	}
	s := enginetest.NewSpider(p.URL + "/0")
	s.Parse = parse
	opts := []tegenaria.EngineOption{tegenaria.EngineWithPoliteness(tegenaria.Politeness{UserAgent: p.Agent}), tegenaria.EngineWithDownloaderLayers(cache.Layer)}
	closes := cache.Close
	if p.Durable {
		queue, err := disk.Open(filepath.Join(p.Folder, "job"))
		if err != nil {
			cache.Close()
			return nil, nil, err
		}
		opts = append(opts, tegenaria.EngineWithCache(queue))
		closes = func() error { return errors.Join(queue.Close(), cache.Close()) }
	}
	return enginetest.NewEngine(nil, s, opts...), closes, nil
}

// crawling crawls as a plan says.
var crawling = killtest.NewProgram("crawling", func(p plan) error {
	e, closes, err := p.engine(enginetest.FollowAll)
	if err != nil {
		return err
	}
	return errors.Join(e.Run(context.Background(), "test"), closes())
})

// killSite has pages that lead on, and kills a process when so many were asked for.
type killSite struct {
	mu     sync.Mutex
	agent  string // who counts: what the dead have sent may arrive late
	asked  map[string]int
	left   int // until it kills; less than 1: it does not
	killed func()
}

func pageOf(path string) string {
	var n int
	fmt.Sscanf(path, "/%d", &n)
	text := "<p>this is " + path
	for i := 3*n + 1; i <= 3*n+3 && i < killPages; i++ {
		text += fmt.Sprintf(`<a href="/%d"></a>`, i)
	}
	for i := range 40 { // what does not pack well is written soon
		text += fmt.Sprintf(" %x", sha256.Sum256([]byte{byte(n), byte(i)}))
	}
	if n%20 == 7 { // some are files
		text += strings.Repeat("long ", 300_000)
	}
	return text
}

func (s *killSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	kill := false
	if r.UserAgent() == s.agent {
		s.asked[r.URL.Path]++
		kill = s.left == 1
		s.left--
	}
	s.mu.Unlock()
	if kill {
		s.killed()
		return
	}
	if r.URL.Path == "/robots.txt" {
		fmt.Fprint(w, "User-agent: *\nDisallow:\n")
		return
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, pageOf(r.URL.Path))
}

// A process that is killed leaves pages that are whole. The next one asks for those that are not there, and for no other ones; it gets
// every page, whether the queue of the crawl was on disk or not.
func TestKill(t *testing.T) {
	for _, durable := range []bool{false, true} {
		for _, at := range []int{2, 60, 170} {
			t.Run(fmt.Sprintf("durable=%t at %d", durable, at), func(t *testing.T) {
				site := &killSite{agent: "killed", asked: make(map[string]int), left: at}
				server := httptest.NewServer(site)
				defer server.Close()
				p := plan{URL: server.URL, Folder: t.TempDir(), Durable: durable, Agent: "killed"}
				site.mu.Lock()
				child, err := killtest.Start(crawling.Command(p))
				site.killed = func() { child.Signal(syscall.SIGKILL) }
				site.mu.Unlock()
				if err != nil {
					t.Fatal(err)
				}
				if e := child.Wait(); !e.Struck {
					t.Fatalf("the process was not killed: %v\n%s", e.Err, e.Output)
				}
				site.mu.Lock()
				first := len(site.asked)
				site.agent, site.asked, site.left = "next", make(map[string]int), 0
				site.mu.Unlock()

				visible := make(map[string]bool)
				cache := opened(t, filepath.Join(p.Folder, "pages"), httpcache.Options{})
				for page := range cache.Pages("") {
					path := strings.TrimPrefix(page.URL, server.URL)
					visible[path] = true
					body, ok := cache.Body(page)
					if !ok {
						t.Errorf("%s has no body", path)
						continue
					}
					got, err := io.ReadAll(body)
					body.Close()
					if err != nil || path != "/robots.txt" && string(got) != pageOf(path) {
						t.Errorf("%s has %d bytes: %v", path, len(got), err)
					}
				}
				if at > 100 && len(visible) == 0 {
					t.Error("nothing was stored")
				}
				crawlOn := func(p plan) int {
					var pages atomic.Int64
					e, closes, err := p.engine(func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
						path := strings.TrimPrefix(ctx.Request.Url, server.URL)
						pages.Add(1)
						if ctx.Response().String() != pageOf(path) {
							t.Errorf("%s is not as the site has sent it", path)
						}
						return enginetest.FollowAll(ctx, items, req)
					})
					if err != nil {
						t.Fatal(err)
					}
					defer closes()
					if err := enginetest.Run(t, e); err != nil {
						t.Fatal(err)
					}
					return int(pages.Load())
				}
				p.Agent = "next"
				if pages := crawlOn(p); !durable && pages != killPages {
					t.Errorf("%d pages, want %d", pages, killPages)
				}
				for path, n := range site.asked {
					if visible[path] || n > 1 {
						t.Errorf("%s was asked for %d times though it is stored: %t", path, n, visible[path])
					}
				}
				p.Durable = false
				if pages := crawlOn(p); pages != killPages {
					t.Errorf("%d pages by a new crawl, want %d", pages, killPages)
				}
				t.Logf("killed after %d pages were asked for: %d were stored, and %d asked for then", first, len(visible), len(site.asked))
			})
		}
	}
}

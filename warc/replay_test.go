package warc_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/warc"
)

// noNetwork is a client whose use fails a test.
func noNetwork(t *testing.T) *http.Client {
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		t.Errorf("the network was asked for %s", r.URL)
		return nil, errors.New("there is no network")
	})}
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// corners is a site with answers that are hard to keep.
func corners() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "User-agent: *\nDisallow: /secret\n") })
	long := strings.Repeat("<p>A paragraph, as there are many.</p>", 30_000)
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for _, path := range []string{"coded", "cut", "secret", "moved", "same1", "same2", "hung", "missing", "big", "fetches", "posts", "none", "odd%20name?q=ä|b", "dies"} {
			fmt.Fprintf(w, "<a href=\"/%s\">%s</a>", path, path)
		}
	})
	mux.HandleFunc("/coded", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, "<title>coded</title>"+long)
		z.Close()
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "<title>cut</title>")
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/target", http.StatusFound) })
	for _, name := range []string{"/same1", "/same2", "/target"} {
		mux.HandleFunc(name, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<title>the same</title>"+long[:5000]) })
	}
	mux.HandleFunc("/hung", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<title>big</title>", strings.Repeat(long, 3))
	})
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/dies", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/missing" {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "<title>%s %s %s</title>", r.Method, r.URL.Path, body)
	})
	return mux
}

// crawled is what a crawl has found.
type crawled struct {
	mu       sync.Mutex
	items    []string
	outcomes []string
	stats    tegenaria.Stats
	took     time.Duration
}

// crawl follows all links from these URLs.
func crawl(t *testing.T, urls []string, opts ...tegenaria.EngineOption) *crawled {
	t.Helper()
	var c crawled
	note := func(list *[]string, format string, args ...any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		*list = append(*list, fmt.Sprintf(format, args...))
	}
	parse := func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		page := ctx.Response()
		note(&c.items, "%s %d %d %s", page.URL, page.Status, len(page.Bytes()), page.CSS("title").Text())
		for _, link := range page.Links() {
			note(&c.items, "%s links to %s", page.URL, link.URL)
			if strings.Contains(link.URL, "/flaky/") { // a server that says it is overloaded is left alone for a while
				continue
			}
			r := tegenaria.NewRequest(link.URL, "GET", nil)
			if strings.HasSuffix(link.URL, "/hung") {
				r = tegenaria.NewRequest(link.URL, "GET", nil, tegenaria.RequestWithTimeout(300*time.Millisecond))
			}
			req <- tegenaria.NewContext(r)
		}
		switch {
		case strings.HasSuffix(page.URL, "/fetches"):
			for range 2 {
				got, err := ctx.Fetch(tegenaria.NewRequest(strings.Replace(page.URL, "fetches", "fetched", 1), "GET", nil))
				if err != nil {
					return err
				}
				note(&c.items, "fetched %s", got.String())
			}
		case strings.HasSuffix(page.URL, "/posts"):
			for _, body := range []string{"one", "two", ""} {
				req <- tegenaria.NewContext(tegenaria.NewRequest(page.URL+"/to", "POST", nil, tegenaria.RequestWithBody([]byte(body))))
			}
		}
		return nil
	}
	opts = append(opts, tegenaria.EngineWithSlog(slog.New(slog.DiscardHandler)), tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: 5 * time.Millisecond}),
		tegenaria.EngineWithLimits(tegenaria.Limits{Body: 2 << 20}),
		tegenaria.EngineWithEvents(tegenaria.Events{RequestSettled: func(r *tegenaria.Request, outcome tegenaria.Outcome, reason string) {
			note(&c.outcomes, "%s %s %s %s", r.Method, r.Url, outcome, reason)
		}}))
	engine := tegenaria.NewSpiderEngine(opts...)
	var seeds []*tegenaria.Request
	for _, url := range urls {
		seeds = append(seeds, tegenaria.NewRequest(url, "GET", nil))
	}
	engine.RegisterSpiders(tegenaria.NewSpiderOf("replayed", parse, seeds...))
	began := time.Now()
	if err := engine.Run(t.Context(), "replayed"); err != nil {
		t.Fatal(err)
	}
	c.took, c.stats = time.Since(began), engine.Stats()
	slices.Sort(c.items)
	slices.Sort(c.outcomes)
	return &c
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for _, one := range want {
		if !slices.Contains(got, one) {
			t.Errorf("%s: %s is missing", what, one)
		}
	}
	for _, one := range got {
		if !slices.Contains(want, one) {
			t.Errorf("%s: %s is new", what, one)
		}
	}
	t.Errorf("%s: %d, want %d", what, len(got), len(want))
}

// sameCrawl fails unless a crawl has found what another one has.
func sameCrawl(t *testing.T, got, want *crawled) {
	t.Helper()
	same(t, "items", got.items, want.items)
	same(t, "outcomes", got.outcomes, want.outcomes)
}

// A crawl that was recorded runs again without a network, with the same items, links and outcomes, and without its delays.
func TestReplay(t *testing.T) {
	for _, ending := range []string{".gz", ".zst", ""} {
		t.Run("warc"+ending, func(t *testing.T) {
			site := demosite.MustStart()
			server := httptest.NewServer(corners())
			urls := []string{site.URL() + "/", server.URL + "/"}
			folder := t.TempDir()
			archive := create(t, filepath.Join(folder, "{spider}-{part}.warc"+ending), warc.Options{Size: 200_000, Memory: 10_000})
			live := crawl(t, urls, tegenaria.EngineWithDownloaderLayers(archive.Layer))
			site.Close()
			server.CloseClientConnections()
			server.Close()
			names, _ := filepath.Glob(filepath.Join(folder, "replayed-*.warc"+ending))
			if all, _ := os.ReadDir(folder); len(names) < 2 || len(all) != len(names) {
				t.Errorf("files: %v", all)
			}
			if ending != ".zst" {
				t.Log(check(t, names...))
			}
			replay, err := warc.Open(folder)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := replay.Skipped(); n > 0 {
				t.Errorf("%d records were skipped: %v", n, err)
			}
			t.Logf("live: %s, %d downloads", live.took, live.stats.RequestDownloaded)
			layer := []tegenaria.EngineOption{tegenaria.EngineWithDownloaderLayers(replay.Layer), tegenaria.EngineWithHTTPClient(noNetwork(t))}
			for _, opts := range [][]tegenaria.EngineOption{{tegenaria.EngineWithDownloader(replay)}, layer} {
				again := crawl(t, urls, opts...)
				sameCrawl(t, again, live)
				t.Logf("again: %s, %d downloads, %d answered, %d of robots.txt, %d items", again.took, again.stats.RequestDownloaded, again.stats.Answered, again.stats.RobotsRequests, len(again.items))
				if again.stats.RequestDownloaded > 3 || again.stats.RobotsRequests > 0 { // those whose bodies were cut
					t.Errorf("%d downloads, %d of robots.txt", again.stats.RequestDownloaded, again.stats.RobotsRequests)
				}
			}
		})
	}
}

// titleAt crawls one page of an archive, and returns its title.
func titleAt(t *testing.T, replay *warc.Replay, url string) (title string) {
	t.Helper()
	parse := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.Item(page.CSS("title").Text())
	})
	for one, err := range tegenaria.Crawl[string](t.Context(), tegenaria.NewSpider("title", parse, url), tegenaria.EngineWithDownloader(replay), tegenaria.EngineWithQuiet(),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true})) {
		if err != nil {
			t.Fatal(err)
		}
		title = one
	}
	return title
}

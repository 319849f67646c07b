package spiders_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/spidertest"
)

func TestMain(m *testing.M) { killtest.Main(m) }

// silent logs nothing.
var silent = tegenaria.EngineWithSlog(slog.New(slog.DiscardHandler))

// web answers for hosts, by URLs, and writes down what it was asked: the witness of a crawl.
type web struct {
	pages map[string]string // by URL; "301 URL" redirects, "5xx" is a status, "gzip …" is sent packed
	tags  string            // X-Robots-Tag of all answers
	mu    sync.Mutex        // guards log
	log   []string          // URLs in the order asked
}

func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	url := "http://" + r.Host + r.URL.RequestURI()
	w.mu.Lock()
	w.log = append(w.log, url)
	w.mu.Unlock()
	if r.URL.Path == "/robots.txt" { // all seeds are there when it has come
		_ = enginetest.Wait(r.Context(), time.Millisecond)
	}
	if w.tags != "" {
		rw.Header().Set("X-Robots-Tag", w.tags)
	}
	body, known := w.pages[url]
	if target, ok := strings.CutPrefix(body, "301 "); ok {
		http.Redirect(rw, r, target, http.StatusMovedPermanently)
		return
	}
	switch {
	case !known:
		http.NotFound(rw, r)
	case strings.HasPrefix(body, "gzip "):
		rw.Header().Set("Content-Encoding", "gzip")
		io.WriteString(rw, gz(body[len("gzip "):]))
	case body == "503":
		rw.WriteHeader(http.StatusServiceUnavailable)
	default:
		rw.Header().Set("Content-Type", "application/octet-stream")
		io.WriteString(rw, body)
	}
}

// asked returns the URLs asked so far but for the engine's own.
func (w *web) asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// paths returns the URLs of the pages asked, sorted, without scheme, those of sitemaps and robots.txt left out.
func (w *web) paths() string {
	var paths []string
	for _, url := range w.asked() {
		if !strings.Contains(url, "sitemap") && !strings.HasSuffix(url, "/robots.txt") {
			paths = append(paths, strings.TrimPrefix(url, "http://"))
		}
	}
	slices.Sort(paths)
	return strings.Join(paths, " ")
}

// crawl runs a spider in this web. The ledger must hold.
func crawl(t *testing.T, w *web, spider tegenaria.SpiderInterface, options ...tegenaria.EngineOption) tegenaria.Stats {
	t.Helper()
	network := spidertest.NewWeb(w)
	defer network.Close()
	return run(t, network.Client(), spider, options...)
}

func run(t testing.TB, client *http.Client, spider tegenaria.SpiderInterface, options ...tegenaria.EngineOption) tegenaria.Stats {
	t.Helper()
	all := []tegenaria.EngineOption{tegenaria.EngineWithSpiders(spider), silent, tegenaria.EngineWithEmptyOK()}
	if client != nil {
		all = append(all, tegenaria.EngineWithHTTPClient(client))
	}
	e := tegenaria.NewSpiderEngine(append(all, options...)...)
	if err := e.Run(t.Context(), spider.GetName()); err != nil {
		t.Fatalf("Run: %v", err)
	}
	s := e.Stats()
	if s.Discovered != s.Settled || s.Pending+s.Delayed+s.InFlight != 0 {
		t.Errorf("the ledger does not hold: %+v", s)
	}
	return s
}

// serve starts a server on loopback that answers with one body.
func serve(t testing.TB, handler http.HandlerFunc) *httptest.Server {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// seen is a parser that makes an item of each page: its path and depth.
var seen = tegenaria.Handle(func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
	return out.Item(fmt.Sprint(resp.URL, resp.Request().Depth))
})

// urlset makes a sitemap of URLs.
func urlset(urls ...string) string {
	var b strings.Builder
	b.WriteString("<urlset>")
	for _, url := range urls {
		fmt.Fprintf(&b, "<url><loc>%s</loc></url>", url)
	}
	return b.String() + "</urlset>"
}

// index makes a sitemap index of URLs.
func index(urls ...string) string {
	return strings.NewReplacer("urlset>", "sitemapindex>", "url>", "sitemap>").Replace(urlset(urls...))
}

func gz(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

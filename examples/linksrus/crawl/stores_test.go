package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/examples/linksrus/crawl"
	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/examples/linksrus/index"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) // the import of bleve starts workers that stay
}

// web is a Client without a network: what it answers by URL.
type web map[string]func(*http.Request) (*http.Response, error)

func (w web) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if answer := w[r.URL.String()]; answer != nil {
		return answer(r)
	}
	return respond(404, "text/html", "not here")(r)
}

func respond(status int, contentType, body string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Request: r,
			Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func htmlPage(body string) func(*http.Request) (*http.Response, error) {
	return respond(200, "text/html; charset=utf-8", body)
}

// stores are a graph and an index that can be looked at, and what was dropped.
type stores struct {
	graph *graph.Memory
	index *index.Memory

	mu      sync.Mutex // guards dropped
	dropped map[string]error
}

func newStores() *stores {
	return &stores{graph: graph.NewMemory(), index: index.NewMemory(), dropped: make(map[string]error)}
}

func (s *stores) config(c crawl.Client, trusted ...string) crawl.Config {
	return crawl.Config{Graph: s.graph, Indexer: s.index, Client: c, Guard: crawl.NewGuard(trusted...), Workers: 3,
		Dropped: func(url string, why error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.dropped[url] = errors.Join(s.dropped[url], why)
		}}
}

// links is an iterator over links with these URLs.
func links(urls ...string) iter.Seq2[*graph.Link, error] {
	return func(yield func(*graph.Link, error) bool) {
		for _, url := range urls {
			if !yield(&graph.Link{ID: graph.LinkID(url), URL: url}, nil) {
				return
			}
		}
	}
}

// add puts links into the graph.
func (s *stores) add(t *testing.T, urls ...string) {
	t.Helper()
	for _, url := range urls {
		if err := s.graph.UpsertLink(t.Context(), &graph.Link{URL: url}); err != nil {
			t.Fatal(err)
		}
	}
}

// urls returns the URLs of all links, sorted.
func (s *stores) urls(t *testing.T) []string {
	t.Helper()
	var urls []string
	for link, err := range s.graph.Links(t.Context(), graph.All, always) {
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, link.URL)
	}
	slices.Sort(urls)
	return urls
}

// edges returns all edges as "from → to", sorted.
func (s *stores) edges(t *testing.T) []string {
	t.Helper()
	name := func(id uuid.UUID) string {
		link, err := s.graph.Link(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return link.URL
	}
	var edges []string
	for edge, err := range s.graph.Edges(t.Context(), graph.All, always) {
		if err != nil {
			t.Fatal(err)
		}
		edges = append(edges, name(edge.Src)+" → "+name(edge.Dst))
	}
	slices.Sort(edges)
	return edges
}

// linked returns what a page has edges to, sorted.
func (s *stores) linked(t *testing.T, url string) []string {
	t.Helper()
	found := []string{}
	for _, edge := range s.edges(t) {
		if to, ok := strings.CutPrefix(edge, url+" → "); ok {
			found = append(found, to)
		}
	}
	return found
}

func (s *stores) document(t *testing.T, url string) *index.Document {
	t.Helper()
	doc, err := s.index.FindByID(t.Context(), graph.LinkID(url))
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return doc
}

var always = time.Now().Add(1000 * time.Hour)

// read sends one page through the pipeline.
func read(t *testing.T, url, body string) *stores {
	t.Helper()
	s := newStores()
	report, err := crawl.NewPipeline(s.config(web{url: htmlPage(body)})).Crawl(t.Context(), links(url))
	if err != nil || report.Pages != 1 || report.Dropped != 0 {
		t.Fatalf("%s: %+v, %v, %v", url, report, err, s.dropped)
	}
	return s
}

// serve serves pages on a loopback port of their own.
func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// crawlers are both crawlers over the same stores.
func (s *stores) crawlers(trusted ...string) map[string]passer {
	config := s.config(nil, trusted...)
	return map[string]passer{"pipeline": crawl.NewPipeline(config), "spider": crawl.NewSpider(config, quiet())}
}

type passer interface {
	Pass(ctx context.Context, w crawl.Work) (crawl.Report, error)
}

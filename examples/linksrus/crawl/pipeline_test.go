package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tegenaria/tegenaria/examples/linksrus/crawl"
	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/examples/linksrus/index"
)

// recorder writes down what a crawler does to the graph.
type recorder struct {
	*graph.Memory
	calls []string
}

func (r *recorder) UpsertLink(ctx context.Context, link *graph.Link) error {
	retrieved := ""
	if !link.RetrievedAt.IsZero() {
		retrieved = " retrieved"
	}
	r.calls = append(r.calls, "link "+link.URL+retrieved)
	return r.Memory.UpsertLink(ctx, link)
}

func (r *recorder) UpsertEdge(ctx context.Context, edge *graph.Edge) error {
	dst, err := r.Link(ctx, edge.Dst)
	if err != nil {
		return err
	}
	r.calls = append(r.calls, "edge to "+dst.URL)
	return r.Memory.UpsertEdge(ctx, edge)
}

func (r *recorder) RemoveStaleEdges(ctx context.Context, src uuid.UUID, before time.Time) error {
	link, err := r.Link(ctx, src)
	if err != nil {
		return err
	}
	r.calls = append(r.calls, "remove stale edges of "+link.URL)
	return r.Memory.RemoveStaleEdges(ctx, src, before)
}

func TestOrderOfGraphCalls(t *testing.T) {
	s := newStores()
	config := s.config(web{"http://a/": htmlPage(`<a href=/1><a href=/2 rel=nofollow><a href=/3>`)})
	r := &recorder{Memory: s.graph}
	config.Graph = r
	if _, err := crawl.NewPipeline(config).Crawl(t.Context(), links("http://a/")); err != nil {
		t.Fatal(err)
	}
	want := []string{"link http://a/ retrieved", "link http://a/2",
		"link http://a/1", "edge to http://a/1", "link http://a/3", "edge to http://a/3", "remove stale edges of http://a/"}
	if !slices.Equal(r.calls, want) {
		t.Errorf("got  %q\nwant %q", r.calls, want)
	}
}

// The seed's example: at t0 the page links to foo.com and bar.com, at t1 to bar.com and baz.com. Both passes come
// within one tick of a clock that stands still (the original compared its own clock with the store's).
func TestStaleEdges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const page = "https://example.com/"
		s := newStores()
		w := web{page: htmlPage(`<a href="http://foo.com"><a href="https://bar.com">`)}
		p := crawl.NewPipeline(s.config(w))
		for _, pass := range []struct {
			body string
			want []string
		}{
			{`<a href="http://foo.com"><a href="https://bar.com">`, []string{"http://foo.com/", "https://bar.com/"}},
			{`<a href="https://bar.com"><a href="https://baz.com">`, []string{"https://bar.com/", "https://baz.com/"}},
			{``, []string{}},
		} {
			w[page] = htmlPage(pass.body)
			slices.Sort(pass.want)
			if _, err := p.Crawl(t.Context(), links(page)); err != nil {
				t.Fatal(err)
			}
			if got := s.linked(t, page); !slices.Equal(got, pass.want) {
				t.Errorf("%s: edges to %q, want %q", pass.body, got, pass.want)
			}
		}
		if got := len(s.urls(t)); got != 4 {
			t.Errorf("%d links, want 4: they stay", got)
		}
	})
}

// A page that is wrong costs that page (in the original one truncated body ended a crawl of 100).
func TestWrongPages(t *testing.T) {
	const good = 40
	w := web{
		"http://a/refused":   func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
		"http://a/truncated": func(r *http.Request) (*http.Response, error) { return brokenBody(r, io.ErrUnexpectedEOF), nil },
		"http://a/500":       respond(500, "text/html", "<a href=/x>"),
		"http://a/304":       respond(304, "text/html", ""),
		"http://a/json":      respond(200, "application/json", "{}"),
		"http://a/none":      respond(200, "", "<p>"),
		"http://a/large":     htmlPage(strings.Repeat("x", 1001)),
		"http://a/xhtml":     respond(203, "Application/XHTML+xml", "<p>fine</p>"),
		"http://a/full":      htmlPage(strings.Repeat("x", 1000)),
	}
	urls := []string{"http://10.0.0.1/", "http://a/404", "http://a/picture.PNG?x", "http://a/%zz", "ftp://a/"}
	for url := range w {
		urls = append(urls, url)
	}
	for i := range good {
		url := fmt.Sprintf("http://a/%d.html", i)
		w[url] = htmlPage("fine")
		urls = append(urls, url)
	}
	s := newStores()
	config := s.config(w)
	config.MaxBody = 1000
	report, err := crawl.NewPipeline(config).Crawl(t.Context(), links(urls...))
	if err != nil || report.Pages != good+2 || report.Dropped != len(urls)-good-2 {
		t.Errorf("%+v, %v, want %d pages of %d", report, err, good+2, len(urls))
	}
	for url, want := range map[string]string{
		"http://a/refused": "connection refused", "http://a/truncated": "unexpected EOF", "http://a/500": "not a page",
		"http://a/304": "not a page", "http://a/json": "application/json", "http://a/none": "not a page",
		"http://a/large": "too large", "http://10.0.0.1/": "private address", "http://a/404": "404",
		"http://a/picture.PNG?x": "not a page", "http://a/%zz": "404", "ftp://a/": "another scheme",
	} {
		if got := fmt.Sprint(s.dropped[url]); !strings.Contains(got, want) {
			t.Errorf("%s was dropped because of %q, want %q", url, got, want)
		}
	}
	if len(s.dropped) != report.Dropped {
		t.Errorf("%d dead letters, want %d", len(s.dropped), report.Dropped)
	}
	if got := len(s.urls(t)); got != good+2 {
		t.Errorf("%d links in the graph, want %d", got, good+2)
	}
}

// brokenBody is a response whose body ends with an error.
func brokenBody(r *http.Request, err error) *http.Response {
	resp, _ := htmlPage("")(r)
	resp.Body = &body{read: func([]byte) (int, error) { return 0, err }}
	return resp
}

// body counts how often it was read and closed.
type body struct {
	read          func([]byte) (int, error)
	reads, closed int
}

func (b *body) Read(p []byte) (int, error) { b.reads++; return b.read(p) }
func (b *body) Close() error               { b.closed++; return nil }

// The type is known before the body, which is not read then, and closed in any case.
func TestBodies(t *testing.T) {
	bodies := make(map[string]*body)
	w := make(web)
	for _, c := range []struct {
		url, contentType string
		status           int
	}{{"http://a/page", "text/html", 200}, {"http://a/film", "video/mp4", 200}, {"http://a/500", "text/html", 500}} {
		b := &body{read: func([]byte) (int, error) { return 0, io.EOF }}
		bodies[c.url] = b
		w[c.url] = func(r *http.Request) (*http.Response, error) {
			resp, err := respond(c.status, c.contentType, "")(r)
			resp.Body = b
			return resp, err
		}
	}
	s := newStores()
	if _, err := crawl.NewPipeline(s.config(w)).Crawl(t.Context(), links("http://a/page", "http://a/film", "http://a/500")); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]int{"http://a/page": 1, "http://a/film": 0, "http://a/500": 0} {
		if b := bodies[url]; b.reads != want || b.closed != 1 {
			t.Errorf("%s: %d reads, closed %d times", url, b.reads, b.closed)
		}
	}
}

// A server that says nothing, or never stops, is left after the timeout.
func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := web{
			"http://a/mute": func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			},
			"http://a/slow": func(r *http.Request) (*http.Response, error) {
				resp, err := htmlPage("")(r)
				resp.Body = &body{read: func(p []byte) (int, error) {
					timer := time.NewTimer(time.Second)
					defer timer.Stop()
					select {
					case <-timer.C:
						return copy(p, "x"), nil
					case <-r.Context().Done():
						return 0, r.Context().Err()
					}
				}}
				return resp, err
			},
			"http://a/good": htmlPage("good"),
		}
		s := newStores()
		config := s.config(w)
		config.Timeout = 5 * time.Second
		start := time.Now()
		report, err := crawl.NewPipeline(config).Crawl(t.Context(), links("http://a/mute", "http://a/slow", "http://a/good"))
		if took := time.Since(start); err != nil || took != 5*time.Second || report.Pages != 1 || report.Dropped != 2 {
			t.Errorf("%+v, %v after %v", report, err, took)
		}
		// The time in the pipeline: two pages took 5 s each, one none.
		if report.Longest != 5*time.Second || report.Total != 10*time.Second || report.Mean() != 10*time.Second/3 {
			t.Errorf("the report is %+v", report)
		}
		if !errors.Is(s.dropped["http://a/slow"], context.DeadlineExceeded) {
			t.Errorf("dropped because of %v", s.dropped["http://a/slow"])
		}
	})
}

// A crawl that is cancelled ends at once with the cause, leaves no goroutine, whichever stage it is in, and
// settles every page that it has taken.
func TestCancel(t *testing.T) {
	cause := errors.New("enough")
	for _, where := range []string{"source", "fetch", "graph", "index"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				s := newStores()
				wait := func(ctx context.Context, here string) {
					if here == where {
						<-ctx.Done()
					}
				}
				config := s.config(clientFunc(func(r *http.Request) (*http.Response, error) {
					wait(r.Context(), "fetch")
					return web{r.URL.String(): htmlPage("text")}.Do(r)
				}))
				config.Graph = &slowGraph{s.graph, func(ctx context.Context) { wait(ctx, "graph") }}
				config.Indexer = indexFunc(func(ctx context.Context, doc *index.Document) error {
					wait(ctx, "index")
					return s.index.Index(ctx, doc)
				})
				pulled := 0
				source := func(yield func(*graph.Link, error) bool) {
					for i := 0; ; i++ {
						if i == 20 {
							wait(ctx, "source")
						}
						if ctx.Err() != nil {
							return
						}
						pulled++
						if !yield(&graph.Link{URL: fmt.Sprintf("http://a/%d", i)}, nil) {
							return
						}
					}
				}
				time.AfterFunc(200*time.Millisecond, func() { cancel(cause) })
				start := time.Now()
				if where == "source" {
					// The others would be done in no time.
					config.Client = web{}
				}
				report, err := crawl.NewPipeline(config).Crawl(ctx, source)
				if took := time.Since(start); !errors.Is(err, cause) || took != 200*time.Millisecond {
					t.Errorf("%v after %v", err, took)
				}
				if report.Pages+report.Dropped != pulled || pulled == 0 {
					t.Errorf("%+v of %d pages", report, pulled)
				}
			})
		})
	}
}

type clientFunc func(*http.Request) (*http.Response, error)

func (f clientFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

type indexFunc func(context.Context, *index.Document) error

func (f indexFunc) Index(ctx context.Context, doc *index.Document) error { return f(ctx, doc) }

// slowGraph does something before it adds links.
type slowGraph struct {
	*graph.Memory
	before func(context.Context)
}

func (g *slowGraph) UpsertLink(ctx context.Context, link *graph.Link) error {
	g.before(ctx)
	return g.Memory.UpsertLink(ctx, link)
}

// An error of a store is no page's fault: it ends the crawl, and every page that was taken is settled once.
func TestStoreErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	var many []string
	w := make(web)
	for i := range 50 {
		many = append(many, fmt.Sprintf("http://a/%d", i))
		w[many[i]] = htmlPage("text")
	}
	for _, where := range []string{"graph", "index", "source"} {
		t.Run(where, func(t *testing.T) {
			s := newStores()
			config := s.config(w)
			if where == "graph" {
				config.Graph = brokenGraph{s.graph, broken}
			}
			config.Indexer = indexFunc(func(_ context.Context, doc *index.Document) error {
				if where == "index" && strings.HasSuffix(doc.URL, "9") {
					return broken
				}
				return nil
			})
			pulled := 0
			report, err := crawl.NewPipeline(config).Crawl(t.Context(), func(yield func(*graph.Link, error) bool) {
				for link := range links(many...) {
					if where == "source" && pulled == 10 {
						yield(nil, broken)
						return
					}
					pulled++
					if !yield(link, nil) {
						return
					}
				}
			})
			if !errors.Is(err, broken) || report.Pages+report.Dropped != pulled || where != "source" && report.Dropped == 0 {
				t.Errorf("%+v of %d pages, %v", report, pulled, err)
			}
		})
	}
}

type brokenGraph struct {
	*graph.Memory
	err error
}

func (g brokenGraph) RemoveStaleEdges(context.Context, uuid.UUID, time.Time) error { return g.err }

// One Pipeline crawls several sources at the same time, with what belongs to each.
func TestConcurrentCrawls(t *testing.T) {
	s := newStores()
	w := make(web)
	const crawls, each = 4, 25
	for i := range crawls * each {
		w[fmt.Sprintf("http://a/%d", i)] = htmlPage(fmt.Sprintf(`<title>title%d</title><p>text%d</p><a href="/next%d">`, i, i, i))
	}
	p := crawl.NewPipeline(s.config(w))
	var workers sync.WaitGroup
	for c := range crawls {
		workers.Go(func() {
			var urls []string
			for i := range each {
				urls = append(urls, fmt.Sprintf("http://a/%d", c*each+i))
			}
			// Each crawl has one page more than the one before.
			report, err := p.Crawl(t.Context(), links(append(urls, urls[:c]...)...))
			if err != nil || report.Pages != each+c || report.Dropped != 0 {
				t.Errorf("crawl %d: %+v, %v", c, report, err)
			}
		})
	}
	workers.Wait()
	for i := range crawls * each {
		url := fmt.Sprintf("http://a/%d", i)
		doc := s.document(t, url)
		if want := fmt.Sprintf("text%d", i); doc.Title != fmt.Sprintf("title%d", i) || doc.Content != want {
			t.Errorf("%s: %+v", url, doc)
		}
	}
	if got := s.edges(t); len(got) != crawls*each {
		t.Errorf("%d edges", len(got))
	}
}

func TestMissingStores(t *testing.T) {
	for name, config := range map[string]crawl.Config{"graph": {Indexer: index.NewMemory()}, "indexer": {Graph: graph.NewMemory()}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic without %s", name)
				}
			}()
			crawl.NewPipeline(config)
		}()
	}
}

package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/examples/linksrus/crawl"
	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/examples/linksrus/index"
)

// The seed's end to end: two servers, whose pages link to each other and to a third place.
func TestTwoServers(t *testing.T) {
	for _, way := range []string{"pipeline", "spider"} {
		t.Run(way, func(t *testing.T) {
			var second string
			first := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/":
					fmt.Fprintf(w, `<title>First</title><p>home of one</p><a href="/about">about</a><a href="%s/">two</a><a href="https://elsewhere.example/" rel=nofollow>x</a>`, second)
				case "/about":
					fmt.Fprint(w, "<title>About</title><p>all about</p><p>one</p>")
				default:
					http.NotFound(w, r)
				}
			})
			other := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					fmt.Fprintf(w, `<title>Second</title><a href="%s/about">about one</a><a href="missing">?</a>`, first.URL)
					return
				}
				http.NotFound(w, r)
			})
			second = other.URL
			s := newStores()
			s.add(t, first.URL+"/", second+"/")
			report, err := s.crawlers(first.URL, second)[way].Pass(t.Context(), crawl.Work{From: s.graph, Scope: crawl.NewScope(first.URL, second)})
			if err != nil || report.Pages != 3 || report.Dropped != 1 || report.Total < report.Longest || report.Longest <= 0 {
				t.Errorf("%+v, %v, %v", report, err, s.dropped)
			}
			name := strings.NewReplacer(first.URL, "one:", second, "two:")
			var links []string
			for _, url := range s.urls(t) {
				links = append(links, name.Replace(url))
			}
			slices.Sort(links)
			if want := []string{"https://elsewhere.example/", "one:/", "one:/about", "two:/", "two:/missing"}; !slices.Equal(links, want) {
				t.Errorf("links %q, want %q", links, want)
			}
			var edges []string
			for _, edge := range s.edges(t) {
				edges = append(edges, name.Replace(edge))
			}
			slices.Sort(edges)
			if want := []string{"one:/ → one:/about", "one:/ → two:/", "two:/ → one:/about", "two:/ → two:/missing"}; !slices.Equal(edges, want) {
				t.Errorf("edges %q, want %q", edges, want)
			}
			found, err := s.index.Search(t.Context(), index.ParseQuery(`"about one"`))
			if err != nil || found.Total != 2 {
				t.Errorf("found %+v, %v", found, err)
			}
			if doc := s.document(t, first.URL+"/about"); doc.Title != "About" || doc.Content != "all about one" {
				t.Errorf("got %+v", doc)
			}
		})
	}
}

// Both ways make the same graph and the same index of a site, also when it has changed, and ask for each page once.
func TestBothWays(t *testing.T) {
	var version atomic.Int32
	var asked atomic.Int32
	site := func() http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			var n int
			switch _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); {
			case r.URL.Path == "/robots.txt":
				asked.Add(-1)
				http.NotFound(w, r)
			case r.URL.Path == "/old":
				http.Redirect(w, r, "/7#part", http.StatusMovedPermanently)
			case err != nil || n >= 40:
				http.NotFound(w, r)
			case n == 13:
				w.Header().Set("Content-Type", "text/plain")
				fmt.Fprint(w, "<a href=/1>no link</a>")
			default:
				v := int(version.Load())
				fmt.Fprintf(w, `<!doctype html><title>Page %d</title><p>version %d</p>`, n, v)
				for i := range 6 {
					fmt.Fprintf(w, `<a href="%d">next</a>`, (n*7+i*i+v)%42)
				}
				fmt.Fprintf(w, `<a href="/old">old</a><a rel=nofollow href="/%d">x</a><a href="http://10.0.0.1/">private</a>`, (n+11)%40)
			}
		}
	}
	type view struct {
		links, edges, texts []string
		asked               int32
	}
	views := make(map[string][]view)
	for _, way := range []string{"pipeline", "spider"} {
		server := serve(t, site())
		s := newStores()
		s.add(t, server.URL+"/0")
		crawler := s.crawlers(server.URL)[way]
		for v := range int32(2) {
			version.Store(v)
			asked.Store(0)
			if _, err := crawler.Pass(t.Context(), crawl.Work{From: s.graph, Scope: crawl.NewScope(server.URL)}); err != nil {
				t.Fatalf("%s: %v", way, err)
			}
			cut := func(list []string) []string {
				for i := range list {
					list[i] = strings.ReplaceAll(list[i], server.URL, "")
				}
				return list
			}
			now := view{links: cut(s.urls(t)), edges: cut(s.edges(t)), asked: asked.Load()}
			for link, err := range s.graph.Links(t.Context(), graph.All, always) {
				if err != nil {
					t.Fatal(err)
				}
				if doc, err := s.index.FindByID(t.Context(), link.ID); err == nil {
					now.texts = append(now.texts, doc.Title+": "+doc.Content)
				}
			}
			slices.Sort(now.texts)
			views[way] = append(views[way], now)
		}
	}
	for v := range 2 {
		a, b := views["pipeline"][v], views["spider"][v]
		if !slices.Equal(a.links, b.links) || !slices.Equal(a.edges, b.edges) || !slices.Equal(a.texts, b.texts) {
			t.Errorf("version %d: the pipeline has\n%q\nthe spider\n%q", v, a, b)
		}
		if len(a.texts) < 20 || len(a.edges) < 100 {
			t.Errorf("version %d: %d pages and %d edges", v, len(a.texts), len(a.edges))
		}
		// The pipeline asks for the target of a redirect once more if it has that page already.
		if a.asked != b.asked && a.asked != b.asked+1 {
			t.Errorf("version %d: the pipeline asked %d times, the spider %d times", v, a.asked, b.asked)
		}
	}
	if slices.Equal(views["spider"][0].edges, views["spider"][1].edges) {
		t.Error("the second pass has changed nothing")
	}
}

// What is in the graph is no seed that may be trusted: whoever submits a link to a private address gets nothing
// from there, by whatever name, and by no redirect.
func TestPrivateAddresses(t *testing.T) {
	for _, way := range []string{"pipeline", "spider"} {
		t.Run(way, func(t *testing.T) {
			var visits atomic.Int32
			secret := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				visits.Add(1)
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<title>secret</title>")
			})
			port := secret.URL[strings.LastIndex(secret.URL, ":"):]
			public := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/":
					fmt.Fprintf(w, `<title>home</title><a href="/redirect"><a href="%s/linked">`, secret.URL)
				case "/redirect":
					http.Redirect(w, r, secret.URL+"/redirected", http.StatusFound)
				default:
					http.NotFound(w, r)
				}
			})
			s := newStores()
			s.add(t, public.URL+"/")
			for _, url := range []string{secret.URL + "/", "http://localhost" + port + "/", "http://[::1]" + port + "/",
				"http://a.localhost" + port + "/", "http://0.0.0.0" + port + "/", "http://[::ffff:127.0.0.1]" + port + "/"} {
				normal, err := crawl.Normalize(url)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.graph.UpsertLink(t.Context(), &graph.Link{URL: normal, Submitted: true}); err != nil {
					t.Fatal(err)
				}
			}
			// Even with all hosts in scope.
			report, err := s.crawlers(public.URL)[way].Pass(t.Context(), crawl.Work{From: s.graph, Scope: everything(t, s)})
			if err != nil || report.Pages != 1 {
				t.Errorf("%+v, %v", report, err)
			}
			if n := visits.Load(); n != 0 {
				t.Errorf("the private server was visited %d times", n)
			}
		})
	}
}

// everything is the scope of all hosts in the graph.
func everything(t *testing.T, s *stores) crawl.Scope { return crawl.NewScope(s.urls(t)...) }

// A name is judged by the address that is dialled for it.
func TestDialledAddress(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { t.Error("the server was visited") })
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	// localhost stands for a name that has a private address; Permits is not asked here.
	_, err := crawl.NewGuard().DialContext(t.Context(), "tcp", "localhost"+port)
	var private *crawl.PrivateAddressError
	if !errors.As(err, &private) || !private.Addr.IsLoopback() || private.Host != "localhost"+port {
		t.Errorf("got %v", err)
	}
	conn, err := crawl.NewGuard(server.URL).DialContext(t.Context(), "tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// A pass crawls what is in scope, and single pages that were submitted, with their redirects.
func TestScope(t *testing.T) {
	for _, way := range []string{"pipeline", "spider"} {
		t.Run(way, func(t *testing.T) {
			// localhost and 127.0.0.1 are two hosts on one server.
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				other := "http://localhost" + strings.TrimPrefix(r.Host, "127.0.0.1")
				switch r.URL.Path {
				case "/robots.txt":
					http.NotFound(w, r)
				case "/moved":
					http.Redirect(w, r, "/target", http.StatusFound)
				case "/out":
					http.Redirect(w, r, other+"/unasked", http.StatusFound)
				default:
					fmt.Fprintf(w, `<title>%s</title><a href="/next"><a href="/out"><a href="%s/far"><a href="%s/moved">`, r.URL.Path, other, other)
				}
			})
			other := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
			s := newStores()
			s.add(t, server.URL+"/", other+"/not-submitted")
			for _, path := range []string{"/alone", "/moved"} {
				if err := s.graph.UpsertLink(t.Context(), &graph.Link{URL: other + path, Submitted: true}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.crawlers(server.URL, other)[way].Pass(t.Context(), crawl.Work{From: s.graph, Scope: crawl.NewScope(server.URL)}); err != nil {
				t.Fatal(err)
			}
			got := make(map[string]bool)
			for link, err := range s.graph.Links(t.Context(), graph.All, always) {
				if err != nil {
					t.Fatal(err)
				}
				if !link.RetrievedAt.IsZero() {
					got[strings.NewReplacer(server.URL, "in:", other, "out:").Replace(link.URL)] = true
				}
			}
			if want := []string{"in:/", "in:/next", "out:/alone", "out:/target"}; !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
				t.Errorf("crawled %q, want %q", slices.Sorted(maps.Keys(got)), want)
			}
		})
	}
}

// A cancelled pass returns the cause and leaves nothing behind, whichever way it goes.
func TestCancelPass(t *testing.T) {
	for _, way := range []string{"pipeline", "spider"} {
		t.Run(way, func(t *testing.T) {
			reached := make(chan struct{}, 100)
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					http.NotFound(w, r)
					return
				}
				reached <- struct{}{}
				<-r.Context().Done()
			})
			s := newStores()
			s.add(t, server.URL+"/")
			ctx, cancel := context.WithCancelCause(t.Context())
			cause := errors.New("enough")
			go func() {
				<-reached
				cancel(cause)
			}()
			_, err := s.crawlers(server.URL)[way].Pass(ctx, crawl.Work{From: s.graph, Scope: crawl.NewScope(server.URL)})
			if !errors.Is(err, cause) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// An error of a store ends a pass.
func TestBrokenStores(t *testing.T) {
	broken := errors.New("disk on fire")
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `<title>x</title><a href="/1"><a href="/2">`)
	})
	for _, way := range []string{"pipeline", "spider"} {
		for _, what := range []string{"graph", "index", "links"} {
			t.Run(way+"/"+what, func(t *testing.T) {
				s := newStores()
				s.add(t, server.URL+"/")
				config := s.config(nil, server.URL)
				var from crawl.Frontier = s.graph
				switch what {
				case "graph":
					config.Graph = brokenGraph{s.graph, broken}
				case "index":
					config.Indexer = indexFunc(func(context.Context, *index.Document) error { return broken })
				case "links":
					from = brokenLinks{s.graph, broken}
				}
				var crawler passer = crawl.NewPipeline(config)
				if way == "spider" {
					crawler = crawl.NewSpider(config, quiet())
				}
				report, err := crawler.Pass(t.Context(), crawl.Work{From: from, Scope: crawl.NewScope(server.URL)})
				if !errors.Is(err, broken) || report.Pages != 0 {
					t.Errorf("%+v, %v", report, err)
				}
			})
		}
	}
}

type brokenLinks struct {
	crawl.Frontier
	err error
}

func (b brokenLinks) Links(context.Context, graph.Range, time.Time) iter.Seq2[*graph.Link, error] {
	return func(yield func(*graph.Link, error) bool) { yield(nil, b.err) }
}

// A pass for what is new leaves alone what was fetched before, also where new pages link to it.
func TestNewOnly(t *testing.T) {
	for _, way := range []string{"pipeline", "spider"} {
		t.Run(way, func(t *testing.T) {
			var mu sync.Mutex // guards asked
			var asked []string
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				switch r.URL.Path {
				case "/robots.txt":
					http.NotFound(w, r)
					return
				case "/new":
					fmt.Fprint(w, `<a href="/old"><a href="/newer">`)
				case "/newer":
					fmt.Fprint(w, `<a href="/old"><a href="/new">`)
				default:
					fmt.Fprint(w, `<a href="/old"><a href="/other">`)
				}
				asked = append(asked, r.URL.Path)
			})
			s := newStores()
			s.add(t, server.URL+"/old")
			crawler := s.crawlers(server.URL)[way]
			work := crawl.Work{From: s.graph, Scope: crawl.NewScope(server.URL)}
			if _, err := crawler.Pass(t.Context(), work); err != nil {
				t.Fatal(err)
			}
			asked = nil
			s.add(t, server.URL+"/new")
			work.NewOnly = true
			report, err := crawler.Pass(t.Context(), work)
			if slices.Sort(asked); err != nil || report.Pages != 2 || !slices.Equal(asked, []string{"/new", "/newer"}) {
				t.Errorf("%+v, %v, asked for %q", report, err, asked)
			}
			if report, err := crawler.Pass(t.Context(), work); err != nil || report.Pages != 0 {
				t.Errorf("nothing is new: %+v, %v", report, err)
			}
		})
	}
}

// The pipeline's own client keeps no connection when a crawl is over.
func TestConnectionsEnd(t *testing.T) {
	closed := make(chan struct{}, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<p>text") }))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.Start()
	defer server.Close()
	s := newStores()
	report, err := crawl.NewPipeline(s.config(nil, server.URL)).Crawl(t.Context(), links(server.URL+"/"))
	if err != nil || report.Pages != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	<-closed
}

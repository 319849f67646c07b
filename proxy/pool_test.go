package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A site logs who asks for what. Who does not come from the address of a proxy asks directly.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	pages  map[string]int // answers with status 200, by path
	asked  map[string]int // requests, by address
	banned map[string]bool

	refused chan struct{} // one for each request of a banned address
}

// newSite starts a site with so many pages, all of which the first one links to.
func newSite(t *testing.T, pages int) *site {
	s := &site{pages: make(map[string]int), asked: make(map[string]int), banned: make(map[string]bool), refused: make(chan struct{}, 1000)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _, _ := net.SplitHostPort(r.RemoteAddr)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked[from]++
		switch {
		case s.banned[from]:
			s.refused <- struct{}{}
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/robots.txt":
			io.WriteString(w, "User-agent: *\nDisallow: /private/\n")
		default:
			s.pages[r.URL.Path]++
			w.Header().Set("Content-Type", "text/html")
			if r.URL.Path != "/" {
				return
			}
			fmt.Fprint(w, `<a href="/private/x">private</a>`)
			for i := range pages {
				fmt.Fprintf(w, `<a href="/%d">%d</a>`, i, i)
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// check fails unless each page was answered once, no request came directly, and none below a path that robots.txt forbids.
func (s *site) check(t *testing.T, pages int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pages) != pages+1 {
		t.Errorf("%d pages were asked for, want %d", len(s.pages), pages+1)
	}
	for path, n := range s.pages {
		if n != 1 || strings.HasPrefix(path, "/private") {
			t.Errorf("%s was answered %d times", path, n)
		}
	}
	if n := s.asked["127.0.0.1"]; n > 0 {
		t.Errorf("%d requests came directly", n)
	}
}

// A server is an HTTP proxy whose requests come from 127.0.0.number.
type server struct {
	*httptest.Server
	from    string
	asked   atomic.Int64
	forward *http.Transport
	behave  func(w http.ResponseWriter, r *http.Request) bool // nil: as it should; it may answer a request, and then returns true
}

// newServer starts a proxy.
func newServer(t *testing.T, number int, behave func(w http.ResponseWriter, r *http.Request) bool) *server {
	s := &server{from: fmt.Sprint("127.0.0.", number), behave: behave}
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(s.from)}}
	s.forward = &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		if s.behave != nil && s.behave(w, r) {
			return
		}
		if r.Method == http.MethodConnect {
			s.tunnel(w, r, dialer)
			return
		}
		out := r.Clone(r.Context())
		out.RequestURI = ""
		resp, err := s.forward.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		io.Copy(w, resp.Body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) tunnel(w http.ResponseWriter, r *http.Request, dialer *net.Dialer) {
	to, err := dialer.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		to.Close()
		return
	}
	io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	var both sync.WaitGroup
	both.Go(func() { io.Copy(to, conn); to.Close() })
	both.Go(func() { io.Copy(conn, to); conn.Close() })
	both.Wait()
}

// What bad proxies do.
func cut(w http.ResponseWriter, _ *http.Request) bool {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
	return true
}

func wantsCredentials(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("Proxy-Authenticate", "Basic")
	w.WriteHeader(http.StatusProxyAuthRequired)
	return true
}

// crawl crawls a site with a pool, and returns the engine.
func crawl(t *testing.T, pool *proxy.Pool, url string, opts ...tegenaria.EngineOption) (*tegenaria.SpiderEngine, error) {
	t.Helper()
	e, done := start(t, pool, url, opts...)
	return e, <-done
}

// Through good and bad proxies each page is fetched once, none directly, and none that robots.txt forbids; a request whose proxy fails
// keeps its attempts.
func TestPool(t *testing.T) {
	const pages = 300
	for name, choose := range map[string]proxy.Choice{
		"fastest": proxy.Fastest, "in turn": proxy.InTurn, "least used": proxy.LeastUsed, "sticky": proxy.StickyHost,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, pages)
			good, better := newServer(t, 11, nil), newServer(t, 12, nil)
			cuts, asks := newServer(t, 13, cut), newServer(t, 14, wantsCredentials)
			dead := newServer(t, 15, nil)
			dead.Close()
			pool := proxy.NewPool(proxy.List(good.URL, cuts.URL, better.URL, asks.URL, dead.URL, good.URL), proxy.Options{Choose: choose})
			e, err := crawl(t, pool, s.URL, tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 1}))
			if err != nil {
				t.Fatal(err)
			}
			s.check(t, pages)
			st := e.Stats()
			if st.Outcomes[tegenaria.Fetched] != pages+1 || st.Outcomes[tegenaria.Robots] != 1 || st.Retries != 0 {
				t.Errorf("stats: %v, %d retries", st.Outcomes, st.Retries)
			}
			if bad := cuts.asked.Load() + asks.asked.Load(); bad > (pages+2)/20 {
				t.Errorf("bad proxies have had %d of %d requests", bad, pages+2)
			}
			responses, bytes := int64(0), int64(0)
			for _, p := range st.Proxies {
				responses, bytes = responses+p.Responses, bytes+p.Bytes
			}
			if pool.Len() != 5 || responses < pages+2 || bytes == 0 {
				t.Errorf("%d proxies: %+v", pool.Len(), st.Proxies)
			}
		})
	}
}

// A site that bans one proxy is crawled through the others, robots.txt too, which the ban would make look as if there were none.
func TestBan(t *testing.T) {
	const pages = 100
	for _, where := range []string{"by status", "by text", "by redirect"} {
		t.Run(where, func(t *testing.T) {
			s := newSite(t, pages)
			ban := func(w http.ResponseWriter, r *http.Request) bool {
				switch where {
				case "by status":
					w.WriteHeader(http.StatusForbidden)
				case "by text":
					io.WriteString(w, "<html><body>Are You a ROBOT?</body></html>")
				default:
					http.Redirect(w, r, "/challenge", http.StatusFound)
				}
				return true
			}
			good, banned, too := newServer(t, 11, nil), newServer(t, 12, ban), newServer(t, 13, ban)
			pool := proxy.NewPool(proxy.List(banned.URL, good.URL, too.URL), proxy.Options{Choose: proxy.InTurn})
			blocks := middleware.NewBlocks(middleware.BlockRules{Status: []int{403}, Text: []string{"are you a robot"}, Redirect: []string{"/challenge"}})
			e, err := crawl(t, pool, s.URL, tegenaria.EngineWithMiddlewares(blocks))
			if err != nil {
				t.Fatal(err)
			}
			s.check(t, pages)
			st := e.Stats()
			bad := banned.asked.Load() + too.asked.Load()
			if st.Blocked != bad || bad == 0 || bad > (pages+2)/20+3 || st.Outcomes[tegenaria.Fetched] != pages+1 || st.Outcomes[tegenaria.Robots] != 1 {
				t.Errorf("%d blocked of %d requests by banned proxies; %v", st.Blocked, bad, st.Outcomes)
			}
		})
	}
}

// A site that bans them all is not crawled below what its robots.txt forbids: nothing of it is.
func TestAllBanned(t *testing.T) {
	s := newSite(t, 10)
	s.banned["127.0.0.11"], s.banned["127.0.0.12"] = true, true
	one, other := newServer(t, 11, nil), newServer(t, 12, nil)
	for _, none := range []bool{false, true} {
		pool := proxy.NewPool(proxy.List(one.URL, other.URL), proxy.Options{Robots: none})
		blocks := middleware.NewBlocks(middleware.BlockRules{Status: []int{403}, Robots: none})
		engine, done := start(t, pool, s.URL, tegenaria.EngineWithMiddlewares(blocks), tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 2}))
		<-s.refused // both proxies have been
		<-s.refused
		if !none {
			stop(t, engine, done)
		} else if err := <-done; err != nil {
			t.Error(err)
		}
		if len(s.pages) > 0 || s.asked["127.0.0.1"] > 0 {
			t.Errorf("pages: %v, asked by %v", s.pages, s.asked)
		}
	}
}

// start is crawl in the background.
func start(t *testing.T, pool *proxy.Pool, url string, opts ...tegenaria.EngineOption) (e *tegenaria.SpiderEngine, done chan error) {
	t.Helper()
	spider := tegenaria.NewSpider("site", tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.FollowLinks()
	}), url+"/")
	e = tegenaria.NewSpiderEngine(append(opts, tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithLogger(enginetest.Quiet()),
		tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithMiddlewares(pool),
		tegenaria.EngineWithMiddlewares(middleware.Standard()...), tegenaria.EngineWithConcurrency(4))...)
	done = make(chan error, 1)
	go func() { done <- e.Run(t.Context(), "site") }()
	return e, done
}

func stop(t *testing.T, e *tegenaria.SpiderEngine, done chan error) {
	t.Helper()
	if err := e.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	var stopped *tegenaria.StoppedError
	if err := <-done; !errors.As(err, &stopped) {
		t.Errorf("Run: %v", err)
	}
}

// A site with https is reached through tunnels. A proxy that refuses to make one is not used for that site, and a connection that breaks
// off within a tunnel costs the page an attempt: it may be the site's fault.
func TestTunnels(t *testing.T) {
	const pages = 60
	s := newSite(t, pages)
	secure := httptest.NewTLSServer(s.Config.Handler)
	t.Cleanup(secure.Close)
	refuses := newServer(t, 12, answer(http.StatusForbidden, "not there"))
	breaks := newServer(t, 13, nil)
	breaks.behave = func(w http.ResponseWriter, r *http.Request) bool {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
			conn.Close()
		}
		return true
	}
	pool := proxy.NewPool(proxy.List(newServer(t, 11, nil).URL, refuses.URL, breaks.URL), proxy.Options{Choose: proxy.InTurn})
	e, err := crawl(t, pool, secure.URL, tegenaria.EngineWithTLSConfig(secure.Client().Transport.(*http.Transport).TLSClientConfig))
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, pages)
	if st := e.Stats(); st.Outcomes[tegenaria.Fetched] != pages+1 || refuses.asked.Load() > 6 || breaks.asked.Load() > 10 {
		t.Errorf("%v; %d and %d requests through bad proxies", st.Outcomes, refuses.asked.Load(), breaks.asked.Load())
	}
}

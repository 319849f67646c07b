package cookbook_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/middleware"
)

// The programs of docs/guides/proxies.md.

// sticky makes a middleware that always sends a host's requests through the same proxy.
func sticky(urls []string) tegenaria.MiddlewareFuncs {
	seed := maphash.MakeSeed()
	return tegenaria.MiddlewareFuncs{
		Name:     "sticky",
		Priority: 800,
		Internal: true,
		Request: func(ctx *tegenaria.Context) error {
			u, err := url.Parse(ctx.Request.Url)
			if err != nil {
				return err
			}
			n := maphash.String(seed, u.Hostname()) % uint64(len(urls))
			ctx.Request.Proxy = &tegenaria.Proxy{ProxyUrl: urls[n]}
			return nil
		},
		Response: refused,
	}
}

func TestSticky(t *testing.T) {
	site := start(t)
	var first, second atomic.Int64
	crawl[quote](t, quotes(site), tegenaria.EngineWithMiddlewares(
		sticky([]string{forward(t, &first), forward(t, &second)})))
	if a, b := first.Load(), second.Load(); a+b != 11 || a != 0 && b != 0 {
		t.Errorf("%d and %d requests, want 11 through one of the proxies", a, b)
	}
}

// pool is a middleware that uses proxies in turns, and lets one rest for ten minutes after it has failed.
type pool struct {
	urls []string

	mu      sync.Mutex // guards the fields below
	next    int
	resting map[string]time.Time // until when
}

func (p *pool) GetName() string    { return "pool" }
func (p *pool) GetPriority() int   { return 800 } // nearer to the site than Retry, so it sees errors first
func (p *pool) SeesInternal() bool { return true }

func (p *pool) ProcessRequest(ctx *tegenaria.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range p.urls {
		proxy := p.urls[p.next%len(p.urls)]
		p.next++
		if time.Now().After(p.resting[proxy]) {
			ctx.Request.Proxy = &tegenaria.Proxy{ProxyUrl: proxy}
			return nil
		}
	}
	return tegenaria.Retry(time.Minute, errors.New("all proxies are resting"))
}

// ProcessResponse tries a request again, also one for robots.txt, if the site or the proxy refuses it.
func (p *pool) ProcessResponse(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
	if err := refused(ctx, req); err != nil && ctx.Request.Proxy != nil {
		return p.rest(ctx.Request.Proxy, err)
	}
	return nil
}

// ProcessError tries a request again if its proxy does not answer.
func (p *pool) ProcessError(ctx *tegenaria.Context, err error, req chan<- *tegenaria.Context) error {
	var decided *tegenaria.RetryError // it is going to run again already
	var failure *tegenaria.HandleError
	if errors.As(err, &decided) || !errors.As(err, &failure) || ctx.Request.Proxy == nil ||
		failure.Stage != tegenaria.StageDownload {
		return err
	}
	return p.rest(ctx.Request.Proxy, err)
}

// rest lets a proxy rest, and has the request run again through the next one.
func (p *pool) rest(proxy *tegenaria.Proxy, why error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resting[proxy.ProxyUrl] = time.Now().Add(10 * time.Minute)
	return tegenaria.Retry(0, why)
}

func TestPool(t *testing.T) {
	site := start(t)
	var good, banned atomic.Int64
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		banned.Add(1)
		http.Error(w, "not you again", http.StatusForbidden)
	}))
	defer refusing.Close()
	dead := httptest.NewServer(nil)
	dead.Close()
	p := &pool{urls: []string{refusing.URL, forward(t, &good), dead.URL}, resting: make(map[string]time.Time)}
	items := crawl[quote](t, quotes(site), tegenaria.EngineWithMiddlewares(append(middleware.Standard(), p)...))
	if len(items) != 100 {
		t.Errorf("%d quotes, want 100", len(items))
	}
	if n := banned.Load(); n > 1 {
		t.Errorf("the proxy that the site refuses was asked %d times, want at most once", n)
	}
}

// diaries is parse with a link to pages that robots.txt forbids.
func diaries(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[quote]) error {
	return errors.Join(parse(ctx, page, out), out.Follow("/private/"), out.Follow("/private/diary/"))
}

// All ways to use proxies obey robots.txt if a proxy is banned or dead. It fails if the refusal of a proxy is taken for a site
// without rules.
func TestRobotsBehindBannedProxies(t *testing.T) {
	type middlewares = []tegenaria.MiddlewaresInterface
	const good, banned, dead = "http://good@proxy.example:3128", "http://banned@proxy.example:3128", "http://dead@proxy.example:3128"
	pooled := func(urls []string) middlewares {
		return append(middleware.Standard(), &pool{urls: urls, resting: make(map[string]time.Time)})
	}
	rotated := func(urls []string) middlewares { return append(middleware.Standard(), proxies(urls)) }
	stuck := func(urls []string) middlewares { return middlewares{sticky(urls)} }
	guarded := func([]string) middlewares {
		guard := tegenaria.MiddlewareFuncs{Name: "refused", Internal: true, Response: refused}
		return middlewares{guard}
	}
	for _, tt := range []struct {
		name        string
		middlewares func(urls []string) middlewares
		urls        []string
		own         string // proxy of the first request
		items       int
	}{
		{"a pool, the banned one first", pooled, []string{banned, dead, good}, "", 100},
		{"a pool, the dead one first", pooled, []string{dead, banned, good}, "", 100},
		{"a pool, the good one first", pooled, []string{good, banned, dead}, "", 100},
		{"a pool of banned ones", pooled, []string{banned, banned}, "", 0},
		{"in turn, the banned one first", rotated, []string{good, banned}, "", 100},
		{"in turn, the good one first", rotated, []string{banned, good}, "", 100},
		{"one for each host, banned", stuck, []string{banned}, "", 0},
		{"one for each host, good", stuck, []string{good}, "", 100},
		{"of one request, banned", guarded, nil, banned, 0},
	} {
		for _, status := range []int{http.StatusForbidden, http.StatusProxyAuthRequired} {
			t.Run(fmt.Sprintf("%s, %d", tt.name, status), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var private atomic.Int64
					site := demosite.Handler()
					handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						proxy := http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
						switch user, _, _ := proxy.BasicAuth(); {
						case user == "dead":
							panic(http.ErrAbortHandler)
						case user == "banned":
							w.WriteHeader(status)
						case strings.HasPrefix(r.URL.Path, "/private/"):
							private.Add(1)
							fallthrough
						default:
							site.ServeHTTP(w, r)
						}
					})
					var through []tegenaria.RequestOption
					if tt.own != "" {
						through = append(through, tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: tt.own}))
					}
					spider := tegenaria.NewSpiderOf("diaries", tegenaria.Handle(diaries),
						tegenaria.NewRequest("http://demo.example/quotes/", tegenaria.GET, nil, through...))
					items := 0
					for _, err := range tegenaria.Crawl[quote](t.Context(), spider, tegenaria.EngineWithQuiet(), web(t, handler),
						tegenaria.EngineWithMiddlewares(tt.middlewares(tt.urls)...)) {
						if err == nil {
							items++
						}
					}
					if items != tt.items || private.Load() != 0 {
						t.Errorf("%d items, want %d; %d pages were fetched that robots.txt forbids", items, tt.items, private.Load())
					}
				})
			})
		}
	}
}

// A dead proxy is named in the error, without its password.
func TestDeadProxy(t *testing.T) {
	site := start(t)
	dead := httptest.NewServer(nil)
	dead.Close()
	address := "http://user:secret@" + dead.Listener.Addr().String()
	var told []error
	var mu sync.Mutex
	spider := tegenaria.NewSpider("one", tegenaria.Handle(titles), site.URL()+"/books/emma/")
	for _, err := range tegenaria.Crawl[string](t.Context(), spider,
		tegenaria.EngineWithMiddlewares(proxies([]string{address})),
		tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, err)
		})) {
		told = append(told, err)
	}
	text := fmt.Sprint(cmp.Or(errors.Join(told...), errors.New("nothing")))
	if !strings.Contains(text, dead.Listener.Addr().String()) || strings.Contains(text, "secret") {
		t.Errorf("the errors say %s", text)
	}
}

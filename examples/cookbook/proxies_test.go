package cookbook_test

import (
	"cmp"
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
	"time"

	"github.com/tegenaria/tegenaria"
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

func (p *pool) ProcessResponse(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
	return nil
}

// ProcessError tries a request again through the next proxy if the site refuses its proxy, or the proxy does not answer.
func (p *pool) ProcessError(ctx *tegenaria.Context, err error, req chan<- *tegenaria.Context) error {
	var decided *tegenaria.RetryError // it is going to run again already
	var failure *tegenaria.HandleError
	var status *tegenaria.StatusError
	if errors.As(err, &decided) || !errors.As(err, &failure) || ctx.Request.Proxy == nil {
		return err
	}
	banned := errors.As(err, &status) && status.Status == http.StatusForbidden
	if !banned && failure.Stage != tegenaria.StageDownload {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resting[ctx.Request.Proxy.ProxyUrl] = time.Now().Add(10 * time.Minute)
	return tegenaria.Retry(0, err)
}

func TestPool(t *testing.T) {
	site := start(t)
	var good, banned atomic.Int64
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
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
		t.Errorf("the proxy that the site refuses was asked %d times for pages, want at most once", n)
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

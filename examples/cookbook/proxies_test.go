package cookbook_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/proxy"
)

// The programs of docs/guides/proxies.md.

// pool makes proxies of a list, and has the crawl heed what sites answer to those that they do not want to serve.
func pool() tegenaria.EngineOption {
	pool := proxy.NewPool(proxy.File("proxies.txt"), proxy.Options{Choose: proxy.StickyHost, Reload: time.Minute})
	blocks := middleware.NewBlocks(middleware.BlockRules{
		Status:   []int{http.StatusForbidden},
		Text:     []string{"are you a robot", "unusual traffic"},
		Redirect: []string{"/captcha"},
	})
	return tegenaria.EngineWithMiddlewares(append(middleware.Standard(), pool, blocks)...)
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
	t.Chdir(t.TempDir())
	list := strings.Join([]string{refusing.URL, forward(t, &good), dead.URL}, "\n")
	if err := os.WriteFile("proxies.txt", []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	if items := crawl[quote](t, quotes(site), pool()); len(items) != 100 {
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
	pooled := func(choose proxy.Choice) func(urls []string) middlewares {
		return func(urls []string) middlewares {
			blocks := middleware.NewBlocks(middleware.BlockRules{Status: []int{403}})
			return append(middleware.Standard(), blocks, proxy.NewPool(proxy.List(urls...), proxy.Options{Choose: choose}))
		}
	}
	fastest, inTurn, sticky := pooled(proxy.Fastest), pooled(proxy.InTurn), pooled(proxy.StickyHost)
	guarded := func([]string) middlewares {
		return middlewares{middleware.NewBlocks(middleware.BlockRules{Status: []int{403, 407}})}
	}
	for _, tt := range []struct {
		name        string
		middlewares func(urls []string) middlewares
		urls        []string
		own         string // proxy of the first request
		items       int
	}{
		{"the banned one first", inTurn, []string{banned, dead, good}, "", 100},
		{"the dead one first", inTurn, []string{dead, banned, good}, "", 100},
		{"the good one first", inTurn, []string{good, banned, dead}, "", 100},
		{"banned ones", fastest, []string{banned, "http://banned:2@proxy.example:3128"}, "", 0},
		{"the fastest", fastest, []string{good, banned}, "", 100},
		{"one for each host, banned", sticky, []string{banned}, "", 0},
		{"one for each host, good", sticky, []string{good}, "", 100},
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
	spider := tegenaria.NewSpiderOf("one", tegenaria.Handle(titles), viaProxy(site.URL()+"/books/emma/", address))
	for _, err := range tegenaria.Crawl[string](t.Context(), spider,
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

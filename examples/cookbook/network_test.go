package cookbook_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/proxy"
	"github.com/tegenaria/tegenaria/spidertest"
)

// How pages are asked for: politeness, headers, timeouts, retries, proxies.

// web serves the demo site in memory, for tests in a bubble of testing/synctest.
func web(t *testing.T, handler http.Handler) tegenaria.EngineOption {
	t.Helper()
	w := spidertest.NewWeb(handler)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return tegenaria.EngineWithHTTPClient(w.Client())
}

func company() tegenaria.EngineOption {
	return tegenaria.EngineWithPoliteness(tegenaria.Politeness{
		UserAgent: "acme-prices/1.0 (+https://acme.example/bot; bot@acme.example)", // who you are and how to reach you
		Delay:     2 * time.Second,                                                 // between two requests to a host
		Jitter:    0.5,                                                             // 1 to 3 seconds
		PerSlot:   1,                                                               // one request at a time per host
		MaxPages:  10_000,                                                          // per host
	})
}

func TestCompany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var agents atomic.Int64
		site := demosite.Handler()
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.UserAgent() == "acme-prices/1.0 (+https://acme.example/bot; bot@acme.example)" {
				agents.Add(1)
			}
			site.ServeHTTP(w, r)
		})
		began := time.Now()
		spider := tegenaria.NewSpider("quotes", tegenaria.Handle(parse), "http://demo.example/quotes/")
		if n := len(crawl[quote](t, spider, company(), web(t, handler))); n != 100 {
			t.Errorf("%d quotes, want 100", n)
		}
		if took := time.Since(began); took < 9*time.Second || took > 31*time.Second {
			t.Errorf("10 pages took %v, want about 18 s", took)
		}
		if n := agents.Load(); n != 11 {
			t.Errorf("the agent was seen %d times, want 11 with robots.txt", n)
		}
	})
}

func ownRules() tegenaria.EngineOption {
	return tegenaria.EngineWithPoliteness(tegenaria.Politeness{
		PerSlot: 4, // requests at once per host; the default is 8
		Overrides: map[string]tegenaria.SlotPolicy{
			"api.example.com": {PerSlot: 1, Delay: 5 * time.Second},
			"*.example.org":   {PerSlot: 2},
		},
	})
}

func TestConcurrencyPerHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for n := now.Add(1); ; {
				if seen := most.Load(); n <= seen || most.CompareAndSwap(seen, n) {
					break
				}
			}
			<-time.After(time.Second)
			now.Add(-1)
			demosite.Handler().ServeHTTP(w, r)
		})
		spider := tegenaria.NewSpider("books", tegenaria.Handle(list), "http://demo.example/books/")
		crawl[book](t, spider, ownRules(), tegenaria.EngineWithConcurrency(50), web(t, handler)) // downloads at once, of all hosts
		if n := most.Load(); n != 4 {
			t.Errorf("at most %d at once, want 4", n)
		}
	})
}

func polyglot(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
	if err := out.Item(page.String()); err != nil || page.Request().Depth > 0 {
		return err
	}
	return out.Follow("/next", tegenaria.RequestWithRequestHeader(map[string]string{
		"Accept-Language": "de",
		"User-Agent":      "acme-prices/1.0",
	}))
}

func headers() tegenaria.EngineOption {
	return tegenaria.EngineWithMiddlewares(
		middleware.NewDefaultHeaders(map[string]string{"Accept-Language": "fr", "X-Requested-With": "XMLHttpRequest"}),
	)
}

func TestHeaders(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(r.Header.Get("Accept-Language") + " " + r.Header.Get("X-Requested-With") + " " + r.UserAgent()))
	}))
	defer echo.Close()
	got := crawl[string](t, tegenaria.NewSpider("echo", tegenaria.Handle(polyglot), echo.URL), headers())
	slices.Sort(got)
	if len(got) != 2 || got[1] != "fr XMLHttpRequest tegenaria/"+tegenaria.Version || got[0] != "de XMLHttpRequest acme-prices/1.0" {
		t.Errorf("sent %q", got)
	}
}

// retrying returns the standard middlewares with another list of status codes to retry.
func retrying() []tegenaria.MiddlewaresInterface {
	standard := middleware.Standard()
	for i, m := range standard {
		if m.GetName() == "retry" {
			standard[i] = middleware.NewRetry(middleware.RetryOptions{Codes: []int{403, 429, 503}, Times: 5})
		}
	}
	return standard
}

// patient retries a page that says that the server is busy, although its status is 200.
func patient(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
	if page.CSS("h1").Text() == "Please wait" {
		return tegenaria.Retry(30*time.Second, errors.New("the server is busy"))
	}
	return out.Item(page.CSS("h1").Text())
}

func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		site := demosite.Handler()
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch n := asked.Add(1); {
			case r.URL.Path == "/robots.txt":
				asked.Store(0)
			case n <= 4:
				http.Error(w, "no", http.StatusForbidden)
				return
			case n <= 6:
				w.Header().Set("Content-Type", "text/html")
				_, _ = w.Write([]byte("<h1>Please wait</h1>"))
				return
			}
			site.ServeHTTP(w, r)
		})
		spider := tegenaria.NewSpider("patient", tegenaria.Handle(patient), "http://demo.example/books/emma/")
		items := crawl[string](t, spider, tegenaria.EngineWithMiddlewares(retrying()...), web(t, handler))
		if len(items) != 1 || items[0] != "Emma" {
			t.Errorf("items %q", items)
		}
	})
}

func timeouts() tegenaria.EngineOption {
	return tegenaria.EngineWithLimits(tegenaria.Limits{
		Connect:   5 * time.Second,  // to connect
		FirstByte: 15 * time.Second, // from the request to the beginning of the answer
		Idle:      10 * time.Second, // without another byte
		Time:      2 * time.Hour,    // the whole crawl
	})
}

func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/robots.txt":
				http.NotFound(w, r)
			default:
				<-r.Context().Done()
			}
		})
		spider := tegenaria.NewSpider("slow", tegenaria.Handle(titles), "http://demo.example/")
		var slow *tegenaria.TimeoutError
		began := time.Now()
		for _, err := range tegenaria.Crawl[string](t.Context(), spider, timeouts(), web(t, handler)) {
			if !errors.As(err, &slow) {
				t.Errorf("%v is no timeout", err)
			}
		}
		if took := time.Since(began); slow == nil || took > 20*time.Second {
			t.Errorf("the error came after %v", took)
		}
	})
}

var _ = tegenaria.Handle(report)

// report is a parser that gives one slow page more time than the others.
func report(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
	return out.Follow("/report", tegenaria.RequestWithTimeout(5*time.Minute), tegenaria.RequestWithParser(tegenaria.Handle(titles)))
}

// within makes a middleware that gives every request the same time, whatever RequestWithTimeout says.
func within(d time.Duration) tegenaria.MiddlewareFuncs {
	return tegenaria.MiddlewareFuncs{
		Name:     "timeout",
		Internal: true, // robots.txt too
		Request: func(ctx *tegenaria.Context) error {
			tegenaria.RequestWithTimeout(d)(ctx.Request)
			return nil
		},
	}
}

func TestTimeoutOfAllRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		spider := tegenaria.NewSpider("slow", tegenaria.Handle(titles), "http://demo.example/")
		began := time.Now()
		for _, err := range tegenaria.Crawl[string](t.Context(), spider, web(t, handler),
			tegenaria.EngineWithMiddlewares(within(10*time.Second)), tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 1})) {
			if err == nil {
				t.Error("an item without a page")
			}
		}
		if took := time.Since(began); took != 10*time.Second { // of robots.txt, without which no page is fetched
			t.Errorf("the crawl ended after %v", took)
		}
	})
}

// forward is an HTTP proxy that counts.
func forward(t *testing.T, count *atomic.Int64) string {
	server := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) { count.Add(1) }})
	t.Cleanup(server.Close)
	return server.URL
}

func TestProxies(t *testing.T) {
	site := start(t)
	var first, second atomic.Int64
	list := []string{forward(t, &first), forward(t, &second)}
	pool := tegenaria.EngineWithMiddlewares(proxy.NewPool(proxy.List(list...), proxy.Options{Choose: proxy.InTurn}))
	crawl[quote](t, quotes(site), pool)
	if a, b := first.Load(), second.Load(); a+b != 11 || a < 5 || b < 5 {
		t.Errorf("%d and %d requests, want 11 together, with robots.txt", a, b)
	}
	if n := len(site.Log()); n != 11 {
		t.Errorf("%d requests arrived, want 11", n)
	}
}

func TestOneProxy(t *testing.T) {
	site := start(t)
	var count atomic.Int64
	address, err := url.Parse(forward(t, &count))
	if err != nil {
		t.Fatal(err)
	}
	r := viaProxy(site.URL()+"/books/emma/", address.String())
	if r.Proxy == nil || r.Proxy.ProxyUrl != address.String() {
		t.Errorf("the proxy is %v", r.Proxy)
	}
}

func viaProxy(page, proxy string) *tegenaria.Request {
	return tegenaria.NewRequest(page, tegenaria.GET, nil, tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: proxy}))
}

package middleware_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

// A proxy that refuses each second tunnel costs tries, and neither the robots.txt nor the page of a POST. It fails if a refusal is
// final, or counts as something that the site may have acted on.
func TestCrawlThroughProxyThatRefuses(t *testing.T) {
	var mu sync.Mutex // guards the two lists
	var visits, tunnels []string
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		visits = append(visits, r.Method+" "+r.URL.Path)
		mu.Unlock()
		w.Header().Set("Connection", "close")
	}))
	defer secure.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		tunnels = append(tunnels, r.Method+" "+r.Host)
		refuse := len(tunnels)%2 == 1
		mu.Unlock()
		if refuse {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		conn, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		to, err := net.Dial("tcp", secure.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer to.Close()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		var wg sync.WaitGroup
		wg.Go(func() { io.Copy(to, in) })
		io.Copy(conn, to)
		conn.Close()
		wg.Wait()
	}))
	defer proxy.Close()
	spider := start(nothing, tegenaria.NewRequest("https://example.com/form", tegenaria.POST, nil, tegenaria.RequestWithBody([]byte("a=b"))))
	stats := crawlWith(t, spider, []tegenaria.MiddlewaresInterface{
		middleware.NewRetry(middleware.RetryOptions{Backoff: time.Millisecond}),
		tegenaria.MiddlewareFuncs{Name: "proxies", Priority: 800, Internal: true, Request: func(ctx *tegenaria.Context) error {
			ctx.Request.Proxy = &tegenaria.Proxy{ProxyUrl: proxy.URL}
			return nil
		}},
	}, tegenaria.EngineWithPoliteness(tegenaria.Politeness{}),
		tegenaria.EngineWithTLSConfig(&tls.Config{RootCAs: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}))
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"GET /robots.txt", "POST /form"}; !slices.Equal(visits, want) || len(tunnels) != 4 || stats.Outcomes[tegenaria.Fetched] != 1 {
		t.Errorf("the site was asked for %q, the proxy for %q; %v", visits, tunnels, stats.Reasons)
	}
}

package browser_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/proxy"
)

// A page that is to be rendered fails in a crawl that goes through proxies, and says what to do: Chromium is not started, and nothing is
// asked for directly. Adaptive renders no page there.
func TestPoolOfProxies(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program that stands for Chromium is a script of sh")
	}
	var mu sync.Mutex
	asked := make(map[string]int) // by path; with a + if it came through the proxy
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path+r.Header.Get("Via")]++
		mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, shell)
	}))
	defer site.Close()
	forward := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := r.Clone(r.Context())
		out.RequestURI = ""
		out.Header.Set("Via", "+")
		resp, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		w.WriteHeader(resp.StatusCode)
		io.Copy(w, resp.Body)
	}))
	defer forward.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	dir := t.TempDir()
	chromium := filepath.Join(dir, "chromium")
	if err := os.WriteFile(chromium, []byte("#!/bin/sh\ntouch "+dir+"/started\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := browser.Open(browser.Options{Path: chromium, DangerouslyWithoutSandbox: true})
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpiderOf("site",
			tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
				return out.Item(page.URL)
			}),
			tegenaria.NewRequest(site.URL+"/rendered", tegenaria.GET, nil, tegenaria.RequestWithDownloader("browser")),
			tegenaria.NewRequest(site.URL+"/plain", tegenaria.GET, nil))),
		tegenaria.EngineWithMiddlewares(proxy.NewPool(proxy.List(forward.URL), proxy.Options{}), browser.Adaptive(browser.AdaptiveOptions{})),
		tegenaria.EngineWithLogger(enginetest.Quiet()),
		tegenaria.EngineWithEvents(tegenaria.Events{Error: func(err *tegenaria.HandleError) { failed = err }}))
	engine.RegisterDownloader("browser", b)
	if err := engine.Run(t.Context(), "site"); err != nil {
		t.Fatal(err)
	}
	var bad *tegenaria.RequestError
	if !errors.As(failed, &bad) || bad.Field != "Proxy" || failed.(*tegenaria.HandleError).Request.Url != site.URL+"/rendered" {
		t.Errorf("%v", failed)
	}
	enginetest.WantOutcomes(t, engine.Stats(), map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Failed: 1})
	if len(asked) != 2 || asked["/robots.txt+"] != 1 || asked["/plain+"] != 1 {
		t.Errorf("the site was asked for %v", asked)
	}
	if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
		t.Error("Chromium was started")
	}
}

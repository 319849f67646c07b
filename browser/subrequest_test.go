package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

// asSite serves a site on loopback, and returns its URL at a host name of its own, which resolves to loopback in Chromium and here.
func asSite(t *testing.T, host string, log *asked, robots string, page func(w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.add(r)
		w.Header().Set("Access-Control-Allow-Origin", "*")
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, robots)
			return
		}
		page(w, r)
	}))
	t.Cleanup(server.Close)
	_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
	return "http://" + host + ":" + port
}

// It fails if a sub-request that robots.txt forbids is sent, by whatever part of a page; if one of a blocked kind is; or if the page
// gets less than is allowed.
func TestSubRequestsObeyRobots(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 1})
	temporary(t)
	var first, second asked
	// Another site, by its host: frames of it have a process, and a session, of their own.
	other := asSite(t, "localhost", &second, "User-agent: spider\nDisallow: /no/\n", func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/frame":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><img src="/picture"><script src="/no/script"></script><script src="/yes/script"></script>
				<iframe src="/no/inner"></iframe><script>
				fetch("/no/frame").catch(() => 0)
				new Worker("/yes/worker")
				new SharedWorker("/yes/shared")
				navigator.serviceWorker.register("/yes/service")</script>`)
		case strings.HasPrefix(path, "/yes/"):
			w.Header().Set("Content-Type", "text/javascript")
			w.Header().Set("Service-Worker-Allowed", "/")
			name := strings.TrimPrefix(path, "/yes/")
			fmt.Fprintf(w, `fetch("/no/by-%[1]s").catch(() => 0); fetch("/yes/", {method: "POST", body: "%[1]s"})`, name)
		case path == "/redirect":
			http.Redirect(w, r, "/no/redirected", http.StatusFound)
		}
	})
	site := asSite(t, "127.0.0.1", &first, "User-agent: *\nDisallow: /secret\n", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><ul></ul><iframe src="%[1]s/frame"></iframe><script>
			const add = text => document.querySelector("ul").append(Object.assign(document.createElement("li"), {textContent: text}))
			fetch("/secret").then(() => add("secret"), () => add("refused"))
			fetch("%[1]s/yes/page").then(() => add("allowed"), () => add("lost"))
			fetch("%[1]s/no/page").catch(() => 0)
			fetch("%[1]s/redirect").catch(() => 0)
			add("window: " + open("%[1]s/yes/popup"))
		</script>`, other)
	})
	pages, failed := crawl(t, b, []string{site + "/page"}, nil, tegenaria.EngineWithPoliteness(tegenaria.Politeness{
		UserAgent: "spider/1", AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}))
	if got := strings.Join(pages["/page"].texts, " "); got != "window: null refused allowed" && got != "window: null allowed refused" {
		t.Errorf("the page is %q, %v", got, failed)
	}
	if n := len(first.of("/secret")); n > 0 {
		t.Errorf("/secret was asked for %d times", n)
	}
	for path, want := range map[string]bool{"/robots.txt": true, "/frame": true, "/redirect": true, "/picture": false,
		"/yes/page": true, "/yes/script": true, "/yes/worker": true, "/yes/shared": true, "/yes/service": true, "/yes/popup": false} {
		if got := len(second.of(path)) > 0; got != want {
			t.Errorf("%s was asked for: %t", path, got)
		}
	}
	said := make(map[string]bool)
	for _, r := range second.of("/yes/") {
		said[r.Header.Get("User-Agent")] = true
	}
	if len(second.of("/yes/")) < 4 || len(said) != 1 || !said["spider/1"] {
		t.Errorf("the scripts that are allowed have sent %d requests, as %v", len(second.of("/yes/")), said)
	}
	second.mu.Lock()
	defer second.mu.Unlock()
	for _, r := range second.requests {
		if strings.HasPrefix(r.URL.Path, "/no/") {
			t.Errorf("%s was asked for", r.URL)
		}
	}
	if b.Refused() < 8 {
		t.Errorf("%d sub-requests are counted as refused", b.Refused())
	}
}

// It fails if a host is asked again, by pages or by the engine, before the time that it has asked for in its answer to an XHR.
func TestSubRequestsOfABusyHost(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 1})
	temporary(t)
	var first, second asked
	api := asSite(t, "localhost", &second, "", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	site := asSite(t, "127.0.0.1", &first, "", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><ul></ul><script>
			const add = text => document.querySelector("ul").append(Object.assign(document.createElement("li"), {textContent: text}))
			const ask = () => fetch("%[1]s/data").then(r => add(r.status), () => add("refused"))
			ask().then(ask)</script>`, api)
	})
	pages, failed := crawl(t, b, []string{site + "/1", site + "/2"}, nil, tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithPoliteness(tegenaria.Politeness{
		AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}))
	got := strings.Join(append(pages["/1"].texts, pages["/2"].texts...), " ")
	if want := []string{"429 refused refused refused", "refused refused 429 refused"}; got != want[0] && got != want[1] {
		t.Errorf("the pages are %q, %v", got, failed)
	}
	if n := len(second.of("/data")); n != 1 {
		t.Errorf("the busy host was asked %d times", n)
	}
}

// It fails if a page in the only tab waits for a robots.txt that waits for a tab.
func TestRobotsTakeNoTab(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 1})
	temporary(t)
	var first, second asked
	begun := make(chan struct{})
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		second.add(r)
		w.Header().Set("Access-Control-Allow-Origin", "*")
		if r.URL.Path == "/robots.txt" {
			select {
			case <-begun:
			case <-r.Context().Done():
			}
		}
		fmt.Fprint(w, "")
	}))
	t.Cleanup(other.Close)
	site := asSite(t, "127.0.0.1", &first, "", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><ul></ul><script>fetch("%s/data").then(() => document.querySelector("ul").innerHTML = "<li>got")</script>`, other.URL)
		close(begun)
	})
	pages, failed := crawl(t, b, []string{other.URL + "/other", site + "/page"}, nil, tegenaria.EngineWithPoliteness(tegenaria.Politeness{}))
	if len(failed) > 0 || len(pages) != 2 || len(pages["/page"].texts) != 1 {
		t.Errorf("%v, %v", pages, failed)
	}
	if n := len(second.of("/robots.txt")); n != 1 {
		t.Errorf("robots.txt was asked for %d times", n)
	}
}

// It fails if a host that has refused an XHR is asked by HTTP before the time that it named, or never.
func TestPauseOfSubRequestHoldsForHTTP(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 1})
	temporary(t)
	var first, second asked
	var mu sync.Mutex // guards the times
	var refused, again time.Time
	api := asSite(t, "localhost", &second, "", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/data" {
			refused = time.Now()
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		again = time.Now()
	})
	site := asSite(t, "127.0.0.1", &first, "", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><a href="%[1]s/next">next</a><script>fetch("%[1]s/data")</script>`, api)
	})
	parser := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
		return out.FollowLinks()
	})
	e := tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithPoliteness(tegenaria.Politeness{
		AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}))
	e.RegisterDownloader("browser", b)
	e.RegisterSpiders(tegenaria.NewSpiderOf("s", parser, tegenaria.NewRequest(site+"/page", "", nil, tegenaria.RequestWithDownloader("browser"))))
	if err := e.Run(t.Context(), "s"); err != nil {
		t.Errorf("Run: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(second.of("/data")) != 1 || len(second.of("/next")) != 1 || again.Sub(refused) < 3*time.Second {
		t.Errorf("asked again after %v, want 3 s", again.Sub(refused))
	}
}

// It fails if a document is asked for while as many pages of its host are made as may be.
func TestPagesPerSlot(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 3})
	temporary(t)
	var log asked
	site := asSite(t, "127.0.0.1", &log, "", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><script>fetch("/data")</script>`)
	})
	pages, failed := crawl(t, b, []string{site + "/page?1", site + "/page?2", site + "/page?3"}, nil, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1}))
	if len(pages) != 3 {
		t.Errorf("%d pages, %v", len(pages), failed)
	}
	var order []string
	for _, r := range log.requests {
		order = append(order, r.URL.Path)
	}
	if got, want := strings.Join(order, " "), "/page /data /page /data /page /data"; got != want {
		t.Errorf("the host was asked for %s, want %s", got, want)
	}
}

// The delay of a host is between the documents that it is asked for, however long Chromium and the tabs take before.
func TestPagesKeepTheDelay(t *testing.T) {
	const delay, pages = time.Second, 7
	b := openBrowser(t, browser.Options{Tabs: 2})
	temporary(t)
	var log asked
	var mu sync.Mutex
	var at []time.Time
	site := asSite(t, "127.0.0.1", &log, "", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		at = append(at, time.Now())
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html>x`)
	})
	var urls []string
	for i := range pages {
		urls = append(urls, fmt.Sprint(site, "/page?", i))
	}
	crawl(t, b, urls, nil, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: delay}))
	if len(at) != pages {
		t.Errorf("%d documents were asked for, want %d", len(at), pages)
	}
	for i := 1; i < len(at); i++ {
		gap := at[i].Sub(at[i-1])
		t.Log("gap", gap.Round(time.Millisecond))
		if gap < delay*3/4 { // what is between Chromium and the server may shorten it
			t.Errorf("a document was asked for %v after the one before, the delay is %v", gap, delay)
		}
	}
}

package browser_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

var (
	program = flag.String("browser", "", "the program of Chromium; without it the tests with a browser are skipped")
	runs    = flag.Int("runs", 3, "how often TestManyRuns opens and closes a browser")
)

// openBrowser opens a browser with a folder for temporary files of its own, which is empty again at the end.
func openBrowser(t testing.TB, o browser.Options) *browser.Browser {
	t.Helper()
	if *program == "" {
		t.Skip("needs Chromium: name its program with -args -browser FILE, or run make servers")
	}
	o.Path, o.DangerouslyWithoutSandbox = *program, os.Geteuid() == 0
	b, err := browser.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// temporary makes the folder for temporary files, and demands that it is empty at the end, and that no process names it.
func temporary(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "b") // that of the test is too long for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left in the temporary folder: %v, %v", left, err)
		}
		if pids := processes(t, dir); len(pids) > 0 {
			t.Errorf("processes left: %v", pids)
		}
		os.RemoveAll(dir)
	})
	return dir
}

// processes returns those whose command line has a text, and those of their process groups.
func processes(t *testing.T, text string) (pids []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("needs /proc")
	}
	named, groups := make(map[string]bool), make(map[string]string)
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // no process, or one that has ended
		}
		group := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[2]
		groups[e.Name()] = group
		if line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline"); err == nil && strings.Contains(string(line), text) {
			named[e.Name()], named[group] = true, true
		}
	}
	for pid, group := range groups {
		if named[pid] || named[group] {
			pids = append(pids, pid)
		}
	}
	return pids
}

// page is what a parser has got.
type page struct {
	url    string
	status int
	header http.Header
	texts  []string // of li
	text   string
	from   *tegenaria.Response
}

// crawl gets URLs by a browser, and returns the pages by the paths of the responses, and the errors by those of the requests.
func crawl(t *testing.T, b *browser.Browser, urls []string, also []tegenaria.RequestOption, opts ...tegenaria.EngineOption) (pages map[string]page, failed map[string]error) {
	t.Helper()
	var requests []*tegenaria.Request
	for _, url := range urls {
		requests = append(requests, tegenaria.NewRequest(url, "", nil, append(also, tegenaria.RequestWithDownloader("browser"))...))
	}
	return crawlRequests(t, b, requests, opts...)
}

// crawlRequests is crawl for requests that differ in more than their URLs.
func crawlRequests(t *testing.T, b *browser.Browser, requests []*tegenaria.Request, opts ...tegenaria.EngineOption) (pages map[string]page, failed map[string]error) {
	t.Helper()
	pages, failed = make(map[string]page), make(map[string]error)
	var mu sync.Mutex // guards both
	parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, _ *tegenaria.Output[any]) error {
		text, err := r.Text()
		mu.Lock()
		defer mu.Unlock()
		pages[pathOf(r.Request().Url)] = page{r.URL, r.Status, r.Header, r.CSS("li").Texts(), text, r}
		return err
	})
	e := tegenaria.NewSpiderEngine(append([]tegenaria.EngineOption{
		tegenaria.EngineWithQuiet(), tegenaria.EngineWithAllowStatusCode([]uint64{404, 500}),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
			mu.Lock()
			defer mu.Unlock()
			failed[pathOf(err.Request.Url)] = err.Err
		}),
	}, opts...)...)
	e.RegisterDownloader("browser", b)
	e.RegisterSpiders(tegenaria.NewSpiderOf("s", parser, requests...))
	if err := e.Run(t.Context(), "s"); err != nil && len(failed) == 0 {
		t.Errorf("Run: %v", err)
	}
	return pages, failed
}

func pathOf(url string) string {
	_, rest, _ := strings.Cut(url, "//")
	_, path, _ := strings.Cut(rest, "/")
	return "/" + path
}

// site is made by scripts.
func site(t *testing.T) (*httptest.Server, *asked) {
	t.Helper()
	log := new(asked)
	mux := http.NewServeMux()
	html := func(path, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
			w.Write([]byte("<!doctype html>" + body))
		})
	}
	html("/list", `<ul></ul><img src="/picture"><script>
		fetch("/data").then(r => r.json()).then(names => {
			for (const name of names) document.querySelector("ul").append(Object.assign(document.createElement("li"), {textContent: name}))
		})</script>`)
	mux.HandleFunc("/data", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(`["one", "zw\u00f6lf", "\ud83d\ude00"]`)) })
	html("/outer", `<ul></ul><iframe src="/inner"></iframe><script>
		onmessage = e => document.querySelector("ul").append(Object.assign(document.createElement("li"), {textContent: e.data}))</script>`)
	html("/inner", `<script>parent.postMessage("from the frame", "*")</script>`)
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/target", http.StatusMovedPermanently)
	})
	html("/target", `<ul><li>target</ul>`)
	html("/script-moved", `<script>location.href = "/target?by=script"</script>`)
	html("/refresh", `<meta http-equiv="refresh" content="0;url=/target?by=refresh">`)
	html("/state", `<ul></ul><script>history.pushState({}, "", "/state/2"); document.querySelector("ul").innerHTML = "<li>" + document.URL</script>`)
	mux.HandleFunc("/missing", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte(`<ul></ul><script>document.querySelector("ul").innerHTML = "<li>nothing here"</script>`))
	})
	mux.HandleFunc("/empty", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	mux.HandleFunc("/none", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"a": 1}`))
	})
	mux.HandleFunc("/cookies", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		http.SetCookie(w, &http.Cookie{Name: "server", Value: "1", HttpOnly: true})
		w.Write([]byte(`<ul></ul><script>document.cookie = "script=2"
			document.querySelector("ul").innerHTML = "<li>" + document.cookie + "<li>" + navigator.userAgent</script>`))
	})
	html("/dialog", `<ul></ul><script>alert(1); confirm(2); document.querySelector("ul").innerHTML = "<li>after"</script>`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.add(r)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server, log
}

// asked is the log of a site.
type asked struct {
	mu       sync.Mutex // guards requests
	requests []*http.Request
}

func (a *asked) add(r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, r)
}

// of returns the requests for a path.
func (a *asked) of(path string) (found []*http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.requests {
		if r.URL.Path == path {
			found = append(found, r)
		}
	}
	return found
}

// It fails if a page made by scripts is not what a reader sees, or if the response is not that of the site.
func TestPages(t *testing.T) {
	b := openBrowser(t, browser.Options{})
	temporary(t)
	server, log := site(t)
	var urls []string
	for _, path := range []string{"/list", "/outer", "/moved", "/script-moved", "/refresh", "/state", "/missing", "/empty", "/none", "/json", "/cookies", "/dialog"} {
		urls = append(urls, server.URL+path)
	}
	pages, failed := crawl(t, b, urls, []tegenaria.RequestOption{
		tegenaria.RequestWithRequestHeader(map[string]string{"X-Test": "yes", "User-Agent": "spider/1", "Referer": server.URL + "/from", "Accept-Language": "eo"}),
		tegenaria.RequestWithRequestCookies(map[string]string{"sent": "0"}),
	})
	for path, err := range failed {
		t.Errorf("%s failed: %v", path, err)
	}
	for _, want := range []struct {
		path   string
		status int
		url    string
		texts  []string
	}{
		{"/list", 200, "/list", []string{"one", "zwölf", "😀"}},
		{"/outer", 200, "/outer", []string{"from the frame"}},
		{"/target", 200, "/target", []string{"target"}},
		{"/target?by=script", 200, "/target?by=script", []string{"target"}},
		{"/target?by=refresh", 200, "/target?by=refresh", []string{"target"}},
		{"/state", 200, "/state/2", []string{server.URL + "/state/2"}},
		{"/missing", 404, "/missing", []string{"nothing here"}},
		{"/empty", 500, "/empty", nil},
		{"/none", 204, "/none", nil},
		{"/json", 200, "/json", nil},
		{"/cookies", 200, "/cookies", []string{"sent=0; script=2", "spider/1"}},
		{"/dialog", 200, "/dialog", []string{"after"}},
	} {
		got, ok := pages[want.path]
		if !ok || got.status != want.status || got.url != server.URL+want.url || !slices.Equal(got.texts, want.texts) {
			t.Errorf("%s: %t, %d, %s, %q", want.path, ok, got.status, got.url, got.texts)
		}
		delete(pages, want.path)
	}
	if len(pages) > 0 {
		t.Errorf("also got %v", pages)
	}
	for _, path := range []string{"/list", "/json"} {
		requests := log.of(path)
		if len(requests) != 1 {
			t.Fatalf("%s was asked for %d times", path, len(requests))
		}
		r := requests[0]
		for name, want := range map[string]string{"X-Test": "yes", "User-Agent": "spider/1", "Referer": server.URL + "/from", "Accept-Language": "eo", "Cookie": "sent=0", "X-Forwarded-For": "", "Proxy-Authorization": "", "Via": ""} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
	if got := log.of("/data"); len(got) != 1 || got[0].Header.Get("User-Agent") != "spider/1" || got[0].Header.Get("X-Test") != "" {
		t.Errorf("/data was asked for so: %v", got)
	}
	if got := append(log.of("/picture"), log.of("/favicon.ico")...); len(got) > 0 {
		t.Errorf("%d blocked pictures were asked for: %s %v", len(got), got[0].URL, got[0].Header)
	}
}

// It fails if a document that is not HTML does not come as it is, or may be larger than a body.
func TestOtherDocuments(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 1})
	temporary(t)
	var log asked
	header := map[string][2]string{ // Content-Type and Content-Disposition by the path
		"/pdf": {"application/pdf", ""}, "/text": {"text/plain; charset=iso-8859-1", ""}, "/xml": {"application/xml", ""}, "/picture": {"image/png", ""},
		"/bytes": {"application/octet-stream", ""}, "/video": {"video/mp4", ""}, "/saved": {"text/html", `attachment; filename="a.html"`}, "/large": {"application/pdf", ""},
	}
	content := func(path string) string {
		if path == "/large" {
			return strings.Repeat(pdf, 1<<16)
		}
		return pdf + path + "\xf6\x00<script>"
	}
	site := asSite(t, "127.0.0.1", &log, "", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", header[r.URL.Path][0])
		if how := header[r.URL.Path][1]; how != "" {
			w.Header().Set("Content-Disposition", how)
		}
		w.Write([]byte(content(r.URL.Path)))
	})
	var urls []string
	for path := range header {
		urls = append(urls, site+path)
	}
	pages, failed := crawl(t, b, urls, nil, tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1 << 20}))
	for path, fields := range header {
		if path == "/large" {
			if large, ok := errors.AsType[*tegenaria.BodyTooLargeError](failed[path]); !ok || large.Limit != 1<<20 {
				t.Errorf("%s: %v", path, failed[path])
			}
			continue
		}
		got, ok := pages[path]
		if !ok || got.status != http.StatusOK || got.header.Get("Content-Type") != fields[0] || string(got.from.Bytes()) != content(path) {
			t.Errorf("%s: %d, %v, %v", path, got.status, got.header, failed[path])
		}
		if n := len(log.of(path)); n != 1 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
}

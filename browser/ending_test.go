package browser_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// It fails if a missing browser is noticed only by the first request.
func TestOpenWithoutChromium(t *testing.T) {
	_, err := browser.Open(browser.Options{Path: filepath.Join(t.TempDir(), "chromium")})
	if _, missing := errors.AsType[*browser.NotInstalledError](err); !missing {
		t.Errorf("no program: %v", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, err = browser.Open(browser.Options{Path: self})
	if _, root := errors.AsType[*browser.RootError](err); !root {
		t.Errorf("as root: %v", err)
	}
}

// It fails if a download without a run, or a second run, goes past the guard.
func TestRunsOfABrowser(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := browser.Open(browser.Options{Path: self, DangerouslyWithoutSandbox: true})
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan *tegenaria.Context, 1)
	b.Download(tegenaria.NewContext(tegenaria.NewRequest("https://a.example/", "", nil)), result)
	if _, none := errors.AsType[*browser.NoRunError]((<-result).DownloadResult.Error); !none {
		t.Error("a download without a run is none of a NoRunError")
	}
	if err := b.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, used := errors.AsType[*browser.InUseError](b.Open(t.Context(), nil)); !used {
		t.Error("a second run may use the browser")
	}
	if err := b.Close(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if err := b.Open(t.Context(), nil); err != nil {
		t.Errorf("the next run: %v", err)
	}
	if err := b.Close(t.Context(), ""); err != nil {
		t.Error(err)
	}
}

// hanging is a site with a page that never loads, which tells when it is asked for.
func hanging(t *testing.T) (server *httptest.Server, asked <-chan string) {
	t.Helper()
	told := make(chan string, 10)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/never":
			told <- r.URL.Path
			<-r.Context().Done()
		case "/hangs":
			io.WriteString(w, `<!doctype html><script src="/never"></script>`)
		default:
			io.WriteString(w, "<!doctype html><ul><li>right</ul>")
		}
	}))
	t.Cleanup(server.Close)
	return server, told
}

// It fails if a browser that is killed fails anything but the requests in hand.
func TestKilledBrowser(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 1})
	dir := temporary(t)
	server, asked := hanging(t)
	go func() {
		<-asked
		for _, pid := range processes(t, dir) {
			if n, err := strconv.Atoi(pid); err == nil {
				if p, err := os.FindProcess(n); err == nil {
					p.Kill()
				}
			}
		}
	}()
	pages, failed := crawl(t, b, []string{server.URL + "/hangs", server.URL + "/next"}, nil, tegenaria.EngineWithConcurrency(1))
	if lost, ok := errors.AsType[*browser.LostError](failed["/hangs"]); !ok || lost.URL != server.URL+"/hangs" {
		t.Errorf("the page in hand: %v, %v", failed["/hangs"], pages["/hangs"])
	}
	if got := pages["/next"]; len(got.texts) != 1 || got.texts[0] != "right" {
		t.Errorf("the next page: %v, %v", got, failed["/next"])
	}
}

// It fails if a cancelled crawl waits for its pages, or leaves a browser behind.
func TestCancelledCrawl(t *testing.T) {
	b := openBrowser(t, browser.Options{})
	temporary(t)
	server, asked := hanging(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	e := tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet(), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
	e.RegisterDownloader("browser", b)
	parser := func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error { return nil }
	e.RegisterSpiders(tegenaria.NewSpiderOf("s", parser, tegenaria.NewRequest(server.URL+"/hangs", "", nil, tegenaria.RequestWithDownloader("browser"))))
	if err := e.Run(ctx, "s"); !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
}

// It fails if a run leaves processes, files or goroutines behind.
func TestManyRuns(t *testing.T) {
	b := openBrowser(t, browser.Options{})
	dir := temporary(t)
	server, _ := hanging(t)
	for range *runs {
		if pages, failed := crawl(t, b, []string{server.URL + "/page"}, nil); len(pages["/page"].texts) != 1 {
			t.Fatal(pages, failed)
		}
		if pids := processes(t, dir); len(pids) > 0 {
			t.Fatalf("processes left: %v", pids)
		}
	}
}

// It fails if a body above Limits.Body is held in memory, or cut off silently.
func TestBodyLimit(t *testing.T) {
	b := openBrowser(t, browser.Options{})
	temporary(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, `<!doctype html><body><script>document.body.append(document.createComment("x".repeat(1 << 22)))</script>`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		for chunk := make([]byte, 1<<16); ; { // it has no end
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	_, failed := crawl(t, b, []string{server.URL + "/page", server.URL + "/json"}, nil, tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1 << 20}))
	for _, path := range []string{"/page", "/json"} {
		if large, ok := errors.AsType[*tegenaria.BodyTooLargeError](failed[path]); !ok || large.Limit != 1<<20 {
			t.Errorf("%s: %v", path, failed[path])
		}
	}
}

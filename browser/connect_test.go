package browser_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

// It fails if a browser without a guard is used unasked, if a wrong URL is noticed only by a request, or if a message has the secrets
// of the URL.
func TestConnectRefuses(t *testing.T) {
	_, err := browser.Connect("http://127.0.0.1:9222", browser.Options{})
	if _, ok := errors.AsType[*browser.UnguardedError](err); !ok {
		t.Errorf("without the option: %v", err)
	}
	for _, url := range []string{"", "127.0.0.1:9222", "http://secret.example", "https://a:1/?secret", "ws:///secret", "http://a:1/%secret", "file:///secret"} {
		_, err := browser.Connect(url, browser.Options{DangerouslyWithoutGuard: true})
		if _, ok := errors.AsType[*browser.ConnectError](err); !ok || strings.Contains(err.Error(), "/secret") || strings.Contains(err.Error(), "?secret") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// It fails if a request waits for a Chromium that is not there, or if another server ends more than the request.
func TestConnectToOthers(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections) // which chromedp uses
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }))
	t.Cleanup(server.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, url := range []string{server.URL + "/?secret", "ws" + strings.TrimPrefix(server.URL, "http") + "/?secret", gone.URL + "/?secret"} {
		b, err := browser.Connect(url, browser.Options{DangerouslyWithoutGuard: true})
		if err != nil {
			t.Fatal(err)
		}
		_, failed := crawl(t, b, []string{server.URL + "/page"}, nil)
		if wrong, ok := errors.AsType[*browser.ConnectError](failed["/page"]); !ok || strings.Contains(wrong.Error(), "secret") {
			t.Errorf("%s: %v", url, failed["/page"])
		}
	}
}

// startChromium starts a Chromium that others may connect to, with its profile in a folder, and returns the URL of its WebSocket.
func startChromium(t *testing.T, dir string) string {
	t.Helper()
	if *program == "" {
		t.Skip("needs Chromium: name its program with -args -browser FILE, or run make servers")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, *program, "--headless", "--remote-debugging-port=0", "--user-data-dir="+filepath.Join(dir, "profile"), "about:blank")
	if os.Geteuid() == 0 {
		cmd.Args = append(cmd.Args, "--no-sandbox")
	}
	output, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		io.Copy(io.Discard, output) // until it has ended, which the test asks for
		cmd.Wait()
		cancel()
		os.RemoveAll(filepath.Join(dir, "profile"))
	})
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "DevTools listening on "); ok {
			return url
		}
	}
	t.Fatal("Chromium does not listen")
	return ""
}

// It fails if pages of a Chromium that runs already are others than those of one that was started, if what they load is not judged, or
// if a run leaves tabs or contexts there, also one that is cancelled.
func TestConnect(t *testing.T) {
	ws := startChromium(t, temporary(t))
	life, disconnect := remote.NewAllocator(context.Background(), ws)
	t.Cleanup(disconnect)
	life, cancel := chromedp.NewContext(life)
	t.Cleanup(func() {
		cdp.Call(life, chromedp.FromContext(life).Target, cdpbrowser.Close, cdp.Empty{})
		cancel()
	})
	if err := chromedp.Do(life, chromedp.Navigate("data:text/html,mine")); err != nil {
		t.Fatal(err)
	}
	there := func() (all []string) {
		contexts, err := chromedp.CallBrowser(life, target.GetBrowserContexts, cdp.Empty{})
		if err != nil {
			t.Fatal(err)
		}
		targets, err := chromedp.Targets(life)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range contexts.BrowserContextIDs {
			all = append(all, "context "+string(c))
		}
		for _, info := range targets {
			if info.Type == "page" { // others are of Chromium itself
				all = append(all, "page "+info.URL)
			}
		}
		slices.Sort(all)
		return all
	}
	before := there()
	unchanged := func(run string) {
		t.Helper()
		if after := there(); !slices.Equal(before, after) {
			t.Errorf("%s has made of %q: %q", run, before, after)
		}
	}

	var log asked
	hangs := make(chan bool, 1)
	site := asSite(t, "127.0.0.1", &log, "User-agent: *\nDisallow: /secret\n", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/never":
			hangs <- true
			<-r.Context().Done()
		case "/hangs":
			io.WriteString(w, `<!doctype html><script src="/never"></script>`)
		default:
			io.WriteString(w, `<!doctype html><ul></ul><img src="/picture"><script src="/secret"></script>
				<script>document.querySelector("ul").innerHTML = "<li>" + navigator.userAgent</script>`)
		}
	})
	host, _, _ := strings.Cut(strings.TrimPrefix(ws, "ws://"), "/")
	for _, url := range []string{ws, "http://" + host} {
		b, err := browser.Connect(url, browser.Options{DangerouslyWithoutGuard: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(http.DefaultClient.CloseIdleConnections)
		pages, failed := crawl(t, b, []string{site + "/page"}, nil, tegenaria.EngineWithPoliteness(tegenaria.Politeness{UserAgent: "spider/1"}))
		if got := pages["/page"].texts; !slices.Equal(got, []string{"spider/1"}) {
			t.Errorf("%s: %q, %v", url, got, failed["/page"])
		}
		if b.Refused() != 1 || len(log.of("/secret")) > 0 || len(log.of("/picture")) > 0 {
			t.Errorf("%d refused; /secret was asked for %d times, /picture %d times", b.Refused(), len(log.of("/secret")), len(log.of("/picture")))
		}
		unchanged("a run")
	}

	b, err := browser.Connect(ws, browser.Options{DangerouslyWithoutGuard: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-hangs
		stop()
	}()
	e := tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet())
	e.RegisterDownloader("browser", b)
	parser := func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error { return nil }
	e.RegisterSpiders(tegenaria.NewSpiderOf("s", parser, tegenaria.NewRequest(site+"/hangs", "", nil, tegenaria.RequestWithDownloader("browser"))))
	if err := e.Run(ctx, "s"); !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	unchanged("a cancelled run")
}

// A Chromium in a container of its own, which reaches nothing but the web.
func ExampleConnect() {
	parser := tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
		return out.Follow("/quotes/", tegenaria.RequestWithDownloader("browser"))
	})
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(tegenaria.NewSpider("quotes", parser, "https://example.com/")))
	chromium, err := browser.Connect("http://chromium:9222", browser.Options{DangerouslyWithoutGuard: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine.RegisterDownloader("browser", chromium)
	fmt.Println(engine.Execute("quotes"))
}

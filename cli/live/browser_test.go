package live_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
	"github.com/tegenaria/tegenaria/cli/live"
	"github.com/tegenaria/tegenaria/middleware"
)

var (
	chromium    = flag.String("browser", "", "the path of Chromium, /usr/bin/chromium")
	axe         = flag.String("axe", "", "the file axe.min.js of the npm package axe-core, which looks for what keeps people out; nothing does without it")
	screenshots = flag.String("screenshots", "", "folder for screenshots; none are made without it")
)

// visits is the log of a site: when each page was asked for.
type visits struct {
	mu sync.Mutex
	at []time.Time
}

func (v *visits) add() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at = append(v.at, time.Now())
}

func (v *visits) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.at)
}

// between returns how long after the i-th visit the j-th one was.
func (v *visits) between(i, j int) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.at[j-1].Sub(v.at[i-1])
}

// Every page in a real browser: what it shows follows the crawl, what is changed there is seen by the site that is
// crawled, and it is of use without a script, on a narrow screen, in the dark, by the keyboard and to those who hear
// it.
func TestBrowser(t *testing.T) {
	if *chromium == "" {
		t.Skip("no browser: run this test with -args -browser /usr/bin/chromium")
	}
	checker := ""
	if *axe != "" {
		text, err := os.ReadFile(*axe)
		if err != nil {
			t.Fatal(err)
		}
		checker = string(text)
	}
	t.Chdir(t.TempDir())
	var log visits
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "7") {
			http.Error(w, "<script>window.hacked = true</script>", http.StatusInternalServerError)
			return
		}
		log.add()
		w.Header().Set("Content-Type", "text/html")
		for i := range 10 {
			fmt.Fprintf(w, `<a href="%s%d">next</a>`, r.URL.Path, i)
		}
	}))
	defer site.Close()
	parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[map[string]string]) error {
		if err := out.Item(map[string]string{"url": r.Request().Url}); err != nil {
			return err
		}
		return out.FollowLinks()
	})
	app := cli.New(tegenaria.NewSpider("shop", parser, site.URL+"/p"))
	app.With(live.Part())
	app.Engine(func(*cli.Run) ([]tegenaria.EngineOption, error) {
		return []tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(middleware.NewDepth(middleware.DepthOptions{}))}, nil
	})
	stderr := &lines{address: make(chan string, 1)}
	var running sync.WaitGroup
	var code int
	crawling, end := context.WithCancel(t.Context())
	running.Go(func() {
		code = app.Run(crawling, []string{"crawl", "shop", "-s", "politeness.ignore_robots=true", "-s", "politeness.delay=20ms", "--listen", "127.0.0.1:0", "--quiet"}, nil, io.Discard, stderr)
		close(stderr.address)
	})
	defer running.Wait()
	defer end()
	address, ok := <-stderr.address
	if !ok {
		t.Fatalf("no address: %s", stderr)
	}
	base, _, _ := strings.Cut(address, "?")

	ctx := tab(t)
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			t.Fatal(err)
		}
	}
	texts := func(selector string) []string {
		t.Helper()
		return evaluate[[]string](t, ctx, `Array.from(document.querySelectorAll("`+selector+`"), e => e.innerText.trim())`)
	}
	number := func() string { return texts("#numbers dd")[0] }
	until := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !is(); {
			if time.Now().After(end) {
				t.Fatalf("%s: not within a minute: %q", what, texts("main"))
			}
			wait(t, ctx, 100)
		}
	}

	// The token goes into a cookie, and the page follows the crawl.
	do(chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS("#numbers")))
	if at := evaluate[string](t, ctx, `location.href`); at != base {
		t.Errorf("the address is %s", at)
	}
	before := number()
	until("the number of pages", func() bool { return number() != before })
	until("the curve", func() bool { return evaluate[int](t, ctx, `document.querySelectorAll("polyline").length`) == 1 })

	// By the keyboard alone: pause, and resume.
	press := func(button string) {
		t.Helper()
		until("the button "+button, func() bool { return slices.Contains(texts("button"), button) })
		evaluate[any](t, ctx, `Array.from(document.querySelectorAll("button")).find(b => b.innerText == "`+button+`").focus()`)
		do(chromedp.KeyEvent(kb.Enter))
	}
	press("Pause")
	until("the pause", func() bool { return slices.Equal(texts("#status"), []string{"paused"}) })
	until("the last downloads", func() bool { return strings.HasPrefix(texts("#numbers div:nth-child(6)")[0], "in flight\n0") })
	paused := log.count()
	wait(t, ctx, 1000)
	if now := log.count(); now != paused {
		t.Errorf("%d pages were asked for during the pause", now-paused)
	}

	// Every page, as it is looked at.
	for _, page := range []string{"", "hosts", "failures", "items", "callbacks", "log", "runs", "settings", "url?u=" + url.QueryEscape(site.URL+"/p7")} {
		do(chromedp.Navigate(base+page), chromedp.WaitVisible(chromedp.CSS("h1")))
		for _, look := range []struct {
			name, scheme string
			width        int64
		}{{"light", "light", 1000}, {"dark", "dark", 1000}, {"narrow", "light", 360}, {"narrow-dark", "dark", 360}} {
			do(chromedp.EmulateViewport(look.width, 900))
			call(t, ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.scheme}}})
			if wide := evaluate[int](t, ctx, `document.documentElement.scrollWidth`); wide > int(look.width) {
				t.Errorf("/%s, %s: %d pixels wide", page, look.name, wide)
			}
			if checker != "" {
				if got := violations(t, ctx, checker); got != "" {
					t.Errorf("/%s, %s: %s", page, look.name, got)
				}
			}
			if *screenshots != "" {
				picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(90))
				if err == nil {
					err = os.WriteFile(filepath.Join(*screenshots, cmp.Or(strings.TrimSuffix(strings.SplitAfter(page, "?")[0], "?"), "overview")+"-"+look.name+".jpg"), picture, 0o600)
				}
				if err != nil {
					t.Error(err)
				}
			}
		}
	}
	do(chromedp.Navigate(base+"failures"), chromedp.WaitVisible(chromedp.CSS(".failure")))
	if evaluate[bool](t, ctx, `"hacked" in window`) || len(texts(".failure")) != 1 {
		t.Errorf("failures: %q", texts("#failures"))
	}

	// The last items and lines of the log are there, and the levels of the log are chosen by the keyboard.
	do(chromedp.Navigate(base+"items"), chromedp.WaitVisible(chromedp.CSS("#newest pre")))
	if first := texts("#newest pre")[0]; !strings.Contains(first, site.URL) || len(texts("#newest pre")) > 50 {
		t.Errorf("the newest of %d items is %q", len(texts("#newest pre")), first)
	}
	do(chromedp.Navigate(base+"log"), chromedp.WaitVisible(chromedp.CSS("#lines li")))
	evaluate[any](t, ctx, `document.querySelector(".levels a[href='/log?level=warning']").focus()`)
	do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS(".levels a[href='/log?level=warning'][aria-current]")))
	if lines := texts("#lines li"); len(lines) == 0 || slices.ContainsFunc(lines, func(l string) bool { return !strings.Contains(l, " warning ") }) {
		t.Errorf("warnings and errors: %q", lines)
	}
	do(chromedp.Navigate(base+"url"), chromedp.WaitVisible(chromedp.CSS("form")),
		chromedp.SendKeys(chromedp.CSS("input[name=u]"), site.URL+"/p7\r"), chromedp.WaitVisible(chromedp.CSS("h2 .tag")))
	if said := texts("#url p"); len(said) != 1 || !strings.Contains(said[0], ": failed (status), status 500") {
		t.Errorf("what became of a page: %q", said)
	}
	do(chromedp.Navigate(base+"settings"), chromedp.WaitVisible(chromedp.CSS("table")))
	if rows := texts("tr"); !slices.ContainsFunc(rows, func(r string) bool {
		return strings.HasPrefix(r, "politeness.delay set") && strings.Contains(r, "20ms")
	}) {
		t.Errorf("the settings are %q", rows)
	}

	// A changed delay is seen by the site.
	do(chromedp.EmulateViewport(1000, 900), chromedp.Navigate(base+"hosts"), chromedp.WaitVisible(chromedp.CSS("form")),
		chromedp.SetValue(chromedp.CSS("input[name=host]"), "127.0.0.1"), chromedp.SendKeys(chromedp.CSS("input[name=value]"), "300ms\r"),
		chromedp.WaitVisible(chromedp.CSS("th .tag")))
	do(chromedp.EmulateViewport(360, 900), chromedp.Navigate(base+"settings"), chromedp.WaitVisible(chromedp.CSS("#changed button")))
	if rows := texts("#changed tbody tr"); len(rows) != 1 || !strings.HasPrefix(rows[0], "127.0.0.1\t300ms\t") {
		t.Errorf("changed hosts: %q", rows)
	}
	if wide := evaluate[int](t, ctx, `document.documentElement.scrollWidth`); wide > 360 {
		t.Errorf("/settings with a changed host: %d pixels wide", wide)
	}
	if checker != "" {
		if got := violations(t, ctx, checker); got != "" {
			t.Errorf("/settings with a changed host: %s", got)
		}
	}
	do(chromedp.EmulateViewport(1000, 900), chromedp.Navigate(base), chromedp.WaitVisible(chromedp.CSS("#control button")))
	press("Resume")
	resumed := log.count()
	until("six pages more", func() bool { return log.count() >= resumed+6 })
	if took := log.between(resumed+1, resumed+6); took < 5*250*time.Millisecond { // which the ways of two requests may differ by
		t.Errorf("six pages within %s, after the delay was changed to 300ms", took)
	}
	if changes := texts("#changes li"); len(changes) != 3 || !strings.HasSuffix(changes[0], "resumed") {
		t.Errorf("changes: %q", changes)
	}

	// Without a script.
	call(t, ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	do(chromedp.Navigate(base))
	do(chromedp.Click(chromedp.CSS("details[data-key=stop] summary")), chromedp.Click(chromedp.CSS("details[data-key=stop] button")))
	running.Wait()
	if code != 3 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// tab opens a tab of a browser that ends with the test. It shows no page but ours, so it does without its sandbox, which root cannot have.
func tab(t *testing.T) context.Context {
	t.Helper()
	ctx, end := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(end)
	ctx, endBrowser := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(*chromium), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true))...)
	t.Cleanup(endBrowser)
	ctx, _ = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("ending the browser: %v", err)
		}
	})
	return ctx
}

// call calls Chromium.
func call[P any](t *testing.T, ctx context.Context, command cdp.Command[P, cdp.Empty], params P) {
	t.Helper()
	if _, err := cdp.Call(ctx, chromedp.FromContext(ctx).Target, command, params); err != nil {
		t.Fatal(err)
	}
}

// evaluate runs a script in the page.
func evaluate[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	for err != nil && strings.Contains(err.Error(), "(-32000)") && ctx.Err() == nil { // the page has just given way to another one
		v, err = chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// wait lets the page go on for a while.
func wait(t *testing.T, ctx context.Context, milliseconds int) {
	t.Helper()
	evaluate[int](t, ctx, fmt.Sprintf(`new Promise(done => setTimeout(() => done(0), %d))`, milliseconds))
}

// violations returns what axe-core finds in the page by the rules of WCAG 2.2 AA, "" if there is nothing.
func violations(t *testing.T, ctx context.Context, checker string) string {
	t.Helper()
	evaluate[bool](t, ctx, checker+"; true")
	return evaluate[string](t, ctx, `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(found =>
		found.violations.map(v => v.id + ": " + v.nodes.map(n => n.html).join(" ")).join("\n"))`)
}

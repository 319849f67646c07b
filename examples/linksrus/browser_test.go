package main

import (
	"context"
	"flag"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var browser = flag.String("browser", "", "the path of Chromium, /usr/bin/chromium")

// What a page may have as its title. As markup it would tell that it ran.
const hostileTitle = `<script>window.hacked = true</script><img src=x onerror="window.hacked = true">`

// The page in a real browser, on a site with a hostile title: searching, paging, submitting.
func TestBrowser(t *testing.T) {
	if *browser == "" {
		t.Skip("no browser: run this test with -args -browser /usr/bin/chromium")
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, "<title>Index</title>")
			for i := range 25 {
				fmt.Fprintf(w, `<a href="/%02d">page</a> `, i)
			}
		case "/07":
			fmt.Fprintf(w, "<title>%s</title><p>spider with a %s</p>", html.EscapeString(hostileTitle), html.EscapeString(hostileTitle))
		case "/hidden":
			fmt.Fprint(w, "<title>Hidden</title><p>nobody links to this burrow</p>")
		default:
			fmt.Fprintf(w, "<title>Page %s</title><p>A spider has eight legs.</p>", r.URL.Path)
		}
	}))
	defer site.Close()
	address, stop := serveArgs(t, io.Discard, "-url", site.URL)
	// The links of a site with equal ranks come in the order of their IDs; the test needs all pages of results.
	eventually(t, address, "spider", 10)

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

	do(chromedp.Navigate(address),
		chromedp.SendKeys(chromedp.CSS("input[name=q]"), "eight legs\r"),
		chromedp.WaitVisible(chromedp.CSS(".total")))
	if got := texts(".total"); !slices.Equal(got, []string{"24 pages found."}) {
		t.Errorf("the page says %q", got)
	}
	if got := texts("li:first-child mark"); !slices.Equal(got, []string{"eight legs"}) {
		t.Errorf("marked: %q", got)
	}
	seen := texts("li h2")
	for page := 2; page <= 3; page++ {
		do(chromedp.Click(chromedp.CSS("a[rel=next]")),
			chromedp.WaitVisible(chromedp.CSS(fmt.Sprintf(`ol[start="%d"]`, 10*(page-1)+1))))
		seen = append(seen, texts("li h2")...)
	}
	slices.Sort(seen)
	if seen = slices.Compact(seen); len(seen) != 24 || len(texts("a[rel=next]")) != 0 {
		t.Errorf("three pages show %d results: %q", len(seen), seen)
	}

	do(chromedp.Navigate(address+"/?q=hacked"), chromedp.WaitVisible(chromedp.CSS("li")))
	if got := texts("li h2"); !slices.Equal(got, []string{hostileTitle}) {
		t.Errorf("the hostile title is shown as %q", got)
	}
	if got := texts("li mark"); len(got) < 2 {
		t.Errorf("marked: %q", got)
	}
	if evaluate[bool](t, ctx, `"hacked" in window || document.scripts.length + document.images.length > 0`) {
		t.Error("the title is markup")
	}
	// The policy holds even if something got in.
	if evaluate[bool](t, ctx, `(() => {
		const script = document.createElement("script");
		script.textContent = "window.injected = true";
		document.body.append(script);
		return "injected" in window;
	})()`) {
		t.Error("an injected script has run")
	}

	do(chromedp.Click(chromedp.CSS("header nav a")),
		chromedp.SendKeys(chromedp.CSS("input[name=url]"), "http://10.0.0.1/\r"),
		chromedp.WaitVisible(chromedp.CSS(".problem")))
	if got := texts(".problem"); len(got) != 1 || !strings.Contains(got[0], "private address") {
		t.Errorf("a private address: %q", got)
	}
	do(chromedp.SetValue(chromedp.CSS("input[name=url]"), site.URL+"/hidden"),
		chromedp.Click(chromedp.CSS("button")),
		chromedp.WaitVisible(chromedp.CSS(".taken")))
	if got, err := chromedp.Run(ctx, chromedp.Location()); err != nil || got != address+"/submit?taken" {
		t.Errorf("the form has led to %s, %v", got, err)
	}
	eventually(t, address, "burrow", 1)
	do(chromedp.Navigate(address+"/?q=burrow"), chromedp.WaitVisible(chromedp.CSS("li")))
	if got := texts("li h2"); !slices.Equal(got, []string{"Hidden"}) {
		t.Errorf("found %q", got)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// tab opens a tab of a browser that ends with the test. It runs no page but ours, so it does without its sandbox, which
// root cannot have.
func tab(t *testing.T) context.Context {
	t.Helper()
	ctx, end := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(end)
	ctx, endBrowser := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(*browser), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true))...)
	t.Cleanup(endBrowser)
	ctx, _ = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("ending the browser: %v", err)
		}
	})
	return ctx
}

func evaluate[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

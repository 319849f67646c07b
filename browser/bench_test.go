package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

// benchTabs is how many pages each way of rendering makes at once.
const benchTabs = 2

// benchSite serves pages of about 20 kB at /p/N, with a stylesheet and a list. A script fills the list if scripted says so, otherwise
// the list is in the document.
func benchSite(b *testing.B, scripted func(n int) bool) *httptest.Server {
	b.Helper()
	text := strings.Repeat("<p>Spiders of this family build large webs in houses.</p>\n", 340)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/style.css" {
			w.Header().Set("Content-Type", "text/css")
			fmt.Fprint(w, "p { margin: 1em } li { color: blue }")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		var n int
		fmt.Sscanf(r.URL.Path, "/p/%d", &n)
		item := fmt.Sprintf("<li>page %d</li>", n)
		if scripted(n) {
			fmt.Fprintf(w, `<!doctype html><link rel=stylesheet href="/style.css"><div id=root></div>
				<script>document.getElementById("root").innerHTML = "<ul>%s</ul>" + %q.repeat(340)</script><!-- %s -->`, item, "<p>x</p>", text)
			return
		}
		fmt.Fprintf(w, `<!doctype html><link rel=stylesheet href="/style.css"><div id=root><ul>%s</ul>%s</div><script>document.title = "x"</script>`, item, text)
	}))
	b.Cleanup(server.Close)
	return server
}

// benchCrawl crawls pages by an engine, and fails unless each of them is found once.
func benchCrawl(b *testing.B, requests []*tegenaria.Request, opts ...tegenaria.EngineOption) {
	b.Helper()
	chromium := openBrowser(b, browser.Options{Tabs: benchTabs})
	found := make(map[string]int)
	var mu sync.Mutex // guards found
	parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, _ *tegenaria.Output[any]) error {
		name := r.CSS("li").Text()
		mu.Lock()
		defer mu.Unlock()
		found[name]++
		return nil
	})
	e := tegenaria.NewSpiderEngine(append(opts, tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))...)
	e.RegisterDownloader("browser", chromium)
	e.RegisterSpiders(tegenaria.NewSpiderOf("s", parser, requests...))
	b.ResetTimer()
	if err := e.Run(b.Context(), "s"); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	for n := range requests {
		if name := fmt.Sprintf("page %d", n); found[name] != 1 {
			b.Errorf("%s was found %d times", name, found[name])
		}
	}
	b.ReportMetric(float64(len(requests))/b.Elapsed().Seconds(), "pages/s")
}

// byHand is a tab that chromedp drives without this package.
type byHand struct {
	ctx    context.Context
	cancel context.CancelFunc
	events chan *cdppage.EventLifecycleEvent
}

// newByHand opens a tab.
func newByHand(b *testing.B, chromium context.Context) *byHand {
	t := &byHand{events: make(chan *cdppage.EventLifecycleEvent, 1000)}
	t.ctx, t.cancel = chromedp.NewContext(chromium, chromedp.WithListener(func(event any) {
		if e, ok := event.(*cdppage.EventLifecycleEvent); ok {
			select {
			case t.events <- e:
			default: // of pages that nobody awaits
			}
		}
	}))
	if err := chromedp.Do(t.ctx); err != nil {
		b.Error(err)
	}
	return t
}

// get makes a page: it has loaded, and for half a second there was no request.
func (t *byHand) get(url string) (html string, err error) {
	got, err := chromedp.Call(t.ctx, cdppage.Navigate, cdppage.NavigateParams{URL: url})
	if err != nil {
		return "", err
	}
	for loaded, quiet := false, false; !loaded || !quiet; {
		select {
		case e := <-t.events:
			if e.LoaderID == got.LoaderID {
				loaded, quiet = loaded || e.Name == "load", quiet || e.Name == "networkIdle"
			}
		case <-t.ctx.Done():
			return "", t.ctx.Err()
		}
	}
	return chromedp.Run(t.ctx, chromedp.Evaluate[string](`document.documentElement.outerHTML`))
}

// handMade makes b.N pages by chromedp alone, in as many tabs at once as the engine has. flags are those of Chromium.
func handMade(b *testing.B, site string, reuse bool, flags []chromedp.ExecAllocatorOption) {
	if *program == "" {
		b.Skip("needs Chromium: name its program with -args -browser FILE")
	}
	options := append(slices.Clip(flags), chromedp.ExecPath(*program), chromedp.UserDataDir(b.TempDir()), chromedp.Flag("no-sandbox", os.Geteuid() == 0))
	b.ResetTimer()
	life, end := chromedp.NewExecAllocator(context.Background(), options...)
	defer end()
	chromium, cancel := chromedp.NewContext(life)
	defer cancel()
	if err := chromedp.Do(chromium); err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range benchTabs {
		all.Go(func() {
			var tab *byHand
			for n := next.Add(1) - 1; n < int64(b.N); n = next.Add(1) - 1 {
				if tab == nil {
					tab = newByHand(b, chromium)
				}
				html, err := tab.get(fmt.Sprint(site, "/p/", n))
				if err != nil || !strings.Contains(html, fmt.Sprintf("<li>page %d</li>", n)) {
					b.Errorf("page %d: %.100q, %v", n, html, err)
				}
				if !reuse {
					tab.cancel()
					tab = nil
				}
			}
			if tab != nil {
				tab.cancel()
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}

// BenchmarkRender compares pages rendered by an engine with pages rendered by chromedp alone, in tabs that are used again and in a tab
// for each page; two at once each. Goals: at least 0.9 times the pages/s of tabs that are used again, though each page of the engine has a
// browser context of its own, and 1.5 times those of a tab for each page.
//
//	go test ./browser -run '^$' -bench Render -benchtime 100x -args -browser /usr/bin/chromium
//
// All start Chromium and end it, which counts. The last one has the flags that chromedp has by itself, the others those of this package.
// All await the same: the load event, and half a second without a request. This package counts requests by the events
// of the network, from the load event on; by hand it is Chromium's own event networkIdle, whose half second may begin
// before the load event.
func BenchmarkRender(b *testing.B) {
	server := benchSite(b, func(int) bool { return true })
	b.Run("by=engine", func(b *testing.B) {
		var requests []*tegenaria.Request
		for n := range b.N {
			requests = append(requests, tegenaria.NewRequest(fmt.Sprint(server.URL, "/p/", n), "", nil, tegenaria.RequestWithDownloader("browser")))
		}
		benchCrawl(b, requests)
	})
	b.Run("by=tabs", func(b *testing.B) { handMade(b, server.URL, true, browser.Flags()) })
	b.Run("by=tab-per-page", func(b *testing.B) { handMade(b, server.URL, false, browser.Flags()) })
	b.Run("by=tab-per-page-with-defaults", func(b *testing.B) {
		handMade(b, server.URL, false, chromedp.DefaultExecAllocatorOptions[:])
	})
}

// BenchmarkAdaptive compares [browser.Adaptive], on a site of which a tenth needs JavaScript, with a spider that knows which pages
// these are. Each operation is ten pages. The goal is at most 1.3 times the time; that a page is missed is a failure.
//
//	go test ./browser -run '^$' -bench Adaptive -benchtime 30x -args -browser /usr/bin/chromium
func BenchmarkAdaptive(b *testing.B) {
	scripted := func(n int) bool { return n%10 == 5 }
	server := benchSite(b, scripted)
	requests := func(b *testing.B, opts ...tegenaria.RequestOption) (all []*tegenaria.Request) {
		for n := range b.N * 10 {
			r := tegenaria.NewRequest(fmt.Sprint(server.URL, "/p/", n), "", nil)
			if scripted(n) {
				r = tegenaria.NewRequest(r.Url, "", nil, opts...)
			}
			all = append(all, r)
		}
		return all
	}
	b.Run("by=knowledge", func(b *testing.B) {
		benchCrawl(b, requests(b, tegenaria.RequestWithDownloader("browser")))
	})
	b.Run("by=adaptive", func(b *testing.B) {
		benchCrawl(b, requests(b), tegenaria.EngineWithMiddlewares(browser.Adaptive(browser.AdaptiveOptions{})))
	})
}

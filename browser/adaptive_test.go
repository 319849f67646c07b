package browser_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/middleware"
)

const host = "http://a.test"

// shell is a page that a script has yet to make.
const shell = `<!doctype html><meta name=robots content=nofollow><div id="root"></div><script src="/app.js"></script>`

// asHTML answers with an HTML page.
func asHTML(body string, header ...string) enginetest.Answer {
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		fields := map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}
		for i := 0; i+1 < len(header); i += 2 {
			fields[header[i]] = []string{header[i+1]}
		}
		return tegenaria.NewResponse(ctx.Request, 200, fields, []byte(body)), nil
	}
}

// worlds are a site as it is downloaded, and as a browser renders it. The parser follows all links and keeps what it has parsed.
type worlds struct {
	plain, rendered *enginetest.World
	parse           tegenaria.Parser // nil: as above

	mu     sync.Mutex // guards the field below
	parsed map[string]int
}

func newWorlds() *worlds {
	return &worlds{plain: enginetest.NewWorld(), rendered: enginetest.NewWorld(), parsed: make(map[string]int)}
}

// page adds a page that is finished, or one that a browser has to make.
func (w *worlds) page(path string, finished bool, body string) {
	if w.rendered.Page(host+path, asHTML(body)); finished {
		w.plain.Page(host+path, asHTML(body+"<script src=/app.js></script>"))
	} else {
		w.plain.Page(host+path, asHTML(shell))
	}
}

// engine makes an engine with the middleware. Each page gives an item, its path.
func (w *worlds) engine(m *browser.AdaptiveMiddleware, opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	s := enginetest.NewSpider(host + "/")
	s.Parse = w.parse
	if s.Parse == nil {
		s.Parse = tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
			if err := out.Item(strings.TrimPrefix(page.Request().Url, host)); err != nil {
				return err
			}
			return out.FollowLinks()
		})
	}
	keeps := tegenaria.PipelineFunc(0, func(_ context.Context, path string) (string, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.parsed[path]++
		return path, nil
	})
	e := enginetest.NewEngine(w.plain, s, append([]tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithPipelines(keeps)}, opts...)...)
	e.RegisterDownloader("browser", w.rendered)
	return e
}

// wantOnce checks that each path was parsed once, and nothing else.
func (w *worlds) wantOnce(t *testing.T, paths ...string) {
	t.Helper()
	want := make(map[string]int)
	for _, path := range paths {
		want[path] = 1
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !maps.Equal(w.parsed, want) {
		t.Errorf("parsed were %v, want each of %v once", w.parsed, paths)
	}
}

// wantRendered checks which paths the browser was asked for.
func (w *worlds) wantRendered(t *testing.T, paths ...string) {
	t.Helper()
	var got []string
	for _, url := range w.rendered.Urls() {
		got = append(got, strings.TrimPrefix(url, host))
	}
	slices.Sort(got)
	if slices.Sort(paths); !slices.Equal(got, paths) {
		t.Errorf("rendered were %q, want %q", got, paths)
	}
}

// It fails if a page that needs a browser does not get there as it was, or is parsed before, or if another page does.
func TestAdaptive(t *testing.T) {
	w := newWorlds()
	w.page("/", true, `<a href="/plain">x</a><a href="/app">x</a><a href="/404">x</a><a href="/json">x</a><a href="/named">x</a>`)
	w.page("/plain", true, `<p>text</p><a href="/app">x</a>`)
	w.page("/app", false, `<p>made</p><a href="/below">x</a>`)
	w.page("/below", true, `<p>text</p>`)
	w.plain.Page(host+"/404", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		return tegenaria.NewResponse(ctx.Request, 404, map[string][]string{"Content-Type": {"text/html"}}, []byte(shell)), nil
	})
	w.plain.Page(host+"/json", enginetest.Text(shell))
	w.plain.Page(host+"/named", asHTML(shell))
	m := browser.Adaptive(browser.AdaptiveOptions{})
	var below, made tegenaria.Request
	e := w.engine(m,
		tegenaria.EngineWithMiddlewares(middleware.Standard()...),
		tegenaria.EngineWithMiddlewares(middleware.NewRobotsTags(middleware.RobotsTagOptions{NoFollow: true})),
		tegenaria.EngineWithMiddlewares(&enginetest.Hooks{Name: "sees", Priority: 1, Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
			switch r := ctx.Request; {
			case strings.HasSuffix(r.Url, "/below"):
				below = *r
			case strings.HasSuffix(r.Url, "/app"):
				made = *r
			}
			return nil
		}}),
		tegenaria.EngineWithMiddlewares(&enginetest.FilterHooks{Hooks: enginetest.Hooks{Name: "names"}, Accept: func(_ *tegenaria.Response, r *tegenaria.Request) error {
			switch {
			case strings.HasSuffix(r.Url, "/named"):
				tegenaria.RequestWithVariant("own")(r)
			case strings.HasSuffix(r.Url, "/app") && r.Variant() == "":
				r.Meta = map[string]any{"k": "v"}
			}
			return nil
		}}))
	stats := enginetest.MustRun(t, e)
	w.wantRendered(t, "/app")
	w.wantOnce(t, "/", "/plain", "/app", "/below", "/json", "/named")
	if stats.Reasons["filtered(rendered)"] != 1 && stats.Outcomes[tegenaria.Filtered] != 1 {
		t.Errorf("outcomes %v, reasons %v", stats.Outcomes, stats.Reasons)
	}
	if made.Depth != 1 || below.Depth != 2 || made.Meta["k"] != "v" || made.Variant() != "browser" || made.Downloader() != "browser" {
		t.Errorf("the page that was made is %+v, and the one below it %+v", made, below)
	}
	if len(m.Learnt()) != 1 || m.Learnt()[0] != (browser.PathShape{Host: "a.test", Path: "/app", Agreed: 1}) {
		t.Errorf("learnt: %v", m.Learnt())
	}
}

// The options say what is unfinished.
func TestAdaptiveOptions(t *testing.T) {
	for _, tt := range []struct {
		name     string
		options  browser.AdaptiveOptions
		rendered []string
	}{
		{"a selector", browser.AdaptiveOptions{Requires: "h1"}, []string{"/app", "/text"}},
		{"a func", browser.AdaptiveOptions{Unfinished: func(page *tegenaria.Response) bool { return page.CSS("h1").Len() > 0 }}, []string{"/"}},
		{"both", browser.AdaptiveOptions{Requires: "p, h1, a", Unfinished: func(*tegenaria.Response) bool { return false }}, []string{"/app"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorlds()
			w.page("/", true, `<h1>x</h1><a href="/text">x</a><a href="/app">x</a>`)
			w.page("/text", true, `<p>x</p>`)
			w.page("/app", false, `<h1>x</h1>`)
			enginetest.MustRun(t, w.engine(browser.Adaptive(tt.options)))
			w.wantRendered(t, tt.rendered...)
			w.wantOnce(t, "/", "/text", "/app")
		})
	}
	defer func() {
		if recover() == nil {
			t.Error("an invalid selector is accepted")
		}
	}()
	browser.Adaptive(browser.AdaptiveOptions{Requires: "p:::"})
}

// list makes n pages at a path, and a list of them.
func (w *worlds) list(path string, n int, finished func(i int) bool) (paths []string) {
	var links strings.Builder
	for i := range n {
		one := fmt.Sprintf("%s%d", path, i)
		w.page(one, finished(i), fmt.Sprintf("<p>page %d</p>", i))
		paths = append(paths, one)
		fmt.Fprintf(&links, `<a href="%s">x</a>`, one)
	}
	w.page("/", true, links.String())
	return append(paths, "/")
}

// downloaded returns how many pages were asked for without the browser.
func (w *worlds) downloaded() int { return len(w.plain.Urls()) }

// Once enough pages agree, the others are rendered at once; one that is finished after all makes it download them again.
func TestAdaptiveLearns(t *testing.T) {
	w := newWorlds()
	paths := w.list("/p/", 100, func(int) bool { return false })
	m := browser.Adaptive(browser.AdaptiveOptions{Agree: 3, Recheck: 10})
	stats := enginetest.MustRun(t, w.engine(m, tegenaria.EngineWithConcurrency(1)))
	w.wantOnce(t, paths...)
	w.wantRendered(t, paths[:100]...)
	if got := w.downloaded(); got < 1+3+2 || got > 1+3+25 {
		t.Errorf("%d pages were downloaded, want the list, 3 and about every tenth", got)
	}
	if got := stats.Outcomes[tegenaria.Filtered]; got != 100 {
		t.Errorf("%d were filtered", got)
	}
	want := []browser.PathShape{{Host: "a.test", Path: "/p/*", Agreed: 3, Browser: true}}
	if !slices.Equal(m.Learnt(), want) {
		t.Errorf("learnt: %v", m.Learnt())
	}

	after := newWorlds() // the site renders its pages by itself
	paths = after.list("/p/", 100, func(int) bool { return true })
	enginetest.MustRun(t, after.engine(m, tegenaria.EngineWithConcurrency(1)))
	after.wantOnce(t, paths...)
	if n := len(after.rendered.Urls()); n > 40 {
		t.Errorf("%d pages were rendered until one was looked at", n)
	}
	if len(m.Learnt()) != 0 {
		t.Errorf("learnt: %v", m.Learnt())
	}
}

// Where only some pages need the browser, none is missed, and the others are downloaded.
func TestAdaptiveMixedPages(t *testing.T) {
	w := newWorlds()
	paths := w.list("/p/", 200, func(i int) bool { return i%10 != 0 })
	m := browser.Adaptive(browser.AdaptiveOptions{})
	enginetest.MustRun(t, w.engine(m))
	w.wantOnce(t, paths...)
	if n := len(w.rendered.Urls()); n != 20 {
		t.Errorf("%d pages were rendered", n)
	}
}

// What fails teaches nothing, and what was learnt can be forgotten.
func TestAdaptiveLearnsNothingFromFailures(t *testing.T) {
	w := newWorlds()
	w.list("/p/", 20, func(i int) bool { return i >= 4 })
	for i := range 20 {
		switch url := fmt.Sprintf("%s/p/%d", host, i); {
		case i >= 15:
			w.plain.Page(url, enginetest.Broken(http.ErrHandlerTimeout))
		case i >= 10:
			w.plain.Page(url, enginetest.Status(500))
		case i >= 4:
			w.plain.Page(url, enginetest.Text("{}"))
		}
	}
	m := browser.Adaptive(browser.AdaptiveOptions{Agree: 4})
	enginetest.MustRun(t, w.engine(m, tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithAllowStatusCode([]uint64{500})))
	if got := m.Learnt(); len(got) != 1 || !got[0].Browser || got[0].Agreed != 4 {
		t.Errorf("learnt: %v", got)
	}
	if m.Reset(); len(m.Learnt()) != 0 {
		t.Errorf("after Reset: %v", m.Learnt())
	}
}

// Requests that a browser cannot send, or that say how they want their page, are left alone.
func TestAdaptiveLeavesAlone(t *testing.T) {
	w := newWorlds()
	w.page("/", true, "<p>x</p>")
	for _, path := range []string{"/post", "/proxy", "/named", "/fetched", "/writer"} {
		w.page(path, false, "<p>made</p>")
	}
	var fetched string
	w.parse = tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		if path := strings.TrimPrefix(page.URL, host); path != "/" {
			return out.Item(path)
		}
		inline, err := out.Fetch(tegenaria.NewRequest(host+"/fetched", "", nil))
		if err != nil {
			return err
		}
		fetched = inline.String()
		for path, option := range map[string]tegenaria.RequestOption{
			"/post":  tegenaria.RequestWithMethod("POST"),
			"/proxy": tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: "http://proxy.test:1"}),
			"/named": tegenaria.RequestWithDownloader("other"), "/writer": tegenaria.RequestWithResponseWriter(new(strings.Builder)),
		} {
			if err := out.Follow(path, option); err != nil {
				return err
			}
		}
		return nil
	})
	e := w.engine(browser.Adaptive(browser.AdaptiveOptions{}))
	e.RegisterDownloader("other", w.plain)
	enginetest.MustRun(t, e)
	w.wantRendered(t)
	w.wantOnce(t, "/post", "/proxy", "/named", "/writer")
	if fetched != shell {
		t.Errorf("Fetch got %q", fetched)
	}
}

// A page whose script leads to another one is no reason to parse that twice; one that loads itself again, with a cookie, is parsed.
func TestAdaptiveFollowsScripts(t *testing.T) {
	w := newWorlds()
	w.page("/", true, `<a href="/old">x</a><a href="/older">x</a><a href="/new">x</a><a href="/wall">x</a>`)
	w.page("/new", true, "<p>x</p>")
	for _, path := range []string{"/old", "/older"} {
		w.plain.Page(host+path, asHTML(`<script>location = "/new"</script>`))
		w.rendered.Page(host+path, enginetest.Redirect(302, "/new#top"))
	}
	w.plain.Page(host+"/wall", asHTML(shell))
	w.rendered.Page(host+"/wall", enginetest.InTurn(enginetest.Redirect(302, "/wall", "Set-Cookie", "passed=1"), asHTML("<p>made</p>")))
	stats := enginetest.MustRun(t, w.engine(browser.Adaptive(browser.AdaptiveOptions{}), tegenaria.EngineWithMiddlewares(middleware.Standard()...)))
	w.wantOnce(t, "/", "/new", "/wall")
	w.wantRendered(t, "/old", "/older", "/wall", "/wall")
	if got := w.plain.Count(host + "/new"); got != 1 || stats.Outcomes[tegenaria.Redirected] != 3 {
		t.Errorf("/new was asked %d times, outcomes %v", got, stats.Outcomes)
	}
}

// Each of the two requests of a page waits for its turn.
func TestAdaptiveIsPolite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorlds()
		w.list("/p/", 10, func(i int) bool { return i%2 == 0 })
		m := browser.Adaptive(browser.AdaptiveOptions{Agree: 2})
		enginetest.MustRun(t, w.engine(m, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: 10 * time.Second})))
		var starts []time.Time
		for _, v := range append(w.plain.Visits(), w.rendered.Visits()...) {
			starts = append(starts, v.At)
		}
		slices.SortFunc(starts, time.Time.Compare)
		if len(starts) != 11+5 {
			t.Fatalf("%d downloads", len(starts))
		}
		for i := range starts[1:] {
			if gap := starts[i+1].Sub(starts[i]); gap != 10*time.Second {
				t.Errorf("download %d began %s after the one before", i+1, gap)
			}
		}
	})
}

// robots.txt is asked for once, and holds for pages that are rendered.
func TestAdaptiveObeysRobots(t *testing.T) {
	w := newWorlds()
	w.list("/p/", 10, func(int) bool { return false })
	w.plain.Page(host+"/robots.txt", enginetest.Text("User-agent: *\nDisallow: /p/7\n"))
	m := browser.Adaptive(browser.AdaptiveOptions{Agree: 1})
	stats := enginetest.MustRun(t, w.engine(m, tegenaria.EngineWithPoliteness(tegenaria.Politeness{})))
	if w.plain.Count(host+"/p/7")+w.rendered.Count(host+"/p/7") != 0 || stats.Outcomes[tegenaria.Robots] != 1 || len(w.rendered.Urls()) != 9 {
		t.Errorf("the browser was asked for %q, outcomes %v", w.rendered.Urls(), stats.Outcomes)
	}
}

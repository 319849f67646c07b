package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
)

// numbered repeats a format with growing numbers.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// A page that is made to exhaust the memory fails alone, by whatever way it is read, with the typed error; the pages beside
// it are fetched. It fails when Response does not charge JSON.
func TestH01BombsFailAlone(t *testing.T) {
	const size = 3 << 20
	bodies := map[string]struct{ contentType, body string }{
		"/deep":    {"text/html", strings.Repeat("<b>", size/3)},
		"/nodes":   {"text/html", strings.Repeat("<br>", size/4)},
		"/attrs":   {"text/html", "<p " + strings.Repeat("a ", size/2) + ">"},
		"/links":   {"text/html", "<base href=/" + strings.Repeat("x", 1000) + "/>" + numbered("<a href=%d>", size/20)},
		"/charset": {"text/html; charset=windows-1252", strings.Repeat("\x80", size)},
		"/xml":     {"text/xml", "<r>" + strings.Repeat("<a/>", size/4)},
		"/json":    {"application/json", "[" + strings.Repeat(`{"a":0},`, size/8) + "0]"},
	}
	ways := map[string]struct {
		read func(*tegenaria.Response, *tegenaria.Output[int]) error
		of   string // pages that it fails on
	}{
		"CSS":   {func(r *tegenaria.Response, _ *tegenaria.Output[int]) error { r.CSS("p"); return nil }, "/deep /nodes /attrs /links /charset /xml"},
		"XPath": {func(r *tegenaria.Response, _ *tegenaria.Output[int]) error { r.XPath("//p"); return nil }, "/deep /nodes /attrs /links /charset /xml"},
		"Links": {func(r *tegenaria.Response, _ *tegenaria.Output[int]) error { r.Links(); return nil }, "/links /charset"},
		"FollowLinks": {func(_ *tegenaria.Response, out *tegenaria.Output[int]) error {
			return out.FollowLinks(links.CSS("main"))
		}, "/deep /nodes /attrs /charset"},
		"Text":   {func(r *tegenaria.Response, _ *tegenaria.Output[int]) error { _, err := r.Text(); return err }, "/charset"},
		"Follow": {func(r *tegenaria.Response, _ *tegenaria.Output[int]) error { _, err := r.Follow("/x"); return err }, "/charset"},
		"Decode": {func(r *tegenaria.Response, _ *tegenaria.Output[int]) error {
			var v any
			return r.Decode(&v)
		}, "/json"},
	}
	url, _ := enginetest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		b, ok := bodies[r.URL.Path]
		if !ok {
			b.contentType, b.body = "text/html", `"<p>good"`
		}
		w.Header().Set("Content-Type", b.contentType)
		io.WriteString(w, b.body)
	})
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			urls := []string{url + "/good/1", url + "/good/2"}
			for _, path := range strings.Fields(way.of) {
				urls = append(urls, url+path, url+path+"?again")
			}
			var mu sync.Mutex
			failed := 0
			engine := tegenaria.NewSpiderEngine(
				tegenaria.EngineWithSpiders(tegenaria.NewSpider("bombs", tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[int]) error {
					return way.read(r, out)
				}), urls...)),
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
				tegenaria.EngineWithLimits(tegenaria.Limits{Body: 4 << 20, BodiesInFlight: 8 << 20, Nodes: 200_000, Attributes: 100_000}),
				tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
					mu.Lock()
					defer mu.Unlock()
					var parse *selector.ParseError
					var limit *html.LimitError
					if !errors.As(err, &parse) || !errors.As(err, &limit) || err.Stage != tegenaria.StageParse {
						t.Errorf("%s: %v", err.Request.Url, err)
					}
					failed++
				}))
			if err := engine.Run(t.Context(), "bombs"); err != nil {
				t.Fatal(err)
			}
			stats := engine.Stats()
			if want := len(urls) - 2; failed != want || stats.Outcomes[tegenaria.Failed] != int64(want) {
				t.Errorf("%d of %d bombs failed, outcomes %v", failed, want, stats.Outcomes)
			}
			if stats.Outcomes[tegenaria.Fetched] != 2 {
				t.Errorf("outcomes %v", stats.Outcomes)
			}
		})
	}
}

// Limits.Nodes and Limits.Attributes end the tree of a page for which there is memory, and the memory that one page may take
// ends a tree that has fewer of both. It fails without the selector.Bounds of parserOptions.
func TestH01BoundsOfTreesEndThemAlone(t *testing.T) {
	for _, tt := range []struct {
		what, body string
		limits     tegenaria.Limits
	}{
		{"nodes", strings.Repeat("<br>", 60_000), tegenaria.Limits{Nodes: 50_000}},
		{"attributes", numbered("<p a%d=b c>", 5000), tegenaria.Limits{Attributes: 9000}},
		{"bytes", strings.Repeat("<br>", 400_000), tegenaria.Limits{Body: 2 << 20, BodiesInFlight: 4 << 20}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			url, _ := enginetest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				io.WriteString(w, tt.body)
			})
			var told error
			engine := tegenaria.NewSpiderEngine(
				tegenaria.EngineWithSpiders(tegenaria.NewSpider("bounds", tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, _ *tegenaria.Output[int]) error {
					r.CSS("p")
					return nil
				}), url)),
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
				tegenaria.EngineWithLimits(tt.limits),
				tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) { told = err }))
			if err := engine.Run(t.Context(), "bounds"); err != nil {
				t.Fatal(err)
			}
			var limit *html.LimitError
			if !errors.As(told, &limit) || !strings.Contains(limit.What, tt.what) {
				t.Errorf("%v, want a limit of %s", told, tt.what)
			}
		})
	}
}

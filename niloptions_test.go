package tegenaria_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
	"github.com/tegenaria/tegenaria/sitemap"
)

// A nil option of an engine, a crawl or a feed is a mistake that ends the run before its first request, with an error that names the
// option. It fails if NewSpiderEngine or newFeed calls an option without a look at it.
func TestH10NilEngineAndFeedOptions(t *testing.T) {
	w := newWorld().page("http://a.test/", text("x"))
	out := filepath.Join(t.TempDir(), "out.jsonl")
	for name, tt := range map[string]struct {
		run  func() error
		says []string
	}{
		"engine": {func() error {
			return newEngine(w, newSpider("http://a.test/"), nil, tegenaria.EngineWithConcurrency(2), nil).Run(t.Context(), "test")
		}, []string{"engine option 5 is nil", "engine option 7 is nil"}},
		"engine alone": {func() error { return tegenaria.NewSpiderEngine(nil).Run(t.Context(), "test") }, []string{"engine option 1 is nil"}},
		"Crawl": {func() (last error) {
			for _, err := range tegenaria.Crawl[string](t.Context(), newSpider("http://a.test/"), tegenaria.EngineWithDownloader(w), nil) {
				last = err
			}
			return last
		}, []string{"engine option 2 is nil"}},
		"feed": {func() error {
			return newEngine(w, newSpider("http://a.test/"), tegenaria.EngineWithPipelines(feed.JSONL(out, feed.Overwrite(), nil))).Run(t.Context(), "test")
		}, []string{"feed: option 2 is nil"}},
		"feed to stdout": {func() error {
			return newEngine(w, newSpider("http://a.test/"), tegenaria.EngineWithPipelines(feed.JSONL("-", nil))).Run(t.Context(), "test")
		}, []string{"feed: option 1 is nil"}},
		"feed to a writer": {func() error {
			return newEngine(w, newSpider("http://a.test/"), tegenaria.EngineWithPipelines(feed.JSONLTo(&strings.Builder{}, nil))).Run(t.Context(), "test")
		}, []string{"feed: option 1 is nil"}},
	} {
		err := tt.run()
		var wrong *tegenaria.RunError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, text := range tt.says {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want it to say %q", name, err, text)
			}
		}
	}
	if n := w.count("http://a.test/"); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	if _, err := disk.Open(filepath.Join(t.TempDir(), "job"), disk.Fresh(), nil); err == nil || !strings.Contains(err.Error(), "option 2 is nil") {
		t.Errorf("disk.Open: %v", err)
	}
}

// A request with a nil option, or whose Context has one, is refused by a RequestError that names the option, however it is
// sent; nothing else of the page is lost. A nil option of links is the failure of its page. It fails if NewRequest or
// NewContext calls an option without a look at it.
func TestH10NilRequestOptions(t *testing.T) {
	w := newWorld().page("http://a.test/", text("x")).page("http://a.test/good", text("x"))
	var fetched error
	s := newSpider()
	s.start = func(req chan<- *tegenaria.Context) {
		req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/seed", tegenaria.GET, nil, tegenaria.RequestWithDoNotFilter(true), nil))
		req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/context", tegenaria.GET, nil), nil)
		req <- tegenaria.NewContext(nil, nil)
		req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", tegenaria.GET, nil))
	}
	s.parse = tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
		if r.URL != "http://a.test/" {
			return nil
		}
		_, fetched = out.Fetch(tegenaria.NewRequest("http://a.test/fetched", tegenaria.GET, nil, nil))
		return errors.Join(out.Follow("/followed", nil), out.Request(tegenaria.NewRequest("http://a.test/sent", tegenaria.GET, nil, nil)),
			out.Follow("/good"), out.FollowLinks(nil))
	})
	stats := mustRun(t, newEngine(w, s))
	refused := make(map[string]string)
	for _, herr := range s.errors() {
		var wrong *tegenaria.RequestError
		var panicked *tegenaria.PanicError
		switch {
		case errors.As(herr, &wrong):
			refused[strings.TrimPrefix(wrong.URL, "http://a.test/")] = wrong.Field
		case errors.As(herr, &panicked):
			refused["links"] = panicked.Error()
		}
	}
	var inline *tegenaria.RequestError
	if !errors.As(fetched, &inline) || inline.Field != "RequestOption 1" {
		t.Errorf("Fetch: %v", fetched)
	}
	for url, want := range map[string]string{
		"seed": "RequestOption 2", "context": "ContextOption 1", "followed": "RequestOption 1", "sent": "RequestOption 1",
		"links": "panic: links: option 1 is nil; leave it out",
	} {
		if refused[url] != want {
			t.Errorf("%s: refused as %q, want %q", url, refused[url], want)
		}
	}
	if stats.Outcomes[tegenaria.Fetched] != 1 || w.count("http://a.test/good") != 1 || w.count("http://a.test/seed") != 0 {
		t.Errorf("outcomes %v", stats.Outcomes)
	}
	cause := errors.New("cause")
	if err := tegenaria.NewError("1", cause, nil, tegenaria.ErrorWithStage(tegenaria.StageParse)); !errors.Is(err, cause) ||
		err.Stage != tegenaria.StageParse || !strings.Contains(err.Error(), "ErrorOption 1 is nil") {
		t.Errorf("NewError: %v", err)
	}
	for _, opts := range [][]links.Option{{nil}, {links.SkipNoFollow(), nil}} {
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(v.(string), "is nil") {
					t.Errorf("links: %v", v)
				}
			}()
			links.Extract([]byte("<a href=x>"), "http://a.test/", opts...)
		}()
	}
}

// A nil option of what can be used alone is an error that names it. It fails if html.Parse, selector.Parse or sitemap.Parse
// calls an option without a look at it.
func TestH10NilOptionsOfTheAnnex(t *testing.T) {
	source := []byte("<p>x</p>")
	for name, f := range map[string]func() error{
		"html.Parse":    func() error { _, err := html.Parse(source, html.MaxNodes(9), nil); return err },
		"html.ParseXML": func() error { _, err := html.ParseXML(source, html.MaxNodes(9), nil); return err },
		"html.ParseFragment": func() error {
			_, err := html.ParseFragment(source, html.Context{Name: "div"}, html.MaxNodes(9), nil)
			return err
		},
		"html.NewComposer": func() error { _, err := html.NewComposer(html.MaxNodes(9), nil).Document(); return err },
		"selector.Parse":   func() error { return selector.Parse(source, selector.XML(), nil).Err() },
		"selector.Bounds":  func() error { return selector.Parse(source, selector.Bounds(html.MaxNodes(9), nil)).Err() },
		"sitemap.Parse": func() (err error) {
			for _, err = range sitemap.Parse(strings.NewReader("<urlset/>"), "", sitemap.MaxURLs(1), nil) {
			}
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "option 2 is nil") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := selector.Parse(source, nil).Err(); !errors.As(err, new(*selector.ParseError)) {
		t.Errorf("selector.Parse: %v is no ParseError", err)
	}
}

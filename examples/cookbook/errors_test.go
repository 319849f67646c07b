package cookbook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
)

// The programs of docs/guides/errors.md.

// careful asks a mirror for the first page when that fails, and retries timeouts.
func careful(url, mirror string) *tegenaria.Spider {
	first := tegenaria.NewRequest(url, tegenaria.GET, nil)
	return tegenaria.NewSpiderOf("books", tegenaria.Handle(detail), first).OnError(
		func(err *tegenaria.HandleError, emit func(*tegenaria.Request) error) error {
			var slow *tegenaria.TimeoutError
			var status *tegenaria.StatusError
			switch r := err.Request; {
			case r == nil: // not about a request
			case errors.As(err, &slow):
				return emit(r) // the same request: a retry, up to Limits.Attempts
			case errors.As(err, &status) && r.Depth == 0:
				return emit(tegenaria.NewRequest(mirror, tegenaria.GET, nil)) // another request
			}
			return nil
		})
}

func TestMirror(t *testing.T) {
	site := start(t)
	spider := careful(site.URL()+"/missing/", site.URL()+"/books/emma/")
	if books := crawl[book](t, spider); len(books) != 1 || books[0].Title != "Emma" {
		t.Errorf("books: %+v", books)
	}
}

// gone reads pages whose status is 404 too.
func gone(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
	if page.Status == http.StatusNotFound {
		return out.Item("gone: " + page.URL)
	}
	return out.Follow("/missing/", tegenaria.RequestWithAllowedStatusCode([]uint64{404}))
}

func TestAllowedStatus(t *testing.T) {
	site := start(t)
	items := crawl[string](t, tegenaria.NewSpider("gone", tegenaria.Handle(gone), site.URL()+"/"))
	if !slices.Equal(items, []string{"gone: " + site.URL() + "/missing/"}) {
		t.Errorf("items: %q", items)
	}
}

// explain prints how a crawl ended, and returns the exit code of the program.
func explain(err error) int {
	var stopped *tegenaria.StoppedError
	var nothing *tegenaria.NothingError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &stopped) && strings.HasPrefix(stopped.Reason, "limit: "):
		fmt.Fprintln(os.Stderr, "a limit has ended the crawl:", stopped.Reason)
		return 0
	case errors.As(err, &nothing):
		for _, seed := range nothing.Seeds {
			fmt.Fprintln(os.Stderr, seed.URL, seed.Outcome, seed.Reason, seed.Remedy)
		}
		return 2
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func TestExplainError(t *testing.T) {
	site := start(t)
	for _, c := range []struct {
		name   string
		path   string
		limits tegenaria.Limits
		want   int
	}{
		{"good", "/quotes/", tegenaria.Limits{}, 0},
		{"a limit", "/quotes/", tegenaria.Limits{Pages: 2}, 0},
		{"nothing", "/private/", tegenaria.Limits{}, 2},
		{"wiring", "/quotes/", tegenaria.Limits{Pages: -1}, 1},
	} {
		engine := tegenaria.NewSpiderEngine(
			tegenaria.EngineWithSpiders(tegenaria.NewSpider("quotes", tegenaria.Handle(parse), site.URL()+c.path)),
			tegenaria.EngineWithLimits(c.limits),
			tegenaria.EngineWithQuiet(),
		)
		err := engine.Run(t.Context(), "quotes")
		if code := explain(err); code != c.want {
			t.Errorf("%s: exit code %d, want %d: %v", c.name, code, c.want, err)
		}
	}
}

// ErrorChan has the errors of a run, for code that wants to range over them.
func TestErrorChan(t *testing.T) {
	site, ctx := start(t), t.Context()
	spider := tegenaria.NewSpider("two", tegenaria.Handle(titles), site.URL()+"/books/emma/", site.URL()+"/missing/")
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithLimits(tegenaria.Limits{Depth: tegenaria.OnlySeeds}))
	var lines []string
	errs := engine.ErrorChan()
	var reader sync.WaitGroup
	reader.Go(func() {
		for err := range errs { // ends with the run
			lines = append(lines, err.Error())
		}
	})
	err := engine.Run(ctx, "two")
	reader.Wait()
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0], "404") {
		t.Errorf("%q, %v", lines, err)
	}
}

// The table of the guide: each verb ends a request or an item as the guide says.
func TestVerbs(t *testing.T) {
	for _, c := range []struct {
		name    string
		verb    error
		reasons string
		stopped string
	}{
		{"an error", errors.New("broken"), "failed: parse", ""},
		{"GiveUp", tegenaria.GiveUp(errors.New("captcha")), "gave-up: captcha", ""},
		{"CloseSpider", tegenaria.CloseSpider("enough"), "", "enough"},
	} {
		synctest.Test(t, func(t *testing.T) {
			fails := func(context.Context, *tegenaria.Response, *tegenaria.Output[string]) error { return c.verb }
			engine := tegenaria.NewSpiderEngine(
				tegenaria.EngineWithSpiders(tegenaria.NewSpider("one", tegenaria.Handle(fails), "http://demo.example/")),
				tegenaria.EngineWithQuiet(), web(t, demosite.Handler()))
			err := engine.Run(t.Context(), "one")
			if n := engine.Stats().Reasons[c.reasons]; c.reasons != "" && n != 1 {
				t.Errorf("%s: %v, and not %s; %v", c.name, engine.Stats().Reasons, c.reasons, err)
			}
			var stopped *tegenaria.StoppedError
			if errors.As(err, &stopped) != (c.stopped != "") || stopped != nil && stopped.Reason != c.stopped {
				t.Errorf("%s: ended with %v", c.name, err)
			}
		})
	}
}

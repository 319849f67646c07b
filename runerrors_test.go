package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/middleware"
)

// runQuietly runs a spider with an engine that has nothing from the tests' world but its pages.
func runQuietly(w tegenaria.Downloader, s tegenaria.SpiderInterface, opts ...tegenaria.EngineOption) error {
	e := tegenaria.NewSpiderEngine(append([]tegenaria.EngineOption{
		tegenaria.EngineWithSpiders(s), tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithDownloader(w),
	}, opts...)...)
	return e.Run(context.Background(), s.GetName())
}

// scoped returns the option of an engine with a Scope.
func scoped(o middleware.ScopeOptions) tegenaria.EngineOption {
	m, err := middleware.NewScope(o)
	if err != nil {
		panic(err)
	}
	return tegenaria.EngineWithMiddlewares(m)
}

// A run that got no page says so: which request ended how, and what to do. The sentences are in the golden files of e2e/mistakes.
func TestNothingError(t *testing.T) {
	ignore := tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true})
	forbid := enginetest.NewWorld().Page("http://a.test/robots.txt", enginetest.Text("User-agent: *\nDisallow: /"))
	ok := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	broken := enginetest.NewWorld().Page("http://a.test/", enginetest.Broken(errBroken))
	for _, tt := range []struct {
		name    string
		world   *enginetest.World
		url     string
		opts    []tegenaria.EngineOption
		outcome tegenaria.Outcome
		reason  string
		remedy  string // in that of the error; "": not compared
		err     bool   // there is one
	}{
		{"bad URL", ok, "a.test/x", nil, tegenaria.Filtered, "url", "", true},
		{"another scheme", ok, "ftp://a.test/", nil, tegenaria.Filtered, "scheme", "", true},
		{"off site", ok, "http://b.test/", []tegenaria.EngineOption{ignore, tegenaria.EngineWithAllowedDomains("a.test")}, tegenaria.Filtered, "offsite", "", false},
		{"a denied host", ok, "http://b.test/", []tegenaria.EngineOption{ignore, scoped(middleware.ScopeOptions{DenyDomains: []string{"b.test"}})},
			tegenaria.Filtered, "denied", "ScopeOptions.DenyDomains", false},
		{"a path of the scope", ok, "http://b.test/x", []tegenaria.EngineOption{ignore, scoped(middleware.ScopeOptions{Paths: []string{"/y"}})},
			tegenaria.Filtered, "path", "ScopeOptions.Paths or DenyPaths", false},
		{"robots.txt", forbid, "http://a.test/x", nil, tegenaria.Robots, "forbidden", "", false},
		{"404", ok, "http://a.test/gone", []tegenaria.EngineOption{ignore}, tegenaria.Failed, "status", "", true},
		{"unreachable", broken, "http://a.test/", []tegenaria.EngineOption{ignore}, tegenaria.Failed, "download", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := runQuietly(tt.world, tegenaria.NewSpider("test", enginetest.Nothing, tt.url), tt.opts...)
				var nothing *tegenaria.NothingError
				if !errors.As(err, &nothing) || nothing.Spider != "test" || nothing.Unparsed != 0 || len(nothing.Seeds) != 1 {
					t.Fatalf("Run returned %v", err)
				}
				seed := nothing.Seeds[0]
				if seed.URL != tt.url || seed.Outcome != tt.outcome || seed.Reason != tt.reason ||
					(seed.Err != nil) != tt.err || !strings.Contains(seed.Remedy, tt.remedy) {
					t.Errorf("%+v, want %v, %s, %s", seed, tt.outcome, tt.reason, tt.remedy)
				}
			})
		})
	}
}

// A run without a request returns a NothingError; one with a page, or with EngineWithEmptyOK, returns none.
func TestNothingErrorOrNone(t *testing.T) {
	ok := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	for _, tt := range []struct {
		name string
		urls []string
		opts []tegenaria.EngineOption
		want bool
	}{
		{"no URLs", nil, nil, true},
		{"a page", []string{"http://a.test/", "http://b.test/"}, nil, false},
		{"empty is all right", nil, []tegenaria.EngineOption{tegenaria.EngineWithEmptyOK()}, false},
		{"a failure is all right", []string{"http://a.test/gone"}, []tegenaria.EngineOption{tegenaria.EngineWithEmptyOK()}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := append(tt.opts, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
				err := runQuietly(ok, tegenaria.NewSpider("test", enginetest.Nothing, tt.urls...), opts...)
				var nothing *tegenaria.NothingError
				if errors.As(err, &nothing) != tt.want || !tt.want && err != nil || tt.want && len(nothing.Seeds) != 0 {
					t.Errorf("Run returned %v", err)
				}
			})
		})
	}
}

// An error handler that fails does not hide why it was called.
func TestNothingErrorOfFailingHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tegenaria.NewSpiderOf("test", enginetest.Nothing, tegenaria.NewRequest("http://a.test/gone", "", nil)).
			OnError(func(*tegenaria.HandleError, func(*tegenaria.Request) error) error { panic("in the handler") })
		err := runQuietly(enginetest.NewWorld(), s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
		if err == nil || !strings.Contains(err.Error(), "http://a.test/gone: status 404") {
			t.Errorf("Run returned %v", err)
		}
	})
}

// A request that an error handler sends again and again is one line of the error.
func TestNothingErrorOfRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tegenaria.NewSpiderOf("test", enginetest.Nothing, tegenaria.NewRequest("http://a.test/gone", "", nil)).
			OnError(func(err *tegenaria.HandleError, emit func(*tegenaria.Request) error) error { return emit(err.Request) })
		err := runQuietly(enginetest.NewWorld(), s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
		var nothing *tegenaria.NothingError
		if !errors.As(err, &nothing) || len(nothing.Seeds) != 1 || strings.Count(err.Error(), "gone") != 1 {
			t.Errorf("Run returned %v", err)
		}
	})
}

// A seed that redirects to itself has the reason for which that ended, and is no other request.
func TestNothingErrorOfRedirects(t *testing.T) {
	redirect := func(to string) enginetest.Answer { return enginetest.Redirect(302, to) }
	for _, tt := range []struct {
		name  string
		pages map[string]enginetest.Answer
		want  []string
	}{
		{"to itself", map[string]enginetest.Answer{"http://a.test/": redirect("/")}, []string{"http://a.test/: redirect loop"}},
		{"and back", map[string]enginetest.Answer{"http://a.test/": redirect("/b"), "http://a.test/b": redirect("/")}, []string{"http://a.test/: redirected", "http://a.test/b: redirect loop"}},
		{"to nothing", map[string]enginetest.Answer{"http://a.test/": redirect("/gone")}, []string{"http://a.test/: redirected", "http://a.test/gone: status 404"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld()
				for url, answer := range tt.pages {
					w.Page(url, answer)
				}
				err := runQuietly(w, tegenaria.NewSpider("test", enginetest.Nothing, "http://a.test/"), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
				var nothing *tegenaria.NothingError
				if !errors.As(err, &nothing) || len(nothing.Seeds) != len(tt.want) {
					t.Fatalf("Run returned %v", err)
				}
				for _, want := range tt.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q is not in %v", want, err)
					}
				}
			})
		})
	}
}

// A crawl whose parsers have all failed says so, with the first causes. One that has succeeded is enough.
func TestNothingErrorOfFailedParsers(t *testing.T) {
	fails := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
		switch page.URL {
		case "http://a.test/panics":
			panic("a bug")
		case "http://a.test/ok":
			return nil
		case "http://a.test/item":
			return out.Item(1)
		case "http://a.test/ignored":
			return tegenaria.ErrIgnoreRequest
		case "http://a.test/again":
			return tegenaria.Retry(0, errBroken)
		}
		if page.URL == "http://a.test/partly" {
			return errors.Join(out.Item(1), errBroken)
		}
		return fmt.Errorf("no price on %s", page.URL)
	})
	badItem := tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, func(context.Context, any) (any, error) { return nil, errBroken }))
	for _, tt := range []struct {
		name     string
		paths    []string
		opts     []tegenaria.EngineOption
		unparsed int64 // 0: no error
		want     []string
	}{
		{"one", []string{"/1"}, nil, 1, []string{`spider "test" got pages, and its parsers failed on all of them (1 failure)`, "http://a.test/1: no price on"}},
		{"a panic, and a status beside it", []string{"/gone", "/panics"}, nil, 1, []string{"http://a.test/panics: ", "a bug"}},
		{"many", []string{"/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9", "/10", "/11", "/12"}, nil, 12, []string{"(12 failures)", "and 2 requests more"}},
		{"tried as often as it may be", []string{"/again"}, nil, 1, []string{"http://a.test/again: ", errBroken.Error()}},
		{"and one that has succeeded", []string{"/1", "/ok", "/2"}, nil, 0, nil},
		{"one that has failed after an item, which passed", []string{"/1", "/partly"}, nil, 0, nil},
		{"one that has failed after an item, which has failed", []string{"/partly"}, []tegenaria.EngineOption{badItem}, 1, nil},
		{"a page that was ignored", []string{"/ignored"}, nil, 0, nil},
		{"an item that has failed", []string{"/item"}, []tegenaria.EngineOption{badItem}, 0, nil},
		{"which is all right", []string{"/1"}, []tegenaria.EngineOption{tegenaria.EngineWithEmptyOK()}, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, urls := enginetest.NewWorld(), []string(nil)
				for _, path := range tt.paths {
					urls = append(urls, "http://a.test"+path)
					if path != "/gone" {
						w.Page("http://a.test"+path, enginetest.Text("<html>"))
					}
				}
				opts := append(tt.opts, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
				err := runQuietly(w, tegenaria.NewSpider("test", fails, urls...), opts...)
				var nothing *tegenaria.NothingError
				if errors.As(err, &nothing) != (tt.unparsed > 0) || err != nil && (tt.unparsed == 0 || nothing.Unparsed != tt.unparsed) {
					t.Fatalf("Run returned %v", err)
				}
				for _, want := range tt.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q is not in %q", want, err)
					}
				}
			})
		})
	}
}

// The parsers of a durable job are judged together, whichever run they belong to.
func TestNothingErrorOfFailedParsersInJob(t *testing.T) {
	for name, succeeds := range map[string]string{"in the first run": "http://a.test/1", "in the second run": "http://a.test/2", "in none": ""} {
		t.Run(name, func(t *testing.T) {
			store, err := disk.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			w := enginetest.NewWorld().Page("http://a.test/1", enginetest.Text("x")).Page("http://a.test/2", enginetest.Text("x"))
			parser := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
				if page.URL == succeeds {
					return nil
				}
				return errBroken
			})
			run := func(opts ...tegenaria.EngineOption) error {
				return runQuietly(w, tegenaria.NewSpider("test", parser, "http://a.test/1", "http://a.test/2"), append(opts, tegenaria.EngineWithCache(store),
					tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1}))...)
			}
			enginetest.WantStopped(t, run(tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 1})), "limit: pages")
			var nothing *tegenaria.NothingError
			if err := run(); errors.As(err, &nothing) != (succeeds == "") || nothing != nil && nothing.Unparsed != 2 {
				t.Errorf("the second run returned %v", err)
			}
		})
	}
}

package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// trace keeps what happened, in order.
type trace struct {
	mu   sync.Mutex // guards list
	list []string
}

func (l *trace) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, fmt.Sprintf(format, args...))
}

func (l *trace) want(t testing.TB, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.list, want) {
		t.Errorf("got  %q\nwant %q", l.list, want)
	}
}

// tracing is a middleware that writes down what it sees.
func tracing(l *trace, name string, priority int) *enginetest.Hooks {
	return &enginetest.Hooks{Name: name, Priority: priority,
		Request: func(*tegenaria.Context) error { l.add("request %s", name); return nil },
		Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
			l.add("response %s %d", name, ctx.Response().Status)
			return nil
		},
	}
}

// Requests pass in ascending order, responses in exact reverse; equals keep the order of registration.
func TestMiddlewareOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 4, 0, 3, 1}} {
		l := &trace{}
		all := []*enginetest.Hooks{tracing(l, "a", -1), tracing(l, "b", 0), tracing(l, "c", 1), tracing(l, "d", 1), tracing(l, "e", 7)}
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = enginetest.Nothing
		e := enginetest.NewEngine(w, s)
		for _, i := range order {
			e.RegisterDownloadMiddlewares(all[i])
		}
		enginetest.MustRun(t, e)
		c, d := "c", "d"
		if slices.Index(order, 3) < slices.Index(order, 2) {
			c, d = d, c
		}
		l.want(t, "request a", "request b", "request "+c, "request "+d, "request e",
			"response e 200", "response "+d+" 200", "response "+c+" 200", "response b 200", "response a 200")
	}
}

// An error ends the way of the request, in either direction, and what is known of it is told.
func TestMiddlewareErrors(t *testing.T) {
	for _, tt := range []struct {
		where    string
		stage    tegenaria.Stage
		response bool
		trace    []string
	}{
		{"request", tegenaria.StageRequest, false, []string{"request a", "request bad"}},
		{"response", tegenaria.StageResponse, true, []string{"request a", "request bad", "request c", "response c 200", "response bad 200"}},
	} {
		t.Run(tt.where, func(t *testing.T) {
			l := &trace{}
			bad := tracing(l, "bad", 2)
			if tt.where == "request" {
				bad.Request = func(*tegenaria.Context) error { l.add("request bad"); return errBroken }
			} else {
				bad.Response = func(*tegenaria.Context, chan<- *tegenaria.Context) error { l.add("response bad 200"); return errBroken }
			}
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
			s := enginetest.NewSpider("http://a.test/")
			var failed *tegenaria.Context
			m := &enginetest.ErrorHooks{Hooks: enginetest.Hooks{Name: "last", Priority: 99}, Failed: func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
				failed = ctx
				return err
			}}
			var engine []*tegenaria.HandleError
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(tracing(l, "a", 1), bad, tracing(l, "c", 3), m),
				tegenaria.EngineWithErrorHandler(func(spider tegenaria.SpiderInterface, err *tegenaria.HandleError) {
					if spider != tegenaria.SpiderInterface(s) || len(s.Errors()) != 0 {
						t.Error("the engine's ErrorHandler comes first, and is told the spider")
					}
					engine = append(engine, err)
				})))
			l.want(t, tt.trace...)
			herr := s.OnlyError(t)
			if !errors.Is(herr, errBroken) || herr.Stage != tt.stage || herr.Request.Url != "http://a.test/" || (herr.Response != nil) != tt.response || herr.CtxId == "" {
				t.Errorf("ErrorHandler got %+v", herr)
			}
			if len(engine) != 1 || engine[0] != herr {
				t.Errorf("the engine's ErrorHandler got %v", engine)
			}
			if failed == nil || !errors.Is(failed.Error, errBroken) {
				t.Error("Context.Error is not set")
			}
			enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1})
		})
	}
}

// A middleware may answer itself: nothing is downloaded, and the answer passes all ProcessResponse.
func TestMiddlewareAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(ctx *tegenaria.Context) *tegenaria.RequestResult
		want   map[tegenaria.Outcome]int64
		body   string
		trace  []string
	}{
		{"response", func(ctx *tegenaria.Context) *tegenaria.RequestResult {
			return &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, nil, []byte("cached"))}
		}, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1}, "cached", []string{"request a", "response b 200", "response a 200"}},
		{"by hand", func(*tegenaria.Context) *tegenaria.RequestResult {
			return &tegenaria.RequestResult{Response: &tegenaria.Response{Status: 204}}
		}, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1}, "", []string{"request a", "response b 204", "response a 204"}},
		{"status", func(ctx *tegenaria.Context) *tegenaria.RequestResult {
			return &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 404, nil, nil)}
		}, map[tegenaria.Outcome]int64{tegenaria.Failed: 1}, "", []string{"request a", "response b 404", "response a 404"}},
		{"error", func(ctx *tegenaria.Context) *tegenaria.RequestResult {
			return &tegenaria.RequestResult{Error: tegenaria.NewError("", errBroken)}
		}, map[tegenaria.Outcome]int64{tegenaria.Failed: 1}, "", []string{"request a"}},
		{"nothing", func(*tegenaria.Context) *tegenaria.RequestResult { return &tegenaria.RequestResult{} },
			map[tegenaria.Outcome]int64{tegenaria.Failed: 1}, "", []string{"request a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &trace{}
			m := &enginetest.Hooks{Priority: 2, Request: func(ctx *tegenaria.Context) error { ctx.DownloadResult = tt.answer(ctx); return nil }}
			w := enginetest.NewWorld()
			s := enginetest.NewSpider("http://a.test/")
			body := "?"
			s.Parse = parserOf(func(ctx *tegenaria.Context) error {
				r := ctx.Response()
				body = r.String()
				if r.Header == nil || r.URL != "http://a.test/" || r.Request() != ctx.Request || r.Context() != ctx || r.Buffer == nil {
					t.Errorf("the response was not completed: %+v", r)
				}
				return nil
			})
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(tracing(l, "a", 1), m, tracing(l, "b", 3))))
			l.want(t, tt.trace...)
			enginetest.WantOutcomes(t, stats, tt.want)
			if len(w.Visits()) != 0 || stats.RequestDownloaded != 0 {
				t.Errorf("it was downloaded: %q", w.Urls())
			}
			if stats.Outcomes[tegenaria.Fetched] == 1 && body != tt.body {
				t.Errorf("the parser got %q", body)
			}
		})
	}
}

// A middleware that takes the response away, and a downloader that brings none.
func TestNoResponse(t *testing.T) {
	for name, tt := range map[string]struct {
		page enginetest.Answer
		hook func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error
	}{
		"downloader": {enginetest.Broken(nil), nil},
		"middleware": {enginetest.Text("x"), func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
			ctx.DownloadResult.Response = nil
			return nil
		}},
		"no result": {enginetest.Text("x"), func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { ctx.DownloadResult = nil; return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewSpider("http://a.test/")
			m := &enginetest.Hooks{Response: tt.hook}
			enginetest.MustRun(t, enginetest.NewEngine(enginetest.NewWorld().Page("http://a.test/", tt.page), s, tegenaria.EngineWithMiddlewares(m)))
			if herr := s.OnlyError(t); herr.Err.Error() != "response is nil" {
				t.Errorf("ErrorHandler got %v", herr)
			}
		})
	}
}

func TestErrIgnoreRequest(t *testing.T) {
	for _, where := range []string{"ProcessRequest", "ProcessResponse", "AcceptRequest"} {
		t.Run(where, func(t *testing.T) {
			ignore := fmt.Errorf("not now: %w", tegenaria.ErrIgnoreRequest)
			m := &enginetest.FilterHooks{Accept: func(*tegenaria.Response, *tegenaria.Request) error { return nil }}
			switch where {
			case "ProcessRequest":
				m.Request = func(*tegenaria.Context) error { return ignore }
			case "ProcessResponse":
				m.Response = func(*tegenaria.Context, chan<- *tegenaria.Context) error { return ignore }
			case "AcceptRequest":
				m.Accept = func(*tegenaria.Response, *tegenaria.Request) error { return ignore }
			}
			s := enginetest.NewSpider("http://a.test/")
			stats := enginetest.MustRun(t, enginetest.NewEngine(enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")), s, tegenaria.EngineWithMiddlewares(m)))
			enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Filtered: 1})
			if stats.Reasons["filtered: ignored"] != 1 || stats.ErrorCount != 0 || len(s.Errors()) != 0 {
				t.Errorf("stats %+v, errors %v", stats, s.Errors())
			}
		})
	}
}

// AcceptRequest is asked for seeds, children, redirects and Fetch, with the parent's response, and refuses before
// anything is marked as seen.
func TestRequestFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &trace{}
		// The first page takes a moment: the links of the seed are all accepted before it sends anything.
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/1", "/no")).Page("http://a.test/1", enginetest.After(time.Second, enginetest.Redirect(302, "/2"))).
			Page("http://a.test/2", enginetest.Text("x")).Page("http://a.test/f", enginetest.Text("x"))
		m := &enginetest.FilterHooks{Accept: func(parent *tegenaria.Response, r *tegenaria.Request) error {
			from := "start"
			if parent != nil {
				from = parent.URL
			}
			l.add("%s → %s", from, r.Url)
			if r.Url == "http://a.test/no" {
				return errors.New("no")
			}
			return nil
		}}
		s := enginetest.NewSpider("http://a.test/no", "http://a.test/")
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			if ctx.Request.Url == "http://a.test/2" {
				if _, err := get(ctx, "http://a.test/f"); err != nil {
					t.Error(err)
				}
			}
			return enginetest.FollowAll(ctx, item, req)
		}
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1)))
		l.want(t, "start → http://a.test/no", "start → http://a.test/", "http://a.test/ → http://a.test/1", "http://a.test/ → http://a.test/no",
			"http://a.test/1 → http://a.test/2", "http://a.test/2 → http://a.test/f")
		if stats.Reasons["filtered: no"] != 2 || stats.Outcomes[tegenaria.Duplicate] != 0 {
			t.Errorf("reasons %v, outcomes %v", stats.Reasons, stats.Outcomes)
		}
	})
}

// A filter that panics fails the request.
func TestRequestFilterPanics(t *testing.T) {
	m := &enginetest.FilterHooks{Accept: func(*tegenaria.Response, *tegenaria.Request) error { panic("filter") }}
	s := enginetest.NewSpider("http://a.test/")
	stats := enginetest.MustRun(t, enginetest.NewEngine(enginetest.NewWorld(), s, tegenaria.EngineWithMiddlewares(m)))
	herr := s.OnlyError(t)
	var panicked *tegenaria.PanicError
	if !errors.As(herr, &panicked) || len(herr.Stack) == 0 {
		t.Errorf("ErrorHandler got %v", herr)
	}
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1})
}

// ErrorMiddlewares see failures in the order of responses, and may turn them into something else.
func TestErrorMiddlewares(t *testing.T) {
	other := errors.New("other")
	for _, tt := range []struct {
		name  string
		turn  func(err error) error
		trace []string
		want  map[tegenaria.Outcome]int64
		told  error
	}{
		{"pass on", func(err error) error { return err }, []string{"b broken", "a broken"}, map[tegenaria.Outcome]int64{tegenaria.Failed: 1}, errBroken},
		{"replace", func(error) error { return other }, []string{"b broken", "a other"}, map[tegenaria.Outcome]int64{tegenaria.Failed: 1}, other},
		{"wrap", func(err error) error { return fmt.Errorf("wrapped: %w", err) }, []string{"b broken", "a wrapped"}, map[tegenaria.Outcome]int64{tegenaria.Failed: 1}, errBroken},
		{"swallow", func(error) error { return nil }, []string{"b broken"}, map[tegenaria.Outcome]int64{tegenaria.Dropped: 1}, nil},
		{"ignore", func(error) error { return tegenaria.ErrIgnoreRequest }, []string{"b broken", "a tegenaria"}, map[tegenaria.Outcome]int64{tegenaria.Filtered: 1}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &trace{}
			see := func(name string, err error) {
				var herr *tegenaria.HandleError
				if !errors.As(err, &herr) || herr.Request == nil || herr.Stage != tegenaria.StageDownload {
					t.Errorf("ProcessError got %v", err)
					return
				}
				word := herr.Err.Error()
				for i, c := range word {
					if c == ':' {
						word = word[:i]
						break
					}
				}
				l.add("%s %s", name, word)
			}
			a := &enginetest.ErrorHooks{Hooks: enginetest.Hooks{Name: "a", Priority: 1}, Failed: func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
				see("a", err)
				return err
			}}
			b := &enginetest.ErrorHooks{Hooks: enginetest.Hooks{Name: "b", Priority: 2}, Failed: func(_ *tegenaria.Context, err error, req chan<- *tegenaria.Context) error {
				see("b", err)
				req <- enginetest.Send("http://a.test/instead")
				return tt.turn(err)
			}}
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Broken(errBroken)).Page("http://a.test/instead", enginetest.Text("x"))
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = enginetest.Nothing
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(b, a)))
			l.want(t, tt.trace...)
			tt.want[tegenaria.Fetched] = 1
			enginetest.WantOutcomes(t, stats, tt.want)
			if tt.told == nil {
				if len(s.Errors()) != 0 {
					t.Errorf("ErrorHandler was told: %v", s.Errors())
				}
			} else if herr := s.OnlyError(t); !errors.Is(herr, tt.told) {
				t.Errorf("ErrorHandler got %v", herr)
			}
		})
	}
}

// parts is a middleware and pipeline that can be opened and closed.
type parts struct {
	enginetest.Hooks
	l            *trace
	open, closes error
}

func (p *parts) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error { return nil }

func (p *parts) Open(_ context.Context, s tegenaria.SpiderInterface) error {
	p.l.add("open %s for %s", p.Name, s.GetName())
	return p.open
}

func (p *parts) Close(_ context.Context, reason string) error {
	p.l.add("close %s: %s", p.Name, reason)
	return p.closes
}

// Parts are opened before the first request, and closed in reverse order; an error of Open ends the run before it
// has begun.
func TestOpenAndClose(t *testing.T) {
	bad := errors.New("bad part")
	for _, tt := range []struct {
		name         string
		open, closes error // of part b
		trace        []string
		asked        int
	}{
		{"good", nil, nil, []string{"open a for test", "open b for test", "open c for test", "close c: finished", "close b: finished", "close a: finished"}, 1},
		{"Open fails", bad, nil, []string{"open a for test", "open b for test", "close a: failed"}, 0},
		{"Close fails", nil, bad, []string{"open a for test", "open b for test", "open c for test", "close c: finished", "close b: finished", "close a: finished"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &trace{}
			part := func(name string, priority int) *parts {
				return &parts{Hooks: enginetest.Hooks{Name: name, Priority: priority}, l: l}
			}
			a, b, c := part("a", 1), part("b", 2), part("c", 1)
			b.open, b.closes = tt.open, tt.closes
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = enginetest.Nothing
			err := enginetest.Run(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(b, a), tegenaria.EngineWithPipelines(c)))
			if want := tt.open != nil || tt.closes != nil; errors.Is(err, bad) != want || !want && err != nil {
				t.Errorf("Run returned %v", err)
			}
			var failed *tegenaria.RunError
			if tt.open != nil && (!errors.As(err, &failed) || failed.Op != "start") {
				t.Errorf("Run returned %v, want a *RunError of start", err)
			}
			l.want(t, tt.trace...)
			if len(w.Visits()) != tt.asked {
				t.Errorf("asked %q", w.Urls())
			}
		})
	}
}

// priorityFilter changes the priority of what is accepted.
type priorityFilter struct{ enginetest.Hooks }

func (priorityFilter) AcceptRequest(_ *tegenaria.Response, r *tegenaria.Request) error {
	if r.Url == "http://a.test/last" {
		r.Priority -= 10
	}
	return nil
}

// A filter may change the order in which requests are asked: of those that wait, the one with the largest priority goes first. A
// free worker takes the first link at once, so that link is a slow one: meanwhile the others come into the queue.
func TestFilterChangesPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/slow", "/last", "/first", "/second"))
		w.Page("http://a.test/slow", enginetest.After(time.Second, enginetest.Text("x")))
		for _, ref := range []string{"last", "first", "second"} {
			w.Page("http://a.test/"+ref, enginetest.Text("x"))
		}
		e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithMiddlewares(&priorityFilter{}),
			tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1))
		enginetest.MustRun(t, e)
		want := []string{"http://a.test/", "http://a.test/slow", "http://a.test/first", "http://a.test/second", "http://a.test/last"}
		if got := w.Urls(); !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
	})
}

// Priority orders what waits and holds nothing back: a link that finds a worker free starts before links of a higher priority that
// its page sends later. The test hangs if the engine waits for them.
func TestPriorityHoldsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
		began := make(chan struct{})
		w.Page("http://a.test/low", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			close(began)
			return enginetest.After(time.Second, enginetest.Text("x"))(ctx)
		})
		for _, ref := range []string{"middle", "high"} {
			w.Page("http://a.test/"+ref, enginetest.Text("x"))
		}
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			if resp.Request.Depth > 0 {
				return nil
			}
			req <- enginetest.Send("http://a.test/low", tegenaria.RequestWithPriority(-1))
			<-began
			req <- enginetest.Send("http://a.test/middle")
			req <- enginetest.Send("http://a.test/high", tegenaria.RequestWithPriority(1))
			return nil
		}
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1)))
		want := []string{"http://a.test/", "http://a.test/low", "http://a.test/high", "http://a.test/middle"}
		if got := w.Urls(); !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
	})
}

// A middleware that takes the Context's Request away fails the request, and the handlers still see which one.
//
// It fails if keepRequest does nothing.
func TestMiddlewareTakesTheRequestAway(t *testing.T) {
	for _, tt := range []struct {
		name  string
		set   func(m *enginetest.ErrorHooks)
		stage tegenaria.Stage
		is    error // nil: that the Request is missing
	}{
		{"ProcessRequest", func(m *enginetest.ErrorHooks) {
			m.Request = func(ctx *tegenaria.Context) error { ctx.Request = nil; return nil }
		}, tegenaria.StageRequest, nil},
		{"ProcessRequest with an answer", func(m *enginetest.ErrorHooks) {
			m.Request = func(ctx *tegenaria.Context) error {
				ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, nil, nil)}
				ctx.Request = nil
				return nil
			}
		}, tegenaria.StageRequest, nil},
		{"ProcessRequest with an error", func(m *enginetest.ErrorHooks) {
			m.Request = func(ctx *tegenaria.Context) error { ctx.Request = nil; return errBroken }
		}, tegenaria.StageRequest, errBroken},
		{"ProcessResponse", func(m *enginetest.ErrorHooks) {
			m.Response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { ctx.Request = nil; return nil }
		}, tegenaria.StageResponse, nil},
		{"ProcessResponse with an error", func(m *enginetest.ErrorHooks) {
			m.Response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { ctx.Request = nil; return errBroken }
		}, tegenaria.StageResponse, errBroken},
	} {
		for _, inline := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/inline %t", tt.name, inline), func(t *testing.T) {
				const url = "http://a.test/x"
				w := onePage().Page(url, enginetest.Text("x"))
				s := enginetest.NewSpider("http://a.test/")
				m := &enginetest.ErrorHooks{}
				tt.set(m)
				request, response := m.Request, m.Response
				m.Request = func(ctx *tegenaria.Context) error {
					if request == nil || ctx.Request.Url != url {
						return nil
					}
					return request(ctx)
				}
				m.Response = func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
					if response == nil || ctx.Request.Url != url {
						return nil
					}
					return response(ctx, req)
				}
				check := func(who string, err error) {
					var herr *tegenaria.HandleError
					switch {
					case !errors.As(err, &herr) || herr.Stage != tt.stage || herr.Request == nil || herr.Request.Url != url:
						t.Errorf("%s got %v", who, err)
					case tt.is != nil && !errors.Is(err, tt.is) || tt.is == nil && !strings.Contains(err.Error(), "took the Context's Request away"):
						t.Errorf("%s got %v", who, err)
					}
				}
				m.Failed = func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
					check("ProcessError", err)
					if ctx.Request == nil || ctx.Request.Url != url {
						t.Errorf("ProcessError sees the request %v", ctx.Request)
					}
					return err
				}
				s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
					if inline {
						_, err := get(ctx, url)
						check("Fetch", err)
						return nil
					}
					req <- enginetest.Send(url)
					return nil
				}
				stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m)))
				enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Failed: 1})
				if !inline {
					check("ErrorHandler", s.OnlyError(t))
				}
			})
		}
	}
}

// What a parser or an ErrorMiddleware does to the Context's Request breaks nothing either.
func TestRequestTakenAwayLate(t *testing.T) {
	take := func(ctx *tegenaria.Context) error { ctx.Request = nil; return errBroken }
	t.Run("parser", func(t *testing.T) {
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = parserOf(take)
		stats := enginetest.MustRun(t, enginetest.NewEngine(onePage(), s))
		if herr := s.OnlyError(t); !errors.Is(herr, errBroken) || herr.Stage != tegenaria.StageParse {
			t.Errorf("ErrorHandler got %v", herr)
		}
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1})
	})
	t.Run("ProcessError", func(t *testing.T) {
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = parserOf(func(*tegenaria.Context) error { return errBroken })
		m := &enginetest.ErrorHooks{Failed: func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
			ctx.Request = nil
			return err
		}}
		stats := enginetest.MustRun(t, enginetest.NewEngine(onePage(), s, tegenaria.EngineWithMiddlewares(m)))
		if herr := s.OnlyError(t); !errors.Is(herr, errBroken) || herr.Request == nil {
			t.Errorf("ErrorHandler got %v", herr)
		}
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1})
	})
}

package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

// Retry runs the request again as it was accepted, whoever returns it.
func TestRetryVerb(t *testing.T) {
	for _, where := range []string{"Parser", "ProcessRequest", "ProcessResponse", "ProcessError", "wrapped"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld().page("http://a.test/x", inTurn(status(503), status(503), text("good")))
				began := time.Now()
				var attempts []int
				var parsed *tegenaria.Request
				verb := func(ctx *tegenaria.Context) error {
					if ctx.Request.Attempt < 2 {
						err := tegenaria.Retry(10*time.Second, errBroken)
						if where == "wrapped" {
							err = fmt.Errorf("again: %w", err)
						}
						return err
					}
					return nil
				}
				s := newSpider()
				s.start = func(req chan<- *tegenaria.Context) {
					req <- send("http://a.test/x", tegenaria.RequestWithPriority(3), tegenaria.RequestWithRequestMeta(map[string]any{"k": "v"}),
						tegenaria.RequestWithAllowedStatusCode([]uint64{503}))
				}
				m := &errorHooks{failed: func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error { return err }}
				s.parse = parserOf(func(ctx *tegenaria.Context) error {
					attempts = append(attempts, ctx.Request.Attempt)
					parsed = ctx.Request
					if where == "Parser" || where == "wrapped" {
						return verb(ctx)
					}
					return nil
				})
				switch where {
				case "ProcessRequest":
					m.request = verb
				case "ProcessResponse":
					m.response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { return verb(ctx) }
				case "ProcessError":
					m.response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
						if ctx.Request.Attempt < 2 {
							return errBroken
						}
						return nil
					}
					m.failed = func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
						if !errors.Is(err, errBroken) {
							t.Errorf("ProcessError got %v", err)
						}
						return verb(ctx)
					}
				}
				var events []string
				e := newEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithEvents(tegenaria.Events{
					RequestRetried: func(r *tegenaria.Request, d time.Duration, why error) {
						events = append(events, fmt.Sprint(r.Url, d, why))
					},
				}))
				stats := mustRun(t, e)
				wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1})
				if stats.Retries != 2 || stats.Discovered != 1 {
					t.Errorf("stats: %+v", stats)
				}
				if took := time.Since(began); took != 20*time.Second {
					t.Errorf("it took %s, want two waits of 10 s", took)
				}
				if parsed == nil || parsed.Attempt != 2 || parsed.Priority != 3-2 || parsed.Meta["k"] != "v" || parsed.Depth != 0 {
					t.Errorf("the last attempt was %+v", parsed)
				}
				if len(s.errors()) != 0 {
					t.Errorf("ErrorHandler was told: %v", s.errors())
				}
				if want := []string{"http://a.test/x10s broken", "http://a.test/x10s broken"}; !slices.Equal(events, want) {
					t.Errorf("events: %q", events)
				}
			})
		})
	}
}

// Above Limits.Attempts the request gives up, once.
func TestRetryGivesUp(t *testing.T) {
	for _, limit := range []int{0, 1, 3} {
		for _, how := range []string{"verb", "ErrorHandler"} {
			t.Run(fmt.Sprint(how, limit), func(t *testing.T) {
				w := newWorld().page("http://a.test/", broken(errBroken))
				s := newSpider("http://a.test/")
				m := &errorHooks{failed: func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
					if how == "verb" {
						return tegenaria.Retry(0, err)
					}
					return err
				}}
				if how == "ErrorHandler" {
					s.fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
						req <- tegenaria.NewContext(err.Request)
					}
				}
				stats := mustRun(t, newEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: limit})))
				n := limit
				if n == 0 {
					n = 10
				}
				if len(w.visits()) != n {
					t.Errorf("asked %d times, want %d", len(w.visits()), n)
				}
				if stats.Outcomes[tegenaria.GaveUp] != 1 {
					t.Errorf("outcomes %v, %v", stats.Outcomes, stats.Reasons)
				}
				if how == "verb" {
					wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.GaveUp: 1})
					if herr := s.onlyError(t); !errors.Is(herr, errBroken) {
						t.Errorf("ErrorHandler got %v", herr)
					}
				} else if len(s.errors()) != n || stats.Outcomes[tegenaria.Failed] != int64(n) {
					t.Errorf("%d errors, outcomes %v", len(s.errors()), stats.Outcomes)
				}
			})
		}
	}
}

// What is a retry, and what is a new request.
func TestRetryFromErrorHandlerIdentity(t *testing.T) {
	for _, tt := range []struct {
		name    string
		again   func(r *tegenaria.Request) *tegenaria.Request
		asked   int
		depth   int
		attempt int
	}{
		{"the request itself", func(r *tegenaria.Request) *tegenaria.Request { return r }, 2, 0, 1},
		{"an equal one", func(r *tegenaria.Request) *tegenaria.Request { return tegenaria.NewRequest(r.Url, "GET", nil) }, 2, 0, 1},
		{"an equal URL written differently", func(r *tegenaria.Request) *tegenaria.Request {
			return tegenaria.NewRequest("HTTP://a.TEST:80/x#y", "GET", nil)
		}, 2, 0, 1},
		{"another one", func(r *tegenaria.Request) *tegenaria.Request {
			return tegenaria.NewRequest("http://a.test/y", "GET", nil)
		}, 2, 1, 0},
		{"one that is known", func(r *tegenaria.Request) *tegenaria.Request {
			return tegenaria.NewRequest("http://a.test/known", "GET", nil)
		}, 1, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld().page("http://a.test/known", text("x"))
			again := inTurn(broken(errBroken), text("good"))
			w.page("http://a.test/x", again).page("HTTP://a.TEST:80/x#y", again).page("http://a.test/y", text("good"))
			s := newSpider("http://a.test/known", "http://a.test/x")
			s.fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
				req <- tegenaria.NewContext(tt.again(err.Request))
			}
			var got *tegenaria.Request
			s.parse = parserOf(func(ctx *tegenaria.Context) error {
				if ctx.Request.Url != "http://a.test/known" {
					got = ctx.Request
				}
				return nil
			})
			stats := mustRun(t, newEngine(w, s))
			if n := len(w.visits()) - 1; n != tt.asked {
				t.Errorf("%d downloads, want %d: %q", n, tt.asked, w.urls())
			}
			if tt.asked == 1 {
				if stats.Outcomes[tegenaria.Duplicate] != 1 {
					t.Errorf("outcomes: %v", stats.Outcomes)
				}
				return
			}
			if got == nil || got.Depth != tt.depth || got.Attempt != tt.attempt {
				t.Errorf("the second request is %+v", got)
			}
		})
	}
}

// staging is a Committer that keeps what it staged, by id.
type staging struct {
	mu                           sync.Mutex
	staged                       map[string][]any
	committed                    []any
	prepared, discarded, restore []string
}

func (c *staging) GetPriority() int  { return 0 }
func (c *staging) CommitKey() string { return "staging" }

func (c *staging) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.staged == nil {
		c.staged = make(map[string][]any)
	}
	c.staged[item.CtxId] = append(c.staged[item.CtxId], item.Item)
	return nil
}

func (c *staging) Restore(_ context.Context, checkpoint []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restore = append(c.restore, string(checkpoint))
	return nil
}

func (c *staging) Prepare(_ context.Context, ids []string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		c.committed = append(c.committed, c.staged[id]...)
		delete(c.staged, id)
	}
	c.prepared = append(c.prepared, ids...)
	return []byte("checkpoint"), nil
}

func (c *staging) Discard(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discarded = append(c.discarded, id)
	delete(c.staged, id)
}

// An attempt that will run again keeps its requests and loses what committers staged of it.
func TestRetryKeepsRequestsAndDiscardsItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld().page("http://a.test/", text("x")).page("http://a.test/child", text("x")).page("http://a.test/inline", text("x"))
		s := newSpider("http://a.test/")
		s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			if ctx.Request.Depth > 0 {
				return nil
			}
			inline, err := get(ctx, "http://a.test/inline")
			if err != nil {
				return err
			}
			item <- tegenaria.NewItem(inline.Context(), fmt.Sprint("inline ", ctx.Request.Attempt))
			item <- tegenaria.NewItem(ctx, fmt.Sprint("page ", ctx.Request.Attempt))
			req <- send("http://a.test/child")
			if ctx.Request.Attempt == 0 {
				return tegenaria.Retry(time.Second, errBroken)
			}
			return nil
		}
		c := &staging{}
		stats := mustRun(t, newEngine(w, s, tegenaria.EngineWithPipelines(c)))
		slices.SortFunc(c.committed, func(a, b any) int { return len(a.(string)) - len(b.(string)) })
		if want := []any{"page 1", "inline 1"}; !slices.Equal(c.committed, want) {
			t.Errorf("committed %v, want %v", c.committed, want)
		}
		if len(c.staged) != 0 || len(c.discarded) != 2 {
			t.Errorf("staged %v, discarded %v", c.staged, c.discarded)
		}
		if n := w.count("http://a.test/child"); n != 1 || stats.Outcomes[tegenaria.Duplicate] != 1 {
			t.Errorf("the child was asked %d times; %v", n, stats.Outcomes)
		}
	})
}

// A ResponseWriter that got a part of the body is rewound, or else the request is not retried.
func TestRetryWithResponseWriter(t *testing.T) {
	twice := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		fmt.Fprintf(ctx.Request.ResponseWriter, "attempt %d;", ctx.Request.Attempt)
		if ctx.Request.Attempt == 0 {
			return nil, tegenaria.Retry(0, errBroken)
		}
		return tegenaria.NewResponse(ctx.Request, 200, nil, nil), nil
	}
	unwritten := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		if ctx.Request.Attempt == 0 {
			return nil, tegenaria.Retry(0, errBroken)
		}
		return twice(ctx)
	}
	t.Run("a file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "body")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		s := newSpider()
		s.parse = nothing
		s.start = func(req chan<- *tegenaria.Context) {
			req <- send("http://a.test/", tegenaria.RequestWithResponseWriter(f))
		}
		mustRun(t, newEngine(newWorld().page("http://a.test/", twice), s))
		if got, err := os.ReadFile(path); err != nil || string(got) != "attempt 1;" {
			t.Errorf("the file has %q, %v", got, err)
		}
	})
	for name, tt := range map[string]struct {
		page answer
		body string
		want map[tegenaria.Outcome]int64
	}{
		"written":   {twice, "attempt 0;", map[tegenaria.Outcome]int64{tegenaria.GaveUp: 1}},
		"unwritten": {unwritten, "attempt 1;", map[tegenaria.Outcome]int64{tegenaria.Fetched: 1}},
	} {
		t.Run("a buffer, "+name, func(t *testing.T) {
			var b bytes.Buffer
			s := newSpider()
			s.parse = nothing
			s.start = func(req chan<- *tegenaria.Context) {
				req <- send("http://a.test/", tegenaria.RequestWithResponseWriter(&b))
			}
			stats := mustRun(t, newEngine(newWorld().page("http://a.test/", tt.page), s))
			wantOutcomes(t, stats, tt.want)
			if b.String() != tt.body {
				t.Errorf("the buffer has %q, want %q", b.String(), tt.body)
			}
		})
	}
}

// The handlers may send anything for a seed that was refused, and for what they sent in its place, without end.
func TestErrorHandlerOfBadRequestsIsBounded(t *testing.T) {
	w := newWorld()
	s := newSpider("bad:")
	s.fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
		req <- send("bad:")
		req <- send("worse:")
	}
	stats := mustRun(t, newEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 4})))
	if stats.Settled < 5 || stats.Settled != stats.Outcomes[tegenaria.Filtered]+stats.Outcomes[tegenaria.GaveUp] {
		t.Errorf("stats: %+v", stats)
	}
}

// An ErrorMiddleware is told of a Retry by a type that it can recognise, whoever returned it and however it is wrapped, and of
// a failure by another one. It fails if Retry returns a type that is not exported.
func TestH10ProcessErrorRecognisesRetry(t *testing.T) {
	for _, where := range []string{"Parser", "ProcessRequest", "ProcessResponse", "ProcessError"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld().page("http://a.test/x", text("x"))
				again := func(ctx *tegenaria.Context) error {
					if ctx.Request.Attempt == 0 {
						return fmt.Errorf("wrapped: %w", tegenaria.Retry(time.Second, errBroken))
					}
					return nil
				}
				s := newSpider("http://a.test/x")
				var told []string
				first := &errorHooks{hooks: hooks{name: "first", priority: 1}, failed: func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
					var retry *tegenaria.RetryError
					if errors.As(err, &retry) {
						told = append(told, fmt.Sprint("retry after ", retry.After, ": ", errors.Is(retry.Err, errBroken)))
					} else {
						told = append(told, "failure")
					}
					return err
				}}
				second := &errorHooks{hooks: hooks{name: "second", priority: 2}, failed: func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
					if where == "ProcessError" && ctx.Request.Attempt == 0 {
						return again(ctx)
					}
					return err
				}}
				final := func(ctx *tegenaria.Context) error {
					if ctx.Request.Attempt > 0 {
						return errBroken
					}
					if where == "ProcessError" {
						return errBroken
					}
					return nil
				}
				s.parse = parserOf(final)
				switch where {
				case "Parser":
					s.parse = parserOf(func(ctx *tegenaria.Context) error { return errors.Join(again(ctx), final(ctx)) })
				case "ProcessRequest":
					second.request = again
				case "ProcessResponse":
					second.response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { return again(ctx) }
				}
				mustRun(t, newEngine(w, s, tegenaria.EngineWithMiddlewares(first, second)))
				if want := []string{"retry after 1s: true", "failure"}; !slices.Equal(told, want) {
					t.Errorf("told %q, want %q", told, want)
				}
				s.onlyError(t)
			})
		})
	}
}

// IgnoreRequest and GiveUp say how a request ends and why, whoever returns them.
func TestVerbsWithReason(t *testing.T) {
	for _, tt := range []struct {
		name    string
		verb    error
		outcome tegenaria.Outcome
		reason  string
		told    int // calls of the ErrorHandler
	}{
		{"IgnoreRequest", tegenaria.IgnoreRequest("trap: calendar"), tegenaria.Filtered, "filtered: trap: calendar", 0},
		{"IgnoreRequest wrapped", errors.Join(tegenaria.IgnoreRequest("trap: calendar")), tegenaria.Filtered, "filtered: trap: calendar", 0},
		{"IgnoreRequest without a reason", tegenaria.IgnoreRequest(""), tegenaria.Filtered, "filtered: ignored", 0},
		{"ErrIgnoreRequest", tegenaria.ErrIgnoreRequest, tegenaria.Filtered, "filtered: ignored", 0},
		{"GiveUp", tegenaria.GiveUp(errBroken), tegenaria.GaveUp, "gave-up: " + errBroken.Error(), 1},
		{"GiveUp of nothing", tegenaria.GiveUp(nil), tegenaria.GaveUp, "gave-up: retry", 1},
	} {
		for _, where := range []string{"ProcessRequest", "ProcessResponse", "ProcessError", "Parser", "Fetch"} {
			t.Run(tt.name+" from "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := &errorHooks{failed: func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error { return err }}
					s := newSpider("http://a.test/x")
					s.parse = nothing
					switch where {
					case "ProcessRequest":
						m.request = func(*tegenaria.Context) error { return tt.verb }
					case "ProcessResponse":
						m.response = func(*tegenaria.Context, chan<- *tegenaria.Context) error { return tt.verb }
					case "ProcessError":
						m.response = func(*tegenaria.Context, chan<- *tegenaria.Context) error { return errors.New("to be replaced") }
						m.failed = func(*tegenaria.Context, error, chan<- *tegenaria.Context) error { return tt.verb }
					case "Parser":
						s.parse = parserOf(func(*tegenaria.Context) error { return tt.verb })
					case "Fetch":
						m.request = func(ctx *tegenaria.Context) error {
							if ctx.Request.Url == "http://a.test/inline" {
								return tt.verb
							}
							return nil
						}
						s.parse = parserOf(func(ctx *tegenaria.Context) error {
							if _, err := ctx.Fetch(tegenaria.NewRequest("http://a.test/inline", tegenaria.GET, nil)); err == nil {
								t.Error("Fetch returned no error")
							}
							return nil
						})
					}
					w := newWorld().page("http://a.test/x", text("x")).page("http://a.test/inline", text("x"))
					stats := mustRun(t, newEngine(w, s, tegenaria.EngineWithMiddlewares(m)))
					want := map[tegenaria.Outcome]int64{tt.outcome: 1}
					told := tt.told
					if where == "Fetch" {
						want[tegenaria.Fetched], told = 1, 0
					}
					wantOutcomes(t, stats, want)
					if stats.Reasons[tt.reason] != 1 {
						t.Errorf("reasons are %v, want one %q", stats.Reasons, tt.reason)
					}
					if got := len(s.errors()); got != told {
						t.Errorf("the ErrorHandler was called %d times, want %d", got, told)
					}
				})
			})
		}
	}
}

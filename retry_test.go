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
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// Retry runs the request again as it was accepted, whoever returns it.
func TestRetryVerb(t *testing.T) {
	for _, where := range []string{"Parser", "ProcessRequest", "ProcessResponse", "ProcessError", "wrapped"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/x", enginetest.InTurn(enginetest.Status(503), enginetest.Status(503), enginetest.Text("good")))
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
				s := enginetest.NewSpider()
				s.Start = func(req chan<- *tegenaria.Context) {
					req <- enginetest.Send("http://a.test/x", tegenaria.RequestWithPriority(3), tegenaria.RequestWithRequestMeta(map[string]any{"k": "v"}),
						tegenaria.RequestWithAllowedStatusCode([]uint64{503}))
				}
				m := &enginetest.ErrorHooks{Failed: func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error { return err }}
				s.Parse = parserOf(func(ctx *tegenaria.Context) error {
					attempts = append(attempts, ctx.Request.Attempt)
					parsed = ctx.Request
					if where == "Parser" || where == "wrapped" {
						return verb(ctx)
					}
					return nil
				})
				switch where {
				case "ProcessRequest":
					m.Request = verb
				case "ProcessResponse":
					m.Response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { return verb(ctx) }
				case "ProcessError":
					m.Response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
						if ctx.Request.Attempt < 2 {
							return errBroken
						}
						return nil
					}
					m.Failed = func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
						if !errors.Is(err, errBroken) {
							t.Errorf("ProcessError got %v", err)
						}
						return verb(ctx)
					}
				}
				var events []string
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithEvents(tegenaria.Events{
					RequestRetried: func(r *tegenaria.Request, d time.Duration, why error) {
						events = append(events, fmt.Sprint(r.Url, d, why))
					},
				}))
				stats := enginetest.MustRun(t, e)
				enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1})
				if stats.Retries != 2 || stats.Discovered != 1 {
					t.Errorf("stats: %+v", stats)
				}
				if took := time.Since(began); took != 20*time.Second {
					t.Errorf("it took %s, want two waits of 10 s", took)
				}
				if parsed == nil || parsed.Attempt != 2 || parsed.Priority != 3-2 || parsed.Meta["k"] != "v" || parsed.Depth != 0 {
					t.Errorf("the last attempt was %+v", parsed)
				}
				if len(s.Errors()) != 0 {
					t.Errorf("ErrorHandler was told: %v", s.Errors())
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
				w := enginetest.NewWorld().Page("http://a.test/", enginetest.Broken(errBroken))
				s := enginetest.NewSpider("http://a.test/")
				m := &enginetest.ErrorHooks{Failed: func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
					if how == "verb" {
						return tegenaria.Retry(0, err)
					}
					return err
				}}
				if how == "ErrorHandler" {
					s.Fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
						req <- tegenaria.NewContext(err.Request)
					}
				}
				stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: limit})))
				n := limit
				if n == 0 {
					n = 10
				}
				if len(w.Visits()) != n {
					t.Errorf("asked %d times, want %d", len(w.Visits()), n)
				}
				if stats.Outcomes[tegenaria.GaveUp] != 1 {
					t.Errorf("outcomes %v, %v", stats.Outcomes, stats.Reasons)
				}
				if how == "verb" {
					enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.GaveUp: 1})
					if herr := s.OnlyError(t); !errors.Is(herr, errBroken) {
						t.Errorf("ErrorHandler got %v", herr)
					}
				} else if len(s.Errors()) != n || stats.Outcomes[tegenaria.Failed] != int64(n) {
					t.Errorf("%d errors, outcomes %v", len(s.Errors()), stats.Outcomes)
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
			w := enginetest.NewWorld().Page("http://a.test/known", enginetest.Text("x"))
			again := enginetest.InTurn(enginetest.Broken(errBroken), enginetest.Text("good"))
			w.Page("http://a.test/x", again).Page("HTTP://a.TEST:80/x#y", again).Page("http://a.test/y", enginetest.Text("good"))
			s := enginetest.NewSpider("http://a.test/known", "http://a.test/x")
			s.Fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
				req <- tegenaria.NewContext(tt.again(err.Request))
			}
			var got *tegenaria.Request
			s.Parse = parserOf(func(ctx *tegenaria.Context) error {
				if ctx.Request.Url != "http://a.test/known" {
					got = ctx.Request
				}
				return nil
			})
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
			if n := len(w.Visits()) - 1; n != tt.asked {
				t.Errorf("%d downloads, want %d: %q", n, tt.asked, w.Urls())
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
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/child", enginetest.Text("x")).Page("http://a.test/inline", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			if ctx.Request.Depth > 0 {
				return nil
			}
			inline, err := get(ctx, "http://a.test/inline")
			if err != nil {
				return err
			}
			item <- tegenaria.NewItem(inline.Context(), fmt.Sprint("inline ", ctx.Request.Attempt))
			item <- tegenaria.NewItem(ctx, fmt.Sprint("page ", ctx.Request.Attempt))
			req <- enginetest.Send("http://a.test/child")
			if ctx.Request.Attempt == 0 {
				return tegenaria.Retry(time.Second, errBroken)
			}
			return nil
		}
		c := &staging{}
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(c)))
		slices.SortFunc(c.committed, func(a, b any) int { return len(a.(string)) - len(b.(string)) })
		if want := []any{"page 1", "inline 1"}; !slices.Equal(c.committed, want) {
			t.Errorf("committed %v, want %v", c.committed, want)
		}
		if len(c.staged) != 0 || len(c.discarded) != 2 {
			t.Errorf("staged %v, discarded %v", c.staged, c.discarded)
		}
		if n := w.Count("http://a.test/child"); n != 1 || stats.Outcomes[tegenaria.Duplicate] != 1 {
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
		s := enginetest.NewSpider()
		s.Parse = enginetest.Nothing
		s.Start = func(req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/", tegenaria.RequestWithResponseWriter(f))
		}
		enginetest.MustRun(t, enginetest.NewEngine(enginetest.NewWorld().Page("http://a.test/", twice), s))
		if got, err := os.ReadFile(path); err != nil || string(got) != "attempt 1;" {
			t.Errorf("the file has %q, %v", got, err)
		}
	})
	for name, tt := range map[string]struct {
		page enginetest.Answer
		body string
		want map[tegenaria.Outcome]int64
	}{
		"written":   {twice, "attempt 0;", map[tegenaria.Outcome]int64{tegenaria.GaveUp: 1}},
		"unwritten": {unwritten, "attempt 1;", map[tegenaria.Outcome]int64{tegenaria.Fetched: 1}},
	} {
		t.Run("a buffer, "+name, func(t *testing.T) {
			var b bytes.Buffer
			s := enginetest.NewSpider()
			s.Parse = enginetest.Nothing
			s.Start = func(req chan<- *tegenaria.Context) {
				req <- enginetest.Send("http://a.test/", tegenaria.RequestWithResponseWriter(&b))
			}
			stats := enginetest.MustRun(t, enginetest.NewEngine(enginetest.NewWorld().Page("http://a.test/", tt.page), s))
			enginetest.WantOutcomes(t, stats, tt.want)
			if b.String() != tt.body {
				t.Errorf("the buffer has %q, want %q", b.String(), tt.body)
			}
		})
	}
}

// The handlers may send anything for a seed that was refused, and for what they sent in its place, without end.
func TestErrorHandlerOfBadRequestsIsBounded(t *testing.T) {
	w := enginetest.NewWorld()
	s := enginetest.NewSpider("bad:")
	s.Fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
		req <- enginetest.Send("bad:")
		req <- enginetest.Send("worse:")
	}
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 4})))
	if stats.Settled < 5 || stats.Settled != stats.Outcomes[tegenaria.Filtered]+stats.Outcomes[tegenaria.GaveUp] {
		t.Errorf("stats: %+v", stats)
	}
}

// An ErrorMiddleware is told of a Retry by a type that it can recognise, whoever returned it and however it is wrapped, and of
// a failure by another one. It fails if Retry returns a type that is not exported.
func TestProcessErrorRecognisesRetry(t *testing.T) {
	for _, where := range []string{"Parser", "ProcessRequest", "ProcessResponse", "ProcessError"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/x", enginetest.Text("x"))
				again := func(ctx *tegenaria.Context) error {
					if ctx.Request.Attempt == 0 {
						return fmt.Errorf("wrapped: %w", tegenaria.Retry(time.Second, errBroken))
					}
					return nil
				}
				s := enginetest.NewSpider("http://a.test/x")
				var told []string
				first := &enginetest.ErrorHooks{Hooks: enginetest.Hooks{Name: "first", Priority: 1}, Failed: func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
					var retry *tegenaria.RetryError
					if errors.As(err, &retry) {
						told = append(told, fmt.Sprint("retry after ", retry.After, ": ", errors.Is(retry.Err, errBroken)))
					} else {
						told = append(told, "failure")
					}
					return err
				}}
				second := &enginetest.ErrorHooks{Hooks: enginetest.Hooks{Name: "second", Priority: 2}, Failed: func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
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
				s.Parse = parserOf(final)
				switch where {
				case "Parser":
					s.Parse = parserOf(func(ctx *tegenaria.Context) error { return errors.Join(again(ctx), final(ctx)) })
				case "ProcessRequest":
					second.Request = again
				case "ProcessResponse":
					second.Response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { return again(ctx) }
				}
				enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(first, second)))
				if want := []string{"retry after 1s: true", "failure"}; !slices.Equal(told, want) {
					t.Errorf("told %q, want %q", told, want)
				}
				s.OnlyError(t)
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
					m := &enginetest.ErrorHooks{Failed: func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error { return err }}
					s := enginetest.NewSpider("http://a.test/x")
					s.Parse = enginetest.Nothing
					switch where {
					case "ProcessRequest":
						m.Request = func(*tegenaria.Context) error { return tt.verb }
					case "ProcessResponse":
						m.Response = func(*tegenaria.Context, chan<- *tegenaria.Context) error { return tt.verb }
					case "ProcessError":
						m.Response = func(*tegenaria.Context, chan<- *tegenaria.Context) error { return errors.New("to be replaced") }
						m.Failed = func(*tegenaria.Context, error, chan<- *tegenaria.Context) error { return tt.verb }
					case "Parser":
						s.Parse = parserOf(func(*tegenaria.Context) error { return tt.verb })
					case "Fetch":
						m.Request = func(ctx *tegenaria.Context) error {
							if ctx.Request.Url == "http://a.test/inline" {
								return tt.verb
							}
							return nil
						}
						s.Parse = parserOf(func(ctx *tegenaria.Context) error {
							if _, err := ctx.Fetch(tegenaria.NewRequest("http://a.test/inline", tegenaria.GET, nil)); err == nil {
								t.Error("Fetch returned no error")
							}
							return nil
						})
					}
					w := enginetest.NewWorld().Page("http://a.test/x", enginetest.Text("x")).Page("http://a.test/inline", enginetest.Text("x"))
					stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m)))
					want := map[tegenaria.Outcome]int64{tt.outcome: 1}
					told := tt.told
					if where == "Fetch" {
						want[tegenaria.Fetched], told = 1, 0
					}
					enginetest.WantOutcomes(t, stats, want)
					if stats.Reasons[tt.reason] != 1 {
						t.Errorf("reasons are %v, want one %q", stats.Reasons, tt.reason)
					}
					if got := len(s.Errors()); got != told {
						t.Errorf("the ErrorHandler was called %d times, want %d", got, told)
					}
				})
			})
		}
	}
}

// A request that ErrorHandler sent again arrived without its URL. Fails if isRetry does not know a retry for what
// it is: then it is a duplicate.
func TestRetryFromErrorHandlerKeepsItsURL(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/x", enginetest.InTurn(enginetest.Broken(errors.New("first")), enginetest.Status(500), enginetest.Text("good")))
	s := enginetest.NewSpider()
	header := map[string]string{"X": "1"}
	s.Start = func(req chan<- *tegenaria.Context) {
		req <- enginetest.Send("http://a.test/x", tegenaria.RequestWithRequestHeader(header), tegenaria.RequestWithRequestMeta(map[string]any{"k": "v"}))
	}
	s.Fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
		req <- tegenaria.NewContext(err.Request)
	}
	var got *tegenaria.Request
	s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		got = resp.Request
		return nil
	}
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
	if got == nil || got.Url != "http://a.test/x" || got.Header["X"] != "1" || got.Meta["k"] != "v" || got.Attempt != 2 || got.Depth != 0 {
		t.Errorf("the parser got %+v", got)
	}
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 2, tegenaria.Fetched: 1})
}

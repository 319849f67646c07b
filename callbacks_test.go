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

	"github.com/google/uuid"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

type contextKey struct{}

// A Context of its own follows the context it was made with.
func TestContextFollowsItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("cause")
		parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), contextKey{}, "value"))
		deadline := time.Now().Add(time.Hour)
		timed, stop := context.WithDeadline(parent, deadline)
		defer stop()
		ctx := tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", "GET", nil), tegenaria.WithContext(timed))
		if at, ok := ctx.Deadline(); !ok || !at.Equal(deadline) {
			t.Errorf("Deadline: %v, %t", at, ok)
		}
		if ctx.Value(contextKey{}) != "value" || ctx.Err() != nil {
			t.Errorf("Value %v, Err %v", ctx.Value(contextKey{}), ctx.Err())
		}
		cancel(cause)
		<-ctx.Done()
		if ctx.Err() == nil || !errors.Is(context.Cause(ctx.Ctx), cause) {
			t.Errorf("Err %v, cause %v", ctx.Err(), context.Cause(ctx.Ctx))
		}
		empty := tegenaria.NewContext(nil)
		if _, ok := empty.Deadline(); ok || empty.Done() != nil {
			t.Error("a Context without a parent has a deadline or can end")
		}
	})
}

// CtxIds are random UUIDs, made with the request and kept until the item.
func TestCtxId(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	ctx := enginetest.Send("http://a.test/")
	if id, err := uuid.Parse(ctx.CtxId); err != nil || id.Version() != 4 || ctx.CtxId == enginetest.Send("http://a.test/").CtxId {
		t.Errorf("CtxId %q: %v", ctx.CtxId, err)
	}
	own := enginetest.Send("http://a.test/own")
	own.CtxId = "my own"
	w.Page("http://a.test/own", enginetest.Text("x"))
	var ids []string
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) { req <- ctx; req <- own }
	s.Parse = func(c *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		item <- tegenaria.NewItem(c, 1)
		return nil
	}
	enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithItemConcurrency(1), tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(item *tegenaria.ItemMeta) error {
		ids = append(ids, item.CtxId)
		return nil
	}})))
	if slices.Sort(ids); !slices.Contains(ids, ctx.CtxId) || !slices.Contains(ids, "my own") || len(ids) != 2 {
		t.Errorf("items have %q, want %q and %q", ids, ctx.CtxId, "my own")
	}
}

// WithContext gives up one request, and no other; its values reach every callback.
func TestWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/hang", enginetest.Hang).Page("http://a.test/", enginetest.Redirect(302, "/end")).Page("http://a.test/end", enginetest.Text("x")).
			Page("http://a.test/late", enginetest.Text("x"))
		cause := errors.New("given up")
		giveUp, cancel := context.WithCancelCause(t.Context())
		values := context.WithValue(t.Context(), contextKey{}, "value")
		s := enginetest.NewSpider()
		s.Start = func(req chan<- *tegenaria.Context) {
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/hang", "GET", nil), tegenaria.WithContext(giveUp))
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/late", "GET", nil, tegenaria.RequestWithNotBefore(time.Now().Add(time.Hour))), tegenaria.WithContext(giveUp))
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", "GET", nil), tegenaria.WithContext(values))
		}
		parsed := 0
		s.Parse = parserOf(func(ctx *tegenaria.Context) error {
			parsed++
			if ctx.Value(contextKey{}) != "value" || ctx.Request.Url != "http://a.test/end" {
				t.Errorf("%s has the value %v", ctx.Request.Url, ctx.Value(contextKey{}))
			}
			return nil
		})
		m := &enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
			if want := ctx.Request.Url == "http://a.test/" || ctx.Request.Url == "http://a.test/end"; (ctx.Value(contextKey{}) == "value") != want {
				t.Errorf("the middleware sees %v for %s", ctx.Value(contextKey{}), ctx.Request.Url)
			}
			return nil
		}}
		go func() { enginetest.Sleep(time.Second); cancel(cause) }()
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m)))
		if parsed != 1 || len(s.Errors()) != 2 {
			t.Errorf("%d parsed, errors %v", parsed, s.Errors())
		}
		for _, herr := range s.Errors() {
			if !errors.Is(herr, cause) {
				t.Errorf("ErrorHandler got %v, want the cause", herr)
			}
		}
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 2, tegenaria.Fetched: 1, tegenaria.Redirected: 1})
	})
}

// The values of Run's context reach the callbacks, and a Context ends with its request.
func TestContextOfARun(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	var kept *tegenaria.Context
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = parserOf(func(ctx *tegenaria.Context) error {
		kept = ctx
		if ctx.Value(contextKey{}) != "value" || ctx.Err() != nil {
			t.Errorf("Value %v, Err %v", ctx.Value(contextKey{}), ctx.Err())
		}
		return nil
	})
	e := enginetest.NewEngine(w, s)
	if err := e.Run(context.WithValue(t.Context(), contextKey{}, "value"), "test"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-kept.Done():
	default:
		t.Error("the Context of a request that has settled is not done")
	}
}

// A ProcessResponse has a receiver only if it runs for long: more requests than its channel holds, and requests
// followed by a long wait, are accepted a millisecond later at the latest. The first case hangs if watch.look does
// not start the receiver, and so does the second.
func TestProcessResponseSends(t *testing.T) {
	for _, tt := range []struct {
		name     string
		requests int
		wait     time.Duration
		accepted time.Duration // after the beginning, the latest
	}{
		{"none", 0, 0, 0},
		{"few", 3, 0, 0},
		{"as many as the channel holds", 16, 0, 0},
		{"more", 17, 0, time.Millisecond},
		{"many", 1000, 0, time.Millisecond},
		{"few, then a wait", 3, time.Hour, time.Millisecond},
		{"many, then a wait", 1000, time.Hour, time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page())
				for i := range tt.requests {
					w.Page(fmt.Sprintf("http://b.test/%d", i), enginetest.Page())
				}
				m := &enginetest.Hooks{Response: func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
					if ctx.Request.Url != "http://a.test/" {
						return nil
					}
					for i := range tt.requests {
						req <- enginetest.Send(fmt.Sprintf("http://b.test/%d", i))
					}
					enginetest.Sleep(tt.wait)
					return nil
				}}
				began := time.Now()
				stats := enginetest.MustRun(t, enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithMiddlewares(m)))
				if took := time.Since(began); took < tt.wait || took > tt.wait+tt.accepted {
					t.Errorf("the crawl took %s", took)
				}
				if stats.Outcomes[tegenaria.Fetched] != int64(tt.requests)+1 {
					t.Errorf("%d requests sent, outcomes %v", tt.requests, stats.Outcomes)
				}
				for i, v := range w.Visits() {
					if at := v.At.Sub(began); at > tt.accepted {
						t.Fatalf("download %d, of %s, began after %s", i, v.Url, at)
					}
				}
			})
		})
	}
}

// Requests that a middleware sends together are accepted and refused in their order. It fails if a request that is refused overtakes
// those that wait for the cache with it.
func TestProcessResponseSendsInOrder(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page()).Page("http://b.test/1", enginetest.Page()).Page("http://b.test/2", enginetest.Page())
	sent := []string{"http://b.test/1", "mailto:nobody", "http://b.test/2"}
	m := &enginetest.Hooks{Response: func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
		if ctx.Request.Url == "http://a.test/" {
			for _, url := range sent {
				req <- enginetest.Send(url)
			}
		}
		return nil
	}}
	var order []string
	s := enginetest.NewSpider("http://a.test/")
	s.Fail = func(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) { order = append(order, err.Request.Url) }
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithEvents(tegenaria.Events{
		RequestAccepted: func(r *tegenaria.Request) {
			if r.Url != "http://a.test/" {
				order = append(order, r.Url)
			}
		},
	}))
	enginetest.MustRun(t, e)
	if !slices.Equal(order, sent) {
		t.Errorf("the order is %q, want %q", order, sent)
	}
}

// User code that closes the channel it sends to, against the rules, is told so. The process lives, and so does
// the crawl.
//
// It fails if sendFence does not recover, or nobody reports what it found.
func TestUserClosesTheChannel(t *testing.T) {
	type parts struct {
		world  *enginetest.World
		spider *enginetest.Spider
		hooks  *enginetest.ErrorHooks
	}
	for _, tt := range []struct {
		name  string
		set   func(p *parts) tegenaria.SpiderInterface // nil: the spider as it is
		stage tegenaria.Stage
		times int // how often it is told
		want  int64
	}{
		{"parser's items", func(p *parts) tegenaria.SpiderInterface {
			p.spider.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				item <- tegenaria.NewItem(ctx, 1)
				close(item)
				return nil
			}
			return nil
		}, tegenaria.StageParse, 2, 2},
		{"parser's requests", func(p *parts) tegenaria.SpiderInterface {
			p.spider.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				req <- enginetest.Send("http://a.test/child")
				close(req)
				return nil
			}
			return nil
		}, tegenaria.StageParse, 3, 3},
		{"both of a Handle", func(p *parts) tegenaria.SpiderInterface {
			inner := tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error { return out.Item(1) })
			p.spider.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				defer close(item)
				defer close(req)
				return inner(ctx, item, req)
			}
			return nil
		}, tegenaria.StageParse, 4, 2},
		{"StartRequest", func(p *parts) tegenaria.SpiderInterface {
			p.spider.Start = func(req chan<- *tegenaria.Context) {
				req <- enginetest.Send("http://a.test/")
				req <- enginetest.Send("http://b.test/")
				close(req)
			}
			return nil
		}, tegenaria.StageStart, 1, 2},
		{"Start", func(p *parts) tegenaria.SpiderInterface {
			return &starting{p.spider, func(_ context.Context, req chan<- *tegenaria.Context) error {
				defer close(req)
				p.spider.BaseSpider.StartRequest(req)
				return nil
			}}
		}, tegenaria.StageStart, 1, 2},
		{"ProcessResponse", func(p *parts) tegenaria.SpiderInterface {
			p.hooks.Response = func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
				if ctx.Request.Depth == 0 {
					req <- enginetest.Send("http://a.test/child")
				}
				close(req)
				return nil
			}
			return nil
		}, tegenaria.StageParse, 3, 3},
		{"ErrorHandler", func(p *parts) tegenaria.SpiderInterface {
			p.world.Page("http://b.test/", enginetest.Status(500))
			p.spider.Fail = func(_ *tegenaria.HandleError, req chan<- *tegenaria.Context) {
				req <- enginetest.Send("http://a.test/child")
				close(req)
			}
			return nil
		}, tegenaria.StageParse, 1, 2},
		{"ProcessError", func(p *parts) tegenaria.SpiderInterface {
			p.world.Page("http://b.test/", enginetest.Status(500))
			p.hooks.Failed = func(_ *tegenaria.Context, err error, req chan<- *tegenaria.Context) error {
				req <- enginetest.Send("http://a.test/child")
				close(req)
				return err
			}
			return nil
		}, tegenaria.StageParse, 1, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &parts{
				world:  enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://b.test/", enginetest.Text("x")).Page("http://a.test/child", enginetest.Text("x")),
				spider: enginetest.NewSpider("http://a.test/", "http://b.test/"),
				hooks:  &enginetest.ErrorHooks{Failed: func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error { return err }},
			}
			p.spider.Parse = enginetest.Nothing
			var spider tegenaria.SpiderInterface = p.spider
			if s := tt.set(p); s != nil {
				spider = s
			}
			var mu sync.Mutex
			var told []*tegenaria.HandleError
			stats := enginetest.MustRun(t, enginetest.NewEngine(p.world, spider, tegenaria.EngineWithMiddlewares(p.hooks), tegenaria.EngineWithEvents(tegenaria.Events{
				Error: func(err *tegenaria.HandleError) {
					if strings.Contains(err.Error(), "closed the channel") {
						mu.Lock()
						told = append(told, err)
						mu.Unlock()
					}
				},
			})))
			if stats.Outcomes[tegenaria.Fetched] != tt.want {
				t.Errorf("%d pages fetched, want %d: %v", stats.Outcomes[tegenaria.Fetched], tt.want, stats.Reasons)
			}
			if len(told) != tt.times {
				t.Fatalf("it was told %d times, want %d: %v", len(told), tt.times, told)
			}
			for _, err := range told {
				if err.Stage != tt.stage || (err.Request == nil) != (tt.stage == tegenaria.StageStart) {
					t.Errorf("told %+v, want the stage %s", err, tt.stage)
				}
			}
		})
	}
}

// A parser that goes on to send after it has closed its channel panics: that is its failure, and no more.
func TestUserSendsAfterClosing(t *testing.T) {
	w := onePage()
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		close(req)
		req <- enginetest.Send("http://a.test/never")
		return nil
	}
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
	var panicked *tegenaria.PanicError
	if herr := s.OnlyError(t); !errors.As(herr, &panicked) || herr.Stage != tegenaria.StageParse || len(herr.Stack) == 0 {
		t.Errorf("ErrorHandler got %v", herr)
	}
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1})
}

// A parser that was given up while an item of its page is on its way has its requests refused, by channel and by Output: a page whose
// code is too late must not lead on. It fails if acceptor.enter does not ask whether the sender was given up.
func TestAbandonedParserSendsNothing(t *testing.T) {
	const page, late = "http://a.test/", "http://a.test/late"
	for name, parser := range map[string]func(t *testing.T) tegenaria.Parser{
		"channels": func(*testing.T) tegenaria.Parser {
			return func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				enginetest.Sleep(5 * time.Second)
				item <- tegenaria.NewItem(ctx, "item")
				enginetest.Sleep(8 * time.Second) // two seconds after it was given up
				req <- enginetest.Send(late)
				return nil
			}
		},
		"Handle": func(t *testing.T) tegenaria.Parser {
			return tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[string]) error {
				enginetest.Sleep(5 * time.Second)
				out.Item("item")
				enginetest.Sleep(8 * time.Second)
				for name, err := range map[string]error{
					"Request": out.Request(tegenaria.NewRequest(late, tegenaria.GET, nil)), "Follow": out.Follow(late), "Item": out.Item("late"),
				} {
					if !errors.Is(err, tegenaria.ErrOutputClosed) {
						t.Errorf("%s returned %v", name, err)
					}
				}
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page(page, enginetest.Text("x")).Page(late, enginetest.Text("x"))
				s := enginetest.NewSpider()
				s.Start = func(req chan<- *tegenaria.Context) {
					req <- tegenaria.NewContext(tegenaria.NewRequest(page, tegenaria.GET, parser(t)))
				}
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}),
					tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error {
						enginetest.Sleep(9 * time.Second) // it ends after the parser has returned
						return nil
					}}))
				enginetest.Run(t, e)
				if stats := e.Stats(); w.Count(late) != 0 || stats.Discovered != 1 || stats.ItemScraped != 1 || stats.Abandoned[tegenaria.StageParse] != 1 {
					t.Errorf("the late page was asked for %d times: %+v", w.Count(late), stats)
				}
			})
		})
	}
}

// One host made the process panic, and a panic in the start made it exit. Fails if starter.send or fetcher.ask calls
// user code without guard.Protect.
func TestPanicsStayWhereTheyAre(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stage tegenaria.Stage
		set   func(w *enginetest.World, s *enginetest.Spider, e *tegenaria.SpiderEngine)
	}{
		{"StartRequest", tegenaria.StageStart, func(w *enginetest.World, s *enginetest.Spider, _ *tegenaria.SpiderEngine) {
			s.Start = func(req chan<- *tegenaria.Context) {
				req <- enginetest.Send("http://bing.net/")
				panic("start")
			}
		}},
		{"Download", tegenaria.StageDownload, func(w *enginetest.World, s *enginetest.Spider, _ *tegenaria.SpiderEngine) {
			s.FeedUrls = append(s.FeedUrls, "http://a.test/panic")
			w.Page("http://a.test/panic", func(*tegenaria.Context) (*tegenaria.Response, error) { panic("download") })
		}},
		{"Parser", tegenaria.StageParse, func(w *enginetest.World, s *enginetest.Spider, _ *tegenaria.SpiderEngine) {
			s.FeedUrls = append(s.FeedUrls, "http://a.test/panic")
			w.Page("http://a.test/panic", enginetest.Text("panic"))
		}},
		{"ProcessRequest", tegenaria.StageRequest, func(w *enginetest.World, s *enginetest.Spider, e *tegenaria.SpiderEngine) {
			s.FeedUrls = append(s.FeedUrls, "http://a.test/panic")
			e.RegisterDownloadMiddlewares(&enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
				if strings.HasSuffix(ctx.Request.Url, "panic") {
					panic("request")
				}
				return nil
			}})
		}},
		{"ProcessItem", tegenaria.StagePipeline, func(_ *enginetest.World, s *enginetest.Spider, e *tegenaria.SpiderEngine) {
			e.RegisterPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { panic("item") }})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://bing.net/", enginetest.Text("good"))
			s := enginetest.NewSpider("http://bing.net/")
			good := false
			s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				if resp.Response().String() == "panic" {
					panic("parser")
				}
				good = true
				item <- tegenaria.NewItem(resp, 1)
				return nil
			}
			e := enginetest.NewEngine(w, s)
			tt.set(w, s, e)
			enginetest.MustRun(t, e)
			herr := s.OnlyError(t)
			var panicked *tegenaria.PanicError
			if !errors.As(herr, &panicked) || len(herr.Stack) == 0 || herr.Stage != tt.stage {
				t.Errorf("error %v of stage %s, want a *PanicError with its stack", herr, herr.Stage)
			}
			if !good {
				t.Error("the good page was not parsed")
			}
		})
	}
}

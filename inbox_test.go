package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

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

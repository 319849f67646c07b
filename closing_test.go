package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

// Stop in a callback waits for a run that waits for the callback: it is bounded, and says what to do instead.
func TestStopInACallback(t *testing.T) {
	const grace = 10 * time.Second
	for _, tt := range []struct {
		name  string
		bound time.Duration // how long Stop takes at most
		stuck bool          // nobody can abandon that callback: Stop says so
		set   func(s *testSpider, e *tegenaria.SpiderEngine, stop func())
	}{
		{"Parser", grace, false, func(s *testSpider, _ *tegenaria.SpiderEngine, stop func()) {
			s.parse = parserOf(func(*tegenaria.Context) error { stop(); return nil })
		}},
		{"ProcessItem", grace, false, func(s *testSpider, e *tegenaria.SpiderEngine, stop func()) {
			s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				item <- tegenaria.NewItem(ctx, 1)
				return nil
			}
			e.RegisterPipelines(pipelineFunc{1, func(*tegenaria.ItemMeta) error { stop(); return nil }})
		}},
		{"Open", grace, false, func(_ *testSpider, e *tegenaria.SpiderEngine, stop func()) {
			e.RegisterDownloadMiddlewares(&opening{open: func(context.Context) error { stop(); return nil }})
		}},
		{"Close", grace + 2*time.Second, false, func(_ *testSpider, e *tegenaria.SpiderEngine, stop func()) {
			e.RegisterDownloadMiddlewares(&opening{close: func(context.Context, string) error { stop(); return nil }})
		}},
		{"Events.Downloaded", grace + 2*time.Second, true, func(_ *testSpider, e *tegenaria.SpiderEngine, stop func()) {
			tegenaria.EngineWithEvents(tegenaria.Events{Downloaded: func(*tegenaria.Request, *tegenaria.Response) { stop() }})(e)
		}},
		{"Events.RequestSettled", grace + 2*time.Second, true, func(_ *testSpider, e *tegenaria.SpiderEngine, stop func()) {
			tegenaria.EngineWithEvents(tegenaria.Events{RequestSettled: func(*tegenaria.Request, tegenaria.Outcome, string) { stop() }})(e)
		}},
		{"Events.Closed", grace + 5*time.Second, true, func(_ *testSpider, e *tegenaria.SpiderEngine, stop func()) {
			tegenaria.EngineWithEvents(tegenaria.Events{Closed: func(string) { stop() }})(e)
		}},
		{"go Stop in the Parser", 0, false, func(s *testSpider, _ *tegenaria.SpiderEngine, stop func()) {
			s.parse = parserOf(func(*tegenaria.Context) error { go stop(); return nil })
		}},
	} {
		for _, deadline := range []time.Duration{0, 2 * time.Second} {
			t.Run(fmt.Sprintf("%s/deadline %s", tt.name, deadline), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSpider("http://a.test/")
					s.parse = nothing
					e := newEngine(onePage(), s, tegenaria.EngineWithGrace(grace))
					stopped := make(chan error, 2)
					var took time.Duration
					tt.set(s, e, func() {
						ctx, cancel := t.Context(), context.CancelFunc(func() {})
						if deadline > 0 {
							ctx, cancel = context.WithTimeout(ctx, deadline)
						}
						defer cancel()
						began := time.Now()
						err := e.Stop(ctx)
						took = time.Since(began)
						stopped <- err
					})
					result := make(chan error, 1)
					go func() { result <- run(t, e) }()
					err := <-stopped
					if took > tt.bound {
						t.Errorf("Stop took %s, want at most %s", took, tt.bound)
					}
					var stuck *tegenaria.StopError
					if errors.As(err, &stuck) != tt.stuck || tt.stuck && (!strings.Contains(err.Error(), "CloseSpider") || !strings.Contains(err.Error(), "go e.Stop(ctx)")) {
						t.Errorf("Stop returned %v", err)
					}
					<-result
					synctest.Wait()
				})
			})
		}
	}
}

// A Closer that hangs is told by its context when the grace is over, or at once by a second signal, and then left
// behind; the others are closed all the same.
func TestCloseThatHangs(t *testing.T) {
	for _, listens := range []bool{true, false} {
		t.Run(fmt.Sprintf("listens %t", listens), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				closed := 0
				fine := func(context.Context, string) error { closed++; return nil }
				hanging := func(ctx context.Context, _ string) error {
					if listens {
						<-ctx.Done()
						return ctx.Err()
					}
					<-release
					return nil
				}
				s := newSpider("http://a.test/")
				s.parse = nothing
				e := newEngine(onePage(), s, tegenaria.EngineWithGrace(5*time.Second), tegenaria.EngineWithMiddlewares(
					&opening{close: fine}, &opening{close: hanging}, &opening{close: hanging}, &opening{close: fine}))
				began := time.Now()
				err := run(t, e)
				want, lost := 5*time.Second, 0
				if !listens {
					want, lost = 7*time.Second, 2
				}
				if took := time.Since(began); took != want {
					t.Errorf("it took %s, want %s", took, want)
				}
				var abandoned *tegenaria.AbandonedError
				if closed != 2 || !strings.Contains(err.Error(), "closing *tegenaria_test.opening") || errors.As(err, &abandoned) == listens ||
					!listens && abandoned.Stages[tegenaria.StageClose] != lost {
					t.Errorf("Run returned %v, closed %d", err, closed)
				}
				if stats := e.Stats(); stats.Abandoned[tegenaria.StageClose] != lost || stats.ErrorCount != int64(lost) || e.Summary().Reason != "finished" {
					t.Errorf("stats: %+v, reason %q", stats, e.Summary().Reason)
				}
				close(release)
				synctest.Wait()
			})
		})
	}
}

// A deadline of Stop that ends while the parts are closed hurries them.
func TestStopHurriesClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var told error
		s := newSpider("http://a.test/")
		s.parse = nothing
		e := newEngine(onePage(), s, tegenaria.EngineWithMiddlewares(
			&opening{close: func(context.Context, string) error { <-release; return nil }},
			&opening{close: func(ctx context.Context, _ string) error { <-ctx.Done(); told = ctx.Err(); return nil }}))
		result := make(chan error, 1)
		go func() { result <- run(t, e) }()
		sleep(time.Second)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		e.Stop(ctx)
		err := <-result
		var abandoned *tegenaria.AbandonedError
		if !errors.As(err, &abandoned) || abandoned.Stages[tegenaria.StageClose] != 1 || told == nil {
			t.Errorf("Run returned %v; the one that listens: %v", err, told)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("it took %s", took)
		}
		close(release)
		synctest.Wait()
	})
}

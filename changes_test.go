package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// changedJob is a durable job of 40 pages of one host, each of which takes no time. Its settings have a delay of a second.
type changedJob struct {
	t     *testing.T
	store *enginetest.CrashStore
}

// run runs the job. Its third page calls do, which ends the run. It returns the log, and how far the first pages were apart.
func (j *changedJob) run(do func(e *tegenaria.SpiderEngine, cache *enginetest.CrashCache)) (log string, apart time.Duration, err error) {
	w, seeds := enginetest.NewWorld(), []string(nil)
	var engine *tegenaria.SpiderEngine
	var text bytes.Buffer
	logger := logrus.New()
	logger.SetOutput(&text)
	cache := &enginetest.CrashCache{CrashStore: j.store}
	var begun []time.Time
	for i := range 40 {
		url := fmt.Sprintf("http://a.test/%d", i)
		seeds = append(seeds, url)
		w.Page(url, func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			if begun = append(begun, time.Now()); len(begun) == 3 { // one download at a time
				do(engine, cache)
			}
			return enginetest.Text("x")(ctx)
		})
	}
	engine = polite(w, tegenaria.Politeness{Delay: time.Second, PerSlot: 1}, seeds,
		tegenaria.EngineWithCache(cache), tegenaria.EngineWithLogger(logger))
	err = engine.Run(j.t.Context(), "test")
	if len(begun) < 2 {
		j.t.Fatalf("the run has asked for %d pages", len(begun))
	}
	return text.String(), begun[1].Sub(begun[0]), err
}

// What SetSlot and SetConcurrency have changed is in force when a durable job goes on, also after its process was killed right after
// they returned, until it is undone. It fails if a call returns before the batch that holds its change is stored.
func TestChangesAreKeptWithAJob(t *testing.T) {
	for name, end := range map[string]func(e *tegenaria.SpiderEngine, cache *enginetest.CrashCache){
		"killed": func(_ *tegenaria.SpiderEngine, cache *enginetest.CrashCache) { cache.Kill() },
		"stopped": func(e *tegenaria.SpiderEngine, _ *enginetest.CrashCache) {
			go func() { _ = e.Stop(context.Background()) }()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				job := &changedJob{t: t, store: enginetest.NewCrashStore()}
				ended := func(log string, apart time.Duration, err error) (string, time.Duration) {
					t.Helper()
					var stopped *tegenaria.StoppedError
					if err != nil && !errors.As(err, &stopped) && !errors.Is(err, enginetest.ErrCrashed) {
						t.Fatalf("%v\n%s", err, log)
					}
					return log, apart
				}
				must := func(err error) {
					t.Helper()
					if err != nil {
						t.Error(err)
					}
				}
				want := tegenaria.SlotPolicy{Delay: time.Minute, PerSlot: 1}
				ended(job.run(func(e *tegenaria.SpiderEngine, cache *enginetest.CrashCache) {
					must(e.SetSlot("a.test", want))
					must(e.SetSlot("b.test", want))
					must(e.SetConcurrency(3))
					must(e.ResetSlot("b.test"))
					end(e, cache)
				}))
				log, apart := ended(job.run(func(e *tegenaria.SpiderEngine, cache *enginetest.CrashCache) {
					got := e.Changes()
					if got.Concurrency != 3 || !maps.Equal(got.Slots, map[string]tegenaria.SlotPolicy{"a.test": want}) {
						t.Errorf("the next run has %+v", got)
					}
					if p, set := e.SlotPolicy("a.test"); p != want || !set || e.Concurrency() != 3 {
						t.Errorf("the next run has %+v (set: %t) and %d downloads at once", p, set, e.Concurrency())
					}
					must(e.ResetSlot("A.test."))
					must(e.ResetConcurrency())
					if got := e.Changes(); got.Concurrency != 0 || len(got.Slots) != 0 || e.Concurrency() != 16 {
						t.Errorf("undone: %+v, %d downloads at once", got, e.Concurrency())
					}
					end(e, cache)
				}))
				if apart != time.Minute {
					t.Errorf("the next run asked again after %s, want a minute", apart)
				}
				if want := "in force from an earlier run of the job, in place of its settings: 3 downloads at once; " +
					"a.test: delay 1m0s, jitter 0, per_slot 1"; !strings.Contains(log, want) {
					t.Errorf("the log does not say %q:\n%s", want, log)
				}
				log, apart = ended(job.run(func(e *tegenaria.SpiderEngine, cache *enginetest.CrashCache) {
					if got := e.Changes(); got.Concurrency != 0 || len(got.Slots) != 0 || e.Concurrency() != 16 {
						t.Errorf("the last run has %+v, and %d downloads at once", got, e.Concurrency())
					}
					cache.Kill()
					if err := e.SetConcurrency(2); !errors.Is(err, enginetest.ErrCrashed) {
						t.Errorf("a change that is not stored: %v", err)
					}
				}))
				if apart != time.Second || strings.Contains(log, "in force from an earlier run") {
					t.Errorf("after both were undone the run asked again after %s:\n%s", apart, log)
				}
			})
		})
	}
}

// A change made before the crawl takes requests counts more than one of an earlier run, and is stored too.
func TestChangeBeforeTheFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w := enginetest.NewCrashStore(), enginetest.NewWorld()
		var seeds []string
		var engine *tegenaria.SpiderEngine
		for i := range 4 {
			url := fmt.Sprintf("http://a.test/%d", i)
			seeds = append(seeds, url)
			w.Page(url, func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
				go func() { _ = engine.Stop(t.Context()) }()
				return enginetest.Text("x")(ctx)
			})
		}
		run := func(before int) (in tegenaria.Changes) {
			engine = polite(w, tegenaria.Politeness{Delay: time.Second, PerSlot: 1}, seeds,
				tegenaria.EngineWithCache(&enginetest.CrashCache{CrashStore: store}),
				tegenaria.EngineWithEvents(tegenaria.Events{Started: func(tegenaria.SpiderInterface) { in = engine.Changes() }}))
			if before > 0 {
				engine.RegisterDownloadMiddlewares(&opening{open: func(context.Context) error { return engine.SetConcurrency(before) }})
			}
			var stopped *tegenaria.StoppedError
			if err := enginetest.Run(t, engine); err != nil && !errors.As(err, &stopped) {
				t.Error(err)
			}
			return in
		}
		for _, before := range []int{4, 5} {
			if got := run(before); got.Concurrency != before {
				t.Errorf("changed to %d when a part was opened: the run begins with %d", before, got.Concurrency)
			}
		}
		if got := run(0); got.Concurrency != 5 {
			t.Errorf("the next run has %d downloads at once, want 5", got.Concurrency)
		}
	})
}

// Nothing of a crawl in memory is kept for its next run.
func TestChangesInMemoryEndWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		var got []tegenaria.Changes
		var e *tegenaria.SpiderEngine
		w.Page("http://a.test/", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			got = append(got, e.Changes())
			if err := errors.Join(e.SetSlot("a.test", tegenaria.SlotPolicy{Delay: time.Second}), e.SetConcurrency(2)); err != nil {
				t.Error(err)
			}
			got = append(got, e.Changes())
			return enginetest.Text("x")(ctx)
		})
		e = polite(w, tegenaria.Politeness{}, []string{"http://a.test/"})
		enginetest.MustRun(t, e)
		enginetest.MustRun(t, e)
		for i, c := range got {
			if changed := i%2 == 1; (c.Concurrency == 2) != changed || (len(c.Slots) == 1) != changed {
				t.Errorf("state %d: %+v", i, c)
			}
		}
		if e.ResetConcurrency() == nil || e.Changes().Concurrency != 0 {
			t.Error("a change without a crawl is no error")
		}
	})
}

package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// The three traps: ways to build an engine that look right and are not. Each test says which change of the
// engine makes it fail.

// An item that fails long after its request was parsed may still ask, through ErrorHandler, for a new
// request. So an item keeps its request open, and the crawl.
//
// It fails if mill.add does not open the item's request (root.tryOpen in items.go, and the done of
// MarkAsProcessed with it) and does not count it (ledger.items): the ledger is at zero as soon as the
// only page was parsed.
func TestTrapItemErrorAsksForNewRequestLate(t *testing.T) {
	const late = "http://a.test/late"
	for _, slow := range []time.Duration{0, time.Second, time.Hour} {
		t.Run(slow.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page(late, enginetest.Text("x"))
				s := enginetest.NewSpider("http://a.test/")
				var parsed time.Time
				s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					if resp.Request.Url != late {
						item <- tegenaria.NewItem(resp, "fails")
						parsed = time.Now()
					}
					return nil
				}
				s.Fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
					if err.Item != nil {
						req <- enginetest.Send(late)
					}
				}
				fails := enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error {
					enginetest.Wait(context.Background(), slow)
					return errors.New("too late?")
				}}
				began := time.Now()
				stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(fails)))
				if parsed != began {
					t.Errorf("the page was parsed after %s", parsed.Sub(began))
				}
				if !slices.Equal(w.Urls(), []string{"http://a.test/", late}) {
					t.Errorf("asked for %q", w.Urls())
				} else if got := w.Visits()[1].At.Sub(began); got != slow {
					t.Errorf("the late request was made after %s, want %s", got, slow)
				}
				if took := time.Since(began); took != slow {
					t.Errorf("the crawl took %s, want %s", took, slow)
				}
				enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2})
			})
		})
	}
}

// The delay of a host runs from the moment a download starts. Between pick and start a request may pass
// slow middlewares; stamped at the pick, two downloads would start as close together as these end.
//
// It fails if slots.Acquire stamps the slot (s.last = now) and Started no longer does, and also if a
// slot with a delay is not hidden from pick to start (held in internal/slots/slot.go).
func TestTrapStampAtStartNotAtPick(t *testing.T) {
	const delay = time.Second
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		var urls []string
		for i := range 8 {
			urls = append(urls, fmt.Sprintf("http://a.test/%d", i))
			w.Page(urls[i], enginetest.Text("x"))
		}
		s := enginetest.NewSpider(urls...)
		s.Parse = enginetest.Nothing
		// The first request of each pair takes 950 ms from pick to start, the second one none: stamped at the
		// pick they start 50 ms apart.
		turn := 0
		slow := &enginetest.Hooks{Name: "slow", Request: func(ctx *tegenaria.Context) error {
			turn++
			if turn%2 == 1 {
				return enginetest.Wait(ctx, 950*time.Millisecond)
			}
			return nil
		}}
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(slow),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: delay})))
		visits := w.Visits()
		if len(visits) != len(urls) {
			t.Fatalf("%d downloads, want %d", len(visits), len(urls))
		}
		for i := range visits[1:] {
			if gap := visits[i+1].At.Sub(visits[i].At); gap < delay {
				t.Errorf("downloads %d and %d start %s apart, want %s", i, i+1, gap, delay)
			}
		}
	})
}

// While all parsers wait in Fetch, every fetch worker may hold a page that no parser takes. Then a Fetch
// needs a worker that no page can hold, and the pages need a parser.
//
// The first case fails if nothing is reserved for the lane (inline is 0 in newScheduler), the second if a
// parser does not lend its place while it waits (lend in inline.go returns at once).
func TestTrapAllParsersInFetchWhileFetchWorkersFull(t *testing.T) {
	const pages = 20
	crawl := func(t *testing.T, delay time.Duration, inline enginetest.Answer, parsing func(n int)) {
		w := enginetest.NewWorld().Page("http://b.test/inline", inline)
		var urls []string
		for i := range pages {
			urls = append(urls, fmt.Sprintf("http://a.test/%d", i))
			w.Page(urls[i], enginetest.Text("x"))
		}
		s := enginetest.NewSpider(urls...)
		var parsed atomic.Int32
		s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			parsing(int(parsed.Add(1)))
			enginetest.Wait(resp, 100*time.Millisecond) // all workers get a page meanwhile
			got, err := resp.Fetch(tegenaria.NewRequest("http://b.test/inline", tegenaria.GET, nil))
			if err != nil {
				return err
			}
			if got.String() != "inline" {
				return fmt.Errorf("Fetch brought %q", got)
			}
			return nil
		}
		// The delay of the other host keeps a Fetch from taking a worker before the pages have them all.
		polite := tegenaria.Politeness{IgnoreRobots: true, Overrides: map[string]tegenaria.SlotPolicy{"b.test": {Delay: delay}}}
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithConcurrency(2),
			tegenaria.EngineWithPoliteness(polite)))
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2 * pages})
		if errs := s.Errors(); len(errs) > 0 {
			t.Errorf("errors: %v", errs)
		}
	}
	t.Run("no worker is free", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			crawl(t, time.Second, enginetest.Text("inline"), func(int) {})
		})
	})
	t.Run("a Fetch waits for another page to be parsed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			second := make(chan struct{})
			inline := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
				select {
				case <-second:
					return enginetest.Text("inline")(ctx)
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}
			crawl(t, 0, inline, func(n int) {
				if n == 2 {
					close(second)
				}
			})
		})
	})
}

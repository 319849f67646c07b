package tegenaria_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

// countedStaging counts the batches.
type countedStaging struct {
	staging
	batches int // guarded by the staging's mu
	at      []time.Time
}

func (c *countedStaging) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	if len(ids) > 0 {
		c.mu.Lock()
		c.batches++
		c.at = append(c.at, time.Now())
		c.mu.Unlock()
	}
	return c.staging.Prepare(ctx, ids)
}

// While all workers are busy pages are settled together: a batch for each would cost the disk too much. It fails without
// the settler's pause.
func TestPagesAreSettledTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 200
		slow := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			sleep(time.Millisecond)
			return text("x")(ctx)
		}
		w := newWorld()
		var seeds []string
		for n := range pages {
			url := fmt.Sprintf("http://a.test/%d", n)
			w.page(url, slow)
			seeds = append(seeds, url)
		}
		s := newSpider(seeds...)
		s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(ctx, ctx.Request.Url)
			return nil
		}
		c := &countedStaging{}
		began := time.Now()
		mustRun(t, newEngine(w, s, tegenaria.EngineWithConcurrency(2), tegenaria.EngineWithPipelines(c)))
		took := time.Since(began)
		if most := int(took/(10*time.Millisecond)) + 5; c.batches > most || c.batches < 3 {
			t.Errorf("%d pages in %s were settled in %d batches, want at most %d", pages, took, c.batches, most)
		}
		if len(c.committed) != pages {
			t.Errorf("%d items were committed, want %d", len(c.committed), pages)
		}
	})
}

// A page that nobody would settle a batch with is settled at once, though another one is on its way: a worker has nothing
// to do. It fails if the pause does not end then.
func TestAPageIsSettledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(d time.Duration) answer {
			return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
				sleep(d)
				return text("x")(ctx)
			}
		}
		w := newWorld().page("http://a.test/1", after(time.Second)).page("http://a.test/2", after(time.Second+time.Millisecond)).
			page("http://a.test/3", after(time.Minute))
		s := newSpider("http://a.test/1", "http://a.test/2", "http://a.test/3")
		s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(ctx, ctx.Request.Url)
			return nil
		}
		c := &countedStaging{}
		began := time.Now()
		mustRun(t, newEngine(w, s, tegenaria.EngineWithConcurrency(8), tegenaria.EngineWithPipelines(c)))
		var took []time.Duration
		for _, at := range c.at {
			took = append(took, at.Sub(began))
		}
		if want := []time.Duration{time.Second, time.Second + time.Millisecond, time.Minute}; fmt.Sprint(took) != fmt.Sprint(want) {
			t.Errorf("batches came after %v, want %v", took, want)
		}
	})
}

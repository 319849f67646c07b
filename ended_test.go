package tegenaria_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/tegenaria/tegenaria"
)

// slowCommitter is a disk that takes its time: it keeps what is to be settled waiting until it may go on.
type slowCommitter struct {
	staging
	goOn chan struct{}
}

func (c *slowCommitter) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	if len(ids) > 0 {
		<-c.goOn
	}
	return c.staging.Prepare(ctx, ids)
}

// While pages wait to be settled their responses are not kept: a slow disk must not cost memory.
func TestWaitingPagesAreLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 40
		w := newWorld()
		var seeds []string
		for i := range pages {
			url := fmt.Sprintf("http://a.test/%d", i)
			seeds = append(seeds, url)
			w.page(url, text("x"))
		}
		var responses []weak.Pointer[tegenaria.Response]
		s := newSpider(seeds...)
		s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			responses = append(responses, weak.Make(ctx.Response()))
			item <- tegenaria.NewItem(ctx, len(responses))
			return nil
		}
		c := &slowCommitter{goOn: make(chan struct{})}
		e := newEngine(w, s, tegenaria.EngineWithPipelines(c), tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithConcurrency(1))
		done := make(chan error, 1)
		go func() { done <- e.Run(t.Context(), s.GetName()) }()
		synctest.Wait()
		if len(responses) != pages || e.Stats().Settled != 0 {
			t.Errorf("%d pages are parsed, %d settled; want %d and 0", len(responses), e.Stats().Settled, pages)
		}
		runtime.GC()
		kept := 0
		for _, resp := range responses {
			if resp.Value() != nil {
				kept++
			}
		}
		if kept > pages/4 { // workers may still know the last of them
			t.Errorf("of %d responses %d are kept", pages, kept)
		}
		close(c.goOn)
		if err := <-done; err != nil || e.Stats().Settled != pages || len(c.committed) != pages {
			t.Errorf("%v; %d settled, %d items committed, want %d", err, e.Stats().Settled, len(c.committed), pages)
		}
	})
}

package tegenaria_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// watchedCache calls a func with each batch, before it is stored.
type watchedCache struct {
	tegenaria.CacheInterface
	settle func(tegenaria.Batch)
}

func (c watchedCache) Settle(ctx context.Context, batch tegenaria.Batch) error {
	c.settle(batch)
	return c.CacheInterface.Settle(ctx, batch)
}

// A batch counts what its own requests and those of earlier batches have counted. A request that is still in flight,
// though its page was fetched and parsed and one of its items is through, would be counted again after a crash. It
// fails if pages, items or reasons are counted as they come, or one batch too late.
func TestBatchCountsWhatItSettles(t *testing.T) {
	store, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w := enginetest.NewWorld().Page("http://a.test/1", enginetest.Text("x")).Page("http://b.test/2", enginetest.Text("x"))
	s := enginetest.NewSpider("http://a.test/1", "http://b.test/2", "http://c.test/gone")
	halfway, stored := make(chan struct{}), make(chan struct{}) // the page 2 is in flight; the page 1 is stored
	s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		if ctx.Request.Url == "http://a.test/1" {
			<-halfway
			item <- tegenaria.NewItem(ctx, "good")
			item <- tegenaria.NewItem(ctx, "dropped")
			item <- tegenaria.NewItem(ctx, "failed")
			return nil
		}
		for _, kind := range []string{"good", "dropped", "failed", "last"} {
			item <- tegenaria.NewItem(ctx, kind)
		}
		return nil
	}
	pipe := enginetest.PipelineFunc{Priority: 1, Process: func(item *tegenaria.ItemMeta) error {
		switch item.Item {
		case "dropped":
			return tegenaria.DropItem(errors.New("bad"))
		case "failed":
			return errors.New("broken")
		case "last":
			close(halfway)
			<-stored
		}
		return nil
	}}
	want := map[string]int64{"settled": 0}
	cache := watchedCache{store, func(batch tegenaria.Batch) {
		for _, how := range batch.Settled {
			want["settled"]++
			want["responses"]++
			want["outcome/"+how.Outcome.String()]++
			if how.Reason != "" {
				want["reason/"+how.Outcome.String()+": "+how.Reason]++
			}
			switch how.Record.Slot {
			case "c.test":
				want["status/404"]++
				continue
			case "a.test":
				close(stored)
			case "b.test":
				want["items_scraped"]++ // the last one
			}
			want["status/200"]++
			want["read"]++
			want["items_scraped"]++
			want["items_dropped"]++
			want["items_failed"]++
		}
		if len(batch.Settled) == 0 {
			return
		}
		for name, n := range want {
			if batch.Counters[name] != n {
				t.Errorf("after %d requests the counter %s is %d, want %d", want["settled"], name, batch.Counters[name], n)
			}
		}
	}}
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(cache), tegenaria.EngineWithPipelines(pipe),
		tegenaria.EngineWithItemConcurrency(2), tegenaria.EngineWithSchedulerNum(4))
	enginetest.MustRun(t, e)
	if want["settled"] != 3 {
		t.Errorf("%d requests were settled", want["settled"])
	}
	job, own := e.JobStats(), e.Stats()
	if job.Discovered != 3 || job.Responses != own.Responses || job.ItemScraped != 3 || own.ItemScraped != 3 || job.Status[404] != 1 {
		t.Errorf("the job has %d requests, %d responses, %d items; the run %d, %d", job.Discovered, job.Responses, job.ItemScraped, own.Responses, own.ItemScraped)
	}
}

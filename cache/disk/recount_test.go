package disk_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// What DropHost and Replay change is in the counters of the job: each request that was discovered is settled or waits, before,
// after, and after the job was resumed. It fails if either leaves the counters as they are.
func TestChangesKeepTheLedger(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	w := enginetest.NewWorld().Page("http://dead.test/", enginetest.Status(404)).Page("http://a.test/", enginetest.Text("x"))
	s := enginetest.NewSpider("http://dead.test/", "http://a.test/")
	s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		for _, path := range []string{"1", "2", "3"} {
			req <- enginetest.Send("http://b.test/" + path)
			req <- enginetest.Send("http://b.test/later/"+path, tegenaria.RequestWithNotBefore(time.Now().Add(time.Hour)))
		}
		req <- enginetest.Send("http://c.test/")
		return tegenaria.CloseSpider("for now")
	}
	w.Page("http://c.test/", enginetest.Text("x"))
	for _, path := range []string{"1", "2", "3"} {
		w.Page("http://b.test/"+path, enginetest.Text("x"))
	}
	run := func(opts ...tegenaria.EngineOption) tegenaria.Stats {
		t.Helper()
		c := open(t, dir)
		defer closed(t, c)
		e := enginetest.NewEngine(w, s, append(opts, tegenaria.EngineWithCache(c))...)
		enginetest.Run(t, e)
		job := e.JobStats()
		ends := int64(0)
		for _, n := range job.Outcomes {
			ends += n
		}
		if job.Discovered != job.Settled+job.Pending+job.Delayed+job.InFlight || ends != job.Settled {
			t.Errorf("%d discovered, %d settled, %d pending, %d delayed, %d in flight; outcomes %v", job.Discovered, job.Settled, job.Pending, job.Delayed, job.InFlight, job.Outcomes)
		}
		return job
	}
	change := func(do func(*disk.Cache) (int, error)) int {
		t.Helper()
		c := open(t, dir)
		defer closed(t, c)
		n, err := do(c)
		if err != nil {
			t.Fatal(err)
		}
		st := statusOf(t, c)
		if st.Counters["discovered"] != st.Counters["settled"]+st.Waiting+st.Delayed {
			t.Errorf("%d waiting, %d delayed, counters %v", st.Waiting, st.Delayed, st.Counters)
		}
		return n
	}

	first := run(tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 2}), tegenaria.EngineWithConcurrency(1))
	dropped := change(func(c *disk.Cache) (int, error) { return c.DropHost(t.Context(), "b.test", "unwanted") })
	if dropped < 3 {
		t.Fatalf("%d requests were dropped, the delayed ones alone are 3", dropped)
	}
	none := change(func(c *disk.Cache) (int, error) { return c.DropHost(t.Context(), "b.test", "unwanted") })
	replayed := change(func(c *disk.Cache) (int, error) { return c.Replay(t.Context(), nil) })
	if none != 0 || replayed != 1 {
		t.Errorf("%d requests were dropped again, %d replayed", none, replayed)
	}
	s.Parse = enginetest.Nothing
	last := run()
	seeds := last.Outcomes[tegenaria.Duplicate] // a run that stops while its seeds are being sent sends them again
	if last.Discovered != first.Discovered+seeds || last.Settled != last.Discovered || last.Outcomes[tegenaria.Failed] != 1 ||
		last.Outcomes[tegenaria.Dropped] != int64(dropped) || last.Reasons["dropped: unwanted"] != int64(dropped) {
		t.Errorf("first %d discovered; in the end %d, %d settled, %v, %v", first.Discovered, last.Discovered, last.Settled, last.Outcomes, last.Reasons)
	}
}

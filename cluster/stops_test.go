package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
)

// A worker whose context ends leaves the job to the others. CloseSpider and limits end the runs of all workers, and
// what was not crawled is crawled when they begin again.
func TestStops(t *testing.T) {
	for name, c := range map[string]struct {
		limits tegenaria.Limits
		closes string // the path of the page whose parser returns CloseSpider
		want   string
	}{
		"CloseSpider": {closes: "/100", want: "enough"},
		"a limit":     {limits: tegenaria.Limits{Items: 30}, want: "limit: items"},
	} {
		t.Run(name, func(t *testing.T) {
			const pages, hosts, delay = 300, 16, 50 * time.Millisecond
			dsn, job := database(t), newJob()
			web := newWeb(t, hosts, pages)
			workers := newWorkers(t, dsn, job, 3, 4*shortTTL)
			leaving, leave := context.WithCancel(t.Context())
			web.left, web.do = 15, leave
			var crawling sync.WaitGroup
			for i, w := range workers {
				ctx := t.Context()
				if i == 2 {
					ctx = leaving
				}
				w.limits, w.closes = c.limits, c.closes
				crawling.Go(func() {
					w.crawl(ctx, web, delay)
					if i == 2 { // the others have its hosts from then on
						if err := w.cache.Close(); err != nil {
							t.Error(err)
						}
					}
				})
			}
			crawling.Wait()
			for _, w := range workers[:2] {
				wantStopped(t, w, c.want)
			}
			if err := workers[2].err; !errors.Is(err, context.Canceled) {
				t.Errorf("the worker whose context has ended: %v", err)
			}
			admin := connect(t, dsn)
			schema := fmt.Sprintf("%q", job)
			if got := read(t, admin, `SELECT stopped || coalesce(finished, '') FROM `+schema+`.job`); got != c.want {
				t.Errorf("the job was stopped because of %q, want %q", got, c.want)
			}
			some := web.asks()
			if some >= pages {
				t.Errorf("%d requests before the end, more than some of %d pages", some, pages)
			}

			closed(t, workers[0].cache)
			late, err := cluster.Open(t.Context(), dsn, job, cluster.Options{Worker: "late", TTL: 4 * shortTTL})
			if err != nil {
				t.Fatal(err)
			}
			newcomer := &worker{name: "late", cache: late}
			newcomer.crawl(t.Context(), web, delay) // while two others have not ended
			wantStopped(t, newcomer, c.want)
			if n := web.asks(); n != some {
				t.Errorf("%d requests after the job was stopped", n-some)
			}
			closed(t, late)
			closed(t, workers[1].cache)

			workers = newWorkers(t, dsn, job, 2, 4*shortTTL)
			for _, w := range workers {
				crawling.Go(func() { w.crawl(t.Context(), web, delay) })
			}
			crawling.Wait()
			for _, w := range workers {
				if w.err != nil {
					t.Errorf("%s, resumed: %v", w.name, w.err)
				}
				closed(t, w.cache)
			}
			got := read(t, admin, `SELECT count(DISTINCT url) || ' ' || (SELECT coalesce(stopped, finished) FROM `+schema+`.job) FROM `+schema+`.outcome WHERE outcome = 'fetched'`)
			if want := fmt.Sprint(pages, " finished"); got != want {
				t.Errorf("pages fetched in all, and the end of the job: %s, want %s", got, want)
			}
		})
	}
}

// Limits.Pages is of the job: all workers together begin so many downloads, and not one more, and as many again when
// they begin anew. One that leaves returns what it has not begun.
func TestPagesOfAJob(t *testing.T) {
	const pages, hosts, delay, limit = 300, 16, 10 * time.Millisecond, 100
	dsn, job := database(t), newJob()
	web := newWeb(t, hosts, pages)
	for round := 1; ; round++ {
		workers := newWorkers(t, dsn, job, 3, 4*shortTTL)
		leaving, leave := context.WithCancel(t.Context())
		var crawling sync.WaitGroup
		for i, w := range workers {
			w.limits.Pages = limit
			ctx := t.Context()
			if i == 0 && round == 1 {
				ctx = leaving
				web.mu.Lock()
				web.left, web.do = 20, leave
				web.mu.Unlock()
			}
			crawling.Go(func() {
				w.crawl(ctx, web, delay)
				closed(t, w.cache)
			})
		}
		crawling.Wait()
		leave()
		asked := web.asks()
		if workers[1].err == nil && workers[2].err == nil {
			if all := pages + pages/10; asked < all || asked > all+limit/2 {
				t.Errorf("%d requests in all, the job has %d", asked, all)
			}
			return
		}
		for _, w := range workers[1:] {
			wantStopped(t, w, "limit: pages")
		}
		// What the worker had in flight that was to leave brought no response.
		if least, most := round*limit, round*limit+8; asked < least || asked > most || round > 4 {
			t.Fatalf("round %d: %d requests, want %d to %d", round, asked, least, most)
		}
	}
}

// wantStopped checks that the run of a worker was stopped for a reason.
func wantStopped(t *testing.T, w *worker, reason string) {
	t.Helper()
	var stopped *tegenaria.StoppedError
	if !errors.As(w.err, &stopped) || stopped.Reason != reason {
		t.Errorf("%s: %v, want a StoppedError %q", w.name, w.err, reason)
	}
}

// asks returns how many requests have come.
func (w *web) asks() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, log := range w.log {
		n += len(log)
	}
	return n
}

// A job is seen and steered from outside: while it is paused nothing is asked for, also by a worker that begins then,
// and Stop ends the runs of all workers.
func TestSteered(t *testing.T) {
	const pages, hosts, delay = 3000, 16, 20 * time.Millisecond
	dsn, job := database(t), newJob()
	var missing *cluster.MissingError
	if _, err := cluster.Dial(t.Context(), dsn, job); !errors.As(err, &missing) {
		t.Errorf("a job that is not there: %v, want a MissingError", err)
	}
	web := newWeb(t, hosts, pages)
	workers := newWorkers(t, dsn, job, 3, 4*shortTTL)
	outside, err := cluster.Dial(t.Context(), dsn, job)
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	web.left, web.do = 30, func() { close(begun) }
	var crawling sync.WaitGroup
	for _, w := range workers[:2] {
		crawling.Go(func() { w.crawl(t.Context(), web, delay) })
	}
	<-begun
	if err := outside.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	crawling.Go(func() { workers[2].crawl(t.Context(), web, delay) })
	var s cluster.Status
	until := func(what string, is func() bool) {
		t.Helper()
		for s.Workers = nil; s.Workers == nil || !is(); {
			if s, err = outside.Status(t.Context()); err != nil {
				t.Fatalf("waiting until %s: %v", what, err)
			}
		}
	}
	until("three workers share the job", func() bool {
		return len(s.Workers) == 3 && !slices.ContainsFunc(s.Workers, func(w cluster.WorkerStatus) bool { return !w.Alive || w.Partitions < 10 })
	})
	admin := connect(t, dsn)
	before := web.asks() // the newcomer has partitions of both others: they have looked, and start nothing any more
	heartbeats := func() (n int) {
		_, err := fmt.Sscan(read(t, admin, fmt.Sprintf(`SELECT sum(number)::text FROM %q.heartbeat`, job)), &n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for begin := heartbeats(); heartbeats() < begin+6; { // about a second, in which the hosts could be asked many times
	}
	if after := web.asks(); after > before+hosts { // what was in flight may have arrived meanwhile
		t.Errorf("%d requests while the job was paused", after-before)
	}
	until("the messages were read", func() bool { return s.Messages == 0 })
	fetched := read(t, admin, fmt.Sprintf(`SELECT count(*)::text FROM %q.outcome WHERE outcome = 'fetched'`, job))
	waiting := read(t, admin, fmt.Sprintf(`SELECT count(*)::text FROM %q.queue`, job))
	if !s.Paused || !s.Started || s.Stopped != "" || fmt.Sprint(s.Outcomes["fetched"]) != fetched || fmt.Sprint(s.Queued) != waiting || s.Queued == 0 {
		t.Errorf("%+v, want %s fetched pages and %s requests that wait", s, fetched, waiting)
	}
	wantCounted(t, dsn, job)

	if err := outside.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	until("something was fetched", func() bool { return web.asks() > before && !s.Paused })
	if err := outside.Stop(t.Context(), "enough"); err != nil {
		t.Fatal(err)
	}
	crawling.Wait()
	for _, w := range workers {
		wantStopped(t, w, "enough")
		closed(t, w.cache)
	}
	until("the workers have ended", func() bool {
		return !slices.ContainsFunc(s.Workers, func(w cluster.WorkerStatus) bool { return !w.Expired || w.Alive })
	})
	if s.Stopped != "enough" || s.Finished != "" || s.Queued == 0 {
		t.Errorf("%+v, want a job that was stopped", s)
	}
	if err := outside.Close(); err != nil {
		t.Error(err)
	}
}

// A worker that is drained lets settle what is in flight, has others take its hosts, and ends alone. The last one can
// be drained too: the job rests until workers begin again, and nothing was asked for twice.
func TestDrain(t *testing.T) {
	const pages, hosts, delay = 300, 16, 50 * time.Millisecond
	dsn, job := database(t), newJob()
	web := newWeb(t, hosts, pages)
	workers := newWorkers(t, dsn, job, 2, 4*shortTTL)
	outside := dial(t, dsn, job)
	drain := func(name string) {
		if err := outside.Drain(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	web.left, web.do = 30, func() { drain("w0") }
	var crawling sync.WaitGroup
	crawling.Go(func() { workers[1].crawl(t.Context(), web, delay) })
	workers[0].crawl(t.Context(), web, delay)
	wantStopped(t, workers[0], "drained")
	for before, partitions := web.asks(), -1; partitions != 0 || web.asks() < before+20; { // although the cache is not closed
		s, err := outside.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		partitions = s.Workers[0].Partitions
	}
	closed(t, workers[0].cache)
	drain("w1")
	crawling.Wait()
	wantStopped(t, workers[1], "drained")
	closed(t, workers[1].cache)
	wantCounted(t, dsn, job)
	if asked := web.asks(); asked >= pages {
		t.Errorf("%d requests of a job of %d pages that was to rest", asked, pages)
	}
	for _, name := range []string{"w1", "nobody"} {
		var missing *cluster.MissingError
		if err := outside.Drain(t.Context(), name); !errors.As(err, &missing) || missing.Worker != name || missing.Job != job {
			t.Errorf("draining %s, which is not at work: %v, want a MissingError", name, err)
		}
	}

	workers = newWorkers(t, dsn, job, 2, 4*shortTTL)
	for _, w := range workers {
		crawling.Go(func() { w.crawl(t.Context(), web, delay) })
	}
	crawling.Wait()
	for _, w := range workers {
		if w.err != nil || len(w.items) == 0 {
			t.Errorf("%s, started again: %v, %d items", w.name, w.err, len(w.items))
		}
		closed(t, w.cache)
	}
	if asked := web.asks(); asked != pages+pages/10 {
		t.Errorf("%d requests in all, want %d", asked, pages+pages/10)
	}
}

// Seeds wait while Limits.Pending requests of the job wait, whichever workers have them.
func TestPending(t *testing.T) {
	const pages, hosts, delay, limit = 300, 16, 10 * time.Millisecond, 50
	dsn, job := database(t), newJob()
	web := newWeb(t, hosts, pages)
	workers := newWorkers(t, dsn, job, 3, 4*shortTTL)
	outside := dial(t, dsn, job)
	if err := outside.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	var crawling sync.WaitGroup
	begin := func(w *worker) {
		w.seeds, w.limits.Pending = pages-1, limit
		crawling.Go(func() { w.crawl(t.Context(), web, delay) })
	}
	waiting := func() int64 {
		s, err := outside.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.Queued + s.Delayed + s.Messages
	}
	begin(workers[0])
	for waiting() < limit {
	}
	for _, w := range workers[1:] { // what others have accepted is known from their last heartbeat
		begin(w)
	}
	admin := connect(t, dsn)
	heartbeats := func() (n int) {
		_, _ = fmt.Sscan(read(t, admin, fmt.Sprintf(`SELECT sum(number)::text FROM %q.heartbeat`, job)), &n)
		return n
	}
	for first := heartbeats(); heartbeats() < first+9; { // more than a second, in which the other seeds could be sent
	}
	if n := waiting(); n > limit+limit/5 {
		t.Errorf("%d requests of the job wait, the limit is %d", n, limit)
	}
	if err := outside.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	crawling.Wait()
	for _, w := range workers {
		if w.err != nil {
			t.Errorf("%s: %v", w.name, w.err)
		}
		closed(t, w.cache)
	}
	if asked := web.asks(); asked != pages+pages/10 {
		t.Errorf("%d requests in all, want %d", asked, pages+pages/10)
	}
}

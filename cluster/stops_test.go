package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
)

// A worker whose context ends leaves the job to the others. CloseSpider and limits end the runs of all workers, and what was not crawled
// is crawled when they begin again.
func TestStops(t *testing.T) {
	for name, c := range map[string]struct {
		limits tegenaria.Limits
		closes string // the path of the page whose parser returns CloseSpider
		want   string
	}{
		"CloseSpider": {closes: "/40", want: "enough"},
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
				crawling.Go(func() { w.crawl(ctx, web, delay) })
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
			closed(t, workers[2].cache)

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

package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
)

// apart and together are two lists of public suffixes: by one each host is a domain, by the other all are one.
func apart(host string) string { return host }

func together(string) string { return "one domain" }

// A job is divided by one list of public suffixes. A worker with another one is refused while others are alive; if none
// is, it moves the slots and what waits for them.
func TestSuffixes(t *testing.T) {
	dsn, job := database(t), newJob()
	beginAs := func(name, version string, domain func(string) string) (*cluster.Cache, tegenaria.State, error) {
		c, err := cluster.Open(t.Context(), dsn, job, cluster.Options{Worker: name, TTL: 4 * shortTTL})
		if err != nil {
			t.Fatal(err)
		}
		c.Divide(version, domain)
		state, err := c.Begin(t.Context(), tegenaria.Job{Spider: "spider", KeyVersion: 1})
		return c, state, err
	}
	mustBegin := func(name, version string, domain func(string) string) (*cluster.Cache, tegenaria.State) {
		c, state, err := beginAs(name, version, domain)
		if err != nil {
			t.Fatal(err)
		}
		return c, state
	}
	one, _ := mustBegin("one", "apart", apart)
	const hosts = 40
	for i := range hosts {
		for _, at := range []time.Time{{}, time.Now().Add(time.Hour)} {
			rec := record(fmt.Sprint(i, at.IsZero()))
			rec.Slot, rec.NotBefore = fmt.Sprintf("h%d.example", i), at
			if _, err := one.Accept(t.Context(), []tegenaria.Record{rec}); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, _, err := beginAs("other", "together", together)
	var mismatch *cluster.MismatchError
	if !errors.As(err, &mismatch) || mismatch.What != "list of public suffixes" || mismatch.Stored != "apart" || mismatch.Asked != "together" || !strings.Contains(err.Error(), "golang.org/x/net") {
		t.Errorf("another list while a worker is alive: %v, want a MismatchError", err)
	}
	closed(t, one)
	admin := connect(t, dsn)
	run(t, admin, fmt.Sprintf(`INSERT INTO %q.inbox (partition, slot, key, priority, depth, attempt, parent, data) SELECT partition, name, name, 0, 0, 0, 0, '' FROM %[1]q.slot`, job))
	partitions := func() string {
		return read(t, admin, fmt.Sprintf(`SELECT (SELECT count(DISTINCT partition) || ' ' || count(*) FROM %q.slot) || ', ' || (SELECT count(DISTINCT partition) || ' ' || count(*) FROM %[1]q.due) || ', '
			|| (SELECT count(DISTINCT partition) || ' ' || count(*) FROM %[1]q.inbox)`, job))
	}
	before := partitions()
	two, state := mustBegin("two", "together", together)
	if got, want := partitions(), fmt.Sprintf("1 %d, 1 %[1]d, 1 %[1]d", hosts); got != want || before == want {
		t.Errorf("partitions and rows of slots, delayed requests and messages: %s, want %s; before %s", got, want, before)
	}
	if records, _, err := two.Next(t.Context(), "h7.example", 2); err != nil || len(records) != 1 || state.Delayed != hosts {
		t.Errorf("%d requests of a slot that was moved, and %d delayed ones: %v; want 1 and %d", len(records), state.Delayed, err, hosts)
	}
	two.Abandon()
	three, _ := mustBegin("three", "apart", apart) // once the dead worker is expired
	if got := partitions(); got != before {
		t.Errorf("partitions and rows of slots, delayed requests and messages: %s, want %s as before", got, before)
	}
	closed(t, three)
}

// A job that was begun with one list of public suffixes ends with another one as it would have: each page is asked for
// once.
func TestCrawlWithOtherSuffixes(t *testing.T) {
	const pages, hosts, delay = 200, 16, 20 * time.Millisecond
	dsn, job := database(t), newJob()
	web := newWeb(t, hosts, pages)
	for round, version := range []string{"apart", "reversed"} {
		workers := newWorkers(t, dsn, job, 3, 4*shortTTL)
		if outside := dial(t, dsn, job); round == 0 {
			web.left, web.do = 60, func() {
				if err := outside.Stop(t.Context(), "enough"); err != nil {
					t.Error(err)
				}
			}
		}
		var crawling sync.WaitGroup
		for _, w := range workers {
			w.cache.Divide(version, func(host string) string { return version + host })
			crawling.Go(func() { w.crawl(t.Context(), web, delay) })
		}
		crawling.Wait()
		for _, w := range workers {
			if round == 0 {
				wantStopped(t, w, "enough")
			} else if w.err != nil {
				t.Errorf("%s: %v", w.name, w.err)
			}
			closed(t, w.cache)
		}
		if asked := web.asks(); round == 0 && asked >= pages {
			t.Errorf("%d requests of %d pages before the job went on with another list", asked, pages)
		}
	}
	if asked := web.asks(); asked != pages+pages/10 {
		t.Errorf("%d requests in all, want %d", asked, pages+pages/10)
	}
}

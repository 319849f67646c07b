package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/pgtest"
)

// servers returns the addresses of so many databases, each of which may be a server of a job.
func servers(t *testing.T, n int) (dsns []string) {
	t.Helper()
	admin := connect(t, database(t))
	server := pgtest.Get(t)
	dsns = []string{address(server, "postgres")}
	for i := range n - 1 {
		name := fmt.Sprint("server", i+2)
		if read(t, admin, `SELECT count(*)::text FROM pg_database WHERE datname = '`+name+`'`) == "0" {
			run(t, admin, `CREATE DATABASE `+name)
		}
		dsns = append(dsns, address(server, name))
	}
	return dsns
}

// address returns how to connect to a database, as one of several.
func address(server *pgtest.Server, database string) string {
	return fmt.Sprintf("postgres://tester:swordfish@/%s?host=%s", database, url.QueryEscape(server.Host()))
}

// checkServers compares what the workers of a job on several servers have with what there was to do.
func checkServers(t *testing.T, web *web, dsns []string, job string, workers []*worker) {
	t.Helper()
	var items []string
	for _, w := range workers {
		if w.err != nil {
			t.Errorf("%s: %v", w.name, w.err)
		}
		items = append(items, w.items...)
		closed(t, w.cache)
	}
	slices.Sort(items)
	if unique := len(slices.Compact(slices.Clone(items))); len(items) != web.pages || unique != web.pages {
		t.Errorf("%d items, %d different ones, want %d", len(items), unique, web.pages)
	}
	fetched, discovered := 0, 0
	for _, dsn := range dsns {
		admin, schema := connect(t, dsn), `"`+job+`"`
		left := read(t, admin, fmt.Sprintf(`SELECT concat_ws(' ', (SELECT count(*) FROM %s.queue), (SELECT count(*) FROM %[1]s.due), (SELECT count(*) FROM %[1]s.inbox), (SELECT count(*) FROM %[1]s.outbox))`, schema))
		if left != "0 0 0 0" {
			t.Errorf("left %s", left)
		}
		var outcomes, keys, links int
		counts := read(t, admin, fmt.Sprintf(`SELECT concat_ws(' ', count(*), count(DISTINCT key), (SELECT coalesce(sum(value), 0) FROM %s.counter WHERE name = 'discovered')) FROM %[1]s.outcome WHERE outcome = 'fetched'`, schema))
		if _, err := fmt.Sscan(counts, &outcomes, &keys, &links); err != nil || outcomes != keys || outcomes == 0 {
			t.Errorf("a server has %d outcomes of %d keys, %v", outcomes, keys, err)
		}
		fetched, discovered = fetched+outcomes, discovered+links
	}
	if fetched != web.pages {
		t.Errorf("%d pages were fetched, want %d", fetched, web.pages)
	}
	want := int64(0)
	for _, w := range workers {
		want += w.stats.Discovered
	}
	if int64(discovered) != want {
		t.Errorf("discovered %d in the databases, %d by the workers", discovered, want)
	}
}

// The workers of a job on several servers crawl it together: each host by one of them, each page once, and each run
// ends when nothing is left on any server.
func TestServers(t *testing.T) {
	const pages, hosts, delay = 300, 16, 100 * time.Millisecond
	dsns, job := servers(t, 3), newJob()
	web := newWeb(t, hosts, pages)
	dsn := strings.Join(dsns, ",")
	workers := newWorkers(t, dsn, job, 5, 4*shortTTL)
	var crawling sync.WaitGroup
	began := time.Now()
	for _, w := range workers {
		crawling.Go(func() { w.crawl(t.Context(), web, delay) })
	}
	crawling.Wait()
	t.Logf("%v", time.Since(began))
	checkServers(t, web, dsns, job, workers)
	web.check(t, delay)
	status, err := dial(t, dsn, job).Status(t.Context())
	if err != nil || !status.Started || status.Finished == "" || status.Outcomes["fetched"] != pages || status.Queued+status.Delayed+status.Messages > 0 {
		t.Errorf("status %+v, %v", status, err)
	}
	on := make(map[int]int)
	for _, w := range status.Workers {
		on[w.Server]++
	}
	if len(status.Workers) != 5 || on[0] != 2 || on[1] != 2 || on[2] != 1 {
		t.Errorf("workers %+v", status.Workers)
	}
}

// What a parser fetches from a host of another server waits for its host lease.
func TestFetchFromOtherServers(t *testing.T) {
	const pages, hosts, delay = 60, 5, 50 * time.Millisecond
	dsns, job := servers(t, 2), newJob()
	web := newWeb(t, hosts, pages)
	workers := newWorkers(t, strings.Join(dsns, ","), job, 2, 4*shortTTL)
	var crawling sync.WaitGroup
	for _, w := range workers {
		w.fetches, w.perSlot = true, 1
		crawling.Go(func() { w.crawl(t.Context(), web, delay) })
	}
	crawling.Wait()
	web.checkFetches(t, workers, delay)
}

// CloseSpider and Stop end the runs on all servers, and the job goes on when its workers begin again. Limits.Pages is
// not exceeded.
func TestServersStop(t *testing.T) {
	const pages = 120
	dsns, job := servers(t, 2), newJob()
	dsn := strings.Join(dsns, ",")
	web := newWeb(t, 6, pages)
	crawl := func(change func(*worker)) (workers []*worker) {
		workers = newWorkers(t, dsn, job, 2, 4*shortTTL)
		var crawling sync.WaitGroup
		for _, w := range workers {
			change(w)
			crawling.Go(func() { w.crawl(t.Context(), web, 10*time.Millisecond) })
		}
		crawling.Wait()
		return workers
	}
	stopped := func(workers []*worker, reason string) {
		t.Helper()
		for _, w := range workers {
			var s *tegenaria.StoppedError
			if !errors.As(w.err, &s) || s.Reason != reason {
				t.Errorf("%s: %v, want %s", w.name, w.err, reason)
			}
			closed(t, w.cache)
		}
	}
	stopped(crawl(func(w *worker) { w.closes = "/1" }), "enough")
	stopped(crawl(func(w *worker) { w.limits.Pages = 40 }), "limit: pages")
	if asked := web.asks(); asked < 10 || asked > 40+40 {
		t.Errorf("%d requests", asked)
	}
	j := dial(t, dsn, job)
	if err := j.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := web.asks()
	go func() {
		for {
			s, err := j.Status(t.Context())
			if err != nil || slices.IndexFunc(s.Workers, func(w cluster.WorkerStatus) bool { return !w.Alive }) < 0 {
				break
			}
		}
		if asked := web.asks(); asked != before {
			t.Errorf("%d requests while the job was paused", asked-before)
		}
		if err := j.Resume(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	fetched := 0
	for _, w := range crawl(func(*worker) {}) {
		if w.err != nil {
			t.Errorf("%s: %v", w.name, w.err)
		}
		closed(t, w.cache)
	}
	s, err := j.Status(t.Context())
	if fetched = int(s.Outcomes["fetched"]); err != nil || fetched != pages {
		t.Errorf("%d pages, %v", fetched, err)
	}
}

// Other servers, and servers in another order, are refused.
func TestOtherServers(t *testing.T) {
	dsns, job := servers(t, 3), newJob()
	for _, w := range newWorkers(t, dsns[0]+","+dsns[1], job, 2, shortTTL) {
		closed(t, w.cache)
	}
	for what, other := range map[string][]string{
		"number of servers":              {dsns[0]},
		"place of the server among them": {dsns[1], dsns[0]},
	} {
		var mismatch *cluster.MismatchError
		if _, err := cluster.Dial(t.Context(), strings.Join(other, ","), job); !errors.As(err, &mismatch) || mismatch.What != what {
			t.Errorf("dialed: %v, want another %s", err, what)
		}
	}
	if _, err := cluster.Open(t.Context(), strings.Join(dsns, ","), newJob(), cluster.Options{Worker: "one", Partitions: 2}); err == nil || !strings.Contains(err.Error(), "Partitions") {
		t.Errorf("two partitions on three servers: %v", err)
	}
}

// A server whose worker has left for good is taken on by a worker of another one, which goes on with its file: each
// page is in a file once.
func TestServerWithoutWorkers(t *testing.T) {
	const pages = 80
	dsns, job := servers(t, 2), newJob()
	dsn := strings.Join(dsns, ",")
	web := newWeb(t, 8, pages)
	dir := t.TempDir()
	leaves, leave := context.WithCancel(t.Context())
	web.left, web.do = pages/4, leave
	crawl := func(name string) func(ctx context.Context, cache *cluster.Cache) error {
		return func(ctx context.Context, cache *cluster.Cache) error {
			parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
				return errors.Join(out.Item(resp.URL), out.FollowLinks())
			}
			return tegenaria.NewSpiderEngine(
				tegenaria.EngineWithCache(cache),
				tegenaria.EngineWithSpiders(tegenaria.NewSpider("help", tegenaria.Handle(parse), web.url(0))),
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: 20 * time.Millisecond, UserAgent: name, IgnoreRobots: true, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}),
				tegenaria.EngineWithPipelines(feed.JSONL(filepath.Join(dir, name+".jsonl"))),
			).Run(ctx, "help")
		}
	}
	run := func(ctx context.Context, name string) error {
		return cluster.Run(ctx, dsn, job, cluster.Options{Worker: name, Dir: filepath.Join(dir, name), TTL: shortTTL}, crawl(name))
	}
	var crawling sync.WaitGroup
	crawling.Go(func() {
		if err := run(t.Context(), "stays"); err != nil {
			t.Errorf("stays: %v", err)
		}
	})
	crawling.Go(func() {
		var stopped *tegenaria.StoppedError
		if err := run(leaves, "leaves"); !errors.As(err, &stopped) && !errors.Is(err, context.Canceled) {
			t.Errorf("leaves: %v", err)
		}
	})
	crawling.Wait()
	var lines []string
	for _, name := range []string{"stays", "leaves"} {
		content, err := os.ReadFile(filepath.Join(dir, name+".jsonl"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		t.Logf("%s: %d items", name, strings.Count(string(content), "\n"))
		lines = append(lines, strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")...)
	}
	slices.Sort(lines)
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	if unique := len(slices.Compact(slices.Clone(lines))); len(lines) != pages || unique != pages {
		t.Errorf("%d items, %d different ones, want %d", len(lines), unique, pages)
	}
}

// While one server is away, the others go on, and the job ends when it is back.
func TestServersAway(t *testing.T) {
	const pages, delay = 300, 50 * time.Millisecond
	dsns, job := servers(t, 1), newJob()
	other := pgtest.Another(t)
	setFsync(t, other.DSN("postgres"), "on")
	dsns = append(dsns, address(other, "postgres"))
	web := newWeb(t, 12, pages)
	workers := newWorkers(t, strings.Join(dsns, ","), job, 3, 4*shortTTL)
	down := make(chan struct{})
	web.left, web.do = pages/3, func() { close(down) }
	var crawling sync.WaitGroup
	for _, w := range workers {
		crawling.Go(func() { w.crawl(t.Context(), web, delay) })
	}
	<-down
	if err := other.Crash(); err != nil {
		t.Fatal(err)
	}
	// What waits on the other server may be all that is left soon: some more pages are enough.
	before, pause := web.asks(), time.NewTicker(10*time.Millisecond)
	defer pause.Stop()
	for began := time.Now(); web.asks() < before+5; <-pause.C {
		if time.Since(began) > time.Minute {
			t.Error("nothing is asked while one server is away")
			break
		}
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	crawling.Wait()
	checkServers(t, web, dsns, job, workers)
	web.check(t, delay)
}

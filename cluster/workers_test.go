package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
)

// web is a site of many hosts, whose pages link to each other across them. It notes who has asked for what, and when.
type web struct {
	hosts []string // each with its port
	pages int

	mu   sync.Mutex // guards the fields below
	log  map[string][]ask
	busy map[string]int // by host: requests that are being answered
	peak int            // the most of them at one host
	left int            // requests until do is called
	do   func()
}

// ask is a request that came to a web.
type ask struct {
	path, by string
	at       time.Time
}

func newWeb(t *testing.T, hosts, pages int) *web {
	t.Helper()
	w := &web{pages: pages, log: make(map[string][]ask), busy: make(map[string]int)}
	for i := range hosts {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.1.%d:0", i+1))
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: w}
		serving := make(chan error, 1)
		go func() { serving <- server.Serve(listener) }()
		t.Cleanup(func() {
			_ = server.Close()
			<-serving
		})
		w.hosts = append(w.hosts, listener.Addr().String())
	}
	return w
}

// url returns the URL of a page.
func (w *web) url(i int) string { return fmt.Sprintf("http://%s/%d", w.hosts[i%len(w.hosts)], i) }

func (w *web) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	var i int
	if _, err := fmt.Sscanf(r.URL.Path, "/%d", &i); err != nil {
		http.NotFound(out, r)
		return
	}
	w.mu.Lock()
	w.log[r.Host] = append(w.log[r.Host], ask{r.URL.Path, r.UserAgent(), time.Now()})
	if w.left--; w.left == 0 {
		w.do()
	}
	w.busy[r.Host]++
	w.peak = max(w.peak, w.busy[r.Host])
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.busy[r.Host]--
	}()
	out.Header().Set("Content-Type", "text/html")
	for child := 3*i + 1; child <= 3*i+3 && child < w.pages; child++ {
		fmt.Fprintf(out, `<a href="%s">next</a> <a href="%s">across</a>`, w.url(child), w.url(child*7%w.pages))
	}
}

// shortTTL is that of tests in which a worker dies.
const shortTTL = 600 * time.Millisecond

// worker crawls a web as one of several.
type worker struct {
	name  string
	cache *cluster.Cache
	items []string
	stats tegenaria.Stats
	err   error

	limits  tegenaria.Limits
	seeds   int // more seeds than the first page
	perSlot int
	fetches bool   // each parser fetches a page of another host for itself
	closes  string // the path of the page whose parser returns CloseSpider, "": there is none
}

// crawl crawls until the job is finished.
func (w *worker) crawl(ctx context.Context, web *web, delay time.Duration) {
	var mu sync.Mutex
	parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
		if strings.HasSuffix(resp.URL, "7") && resp.Request().Attempt == 0 {
			return tegenaria.Retry(10*time.Millisecond, errors.New("once more, by way of the due list"))
		}
		if w.fetches {
			page, _ := strconv.Atoi(resp.URL[strings.LastIndexByte(resp.URL, '/')+1:])
			if _, err := out.Fetch(tegenaria.NewRequest(web.url(web.pages+page+1), tegenaria.GET, nil)); err != nil {
				return err
			}
		}
		if err := errors.Join(out.Item(resp.URL), out.FollowLinks()); err != nil || w.closes == "" || !strings.HasSuffix(resp.URL, w.closes) {
			return err
		}
		return tegenaria.CloseSpider("enough")
	}
	var seeds []string
	for i := range w.seeds + 1 {
		seeds = append(seeds, web.url(i))
	}
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithCache(w.cache),
		tegenaria.EngineWithLimits(w.limits),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("several", tegenaria.Handle(parse), seeds...)),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: delay, PerSlot: w.perSlot, UserAgent: w.name, IgnoreRobots: true, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}),
		tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(100, func(_ context.Context, item string) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			w.items = append(w.items, item)
			return item, nil
		})),
	)
	w.err = engine.Run(ctx, "several")
	w.stats = engine.Stats()
}

// newWorkers opens a job for several workers.
func newWorkers(t *testing.T, dsn, job string, n int, ttl time.Duration) (workers []*worker) {
	t.Helper()
	for i := range n {
		name := fmt.Sprint("w", i)
		cache, err := cluster.Open(t.Context(), dsn, job, cluster.Options{Worker: name, TTL: ttl})
		if err != nil {
			t.Fatal(err)
		}
		workers = append(workers, &worker{name: name, cache: cache})
	}
	return workers
}

// Several workers crawl a job together: each page is asked for once, by the owner of its host alone, with the delay of
// the host between, and each run ends when nothing is left.
func TestWorkersShareAJob(t *testing.T) {
	const pages, hosts, delay = 300, 16, 100 * time.Millisecond
	dsn, job := database(t), newJob()
	web := newWeb(t, hosts, pages)
	workers := newWorkers(t, dsn, job, 3, 4*shortTTL)
	var crawling sync.WaitGroup
	for _, w := range workers {
		crawling.Go(func() { w.crawl(t.Context(), web, delay) })
	}
	crawling.Wait()
	var items []string
	discovered := int64(0)
	wantCounted(t, dsn, job)
	for _, w := range workers {
		if w.err != nil {
			t.Errorf("%s: %v", w.name, w.err)
		}
		if len(w.items) == 0 {
			t.Errorf("%s had nothing to do", w.name)
		}
		items = append(items, w.items...)
		discovered += w.stats.Discovered
		t.Logf("%s: %d items, %d discovered", w.name, len(w.items), w.stats.Discovered)
		closed(t, w.cache)
	}
	slices.Sort(items)
	if unique := len(slices.Compact(slices.Clone(items))); len(items) != pages || unique != pages {
		t.Errorf("%d items, %d different ones, want %d", len(items), unique, pages)
	}
	web.check(t, delay)
	admin := connect(t, dsn)
	schema := `"` + job + `"`
	got := read(t, admin, `SELECT count(*) || ' ' || count(DISTINCT key) FROM `+schema+`.outcome WHERE outcome = 'fetched'`)
	left := read(t, admin, fmt.Sprintf(`SELECT (SELECT count(*) FROM %s.queue) || ' ' || (SELECT count(*) FROM %[1]s.due) || ' ' || (SELECT count(*) FROM %[1]s.inbox)`, schema))
	if want := fmt.Sprint(pages, " ", pages); got != want || left != "0 0 0" {
		t.Errorf("outcomes and keys %s, want %s; left %s", got, want, left)
	}
	// Each page but the seed is linked to twice.
	if links := read(t, admin, `SELECT sum(value)::text FROM `+schema+`.counter WHERE name = 'discovered'`); links != fmt.Sprint(discovered) {
		t.Errorf("discovered %s in the database, %d by the workers", links, discovered)
	}
}

// What a parser fetches from a host of another worker waits for its host lease: the host is asked by one at a time,
// with its delay between.
func TestFetchFromHostsOfOthers(t *testing.T) {
	const pages, hosts, delay = 60, 5, 50 * time.Millisecond
	dsn, job := database(t), newJob()
	web := newWeb(t, hosts, pages)
	workers := newWorkers(t, dsn, job, 3, 4*shortTTL)
	var crawling sync.WaitGroup
	for _, w := range workers {
		w.fetches, w.perSlot = true, 1
		crawling.Go(func() { w.crawl(t.Context(), web, delay) })
	}
	crawling.Wait()
	web.checkFetches(t, workers, delay)
}

// checkFetches compares what was asked with what there was to do, if each parser fetches a page of another host: each
// host is asked by one at a time.
func (w *web) checkFetches(t *testing.T, workers []*worker, delay time.Duration) {
	t.Helper()
	items, pages := 0, w.pages
	for _, w := range workers {
		if w.err != nil {
			t.Errorf("%s: %v", w.name, w.err)
		}
		items += len(w.items)
		closed(t, w.cache)
	}
	if asked := w.asks(); items != pages || asked != 2*pages+pages/10 {
		t.Errorf("%d items and %d requests, want %d and %d", items, asked, pages, 2*pages+pages/10)
	}
	changes := 0
	for host, log := range w.log {
		for i, a := range log[1:] {
			before := log[i]
			if gap := a.at.Sub(before.at); gap < delay/2 { // the network may shorten the time between two arrivals
				t.Errorf("%s was asked for %s %v after the request before, the delay is %v", host, a.path, gap, delay)
			}
			if a.by != before.by {
				changes++
			}
		}
	}
	if w.peak > 1 || changes == 0 {
		t.Errorf("%d requests in flight at a host, and %d changes of who asks; want 1 and some", w.peak, changes)
	}
	t.Logf("%d changes of who asks a host", changes)
}

// wantCounted checks that the counts of what waits are the numbers of rows.
func wantCounted(t *testing.T, dsn, job string) {
	t.Helper()
	got := read(t, connect(t, dsn), fmt.Sprintf(`SELECT (SELECT sum(queued) || ' ' || sum(delayed) || ' ' || sum(messages) FROM %q.worker) || ', want ' ||
		(SELECT count(*) FROM %[1]q.queue) || ' ' || (SELECT count(*) FROM %[1]q.due) || ' ' || (SELECT count(*) FROM %[1]q.inbox)`, job))
	if counts, want, _ := strings.Cut(got, ", want "); counts != want {
		t.Errorf("requests that wait, delayed ones and messages are counted as %s", got)
	}
}

// check compares what was asked with what there was to do: each page once, or twice where its number ends in 7; and
// each host by one owner at a time, who keeps its delay.
func (w *web) check(t *testing.T, delay time.Duration) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := make(map[string]int)
	for host, log := range w.log {
		gone := make(map[string]bool) // former owners
		for i, a := range log {
			asked[a.path]++
			if i == 0 {
				continue
			}
			before := log[i-1]
			if gap := a.at.Sub(before.at); gap < delay/2 { // the network may shorten the time between two arrivals
				t.Errorf("%s was asked by %s %v after the request before, of %s", host, a.by, gap, before.by)
			}
			if before.by != a.by {
				gone[before.by] = true
			}
			if gone[a.by] {
				t.Errorf("%s was asked by %s again, which has released it", host, a.by)
			}
		}
	}
	for i := range w.pages {
		path, want := fmt.Sprint("/", i), 1
		if i%10 == 7 {
			want = 2
		}
		if asked[path] != want {
			t.Errorf("%s was asked for %d times, want %d", path, asked[path], want)
		}
	}
}

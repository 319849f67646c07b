//go:build unix

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/killtest"
)

// adding is a crawl to which requests are added, and whose settings are changed, while it runs. It prints each call that has returned.
type adding struct {
	URL, Dir string
	Last     bool // the run that comes to its end: it adds only the probes

	calls atomic.Int64
}

// The slots of the requests that are added. The requests of slotLater are held back until the last run.
const (
	slotNow, slotLater, slotProbe = "now", "later", "probe"

	addingGoroutines = 8
	probes           = 30
)

func (a *adding) request(slot string, number any) *tegenaria.Request {
	return tegenaria.NewRequest(fmt.Sprintf("%s/%s/%v", a.URL, slot, number), "GET", nil, tegenaria.RequestWithSlot(slot))
}

func (a *adding) run() (err error) {
	ctx := context.Background()
	cache, err := disk.Open(filepath.Join(a.Dir, jobDir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	gate := tegenaria.NewGate("the last run")
	if !a.Last {
		gate.Close()
	}
	var engine *tegenaria.SpiderEngine
	var calls sync.WaitGroup
	started := func(tegenaria.SpiderInterface) {
		changed := engine.Changes()
		a.print("begins with %d %d", changed.Concurrency, changed.Slots[slotProbe].PerSlot)
		if a.Last {
			for i := range probes {
				a.must(engine.Add(ctx, a.request(slotProbe, i)))
			}
			return
		}
		for g := range addingGoroutines {
			calls.Go(func() { a.add(ctx, engine, g) })
		}
		calls.Go(func() { a.change(engine, changed.Concurrency) })
	}
	opts := []tegenaria.EngineOption{
		tegenaria.EngineWithCache(cache), tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithConcurrency(2),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: 2}),
		tegenaria.EngineWithSpiders(tegenaria.NewSpiderOf("test", func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
			return nil
		}, a.request(slotNow, "seed"))),
		tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{Name: "later", Request: func(c *tegenaria.Context) error {
			if !a.Last && strings.Contains(c.Request.Url, "/"+slotLater+"/") {
				return tegenaria.NotNow(gate)
			}
			return nil
		}}),
		tegenaria.EngineWithEvents(tegenaria.Events{Started: started}),
	}
	if !a.Last {
		opts = append(opts, tegenaria.EngineWithKeepAlive())
	}
	engine = tegenaria.NewSpiderEngine(opts...)
	err = engine.Run(ctx, "test")
	calls.Wait()
	return err
}

// print prints a line with a number of its own, at which the process may be killed.
func (a *adding) print(format string, args ...any) {
	fmt.Printf("line %d: %s\n", a.calls.Add(1), fmt.Sprintf(format, args...))
}

// must ends the process if a call has failed.
func (a *adding) must(_ bool, err error) {
	if err != nil {
		panic(err)
	}
}

// add adds the requests of one goroutine, the same ones in each run, without an end.
func (a *adding) add(ctx context.Context, engine *tegenaria.SpiderEngine, goroutine int) {
	for i := 0; ; i++ {
		slot := slotLater
		if i%4 == 0 {
			slot = slotNow
		}
		r := a.request(slot, fmt.Sprint(goroutine, "-", i))
		url := r.Url
		added, err := engine.Add(ctx, r)
		a.must(added, err)
		a.print("added %s %t", strings.TrimPrefix(url, a.URL), added)
	}
}

// change raises the number of downloads at once, and the limit of a slot to the same, by one each time, without an end.
func (a *adding) change(engine *tegenaria.SpiderEngine, from int) {
	for n := max(from, 2) + 1; ; n++ {
		a.must(false, engine.SetConcurrency(n))
		a.print("changed concurrency %d", n)
		a.must(false, engine.SetSlot(slotProbe, tegenaria.SlotPolicy{PerSlot: n}))
		a.print("changed slot %d", n)
	}
}

// addingSite is the site of an adding. Every page is answered at once, except that the probes wait until so many of them wait together.
type addingSite struct {
	mu       sync.Mutex // guards the fields below
	answered map[string]int
	again    []string // what one run has asked for twice
	run      map[string]bool
	waiting  int           // probes that are not answered
	together int           // probes that have to wait together; set before the last run
	met      chan struct{} // closed when they have
}

func (s *addingSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, "/"+slotProbe+"/") {
		if s.waiting++; s.waiting == s.together {
			close(s.met)
		}
		s.mu.Unlock()
		select {
		case <-s.met:
		case <-r.Context().Done():
		}
		s.mu.Lock()
	}
	if s.answered[r.URL.Path]++; s.run[r.URL.Path] {
		s.again = append(s.again, r.URL.Path)
	}
	s.run[r.URL.Path] = true
	_, _ = io.WriteString(w, "page")
}

// begin says that another run begins, in which so many probes can be downloaded at once.
func (s *addingSite) begin(together int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run, s.together, s.met = make(map[string]bool), min(max(together, 1), probes), make(chan struct{})
}

// confirmed is what the processes of a job have printed.
type confirmed struct {
	known             map[string]bool // the URLs of calls of Add that have returned; true: one has returned true
	concurrency, slot int
}

// read reads what one process has printed. It must have begun with the changes that were confirmed before, or with those that
// it was making when it was killed.
func (c *confirmed) read(t *testing.T, output string) {
	t.Helper()
	for line := range strings.Lines(output) {
		number, said, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if !strings.HasPrefix(number, "line ") {
			continue // of the log
		}
		var concurrency, slot int
		var url string
		var added bool
		switch {
		case scanned(said, "added %s %t", &url, &added):
			if added && c.known[url] {
				t.Errorf("%s was new twice", url)
			}
			c.known[url] = c.known[url] || added
		case scanned(said, "changed concurrency %d", &c.concurrency), scanned(said, "changed slot %d", &c.slot):
		case scanned(said, "begins with %d %d", &concurrency, &slot):
			most := max(c.concurrency, 2) + 1
			if concurrency < c.concurrency || slot < c.slot || concurrency > most || slot > most {
				t.Errorf("a run has begun with %d downloads at once and %d in the slot, but %d and %d were confirmed",
					concurrency, slot, c.concurrency, c.slot)
			}
			c.concurrency, c.slot = concurrency, slot
		default:
			t.Errorf("it has printed %q", line)
		}
	}
}

func scanned(text, format string, into ...any) bool {
	n, err := fmt.Sscanf(text, format, into...)
	return n == len(into) && err == nil
}

// A process is killed while goroutines add requests to its durable job and change its settings, twice in a row. Each request for which
// Add has returned is fetched: once by each run at most, and once in all if it was held back until the last one. The
// changes are in force in the next run: as many downloads of a slot run at once as was confirmed. It fails if Add or a
// change returns before it is stored.
func TestKilledWhileAdding(t *testing.T) {
	seed := *killSeed
	if seed == 0 {
		seed = deep.Seed()
	}
	t.Logf("-killseed %d", seed)
	added, later, changes := 0, 0, 0
	for job := range deep.Rounds(2, *kills/2) {
		site := &addingSite{answered: make(map[string]int)}
		server := httptest.NewServer(site)
		dir, said := t.TempDir(), &confirmed{known: make(map[string]bool)}
		loop := &killtest.Loop{Seed: seed + uint64(job), Starts: 3, Limit: time.Minute}
		at := 20
		loop.Next = func(start int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
			site.begin(min(said.concurrency, said.slot))
			if start == 2 {
				return addingProgram.Command(&adding{URL: server.URL, Dir: dir, Last: true}), nil
			}
			at += random.IntN(200) // the second process adds again what the first has added, and then more
			return addingProgram.Command(&adding{URL: server.URL, Dir: dir}), []killtest.Fault{
				{Line: fmt.Sprintf("line %d:", at), After: time.Duration(random.IntN(3000)) * time.Microsecond}}
		}
		loop.Judge = func(e killtest.Exit) (again bool, err error) {
			if again, err = killtest.Finished(e); err == nil {
				said.read(t, e.Output)
			}
			return again, err
		}
		starts, err := loop.Run(t.Context())
		server.Close()
		if err != nil || starts != 3 {
			t.Fatalf("job %d, %d starts; %d probes were downloaded at once, want %d: %v", job, starts, site.waiting, site.together, err)
		}
		for url := range said.known {
			switch n := site.answered[url]; {
			case n == 0:
				t.Errorf("job %d: %s is lost", job, url)
			case n > 1 && strings.HasPrefix(url, "/"+slotLater+"/"):
				t.Errorf("job %d: %s was fetched %d times", job, url, n)
			case n == 1 && strings.HasPrefix(url, "/"+slotLater+"/"):
				later++
			}
		}
		if len(site.again) > 0 {
			t.Errorf("job %d: one run has fetched again %s", job, site.again)
		}
		added += len(said.known)
		changes += said.slot + said.concurrency
	}
	t.Logf("%d requests were added, %d of them fetched only in the last run; %d changes", added, later, changes)
	if later == 0 || changes == 0 {
		t.Error("the test shows nothing")
	}
}

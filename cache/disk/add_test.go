package disk_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// addingRun is a run of a job on a disk, whose pages are all there.
type addingRun struct {
	engine  *tegenaria.SpiderEngine
	result  chan error
	settled chan struct{} // a value for each request that has ended

	mu    sync.Mutex // guards asked
	asked map[string]int
}

// beginAdding opens the job and returns when its run has begun.
func beginAdding(t *testing.T, fs vfs.FS, opts ...tegenaria.EngineOption) *addingRun {
	t.Helper()
	c, err := disk.Open("/job", disk.WithFS(fs))
	if err != nil {
		t.Fatal(err)
	}
	r := &addingRun{result: make(chan error, 1), settled: make(chan struct{}, 1000), asked: make(map[string]int)}
	begun := make(chan struct{})
	r.engine = tegenaria.NewSpiderEngine(append(opts,
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("adding", enginetest.Nothing, "http://a.test/")),
		tegenaria.EngineWithCache(c), tegenaria.EngineWithLogger(enginetest.Quiet()),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithDownloader(tegenaria.DownloaderFunc(func(_ context.Context, req *tegenaria.Request) (*tegenaria.Response, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.asked[req.Url]++
			return tegenaria.NewResponse(req, http.StatusOK, nil, nil), nil
		})),
		tegenaria.EngineWithEvents(tegenaria.Events{
			Started:        func(tegenaria.SpiderInterface) { close(begun) },
			RequestSettled: func(*tegenaria.Request, tegenaria.Outcome, string) { r.settled <- struct{}{} },
			Closed: func(string) {
				select {
				case <-begun:
				default:
					close(begun) // it had finished before
				}
			},
		}))...)
	go func() {
		err := r.engine.Run(context.Background(), "adding")
		r.result <- errors.Join(err, c.Close())
	}()
	<-begun
	return r
}

// end stops the run and returns its error.
func (r *addingRun) end(t *testing.T) error {
	t.Helper()
	if err := r.engine.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	return <-r.result
}

// places returns in which state a job has each URL.
func places(t *testing.T, fs vfs.FS) (at map[string]disk.State, status disk.Status) {
	t.Helper()
	c, err := disk.Open("/job", disk.WithFS(fs))
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, c)
	at = make(map[string]disk.State)
	for _, list := range []iter.Seq2[disk.Info, error]{c.Pending(t.Context()), c.Outcomes(t.Context())} {
		for _, info := range all(t, list) {
			r, err := info.Record.Request()
			if err != nil {
				t.Fatal(err)
			}
			if at[r.Url] != "" {
				t.Errorf("%s is %s and %s", r.Url, at[r.Url], info.State)
			}
			at[r.Url] = info.State
		}
	}
	return at, statusOf(t, c)
}

// What Add has accepted, or found to be known, is there after a power cut at any moment, and the next run crawls it. It
// fails if Add does not wait for a commit.
func TestAddedSurvivePowerCut(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	const senders, each = 4, 30
	for range deep.Rounds(3, 20) {
		fs := vfs.NewCrashableMem()
		run := beginAdding(t, fs, tegenaria.EngineWithKeepAlive())
		var mu sync.Mutex // guards promised
		promised := make(map[string]bool)
		var left *vfs.MemFS
		var kept map[string]bool
		cutAt := 1 + rng.IntN(senders*each)
		var adding sync.WaitGroup
		for g := range senders {
			adding.Go(func() {
				for i := range each {
					url := fmt.Sprintf("http://h%d.test/%d", i%3, (g*each+i)/2) // most come twice
					if _, err := run.engine.Add(t.Context(), tegenaria.NewRequest(url, tegenaria.GET, nil)); err != nil {
						t.Errorf("Add: %v", err)
					}
					mu.Lock()
					if promised[url] = true; left == nil && len(promised) >= cutAt/2 {
						kept, left = maps.Clone(promised), fs.CrashClone(vfs.CrashCloneCfg{})
					}
					mu.Unlock()
				}
			})
		}
		adding.Wait()
		if err := run.end(t); err != nil {
			t.Logf("the run was stopped: %v", err) // there may be work left
		}
		at, _ := places(t, left.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng}))
		for url := range kept {
			if at[url] == "" {
				t.Errorf("%s was added, and is lost (%d of %d are there)", url, len(at), len(kept))
			}
		}
		next := beginAdding(t, left)
		if err := <-next.result; err != nil {
			t.Errorf("the next run: %v", err)
		}
		at, status := places(t, left)
		for url := range kept {
			if at[url] != disk.Settled {
				t.Errorf("%s is %q after the next run", url, at[url])
			}
		}
		if status.Waiting+status.Delayed > 0 || !status.Finished {
			t.Errorf("the job is %+v", status)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// A durable job that was kept alive is not finished when nothing is left to do: the next run goes on with it. One that has
// finished takes no requests.
func TestKeptAliveJobGoesOn(t *testing.T) {
	fs := vfs.NewMem()
	add := func(run *addingRun, url string, want bool, opts ...tegenaria.RequestOption) {
		t.Helper()
		added, err := run.engine.Add(t.Context(), tegenaria.NewRequest(url, tegenaria.GET, nil, opts...))
		if added != want || err != nil {
			t.Errorf("adding %s: %t, %v", url, added, err)
		}
	}
	unfiltered := tegenaria.RequestWithDoNotFilter(true)
	for i := range 2 {
		run := beginAdding(t, fs, tegenaria.EngineWithKeepAlive())
		add(run, "http://a.test/every", i == 0)
		add(run, fmt.Sprint("http://a.test/", i), true)
		for range 2 { // each has a key of its own, in the next run too
			add(run, "http://a.test/unfiltered", true, unfiltered)
		}
		for range []int{5, 4}[i] { // the first run has the start request too
			<-run.settled
		}
		if err := run.end(t); err != nil {
			t.Errorf("run %d: %v", i, err)
		}
		if got := run.asked["http://a.test/unfiltered"]; got != 2 {
			t.Errorf("run %d has asked for the unfiltered page %d times, want 2", i, got)
		}
		c := open(t, "/job", disk.WithFS(fs))
		if status := statusOf(t, c); status.Finished || status.Waiting > 0 {
			t.Errorf("run %d: the job is %+v", i, status)
		}
		closed(t, c)
	}
	for range 2 { // the second one finds that it has finished
		run := beginAdding(t, fs)
		if err := <-run.result; err != nil {
			t.Errorf("Run: %v", err)
		}
		added, err := run.engine.Add(t.Context(), tegenaria.NewRequest("http://a.test/late", tegenaria.GET, nil))
		if no, ok := errors.AsType[*tegenaria.AddError](err); added || !ok || no.Reason != "ended" {
			t.Errorf("adding to a finished job: %t, %v", added, err)
		}
	}
}

//go:build unix

package disk_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/killtest"
)

// The programs that are killed.
var (
	planProgram   = killtest.NewProgram("plan", (*plan).run)
	poisonProgram = killtest.NewProgram("poison", (*poison).run)
	shopProgram   = killtest.NewProgram("shop", (*shop).run)
	addingProgram = killtest.NewProgram("adding", (*adding).run)
)

func TestMain(m *testing.M) { killtest.Main(m) }

// plan is what a child does.
type plan struct {
	URL, Dir string
	Point    string // where it kills itself; "" nowhere
	Nth      int32  // the how manieth time it comes there; in StartRequest: with that many pages parsed
	Overruns uint64 // seed of the callbacks that overrun Limits.Callback; 0: none does
	count    atomic.Int32
	open     atomic.Bool // the job is
}

// The points at which a child kills itself.
const (
	afterAccept  = "after accept"
	beforeAppend = "before append"
	afterAppend  = "after append"
	beforeBatch  = "before batch"
	afterBatch   = "after batch"
	inTruncate   = "in truncate"
	inOpen       = "in open"
	inStart      = "in StartRequest"
)

// hit kills the process if this is where and when.
func (p *plan) hit(point string) {
	if p.Point == point && p.count.Add(1) == p.Nth {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// The files of a child.
const (
	jobDir    = "job"
	itemsFile = "items.jsonl"
	someFile  = "fetched.jsonl"
)

const childConcurrency = 8

// run crawls, resumes, or finds that there is nothing left to do.
func (p *plan) run() (err error) {
	cache, err := disk.Open(filepath.Join(p.Dir, jobDir), disk.WithFS(errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(p.hitInOpen))))
	if err != nil {
		return err
	}
	p.open.Store(true)
	defer func() { err = errors.Join(err, cache.Close()) }()
	s := &spider{base: p.URL}
	var limits tegenaria.Limits
	slow := func() {}
	if p.Overruns != 0 {
		limits.Callback, slow = overrunLimit, overruns(p.Overruns)
		s.sent = slow
		s.parsed = func(i int) {
			if !retries(i) { // it asks for what it fetches in its first attempt and in the next one
				slow()
			}
		}
	}
	if p.Point == inStart {
		begun := make(chan struct{})
		var parsed atomic.Int32
		s.parsed = func(int) {
			if parsed.Add(1) == p.Nth {
				close(begun)
			}
		}
		s.pause = func(context.Context) {
			<-begun // there are requests in flight by then
			p.count.Store(p.Nth - 1)
			p.hit(inStart)
		}
	}
	fs := &killFeed{p}
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithCache(&killCache{cache, p}),
		tegenaria.EngineWithSpiders(s),
		tegenaria.EngineWithConcurrency(childConcurrency),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: childConcurrency}),
		tegenaria.EngineWithQuiet(),
		tegenaria.EngineWithLimits(limits),
		tegenaria.EngineWithPipelines(
			slowPipeline(slow),
			feed.JSONL(filepath.Join(p.Dir, itemsFile), feed.WithFS(fs), feed.StageBytes(200)),
			feed.JSONL(filepath.Join(p.Dir, someFile), feed.WithFS(fs), feed.Select(func(v tegenaria.ItemInterface) bool {
				return v.(item).Kind == "fetched"
			}))))
	err = engine.Run(context.Background(), "site")
	var abandoned *tegenaria.AbandonedError
	var stopped *tegenaria.StoppedError
	if p.Overruns != 0 && errors.As(err, &abandoned) && !errors.As(err, &stopped) {
		return nil // as it should be
	}
	return err
}

// overrunLimit is the Limits.Callback of a child whose callbacks overrun it.
const overrunLimit = time.Second

// overruns returns a func that in some of its calls takes longer than a callback may before it is given up.
func overruns(seed uint64) func() {
	var mu sync.Mutex // guards rng
	rng := rand.New(rand.NewPCG(seed, 1))
	return func() {
		mu.Lock()
		takes := time.Duration(0)
		if rng.IntN(300) == 0 {
			takes = overrunLimit + time.Second + time.Duration(rng.Int64N(int64(time.Second)))
		}
		mu.Unlock()
		if takes > 0 {
			<-time.NewTimer(takes).C
		}
	}
}

// slowPipeline is called for each item, but for those of pages that send what is not filtered: each attempt at them sends that again.
type slowPipeline func()

func (slowPipeline) GetPriority() int { return 0 }

func (slow slowPipeline) ProcessItem(_ tegenaria.SpiderInterface, meta *tegenaria.ItemMeta) error {
	if it := meta.Item.(item); it.Kind == "target" || it.Kind == "unfiltered" || !unfiltered(it.N) {
		slow()
	}
	return nil
}

// killCache and killFeed are what they wrap, with points to die at.
type killCache struct {
	*disk.Cache
	plan *plan
}

func (c *killCache) Accept(ctx context.Context, records []tegenaria.Record) ([]tegenaria.Verdict, error) {
	verdicts, err := c.Cache.Accept(ctx, records)
	c.plan.hit(afterAccept)
	return verdicts, err
}

func (c *killCache) Settle(ctx context.Context, b tegenaria.Batch) error {
	if len(b.Settled) > 0 {
		c.plan.hit(beforeBatch)
	}
	err := c.Cache.Settle(ctx, b)
	if len(b.Settled) > 0 {
		c.plan.hit(afterBatch)
	}
	return err
}

// hitInOpen is called before each operation of the store's file system.
func (p *plan) hitInOpen(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpCreate, errorfs.OpRename, errorfs.OpRemove:
		if !p.open.Load() {
			p.hit(inOpen)
		}
	}
	return nil
}

type killFeed struct{ plan *plan }

func (fs *killFeed) Open(name string) (feed.File, error) {
	file, err := feed.SystemFS().Open(name)
	if err != nil || strings.HasSuffix(name, ".spool") {
		return file, err
	}
	return &killFile{file, fs.plan}, nil
}

func (fs *killFeed) Remove(name string) error { return feed.SystemFS().Remove(name) }

type killFile struct {
	feed.File
	plan *plan
}

func (f *killFile) WriteAt(p []byte, offset int64) (int, error) {
	f.plan.hit(beforeAppend)
	return f.File.WriteAt(p, offset)
}

func (f *killFile) Sync() error {
	err := f.File.Sync()
	f.plan.hit(afterAppend)
	return err
}

func (f *killFile) Truncate(size int64) error {
	f.plan.hit(inTruncate)
	return f.File.Truncate(size)
}

// start runs a child that follows a plan. It returns whether it was killed.
func start(t *testing.T, p *plan) (killed bool) {
	t.Helper()
	child, err := killtest.Start(planProgram.Command(p))
	if err == nil {
		killed, err = killtest.Finished(child.Wait())
	}
	if err != nil {
		t.Fatal(err)
	}
	return killed
}

// readItems reads a feed line by line. An item that is there twice is an error.
func readItems[T comparable](t *testing.T, path string) map[T]bool {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	items := make(map[T]bool)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var it T
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&it); err != nil {
			t.Fatalf("%s: line %q: %v", path, lines.Bytes(), err)
		}
		if items[it] {
			t.Errorf("%s: %+v is there twice", filepath.Base(path), it)
		}
		items[it] = true
	}
	return items
}

// outcomes lists how the requests of a job ended.
func outcomes(t *testing.T, dir string) (list []string, status disk.Status) {
	t.Helper()
	c := open(t, dir)
	defer closed(t, c)
	for _, info := range all(t, c.Outcomes(t.Context())) {
		r, err := info.Record.Request()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %s %s %s %d", r.Method, r.Url, info.Outcome, info.Reason, info.Status))
	}
	slices.Sort(list)
	return list, statusOf(t, c)
}

// checkResult compares what a crawl left behind with what it had to find. It returns how many requests were made
// beyond what was necessary.
func checkResult(t *testing.T, s *site, dir string) (extra int) {
	t.Helper()
	wantAsked, wantItems := s.want()
	asked, total := s.log()
	necessary := 0
	for path, n := range wantAsked {
		if necessary += n; asked[path] < n {
			t.Errorf("%s was asked %d times, want %d", path, asked[path], n)
		}
	}
	for path := range asked {
		if wantAsked[path] == 0 {
			t.Errorf("%s was asked", path)
		}
	}
	got := readItems[item](t, filepath.Join(dir, itemsFile))
	missing := 0
	for it := range wantItems {
		if !got[it] {
			if missing++; missing < 5 {
				t.Errorf("%+v is missing", it)
			}
		}
	}
	if len(got) != len(wantItems) {
		t.Errorf("%d items, want %d", len(got), len(wantItems))
	}
	maps.DeleteFunc(wantItems, func(it item, _ bool) bool { return it.Kind != "fetched" })
	if some := readItems[item](t, filepath.Join(dir, someFile)); !maps.Equal(some, wantItems) {
		t.Errorf("the second feed has %d items, want %d", len(some), len(wantItems))
	}
	return total - necessary
}

// mostCrashes returns how many crashes the worst suspect of a job has.
func mostCrashes(t *testing.T, dir string) (most int) {
	t.Helper()
	if _, err := os.Stat(dir); err != nil {
		return 0
	}
	c := open(t, dir)
	defer closed(t, c)
	for _, info := range statusOf(t, c).Suspects {
		most = max(most, info.Record.Crashes)
	}
	return most
}

// TestKill kills a crawl again and again, with requests in flight and at the points where it hurts, until it has
// finished all the same. Then it must be as if nothing had happened.
func TestKill(t *testing.T) {
	pages := 1500
	if testing.Short() {
		pages = 600
	}
	s := newSite(t, pages)
	dir := t.TempDir()
	if start(t, &plan{URL: s.URL, Dir: dir}) {
		t.Fatal("the child was killed by somebody else")
	}
	if extra := checkResult(t, s, dir); extra != 0 {
		t.Fatalf("%d requests too many, though nothing was killed", extra)
	}
	wantOutcomes, wantStatus := outcomes(t, filepath.Join(dir, jobDir))

	s.reset(nil)
	dir = t.TempDir()
	points := []string{afterAccept, beforeAppend, afterAppend, inTruncate, beforeBatch, afterBatch, inOpen, inStart}
	type death struct {
		at     time.Time
		unique int
	}
	var deaths []death
	hits := make(map[string]int)
	kills := 0
	// The child dies at that point, or else its parent kills it when so many pages were asked for, from within such a
	// request.
	dieOnce := func(point string, nth int32, at int) {
		child, err := killtest.Start(planProgram.Command(&plan{URL: s.URL, Dir: dir, Point: point, Nth: nth}))
		if err != nil {
			t.Fatal(err)
		}
		var once sync.Once
		var death death
		s.mu.Lock()
		s.on = func(unique int) {
			if unique >= at {
				once.Do(func() {
					death.at, death.unique = time.Now(), unique
					child.Signal(syscall.SIGKILL)
				})
			}
		}
		s.mu.Unlock()
		exit := child.Wait()
		once.Do(func() {}) // what comes now is too late
		killed, err := killtest.Finished(exit)
		switch {
		case err != nil:
			t.Fatal(err)
		case killed && exit.Struck:
			deaths = append(deaths, death)
		case killed:
			hits[point]++
		}
		if killed {
			kills++
		}
		s.mu.Lock()
		s.on = nil
		s.mu.Unlock()
	}
	// Three deaths in a row at which the same request runs alone are its fault, by the rule for such requests. One that has
	// two of them gets through first: others are asked for only when it has.
	die := func(point string, nth int32, at int) {
		if point != "" && point != inOpen && point != inTruncate && mostCrashes(t, filepath.Join(dir, jobDir)) > 1 {
			s.mu.Lock()
			unique := s.unique
			s.mu.Unlock()
			dieOnce("", 0, unique+childConcurrency+1)
		}
		dieOnce(point, nth, at)
	}
	die(inStart, 1, pages)
	for range 2 { // the request that was in flight before gets through: it would be given up after three crashes
		die(inStart, 2, pages)
	}
	rounds := 12
	if deep.Checks() {
		rounds = 30
	}
	for round := range rounds {
		at := pages * (round + 1) / (rounds + 1)
		later := min(at+pages/10, pages) // so that the point is reached before
		switch round % 6 {
		case 0, 3: // what an append leaves behind is cut off by the next run, which dies in that
			die(afterAppend, int32(3+round%3), later)
			die(inTruncate, 1, later)
		case 1, 4:
			die(afterAccept, int32(2+round%5), later)
			die(inOpen, int32(1+round%6), later)
			die(beforeAppend, int32(2+round%4), later)
		default:
			die(beforeBatch, int32(1+round%4), later)
			die(afterBatch, int32(1+round%4), later)
		}
		die("", 0, at)
	}
	if start(t, &plan{URL: s.URL, Dir: dir}) {
		t.Fatal("the last child was killed")
	}
	extra := checkResult(t, s, dir)
	gotOutcomes, gotStatus := outcomes(t, filepath.Join(dir, jobDir))
	if !slices.Equal(gotOutcomes, wantOutcomes) {
		t.Errorf("%d outcomes, want %d, or others:\n%s", len(gotOutcomes), len(wantOutcomes), difference(gotOutcomes, wantOutcomes))
	}
	if gotStatus.Settled != wantStatus.Settled || gotStatus.Dead != wantStatus.Dead {
		t.Errorf("status %v, want %v", gotStatus, wantStatus)
	}
	for name, want := range wantStatus.Counters { // what was done again is counted again
		if got := gotStatus.Counters[name]; got < want && strings.HasPrefix(name, "outcome/") && name != "outcome/duplicate" {
			t.Errorf("the counter %s is %d, want %d or more", name, got, want)
		}
	}
	if !gotStatus.Finished || gotStatus.Waiting+gotStatus.Delayed != 0 {
		t.Errorf("status %v", gotStatus)
	}

	// The test itself: that it has killed as it should.
	tenths, close := make(map[int]bool), false
	for i, d := range deaths {
		tenths[d.unique*10/(pages+1)] = true
		close = close || i > 0 && d.at.Sub(deaths[i-1].at) < time.Second
	}
	if deep.Checks() && (len(deaths) < 25 || len(tenths) < 10 || !close) {
		t.Errorf("killed %d times in %d tenths, twice within a second: %v", len(deaths), len(tenths), close)
	}
	for _, point := range points {
		if hits[point] == 0 || deep.Checks() && hits[point] < 3 {
			t.Errorf("killed %d times %s", hits[point], point)
		}
	}
	// For each kill: what was in flight, being downloaded or parsed, and what one commit may have covered.
	bound := kills * (2*childConcurrency + disk.MaxSettled)
	t.Logf("%d kills (%d of them from outside, the others %v): %d of %d requests were repeated, %.1f a kill", kills, len(deaths), hits, extra, len(wantOutcomes), float64(extra)/float64(kills))
	if extra > bound {
		t.Errorf("%d requests were repeated, want at most %d", extra, bound)
	}
	// Once more: a finished job is finished.
	s.reset(nil)
	if start(t, &plan{URL: s.URL, Dir: dir}) {
		t.Fatal("killed")
	}
	if _, total := s.log(); total != 0 {
		t.Errorf("the finished job made %d requests", total)
	}
}

// difference lists what is in one list alone.
func difference(got, want []string) string {
	var b strings.Builder
	count := make(map[string]int)
	for _, s := range got {
		count[s]++
	}
	for _, s := range want {
		count[s]--
	}
	for _, s := range slices.Sorted(maps.Keys(count)) {
		if n := count[s]; n != 0 && b.Len() < 2000 {
			fmt.Fprintf(&b, "%+d %s\n", n, s)
		}
	}
	return b.String()
}

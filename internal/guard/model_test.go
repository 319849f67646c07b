package guard_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/stage"
)

// The model says for each piece of a random plan when it is told of as slow, cancelled and given up, and when it ends, from
// the plan and the moment at which it begins alone. All times are random to the nanosecond: no two things happen at once.

// script is what the callbacks of one page do.
type script struct {
	name   string
	pieces []piece
	takes  time.Duration // by Abandon
	ends   atomic.Int32  // how often the pool has settled it
}

func (s *script) MarkAsProcessed() { s.ends.Add(1) }

// piece is one callback.
type piece struct {
	gap      time.Duration // before it
	bounded  bool
	late     bool
	parts    []part
	obeys    time.Duration // how long after it was cancelled it returns; negative: it does not listen
	goexits  bool
	parallel bool // its waiting is done by another goroutine
}

// part of a piece: user code runs, or waits for the engine. Each part of an bounded has a limit of its own; 0: none.
type part struct {
	waits bool
	takes time.Duration
	limit time.Duration
}

func randomTime(rng *rand.Rand, most time.Duration) time.Duration {
	return 2*time.Millisecond + time.Duration(rng.Int64N(int64(most)))
}

func randomScript(rng *rand.Rand, name string, longest time.Duration) *script {
	s := &script{name: name, takes: time.Duration(rng.Int64N(int64(2 * time.Second)))}
	for range 1 + rng.IntN(4) {
		p := piece{gap: randomTime(rng, time.Second), bounded: rng.IntN(3) == 0, late: rng.IntN(3) == 0, obeys: -1,
			goexits: rng.IntN(12) == 0, parallel: rng.IntN(2) == 0}
		if rng.IntN(3) > 0 {
			p.obeys = randomTime(rng, 3*time.Second)
		}
		most := longest
		if rng.IntN(2) == 0 {
			most /= 8
		}
		for range 1 + rng.IntN(4) {
			one := part{takes: randomTime(rng, most)}
			switch {
			case p.bounded && rng.IntN(4) > 0:
				one.limit = randomTime(rng, most)
			case !p.bounded:
				one.waits = rng.IntN(3) == 0
			}
			p.parts = append(p.parts, one)
		}
		if rng.IntN(4) == 0 {
			p.parts = []part{{takes: time.Duration(rng.Int64N(int64(2 * time.Millisecond)))}} // over before its receiver is needed
		}
		s.pieces = append(s.pieces, p)
	}
	return s
}

// fate is what becomes of a piece. Times count from the beginning of the test; 0: never.
type fate struct {
	slow, cancelled, doomed, end time.Duration
	why                          string // of the limit because of which an bounded was given up
	started                      bool   // its Late
}

// fate tells what becomes of a piece that begins at a moment, if the watch is closed at another.
func (p *piece) fate(begin, closed, limit time.Duration) (f fate) {
	for _, one := range p.parts {
		f.end += one.takes
	}
	f.end += begin
	if p.bounded {
		p.boundedFate(&f, begin, closed)
	} else {
		p.timedFate(&f, begin, closed, limit)
	}
	if f.doomed == 0 || f.doomed > closed {
		if f.doomed = 0; closed < f.end {
			f.doomed = closed
		}
	}
	if f.doomed == 0 && p.goexits {
		f.doomed = f.end
	}
	f.started = p.late && (f.doomed != 0 || f.end-begin > guard.QuickCallback)
	return f
}

func (p *piece) timedFate(f *fate, begin, closed, limit time.Duration) {
	now, own := begin, time.Duration(0)
	at := func(most time.Duration, takes time.Duration) time.Duration { // when its own time reaches most
		if own < most && most <= own+takes {
			return now + most - own
		}
		return 0
	}
	for _, one := range p.parts {
		if !one.waits {
			if limit == 0 || limit > guard.SlowCallback {
				f.slow = max(f.slow, at(guard.SlowCallback, one.takes))
			}
			if limit > 0 {
				f.cancelled = max(f.cancelled, at(limit, one.takes))
			}
			own += one.takes
		}
		now += one.takes
	}
	if f.slow > closed {
		f.slow = 0
	}
	if f.cancelled > closed {
		f.cancelled = 0
	}
	if f.cancelled == 0 {
		return
	}
	if p.obeys >= 0 {
		f.end = min(f.end, f.cancelled+p.obeys)
	}
	if doomed := f.cancelled + guard.CancelGrace; doomed < f.end {
		f.doomed = doomed
	}
}

func (p *piece) boundedFate(f *fate, begin, closed time.Duration) {
	now := begin
	for i, one := range p.parts {
		over, end := now+one.limit, now+one.takes
		if one.limit > 0 && over < end && over < closed {
			if f.cancelled == 0 {
				f.cancelled = over
			}
			if p.obeys >= 0 {
				f.end = min(f.end, over+p.obeys)
				end = f.end
			}
			why := fmt.Sprintf("part %d", i)
			if i == 0 {
				why = "over " + one.limit.String()
			}
			switch doomed := over + 2*guard.CancelGrace; {
			case doomed < min(end, closed):
				f.doomed, f.why = doomed, why
				return
			case closed < end || p.goexits && end == f.end:
				f.why = why // it is given up while it is over the limit
				return
			}
		}
		if end == f.end || end > closed {
			return
		}
		now = end
	}
}

// run does what a piece does, and notes when it was cancelled and when it ended.
func (p *piece) run(w *guard.Watch, c *guard.Call, o *owner, got *fate) {
	defer func() { got.end = time.Since(o.began) }()
	end := time.Now()
	for _, one := range p.parts {
		end = end.Add(one.takes)
	}
	life := &c.Life
	var e *bounded
	if p.bounded {
		e = &bounded{told: func(string, ...any) {}}
		e.life.Parent = context.Background()
		life = &e.life
	}
	for i, one := range p.parts {
		switch {
		case p.bounded && i == 0:
			w.Bound(c, e, time.Now(), one.limit)
		case p.bounded:
			w.Limited(c, one.limit, fmt.Errorf("part %d", i))
		case one.waits:
			p.wait(w, c, one.takes)
			continue
		}
		over := time.NewTimer(one.takes)
		select {
		case <-over.C:
			continue
		case <-life.Done():
		}
		if got.cancelled == 0 {
			got.cancelled = time.Since(o.began)
		}
		if p.obeys >= 0 {
			pause(min(p.obeys, time.Until(end)))
			over.Stop()
			return
		}
		<-over.C
	}
}

// wait has the code wait for the engine: by itself, or by two goroutines one of which goes on for longer.
func (p *piece) wait(w *guard.Watch, c *guard.Call, takes time.Duration) {
	w.Pause(c)
	if !p.parallel {
		pause(takes)
		w.Resume(c)
		return
	}
	w.Pause(c)
	pause(takes / 3)
	w.Resume(c)
	other := guard.Go(func() {
		pause(takes - takes/3)
		w.Resume(c)
	})
	<-other.Done()
}

// TestWatchModel runs random callbacks, in a pool and out of it, until the watch is closed. Each must meet its fate to the
// nanosecond, and all that were given up must have been told of when Wait returns.
func TestWatchModel(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	rounds := uint64(400)
	if testing.Short() {
		rounds = 100
	}
	for round := range rounds {
		synctest.Test(t, func(t *testing.T) { modelRound(t, rand.New(rand.NewPCG(seed, round))) })
		if t.Failed() {
			t.Fatalf("round %d of seed %d", round, seed)
		}
	}
}

func modelRound(t *testing.T, rng *rand.Rand) {
	limits := []time.Duration{0, 10 * time.Second, guard.SlowCallback, 90 * time.Second}
	limit := limits[rng.IntN(len(limits))]
	began := time.Now()
	var overdue atomic.Int32
	w := guard.NewWatch(guard.Config{
		Limit: limit, TooLate: tooLate, Overdue: func() { overdue.Add(1) }, Untimed: []string{"download"}, Pools: []int{1, 3},
	})
	closed := randomTime(rng, 8*time.Minute)
	var mu sync.Mutex // guards owners and waiting
	var owners []*owner
	play := func(s *script, c *guard.Call, worker context.Context) {
		o := newOwner()
		o.began, o.takes = began, s.takes
		c.Owner = o
		c.Life.Parent = context.Background()
		mu.Lock()
		owners = append(owners, o)
		mu.Unlock()
		if worker != nil {
			c.Worker = stage.CallOf(worker)
			w.JoinPool(c, 1)
		} else {
			w.Join(c)
		}
		defer w.Leave(c)
		for i := range s.pieces {
			if !s.pieces[i].play(t, fmt.Sprintf("%s, piece %d", s.name, i), w, c, o, closed, limit) {
				return
			}
		}
	}
	var scripts []*script
	for i := range 12 {
		scripts = append(scripts, randomScript(rng, fmt.Sprintf("script %d", i), 2*time.Minute))
	}
	alone, pooled := scripts[:4], scripts[4:]
	for _, s := range alone {
		guard.Go(func() { play(s, new(guard.Call), nil) })
	}
	waiting := pooled
	pool := make(chan struct{})
	go func() {
		defer close(pool)
		_ = stage.Pull(context.Background(), 3, func(context.Context) (*script, bool) {
			mu.Lock()
			defer mu.Unlock()
			if len(waiting) == 0 {
				return nil, false
			}
			s := waiting[0]
			waiting = waiting[1:]
			return s, true
		}, stage.ProcessorFunc[*script](func(ctx context.Context, s *script) (*script, error) {
			play(s, new(guard.Call), ctx)
			return s, stage.ErrDrop
		}))
	}()
	pause(closed)
	w.Close()
	w.Wait()
	lost := 0
	mu.Lock()
	for _, o := range owners {
		doom, _, ended := o.lost()
		if doom != 0 && !ended {
			t.Errorf("%q: Wait does not wait until owners are notified", o.all())
		}
		if doom != 0 {
			lost++
		}
	}
	mu.Unlock()
	for _, n := range w.Counts() {
		lost -= n
	}
	<-pool // nobody waits for what was given up
	if lost != 0 {
		t.Errorf("%d more were given up than counted", lost)
	}
	pause(time.Hour) // what was left behind ends
	for _, s := range pooled {
		if n := s.ends.Load(); n != 1 {
			t.Errorf("%s was settled %d times", s.name, n)
		}
	}
	if limit == 0 && overdue.Load() != 0 {
		t.Error("a piece is over a limit that there is not")
	}
}

// play runs a piece and compares what becomes of it with its fate. It returns false if no other can follow.
func (p *piece) play(t *testing.T, name string, w *guard.Watch, c *guard.Call, o *owner, closed, limit time.Duration) bool {
	pause(p.gap)
	c.Life = guard.Context{Parent: context.Background()}
	at := "parse"
	if p.bounded {
		at = "download"
	}
	begin := time.Since(o.began)
	if begin > closed {
		if run(w, c, at, nil, func() { t.Errorf("%s: it runs although the watch is closed", name) }) {
			t.Errorf("%s: it ran although the watch is closed", name)
		}
		return false
	}
	want := p.fate(begin, closed, limit)
	told := len(o.all())
	var returned, alive bool
	var got fate
	var late guard.Late
	if p.late {
		late = starts(func(string, ...any) { got.started = true })
	}
	check := func() {
		doom, _, ended := o.lost()
		if got.doomed = doom; want.doomed == closed && doom > closed { // the notifications of Close follow each other
			got.doomed = closed
		}
		if (doom != 0) != ended {
			t.Errorf("%s: it has returned before its owner was told", name)
		}
		if err := w.Why(c); err != nil {
			got.why = err.Error()
		}
		for _, line := range o.all()[told:] {
			var took, at string
			if n, _ := fmt.Sscanf(line, "parse slow after %s at %s", &took, &at); n == 2 {
				got.slow, _ = time.ParseDuration(at)
			}
		}
		if want.slow > want.end {
			want.slow = 0
		}
		if want.cancelled > want.end {
			want.cancelled = 0
		}
		if got != want || c.GivenUp() != (want.doomed != 0) || alive == (want.doomed != 0) {
			t.Errorf("%s, limit %s, closed at %s, began at %s: %+v\nalive %v, got  %+v\nwant %+v\ntold %q",
				name, limit, closed, begin, *p, alive, got, want, o.all())
		}
		if n := len(o.all()[told:]); n > 2 {
			t.Errorf("%s: told %q", name, o.all())
		}
	}
	defer func() {
		if !returned { // it ended its goroutine
			check()
		}
	}()
	alive = run(w, c, at, late, func() {
		p.run(w, c, o, &got)
		if p.goexits {
			runtime.Goexit()
		}
	})
	returned = true
	check()
	if !alive && run(w, c, at, nil, func() { t.Errorf("%s: another piece runs after it was given up", name) }) {
		t.Errorf("%s: another piece ran", name)
	}
	return alive
}

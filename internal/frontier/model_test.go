package frontier_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
)

var seeds = flag.Int("seeds", 300, "random crawls of TestFrontierFollowsAModel")

// model drives a frontier with random requests and knows what it may do.
type model struct {
	*world
	t                      *testing.T
	delay                  time.Duration
	perSlot, budget, pages int
	fetchers               int
	suspects               int
	stops                  bool

	mu      sync.Mutex // guards the fields below
	rng     *rand.Rand
	made    int
	inHand  map[string]int       // by slot: holders of its grant
	starts  map[string]time.Time // by slot: the last start
	blocked map[string]time.Time
	begun   map[string]int
	busy    int             // holders of a fetch worker
	alone   bool            // a suspect runs
	settled map[int]bool    // by number of the record
	answers int             // responses
	parking sync.WaitGroup  // jobs that are parked
	counts  [outcomes]int64 // of settled requests
}

func (m *model) chance(p float64) bool { return m.random() < p }

func (m *model) random() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rng.Float64()
}

func (m *model) sleep(most time.Duration) {
	<-time.NewTimer(time.Duration(m.random() * float64(most))).C
}

// grows reports whether pages bring new requests.
func (m *model) grows() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.made < 150
}

// discover sends n requests.
func (m *model) discover(n int) {
	var records []record
	m.mu.Lock()
	for range n {
		m.made++
		r := record{id: m.made, slot: fmt.Sprint("slot", m.rng.IntN(4)), priority: m.rng.IntN(3)}
		if m.rng.IntN(8) == 0 {
			r.due = time.Now().Add(time.Duration(m.rng.IntN(20)) * time.Second)
		}
		if m.suspects > 0 && m.rng.IntN(12) == 0 {
			m.suspects--
			r.crashes = 1 + m.rng.IntN(2)
		}
		records = append(records, r)
	}
	again := m.rng.IntN(2)
	m.counts[duplicate] += int64(again)
	m.mu.Unlock()
	m.send(again, records...)
}

// hold notes that a job has its slot and perhaps a worker.
func (m *model) hold(j *job, worker int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inHand[j.slot]++
	m.busy += worker
	if m.inHand[j.slot] > m.perSlot {
		m.t.Errorf("%d are in hand of %s, want at most %d", m.inHand[j.slot], j.slot, m.perSlot)
	}
	if m.busy > m.fetchers {
		m.t.Errorf("%d workers are busy, want at most %d", m.busy, m.fetchers)
	}
	if worker > 0 && m.alone && j.crashes == 0 {
		m.t.Errorf("request %d is taken while a suspect runs", j.id)
	}
	if j.crashes > 0 {
		m.alone = true
	}
}

// let notes that a job is about to release its slot and worker.
func (m *model) let(j *job, slot, worker int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inHand[j.slot] -= slot
	m.busy -= worker
}

// over notes that a suspect has ended its turn.
func (m *model) over(j *job) {
	if j.crashes > 0 {
		m.mu.Lock()
		m.alone = false
		m.mu.Unlock()
	}
}

// started checks that a download may begin now. The caller holds mu since before the frontier was asked.
func (m *model) started(j *job, at time.Time) {
	if last, ok := m.starts[j.slot]; ok && at.Sub(last) < m.delay {
		m.t.Errorf("%s starts %s after the last one, want %s", j.slot, at.Sub(last), m.delay)
	}
	if at.Before(m.blocked[j.slot]) {
		m.t.Errorf("%s starts %s before it may", j.slot, m.blocked[j.slot].Sub(at))
	}
	m.starts[j.slot] = at
}

// hasStarted reports whether a download of a slot has begun.
func (m *model) hasStarted(slot string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.starts[slot]
	return known
}

// settle ends a request.
func (m *model) settle(j *job, outcome uint8) {
	m.mu.Lock()
	if m.settled[j.id] && j.id > 0 {
		m.t.Errorf("request %d is settled twice", j.id)
	}
	m.settled[j.id] = true
	m.counts[outcome]++
	m.mu.Unlock()
	m.over(j)
	if j.crashes > 0 {
		m.GotThrough(func(other *job) bool { return other == j })
	}
	if j.claim.HasReservation() {
		m.Overrule(j)
	}
	m.ledger.Settle(outcome, "")
}

// putBack gives a job back whose start was refused.
func (m *model) putBack(j *job) {
	m.let(j, 1, 1)
	m.over(j)
	if !m.PutBack(j) {
		m.stopped(j)
	}
}

// stopped ends a job that a stopped crawl leaves undone. The page that is reserved for it is nobody's any more.
func (m *model) stopped(j *job) {
	if j.claim.HasReservation() {
		m.Overrule(j)
	}
	m.ledger.PutBack()
}

// work is one worker.
func (m *model) work(ctx context.Context) {
	for {
		j, ok, err := m.Take(ctx)
		if !ok || err != nil {
			return
		}
		m.hold(j, 1)
		m.page(j)
	}
}

// starves reports whether a job of the queue is filtered: all pages of its slot have begun.
func (m *model) starves(j *job) bool {
	starves := m.Starves(j)
	m.mu.Lock()
	defer m.mu.Unlock()
	if starves && j.crashes == 0 && m.begun[j.slot] < m.budget {
		m.t.Errorf("request %d is filtered when %d of %d pages of %s have begun", j.id, m.begun[j.slot], m.budget, j.slot)
	}
	return starves
}

// page is the way of one job that was taken.
func (m *model) page(j *job) {
	m.sleep(3 * time.Second) // a middleware
	switch p := m.random(); {
	case m.starves(j) || p < 0.1:
		m.let(j, 1, 1)
		m.Release(j, true)
		m.settle(j, filtered)
		return
	case p < 0.2: // its robots.txt is asked for by another job
		m.let(j, 1, 1)
		m.over(j)
		m.Park(j.slot)
		m.Release(j, true)
		m.parking.Go(func() {
			m.sleep(5 * time.Second)
			m.Unpark(j.slot)
			if !m.Requeue(j) {
				m.stopped(j)
			}
		})
		return
	}
	if m.IsShort(j) || !m.Enter(j, gate("address "+j.slot[4:5], 2, true)) {
		m.putBack(j)
		return
	}
	if m.chance(0.3) && j.crashes == 0 {
		m.fetches(j)
	}
	if m.chance(0.5) { // its download is announced
		if !m.IsStartable(j) {
			m.putBack(j)
			return
		}
		err := m.Reserve(j)
		if err == frontier.ErrShort {
			m.putBack(j)
			return
		}
		if err != nil {
			m.let(j, 1, 1)
			m.Release(j, true)
			m.settle(j, filtered)
			return
		}
		m.sleep(time.Second)
	}
	if m.download(j, 1) {
		m.let(j, 0, 1)
		m.Release(j, false)
		m.settle(j, fetched)
	}
}

// download starts a job of the queue or an inline one, and has it answered. It returns false if the job was put back, or
// settled.
func (m *model) download(j *job, worker int) bool {
	m.mu.Lock()
	at, ok := m.Start(j)
	mayNot := error(nil)
	if ok {
		mayNot = m.Spend(j) // it comes in a slot that has had its pages, to be filtered
	}
	if ok && mayNot == nil {
		m.begun[j.slot]++
		m.started(j, at) // before anybody else is answered, who may block the slot at this very instant
	}
	m.mu.Unlock()
	if !ok {
		if worker > 0 {
			m.putBack(j)
		}
		return false
	}
	if mayNot != nil {
		m.let(j, 1, worker)
		m.Release(j, worker > 0)
		m.settle(j, filtered)
		return false
	}
	m.mu.Lock()
	m.answers += worker
	if m.budget > 0 && m.begun[j.slot] > m.budget {
		m.t.Errorf("%d pages of %s have begun, want %d", m.begun[j.slot], j.slot, m.budget)
	}
	if m.pages > 0 && m.answers > m.pages {
		m.t.Errorf("%d responses have come, want %d", m.answers, m.pages)
	}
	m.mu.Unlock()
	m.sleep(2 * time.Second)
	if m.grows() && m.chance(0.7) {
		m.discover(1 + int(m.random()*3))
	}
	a := frontier.Answer{Came: true, OK: true}
	if m.chance(0.1) {
		a = frontier.Answer{Came: true, Refused: true, After: time.Duration(m.random()*100) * time.Second}
		m.mu.Lock()
		m.blocked[j.slot] = later(m.blocked[j.slot], time.Now().Add(a.After))
	} else {
		m.mu.Lock()
	}
	m.inHand[j.slot]--
	m.Answered(j, a, at)
	m.mu.Unlock()
	return true
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// inline is an inline request, for which a job waits.
func (m *model) inline() {
	j := newInline(fmt.Sprint("slot", int(m.random()*4)))
	m.ledger.Inline()
	m.mu.Lock()
	m.counts[0]++ // inline requests
	m.mu.Unlock()
	if !m.line(j, m.WaitSlot) {
		m.settle(j, filtered)
	} else if !m.Enter(j, gate("address "+j.slot[4:5], 2, true)) {
		m.let(j, 1, 0)
		if m.line(j, m.WaitAgain) {
			m.let(j, 1, 0)
			m.Release(j, false)
		}
		m.settle(j, filtered)
	} else if m.Starves(j) {
		m.let(j, 1, 0)
		m.Release(j, false)
		m.settle(j, filtered)
	} else if known := m.hasStarted(j.slot); m.chance(0.2) && known {
		m.let(j, 1, 0)
		m.Release(j, false)
		m.settle(j, filtered)
	} else if m.download(j, 0) {
		m.Release(j, false)
		m.settle(j, fetched)
	} else if m.HasSlot(j) {
		m.let(j, 1, 0)
		m.Release(j, false)
		m.settle(j, filtered)
	}
}

// fetches is a callback that waits for inline requests side by side, and for its slot again.
func (m *model) fetches(caller *job) {
	m.let(caller, 1, 0)
	var calls sync.WaitGroup
	for range 1 + int(m.random()*2) {
		m.BeginFetch(caller)
		calls.Go(func() {
			m.inline()
			if !m.EndFetch(caller) {
				return
			}
			if err := m.ReacquireSlot(m.t.Context(), caller); err != nil {
				m.t.Error(err)
			}
		})
	}
	calls.Wait()
	if !m.HasSlot(caller) {
		m.t.Error("the caller has not its slot again")
	}
	m.hold(caller, 0)
}

// line waits until a job has its slot. It returns false if it has lost its patience.
func (m *model) line(j *job, wait func(context.Context, *job) error) bool {
	ctx := m.t.Context()
	if m.chance(0.3) {
		impatient, cancel := context.WithTimeout(ctx, time.Duration(m.random()*float64(10*time.Second)))
		defer cancel()
		ctx = impatient
	}
	if wait(ctx, j) != nil {
		return false
	}
	m.hold(j, 0)
	return true
}

// run crawls until nothing is open, or the crawl was stopped.
func (m *model) run() {
	ctx := m.t.Context()
	m.discover(10)
	var workers, seeds sync.WaitGroup
	seeds.Go(func() {
		m.sleep(20 * time.Second)
		m.discover(5)
		m.ledger.Started()
	})
	over := make(chan struct{})
	var control sync.WaitGroup
	control.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-over:
				return
			case <-time.NewTimer(time.Duration(1+m.random()*20) * time.Second).C:
			}
			switch {
			case m.stops && i == 4:
				for _, j := range m.Stop() {
					m.stopped(j)
				}
				m.ledger.Stop()
			case m.chance(0.2):
				m.Pause()
				m.sleep(10 * time.Second)
				m.Resume()
			case m.chance(0.2):
				slot := fmt.Sprint("slot", int(m.random()*4))
				m.mu.Lock()
				until := time.Now().Add(5 * time.Second)
				m.blocked[slot] = later(m.blocked[slot], until)
				m.Block(slot, until)
				m.mu.Unlock()
			}
		}
	})
	for range m.fetchers * 2 {
		workers.Go(func() { m.work(ctx) })
	}
	workers.Wait()
	seeds.Wait()
	m.parking.Wait()
	close(over)
	control.Wait()
}

// Whatever is sent, refused, parked, put back, paused and stopped: each request ends once, no slot has more in hand than
// it may and starts are a delay apart; nothing is left claimed; the ledger comes to zero, or the crawl to its stop.
func TestFrontierFollowsAModel(t *testing.T) {
	n := *seeds
	if testing.Short() {
		n = min(n, 50)
	}
	for seed := range n {
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runModel(t, uint64(seed)) })
		})
		if !ok {
			return
		}
	}
}

func runModel(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 15))
	m := &model{
		t: t, rng: rng, perSlot: 1 + rng.IntN(3), fetchers: 1 + rng.IntN(5), stops: rng.IntN(4) == 0,
		inHand: make(map[string]int), starts: make(map[string]time.Time), blocked: make(map[string]time.Time),
		begun: make(map[string]int), settled: make(map[int]bool),
	}
	m.delay = time.Duration(rng.IntN(3)) * time.Second
	if rng.IntN(3) == 0 {
		m.budget = 1 + rng.IntN(20)
	}
	if m.stops && rng.IntN(2) == 0 {
		m.pages = 1 + rng.IntN(30)
	}
	if rng.IntN(3) == 0 {
		m.suspects = 3
	}
	inline := 2 + rng.IntN(3)
	m.world = newWorld(frontier.Config[*job]{
		Rules:    frontier.NewRules(frontier.Rule{Policy: slots.Policy{Limit: m.perSlot, Delay: m.delay}, Pages: m.budget}, nil),
		Fetchers: m.fetchers, Inline: inline, Pages: m.pages, Readers: 1 + rng.IntN(2),
	})
	m.run()
	m.check(inline)
}

// check looks at what is left.
func (m *model) check(inline int) {
	t, n := m.t, m.ledger.Counts()
	if n.Discovered != n.Settled+n.Pending+n.Delayed+n.InFlight {
		t.Errorf("discovered %d != settled %d + pending %d + delayed %d + in flight %d", n.Discovered, n.Settled, n.Pending, n.Delayed, n.InFlight)
	}
	if n.InFlight != 0 || !m.stops && !m.ledger.IsFinished() {
		t.Errorf("the crawl has ended with %+v", n)
	}
	stored := int64(len(m.store.due))
	for _, q := range m.store.queues {
		stored += int64(len(q))
	}
	if !m.stops && stored > 0 {
		t.Errorf("%d requests are left in the store", stored)
	}
	var settled int64
	for o := range outcomes {
		if o > 0 {
			settled += m.counts[o]
			if n.Outcomes[o] != m.counts[o] {
				t.Errorf("outcome %d: %d, want %d", o, n.Outcomes[o], m.counts[o])
			}
		}
	}
	if n.Settled != settled {
		t.Errorf("settled %d, want %d", n.Settled, settled)
	}
	if free, left, pages := m.Left(); free != m.fetchers || left != inline || m.pages > 0 && pages != int64(m.pages-m.answers) {
		t.Errorf("%d of %d workers are free, %d of %d for inline requests; %d of %d pages are left after %d", free, m.fetchers, left, inline, pages, m.pages, m.answers)
	}
	if r := m.Reserved(); r != 0 {
		t.Errorf("%d pages are reserved", r)
	}
	for _, s := range m.Status() {
		if s.InFlight != 0 {
			t.Errorf("%s has %d in hand", s.Name, s.InFlight)
		}
		if m.budget > 0 && s.Pages != m.begun[s.Name] {
			t.Errorf("%s has begun %d pages, want %d", s.Name, s.Pages, m.begun[s.Name])
		}
	}
}

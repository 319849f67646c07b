package spidertest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
)

// place is where a record is.
type place string

const (
	inQueue  place = "queue"
	inDue    place = "due list"
	inFlight place = "flight"
	isDone   place = "settled"
)

// modelRecord is what the model knows of a record.
type modelRecord struct {
	tegenaria.Record
	place  place
	number int  // order of acceptance
	placed bool // its place among its equals is known: it was neither delayed nor returned
	low    int  // smallest depth offered; below Depth if the cache may or may not know it
}

// model is a cache as simple as can be.
type model struct {
	t       *testing.T
	c       *cacheUnderTest
	rng     *rand.Rand
	now     time.Time
	records map[string]*modelRecord
	counter int64
	log     []string
}

// seedOf returns the seed of what a suite draws at random. It depends on the name of the test alone, so that a test
// which has passed passes again.
func seedOf(t *testing.T) uint64 {
	h := fnv.New64a()
	h.Write([]byte(t.Name()))
	return h.Sum64()
}

// testRandom does things at random and compares the cache with the model.
func testRandom(t *testing.T, c *cacheUnderTest) {
	seed := seedOf(t)
	t.Logf("seed %d", seed)
	m := &model{t: t, c: c, rng: rand.New(rand.NewPCG(seed, 0)), now: epoch, records: make(map[string]*modelRecord)}
	steps := 3_000
	if c.h.Crash != nil || c.h.Reopen != nil {
		steps = 1_000
	}
	for range steps {
		switch n := m.rng.IntN(100); {
		case n < 35:
			m.accept()
		case n < 65:
			m.next()
		case n < 70:
			m.due()
		case n < 80:
			m.giveBack()
		case n < 95:
			m.settle()
		case n < 97:
			m.check()
		default:
			m.restart()
		}
	}
	m.check()
	for _, r := range m.of(inDue) {
		m.now = latest(m.now, r.NotBefore)
	}
	m.due()
	for len(m.of(inQueue)) > 0 {
		m.next()
	}
	m.settleAll()
	m.check()
	if moved, next := c.due(m.now.Add(1e6 * time.Hour)); len(moved) != 0 || !next.IsZero() {
		m.fatal("the due list still holds %v, %v", moved, next)
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (m *model) did(format string, args ...any) { m.log = append(m.log, fmt.Sprintf(format, args...)) }

func (m *model) fatal(format string, args ...any) {
	m.t.Helper()
	for _, line := range m.log[max(0, len(m.log)-40):] {
		m.t.Log(line)
	}
	m.t.Fatalf(format, args...)
}

func (m *model) of(p place) (found []*modelRecord) {
	for _, r := range m.records {
		if r.place == p {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *modelRecord) int { return a.number - b.number })
	return found
}

func (m *model) accept() {
	var batch []tegenaria.Record
	var want []tegenaria.Verdict
	for range m.rng.IntN(6) {
		name := fmt.Sprint("r", m.rng.IntN(600))
		rec := record(name, fmt.Sprint("slot", keyOf(name)[0]%5))
		rec.Priority, rec.Depth, rec.Attempt = m.rng.IntN(3)-1, m.rng.IntN(9), m.rng.IntN(3)
		if m.rng.IntN(5) == 0 {
			rec.NotBefore = m.now.Add(time.Duration(m.rng.IntN(20)-5) * time.Second)
		}
		batch = append(batch, rec)
		r := m.records[name]
		if r != nil {
			want = append(want, known)
			switch r.place {
			case inQueue, inDue:
				exact := r.low == r.Depth
				r.low = min(r.low, rec.Depth)
				if exact {
					r.Depth = r.low
				}
			case inFlight:
				r.low = min(r.low, rec.Depth)
			}
			continue
		}
		r = &modelRecord{Record: rec, place: inQueue, number: len(m.records), placed: true, low: rec.Depth}
		if !rec.NotBefore.IsZero() {
			r.place, r.placed = inDue, false
			want = append(want, later)
		} else {
			want = append(want, isNew)
		}
		m.records[name] = r
	}
	m.did("accept %v", names(batch))
	got, err := m.c.Accept(m.t.Context(), batch)
	if err != nil || !slices.Equal(got, want) {
		m.fatal("Accept: %v, %v; want %v", got, err, want)
	}
}

func (m *model) next() {
	slot := fmt.Sprint("slot", m.rng.IntN(5))
	n := 1 + m.rng.IntN(3)
	got, left, err := m.c.Next(m.t.Context(), slot, n)
	m.did("next %s, %d: %v", slot, n, names(got))
	if err != nil {
		m.fatal("Next: %v", err)
	}
	for _, rec := range got {
		m.handedOut(slot, rec)
	}
	pending, best := m.pending(slot)
	if len(got) < n && pending > 0 || left.Pending != pending || pending > 0 && left.Priority != best {
		m.fatal("Next handed out %d of %d and says %+v is left; want %d of priority %d", len(got), n, left, pending, best)
	}
}

// handedOut checks one record of Next.
func (m *model) handedOut(slot string, rec tegenaria.Record) {
	m.t.Helper()
	r := m.records[string(rec.Data)]
	if r == nil || r.place != inQueue || r.Slot != slot {
		m.fatal("%s was handed out; it is in %+v", rec.Data, r)
	}
	if rec.Depth < r.low || rec.Depth > r.Depth {
		m.fatal("%s has depth %d, want %d to %d", rec.Data, rec.Depth, r.low, r.Depth)
	}
	r.Depth, r.low = rec.Depth, rec.Depth
	if err := same(rec, r.Record); err != nil {
		m.fatal("%v", err)
	}
	for _, other := range m.of(inQueue) {
		if other.Slot == slot && (other.Priority > r.Priority ||
			other.Priority == r.Priority && other.placed && r.placed && other.number < r.number) {
			m.fatal("%s was handed out before %s", rec.Data, other.Data)
		}
	}
	r.place, r.Seq = inFlight, rec.Seq
}

func (m *model) pending(slot string) (n, best int) {
	for _, r := range m.of(inQueue) {
		if r.Slot == slot {
			if n++; n == 1 || r.Priority > best {
				best = r.Priority
			}
		}
	}
	return n, best
}

func (m *model) due() {
	m.now = m.now.Add(time.Duration(m.rng.IntN(4)) * time.Second)
	moved, next := m.c.due(m.now)
	m.did("due %v: %d", m.now, len(moved))
	type move struct {
		slot     string
		priority int
	}
	want := make(map[move]int)
	var earliest time.Time
	for _, r := range m.of(inDue) {
		if !r.NotBefore.After(m.now) {
			r.place = inQueue
			want[move{r.Slot, r.Priority}]++
		} else if earliest.IsZero() || r.NotBefore.Before(earliest) {
			earliest = r.NotBefore
		}
	}
	for _, s := range moved {
		want[move{s.Name, s.Priority}]--
	}
	for what, n := range want {
		if n != 0 {
			m.fatal("Due moved %v; of %v that is %d too few", moved, what, n)
		}
	}
	if !next.Equal(earliest) {
		m.fatal("Due says next is %v, want %v", next, earliest)
	}
}

// pick returns some of the records in flight.
func (m *model) pick(most int) []*modelRecord {
	flying := m.of(inFlight)
	m.rng.Shuffle(len(flying), func(i, j int) { flying[i], flying[j] = flying[j], flying[i] })
	return flying[:min(len(flying), m.rng.IntN(most+1))]
}

func (m *model) giveBack() {
	for _, r := range m.pick(2) {
		r.Attempt++
		r.Priority += m.rng.IntN(3) - 1
		r.NotBefore = time.Time{}
		want := isNew
		r.place, r.placed = inQueue, false
		if m.rng.IntN(2) == 0 {
			r.NotBefore = m.now.Add(time.Duration(m.rng.IntN(9)-2) * time.Second)
			if r.NotBefore.After(m.now) {
				want, r.place = later, inDue
			}
		}
		m.did("return %s, to the %s", r.Data, r.place)
		if v, err := m.c.Return(m.t.Context(), r.Record, m.now); err != nil || v != want {
			m.fatal("Return: %v, %v; want %v", v, err, want)
		}
	}
}

func (m *model) settle() { m.settleThese(m.pick(4)) }

func (m *model) settleAll() { m.settleThese(m.of(inFlight)) }

func (m *model) settleThese(done []*modelRecord) {
	m.counter++
	batch := tegenaria.Batch{
		Counters:    map[string]int64{"batches": m.counter},
		Checkpoints: map[string][]byte{"model": fmt.Append(nil, m.counter)},
	}
	for _, r := range done {
		r.place = isDone
		outcome := []tegenaria.Outcome{tegenaria.Fetched, tegenaria.Failed, tegenaria.Redirected}[m.rng.IntN(3)]
		batch.Settled = append(batch.Settled, tegenaria.Settled{Record: r.Record, Outcome: outcome, At: m.now})
	}
	m.did("settle %d", len(done))
	if err := m.c.Settle(m.t.Context(), batch); err != nil {
		m.fatal("Settle: %v", err)
	}
}

// check compares what can be seen without changing anything.
func (m *model) check() {
	waiting := make(map[string]int)
	for s, err := range m.c.Slots(m.t.Context()) {
		if err != nil {
			m.fatal("Slots: %v", err)
		}
		if s.Pending == 0 && (!s.NextAllowed.IsZero() || s.Pages > 0) {
			continue
		}
		waiting[s.Name] = s.Pending
		if n, best := m.pending(s.Name); n != s.Pending || best != s.Priority {
			m.fatal("Slots says %+v, want %d of priority %d", s, n, best)
		}
	}
	for _, r := range m.of(inQueue) {
		if waiting[r.Slot] == 0 {
			m.fatal("Slots does not list %s", r.Slot)
		}
	}
	counters, err := m.c.Counters(m.t.Context())
	if err != nil || counters["batches"] != m.counter {
		m.fatal("counters %v, %v; want %d batches", counters, err, m.counter)
	}
}

// restart closes the cache or lets it crash, after a batch that makes all durable.
func (m *model) restart() {
	crash := m.c.h.Crash != nil && (m.c.h.Reopen == nil || m.rng.IntN(2) == 0)
	if !crash && m.c.h.Reopen == nil {
		return
	}
	m.settle()
	if crash {
		m.did("crash")
		m.c.crash()
	} else {
		m.did("reopen")
		m.c.reopen()
	}
	for _, r := range m.of(inFlight) {
		r.place = inQueue
	}
	if got := m.c.state.Delayed; got != int64(len(m.of(inDue))) {
		m.fatal("%d records are delayed, want %d", got, len(m.of(inDue)))
	}
	if got := m.c.state.Checkpoints["model"]; string(got) != fmt.Sprint(m.counter) {
		m.fatal("checkpoint %q, want %d", got, m.counter)
	}
	m.check()
}

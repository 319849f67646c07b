package frontier_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// The outcomes of the tests.
const (
	_ = uint8(iota)
	fetched
	filtered
	duplicate
	outcomes
)

// record is a request that waits in a store.
type record struct {
	id       int
	slot     string
	priority int
	crashes  int
	due      time.Time
}

// job is a record in hand.
type job struct {
	record
	claim frontier.Claim[*job]
}

func (j *job) Claim() *frontier.Claim[*job] { return &j.claim }

func newJob(r record) *job {
	return &job{record: r, claim: frontier.Claim[*job]{Queue: r.slot, Priority: r.priority, Crashes: int32(r.crashes)}}
}

// newInline makes an inline job.
func newInline(slot string) *job {
	j := newJob(record{slot: slot})
	j.claim.Inline = true
	return j
}

// store is a Source: queues in the order of priority and number, and a due list.
type store struct {
	mu     sync.Mutex
	queues map[string][]record
	due    []record
	err    error

	reads func(slot string) // called by Next before it looks; nil: nothing
	moves func()            // called by Due before it returns; nil: nothing
}

func newStore() *store { return &store{queues: make(map[string][]record)} }

// add stores a record and returns where.
func (s *store) add(r record) (delayed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.due.IsZero() {
		s.queue(r)
		return false
	}
	i, _ := slices.BinarySearchFunc(s.due, r.due, func(a record, due time.Time) int { return a.due.Compare(due) })
	s.due = slices.Insert(s.due, i, r)
	return true
}

func (s *store) queue(r record) {
	q := s.queues[r.slot]
	i := slices.IndexFunc(q, func(a record) bool { return a.priority < r.priority })
	if i < 0 {
		i = len(q)
	}
	s.queues[r.slot] = slices.Insert(q, i, r)
}

func (s *store) Next(_ context.Context, slot string) (*job, frontier.Head, bool, error) {
	if s.reads != nil {
		s.reads(slot)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[slot]
	if s.err != nil || len(q) == 0 {
		return nil, frontier.Head{}, false, s.err
	}
	r := q[0]
	q = slices.Delete(q, 0, 1)
	s.queues[slot] = q
	if len(q) == 0 {
		delete(s.queues, slot)
		return newJob(r), frontier.Head{}, true, nil
	}
	return newJob(r), frontier.Head{Priority: q[0].priority, More: true}, true, nil
}

func (s *store) Due(_ context.Context, now time.Time) (moved []frontier.Moved, next time.Time, err error) {
	if s.moves != nil {
		defer s.moves()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.due) > 0 && !s.due[0].due.After(now) {
		r := s.due[0]
		s.due, r.due = s.due[1:], time.Time{}
		s.queue(r)
		moved = append(moved, frontier.Moved{Slot: r.slot, Priority: r.priority})
	}
	if len(s.due) > 0 {
		next = s.due[0].due
	}
	return moved, next, s.err
}

// world is a frontier with its store.
type world struct {
	*frontier.Frontier[*job]
	ledger *frontier.Ledger
	store  *store
}

// newWorld makes one of which cfg says what is not said here.
func newWorld(cfg frontier.Config[*job]) *world {
	w := &world{ledger: frontier.NewLedger(int(outcomes)), store: newStore()}
	cfg.Source, cfg.Ledger = w.store, w.ledger
	if cfg.Rules == nil {
		cfg.Rules = frontier.NewRules(frontier.Rule{Policy: slots.Policy{Limit: 8}}, nil)
	}
	if cfg.Fetchers == 0 {
		cfg.Fetchers = 4
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.HandOver == nil {
		cfg.HandOver = func() {}
	}
	if cfg.Keep == nil {
		cfg.Keep = func(string) {}
	}
	cfg.MaxRetryAfter, cfg.MaxCrawlDelay = time.Hour, time.Hour
	if cfg.Suspect == nil {
		cfg.Suspect = func(j *job) { w.LineUp(j) }
	}
	w.Frontier = frontier.New(cfg)
	return w
}

// inBackground calls a func that waits, and returns where its error comes.
func inBackground(wait func() error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- wait() }()
	return result
}

// result is what a call of Take has returned.
type result struct {
	job *job
	ok  bool
	err error
	at  time.Time
}

// sleeper calls Take, in a bubble. When this returns, Take has returned or waits for a change.
func (w *world) sleeper(t *testing.T) <-chan result {
	t.Helper()
	came := make(chan result, 1)
	go func() {
		j, ok, err := w.Take(t.Context())
		came <- result{j, ok, err, time.Now()}
	}()
	synctest.Wait()
	return came
}

// comes reports the request that a sleeper has got by now, without a passing of time; 0 if it sleeps.
func comes(came <-chan result) int {
	synctest.Wait()
	select {
	case r := <-came:
		if r.ok {
			return r.job.id
		}
	default:
	}
	return 0
}

// wantComes wants a sleeper to have got that request by now, 0 for none.
func wantComes(t *testing.T, when string, came <-chan result, want int) {
	t.Helper()
	if id := comes(came); id != want {
		t.Errorf("request %d comes %s, want %d", id, when, want)
	}
}

// inline returns an inline job that has its slot.
func (w *world) inline(t *testing.T, slot string) *job {
	t.Helper()
	j := newInline(slot)
	if err := w.WaitSlot(t.Context(), j); err != nil || !w.HasSlot(j) {
		t.Fatalf("an inline job has no slot: %v", err)
	}
	return j
}

// wantLeft wants so many workers of the queues and for inline requests to be unclaimed.
func (w *world) wantLeft(t *testing.T, free, inline int) {
	t.Helper()
	if gotFree, gotInline, _ := w.Left(); gotFree != free || gotInline != inline {
		t.Errorf("%d workers and %d for inline requests are left, want %d and %d", gotFree, gotInline, free, inline)
	}
}

// wantNoneInHand wants no slot to have a request in flight or in line.
func (w *world) wantNoneInHand(t *testing.T) {
	t.Helper()
	for _, s := range w.Status() {
		if s.InFlight > 0 || s.Waiting > 0 {
			t.Errorf("%s: %d are in hand, %d stand in line", s.Name, s.InFlight, s.Waiting)
		}
	}
}

// wantOpen wants so many requests to be pending, delayed and in flight.
func (w *world) wantOpen(t *testing.T, pending, delayed, inFlight int64) {
	t.Helper()
	if n := w.ledger.Counts(); n.Pending != pending || n.Delayed != delayed || n.InFlight != inFlight {
		t.Errorf("%d are pending, %d delayed and %d in flight, want %d, %d and %d", n.Pending, n.Delayed, n.InFlight, pending, delayed, inFlight)
	}
}

// end settles what is in hand, and wakes all sleepers for good.
func (w *world) end() {
	w.Stop()
	for range w.ledger.Counts().InFlight {
		w.ledger.Settle(fetched, "")
	}
	w.ledger.Stop()
	w.ledger.Started()
}

// send has records accepted, some of them as duplicates.
func (w *world) send(duplicates int, records ...record) {
	w.ledger.Discover(int64(len(records) + duplicates))
	var stored frontier.Stored
	for _, r := range records {
		if w.store.add(r) {
			stored.Delay(r.due)
		} else {
			stored.Queue(r.slot, r.priority)
		}
	}
	w.Accepted(stored, frontier.Refused{Number: int64(duplicates), Why: frontier.Reason{Outcome: duplicate}})
}

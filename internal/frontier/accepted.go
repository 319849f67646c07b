package frontier

import (
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// Run is a number of requests that were stored one after the other, and wait in one queue with one priority.
type Run struct {
	Queue    string // of a slot, or of a lane of it
	Priority int
	Number   int
}

// Stored says where the requests of a batch wait that the source has stored.
type Stored struct {
	Runs    []Run     // those in the queues of their slots
	Delayed int64     // how many lie in the due list
	Next    time.Time // when the earliest of these is due

	Slot  string // or queue, of the last request; needed with Limit alone
	Limit int    // unless 0, how many downloads may be under way in that slot at most
}

// Queue adds a request that waits in a queue.
func (s *Stored) Queue(queue string, priority int) {
	if n := len(s.Runs) - 1; n >= 0 && s.Runs[n].Queue == queue && s.Runs[n].Priority == priority {
		s.Runs[n].Number++
		return
	}
	s.Runs = append(s.Runs, Run{queue, priority, 1})
}

// Delay adds a request that lies in the due list until then.
func (s *Stored) Delay(until time.Time) {
	s.Delayed++
	s.Next = earlier(s.Next, until)
}

// Refused are requests that the source did not store, for the same reason.
type Refused struct {
	Number int64 // 0: there are none
	Why    Reason
}

// Accepted notes where the requests of a batch wait, and counts those that were refused.
func (f *Frontier[J]) Accepted(stored Stored, refused ...Refused) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if stored.Delayed > 0 {
		f.ledger.later(stored.Delayed)
	}
	for _, r := range refused {
		if r.Number > 0 {
			f.ledger.refuse(r.Number, r.Why)
		}
	}
	if len(stored.Runs) > 0 || stored.Delayed > 0 {
		f.added(&stored)
	}
}

// Added notes that requests that were in hand wait in the source again. The ledger is not changed.
func (f *Frontier[J]) Added(stored Stored) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added(&stored)
}

// AddedAt is Added for a request that its owner holds back at the gate of that name, if isClosed, which is called with the Frontier locked,
// returns true: nothing of its slot is taken then until [Frontier.OpenGate], or of its lane alone if the gate is that of the lane.
func (f *Frontier[J]) AddedAt(stored Stored, gate string, isClosed func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added(&stored)
	if isClosed() {
		for _, run := range stored.Runs {
			if len(f.requeued.jobs[run.Queue]) == 0 { // or else they come first, and may keep what the gate's owner waits for
				f.slots.Shut(run.Queue, gate)
			}
		}
	}
}

// OpenGate lets the slots be taken from again that wait at a gate of AddedAt.
func (f *Frontier[J]) OpenGate(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slots.Open(name)
	f.signal()
}

// added enters new requests into slots and due list. The caller holds mu.
func (f *Frontier[J]) added(stored *Stored) {
	if stored.Delayed > 0 {
		f.due.add(stored.Next)
	}
	for _, run := range stored.Runs {
		f.slots.Add(run.Queue, run.Priority, run.Number)
	}
	if stored.Limit > 0 {
		f.slots.Cap(slots.Name(stored.Slot), stored.Limit)
	}
	f.signal()
}

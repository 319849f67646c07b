package frontier

import (
	"context"
	"time"
)

// dueList is the Frontier's part of the requests that wait for an instant. Such instants are stored, so they are of
// the wall clock.
type dueList struct {
	next   time.Time // the earliest one, zero if nothing waits
	added  time.Time // the earliest one that came while the source was asked
	asking bool      // a worker is asking the source for the requests that are due
}

// isDue reports whether a request is due and no worker moves it yet.
func (d *dueList) isDue() bool {
	return !d.asking && !d.next.IsZero() && !time.Now().Before(d.next)
}

// add notes that a request waits until then.
func (d *dueList) add(until time.Time) {
	d.next = earlier(d.next, until)
	d.added = earlier(d.added, until)
}

// moveDue has the source move requests that are due to the slots' queues. It is called with mu held, and returns with mu
// released. The worker that leads may have gone to sleep meanwhile, for as long as it knew: it is woken.
func (f *Frontier[J]) moveDue(ctx context.Context) error {
	f.due.asking, f.due.added = true, time.Time{}
	f.mu.Unlock()
	moved, next, err := f.source.Due(ctx, time.Now())
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ledger.later(-int64(len(moved)))
	f.due.asking = false
	f.due.next = earlier(next, f.due.added)
	for _, m := range moved {
		f.slots.Add(m.Slot, m.Priority, 1)
	}
	f.signal()
	return err
}

// earlier returns the earlier of two instants, where zero means none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// LookAtDue has the source asked which requests are due, of an earlier run or another program.
func (f *Frontier[J]) LookAtDue() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slots.Resume(f.now())
	f.due.add(time.Now())
	f.signal()
}

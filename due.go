package tegenaria

import (
	"context"
	"time"
)

// isDue reports whether something in the due list is due and nobody moves it yet, by the wall clock: such instants
// are stored. The caller holds mu.
func (s *scheduler) isDue() bool {
	return !s.asking && !s.nextDue.IsZero() && !time.Now().Before(s.nextDue)
}

// moveDue lets the cache move what has become due to the slots' queues. It is called with mu held, and returns with mu
// released. The worker that leads may have gone to sleep meanwhile, for as long as it knew: it is woken.
func (s *scheduler) moveDue(ctx context.Context) error {
	s.asking, s.dueAdded = true, time.Time{}
	s.mu.Unlock()
	moved, next, err := s.cache.Due(ctx, time.Now())
	s.ledger.Later(-int64(len(moved)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = false
	s.nextDue = earlier(next, s.dueAdded)
	for _, slot := range moved {
		s.slots.Add(slot.Name, slot.Priority, 1)
	}
	s.signal()
	return err
}

// earlier returns the earlier of two instants, where zero means none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// lookAtDue has the cache asked what is due.
func (s *scheduler) lookAtDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextDue = time.Now()
}

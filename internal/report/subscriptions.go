package report

import "sync"

// Depth is how many errors wait for the reader of a subscription.
const Depth = 1024

// Subscriptions hand the errors of a run to all who have subscribed. The zero value has none. All methods may be called
// concurrently, and none waits for a reader.
type Subscriptions struct {
	mu   sync.Mutex // guards the field below
	subs []*subscription
}

// subscription is the channel of one reader.
type subscription struct {
	ch     chan error
	count  int64 // of errors that were missed
	missed func(n int64) error
}

// Subscribe returns a channel of its own on which all errors arrive that are published until Close, which closes it. It holds
// [Depth] errors. Those that come while it is full are counted, and as soon as there is room again the error arrives that missed
// makes of their number.
func (s *Subscriptions) Subscribe(missed func(n int64) error) <-chan error {
	sub := &subscription{ch: make(chan error, Depth+1), missed: missed}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subs = append(s.subs, sub)
	return sub.ch
}

// Publish sends an error to all subscriptions.
func (s *Subscriptions) Publish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		sub.send(err)
	}
}

// Close ends all subscriptions: each reader learns how many errors it has missed. Later subscriptions begin anew.
func (s *Subscriptions) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		sub.send(nil)
		close(sub.ch)
	}
	s.subs = nil
}

// send puts an error into the channel, unless it is full; nil puts nothing but the number of the missed ones. The caller holds
// the mu of the Subscriptions.
func (s *subscription) send(err error) {
	room := cap(s.ch) - len(s.ch) - 1 // the last place is for the number of missed errors at the end
	if err == nil {
		room++
	}
	if s.count > 0 && (room >= 2 || err == nil && room >= 1) {
		s.ch <- s.missed(s.count)
		s.count = 0
		room--
	}
	switch {
	case err == nil:
	case room > 0 && s.count == 0:
		s.ch <- err
	default:
		s.count++
	}
}

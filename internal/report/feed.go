package report

import "sync"

// Depth is how many errors wait for the reader of a subscription.
const Depth = 1024

// Feed hands the errors of a run to all who have subscribed. The zero value has no subscriptions. All methods may be called
// concurrently, and none waits for a reader.
type Feed struct {
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
func (f *Feed) Subscribe(missed func(n int64) error) <-chan error {
	s := &subscription{ch: make(chan error, Depth+1), missed: missed}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subs = append(f.subs, s)
	return s.ch
}

// Publish sends an error to all subscriptions.
func (f *Feed) Publish(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.subs {
		s.send(err)
	}
}

// Close ends all subscriptions: each reader learns how many errors it has missed. Later subscriptions begin anew.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.subs {
		s.send(nil)
		close(s.ch)
	}
	f.subs = nil
}

// send puts an error into the channel, unless it is full; nil puts nothing but the number of the missed ones. The caller holds
// the feed's mu.
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

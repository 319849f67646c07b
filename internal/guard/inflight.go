package guard

import (
	"sync"
	"sync/atomic"
)

// InFlight counts calls that are in flight. Code that was left behind may be in one when all else is over: whoever closes the
// count waits until it has left. Make one with [NewInFlight]. It may be used concurrently.
type InFlight struct {
	state   atomic.Int64  // twice the number of calls, plus one if it is closed
	empty   chan struct{} // closed when the count is closed and the last call has left
	emptied sync.Once
}

// NewInFlight returns an open count.
func NewInFlight() *InFlight { return &InFlight{empty: make(chan struct{})} }

// Enter counts a call until Leave. It returns false if the count is closed: then the call must not begin.
func (f *InFlight) Enter() bool {
	if f.state.Add(2)&1 == 0 {
		return true
	}
	f.Leave()
	return false
}

// Leave ends a call that Enter has counted.
func (f *InFlight) Leave() {
	if f.state.Add(-2) == 1 {
		f.emptied.Do(func() { close(f.empty) })
	}
}

// Close lets no call begin any more. The channel is closed when the last one has left.
func (f *InFlight) Close() <-chan struct{} {
	f.state.Add(2)
	f.state.Or(1)
	f.Leave()
	return f.empty
}

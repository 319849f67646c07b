package tegenaria

import (
	"sync"
	"sync/atomic"
)

// entries counts the requests that are being accepted. What abandoned code has sent may still be on its way when
// all else is over: a run waits for it, and lets nothing in any more.
type entries struct {
	state   atomic.Int64  // twice the number of those inside, and one if nobody may enter any more
	empty   chan struct{} // closed when nobody is inside any more, once that is so
	emptied sync.Once
}

func newEntries() *entries { return &entries{empty: make(chan struct{})} }

// enter returns false if nobody may enter any more.
func (e *entries) enter() bool {
	if e.state.Add(2)&1 == 0 {
		return true
	}
	e.leave()
	return false
}

func (e *entries) leave() {
	if e.state.Add(-2) == 1 {
		e.emptied.Do(func() { close(e.empty) })
	}
}

// close lets nobody in any more. The channel is closed when the last one has left.
func (e *entries) close() <-chan struct{} {
	e.state.Add(2)
	e.state.Or(1)
	e.leave()
	return e.empty
}

package tegenaria

import (
	"sync"
	"sync/atomic"
)

// entries counts the code that is inside a door. Code that was abandoned may be there when all else is over: a run waits
// until it has left, and then lets nobody in any more.
type entries struct {
	state   atomic.Int64  // twice the number of those inside, plus one if nobody may enter any more
	empty   chan struct{} // closed when the door is closed and nobody is inside any more
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

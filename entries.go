package tegenaria

import "sync"

// entries counts the requests that are being accepted. What abandoned code has sent may still be on its way when
// all else is over: a run waits for it, and lets nothing in any more.
type entries struct {
	mu     sync.Mutex // guards what follows
	inside int
	closed bool
	empty  chan struct{} // closed when nobody is inside any more; nil before close
}

// enter returns false if nobody may enter any more.
func (e *entries) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.inside++
	return true
}

func (e *entries) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.inside--; e.inside == 0 && e.closed {
		close(e.empty)
	}
}

// close lets nobody in any more. The channel is closed when the last one has left.
func (e *entries) close() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed, e.empty = true, make(chan struct{})
	if e.inside == 0 {
		close(e.empty)
	}
	return e.empty
}

package guard

import (
	"sync"
	"sync/atomic"
)

// Door counts the code that is inside of it. Code that was left behind may be there when all else is over: whoever closes
// the door waits until it has left. Make one with [NewDoor]. It may be used concurrently.
type Door struct {
	state   atomic.Int64  // twice the number of those inside, plus one if the door is closed
	empty   chan struct{} // closed when the door is closed and the last one has left
	emptied sync.Once
}

// NewDoor returns an open door.
func NewDoor() *Door { return &Door{empty: make(chan struct{})} }

// Enter lets the caller in, until it calls Leave. It returns false if the door is closed.
func (d *Door) Enter() bool {
	if d.state.Add(2)&1 == 0 {
		return true
	}
	d.Leave()
	return false
}

// Leave ends a stay that Enter began.
func (d *Door) Leave() {
	if d.state.Add(-2) == 1 {
		d.emptied.Do(func() { close(d.empty) })
	}
}

// Close closes the door for entering. The channel is closed when the last one inside has left.
func (d *Door) Close() <-chan struct{} {
	d.state.Add(2)
	d.state.Or(1)
	d.Leave()
	return d.empty
}

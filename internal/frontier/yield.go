package frontier

import "context"

// slotYield is what becomes of the slot of a job whose callback fetches other pages: the job releases it, since they may need it, and
// has it again once the last of them has come.
type slotYield struct {
	fetches int32 // calls of BeginFetch that EndFetch has not ended
	yielded bool  // the job has released its slot for them, and will have it again
	claimed bool  // a call that got true from EndFetch reacquires it
}

// begin notes a fetch. had says that the job has just released its slot for it.
func (y *slotYield) begin(had bool) {
	y.fetches++
	y.yielded = y.yielded || had
}

// end notes the end of a fetch, and reports whether its call has to reacquire the slot.
func (y *slotYield) end() bool {
	y.fetches--
	if !y.yielded || y.fetches > 0 || y.claimed {
		return false
	}
	y.claimed = true
	return true
}

// granted ends a reacquiring, and reports whether the job has the slot again. It has not if it has lost it meanwhile, or if
// another fetch has begun, which may need it: then the call of that one reacquires it.
func (y *slotYield) granted() bool {
	y.claimed = false
	if !y.yielded || y.fetches > 0 {
		return false
	}
	y.yielded = false
	return true
}

// lose notes that the job does not want the slot again, or has another grant of it.
func (y *slotYield) lose() { y.yielded = false }

// BeginFetch notes that a callback of a job fetches another page, until EndFetch. The job releases its slot, if it has it,
// because the other page may need it. An inline job releases its worker too: jobs that hold one while they wait for
// another could end up waiting for each other. A job of the queue keeps it; a worker is reserved for inline jobs.
func (f *Frontier[J]) BeginFetch(j J) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := j.Claim()
	grant, from := c.grant, worker{}
	if c.grant = nil; c.Inline {
		from, c.worker = c.worker, worker{}
	}
	c.yield.begin(grant != nil)
	if f.leaveGate(c) || grant != nil || from.kind != noWorker {
		f.release(grant, from, false)
	}
}

// EndFetch ends what BeginFetch began. It reports whether the caller has to call ReacquireSlot: it is the last of those that
// fetch for the job, and the job had its slot.
func (f *Frontier[J]) EndFetch(j J) (reacquire bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return j.Claim().yield.end()
}

// ReacquireSlot waits until a job has the slot again that it released in BeginFetch. If the job was released meanwhile or another
// fetch has begun, it has none when this returns. The error is ctx's cause; then the job has no slot.
func (f *Frontier[J]) ReacquireSlot(ctx context.Context, j J) error {
	c := j.Claim()
	w := f.ask(c.Slot()) // without the gate of its lane: what it has fetched may keep that closed
	err := w.wait(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		c.yield.lose()
		f.withdraw(w)
	case c.yield.granted():
		f.give(c, w)
	default:
		f.release(w.grant, w.worker, false)
	}
	return err
}

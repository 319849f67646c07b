package fetch

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Budget shares a number of bytes among the bodies in memory, and what is made of them. The bytes of a body count until its hold
// is released; above the bound an exchange waits, with the rest of its body unread.
//
// The reader that has waited longest may go over the bound while no other is over it, and stays over it until its hold is
// released. So one reader always makes progress, and at most one request exceeds the bound.
//
// Inline requests do not wait: their caller, a pipeline say, may be in the way of the hold that has to be released. Readers of
// a slot in whose line an inline request stands, or that have passed a gate which it has to pass, do not wait either:
// it may have to wait for one of them.
//
// A Budget may be used concurrently. A nil one has no bound.
type Budget struct {
	bound int64 // bytes
	short func()

	mu      sync.Mutex // guards the fields below, and all holds
	used    int64      // sum of all holds
	over    *Hold      // may go over the bound
	waiting []*wait
	waits   atomic.Bool    // waiting is not empty; written with mu
	wanted  map[string]int // inline requests in line, by slot and by gate
}

// Hold is one request's share of a Budget. The zero value holds nothing and is ready to use.
type Hold struct {
	used   atomic.Bool // it may hold something; set before it does
	ended  atomic.Bool // its request has settled: nothing counts in it any more
	bytes  int64
	Places string // the slot of the request and the gates that it has to pass, with Between between them; not to be set while it waits
}

// Between stands between the places of a hold: a lane is named by slot and gate in this way.
const Between = "\x00"

// wait is a reader that waits for n more bytes.
type wait struct {
	hold    *Hold
	n       int64
	granted chan struct{}
}

// NewBudget returns a budget of that many bytes. It calls short, unless nil, without locks when a download begins to wait.
func NewBudget(bound int64, short func()) *Budget {
	if short == nil {
		short = func() {}
	}
	return &Budget{bound: bound, short: short}
}

// Used returns how many bytes all holds have together.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Held returns how many bytes a hold has.
func (b *Budget) Held(h *Hold) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return h.bytes
}

// Waits returns how many requests wait.
func (b *Budget) Waits() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// IsShort reports whether a download waits.
func (b *Budget) IsShort() bool { return b != nil && b.waits.Load() }

// TryGrow adds n bytes to a hold if that takes no waiting, and reports whether it did.
func (b *Budget) TryGrow(h *Hold, n int64) bool {
	if b == nil || h == nil {
		return true
	}
	h.used.Store(true)
	b.mu.Lock()
	defer b.mu.Unlock()
	if h != b.over && len(b.waiting) > 0 && !b.isWanted(h) {
		return false
	}
	return b.take(h, n)
}

// Add adds n bytes to a hold at once, above the bound if need be.
func (b *Budget) Add(h *Hold, n int64) {
	if b == nil || h == nil {
		return
	}
	h.used.Store(true)
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.ended.Load() {
		return
	}
	h.bytes += n
	b.used += n
}

// Grow adds n bytes to a hold, and waits until it may. The error is the cause of ctx's end.
func (b *Budget) Grow(ctx context.Context, h *Hold, n int64) error {
	if b.TryGrow(h, n) {
		return nil
	}
	w := &wait{hold: h, n: n, granted: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	b.serve()
	b.mu.Unlock()
	if b.IsShort() {
		b.short()
	}
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
		b.withdraw(w)
		return context.Cause(ctx)
	}
}

// Shrink takes n bytes back from a hold.
func (b *Budget) Shrink(h *Hold, n int64) {
	if b == nil || h == nil || n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n = min(n, h.bytes) // the rest was given back with the request
	b.used -= n
	h.bytes -= n
	b.serve()
}

// Release gives back everything of a hold. Nothing counts in it from then on.
func (b *Budget) Release(h *Hold) {
	if b == nil || h == nil {
		return
	}
	if h.ended.Store(true); !h.used.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= h.bytes
	h.bytes = 0
	if b.over == h {
		b.over = nil
	}
	b.serve()
}

// Move adds a hold to another one, which goes over the bound in its place.
func (b *Budget) Move(h, to *Hold) {
	if b == nil {
		return
	}
	if h.ended.Store(true); !h.used.Load() {
		return
	}
	to.used.Store(true)
	b.mu.Lock()
	defer b.mu.Unlock()
	to.bytes += h.bytes
	h.bytes = 0
	if b.over == h {
		b.over = to
	}
}

// isWanted reports whether an inline request may have to wait for that of a hold. The caller holds mu.
func (b *Budget) isWanted(h *Hold) bool {
	if len(b.wanted) > 0 {
		for place := range strings.SplitSeq(h.Places, Between) {
			if b.wanted[place] > 0 {
				return true
			}
		}
	}
	return false
}

// Want notes that an inline request waits in line for the places of a hold, until the func that it returns is called.
func (b *Budget) Want(h *Hold) (stop func()) {
	if b == nil {
		return func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wanted == nil {
		b.wanted = make(map[string]int)
	}
	wanted := strings.Split(h.Places, Between)
	for _, place := range wanted {
		b.wanted[place]++
	}
	b.serve()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, place := range wanted {
			if b.wanted[place]--; b.wanted[place] == 0 {
				delete(b.wanted, place)
			}
		}
	}
}

// take adds n bytes to a hold if the budget has them, or if the hold may go over it. The caller holds mu.
func (b *Budget) take(h *Hold, n int64) bool {
	if h.ended.Load() {
		return true
	}
	if b.used+n > b.bound && !b.isWanted(h) {
		if b.over != nil && b.over != h {
			return false
		}
		b.over = h
	}
	h.bytes += n
	b.used += n
	return true
}

// serve lets readers go on whose bytes there is room for, oldest first. No reader overtakes one that waits for much, except
// the one that is over the bound already and those that an inline request may wait for. The caller holds mu.
func (b *Budget) serve() {
	left := b.waiting[:0]
	for _, w := range b.waiting {
		if (len(left) == 0 || w.hold == b.over || b.isWanted(w.hold)) && b.take(w.hold, w.n) {
			close(w.granted)
			continue
		}
		left = append(left, w)
	}
	clear(b.waiting[len(left):])
	b.waiting = left
	b.waits.Store(len(left) > 0)
}

func (b *Budget) withdraw(w *wait) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, w); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
		b.serve()
	}
}

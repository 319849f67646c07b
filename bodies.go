package tegenaria

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// bodyBudget shares Limits.BodiesInFlight among the requests of a crawl (design law L11). What a
// download has read counts until its request settles; above the bound a download waits, with the rest
// of its body unread.
//
// Whoever waits longest may go over the bound when nobody else is over it, and stays over it until it
// is released: so one reader always makes progress, and the bound is exceeded by one request at most.
//
// Inline requests do not wait: what is to be released may stand behind their caller, a pipeline say. Nor
// do the readers of a slot that an inline request stands in line for: it may have to wait for one of them.
//
// A bodyBudget may be used concurrently. A nil one has no bound.
type bodyBudget struct {
	bound int64  // bytes
	short func() // called without locks when a download begins to wait

	mu      sync.Mutex // guards what follows, and all holds
	used    int64      // sum of all holds
	over    *bodyHold  // may go over the bound
	waiting []*bodyWait
	waits   atomic.Bool    // somebody is in waiting; written with mu
	wanted  map[string]int // inline requests in line, by slot
}

// bodyHold is one request's share of a bodyBudget. The zero value holds nothing and is ready to use.
type bodyHold struct {
	used  atomic.Bool // it may hold something; set before it does
	ended atomic.Bool // its request has settled: what is made of the page later is its keeper's
	bytes int64
	slot  string // of the request; set before the first use
}

// bodyWait is a reader that waits for n more bytes.
type bodyWait struct {
	hold    *bodyHold
	n       int64
	granted chan struct{}
}

func newBodyBudget(bound int64) *bodyBudget { return &bodyBudget{bound: bound, short: func() {}} }

// isShort tells whether a download waits.
func (b *bodyBudget) isShort() bool { return b != nil && b.waits.Load() }

// tryGrow adds n bytes to a hold if that takes no waiting.
func (b *bodyBudget) tryGrow(h *bodyHold, n int64) bool {
	if b == nil || h == nil {
		return true
	}
	h.used.Store(true)
	b.mu.Lock()
	defer b.mu.Unlock()
	if h != b.over && len(b.waiting) > 0 && b.wanted[h.slot] == 0 {
		return false
	}
	return b.take(h, n)
}

// add adds n bytes to a hold at once, above the bound if need be.
func (b *bodyBudget) add(h *bodyHold, n int64) {
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

// grow adds n bytes to a hold, and waits until it may. The error is the cause of ctx's end.
func (b *bodyBudget) grow(ctx context.Context, h *bodyHold, n int64) error {
	if b.tryGrow(h, n) {
		return nil
	}
	w := &bodyWait{hold: h, n: n, granted: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	b.serve()
	b.mu.Unlock()
	if b.isShort() {
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

// shrink takes n bytes back from a hold.
func (b *bodyBudget) shrink(h *bodyHold, n int64) {
	if b == nil || h == nil || n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n = min(n, h.bytes) // the rest was given back with the request
	h.bytes -= n
	b.used -= n
	b.serve()
}

// release gives back everything of a hold. Nothing counts in it from then on.
func (b *bodyBudget) release(h *bodyHold) {
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

// move adds a hold to another one, which goes over the bound in its place.
func (b *bodyBudget) move(h, to *bodyHold) {
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

// want tells that an inline request stands in line for a slot. The func it returns ends that.
func (b *bodyBudget) want(slot string) (stop func()) {
	if b == nil {
		return func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wanted == nil {
		b.wanted = make(map[string]int)
	}
	b.wanted[slot]++
	b.serve()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.wanted[slot]--; b.wanted[slot] == 0 {
			delete(b.wanted, slot)
		}
	}
}

// take adds n bytes to a hold if the budget has them, or if the hold may go over it. The caller holds mu.
func (b *bodyBudget) take(h *bodyHold, n int64) bool {
	if h.ended.Load() {
		return true
	}
	if b.used+n > b.bound && b.wanted[h.slot] == 0 {
		if b.over != nil && b.over != h {
			return false
		}
		b.over = h
	}
	h.bytes += n
	b.used += n
	return true
}

// serve lets go on who may, oldest first: nobody overtakes a reader that waits for much, except the one
// that is over the bound already and those that an inline request may wait for. The caller holds mu.
func (b *bodyBudget) serve() {
	left := b.waiting[:0]
	for _, w := range b.waiting {
		if (len(left) == 0 || w.hold == b.over || b.wanted[w.hold.slot] > 0) && b.take(w.hold, w.n) {
			close(w.granted)
			continue
		}
		left = append(left, w)
	}
	clear(b.waiting[len(left):])
	b.waiting = left
	b.waits.Store(len(left) > 0)
}

func (b *bodyBudget) withdraw(w *bodyWait) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, w); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
		b.serve()
	}
}

const (
	scratchSize = 32 << 10
	// trusted is how much memory is taken on the word of a Content-Length before a byte has come.
	trusted = 1 << 20
	minPart = 512
)

// scratches lends the buffers into which bodies of unknown length are read. They never reach the user.
var scratches = sync.Pool{New: func() any { return new([scratchSize]byte) }}

// readBody reads the body into memory of exactly its size. want is its length, or less than 1 if that is
// unknown. With an error comes what was read before it.
func (x *exchange) readBody(want int64) (body []byte, err error) {
	limit := x.most
	if want > limit {
		return nil, x.tooLarge()
	}
	scratch, _ := scratches.Get().(*[scratchSize]byte)
	defer scratches.Put(scratch)
	defer func() { x.keepReserved(len(body)) }()

	var room [8][]byte
	parts, total := room[:0], int64(0)
	var first []byte
	if want > 0 {
		var n int
		first, n, err = x.readPart(min(want, trusted))
		if err != nil {
			return slices.Concat(first[:n]), endOfBody(err)
		}
		parts, total = append(parts, first), int64(n)
	}
	// A common body ends here: it has been read whole, or it is small.
	n, err := readFull(x, scratch[:min(scratchSize, limit-total+1)])
	total += int64(n)
	if n == 0 && err != nil && total == int64(len(first)) {
		return first, endOfBody(err)
	}
	parts = append(parts, scratch[:n])
	if total <= limit {
		if refused := x.reserve(int64(n)); refused != nil {
			return nil, refused
		}
	}
	for err == nil && total <= limit {
		size := max(total, minPart)
		if want > total {
			size = min(size, want-total)
		}
		var part []byte
		part, n, err = x.readPart(min(size, limit-total+1))
		parts, total = append(parts, part[:n]), total+int64(n)
	}
	if total > limit {
		return nil, x.tooLarge()
	}
	return slices.Concat(parts...), endOfBody(err)
}

// readPart reads up to size bytes into memory of their own. The error is nil only if it is full.
func (x *exchange) readPart(size int64) (part []byte, n int, err error) {
	if err := x.reserve(size); err != nil {
		return nil, 0, err
	}
	part = make([]byte, size)
	n, err = readFull(x, part)
	return part, n, err
}

func endOfBody(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// readFull reads until p is full or the reader ends. Other than io.ReadFull it leaves the reader's error
// as it is, since an end in the middle of p is no mistake.
func readFull(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	if n == len(p) && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// closeSpool gives back the file of a spooled body; its readers fail from then on. The engine calls it
// when the request has settled.
func (r *Response) closeSpool() {
	r.mu.Lock()
	file := r.file
	r.mu.Unlock()
	if file != nil {
		file.Close()
	}
}

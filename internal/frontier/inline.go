package frontier

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Inline knows the pages whose callbacks wait for inline requests. Such a request lives with its page: it has no queue and no
// record, and the page stays open until every call of Fetch has returned or has been dropped. Make one with [NewInline]. Its methods
// may be called concurrently.
//
// The way of one call:
//
//	Enter   the page is open for the call
//	Add     an inline request is counted in the ledger, and the call waits for it; Count, if it is refused at once
//	End     the request is over: a redirect or another attempt is added next
//	Leave   the call has returned: its caller closes the page
//
// Drop ends all calls of a page whose code was given up, and Close lets none begin any more: whatever such code still does has
// no effect.
type Inline[J Page[J]] struct {
	ledger  *Ledger
	nesting int

	mu     sync.Mutex // guards the fields below, all Calls and all Call; taken before the Ledger's
	pages  map[J]struct{}
	closed bool
}

// Page is a job that inline requests live with. J is the type itself, usually a pointer.
type Page[J any] interface {
	comparable
	// Calls returns what the page keeps for calls of Fetch, always the same.
	Calls() *Calls[J]
	// Open opens the page for another part. It returns false if the page is over, or its code was given up. It is called with the
	// mutex of Inline held, and must not wait.
	Open() bool
}

// Calls are the calls of Fetch for one page, and what they wait for. Its zero value has none. It lies in the page, and must not be
// copied.
type Calls[J any] struct {
	open    int      // calls that have not returned
	awaited []J      // inline requests that are under way
	names   []string // of these, and of those that are over
	dropped bool     // all calls were ended, and none begins any more
}

// Call is one call of Fetch.
type Call[J any] struct {
	page  J
	depth int // how many calls it stands in, itself among them
	left  bool
}

// Why a call of Fetch may not begin.
var (
	ErrNested = errors.New("frontier: the call is nested too deep")
	ErrEnded  = errors.New("frontier: the page has ended")
)

// NewInline makes an Inline in which nothing waits. nesting is how deep calls may nest: a call stands in another one if a middleware
// or callback makes it for the request that the other one waits for.
func NewInline[J Page[J]](ledger *Ledger, nesting int) *Inline[J] {
	return &Inline[J]{ledger: ledger, nesting: nesting, pages: make(map[J]struct{})}
}

// Enter opens a page for a call of Fetch. within is the call that the caller's own request belongs to; nil if that is the page
// itself. The error is ErrNested or ErrEnded.
func (l *Inline[J]) Enter(page J, within *Call[J]) (*Call[J], error) {
	call := &Call[J]{page: page, depth: 1}
	if within != nil {
		call.depth += within.depth
	}
	if call.depth > l.nesting {
		return nil, ErrNested
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := page.Calls()
	if l.closed || calls.dropped || !page.Open() {
		return nil, ErrEnded
	}
	calls.open++
	l.pages[page] = struct{}{}
	return call, nil
}

// Count counts an inline request of a call in the ledger that is refused at once. It returns false if the call has ended
// already: then nothing is counted.
func (l *Inline[J]) Count(call *Call[J]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count(call)
}

// count is Count. The caller holds mu.
func (l *Inline[J]) count(call *Call[J]) bool {
	if call.left || call.page.Calls().dropped {
		return false
	}
	l.ledger.Inline()
	return true
}

// Add counts an inline request in the ledger, for which a call waits from now on. It returns false if the call has ended
// already: then nothing is counted. The name is kept until the page is over.
func (l *Inline[J]) Add(call *Call[J], inline J, name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.count(call) {
		return false
	}
	calls := call.page.Calls()
	calls.awaited = append(calls.awaited, inline)
	calls.names = append(calls.names, name)
	return true
}

// Awaits reports whether a call of a page waits for an inline request.
func (l *Inline[J]) Awaits(page, inline J) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(page.Calls().awaited, inline)
}

// End ends the waiting for an inline request of a page, which the caller settles. It returns false if that was done before.
func (l *Inline[J]) End(page, inline J) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := page.Calls()
	i := slices.Index(calls.awaited, inline)
	if i < 0 {
		return false
	}
	calls.awaited = slices.Delete(calls.awaited, i, i+1)
	return true
}

// Leave ends a call. It returns true if the caller has to close the page that Enter opened, and false if the call was ended
// before.
func (l *Inline[J]) Leave(call *Call[J]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := call.page.Calls()
	if call.left || calls.dropped {
		return false
	}
	call.left = true
	if calls.open--; calls.open == 0 {
		delete(l.pages, call.page)
	}
	return true
}

// Drop ends all calls of a page, and lets none begin any more. The caller settles the inline requests that were under way, each
// unless End returns false for it, and then closes the page as often as calls says.
func (l *Inline[J]) Drop(page J) (calls int, awaited []J) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := page.Calls()
	calls, awaited = c.open, slices.Clone(c.awaited)
	c.open, c.dropped = 0, true
	delete(l.pages, page)
	return calls, awaited
}

// Close lets no call begin any more, and returns the pages that have some: the caller drops those.
func (l *Inline[J]) Close() []J {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return slices.Collect(maps.Keys(l.pages))
}

// Page returns the page that a call belongs to.
func (c *Call[J]) Page() J { return c.page }

// Names returns the names of all inline requests of a page. The caller is the last one to have the page in hand.
func (c *Calls[J]) Names() []string { return c.names }

// Sleep waits before an inline request is tried again, which no queue keeps meanwhile. The error is ctx's cause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

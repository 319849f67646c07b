package cluster

import (
	"cmp"
	ring "container/list"
	"math"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria"
)

// order is where a request stands among those of its list: the smaller first.
type order struct {
	rank  int64 // in a slot the complement of the priority, in the due list microseconds since 1970
	place int64 // a number that no other request of the job has had
}

func (o order) compare(p order) int {
	return cmp.Or(cmp.Compare(o.rank, p.rank), cmp.Compare(o.place, p.place))
}

func (o order) before(p order) bool { return o.compare(p) < 0 }

// last is behind every other.
var last = order{math.MaxInt64, math.MaxInt64}

// rankOf turns a priority, of which the largest comes first, into a rank. It is its own reverse.
func rankOf(priority int64) int64 { return ^priority }

// entry is a request that waits or is in flight, while it is in memory.
type entry struct {
	order
	key      tegenaria.Key
	seq      int64 // its number for life
	parent   int64 // that of the request that emitted it; 0: a seed, or not known
	priority int64
	depth    int
	attempt  int
	data     []byte
	slot     *slot

	delayed  bool   // it is in the due list; otherwise in its slot's queue
	front    bool   // it is in the front of its list
	inFlight bool   // Next has handed it out
	settling bool   // it is in a batch of Settle
	batch    *batch // which will store it where it is now; nil: it is stored
}

// entryCost is what an entry takes beside its data.
const entryCost = 192

func (e *entry) cost() int { return len(e.data) + entryCost }

// list is a queue of a slot, or the due list. Its front, all that waits before cursor, is in memory. The rest is in the
// database, or in a batch that has yet to be written.
type list struct {
	count  int   // requests that wait here
	head   order // of the first of them, or a place before it with its rank
	front  []*entry
	cursor order
	bytes  int           // what the front costs
	used   *ring.Element // in the workbench, if there is a front
	most   int           // requests of a front
	quota  int           // bytes of a front
}

// Bounds of the front of a slot, and of the due list.
const (
	frontRecords = 64
	frontBytes   = 32 << 10
	dueRecords   = 1000
	dueBytes     = 1 << 20
)

// slot is the queue of a host, and what is known of the host.
type slot struct {
	list
	name        string
	id          int64
	partition   int
	nextAllowed time.Time
	delay       time.Duration
	penalty     time.Duration
	throttle    time.Duration // what AutoThrottle has found
	pages       int

	flights int
	delayed int  // requests in the due list
	stored  bool // it has a row
	idle    bool // it is in the list of slots that may be forgotten

	suspected bool // Begin has handed out a suspect of it
}

// remembers reports whether a slot without requests has something to remember.
func (s *slot) remembers(now time.Time) bool { return s.nextAllowed.After(now) || s.pages > 0 }

func (s *slot) empty() bool { return s.count+s.flights+s.delayed == 0 }

func (s *slot) state() tegenaria.SlotState {
	state := tegenaria.SlotState{
		Name: s.name, Pending: s.count, Delayed: s.delayed, NextAllowed: s.nextAllowed, Delay: s.delay, Penalty: s.penalty, AutoThrottle: s.throttle, Pages: s.pages,
	}
	if s.count > 0 {
		state.Priority = int(rankOf(s.head.rank))
	}
	return state
}

// workbench holds the fronts of all lists within one budget. Over it, the front that was used longest ago goes.
type workbench struct {
	budget int
	bytes  int
	lists  int // in which requests wait
	fronts ring.List
	left   func(*entry) // called for each entry that leaves a front and goes on waiting
}

// full reports whether a front takes no more. When very many hosts wait, each gets less.
func (w *workbench) full(l *list) bool {
	return len(l.front) > 0 && (len(l.front) >= l.most || l.bytes >= min(l.quota, w.budget/2/max(w.lists, 1)))
}

// touch notes that a front was used.
func (w *workbench) touch(l *list) {
	switch {
	case len(l.front) == 0:
		if l.used != nil {
			w.fronts.Remove(l.used)
			l.used = nil
		}
	case l.used == nil:
		l.used = w.fronts.PushBack(l)
	default:
		w.fronts.MoveToBack(l.used)
	}
}

// trim makes room: fronts go until the budget holds, that of keep not among them.
func (w *workbench) trim(keep *list) {
	for e := w.fronts.Front(); e != nil && w.bytes > w.budget; {
		l := e.Value.(*list)
		e = e.Next()
		if l != keep {
			w.drop(l)
		}
	}
}

// drop forgets a front; it is read again when it is needed.
func (w *workbench) drop(l *list) {
	l.head, l.cursor = l.front[0].order, l.front[0].order
	front := l.front
	l.front = nil
	for _, e := range front {
		w.leave(l, e)
	}
	w.touch(l)
}

// leave notes that an entry that goes on waiting is no longer in a front.
func (w *workbench) leave(l *list, e *entry) {
	w.grow(l, -e.cost())
	e.front = false
	w.left(e)
}

func (w *workbench) grow(l *list, bytes int) {
	l.bytes += bytes
	w.bytes += bytes
}

// add adds a request to those of a list, and to its front if that is where it belongs.
func (w *workbench) add(l *list, e *entry) {
	if l.count == 0 || e.before(l.head) {
		l.head = e.order
	}
	if l.count++; l.count == 1 {
		w.lists++
		l.cursor = last // it is all there is
	}
	if l.cursor.before(e.order) {
		return
	}
	if w.full(l) && l.front[len(l.front)-1].before(e.order) {
		l.cursor = e.order
		return
	}
	i, _ := slices.BinarySearchFunc(l.front, e.order, func(f *entry, o order) int { return f.compare(o) })
	l.front = slices.Insert(l.front, i, e)
	e.front = true
	w.grow(l, e.cost())
	w.cut(l)
	w.touch(l)
	w.trim(l)
}

// cut shortens a front that has too many entries.
func (w *workbench) cut(l *list) {
	for len(l.front) > l.most {
		end := len(l.front) - 1
		e := l.front[end]
		l.cursor, l.front[end], l.front = e.order, nil, l.front[:end]
		w.leave(l, e)
	}
}

// fill puts entries that were read, in order, behind those of a front. They are all that waits from the cursor up to
// the new one.
func (w *workbench) fill(l *list, entries []*entry, cursor order) {
	l.cursor = cursor
	for _, e := range entries {
		e.front = true
		w.grow(l, e.cost())
	}
	l.front = append(l.front, entries...)
	w.cut(l)
	if len(l.front) > 0 {
		l.head = l.front[0].order
	}
	w.touch(l)
	w.trim(l)
}

// take takes the first request of a list, whose front is not empty.
func (w *workbench) take(l *list) *entry {
	e := l.front[0]
	l.front[0] = nil
	if l.front = l.front[1:]; len(l.front) == 0 {
		l.front = nil
	} else {
		l.head = l.front[0].order
	}
	w.grow(l, -e.cost())
	e.front = false
	if l.count--; l.count == 0 {
		w.lists--
	}
	w.touch(l)
	return e
}

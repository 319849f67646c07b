package disk

import (
	"container/list"
	"slices"
	"time"
)

// slot is a queue, and what is known of its host.
type slot struct {
	name        string
	id          uint32
	nextAllowed time.Time
	delay       time.Duration
	penalty     time.Duration
	throttle    time.Duration // what AutoThrottle has found
	pages       int

	waiting int // records in the queue that are not in flight
	flights []*flight
	head    place // of the first that waits, if there is one

	// The front is the part of the queue that is in memory, in order: all that waits before cursor. The rest is
	// in the store alone.
	front  []entry
	cursor place
	bytes  int           // what the front costs
	used   *list.Element // in the workbench's list, if there is a front

	dirty  bool // it is part of the next commit
	stored bool // it has a row
	idle   bool // it is in the list of slots that are to be forgotten

	suspected bool // Begin has handed out a suspect of it
}

// entry is a record in a front.
type entry struct {
	place
	record
}

// entryCost is what an entry takes beside its data.
const entryCost = 128

func (e *entry) cost() int { return len(e.data) + entryCost }

// flight is a record that Next has handed out.
type flight struct {
	slot *slot
	entry
	settling bool
}

// find returns where in the front a place is, or would be.
func (s *slot) find(p place) (int, bool) {
	return slices.BinarySearchFunc(s.front, p, func(e entry, p place) int {
		switch {
		case e.place == p:
			return 0
		case e.before(p):
			return -1
		}
		return 1
	})
}

// bySeq finds a record in the front by its number.
func (s *slot) bySeq(seq uint64) *entry {
	for i := range s.front {
		if s.front[i].seq == seq {
			return &s.front[i]
		}
	}
	return nil
}

// Bounds of one front.
const (
	frontRecords = 64
	frontBytes   = 32 << 10
)

// workbench holds the fronts of all slots within one budget. Over it, the front that was used longest ago goes.
type workbench struct {
	budget int
	bytes  int
	slots  int // that have records waiting
	fronts list.List
}

// quota is how many bytes one front may have: when very many hosts wait, each gets less.
func (w *workbench) quota() int {
	return min(frontBytes, w.budget/2/max(w.slots, 1))
}

// full reports whether a front takes no more.
func (w *workbench) full(s *slot) bool {
	return len(s.front) > 0 && (len(s.front) >= frontRecords || s.bytes >= w.quota())
}

// touch notes that a front was used.
func (w *workbench) touch(s *slot) {
	switch {
	case len(s.front) == 0:
		if s.used != nil {
			w.fronts.Remove(s.used)
			s.used = nil
		}
	case s.used == nil:
		s.used = w.fronts.PushBack(s)
	default:
		w.fronts.MoveToBack(s.used)
	}
}

// trim makes room: fronts go until the budget holds, that of keep not among them.
func (w *workbench) trim(keep *slot) {
	for e := w.fronts.Front(); e != nil && w.bytes > w.budget; {
		s := e.Value.(*slot)
		e = e.Next()
		if s != keep {
			w.drop(s)
		}
	}
}

// drop forgets a front; it is read again when it is needed.
func (w *workbench) drop(s *slot) {
	if len(s.front) == 0 {
		return
	}
	s.cursor = s.front[0].place
	w.bytes -= s.bytes
	s.front, s.bytes = nil, 0
	w.touch(s)
}

// add puts a record that waits from now on into its slot's front, if that is where it belongs. What was read of
// the store goes in at the end.
func (w *workbench) add(s *slot, e entry) {
	if s.waiting == 0 || e.before(s.head) {
		s.head = e.place
	}
	if s.waiting++; s.waiting == 1 {
		w.slots++
		s.cursor = lastPlace // it is all there is
	}
	if s.cursor.before(e.place) {
		return
	}
	if w.full(s) && s.front[len(s.front)-1].before(e.place) {
		s.cursor = e.place
		return
	}
	e.data = slices.Clone(e.data)
	i, _ := s.find(e.place)
	s.front = slices.Insert(s.front, i, e)
	w.grow(s, e.cost())
	for len(s.front) > frontRecords {
		last := len(s.front) - 1
		s.cursor = s.front[last].place
		w.grow(s, -s.front[last].cost())
		s.front[last] = entry{}
		s.front = s.front[:last]
	}
	w.touch(s)
	w.trim(s)
}

func (w *workbench) grow(s *slot, bytes int) {
	s.bytes += bytes
	w.bytes += bytes
}

// take takes the first record of a front.
func (w *workbench) take(s *slot) entry {
	e := s.front[0]
	s.front[0] = entry{}
	s.front = s.front[1:]
	if len(s.front) == 0 {
		s.front = nil
	}
	w.grow(s, -e.cost())
	if s.waiting--; s.waiting == 0 {
		w.slots--
	}
	w.touch(s)
	if len(s.front) > 0 {
		s.head = s.front[0].place
	}
	return e
}

// first is the place from which the store holds records of this slot.
func (s *slot) first() (p place, some bool) {
	p = lastPlace
	if s.waiting > 0 {
		p = s.head
	}
	for _, f := range s.flights {
		if f.before(p) {
			p = f.place
		}
	}
	return p, s.waiting+len(s.flights) > 0
}

// land ends a flight.
func (s *slot) land(f *flight) {
	i := slices.Index(s.flights, f)
	last := len(s.flights) - 1
	s.flights[i] = s.flights[last]
	s.flights[last] = nil
	s.flights = s.flights[:last]
}

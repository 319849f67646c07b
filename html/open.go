package html

import "slices"

// open is an entry of the stack of open elements (section 13.2.4.2). The entries are linked, so that
// one can be taken out of the middle, and each knows the nearest entries of the kinds that the rules
// search for: no question about the stack has to go through it, however deep it is.
type open struct {
	node  uint32
	name  uint32 // name of the tag: atom<<1, plus 1 in SVG and MathML
	props props

	below, above    uint32 // neighbours; above is towards the current node
	same, sameAbove uint32 // the same among entries with this name

	// The nearest entries at or below this one that are special, special and stop the search for li,
	// end a scope, decide the insertion mode, are of HTML.
	special, stop, scope, mode, html uint32

	format uint32 // entry in the list of active formatting elements, 0 for none
	order  uint64 // grows from below to above
}

// stack is the stack of open elements. Entry 0 stands for nothing.
type stack struct {
	all  []open
	top  uint32 // the current node
	root uint32 // the lowest entry: html
	free uint32 // unused entries, linked by below

	// The topmost entry with each name, by open.name.
	last     [2 * elementAtoms]uint32
	lastMore []uint32 // of names that are not elements of HTML, SVG or MathML

}

// orderGap is the distance in order between neighbours, room for entries that come between them.
const orderGap = 1 << 24

func (s *stack) lastOf(name uint32) *uint32 {
	if name < 2*elementAtoms {
		return &s.last[name]
	}
	return s.lastOfOther(int(name - 2*elementAtoms))
}

// lastOfOther is lastOf for a name that is not an element's. It is a func of its own for lastOf to be inlined.
func (s *stack) lastOfOther(name int) *uint32 {
	if name >= len(s.lastMore) {
		n := name + 64 - len(s.lastMore)
		s.lastMore = slices.Grow(s.lastMore, n)
		s.lastMore = append(s.lastMore, make([]uint32, n)...)
	}
	return &s.lastMore[name]
}

// cur returns the current node.
func (s *stack) cur() *open { return &s.all[s.top] }

// is reports whether the current node is the element of HTML with this name.
func (s *stack) is(a Atom) bool { return s.all[s.top].name == uint32(a)<<1 }

// has reports whether an element of HTML is open.
func (s *stack) has(a Atom) bool { return s.last[a<<1] != 0 }

func (s *stack) orderOf(a Atom) uint64 { return s.all[s.last[a<<1]].order }

// inScope reports whether the stack has an element of HTML in scope.
func (s *stack) inScope(a Atom) bool {
	i := s.last[a<<1]
	return i != 0 && s.all[i].order >= s.all[s.all[s.top].scope].order
}

// inButtonScope is the same for button scope.
func (s *stack) inButtonScope(a Atom) bool {
	return s.inScope(a) && s.orderOf(a) >= s.orderOf(AtomButton)
}

// inListScope is the same for list item scope.
func (s *stack) inListScope(a Atom) bool {
	return s.inScope(a) && s.orderOf(a) >= max(s.orderOf(AtomOl), s.orderOf(AtomUl))
}

// inTableScope is the same for table scope.
func (s *stack) inTableScope(a Atom) bool {
	i := s.last[a<<1]
	return i != 0 && s.all[i].order >= max(s.orderOf(AtomHtml), s.orderOf(AtomTable), s.orderOf(AtomTemplate))
}

// take returns an unused entry.
func (s *stack) take() uint32 {
	if i := s.free; i != 0 {
		s.free = s.all[i].below
		return i
	}
	return s.add()
}

// add returns a new entry. It is a func of its own for take to be inlined.
//
//go:noinline
func (s *stack) add() uint32 {
	s.all = append(s.all, open{})
	return uint32(len(s.all) - 1)
}

// push makes a node the current one.
func (s *stack) push(node, name uint32, p props) uint32 {
	i := s.take()
	top := &s.all[s.top]
	e := &s.all[i]
	// Written so that the compiler makes conditional moves of it: branches would be guessed wrong.
	special, stop, scope, mode, html := top.special, top.stop, top.scope, top.mode, top.html
	if p&propSpecial != 0 {
		special = i
	}
	if p&propStop != 0 {
		stop = i
	}
	if p&propScope != 0 {
		scope = i
	}
	if p&propMode != 0 {
		mode = i
	}
	if p&propHTML != 0 {
		html = i
	}
	e.node, e.name, e.props = node, name, p
	e.below, e.above, e.sameAbove = s.top, 0, 0
	e.special, e.stop, e.scope, e.mode, e.html = special, stop, scope, mode, html
	e.format, e.order = 0, top.order+orderGap
	top.above = i
	last := s.lastOf(name)
	e.same = *last
	s.all[*last].sameAbove = i
	*last = i
	s.top = i
	return i
}

// unlink takes an entry out of the stack, wherever it is. The caller has seen to its format.
func (s *stack) unlink(i uint32) (steps int) {
	e := &s.all[i]
	s.all[e.below].above = e.above
	if e.above != 0 {
		s.all[e.above].below = e.below
	} else {
		s.top = e.below
	}
	if e.sameAbove != 0 {
		s.all[e.sameAbove].same = e.same
	} else {
		*s.lastOf(e.name) = e.same
	}
	s.all[e.same].sameAbove = e.sameAbove
	below := s.all[e.below]
	for j := e.above; j != 0; j = s.all[j].above {
		steps++
		a := &s.all[j]
		changed := false
		for _, f := range [...]struct {
			to   *uint32
			then uint32
		}{{&a.special, below.special}, {&a.stop, below.stop}, {&a.scope, below.scope}, {&a.mode, below.mode}, {&a.html, below.html}} {
			if *f.to == i {
				*f.to = f.then
				changed = true
			}
		}
		if !changed {
			break
		}
	}
	e.below, s.free = s.free, i
	return steps
}

// replace puts another element of the same name in the place of an entry's.
func (s *stack) replace(i, node uint32) { s.all[i].node = node }

// moveAbove moves the entry i, a formatting element without entries of its name between, to the place
// above the entry at.
func (s *stack) moveAbove(i, at uint32) (steps int) {
	e := &s.all[i]
	if s.all[at].above == i {
		return 0
	}
	// Entries that have it as their nearest of HTML get the one below instead.
	below := s.all[e.below]
	for j := e.above; j != 0 && s.all[j].html == i; j = s.all[j].above {
		s.all[j].html = below.html
		steps++
	}
	s.all[e.below].above = e.above
	if e.above != 0 {
		s.all[e.above].below = e.below
	} else {
		s.top = e.below
	}
	next := s.all[at].above
	e.below, e.above = at, next
	s.all[at].above = i
	from := &s.all[at]
	e.special, e.stop, e.scope, e.mode, e.html = from.special, from.stop, from.scope, from.mode, i
	if next == 0 {
		s.top = i
		e.order = from.order + orderGap
		return steps
	}
	s.all[next].below = i
	for j := next; j != 0 && s.all[j].props&propHTML == 0; j = s.all[j].above {
		s.all[j].html = i
		steps++
	}
	if e.order = from.order + (s.all[next].order-from.order)/2; e.order == from.order {
		// The gap is used up: number all above anew.
		for j, below := i, at; j != 0; j, below = s.all[j].above, j {
			s.all[j].order = s.all[below].order + orderGap
			steps++
		}
	}
	return steps
}

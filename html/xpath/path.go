package xpath

import (
	"math"
	"slices"
)

// path is a location path, or a filter expression with the path behind it: XPath 1.0, sections 2 and
// 3.3.
type path struct {
	absolute bool
	start    expr // of a filter expression, else nil
	filters  []predicate
	steps    []*step
}

func (p *path) kind() Kind { return NodeSet }

// step is an axis, a node test and predicates.
type step struct {
	axis  axis
	test  nodeTest
	preds []predicate
}

// predicate is an expression in brackets.
type predicate struct {
	e      expr
	counts bool    // its value depends on the position
	only   float64 // the one position that it selects, if it is a number as written
}

// counts reports whether a predicate depends on positions.
func (s *step) counts() bool {
	return slices.ContainsFunc(s.preds, func(p predicate) bool { return p.counts })
}

func (s *step) isAnyDescendant() bool {
	_, any := s.test.(anyNode)
	return s.axis == descendantOrSelf && any && len(s.preds) == 0
}

func (p *path) eval(ev *evaluator, f focus) value {
	return value{kind: NodeSet, set: p.nodes(ev, f, math.MaxInt)}
}

// nodes returns the first nodes of the path, limit of them if it is known that more are not needed.
func (p *path) nodes(ev *evaluator, f focus, limit int) []ref {
	var set []ref
	switch {
	case p.start != nil:
		set = p.start.eval(ev, f).set
		for i := range p.filters {
			set = ev.filter(set, 0, &p.filters[i])
		}
	case p.absolute:
		set = append(ev.take(), ev.top)
	default:
		set = append(ev.take(), f.ref)
	}
	for i, s := range p.steps {
		n := math.MaxInt
		if i == len(p.steps)-1 && !s.axis.reverse() {
			n = limit
		}
		found := ev.step(s, set, n)
		ev.put(set)
		if set = found; len(set) == 0 {
			break
		}
	}
	return set
}

// step takes a step from each node of a set.
func (ev *evaluator) step(s *step, from []ref, limit int) []ref {
	w := walk{ev: ev, step: s, out: ev.take(), limit: limit}
	w.stream = !s.counts()
	if w.stream && len(from) > 1 {
		from = s.axis.enough(ev, from)
		w.seen = make(map[uint32]bool)
	}
	for _, r := range from {
		w.start = len(w.out)
		w.from(r)
		if !w.stream {
			for i := range s.preds {
				w.out = ev.filter(w.out, w.start, &s.preds[i])
			}
		}
		if len(w.out) >= limit || ev.exhausted() {
			break
		}
	}
	if s.axis.reverse() && len(from) == 1 {
		slices.Reverse(w.out)
		return w.out
	}
	return inOrder(w.out)
}

// inOrder brings nodes in document order and drops repetitions.
func inOrder(set []ref) []ref {
	if !slices.IsSortedFunc(set, ref.compare) {
		slices.SortFunc(set, ref.compare)
	}
	return slices.Compact(set)
}

// filter keeps the nodes of set[start:], which are in the order of their axis, that pass a predicate.
func (ev *evaluator) filter(set []ref, start int, p *predicate) []ref {
	kept, size := start, len(set)-start
	for i, r := range set[start:] {
		if !ev.spend(1) {
			break
		}
		if ev.passes(p, focus{r, i + 1, size}) {
			set[kept] = r
			kept++
		}
	}
	return set[:kept]
}

// passes implements section 2.4: a number selects a position, other values are true or false.
func (ev *evaluator) passes(p *predicate, f focus) bool {
	if p.e.kind() == Number {
		return ev.toNumber(p.e.eval(ev, f)) == float64(f.pos)
	}
	return ev.truth(p.e, f)
}

// walk goes along the axis of a step and collects.
type walk struct {
	ev     *evaluator
	step   *step
	out    []ref
	start  int  // where the nodes start that were reached from the present node
	stream bool // the predicates can be asked at once, because none depends on the position
	limit  int
	seen   map[uint32]bool // the ancestors that were visited, if there are several nodes to start at
}

// add collects a node.
func (w *walk) add(r ref) {
	if len(w.out) == cap(w.out) {
		w.out = w.ev.room(w.out, 1)
	}
	w.out = append(w.out, r)
}

// visit collects a node if it is wanted. It reports whether more nodes are.
func (w *walk) visit(r ref) bool {
	if !w.ev.spend(1) {
		return false
	}
	if !w.step.test.matches(w.ev, r) {
		return true
	}
	if w.stream {
		for i := range w.step.preds {
			if !w.ev.truth(w.step.preds[i].e, focus{r, 1, 1}) {
				return true
			}
		}
		w.add(r)
		return len(w.out) < w.limit
	}
	w.add(r)
	// What comes after [3] need not be looked for.
	if only := w.step.preds[0].only; only > 0 {
		return float64(len(w.out)-w.start) < only
	}
	return true
}

package css

import (
	"math"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// sweep runs a selector on a document that is not worth an index yet: see html.Sweep. It is matcher
// without memory, for the tests that need none; a query that takes long for that reason is given up.
// Elements are named by their Node.ID, 0 is none. A sweep lives on the stack: its tests are found by
// their types, because a call through the interface would move it to the heap.
type sweep struct {
	html.Sweep
	sel   *Selector
	root  uint32 // the element that is searched, 0 for the whole document
	names [maxSwept]html.Atom
	attrs [maxSwept]html.Atom
}

// maxSwept bounds the names of elements, and those of attributes, in selectors for sweeps.
const maxSwept = 16

// canSweep reports whether sweeps can answer the selector.
func (s *Selector) canSweep() bool {
	// What is in a page as it is written is compared with words that are as they are written, too.
	coded := func(word string) bool { return word == "" || strings.ContainsAny(word, "&\x00"+space) }
	return len(s.symbols.names) <= maxSwept && len(s.symbols.attrs) <= maxSwept &&
		!slices.ContainsFunc(s.symbols.words, coded) &&
		!slices.ContainsFunc(s.branches, func(b branch) bool { return !b.canSweep() })
}

func (c chain) canSweep() bool {
	return !slices.ContainsFunc(c.links, func(l link) bool {
		return slices.ContainsFunc(l.tests, func(t test) bool { return !canSweep(t) })
	})
}

// canSweep reports whether sweep.passes knows a test.
func canSweep(t test) bool {
	list := func(chains []chain) bool {
		return !slices.ContainsFunc(chains, func(c chain) bool { return !c.canSweep() })
	}
	switch t := t.(type) {
	case *attrTest, structureTest, nodeTest, never:
		return true
	case isTest:
		return list(t.list)
	case nthTest:
		return list(t.of)
	}
	return false
}

// Steps, as html.Sweep counts them, besides those for attributes and moves.
const (
	compoundSteps = 4 // to look at an element
	testSteps     = 8 // to put it to a test
)

// passes reports whether an element passes a test.
func (w *sweep) passes(t test, id uint32) bool {
	w.Step(testSteps)
	switch t := t.(type) {
	case *attrTest:
		return t.holds(w.attr(&t.name, id), w.Node(id).Namespace() == html.HTML)
	case isTest:
		return w.anyOf(t.list, id) != t.not
	case nthTest:
		return w.nth(&t, id)
	case structureTest:
		return w.structure(t, id)
	case nodeTest:
		return t(w.Node(id))
	}
	return false // never
}

// begin binds the selector to a document, for so many steps.
func (w *sweep) begin(s *Selector, doc *html.Document, limit int) {
	w.Sweep, w.sel = doc.Sweep(limit), s
	bind(w.names[:], s.symbols.names, s.symbols.nameAtoms, doc)
	bind(w.attrs[:], s.symbols.attrs, s.symbols.attrAtoms, doc)
}

func bind(to []html.Atom, names []string, atoms []html.Atom, doc *html.Document) {
	for i, a := range atoms {
		if a == 0 {
			a = doc.LookupAtom(names[i])
		}
		to[i] = a
	}
}

// sweepLimit returns how many steps a sweep of a document may take, 0 if the index has to answer.
func (s *Selector) sweepLimit(doc *html.Document) int {
	if !s.swept {
		return 0
	}
	return doc.SweepLimit()
}

// sweep appends what the selector selects in root by a sweep of so many steps; limit is one of results,
// as in matcher.appendAll. It is not ok if the sweep took more steps: then the index has to answer.
func (s *Selector) sweep(dst []html.Ref, root html.Node, steps, limit int) (found []html.Ref, ok bool) {
	var w sweep
	w.begin(s, root.Document(), steps)
	found = w.appendAll(dst, root, limit)
	w.End()
	return found, !w.Over()
}

// sweepMatch reports whether the selector selects an element; ok is as that of sweep.
func (s *Selector) sweepMatch(n html.Node, steps int) (matches, ok bool) {
	var w sweep
	w.begin(s, n.Document(), steps)
	w.root = n.ID()
	for i := range s.branches {
		if b := &s.branches[i]; b.want == wantElement && w.chainFrom(&b.chain, 0, n.ID()) {
			matches = true
			break
		}
	}
	w.End()
	return matches, !w.Over()
}

// appendAll appends the results in root. It may stop after the first ones of each branch.
func (w *sweep) appendAll(dst []html.Ref, root html.Node, limit int) []html.Ref {
	from, end := root.ID(), root.ID()
	switch root.Kind() {
	case html.ElementNode:
		w.root, end = root.ID(), root.EndID()
	case html.DocumentNode:
		end = uint32(root.Document().Len()) + 1
	}
	start := len(dst)
	var space [128]uint32
	for i := range w.sel.branches {
		b := &w.sel.branches[i]
		switch b.want {
		case wantElement:
			found := w.find(space[:0], &b.chain, from, end, limit)
			dst = slices.Grow(dst, len(found))
			for _, id := range found {
				dst = append(dst, root.Document().Ref(id, 0))
			}
		case wantText:
			if b.bare && root.Kind() == html.TextNode {
				dst = append(dst, root.Ref())
				continue
			}
			found, first := w.find(space[:0], &b.chain, from, end, math.MaxInt32), len(dst)
			dst = slices.Grow(dst, len(found))
			for _, id := range found {
				dst = appendText(dst, w.Node(id))
			}
			sortRefs(dst[first:])
		case wantAttr:
			found := w.find(space[:0], &b.chain, from, end, math.MaxInt32)
			dst = slices.Grow(dst, len(found))
			for _, id := range found {
				if a := w.attr(&b.attr, id); !a.IsZero() {
					dst = append(dst, root.Document().Ref(id, a.ID()))
				}
			}
		}
	}
	return w.sel.union(dst, start)
}

// find appends the elements from a number on, up to and without end, that a chain matches, limit at
// most.
func (w *sweep) find(found []uint32, c *chain, from, end uint32, limit int) []uint32 {
	subject := &c.links[0]
	single := exact(&subject.compound)
	above := trail{sweep: w, chain: c}
	for id := w.candidate(&subject.compound, from, end); id < end && !w.Over(); id = w.candidate(&subject.compound, id+1, end) {
		if (single || w.is(&subject.compound, id)) && above.leads(id) {
			if found = append(found, id); len(found) >= limit {
				break
			}
		}
	}
	return found
}

// trail answers what stands at the left of a chain's subject, for elements in document order. It
// remembers the way up from the last one, which most of the next one's is a part of: what is an
// ancestor of an element and comes before another one that comes before that element is an ancestor of
// both.
type trail struct {
	*sweep
	chain *chain
	last  uint32 // the element asked about before, for > its parent
	hit   uint32 // its nearest ancestor, for > its parent, that the rest of the chain matches, 0 if there is none
}

// leads reports whether the chain without its subject matches as seen from an element.
func (t *trail) leads(id uint32) bool {
	switch t.chain.links[0].by {
	case none:
		return true
	case descendant:
		t.last, t.hit = id, t.ancestor(id)
		return t.hit != 0
	case child:
		up := t.Parent(id)
		if up != t.last {
			t.last, t.hit = up, 0
			if up != 0 && t.chainFrom(t.chain, 1, up) {
				t.hit = up
			}
		}
		return t.hit != 0
	}
	return t.leftFrom(t.chain, 0, id)
}

// ancestor returns the nearest ancestor that the rest of the chain matches.
func (t *trail) ancestor(id uint32) uint32 {
	for up := t.Parent(id); up != 0 && !t.Over(); up = t.Parent(up) {
		if up < t.last && (t.hit == 0 || t.hit <= up) {
			return t.hit
		}
		if t.chainFrom(t.chain, 1, up) {
			return up
		}
	}
	return 0
}

// candidate returns the first element from a number on that one condition of a compound allows, end if
// there is none before it.
func (w *sweep) candidate(c *compound, from, end uint32) uint32 {
	switch {
	case len(c.ids) > 0:
		return w.WithID(from, end, w.sel.symbols.words[c.ids[0]])
	case c.typ != nil && !c.typ.any && c.typ.name == c.typ.lower:
		return w.Named(from, end, w.names[c.typ.name])
	case len(c.classes) > 0:
		return w.WithClass(from, end, w.sel.symbols.words[c.classes[0]])
	case len(c.tests) > 0:
		if t, ok := c.tests[0].(*attrTest); ok && t.op != unequal && t.name.simple() && t.name.name == t.name.lower {
			return w.With(from, end, w.attrs[t.name.name])
		}
	}
	return w.Element(from, end)
}

// anyOf reports whether one of the chains matches an element.
func (w *sweep) anyOf(chains []chain, id uint32) bool {
	for i := range chains {
		if w.chainFrom(&chains[i], 0, id) {
			return true
		}
	}
	return false
}

// chainFrom reports whether the chain without its first links matches the element.
func (w *sweep) chainFrom(c *chain, first int, id uint32) bool {
	return w.is(&c.links[first].compound, id) && w.leftFrom(c, first, id)
}

// leftFrom reports whether what stands at the left of link i matches as seen from an element that
// the link itself matches.
func (w *sweep) leftFrom(c *chain, i int, id uint32) bool {
	for ; ; i++ {
		by := c.links[i].by
		if by == none {
			return true
		}
		id = w.step(by, id)
		if by == descendant || by == subsequent {
			for ; id != 0 && !w.Over(); id = w.step(by, id) {
				if w.chainFrom(c, i+1, id) {
					return true
				}
			}
			return false
		}
		if id == 0 || !w.is(&c.links[i+1].compound, id) {
			return false
		}
	}
}

// step returns the next element at the left of a combinator.
func (w *sweep) step(by combinator, id uint32) uint32 {
	if by == descendant || by == child {
		return w.Parent(id)
	}
	return w.Prev(id)
}

// is reports whether an element matches a compound.
func (w *sweep) is(c *compound, id uint32) bool {
	w.Step(compoundSteps)
	if c.typ != nil && !w.typeIs(c.typ, id) {
		return false
	}
	for _, slot := range c.ids {
		if !w.HasID(id, w.sel.symbols.words[slot]) {
			return false
		}
	}
	for _, slot := range c.classes {
		if !w.HasClass(id, w.sel.symbols.words[slot]) {
			return false
		}
	}
	for _, t := range c.tests {
		if !w.passes(t, id) {
			return false
		}
	}
	return true
}

func (w *sweep) typeIs(t *typeTest, id uint32) bool {
	n := w.Node(id)
	if !t.any {
		name := w.names[t.name]
		if n.Namespace() == html.HTML {
			name = w.names[t.lower]
		}
		if n.Atom() != name {
			return false
		}
	}
	return t.namespace.any || t.namespace.has(n.Name, n.NamespaceURI)
}

// attr is matcher.attr.
func (w *sweep) attr(a *attrName, id uint32) html.Attr {
	if a.simple() {
		number := w.attrs[a.name]
		if w.Node(id).Namespace() == html.HTML {
			number = w.attrs[a.lower]
		}
		return w.Attr(id, number)
	}
	at, steps := a.search(w.Node(id))
	w.Step(steps)
	return at
}

// structure is structureTest.match.
func (w *sweep) structure(t structureTest, id uint32) bool {
	switch t {
	case isRoot:
		return w.Parent(id) == 0
	case isScope:
		return id == w.root || w.root == 0 && w.Parent(id) == 0
	case isEmpty:
		empty, steps := isBlank(w.Node(id))
		w.Step(steps)
		return empty
	}
	return w.sel.isTarget(w.Node(id))
}

// nth is nthTest.match. It counts anew for each element, no further than it has to.
func (w *sweep) nth(t *nthTest, id uint32) bool {
	n := w.Node(id)
	counts := func(at uint32) bool {
		switch {
		case t.ofType:
			return w.Node(at).Atom() == n.Atom() && w.Node(at).Namespace() == n.Namespace()
		case t.of != nil:
			return w.anyOf(t.of, at)
		}
		return true
	}
	if !counts(id) {
		return false
	}
	number := 0
	for at := id; at != 0 && !w.Over() && (t.a > 0 || number <= t.b); {
		if counts(at) {
			number++
		}
		if t.last {
			at = w.Next(at)
		} else {
			at = w.Prev(at)
		}
	}
	return t.selects(number)
}

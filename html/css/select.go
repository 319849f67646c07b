package css

import (
	"iter"
	"math"
	"math/bits"
	"slices"

	"github.com/tegenaria/tegenaria/html"
)

// Match reports whether an element is one that the selector selects; :scope is the element itself. What a pseudo-element selects
// is not an element, so selectors with ::text or ::attr match nothing.
func (s *Selector) Match(n html.Node) bool {
	if !n.IsElement() {
		return false
	}
	if steps := s.sweepLimit(n.Document()); steps > 0 {
		if matches, ok := s.sweepMatch(n, steps); ok {
			return matches
		}
	}
	m := newMatcher(s, n.Document())
	defer m.release()
	m.search(n)
	for i := range s.branches {
		if b := &s.branches[i]; b.want == wantElement && m.chainFrom(&b.chain, 0, m.root) {
			return true
		}
	}
	return false
}

// Select returns what the selector selects in root, which is root itself, if it is an element, and
// all that is inside: elements; with ::text, text nodes; with ::attr(name), attributes. Only the
// subject of a selector has to be there; the compounds at the left of a combinator may match anything
// in the document, as in Element.querySelectorAll of the DOM standard. Results are in document order,
// each once.
func (s *Selector) Select(root html.Node) []html.Ref { return s.Append(nil, root) }

// Append appends what the selector selects in one root after the other to dst. That is faster than
// a call for each, if they are of the same document.
func (s *Selector) Append(dst []html.Ref, roots ...html.Node) []html.Ref {
	var m *matcher
	for _, root := range roots {
		if root.IsZero() {
			continue
		}
		if m == nil || m.doc != root.Document() {
			if steps := s.sweepLimit(root.Document()); steps > 0 {
				if found, ok := s.sweep(dst, root, steps, math.MaxInt32); ok {
					dst = found
					continue
				}
			}
			if m != nil {
				m.release()
			}
			m = newMatcher(s, root.Document())
		}
		dst = m.appendAll(dst, root, math.MaxInt32)
	}
	if m != nil {
		m.release()
	}
	return dst
}

// First returns the first result in root, if there is one.
func (s *Selector) First(root html.Node) (r html.Ref, ok bool) {
	if root.IsZero() {
		return r, false
	}
	var space [4]html.Ref
	if steps := s.sweepLimit(root.Document()); steps > 0 {
		if found, swept := s.sweep(space[:0], root, steps, 1); swept {
			return firstOf(found)
		}
	}
	m := newMatcher(s, root.Document())
	defer m.release()
	return firstOf(m.appendAll(space[:0], root, 1))
}

func firstOf(found []html.Ref) (r html.Ref, ok bool) {
	if len(found) == 0 {
		return r, false
	}
	return found[0], true
}

// appendAll appends the results in root. It may stop after the first ones of each branch.
func (m *matcher) appendAll(dst []html.Ref, root html.Node, limit int) []html.Ref {
	m.search(root)
	if len(m.sel.branches) > 1 && m.sel.elementsOnly() {
		return m.appendUnion(dst, limit)
	}
	start := len(dst)
	for i := range m.sel.branches {
		b := &m.sel.branches[i]
		switch b.want {
		case wantElement:
			found := m.find(&b.chain, limit)
			dst = slices.Grow(dst, len(found))
			for _, k := range found {
				dst = append(dst, m.doc.Ref(m.el[k].ID, 0))
			}
		case wantText:
			if b.bare && root.Kind() == html.TextNode {
				dst = append(dst, root.Ref())
				continue
			}
			dst = m.appendTexts(dst, m.find(&b.chain, math.MaxInt32))
		case wantAttr:
			found := m.find(&b.chain, math.MaxInt32)
			dst = slices.Grow(dst, len(found))
			for _, k := range found {
				if a := m.attr(&b.attr, k); !a.IsZero() {
					dst = append(dst, m.doc.Ref(m.el[k].ID, a.ID()))
				}
			}
		}
	}
	return m.sel.union(dst, start)
}

// union brings what several branches found, from start on, into document order, each result once.
func (s *Selector) union(dst []html.Ref, start int) []html.Ref {
	if len(s.branches) == 1 {
		return dst
	}
	sortRefs(dst[start:])
	return dst[:start+len(slices.Compact(dst[start:]))]
}

// sortRefs brings results into document order, in which they nearly always are.
func sortRefs(found []html.Ref) {
	if !slices.IsSortedFunc(found, html.Ref.Compare) {
		slices.SortFunc(found, html.Ref.Compare)
	}
}

// elementsOnly reports whether no branch selects anything but elements.
func (s *Selector) elementsOnly() bool {
	return !slices.ContainsFunc(s.branches, func(b branch) bool { return b.want != wantElement })
}

// appendUnion appends the elements that any branch selects.
func (m *matcher) appendUnion(dst []html.Ref, limit int) []html.Ref {
	marks := make([]uint64, (m.hi-m.lo+63)/64)
	count := 0
	for i := range m.sel.branches {
		for _, k := range m.find(&m.sel.branches[i].chain, limit) {
			mark, bit := &marks[(k-m.lo)/64], uint64(1)<<((k-m.lo)%64)
			if *mark&bit == 0 {
				*mark |= bit
				count++
			}
		}
	}
	dst = slices.Grow(dst, count)
	for i, word := range marks {
		for ; word != 0; word &= word - 1 {
			dst = append(dst, m.doc.Ref(m.el[m.lo+int32(64*i+bits.TrailingZeros64(word))].ID, 0))
		}
	}
	return dst
}

// appendTexts appends the text nodes that are children of the elements.
func (m *matcher) appendTexts(dst []html.Ref, elements []int32) []html.Ref {
	start, sorted, end := len(dst), true, int32(0)
	dst = slices.Grow(dst, len(elements))
	for _, k := range elements {
		sorted = sorted && k >= end
		end = max(end, m.el[k].End)
		dst = appendText(dst, m.index.Node(k))
	}
	if !sorted {
		sortRefs(dst[start:])
	}
	return dst
}

// appendText appends the text nodes that are children of an element.
func appendText(dst []html.Ref, n html.Node) []html.Ref {
	for c := n.FirstChild(); !c.IsZero(); c = c.NextSibling() {
		if c.Kind() == html.TextNode {
			dst = append(dst, c.Ref())
		}
	}
	return dst
}

// Set is several selectors that are run together. It may be used by several goroutines at once.
type Set struct {
	selectors []*Selector
}

// NewSet makes a set of selectors.
func NewSet(selectors ...*Selector) *Set { return &Set{selectors: slices.Clone(selectors)} }

// All returns an iterator over what the selectors select in root, all results in document order,
// each with the number of the selector in the set. A result of several selectors comes once for
// each, in their order.
func (s *Set) All(root html.Node) iter.Seq2[int, html.Ref] {
	return func(yield func(int, html.Ref) bool) {
		type hit struct {
			html.Ref
			selector int
		}
		var hits []hit
		var found []html.Ref
		for i, sel := range s.selectors {
			found = sel.Append(found[:0], root)
			hits = slices.Grow(hits, len(found))
			for _, r := range found {
				hits = append(hits, hit{r, i})
			}
		}
		slices.SortStableFunc(hits, func(a, b hit) int { return a.Compare(b.Ref) })
		for _, h := range hits {
			if !yield(h.selector, h.Ref) {
				return
			}
		}
	}
}

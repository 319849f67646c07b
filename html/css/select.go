package css

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/tegenaria/tegenaria/html"
)

// Result is what a selector selects: an element; with ::text, a text node; with ::attr(name), an
// attribute of an element. It is a small value that can be compared.
type Result struct {
	doc        *html.Document
	node, attr uint32
}

// Node returns the element or text node, for an attribute its element.
func (r Result) Node() html.Node { return r.doc.Node(r.node) }

// Attr returns the attribute, the zero Attr if the result is an element or text node.
func (r Result) Attr() html.Attr { return r.doc.Attr(r.attr) }

// compare orders results as the document does: an element, its attributes, what is inside it.
func (r Result) compare(other Result) int {
	if c := cmp.Compare(r.node, other.node); c != 0 {
		return c
	}
	return cmp.Compare(r.attr, other.attr)
}

// Match reports whether an element is one that the selector selects. What a pseudo-element selects
// is not an element, so selectors with ::text or ::attr match nothing.
func (s *Selector) Match(n html.Node) bool {
	if !n.IsElement() {
		return false
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

// Select returns what the selector selects in root: root itself, if it is an element, and all that
// is inside. Only the subject of a selector has to be there; the compounds at the left of a
// combinator may match anything in the document, as in Element.querySelectorAll of the DOM standard.
// Results are in document order, each once.
func (s *Selector) Select(root html.Node) []Result { return s.Append(nil, root) }

// Append appends what the selector selects in one root after the other to dst. That is faster than
// a call for each, if they are of the same document.
func (s *Selector) Append(dst []Result, roots ...html.Node) []Result {
	var m *matcher
	for _, root := range roots {
		if root.IsZero() {
			continue
		}
		if m == nil || m.doc != root.Document() {
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
func (s *Selector) First(root html.Node) (r Result, ok bool) {
	if root.IsZero() {
		return r, false
	}
	m := newMatcher(s, root.Document())
	defer m.release()
	var space [4]Result
	if found := m.appendAll(space[:0], root, 1); len(found) > 0 {
		return found[0], true
	}
	return r, false
}

// appendAll appends the results in root. It may stop after the first ones of each branch.
func (m *matcher) appendAll(dst []Result, root html.Node, limit int) []Result {
	m.search(root)
	start := len(dst)
	for i := range m.sel.branches {
		b := &m.sel.branches[i]
		switch b.want {
		case wantElement:
			found := m.find(&b.chain, limit)
			dst = slices.Grow(dst, len(found))
			for _, k := range found {
				dst = append(dst, Result{doc: m.doc, node: m.el[k].ID})
			}
		case wantText:
			if b.bare && root.Kind() == html.TextNode {
				dst = append(dst, Result{doc: m.doc, node: root.ID()})
				continue
			}
			dst = m.appendTexts(dst, m.find(&b.chain, math.MaxInt32))
		case wantAttr:
			found := m.find(&b.chain, math.MaxInt32)
			dst = slices.Grow(dst, len(found))
			for _, k := range found {
				if a := m.attr(&b.attr, k); !a.IsZero() {
					dst = append(dst, Result{m.doc, m.el[k].ID, a.ID()})
				}
			}
		}
	}
	if len(m.sel.branches) > 1 {
		found := dst[start:]
		if !slices.IsSortedFunc(found, Result.compare) {
			slices.SortFunc(found, Result.compare)
		}
		dst = dst[:start+len(slices.Compact(found))]
	}
	return dst
}

// appendTexts appends the text nodes that are children of the elements.
func (m *matcher) appendTexts(dst []Result, elements []int32) []Result {
	start, sorted, end := len(dst), true, int32(0)
	dst = slices.Grow(dst, len(elements))
	for _, k := range elements {
		sorted = sorted && k >= end
		end = max(end, m.el[k].End)
		for n := m.index.Node(k).FirstChild(); !n.IsZero(); n = n.NextSibling() {
			if n.Kind() == html.TextNode {
				dst = append(dst, Result{doc: m.doc, node: n.ID()})
			}
		}
	}
	if !sorted {
		slices.SortFunc(dst[start:], Result.compare)
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
func (s *Set) All(root html.Node) iter.Seq2[int, Result] {
	return func(yield func(int, Result) bool) {
		type hit struct {
			Result
			selector int
		}
		var hits []hit
		var found []Result
		for i, sel := range s.selectors {
			found = sel.Append(found[:0], root)
			hits = slices.Grow(hits, len(found))
			for _, r := range found {
				hits = append(hits, hit{r, i})
			}
		}
		slices.SortStableFunc(hits, func(a, b hit) int { return a.compare(b.Result) })
		for _, h := range hits {
			if !yield(h.selector, h.Result) {
				return
			}
		}
	}
}

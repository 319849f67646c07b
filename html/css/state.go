package css

import (
	"bytes"
	"slices"

	"github.com/tegenaria/tegenaria/html"
)

// structureTest is a pseudo-class that asks where an element stands in the page or in the query.
type structureTest uint8

// The sections are those of Selectors Level 4.
const (
	isRoot   structureTest = iota
	isScope                // root of the query, or of the document that is queried, section 8.5
	isEmpty                // without children except comments and white space, section 14.2
	isTarget               // its id is the fragment of the page's URL, section 8.4
)

func (t structureTest) match(m *matcher, k int32) bool {
	switch t {
	case isRoot:
		return m.el[k].Parent == 0
	case isScope:
		return k == m.root || m.root == 0 && m.el[k].Parent == 0
	case isEmpty:
		empty, steps := isBlank(m.index.Node(k))
		m.work += steps
		return empty
	}
	return m.sel.isTarget(m.index.Node(k))
}

// isBlank reports whether a node has no children but comments and white space, and in how many steps
// it found out.
func isBlank(n html.Node) (blank bool, steps int) {
	for c := n.FirstChild(); !c.IsZero(); c = c.NextSibling() {
		steps++
		if c.IsElement() || c.Kind() == html.TextNode && len(bytes.Trim(c.Data(), space)) > 0 {
			return false, steps
		}
	}
	return true, steps
}

func (s *Selector) isTarget(n html.Node) bool {
	return s.fragment != "" && n.FindAttr(html.AtomId).Value() == s.fragment
}

// nodeTest is a pseudo-class without arguments that looks at one element and nothing around it.
type nodeTest func(n html.Node) bool

func (f nodeTest) match(m *matcher, k int32) bool { return f(m.index.Node(k)) }

// htmlIs reports whether a node is an element of HTML with one of the names.
func htmlIs(n html.Node, names ...html.Atom) bool { return slices.ContainsFunc(names, n.Is) }

func has(n html.Node, attr html.Atom) bool { return !n.FindAttr(attr).IsZero() }

// isLink is true of links, which are a, area and, as cascadia and older standards have it, link.
func isLink(n html.Node) bool {
	return htmlIs(n, html.AtomA, html.AtomArea, html.AtomLink) && has(n, html.AtomHref)
}

// isInput is jQuery's and cascadia's name for all controls that take input.
func isInput(n html.Node) bool {
	return htmlIs(n, html.AtomInput, html.AtomSelect, html.AtomTextarea, html.AtomButton)
}

// isType reports whether an input has one of the types, in lower case.
func isType(n html.Node, types ...string) bool {
	value := n.FindAttr(html.AtomType).View(nil)
	return slices.ContainsFunc(types, func(t string) bool { return same(value, t, true) })
}

func isChecked(n html.Node) bool {
	if n.Is(html.AtomOption) {
		return has(n, html.AtomSelected)
	}
	return n.Is(html.AtomInput) && has(n, html.AtomChecked) && isType(n, "checkbox", "radio")
}

// takesRequired reports whether the attribute required applies (HTML standard, section 4.17.3).
func takesRequired(n html.Node) bool {
	if n.Is(html.AtomInput) {
		return !isType(n, "hidden", "range", "color", "submit", "image", "reset", "button")
	}
	return htmlIs(n, html.AtomSelect, html.AtomTextarea)
}

func isRequired(n html.Node) bool { return takesRequired(n) && has(n, html.AtomRequired) }

func isOptional(n html.Node) bool {
	return htmlIs(n, html.AtomInput, html.AtomSelect, html.AtomTextarea) && !isRequired(n)
}

// disabledTest is :disabled and :enabled (HTML standard, sections 4.17.3 and 4.10.18.5).
type disabledTest struct {
	enabled bool
	table   int // whether an element is inside a disabled fieldset
}

func (t disabledTest) match(m *matcher, k int32) bool {
	n := m.index.Node(k)
	disabled := has(n, html.AtomDisabled)
	switch {
	case htmlIs(n, html.AtomButton, html.AtomInput, html.AtomSelect, html.AtomTextarea, html.AtomFieldset):
		return (disabled || m.fenced(m.table(t.table), k)) != t.enabled
	case n.Is(html.AtomOptgroup):
		return disabled != t.enabled
	case n.Is(html.AtomOption):
		up := n.Parent()
		return (disabled || up.Is(html.AtomOptgroup) && has(up, html.AtomDisabled)) != t.enabled
	}
	return false
}

// fenced reports whether an element is inside a disabled fieldset, its first legend left out.
func (m *matcher) fenced(t *table, k int32) bool {
	return yes == m.inherited(t, k, func(k int32) int32 {
		up := m.el[k].Parent
		if up == 0 {
			return no
		}
		if n := m.index.Node(up); n.Is(html.AtomFieldset) && has(n, html.AtomDisabled) && !m.firstLegend(k) {
			return yes
		}
		return unknown
	})
}

func (m *matcher) firstLegend(k int32) bool {
	if !m.index.Node(k).Is(html.AtomLegend) {
		return false
	}
	for at := m.kin(k).Prev; at != 0; at = m.kin(at).Prev {
		m.work++
		if m.index.Node(at).Is(html.AtomLegend) {
			return false
		}
	}
	return true
}

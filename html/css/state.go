package css

import (
	"bytes"

	"github.com/tegenaria/tegenaria/html"
)

// structureTest is a pseudo-class without arguments that looks at one element.
type structureTest func(m *matcher, k int32) bool

func (f structureTest) match(m *matcher, k int32) bool { return f(m, k) }

func isRoot(m *matcher, k int32) bool { return m.el[k].Parent == 0 }

// isScope is true of the root of the query; in a query of the whole document, of the root element
// (Selectors Level 4, section 8.5).
func isScope(m *matcher, k int32) bool { return k == m.root || m.root == 0 && isRoot(m, k) }

// isEmpty is true of elements without children but for comments and white space (Selectors Level 4,
// section 14.2).
func isEmpty(m *matcher, k int32) bool {
	if m.el[k].End > k+1 {
		return false
	}
	for n := m.index.Node(k).FirstChild(); !n.IsZero(); n = n.NextSibling() {
		m.work++
		if n.Kind() == html.TextNode && len(bytes.Trim(n.Data(), space)) > 0 {
			return false
		}
	}
	return true
}

// isTarget is true of the element that the fragment of the page's URL names.
func isTarget(m *matcher, k int32) bool {
	fragment := m.sel.fragment
	return fragment != "" && m.index.Node(k).FindAttr(html.AtomId).Value() == fragment
}

// is reports whether an element is that of HTML with a name.
func (m *matcher) htmlIs(k int32, names ...html.Atom) bool {
	n := m.index.Node(k)
	for _, name := range names {
		if n.Is(name) {
			return true
		}
	}
	return false
}

func (m *matcher) has(k int32, attr html.Atom) bool { return !m.index.Node(k).FindAttr(attr).IsZero() }

// isLink is true of links, which are a, area and, as cascadia and older standards have it, link.
func isLink(m *matcher, k int32) bool {
	return m.htmlIs(k, html.AtomA, html.AtomArea, html.AtomLink) && m.has(k, html.AtomHref)
}

// isInput is jQuery's and cascadia's name for all controls that take input.
func isInput(m *matcher, k int32) bool {
	return m.htmlIs(k, html.AtomInput, html.AtomSelect, html.AtomTextarea, html.AtomButton)
}

// isType reports whether an input has one of the types, in lower case.
func (m *matcher) isType(k int32, types ...string) bool {
	a := m.index.Node(k).FindAttr(html.AtomType)
	value := a.View(nil)
	for _, t := range types {
		if same(value, t, true) {
			return true
		}
	}
	return false
}

func isChecked(m *matcher, k int32) bool {
	if m.htmlIs(k, html.AtomOption) {
		return m.has(k, html.AtomSelected)
	}
	return m.htmlIs(k, html.AtomInput) && m.has(k, html.AtomChecked) && m.isType(k, "checkbox", "radio")
}

// takesRequired reports whether the attribute required applies (HTML standard, section 4.17.3).
func takesRequired(m *matcher, k int32) bool {
	if m.htmlIs(k, html.AtomInput) {
		return !m.isType(k, "hidden", "range", "color", "submit", "image", "reset", "button")
	}
	return m.htmlIs(k, html.AtomSelect, html.AtomTextarea)
}

func isRequired(m *matcher, k int32) bool { return takesRequired(m, k) && m.has(k, html.AtomRequired) }

func isOptional(m *matcher, k int32) bool {
	return m.htmlIs(k, html.AtomInput, html.AtomSelect, html.AtomTextarea) && !isRequired(m, k)
}

// disabledTest is :disabled and :enabled (HTML standard, sections 4.17.3 and 4.10.18.5).
type disabledTest struct {
	enabled bool
	table   int // whether an element is inside a disabled fieldset
}

func (t disabledTest) match(m *matcher, k int32) bool {
	switch {
	case m.htmlIs(k, html.AtomButton, html.AtomInput, html.AtomSelect, html.AtomTextarea, html.AtomFieldset):
		return (m.has(k, html.AtomDisabled) || m.fenced(m.table(t.table), k)) != t.enabled
	case m.htmlIs(k, html.AtomOptgroup):
		return m.has(k, html.AtomDisabled) != t.enabled
	case m.htmlIs(k, html.AtomOption):
		up := m.el[k].Parent
		disabled := m.has(k, html.AtomDisabled) || m.htmlIs(up, html.AtomOptgroup) && m.has(up, html.AtomDisabled)
		return disabled != t.enabled
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
		if m.htmlIs(up, html.AtomFieldset) && m.has(up, html.AtomDisabled) && !m.firstLegend(k) {
			return yes
		}
		return unknown
	})
}

func (m *matcher) firstLegend(k int32) bool {
	if !m.htmlIs(k, html.AtomLegend) {
		return false
	}
	for at := m.kin(k).Prev; at != 0; at = m.kin(at).Prev {
		m.work++
		if m.htmlIs(at, html.AtomLegend) {
			return false
		}
	}
	return true
}

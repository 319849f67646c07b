package selector

import (
	"iter"
	"slices"
	"strings"
	"unsafe"

	"github.com/tegenaria/tegenaria/html"
)

// Selection is what a query found: elements, text nodes, comments, attributes, or the string,
// number or truth value that an XPath expression or a JSON path computed. Nodes are in document
// order, each once. A Selection does not change and may be used by several goroutines at once. The
// nil Selection is an empty one.
type Selection struct {
	doc    *Document
	refs   []html.Ref  // nodes and attributes
	values []string    // or computed values
	one    [1]html.Ref // the memory of refs if there is one, as often
}

// CSS selects what a CSS selector matches among the nodes of the Selection and inside them. A selector
// that begins with > looks at their children: "> td" means ":scope > td". It panics with a [*SyntaxError] if the selector is wrong.
func (s *Selection) CSS(query string) *Selection { return s.Select(mustCompile(query, cssQueries)) }

// XPath evaluates an XPath expression with each node of the Selection as context node and merges
// the results. It panics with a [*SyntaxError] if the expression is wrong. Variables get their values by [Var].
func (s *Selection) XPath(expr string, vars ...Variable) *Selection {
	return s.Select(mustCompileXPath(expr, vars))
}

// Select runs a compiled query on the nodes of the Selection, as CSS and XPath do.
func (s *Selection) Select(q *Query) *Selection {
	if s.Len() == 0 {
		return nil
	}
	return q.run(s.doc, s.refs)
}

// First returns a Selection of the first result, or an empty one.
func (s *Selection) First() *Selection {
	if s.Len() == 0 {
		return nil
	}
	return s.at(0)
}

func (s *Selection) at(i int) *Selection {
	if s.values != nil {
		return &Selection{doc: s.doc, values: s.values[i : i+1 : i+1]}
	}
	return &Selection{doc: s.doc, refs: s.refs[i : i+1 : i+1]}
}

// All returns an iterator over the results, each as a Selection of one, with its index from 0.
func (s *Selection) All() iter.Seq2[int, *Selection] {
	return func(yield func(int, *Selection) bool) {
		for i := range s.Len() {
			if !yield(i, s.at(i)) {
				return
			}
		}
	}
}

// Len returns the number of results.
func (s *Selection) Len() int {
	if s == nil {
		return 0
	}
	return len(s.refs) + len(s.values)
}

// Nodes returns the results that are nodes of the page, for use with package html.
func (s *Selection) Nodes() []html.Node {
	if s == nil {
		return nil
	}
	var nodes []html.Node
	for _, r := range s.refs {
		if !r.IsAttr() {
			nodes = append(nodes, r.Node())
		}
	}
	return nodes
}

// Text returns the text of all results as a reader sees it: see [Selection.Texts]. The texts that
// are not empty are joined by one space.
func (s *Selection) Text() string {
	if s.Len() > 0 && len(s.doc.tree.Source()) > few {
		b := s.appendTexts(nil)
		return unsafe.String(unsafe.SliceData(b), len(b)) // nobody else has it
	}
	var space [256]byte
	return string(s.appendTexts(space[:0]))
}

func (s *Selection) appendTexts(b []byte) []byte {
	if s.Len() == 0 {
		return b
	}
	r := result{doc: s.doc}
	for i := range s.Len() {
		before := len(b)
		if before > 0 {
			b = append(b, ' ')
		}
		start := len(b)
		if b = s.appendText(b, i, &r, 0); len(b) == start {
			b = b[:before]
		}
		r.grow(len(b))
	}
	return b
}

// Texts returns one text for each result, as a reader sees it: white space (in the sense of
// Unicode, so no-break spaces too) is trimmed and collapsed to single spaces, and elements that
// start a new line or table cell separate words. What stands in script, style and template
// elements is left out, unless that element itself is the result. For text exactly as it is in the
// page select it with ::text and read it with [Selection.GetAll].
func (s *Selection) Texts() []string {
	if s.Len() == 0 {
		return nil
	}
	r := s.begin()
	texts := make([]string, s.Len())
	var space [256]byte
	b := space[:0]
	total := len(texts) * stringSize
	for i := range texts {
		b = s.appendText(b[:0], i, &r, total)
		r.grow(total + len(b))
		texts[i] = string(b)
		total += len(texts[i])
	}
	return texts
}

// appendText appends the text of a result. r has so many other bytes beside b.
func (s *Selection) appendText(b []byte, i int, r *result, other int) []byte {
	if s.values == nil && !s.refs[i].IsAttr() {
		n := s.refs[i].Node()
		r.spendInside(n, textSize)
		if len(n.Document().Source()) > few { // or its memory would be taken in steps
			b = slices.Grow(b, textSize(n))
		}
		return n.AppendCollapsed(b)
	}
	return append(b, strings.Join(strings.Fields(s.get(i, r, other+cap(b))), " ")...)
}

// textSize returns how many bytes the text of a node has, white space and all, with room for what separates words.
func textSize(n html.Node) int {
	if n.Kind() == html.TextNode {
		return len(n.Data())
	}
	size := 0
	for d := range n.Descendants() {
		if size++; d.Kind() == html.TextNode {
			size += len(d.Data())
		}
	}
	return size
}

// Attr returns an attribute of the first result, or "" if there is no such attribute or no result.
// Names are compared without regard to ASCII case.
func (s *Selection) Attr(name string) string {
	if s == nil || len(s.refs) == 0 {
		return ""
	}
	return attribute(s.refs[0], name).Value()
}

// Attrs returns the attribute of each result that has it.
func (s *Selection) Attrs(name string) []string {
	if s == nil {
		return nil
	}
	var values []string
	memory, total := result{doc: s.doc}, 0
	for _, r := range s.refs {
		if a := attribute(r, name); !a.IsZero() {
			total += len(a.Raw()) + 2*stringSize // of a list that grows
			memory.grow(total)
			values = append(values, a.Value())
		}
	}
	return values
}

// attribute returns the named attribute of an element. In SVG and MathML names may have a prefix as
// in xlink:href.
func attribute(r html.Ref, name string) html.Attr {
	if r.IsAttr() {
		return html.Attr{}
	}
	n := r.Node()
	if atom := n.Document().LookupAtom(name); atom != 0 {
		if a := n.FindAttr(atom); !a.IsZero() {
			return a
		}
	}
	for a := range n.Attrs() {
		if strings.EqualFold(a.Name(), name) {
			return a
		}
	}
	return html.Attr{}
}

// HTML returns the markup of the first result: an element with its own tags (outer HTML), a text
// node escaped. It is "" for attributes and computed values, which have no markup. The markup is
// made from the parsed page (HTML standard, section 13.3), so it need not equal the source.
func (s *Selection) HTML() string {
	if s == nil || len(s.refs) == 0 || s.refs[0].IsAttr() {
		return ""
	}
	r := result{doc: s.doc}
	return r.markup(s.refs[0].Node(), 0)
}

// Get returns the first result as a string, or "". It is the outer HTML of an element, and the
// plain, unchanged value of a text node (::text), an attribute (::attr(x)) or a computed value.
func (s *Selection) Get() string {
	if s.Len() == 0 {
		return ""
	}
	return s.get(0, &result{doc: s.doc}, 0)
}

// GetAll returns every result as [Selection.Get] does.
func (s *Selection) GetAll() []string {
	if s.Len() == 0 {
		return nil
	}
	r := s.begin()
	all := make([]string, s.Len())
	total := len(all) * stringSize
	for i := range all {
		all[i] = s.get(i, &r, total)
		total += len(all[i])
		r.grow(total)
	}
	return all
}

// get returns a result. r has so many other bytes beside it.
func (s *Selection) get(i int, r *result, other int) string {
	if s.values != nil {
		return s.values[i]
	}
	ref := s.refs[i]
	if ref.IsAttr() {
		r.grow(other + len(ref.Attr().Raw()))
		return ref.Attr().Value()
	}
	n := ref.Node()
	if n.Kind() != html.TextNode {
		return r.markup(n, other)
	}
	r.grow(other + len(n.Data()))
	return string(n.Data())
}

package selector

import (
	"iter"
	"strings"

	"golang.org/x/net/html"
)

// Selection is what a query found: elements, text nodes, comments, attributes, or the string,
// number or truth value that an XPath expression computed. Nodes are in document order, each once.
// A Selection does not change and may be used by several goroutines at once. The nil Selection is
// an empty one.
type Selection struct {
	doc   *Document
	items []item
}

// item is one result. A computed value has no node.
type item struct {
	node  *html.Node
	attr  int    // index in node.Attr of a selected attribute, or noAttr
	value string // the computed value
}

const noAttr = -1

func (s *Selection) list() []item {
	if s == nil {
		return nil
	}
	return s.items
}

// CSS selects what a CSS selector matches among the nodes of the Selection and inside them. It
// panics with a [*SyntaxError] if the selector is wrong.
func (s *Selection) CSS(query string) *Selection { return s.Select(mustCompile(query, cssQueries)) }

// XPath evaluates an XPath expression with each node of the Selection as context node and merges
// the results. It panics with a [*SyntaxError] if the expression is wrong.
func (s *Selection) XPath(expr string) *Selection { return s.Select(mustCompile(expr, xpathQueries)) }

// Select runs a compiled query on the nodes of the Selection, as CSS and XPath do.
func (s *Selection) Select(q *Query) *Selection {
	if s.Len() == 0 {
		return nil
	}
	return q.run(s.doc, s.items)
}

// First returns a Selection of the first result, or an empty one.
func (s *Selection) First() *Selection {
	if s.Len() == 0 {
		return nil
	}
	return s.at(0)
}

func (s *Selection) at(i int) *Selection {
	return &Selection{doc: s.doc, items: s.items[i : i+1 : i+1]}
}

// All returns an iterator over the results, each as a Selection of one, with its index from 0.
func (s *Selection) All() iter.Seq2[int, *Selection] {
	return func(yield func(int, *Selection) bool) {
		for i := range s.list() {
			if !yield(i, s.at(i)) {
				return
			}
		}
	}
}

// Len returns the number of results.
func (s *Selection) Len() int { return len(s.list()) }

// Text returns the text of all results as a reader sees it: see [Selection.Texts]. The texts that
// are not empty are joined by one space.
func (s *Selection) Text() string {
	var w textWriter
	for _, it := range s.list() {
		w.separate()
		it.writeText(&w)
	}
	return w.String()
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
	texts := make([]string, len(s.items))
	for i, it := range s.items {
		var w textWriter
		it.writeText(&w)
		texts[i] = w.String()
	}
	return texts
}

// Attr returns an attribute of the first result, or "" if there is no such attribute or no result.
// Names are compared without regard to ASCII case.
func (s *Selection) Attr(name string) string {
	if s.Len() == 0 {
		return ""
	}
	value, _ := s.items[0].attribute(name)
	return value
}

// Attrs returns the attribute of each result that has it.
func (s *Selection) Attrs(name string) []string {
	var values []string
	for _, it := range s.list() {
		if value, ok := it.attribute(name); ok {
			values = append(values, value)
		}
	}
	return values
}

// HTML returns the markup of the first result: an element with its own tags (outer HTML), a text
// node escaped. It is "" for attributes and computed values, which have no markup. The markup is
// made from the parsed page (HTML standard, section 13.3), so it need not equal the source.
func (s *Selection) HTML() string {
	if s.Len() == 0 || s.items[0].node == nil || s.items[0].attr != noAttr {
		return ""
	}
	return markup(s.items[0].node)
}

// Get returns the first result as a string, or "". It is the outer HTML of an element, and the
// plain, unchanged value of a text node (::text), an attribute (::attr(x)) or a computed value.
func (s *Selection) Get() string {
	if s.Len() == 0 {
		return ""
	}
	return s.items[0].get()
}

// GetAll returns every result as [Selection.Get] does.
func (s *Selection) GetAll() []string {
	if s.Len() == 0 {
		return nil
	}
	all := make([]string, len(s.items))
	for i, it := range s.items {
		all[i] = it.get()
	}
	return all
}

func (it item) get() string {
	switch {
	case it.node == nil:
		return it.value
	case it.attr != noAttr:
		return it.node.Attr[it.attr].Val
	case it.node.Type == html.TextNode:
		return it.node.Data
	}
	return markup(it.node)
}

func (it item) writeText(w *textWriter) {
	if it.node == nil || it.attr != noAttr {
		w.write(it.get())
		return
	}
	w.writeNode(it.node)
}

func (it item) attribute(name string) (string, bool) {
	if it.node == nil || it.attr != noAttr {
		return "", false
	}
	i := attrIndex(it.node, name)
	if i < 0 {
		return "", false
	}
	return it.node.Attr[i].Val, true
}

// attrIndex returns the index of the named attribute in n.Attr, or -1.
func attrIndex(n *html.Node, name string) int {
	for i := range n.Attr {
		if attrNamed(&n.Attr[i], name) {
			return i
		}
	}
	return -1
}

// attrNamed reports whether a has the name, which in SVG and MathML may be like xlink:href.
func attrNamed(a *html.Attribute, name string) bool {
	if a.Namespace != "" {
		prefix, local, found := strings.Cut(name, ":")
		return found && strings.EqualFold(prefix, a.Namespace) && strings.EqualFold(local, a.Key)
	}
	return strings.EqualFold(a.Key, name)
}

func markup(n *html.Node) string {
	var b strings.Builder
	// A strings.Builder does not fail, and a parsed tree has no node that cannot be written.
	_ = html.Render(&b, n)
	return b.String()
}

package content

import (
	"bytes"

	"github.com/tegenaria/tegenaria/html"
)

// numberNames are the classes of the numbers of lines: Pygments, Rouge, Chroma, GitHub, Gitea, cgit,
// highlightjs-line-numbers, SyntaxHighlighter, Doxygen, docutils, Javadoc, rustdoc.
var numberNames = [...]string{"linenos", "linenodiv", "lineno", "ln", "lnt", "lntd", "line-number", "line-numbers", "linenumber", "linenumbers", "rouge-gutter",
	"gutter", "blob-num", "lines-num", "hljs-ln-numbers", "source-line-no", "src-line-numbers"}

// isNumbers reports whether an element has nothing but the numbers of lines of code: in the code itself, or in a cell before it. The table
// of such a cell is marked as one of code.
func (x *extractor) isNumbers(n html.Node, in *info) bool {
	cell := n.Is(html.AtomTd) || n.Is(html.AtomTh)
	class := n.FindAttr(html.AtomClass).Raw()
	if len(class) == 0 && !cell {
		return false
	}
	named := false
	for name := range bytes.FieldsSeq(class[:min(len(class), maxName)]) {
		for _, s := range numberNames {
			named = named || string(name) == s
		}
	}
	if !cell {
		return named && !n.Is(html.AtomTr) && (in.flags&inCode != 0 || n.Is(html.AtomPre) || n.Is(html.AtomDiv)) && x.hasNumbersOnly(n)
	}
	if !named && n.Attr("data-line-number") == "" {
		return false
	}
	next := n.NextSibling()
	for !next.IsZero() && !next.IsElement() {
		next = next.NextSibling()
	}
	if !next.Is(html.AtomTd) || !x.hasNumbersOnly(n) { // the next one has the code
		return false
	}
	for t, level := n.Parent(), 0; level < 3; t, level = t.Parent(), level+1 {
		if t.Is(html.AtomTable) {
			x.info[t.ID()].flags |= numbered
			break
		}
	}
	return true
}

// hasNumbersOnly reports whether the text of an element is decimal numbers and white space.
func (x *extractor) hasNumbersOnly(n html.Node) bool {
	if n.ID() < x.word && x.word < n.EndID() { // an element around this one was asked for
		return false
	}
	for c := range n.Descendants() {
		if c.Kind() == html.TextNode && bytes.ContainsFunc(c.Data(), func(r rune) bool { return (r < '0' || r > '9') && r > ' ' && r != '\u00a0' }) {
			x.word = c.ID()
			return false
		}
	}
	return true
}

// hasNumbers reports whether a row of a table of code has a cell with the numbers of lines.
func (x *extractor) hasNumbers(tr html.Node) bool {
	for c := range tr.Children() {
		if c.Is(html.AtomTd) && x.info[c.ID()].flags&dead != 0 {
			return true
		}
	}
	return false
}

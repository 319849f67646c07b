package content

import (
	"bytes"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// mayHaveFormulas reports whether a page names what formulas are made of.
func mayHaveFormulas(source []byte) bool {
	for _, s := range [...]string{"<math", "math/tex", "katex", "MathJax", `class="math`, "arithmatex", "mwe-math"} {
		if bytes.Contains(source, []byte(s)) {
			return true
		}
	}
	return false
}

// isFormulaTwin reports whether an element shows a formula that is written from another one: MathML beside an
// annotation in TeX, annotations of MathML without TeX, what KaTeX and MathJax make of a formula for the eye,
// MediaWiki's picture of it.
func (x *extractor) isFormulaTwin(n html.Node) bool {
	if n.Namespace() == html.MathML {
		p := n.Parent()
		if p.Atom() != html.AtomSemantics || p.Namespace() != html.MathML {
			return false
		}
		if x.info[p.ID()].flags&withTeX != 0 {
			return !isTeX(n)
		}
		return n.Atom() == html.AtomAnnotation || n.Atom() == html.AtomAnnotationXml
	}
	class := n.FindAttr(html.AtomClass).Raw()
	if len(class) == 0 || len(class) > maxName {
		return false
	}
	switch {
	case bytes.Contains(class, []byte("katex-html")), bytes.Contains(class, []byte("mwe-math-fallback-image")), bytes.Contains(class, []byte("MathJax_Preview")):
		return true
	case bytes.HasPrefix(class, []byte("MathJax")), bytes.HasPrefix(class, []byte("mjx-chtml")):
		next := following(n)
		if next.Is(html.AtomSpan) || next.Is(html.AtomDiv) {
			next = following(next)
		}
		return isTeXScript(next)
	}
	return false
}

// isTeX reports whether an element is the annotation of a formula in TeX.
func isTeX(n html.Node) bool {
	return n.IsElement() && n.Atom() == html.AtomAnnotation && strings.Contains(strings.ToLower(n.FindAttr(html.AtomEncoding).Value()), "tex")
}

// isTeXScript reports whether an element is a script of MathJax 2 with a formula.
func isTeXScript(n html.Node) bool {
	return n.Is(html.AtomScript) && n.Namespace() == html.HTML && bytes.HasPrefix(n.FindAttr(html.AtomType).Raw(), []byte("math/tex"))
}

// hasTeX reports whether one of the first children of an element semantics is TeX.
func hasTeX(semantics html.Node) bool {
	for _, c := range elementsIn(semantics) {
		if isTeX(c) {
			return true
		}
	}
	return false
}

// isFormula reports whether an element has a formula: MathML, a script of MathJax, or TeX between its marks, as generators write it for
// MathJax.
func isFormula(n html.Node) bool {
	switch {
	case n.Namespace() == html.MathML:
		return n.IsElement() && n.Atom() == html.AtomMath
	case n.Is(html.AtomScript):
		return isTeXScript(n)
	case n.Is(html.AtomSpan) || n.Is(html.AtomDiv):
		class := n.FindAttr(html.AtomClass).Raw()
		if !bytes.HasPrefix(class, []byte("math")) && !bytes.HasPrefix(class, []byte("arithmatex")) || n.FirstChild() != n.LastChild() {
			return false
		}
		text := bytes.TrimSpace(n.FirstChild().Data())
		return n.FirstChild().Kind() == html.TextNode && len(text) > 4 && text[0] == '\\' && (text[1] == '(' || text[1] == '[')
	}
	return false
}

// formula writes a formula once: as TeX where the page has it, else as the text that it has.
func (w *writer) formula(n html.Node) {
	tex, to, isTeXText := []byte(nil), 0, n.Namespace() != html.MathML
	for id := n.ID() + 1; id < w.x.info[n.ID()].end; id++ {
		in, c := &w.x.info[id], w.x.doc.Node(id)
		switch {
		case w.skips(in):
			id = w.x.skip(id)
		case c.Kind() == html.TextNode:
			tex = append(tex, c.Data()...)
			to = max(to, w.x.textEnd(c))
		case isTeX(c):
			isTeXText = true
		}
	}
	if !isTeXText || w.code > 0 {
		w.children(n)
		return
	}
	tex = bytes.Join(bytes.Fields(tex), []byte{' '})
	display := w.isDisplayed(n)
	if rest, ok := bytes.CutPrefix(tex, []byte(`\[`)); ok {
		tex, display = bytes.TrimSuffix(rest, []byte(`\]`)), true
	} else if rest, ok := bytes.CutPrefix(tex, []byte(`\(`)); ok {
		tex = bytes.TrimSuffix(rest, []byte(`\)`))
	}
	if tex = bytes.TrimSpace(tex); len(tex) == 0 {
		return
	}
	if w.cell && w.md {
		tex = bytes.ReplaceAll(tex, []byte{'|'}, []byte(`\vert `))
	}
	mark := ""
	if w.md {
		mark = "$"
		if display {
			mark = "$$"
		}
	}
	w.endCode()
	w.word('$')
	if w.from < 0 {
		w.from, w.to = n.Pos(), n.Pos()
	}
	w.to = max(w.to, to)
	w.para = append(append(append(w.para, mark...), tex...), mark...)
}

// isDisplayed reports whether a formula stands on lines of its own.
func (w *writer) isDisplayed(n html.Node) bool {
	if n.Is(html.AtomScript) {
		return strings.Contains(n.FindAttr(html.AtomType).Value(), "mode=display")
	}
	if n.Attr("display") == "block" {
		return true
	}
	for p, level := n.Parent(), 0; level < 3 && p.IsElement(); p, level = p.Parent(), level+1 {
		if bytes.Contains(p.FindAttr(html.AtomClass).Raw(), []byte("katex-display")) || p.Attr("display") == "true" {
			return true
		}
	}
	return n.Is(html.AtomDiv)
}

package content

import (
	"github.com/tegenaria/tegenaria/html"
)

// keptAttrs are the attributes that [Article.HTML] keeps: where things lead to, and what their structure needs.
var keptAttrs = map[html.Atom]bool{html.AtomHref: true, html.AtomSrc: true, html.AtomAlt: true, html.AtomStart: true, html.AtomColspan: true,
	html.AtomRowspan: true, html.AtomId: true, html.AtomClass: true, html.AtomDatetime: true, html.AtomLang: true, html.AtomRole: true}

// HTML returns the article as HTML, without what is not part of it and without scripts, styles, forms and embedded programs. Elements keep
// their names; of their attributes those are kept that say where links and pictures are (as absolute URLs) and what structure there is.
func (a *Article) HTML() string {
	x := a.x.clone()
	out := make([]byte, 0, 2*int(x.info[a.Node.ID()].text)+256)
	var open []uint32
	end := x.info[a.Node.ID()].end
	for id := a.Node.ID(); id < end; id++ {
		for len(open) > 0 && id >= x.info[open[len(open)-1]].end {
			out = closeTag(out, x.doc.Node(open[len(open)-1]))
			open = open[:len(open)-1]
		}
		if x.info[id].flags&(dead|dropped) != 0 {
			id = x.skip(id)
			continue
		}
		switch n := x.doc.Node(id); n.Kind() {
		case html.TextNode:
			out = escapeHTML(out, n.Data())
		case html.ElementNode:
			if x.isMoved(id, a.Node.ID()) {
				id = x.skip(id)
				continue
			}
			if name := x.tabName(id, a.Node.ID()); !name.IsZero() {
				out = append(x.escapedText(append(out, "<p><strong>"...), name), "</strong></p>"...)
			}
			if isTeXScript(n) {
				continue
			}
			if n.Namespace() != html.HTML || n.Is(html.AtomHtml) || n.Is(html.AtomBody) {
				continue
			}
			out = x.openTag(out, n)
			if !isVoid(n.Atom()) {
				open = append(open, id)
			}
		}
	}
	for len(open) > 0 {
		out = closeTag(out, x.doc.Node(open[len(open)-1]))
		open = open[:len(open)-1]
	}
	return string(out)
}

// escapedText appends the text of an element.
func (x *extractor) escapedText(out []byte, n html.Node) []byte {
	for id := n.ID() + 1; id < x.info[n.ID()].end; id++ {
		if x.info[id].flags&(dead|dropped) != 0 {
			id = x.skip(id)
		} else if c := x.doc.Node(id); c.Kind() == html.TextNode {
			out = escapeHTML(out, c.Data())
		}
	}
	return out
}

func (x *extractor) openTag(out []byte, n html.Node) []byte {
	out = append(append(out, '<'), n.Name()...)
	for a := n.FirstAttr(); !a.IsZero(); a = a.Next() {
		if !keptAttrs[a.Atom()] {
			continue
		}
		value := a.Bytes()
		if a.Atom() == html.AtomHref || a.Atom() == html.AtomSrc {
			if len(out) > x.most() {
				continue
			}
			if value = []byte(x.url(string(value))); len(value) == 0 {
				continue
			}
		}
		out = append(append(append(out, ' '), a.Name()...), `="`...)
		out = append(escapeHTML(out, value), '"')
	}
	return append(out, '>')
}

func closeTag(out []byte, n html.Node) []byte {
	return append(append(append(out, "</"...), n.Name()...), '>')
}

func isVoid(a html.Atom) bool {
	switch a {
	case html.AtomBr, html.AtomHr, html.AtomImg, html.AtomWbr, html.AtomCol, html.AtomArea, html.AtomBase, html.AtomSource, html.AtomTrack, html.AtomParam, html.AtomBasefont, html.AtomBgsound, html.AtomFrame, html.AtomKeygen:
		return true
	}
	return false
}

func escapeHTML(out, text []byte) []byte {
	for _, c := range text {
		switch c {
		case '&':
			out = append(out, "&amp;"...)
		case '<':
			out = append(out, "&lt;"...)
		case '>':
			out = append(out, "&gt;"...)
		case '"':
			out = append(out, "&quot;"...)
		default:
			out = append(out, c)
		}
	}
	return out
}

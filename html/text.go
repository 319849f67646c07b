package html

import (
	"unicode"
	"unicode/utf8"
)

// Text returns the text of a node as it stands in the page: for a text node, comment or instruction
// what it holds, for other nodes the texts of all text nodes inside, one after the other (the DOM
// standard's textContent, with the contents of templates).
func (n Node) Text() string {
	switch n.Kind() {
	case TextNode, CommentNode, InstructionNode:
		return string(n.Data())
	}
	// A single text is the rule.
	if c := n.FirstChild(); c.Kind() == TextNode && c.NextSibling().IsZero() {
		return string(c.Data())
	}
	return view(n.AppendText(nil))
}

// AppendText appends the text of a node, see [Node.Text], to dst.
func (n Node) AppendText(dst []byte) []byte {
	switch n.Kind() {
	case NoNode:
		return dst
	case TextNode, CommentNode, InstructionNode:
		return append(dst, n.Data()...)
	}
	nodes := n.doc.nodes
	for id, end := n.id+1, n.EndID(); id < end; id++ {
		if nodes[id].meta&kindMask == uint32(TextNode) {
			dst = append(dst, n.doc.data(&nodes[id])...)
		}
	}
	return dst
}

// CollapsedText returns the text of a node as a reader sees it: runs of white space are one space,
// there is none at the ends, and words do not run together where a browser starts a new line or a
// cell. Scripts and styles inside, also those of SVG, and templates have no text; scripting is taken to be off, so noscript
// has.
func (n Node) CollapsedText() string { return view(n.AppendCollapsed(nil)) }

// AppendCollapsed appends the collapsed text of a node, see [Node.CollapsedText], to dst.
func (n Node) AppendCollapsed(dst []byte) []byte {
	if n.IsZero() {
		return dst
	}
	d, start, space := n.doc, len(dst), false // space: one is due before the next word
	for id := n.id; ; {
		r := &d.nodes[id]
		switch Kind(r.meta & kindMask) {
		case TextNode:
			dst, space = appendWords(dst, start, d.data(r), space)
		case DocumentNode, ElementNode:
			if id != n.id && isSilent(r.meta) {
				break
			}
			space = space || separates(r.meta)
			if r.last != 0 {
				id++
				continue
			}
		}
		for id != n.id && d.nodes[id].next == 0 {
			id = d.nodes[id].parent
			space = space || separates(d.nodes[id].meta)
		}
		if id == n.id {
			return dst
		}
		id = d.nodes[id].next
	}
}

// appendWords appends the words of a text to dst, one space between them. Another one comes before
// the first word if space is true, unless nothing was appended since start. It reports whether one
// is due before what comes next.
func appendWords(dst []byte, start int, text []byte, space bool) ([]byte, bool) {
	for i := 0; i < len(text); {
		if n := spaceAt(text[i:]); n > 0 {
			space = true
			i += n
			continue
		}
		begin := i
		i += wordsEnd(text[i:])
		if space && len(dst) > start {
			dst = append(dst, ' ')
		}
		space = false
		dst = append(dst, text[begin:i]...)
	}
	return dst, space
}

// wordsEnd returns where the words end that text starts with and that are a single space apart.
func wordsEnd(text []byte) int {
	i := 0
	for i < len(text) {
		switch c := text[i]; {
		case c > ' ' && c < utf8.RuneSelf:
			i++
		case c == ' ' && i+1 < len(text) && text[i+1] > ' ' && text[i+1] < utf8.RuneSelf:
			i += 2
		case spaceAt(text[i:]) > 0:
			return i
		case c < utf8.RuneSelf:
			i++
		default:
			_, size := utf8.DecodeRune(text[i:])
			i += size
		}
	}
	return i
}

// spaceAt returns the length of the character of white space that text starts with, 0 if it is none.
func spaceAt(text []byte) int {
	c := text[0]
	if c < utf8.RuneSelf {
		if c == ' ' || '\t' <= c && c <= '\r' {
			return 1
		}
		return 0
	}
	if r, size := utf8.DecodeRune(text); unicode.IsSpace(r) {
		return size
	}
	return 0
}

// isSilent reports whether an element holds no text for readers: a script or a style sheet, also in SVG and MathML, or a
// template.
func isSilent(meta uint32) bool {
	switch Atom(meta >> atomShift) {
	case AtomScript, AtomStyle:
		space := meta & nsMask
		return meta&kindMask == uint32(ElementNode) &&
			(space == uint32(HTML)<<nsShift || space == uint32(SVG)<<nsShift || space == uint32(MathML)<<nsShift)
	case AtomTemplate:
		return meta&(kindMask|nsMask) == uint32(ElementNode)|uint32(HTML)<<nsShift
	}
	return false
}

// separates reports whether browsers show an element on a line or in a cell of its own: the elements
// whose display is block, list-item or a part of a table (section 15.3), line breaks, and the entries
// of choices. Titles and descriptions of SVG are no part of the text around them either.
func separates(meta uint32) bool {
	name := Atom(meta >> atomShift)
	switch meta & (kindMask | nsMask) {
	case uint32(ElementNode) | uint32(HTML)<<nsShift:
		return name < elementAtoms && separators[name]
	case uint32(ElementNode) | uint32(SVG)<<nsShift:
		return name == AtomTitle || name == AtomDesc
	}
	return false
}

var separators = [elementAtoms]bool{
	AtomHtml: true, AtomHead: true, AtomTitle: true, AtomBody: true,
	AtomAddress: true, AtomArticle: true, AtomAside: true, AtomBlockquote: true, AtomCenter: true,
	AtomDialog: true, AtomDd: true, AtomDetails: true, AtomDir: true, AtomDiv: true, AtomDl: true,
	AtomDt: true, AtomFieldset: true, AtomFigcaption: true, AtomFigure: true, AtomFooter: true,
	AtomForm: true, AtomH1: true, AtomH2: true, AtomH3: true, AtomH4: true, AtomH5: true, AtomH6: true,
	AtomHeader: true, AtomHgroup: true, AtomHr: true, AtomLegend: true, AtomLi: true,
	AtomListing: true, AtomMain: true, AtomMenu: true, AtomNav: true, AtomOl: true,
	AtomOptgroup: true, AtomOption: true, AtomP: true, AtomPlaintext: true, AtomPre: true,
	AtomSearch: true, AtomSection: true, AtomSummary: true, AtomUl: true, AtomXmp: true,
	AtomTable: true, AtomCaption: true, AtomColgroup: true, AtomCol: true, AtomThead: true,
	AtomTbody: true, AtomTfoot: true, AtomTr: true, AtomTd: true, AtomTh: true,
	AtomBr: true, AtomTextarea: true, AtomSelect: true, AtomButton: true, AtomIframe: true,
	AtomNoscript: true,
}

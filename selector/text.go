package selector

import (
	"unicode"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html"
)

// textWriter collects text with white space collapsed.
type textWriter struct {
	b     []byte
	space bool // a space is due before the next word
}

// separate ends the current word.
func (w *textWriter) separate() { w.space = true }

func (w *textWriter) write(text []byte) {
	for len(text) > 0 {
		size := spaceSize(text)
		if size > 0 {
			w.space = true
			text = text[size:]
			continue
		}
		if w.space && len(w.b) > 0 {
			w.b = append(w.b, ' ')
		}
		w.space = false
		n := 1
		for n < len(text) && (text[n] > ' ' && text[n] < utf8.RuneSelf || spaceSize(text[n:]) == 0) {
			n++
		}
		w.b = append(w.b, text[:n]...)
		text = text[n:]
	}
}

// spaceSize returns the length of the white space character that text starts with, 0 if it starts
// with something else.
func spaceSize(text []byte) int {
	if text[0] < utf8.RuneSelf {
		if text[0] == ' ' || '\t' <= text[0] && text[0] <= '\r' {
			return 1
		}
		return 0
	}
	if r, size := utf8.DecodeRune(text); unicode.IsSpace(r) {
		return size
	}
	return 0
}

// writeNode writes the text of a node and of what is inside, but for silent elements.
func (w *textWriter) writeNode(top html.Node) {
	for n := top; ; {
		next := html.Node{}
		switch n.Kind() {
		case html.TextNode:
			w.write(n.Data())
		case html.ElementNode, html.DocumentNode:
			if separates(n) {
				w.separate()
			}
			if n == top || !silent(n) {
				next = n.FirstChild()
			}
		}
		for next.IsZero() {
			if n.IsElement() && separates(n) {
				w.separate()
			}
			if n == top {
				return
			}
			if next = n.NextSibling(); next.IsZero() {
				n = n.Parent()
			}
		}
		n = next
	}
}

// silent reports whether an element holds no text for readers.
func silent(n html.Node) bool {
	return n.Is(html.AtomScript) || n.Is(html.AtomStyle) || n.Is(html.AtomTemplate)
}

// separates reports whether browsers show an element on a line or in a cell of its own: the
// elements with display block, list-item or table parts in section 15.3 of the HTML standard, line
// breaks, and the entries of choices.
func separates(n html.Node) bool {
	if n.Namespace() != html.HTML {
		return false
	}
	switch n.Atom() {
	case html.AtomHtml, html.AtomHead, html.AtomTitle, html.AtomBody,
		html.AtomAddress, html.AtomArticle, html.AtomAside, html.AtomBlockquote, html.AtomCenter, html.AtomDialog,
		html.AtomDd, html.AtomDetails, html.AtomDir, html.AtomDiv, html.AtomDl, html.AtomDt, html.AtomFieldset,
		html.AtomFigcaption, html.AtomFigure, html.AtomFooter, html.AtomForm, html.AtomH1, html.AtomH2,
		html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6, html.AtomHeader, html.AtomHgroup, html.AtomHr,
		html.AtomLegend, html.AtomLi, html.AtomListing, html.AtomMain, html.AtomMenu, html.AtomNav, html.AtomOl,
		html.AtomOptgroup, html.AtomOption, html.AtomP, html.AtomPlaintext, html.AtomPre, html.AtomSearch,
		html.AtomSection, html.AtomSummary, html.AtomUl, html.AtomXmp,
		html.AtomTable, html.AtomCaption, html.AtomColgroup, html.AtomCol, html.AtomThead, html.AtomTbody,
		html.AtomTfoot, html.AtomTr, html.AtomTd, html.AtomTh,
		html.AtomBr, html.AtomTextarea, html.AtomSelect, html.AtomButton, html.AtomIframe, html.AtomNoscript:
		return true
	}
	return false
}

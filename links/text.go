package links

import (
	"bytes"
	"unsafe"

	"github.com/tegenaria/tegenaria/html"
)

// inside returns the text of the link that is being yielded, whose tag the parser of the page has noted.
func (p *page) inside() string {
	tags := p.reader()
	tags.Resume(p.href)
	p.tags = tagReader{Tags: tags}
	for {
		read := tags.End()
		before := p.tags.text
		more := p.tags.next()
		if text, whole := p.collect(before, read, more); whole {
			return text
		}
	}
}

// collect adds what a reader sees between a tag inside of a link, which ends at read, and the next one, where tags stands. At
// the end of the link it returns the text.
func (p *page) collect(before textKind, read int, more bool) (text string, whole bool) {
	whole = p.tags.tag == html.AtomA || !more // links do not nest (HTML standard, section 13.2.6.4.7)
	if before != silent {
		raw := p.body[read:p.tags.Pos()]
		if whole && len(p.pieces) == 0 && isCollapsed(raw) {
			return p.text(raw), true
		}
		p.pieces = html.AppendText(p.pieces, raw)
	}
	if !whole {
		if separates(p.tags.tag) {
			p.pieces = append(p.pieces, ' ')
		}
		return "", false
	}
	p.pieces = collapse(p.pieces)
	text, p.pieces = p.text(p.pieces), p.pieces[:0]
	return text, true
}

// isCollapsed reports whether text, as it is written in a page, is what [html.AppendText] and collapse would make of it. It is
// false for some texts that are.
func isCollapsed(text []byte) bool {
	space := true
	for _, c := range text {
		switch {
		case c == ' ':
			if space {
				return false
			}
			space = true
			continue
		case c < ' ', c == '&', c == '<', c == 0xC2, c == 0xE1, c == 0xE2, c == 0xE3: // white space in UTF-8 begins with the last four
			return false
		}
		space = false
	}
	return !space || len(text) == 0
}

// collapse trims white space and makes one space of each other run of it, in place.
func collapse(text []byte) []byte {
	kept := text[:0]
	for word := range bytes.FieldsSeq(text) {
		if len(kept) > 0 {
			kept = append(kept, ' ')
		}
		kept = append(kept, word...)
	}
	return kept
}

// arenaSize is how many bytes are allocated at a time for the short texts of links, so that a page of links costs a few
// allocations rather than three for each link. A text of more than a quarter of it has memory of its own.
const arenaSize = 2 << 10

// text returns b as a string. It keeps at most arenaSize bytes of other texts in memory.
func (p *page) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > arenaSize/4 {
		return string(b)
	}
	if len(b) > len(p.arena) {
		p.arena = make([]byte, arenaSize)
	}
	n := copy(p.arena, b)
	s := unsafe.String(unsafe.SliceData(p.arena), n) // these bytes are never written again
	p.arena = p.arena[n:]
	return s
}

// separates reports whether a tag separates words: one of an element that browsers show on a line or in
// a cell of its own (HTML standard, section 15.3), of a line break, or of a title or description in SVG.
func separates(tag html.Atom) bool {
	switch tag {
	case html.AtomAddress, html.AtomArticle, html.AtomAside, html.AtomBlockquote, html.AtomCenter,
		html.AtomDd, html.AtomDetails, html.AtomDialog, html.AtomDir, html.AtomDiv, html.AtomDl,
		html.AtomDt, html.AtomFieldset, html.AtomFigcaption, html.AtomFigure, html.AtomFooter,
		html.AtomForm, html.AtomH1, html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6,
		html.AtomHeader, html.AtomHgroup, html.AtomHr, html.AtomLegend, html.AtomLi,
		html.AtomListing, html.AtomMain, html.AtomMenu, html.AtomNav, html.AtomOl, html.AtomOptgroup,
		html.AtomOption, html.AtomP, html.AtomPlaintext, html.AtomPre, html.AtomSearch,
		html.AtomSection, html.AtomSummary, html.AtomUl, html.AtomXmp,
		html.AtomTable, html.AtomCaption, html.AtomThead, html.AtomTbody, html.AtomTfoot,
		html.AtomTr, html.AtomTd, html.AtomTh,
		html.AtomBr, html.AtomTextarea, html.AtomSelect, html.AtomButton, html.AtomIframe,
		html.AtomNoscript, html.AtomTitle, html.AtomDesc:
		return true
	}
	return false
}

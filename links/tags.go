package links

import "github.com/tegenaria/tegenaria/html"

// tagReader reads the tags of a page and knows which elements are in a template or noscript. There are
// two kinds: one reads tags by html.Tags and is the fast one, the other reads tokens, for what else a
// page has and for attributes of any name.
type tagReader struct {
	tag       html.Atom // of the last tag; 0 if it is no name of HTML
	isEnd     bool      // it is an end tag
	raw       bool      // what follows up to the next tag is a script or a style sheet
	stopped   bool      // onComment or onDoctype wanted no more
	pos, end  int       // where the tag starts and ends
	templates int       // open template elements
	noscripts int       // open noscript elements

	fast *html.Tags

	z         *html.Tokenizer        // nil if fast is there
	onComment func(text []byte) bool // nil, or told of each comment
	onDoctype func(html.Doctype) bool

	// regions are the open changes between HTML and foreign content, if z does not know them: foreign
	// for svg and math, island for an element in them that holds HTML again.
	regions []region
}

type region uint8

const (
	foreign region = iota + 1
	island
)

// newTagReader makes a fast one.
func newTagReader(body []byte) tagReader { return tagReader{fast: html.NewTags(body)} }

// newTokenReader makes one that reads tokens.
func newTokenReader(body []byte) tagReader { return tagReader{z: html.NewTokenizer(body)} }

// next advances to the next tag and reports whether there is one.
func (r *tagReader) next() bool {
	if r.fast == nil {
		return r.nextOfTokens()
	}
	more := r.fast.Next()
	r.tag, r.isEnd, r.raw = r.fast.Atom(), r.fast.IsEnd(), false
	r.pos, r.end = r.fast.Pos(), r.fast.End()
	switch r.tag {
	case html.AtomTemplate, html.AtomNoscript, html.AtomScript, html.AtomStyle:
		r.count(r.fast.Foreign(), r.fast.SelfClosing())
	}
	return more
}

// count notes a tag that changes what the tags behind it mean.
func (r *tagReader) count(inForeign, selfClosing bool) {
	step := 1
	if r.isEnd {
		step = -1
	}
	switch r.tag {
	case html.AtomTemplate:
		if !inForeign {
			r.templates = max(0, r.templates+step)
		}
	case html.AtomNoscript:
		if !inForeign {
			r.noscripts = max(0, r.noscripts+step)
		}
	case html.AtomScript, html.AtomStyle:
		r.raw = !r.isEnd && !(inForeign && selfClosing)
	}
}

func (r *tagReader) nextOfTokens() bool {
	for {
		switch r.z.Next() {
		case html.EndToken:
			return r.over()
		case html.CommentToken:
			if r.onComment != nil && !r.onComment(r.z.Text()) {
				r.stopped = true
				return r.over()
			}
		case html.DoctypeToken:
			if r.onDoctype == nil {
				break
			}
			if doctype, _ := r.z.Doctype(); !r.onDoctype(doctype) {
				r.stopped = true
				return r.over()
			}
		case html.StartTagToken:
			r.read(false)
			r.start(r.z.SelfClosing())
			return true
		case html.EndTagToken:
			r.read(true)
			r.finish()
			return true
		}
	}
}

// over makes the end of the page the last tag.
func (r *tagReader) over() bool {
	r.tag, r.raw, r.pos, r.end = 0, false, r.z.Pos(), r.z.Pos()
	return false
}

func (r *tagReader) read(isEnd bool) {
	r.tag, r.isEnd, r.raw = r.z.Atom(), isEnd, false
	r.pos = r.z.Pos()
	r.end = r.pos + len(r.z.Raw())
}

// nextStart advances to the next start tag and reports whether there is one.
func (r *tagReader) nextStart() bool {
	for r.next() {
		if !r.isEnd {
			return true
		}
	}
	return false
}

func (r *tagReader) inForeign() bool {
	if r.fast != nil {
		return r.fast.Foreign()
	}
	return len(r.regions) > 0 && r.regions[len(r.regions)-1] == foreign
}

// start notes a start tag. The rules for foreign content are those of the HTML standard, section
// 13.2.6.5, as far as the names of tags decide.
func (r *tagReader) start(selfClosing bool) {
	if leavesForeign(r.tag) {
		r.leaveForeign()
	}
	r.count(r.inForeign(), selfClosing)
	if r.inForeign() {
		r.z.SetState(html.DataState, "")
		if selfClosing {
			return
		}
		if isIsland(r.tag) {
			r.regions = append(r.regions, island)
		}
	}
	if !selfClosing && (r.tag == html.AtomSvg || r.tag == html.AtomMath) {
		r.regions = append(r.regions, foreign)
	}
	r.z.AllowCDATA(r.inForeign())
}

func (r *tagReader) finish() {
	r.count(r.inForeign(), false)
	switch r.tag {
	case html.AtomP, html.AtomBr:
		r.leaveForeign()
	case html.AtomSvg, html.AtomMath:
		r.closeRegion(foreign)
	default:
		if len(r.regions) > 0 && isIsland(r.tag) {
			r.closeRegion(island)
		}
	}
	r.z.AllowCDATA(r.inForeign())
}

// leaveForeign closes SVG and MathML up to the next island.
func (r *tagReader) leaveForeign() {
	for r.inForeign() {
		r.regions = r.regions[:len(r.regions)-1]
	}
}

// closeRegion closes the innermost region of a kind and all in it.
func (r *tagReader) closeRegion(kind region) {
	for i := len(r.regions) - 1; i >= 0; i-- {
		if r.regions[i] == kind {
			r.regions = r.regions[:i]
			return
		}
	}
}

// isIsland reports whether the element holds HTML inside SVG or MathML (integration points).
func isIsland(tag html.Atom) bool {
	switch tag {
	case html.AtomForeignobject, html.AtomDesc, html.AtomTitle,
		html.AtomMi, html.AtomMo, html.AtomMn, html.AtomMs, html.AtomMtext:
		return true
	}
	return false
}

// leavesForeign reports whether a start tag ends SVG and MathML that was never closed.
func leavesForeign(tag html.Atom) bool {
	switch tag {
	case html.AtomB, html.AtomBig, html.AtomBlockquote, html.AtomBody, html.AtomBr, html.AtomCenter,
		html.AtomCode, html.AtomDd, html.AtomDiv, html.AtomDl, html.AtomDt, html.AtomEm,
		html.AtomEmbed, html.AtomH1, html.AtomH2, html.AtomH3, html.AtomH4, html.AtomH5, html.AtomH6,
		html.AtomHead, html.AtomHr, html.AtomI, html.AtomImg, html.AtomLi, html.AtomListing,
		html.AtomMenu, html.AtomMeta, html.AtomNobr, html.AtomOl, html.AtomP, html.AtomPre,
		html.AtomRuby, html.AtomS, html.AtomSmall, html.AtomSpan, html.AtomStrong, html.AtomStrike,
		html.AtomSub, html.AtomSup, html.AtomTable, html.AtomTt, html.AtomU, html.AtomUl,
		html.AtomVar:
		return true
	}
	return false
}

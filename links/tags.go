package links

import "github.com/tegenaria/tegenaria/html"

// tagReader reads the tags of a page. On top of the tokenizer it knows what the tokenizer cannot know
// without a tree: that in SVG and MathML elements such as title and style hold markup, and which
// elements are in a template or noscript.
type tagReader struct {
	z         *html.Tokenizer
	tag       html.Atom // of the last tag; 0 if it is no name of HTML
	isEnd     bool      // it is an end tag
	pos, end  int       // where it starts and ends
	raw       bool      // what follows up to the next tag is a script or a style sheet
	templates int       // open template elements
	noscripts int       // open noscript elements
	stopped   bool      // one of the next two wanted no more

	// What else a page has is told to those who ask for it. False ends the reading.
	onComment func(text []byte) bool
	onDoctype func(html.Doctype) bool

	// regions are the open changes between HTML and foreign content: foreign for svg and math,
	// island for an element in them that holds HTML again.
	regions []region
}

type region uint8

const (
	foreign region = iota + 1
	island
)

func newTagReader(body []byte) tagReader { return tagReader{z: html.NewTokenizer(body)} }

// next advances to the next tag and reports whether there is one.
func (r *tagReader) next() bool {
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
	r.tag, r.pos, r.end = 0, r.z.Pos(), r.z.Pos()
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

// attributes returns two attributes of the start tag that was just read, nil for those that are not
// there.
func (r *tagReader) attributes(name1, name2 string) (value1, value2 []byte) {
	for key, value := range r.z.Attrs() {
		switch string(key) {
		case name1:
			value1 = notNil(value)
		case name2:
			value2 = notNil(value)
		}
	}
	return value1, value2
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func (r *tagReader) inForeign() bool {
	return len(r.regions) > 0 && r.regions[len(r.regions)-1] == foreign
}

// start notes a start tag. The rules for foreign content are those of the HTML standard, section
// 13.2.6.5, as far as the names of tags decide.
func (r *tagReader) start(selfClosing bool) {
	r.raw = r.tag == html.AtomScript || r.tag == html.AtomStyle
	if leavesForeign(r.tag) {
		r.leaveForeign()
	}
	if r.inForeign() {
		r.z.SetState(html.DataState, "")
		if selfClosing {
			r.raw = false
			return
		}
		if isIsland(r.tag) {
			r.regions = append(r.regions, island)
		}
	}
	switch r.tag {
	case html.AtomSvg, html.AtomMath:
		if !selfClosing {
			r.regions = append(r.regions, foreign)
		}
	case html.AtomTemplate:
		r.templates++
	case html.AtomNoscript:
		r.noscripts++
	}
	r.z.AllowCDATA(r.inForeign())
}

func (r *tagReader) finish() {
	switch r.tag {
	case html.AtomP, html.AtomBr:
		r.leaveForeign()
	case html.AtomSvg, html.AtomMath:
		r.closeRegion(foreign)
	case html.AtomTemplate:
		r.templates = max(0, r.templates-1)
	case html.AtomNoscript:
		r.noscripts = max(0, r.noscripts-1)
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

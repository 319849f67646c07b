package links

import "github.com/tegenaria/tegenaria/html"

// tagReader reads the tags of a page and knows what is in a template or noscript, and what is no
// markup.
type tagReader struct {
	*html.Tags
	tag       html.Atom // of the last tag; 0 if it is not a name of HTML
	text      textKind  // what follows up to the next tag
	templates int       // open template elements
	noscripts int       // open noscript elements
	unseen    int       // open script and style elements of SVG or MathML, which may hold tags
}

// textKind says what stands between two tags.
type textKind uint8

const (
	markup  textKind = iota // text and comments
	rawText                 // text alone: what looks like a comment is none
	silent                  // a script or style sheet, which no reader sees
)

// next advances to the next tag and reports whether there is one.
func (r *tagReader) next() bool {
	more := r.Next()
	r.tag, r.text = r.Atom(), markup
	switch r.tag {
	case html.AtomTemplate:
		r.templates = r.count(r.templates)
	case html.AtomNoscript:
		r.noscripts = r.count(r.noscripts)
	case html.AtomScript, html.AtomStyle:
		switch {
		case !r.Foreign():
			if !r.IsEnd() {
				r.text = silent
			}
		case r.IsEnd():
			r.unseen = max(0, r.unseen-1)
		case !r.SelfClosing():
			r.unseen++
		}
	case html.AtomTitle, html.AtomTextarea, html.AtomXmp, html.AtomIframe, html.AtomNoembed,
		html.AtomNoframes, html.AtomPlaintext:
		if !r.IsEnd() && !r.Foreign() {
			r.text = rawText
		}
	}
	switch {
	case r.unseen == 0:
	case r.Foreign():
		r.text = silent
	default:
		r.unseen = 0
	}
	return more
}

// count returns how many elements are open after this tag of one, if there were n before.
func (r *tagReader) count(n int) int {
	switch {
	case r.Foreign():
		return n
	case r.IsEnd():
		return max(0, n-1)
	}
	return n + 1
}

// nextStart advances to the next start tag and reports whether there is one.
func (r *tagReader) nextStart() bool {
	for r.next() {
		if !r.IsEnd() {
			return true
		}
	}
	return false
}

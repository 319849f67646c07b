package html

// regions follow svg and math through a page as far as the names of tags tell where they begin and end:
// the changes between HTML and foreign content that are still open, innermost last. It is what [Tags]
// goes by, which sees no tree.
type regions []region

// region is a change between HTML and foreign content.
type region uint8

const (
	foreignRegion region = iota + 1 // of svg or math
	htmlRegion                      // of an element in them that holds HTML
)

// foreign reports whether what follows is in SVG or MathML.
func (r regions) foreign() bool { return len(r) > 0 && r[len(r)-1] == foreignRegion }

// start follows the start tag that s has found. It reports whether its element is one of HTML.
func (r *regions) start(s *scanner, tag Atom) bool {
	if r.foreign() && s.breaksOut(tag) {
		r.leaveForeign()
	}
	switch {
	case r.foreign():
		if !s.selfClose && isIntegrationPoint(tag) {
			*r = append(*r, htmlRegion)
		}
		return false
	case tag == AtomSvg || tag == AtomMath:
		if !s.selfClose {
			*r = append(*r, foreignRegion)
		}
		return false
	}
	return true
}

// end follows an end tag.
func (r *regions) end(tag Atom) {
	switch {
	case tag == AtomP || tag == AtomBr:
		r.leaveForeign()
	case tag == AtomSvg || tag == AtomMath:
		r.close(foreignRegion)
	case isIntegrationPoint(tag):
		r.close(htmlRegion)
	}
}

func (r *regions) leaveForeign() {
	for r.foreign() {
		*r = (*r)[:len(*r)-1]
	}
}

// close closes the innermost region of a kind, if that is the innermost of all or one below it.
func (r *regions) close(kind region) {
	open := *r
	for i := len(open) - 1; i >= max(0, len(open)-2); i-- {
		if open[i] == kind {
			*r = open[:i]
			return
		}
	}
}

// isIntegrationPoint reports whether the element of SVG or MathML with this name holds HTML.
func isIntegrationPoint(tag Atom) bool {
	switch tag {
	case AtomForeignobject, AtomDesc, AtomTitle, AtomMi, AtomMo, AtomMn, AtomMs, AtomMtext:
		return true
	}
	return false
}

// breaksOut reports whether the start tag that was found, which has this name, cannot be foreign
// (section 13.2.6.5).
func (s *scanner) breaksOut(tag Atom) bool {
	switch tag {
	case AtomB, AtomBig, AtomBlockquote, AtomBody, AtomBr, AtomCenter, AtomCode, AtomDd, AtomDiv, AtomDl,
		AtomDt, AtomEm, AtomEmbed, AtomH1, AtomH2, AtomH3, AtomH4, AtomH5, AtomH6, AtomHead, AtomHr, AtomI,
		AtomImg, AtomLi, AtomListing, AtomMenu, AtomMeta, AtomNobr, AtomOl, AtomP, AtomPre, AtomRuby, AtomS,
		AtomSmall, AtomSpan, AtomStrong, AtomStrike, AtomSub, AtomSup, AtomTable, AtomTt, AtomU, AtomUl,
		AtomVar:
		return true
	case AtomFont:
		for _, name := range [...]Atom{AtomColor, AtomFace, AtomSize} {
			if _, ok := s.attr(name); ok {
				return true
			}
		}
	}
	return false
}

// attr returns the value, as it is written, of an attribute of the tag that was found, and whether there
// is one. The name has to be a static atom.
func (s *scanner) attr(name Atom) (value []byte, ok bool) {
	text := atomNames[atomEnds[name-1]:atomEnds[name]]
	for i := range s.attrs {
		a := &s.attrs[i]
		if a.nameEnd-a.name != len(text) {
			continue
		}
		raw := s.src[a.name:a.nameEnd]
		if string(raw) == text || a.odd && equalFold(raw, text) {
			return s.src[a.value:a.valueEnd:a.valueEnd], true
		}
	}
	return nil, false
}

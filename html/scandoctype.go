package html

import "bytes"

// rawDoctype is a document type as written. A range that starts at 0 is missing: nothing of a
// document type can be at the start of a source.
type rawDoctype struct {
	name, public, system span
	forceQuirks          bool
}

// span is a range of bytes.
type span struct{ start, end uint32 }

// scanDoctype takes a document type from the position after its keyword (sections 13.2.5.53 to
// 13.2.5.68).
func (s *scanner) scanDoctype(pos int) {
	src := s.src
	s.kind = DoctypeToken
	s.doctype = rawDoctype{}
	d := &s.doctype

	pos = s.skipSpace(pos)
	if pos >= len(src) || src[pos] == '>' {
		d.forceQuirks = true
		s.endDoctype(pos)
		return
	}
	start := pos
	for pos < len(src) && src[pos] != '>' && class[src[pos]]&isSpace == 0 {
		pos++
	}
	d.name = span{uint32(start), uint32(pos)}
	pos = s.skipSpace(pos)
	if pos >= len(src) {
		d.forceQuirks = true
		s.endDoctype(pos)
		return
	}
	if src[pos] == '>' {
		s.endDoctype(pos)
		return
	}
	var ok bool
	rest := src[pos:]
	switch {
	case len(rest) >= 6 && equalFold(rest[:6], "public"):
		if pos, ok = s.identifier(s.skipSpace(pos+6), &d.public); !ok {
			return
		}
		pos = s.skipSpace(pos)
		if pos < len(src) && src[pos] == '>' {
			s.endDoctype(pos)
			return
		}
	case len(rest) >= 6 && equalFold(rest[:6], "system"):
		pos = s.skipSpace(pos + 6)
	default:
		d.forceQuirks = true
		s.bogusDoctype(pos)
		return
	}
	if pos, ok = s.identifier(pos, &d.system); !ok {
		return
	}
	// What follows the system identifier is ignored; only a missing > makes quirks.
	pos = s.skipSpace(pos)
	if pos >= len(src) {
		d.forceQuirks = true
	}
	s.bogusDoctype(pos)
}

// identifier takes the quoted identifier at pos. Without a whole one it ends the document type, which
// then forces quirks, and reports false.
func (s *scanner) identifier(pos int, to *span) (after int, ok bool) {
	src := s.src
	if pos >= len(src) || src[pos] == '>' {
		s.doctype.forceQuirks = true
		s.endDoctype(pos)
		return 0, false
	}
	quote := src[pos]
	if quote != '"' && quote != '\'' {
		s.doctype.forceQuirks = true
		s.bogusDoctype(pos)
		return 0, false
	}
	pos++
	start := pos
	for pos < len(src) && src[pos] != quote && src[pos] != '>' {
		pos++
	}
	*to = span{uint32(start), uint32(pos)}
	if pos >= len(src) || src[pos] == '>' {
		s.doctype.forceQuirks = true
		s.endDoctype(pos)
		return 0, false
	}
	return pos + 1, true
}

// endDoctype ends a document type at the > at pos or at the end of the source.
func (s *scanner) endDoctype(pos int) { s.pos = min(pos+1, len(s.src)) }

// bogusDoctype skips the rest of a document type.
func (s *scanner) bogusDoctype(pos int) {
	if i := bytes.IndexByte(s.src[pos:], '>'); i >= 0 {
		s.pos = pos + i + 1
		return
	}
	s.pos = len(s.src)
}

func (s *scanner) skipSpace(pos int) int {
	for pos < len(s.src) && class[s.src[pos]]&isSpace != 0 {
		pos++
	}
	return pos
}

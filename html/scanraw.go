package html

import "bytes"

// nextRaw takes the next token outside of the data state. It reports false if there is none before
// the state changes back.
func (s *scanner) nextRaw() bool {
	s.kind, s.from, s.start, s.textState = TextToken, s.pos, s.pos, s.state
	switch s.state {
	case PlaintextState:
		s.end = len(s.src)
	case CDATAState:
		s.state = DataState
		if i := bytes.Index(s.src[s.pos:], sectionEnd); i >= 0 {
			s.end = s.pos + i
			s.pos = s.end + len(sectionEnd)
			return s.end > s.start
		}
		s.end = len(s.src)
	case ScriptState:
		s.end = s.scriptEnd(s.pos)
		s.state = DataState
	default:
		s.end = s.rawEnd(s.pos)
		s.state = DataState
	}
	s.pos = s.end
	return s.end > s.start
}

var sectionEnd = []byte("]]>")

// endTagAt reports whether the < at pos begins the end tag that ends the present state (an
// appropriate end tag token, section 13.2.5).
func (s *scanner) endTagAt(pos int) bool {
	src := s.src
	end := pos + 2 + len(s.until)
	return end < len(src) && src[pos+1] == '/' && class[src[end]]&endsName != 0 &&
		len(s.until) > 0 && equalFold(src[pos+2:end], s.until)
}

// rawEnd returns the position of the end tag that ends rcdata or rawtext.
func (s *scanner) rawEnd(pos int) int {
	for {
		i := bytes.IndexByte(s.src[pos:], '<')
		if i < 0 {
			return len(s.src)
		}
		pos += i
		if s.endTagAt(pos) {
			return pos
		}
		pos++
	}
}

// scriptEnd returns the position of the end tag that ends script data. Inside of <!-- and --> a
// script may hold a <script> of its own, whose end tag ends nothing (sections 13.2.5.15 to
// 13.2.5.31).
func (s *scanner) scriptEnd(pos int) int {
	src := s.src
	for {
		i := bytes.IndexByte(src[pos:], '<')
		if i < 0 {
			return len(src)
		}
		pos += i
		if s.endTagAt(pos) {
			return pos
		}
		if !bytes.HasPrefix(src[pos:], commentStart) {
			pos++
			continue
		}
		// The two dashes may be those of the end: <!--> and <!--->.
		var end bool
		if pos, end = s.escapedEnd(pos + 2); end {
			return pos
		}
	}
}

var commentStart = []byte("<!--")

// escapedEnd goes through the escaped part of a script from its dashes on. It returns the position
// after the --> with which that part ends, or, with end true, that of the end tag of the script or
// of the end of the source.
func (s *scanner) escapedEnd(pos int) (after int, end bool) {
	src := s.src
	double := false // inside of a <script> in the escaped part
	for pos < len(src) {
		switch src[pos] {
		case '-':
			if pos+2 < len(src) && src[pos+1] == '-' && src[pos+2] == '>' {
				return pos + 3, false
			}
		case '<':
			if !double {
				if s.endTagAt(pos) {
					return pos, true
				}
				if isScriptName(src[pos+1:]) {
					double = true
				}
			} else if pos+1 < len(src) && src[pos+1] == '/' && isScriptName(src[pos+2:]) {
				double = false
			}
		default:
			// Only these two bytes matter; the search for them is short where they are many.
			i := bytes.IndexAny(src[pos:], "<-")
			if i < 0 {
				return len(src), true
			}
			pos += i
			continue
		}
		pos++
	}
	return len(src), true
}

// isScriptName reports whether a source goes on with the name script and an end of the name.
func isScriptName(rest []byte) bool {
	const name = "script"
	return len(rest) > len(name) && class[rest[len(name)]]&endsName != 0 && equalFold(rest[:len(name)], name)
}

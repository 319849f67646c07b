package html

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// scanner cuts a source into tokens by the rules of section 13.2.5. It knows no names: what it finds
// are ranges of the source. A whole source is at hand, so the states of the standard become searches
// for the byte that ends them.
type scanner struct {
	src []byte
	pos int

	// The state is set from outside after a start tag, as the tree builder of the standard does.
	state State
	until string // the name of the end tag that ends rcdata, rawtext and script data

	// The token that next found.
	kind       TokenKind
	start, end int // of text or the data of a comment; of the name of a tag
	from       int // of the token: the position of its <
	textState  State
	odd        bool // the name of the tag has upper case or NUL
	selfClose  bool
	attrs      []rawAttr
	doctype    rawDoctype

	maxAttrs int  // of a tag; 0: no bound
	first    bool // more than firstAttrs are passed over
	over     *rawAttr
}

// rawAttr is an attribute as written.
type rawAttr struct {
	name, nameEnd   int
	value, valueEnd int
	odd             bool // the name has upper case or NUL
}

// Classes of bytes. Carriage returns count as line feeds everywhere (section 13.2.3.5).
const (
	isSpace     = 1 << iota // tab, line feed, form feed, carriage return, space
	endsName                // the name of a tag: white space, / and >
	endsAttr                // the name of an attribute: those and =
	endsValue               // a value without quotes: white space and >
	oddClass                // upper case and NUL
	letterClass             // of ASCII
	alnumClass              // letters and digits of ASCII
	markupClass             // what makes markup of the < before it: a letter, / ! ?
)

var class = [256]uint8{
	0:    oddClass,
	'\t': isSpace | endsName | endsAttr | endsValue,
	'\n': isSpace | endsName | endsAttr | endsValue,
	'\f': isSpace | endsName | endsAttr | endsValue,
	'\r': isSpace | endsName | endsAttr | endsValue,
	' ':  isSpace | endsName | endsAttr | endsValue,
	'/':  endsName | endsAttr | markupClass,
	'>':  endsName | endsAttr | endsValue,
	'=':  endsAttr,
	'!':  markupClass,
	'?':  markupClass,

	'0': alnumClass, '1': alnumClass, '2': alnumClass, '3': alnumClass, '4': alnumClass,
	'5': alnumClass, '6': alnumClass, '7': alnumClass, '8': alnumClass, '9': alnumClass,

	'a': lower, 'b': lower, 'c': lower, 'd': lower, 'e': lower, 'f': lower, 'g': lower, 'h': lower,
	'i': lower, 'j': lower, 'k': lower, 'l': lower, 'm': lower, 'n': lower, 'o': lower, 'p': lower,
	'q': lower, 'r': lower, 's': lower, 't': lower, 'u': lower, 'v': lower, 'w': lower, 'x': lower,
	'y': lower, 'z': lower,

	'A': upper, 'B': upper, 'C': upper, 'D': upper, 'E': upper, 'F': upper, 'G': upper, 'H': upper,
	'I': upper, 'J': upper, 'K': upper, 'L': upper, 'M': upper, 'N': upper, 'O': upper, 'P': upper,
	'Q': upper, 'R': upper, 'S': upper, 'T': upper, 'U': upper, 'V': upper, 'W': upper, 'X': upper,
	'Y': upper, 'Z': upper,
}

const (
	lower = letterClass | alnumClass | markupClass
	upper = lower | oddClass
)

// next finds the next token; its kind is EndToken at the end of the source.
func (s *scanner) next() {
	for {
		if s.pos >= len(s.src) {
			s.kind, s.from = EndToken, len(s.src)
			return
		}
		if s.state != DataState {
			if s.nextRaw() {
				return
			}
			continue
		}
		if s.src[s.pos] != '<' || !s.markupAt(s.pos) {
			s.text()
			return
		}
		if s.markup() {
			return
		}
	}
}

// markupAt reports whether the < at pos begins something other than text.
func (s *scanner) markupAt(pos int) bool {
	if pos+1 >= len(s.src) || class[s.src[pos+1]]&markupClass == 0 {
		return false
	}
	return s.src[pos+1] != '/' || pos+2 < len(s.src)
}

// text takes the text up to the next markup.
func (s *scanner) text() {
	s.kind, s.from, s.start, s.textState = TextToken, s.pos, s.pos, DataState
	pos := s.pos
	if s.src[pos] == '<' {
		pos++
	}
	for {
		if pos = s.nextLess(pos); pos == len(s.src) || s.markupAt(pos) {
			break
		}
		pos++
	}
	s.end, s.pos = pos, pos
}

// nextLess returns the position of the next <, that of the end of the source if there is none.
func (s *scanner) nextLess(pos int) int {
	// Much text between tags is a line feed or a word, for which a call costs more than the search.
	if pos+8 <= len(s.src) {
		const ones = 0x0101010101010101
		w := binary.LittleEndian.Uint64(s.src[pos:]) ^ '<'*ones
		if zero := (w - ones) & ^w & (0x80 * ones); zero != 0 {
			return pos + bits.TrailingZeros64(zero)>>3
		}
		pos += 8
	}
	if i := bytes.IndexByte(s.src[pos:], '<'); i >= 0 {
		return pos + i
	}
	return len(s.src)
}

// markup takes the markup at pos, which markupAt has seen. It reports false if that gives no token:
// </> and a tag that the end of the source cuts off.
func (s *scanner) markup() bool {
	s.from = s.pos
	switch c := s.src[s.pos+1]; {
	case class[c]&letterClass != 0:
		s.kind = StartTagToken
		return s.tag(s.pos + 1)
	case c == '/':
		c := s.src[s.pos+2]
		if class[c]&letterClass != 0 {
			s.kind = EndTagToken
			return s.tag(s.pos + 2)
		}
		if c == '>' {
			s.pos += 3
			return false
		}
		s.bogus(s.pos + 2)
		return true
	case c == '?':
		s.bogus(s.pos + 1)
		return true
	}
	return s.declaration()
}

// declaration takes what begins with <! (markup declaration open state).
func (s *scanner) declaration() bool {
	rest := s.src[s.pos+2:]
	switch {
	case len(rest) >= 2 && rest[0] == '-' && rest[1] == '-':
		s.comment(s.pos + 4)
		return true
	case len(rest) >= 7 && equalFold(rest[:7], "doctype"):
		s.scanDoctype(s.pos + 9)
		return true
	case len(rest) >= 7 && string(rest[:7]) == "[CDATA[":
		// Only the tree knows whether this is a section or a comment.
		s.kind = sectionToken
		return true
	}
	s.bogus(s.pos + 2)
	return true
}

// sectionToken is the token that next finds at <![CDATA[. The caller goes on with section or with
// bogus.
const sectionToken TokenKind = 255

// section takes <![CDATA[ as the start of a section of text.
func (s *scanner) section() {
	s.pos += len("<![CDATA[")
	s.state = CDATAState
}

// bogus takes a bogus comment whose data starts at pos.
func (s *scanner) bogus(pos int) {
	s.kind, s.start = CommentToken, pos
	if i := bytes.IndexByte(s.src[pos:], '>'); i >= 0 {
		s.end = pos + i
		s.pos = s.end + 1
		return
	}
	s.end, s.pos = len(s.src), len(s.src)
}

// comment takes a comment whose data starts at pos.
func (s *scanner) comment(pos int) {
	src := s.src
	s.kind, s.start = CommentToken, pos
	// <!--> and <!---> are whole comments.
	if rest := src[pos:]; len(rest) > 0 && rest[0] == '>' {
		s.end, s.pos = pos, pos+1
		return
	} else if len(rest) > 1 && rest[0] == '-' && rest[1] == '>' {
		s.end, s.pos = pos, pos+2
		return
	}
	for at := pos; ; {
		i := bytes.Index(src[at:], dashes)
		if i < 0 {
			break
		}
		at += i
		switch {
		case at+2 < len(src) && src[at+2] == '>':
			s.end, s.pos = at, at+3
			return
		case at+3 < len(src) && src[at+2] == '!' && src[at+3] == '>':
			s.end, s.pos = at, at+4
			return
		}
		at++
	}
	// The source ends inside: what may have been the beginning of the end is no data.
	s.end, s.pos = len(src), len(src)
	data := src[pos:]
	for _, tail := range [...]string{"--!", "--", "-"} {
		if len(data) >= len(tail) && string(data[len(data)-len(tail):]) == tail {
			s.end -= len(tail)
			return
		}
	}
}

var dashes = []byte("--")

// tag takes the tag whose name starts at pos.
func (s *scanner) tag(pos int) bool {
	src := s.src
	s.start = pos
	var seen uint8
	for pos < len(src) {
		c := class[src[pos]]
		if c&endsName != 0 {
			break
		}
		seen |= c
		pos++
	}
	s.end, s.odd, s.selfClose = pos, seen&oddClass != 0, false
	s.attrs = s.attrs[:0]
	if pos < len(src) && src[pos] == '>' {
		s.pos = pos + 1
		return true
	}
	return s.attributes(pos)
}

// attributes takes the attributes of a tag and its end. It reports false if the source ends before.
func (s *scanner) attributes(pos int) bool {
	src := s.src
	for {
		for pos < len(src) && class[src[pos]]&isSpace != 0 {
			pos++
		}
		if pos >= len(src) {
			s.pos = len(src)
			return false
		}
		switch src[pos] {
		case '>':
			s.pos = pos + 1
			return true
		case '/':
			pos++
			if pos < len(src) && src[pos] == '>' {
				s.selfClose = true
				s.pos = pos + 1
				return true
			}
			continue
		}
		var a *rawAttr
		if n := len(s.attrs); n < cap(s.attrs) {
			s.attrs = s.attrs[:n+1]
			a = &s.attrs[n]
		} else {
			a = s.growAttrs()
		}
		a.name = pos
		// A = at the start belongs to the name.
		seen := class[src[pos]]
		pos++
		for pos < len(src) {
			c := class[src[pos]]
			if c&endsAttr != 0 {
				break
			}
			seen |= c
			pos++
		}
		a.nameEnd, a.odd = pos, seen&oddClass != 0
		for pos < len(src) && class[src[pos]]&isSpace != 0 {
			pos++
		}
		if pos < len(src) && src[pos] == '=' {
			pos++
			for pos < len(src) && class[src[pos]]&isSpace != 0 {
				pos++
			}
			if pos >= len(src) {
				s.pos = len(src)
				return false
			}
			switch quote := src[pos]; quote {
			case '"', '\'':
				pos++
				a.value = pos
				i := bytes.IndexByte(src[pos:], quote)
				if i < 0 {
					s.pos = len(src)
					return false
				}
				pos += i
				a.valueEnd = pos
				pos++
			default:
				a.value = pos
				for pos < len(src) && class[src[pos]]&endsValue == 0 {
					pos++
				}
				a.valueEnd = pos
			}
		} else {
			a.value, a.valueEnd = a.nameEnd, a.nameEnd
		}
	}
}

// equalFold compares bytes with a text in lower case, ignoring the case of ASCII letters.
func equalFold(b []byte, lowerCase string) bool {
	if len(b) != len(lowerCase) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lowerCase[i] {
			return false
		}
	}
	return true
}

// firstAttrs is how many attributes of a tag [Tags] knows.
const firstAttrs = 1 << 16

// growAttrs makes room for another attribute of the tag, and adds it.
func (s *scanner) growAttrs() *rawAttr {
	if s.first && len(s.attrs) >= firstAttrs {
		if s.over == nil {
			s.over = new(rawAttr)
		}
		return s.over
	}
	if n := len(s.attrs); s.maxAttrs > 0 && n >= s.maxAttrs {
		panic(refusal{&LimitError{What: "attributes", Limit: s.maxAttrs, Pos: s.from}})
	}
	s.attrs = append(s.attrs, rawAttr{})
	return &s.attrs[len(s.attrs)-1]
}

// refusal is what ends a parser that meets too many attributes: it panics with it and catches it.
type refusal struct{ err error }

// caught makes an error of a panic with a refusal; the deferred func has recovered v.
func caught(v any, err *error) {
	if v == nil {
		return
	}
	no, ok := v.(refusal)
	if !ok {
		panic(v)
	}
	*err = no.err
}

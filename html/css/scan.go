package css

import (
	"strings"
	"unicode/utf8"
)

// space is the white space of CSS (CSS Syntax, section 4.2, after preprocessing: CR and FF count as
// line feeds).
const space = " \t\r\n\f"

// scanner reads the tokens that selectors are made of (CSS Syntax Level 3, section 4). Strings,
// functions and brackets that the end of the text leaves open are errors here, not closed silently
// as in a style sheet: a cut selector is a mistake in a program.
type scanner struct {
	text string
	pos  int // of the next byte
}

// fail makes the error for the given place in the text.
func (s *scanner) fail(pos int, message string) *SyntaxError {
	return &SyntaxError{Query: s.text, Offset: pos, Message: message}
}

func (s *scanner) atEnd() bool { return s.pos >= len(s.text) }

// peek returns the next byte, or 0 at the end.
func (s *scanner) peek() byte { return s.peekAt(0) }

func (s *scanner) peekAt(i int) byte {
	if s.pos+i < len(s.text) {
		return s.text[s.pos+i]
	}
	return 0
}

// accept steps over c if it comes next.
func (s *scanner) accept(c byte) bool {
	if s.peek() != c || s.atEnd() {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) expect(c byte) error {
	if s.accept(c) {
		return nil
	}
	return s.fail(s.pos, "expected "+string(rune(c))+", found "+s.found())
}

// found names what comes next, for messages.
func (s *scanner) found() string {
	if s.atEnd() {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(s.text[s.pos:])
	return "\"" + string(r) + "\""
}

// skipSpace steps over white space and comments. It reports whether there was white space; a
// comment alone separates nothing.
func (s *scanner) skipSpace() (spaced bool, err error) {
	for !s.atEnd() {
		switch {
		case strings.IndexByte(space, s.text[s.pos]) >= 0:
			s.pos++
			spaced = true
		case strings.HasPrefix(s.text[s.pos:], "/*"):
			n := strings.Index(s.text[s.pos+2:], "*/")
			if n < 0 {
				return spaced, s.fail(s.pos, "comment is not closed")
			}
			s.pos += n + 4
		default:
			return spaced, nil
		}
	}
	return spaced, nil
}

func isNameStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

func isNameByte(c byte) bool { return isNameStart(c) || isDigit(c) || c == '-' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// startsEscape reports whether a valid escape is i bytes ahead (CSS Syntax, section 4.3.8).
func (s *scanner) startsEscape(i int) bool {
	if s.peekAt(i) != '\\' || s.pos+i+1 >= len(s.text) {
		return false
	}
	c := s.peekAt(i + 1)
	return c != '\n' && c != '\r' && c != '\f'
}

// startsIdent reports whether an identifier comes next (CSS Syntax, section 4.3.9).
func (s *scanner) startsIdent() bool {
	if s.peek() == '-' {
		return s.peekAt(1) == '-' || isNameStart(s.peekAt(1)) || s.startsEscape(1)
	}
	return isNameStart(s.peek()) || s.startsEscape(0)
}

// ident reads an identifier, which what is.
func (s *scanner) ident(what string) (string, error) {
	if !s.startsIdent() {
		return "", s.fail(s.pos, "expected "+what+", found "+s.found())
	}
	return s.name(), nil
}

// name reads the longest sequence of name code points and escapes, which may be none (CSS Syntax,
// section 4.3.11).
func (s *scanner) name() string {
	start := s.pos
	for isNameByte(s.peek()) {
		s.pos++
	}
	if !s.startsEscape(0) {
		return s.text[start:s.pos]
	}
	b := []byte(s.text[start:s.pos])
	for {
		switch {
		case isNameByte(s.peek()):
			b = append(b, s.peek())
			s.pos++
		case s.startsEscape(0):
			b = s.escape(b)
		default:
			return string(b)
		}
	}
}

// escape reads a valid escape and appends what it means (CSS Syntax, section 4.3.7).
func (s *scanner) escape(b []byte) []byte {
	s.pos++ // the backslash
	if digit(s.peek()) < 0 {
		r, size := utf8.DecodeRuneInString(s.text[s.pos:])
		s.pos += size
		if r == 0 {
			r = utf8.RuneError
		}
		return utf8.AppendRune(b, r)
	}
	r := rune(0)
	for range 6 {
		d := digit(s.peek())
		if d < 0 {
			break
		}
		r = r<<4 | rune(d)
		s.pos++
	}
	if s.peek() == '\r' && s.peekAt(1) == '\n' {
		s.pos++
	}
	if !s.atEnd() && strings.IndexByte(space, s.peek()) >= 0 {
		s.pos++
	}
	if r == 0 {
		r = utf8.RuneError
	}
	return utf8.AppendRune(b, r) // surrogates and numbers that are too large become U+FFFD too
}

// digit returns the value of a hexadecimal digit, or -1.
func digit(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// quoted reads a string in quotes (CSS Syntax, section 4.3.5).
func (s *scanner) quoted() (string, error) {
	start, quote := s.pos, s.peek()
	s.pos++
	var b []byte
	for !s.atEnd() {
		switch c := s.peek(); {
		case c == quote:
			s.pos++
			return string(b), nil
		case c == '\n' || c == '\r' || c == '\f':
			return "", s.fail(start, "string is not closed on its line")
		case s.startsEscape(0):
			b = s.escape(b)
		case c == '\\': // at the end of a line, which it joins to the next
			s.pos++
			if s.peek() == '\r' && s.peekAt(1) == '\n' {
				s.pos++
			}
			if !s.atEnd() {
				s.pos++
			}
		default:
			b = append(b, c)
			s.pos++
		}
	}
	return "", s.fail(start, "string is not closed")
}

// word reads a string in quotes or an identifier, which what is.
func (s *scanner) word(what string) (string, error) {
	if c := s.peek(); c == '"' || c == '\'' {
		return s.quoted()
	}
	return s.ident(what)
}

// raw reads up to the closing delimiter that nothing opened, and not the delimiter itself: a
// regular expression. Parentheses count as pairs, but not behind a backslash or in a class.
func (s *scanner) raw(closing byte) (string, error) {
	start, open, class := s.pos, 0, -1 // class is where the present character class starts
	for ; !s.atEnd(); s.pos++ {
		switch c := s.peek(); {
		case c == '\\':
			s.pos++
		case class >= 0:
			// A bracket that comes first is one of the characters.
			first := s.pos == class+1 || s.pos == class+2 && s.text[class+1] == '^'
			if n := strings.Index(s.text[s.pos:], ":]"); c == '[' && s.peekAt(1) == ':' && n > 0 {
				s.pos += n + 1 // a named class such as [:alpha:]
			} else if c == ']' && !first {
				class = -1
			}
		case c == closing && open == 0:
			return s.text[start:s.pos], nil
		case c == '[':
			class = s.pos
		case c == '(':
			open++
		case c == ')':
			open--
		}
	}
	return "", s.fail(start, "regular expression is not closed by "+string(rune(closing)))
}

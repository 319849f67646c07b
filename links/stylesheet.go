package links

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// sheet reads the URLs of a style sheet, or of a style attribute: those of url() and of @import (CSS
// Syntax Level 3, section 4; CSS Values and Units Level 4, section 4.5). It looks at tokens only, so
// that what stands in strings and comments is none, and what stands in a rule that a browser would
// drop is one.
type sheet struct {
	css       []byte
	buf       []byte // a URL with escapes
	namespace bool   // the last at-keyword, not yet over, is @namespace: its URL is a name
	imports   bool   // the last token, white space and comments aside, is @import
	ended     byte   // what ended the last URL or string, 0 for the end of the sheet
}

// eachURL calls f for each URL until f returns false.
func (s *sheet) eachURL(f func(url []byte) bool) bool {
	for len(s.css) > 0 {
		switch c := s.css[0]; {
		case c == '/' && len(s.css) > 1 && s.css[1] == '*':
			_, rest, _ := bytes.Cut(s.css[2:], []byte("*/"))
			s.css = rest
			continue
		case isSpace(c):
			s.css = s.css[1:]
			continue
		case c == '"' || c == '\'':
			url, ok := s.quoted()
			if ok && s.imports && !f(url) {
				return false
			}
		case c == '@':
			s.css = s.css[1:]
			name := s.ident()
			s.imports = equalFold(name, "import")
			s.namespace = equalFold(name, "namespace")
			continue
		case c == ';' || c == '{':
			s.css, s.namespace = s.css[1:], false
		case c == '#' || '0' <= c && c <= '9':
			s.css = s.css[1:]
			s.ident() // "#url" is a hash, "1url" a dimension
		case isIdent(c):
			name := s.ident()
			if !equalFold(name, "url") || len(s.css) == 0 || s.css[0] != '(' {
				break
			}
			s.css = s.css[1:]
			url, ok := s.url()
			if ok && !s.namespace && !f(url) {
				return false
			}
		default:
			s.css = s.css[1:]
		}
		s.imports = false
	}
	return true
}

// ident takes an identifier. One with escapes is returned as it is written: "url" is not written so.
func (s *sheet) ident() []byte {
	i := 0
	for i < len(s.css) && (isIdent(s.css[i]) || '0' <= s.css[i] && s.css[i] <= '9') {
		if s.css[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(s.css))
	name := s.css[:i]
	s.css = s.css[i:]
	return name
}

func isIdent(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_' || c == '\\' || c >= utf8.RuneSelf
}

// url takes what follows "url(".
func (s *sheet) url() ([]byte, bool) {
	s.css = bytes.TrimLeft(s.css, asciiSpace)
	if len(s.css) > 0 && (s.css[0] == '"' || s.css[0] == '\'') {
		return s.quoted() // a function with a string; what follows, modifiers and ")", is read as tokens
	}
	url, ok := s.until(func(c byte) (ends, bad bool) {
		return c == ')' || isSpace(c), c == '"' || c == '\'' || c == '('
	})
	rest := bytes.TrimLeft(s.css, asciiSpace)
	if ok && s.ended != ')' && len(rest) > 0 {
		ok = rest[0] == ')' // white space inside makes it a bad one
	}
	if !ok {
		_, s.css, _ = bytes.Cut(s.css, []byte(")"))
	}
	return url, ok
}

// quoted takes a string. One that a line ends is broken and counts for nothing.
func (s *sheet) quoted() ([]byte, bool) {
	quote := s.css[0]
	s.css = s.css[1:]
	return s.until(func(c byte) (ends, bad bool) {
		return c == quote, c == '\n' || c == '\r' || c == '\f'
	})
}

// until takes the text up to a byte that ends it, with escapes replaced. The end of the sheet ends
// everything.
func (s *sheet) until(stop func(byte) (ends, bad bool)) ([]byte, bool) {
	css := s.css
	s.buf = s.buf[:0]
	from := 0 // what lies behind is in buf, once there was an escape
	for i := 0; i < len(css); {
		ends, bad := stop(css[i])
		switch {
		case ends || bad:
			s.css, s.ended = css[i+1:], css[i]
			return s.text(css[from:i]), ends
		case css[i] == '\\':
			s.buf = append(s.buf, css[from:i]...)
			i += s.escape(css[i+1:]) + 1
			from = min(i, len(css))
		default:
			i++
		}
	}
	s.css, s.ended = nil, 0
	return s.text(css[from:]), true
}

func (s *sheet) text(last []byte) []byte {
	if len(s.buf) == 0 {
		return last
	}
	s.buf = append(s.buf, last...)
	return s.buf
}

// escape appends what an escape means, where b is the text after the backslash, and returns its
// length (section 4.3.7). An escaped end of line is nothing.
func (s *sheet) escape(b []byte) int {
	n := 0
	for n < len(b) && n < 6 && isHex(b[n]) {
		n++
	}
	if n > 0 {
		r, _ := strconv.ParseUint(string(b[:n]), 16, 32)
		if r == 0 || r > utf8.MaxRune || 0xd800 <= r && r <= 0xdfff {
			r = utf8.RuneError
		}
		s.buf = utf8.AppendRune(s.buf, rune(r))
		if n+1 < len(b) && b[n] == '\r' && b[n+1] == '\n' {
			return n + 2
		}
		if n < len(b) && isSpace(b[n]) {
			n++
		}
		return n
	}
	switch {
	case len(b) == 0:
		return 0
	case b[0] == '\r' && len(b) > 1 && b[1] == '\n':
		return 2
	case b[0] == '\n' || b[0] == '\r' || b[0] == '\f':
		return 1
	}
	_, size := utf8.DecodeRune(b)
	s.buf = append(s.buf, b[:size]...)
	return size
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

package pipeline

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// mode is what is done to a text.
type mode struct {
	control, nfc, collapse, trim bool
	lines                        bool // line breaks stay
}

// CleanText returns a text as [Clean] leaves it: without control characters and byte order marks, in NFC, with one
// space for each run of white space, and without white space at its ends. Bytes that are not UTF-8 become U+FFFD. A
// text that is clean is returned as it is; cleaning twice changes nothing more.
func CleanText(s string) string {
	return mode{control: true, nfc: true, collapse: true, trim: true}.clean(s)
}

// CleanLines returns a text as [CleanText] does, but its lines stay: each is cleaned by itself, CR LF and the other
// line ends of Unicode become "\n", of several empty lines one is left, and there is none at the ends.
func CleanLines(s string) string {
	return mode{control: true, nfc: true, collapse: true, trim: true, lines: true}.clean(s)
}

// clean cleans a text. Control characters go first, because two characters that NFC joins may come together then; white space
// comes last, because NFC makes some.
func (m mode) clean(s string) string {
	if m.isClean(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	if m.control {
		s = strings.Map(withoutControl, s)
	}
	if m.nfc {
		s = norm.NFC.String(s)
	}
	switch {
	case m.lines:
		return m.cleanLines(s)
	case m.collapse:
		s = collapsed(s)
	}
	if m.trim {
		s = strings.TrimFunc(s, isSpace)
	}
	return s
}

// isClean reports whether a text is of ASCII and clean. It finds that out in one pass, and most texts are.
func (m mode) isClean(s string) bool {
	if len(s) == 0 {
		return true
	}
	if m.trim && (s[0] <= ' ' || s[len(s)-1] <= ' ') {
		return false
	}
	space := false
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c >= 0x7f:
			return false
		case c == ' ' && space && m.collapse:
			return false
		default:
			space = c == ' '
		}
	}
	return true
}

// isSpace reports whether a character is white space: what Unicode calls so, and among it the control characters that separate words.
func isSpace(r rune) bool { return unicode.IsSpace(r) }

// withoutControl takes out control characters that are no white space, and byte order marks.
func withoutControl(r rune) rune {
	if unicode.IsControl(r) && !isSpace(r) || r == '\ufeff' {
		return -1
	}
	return r
}

// collapsed makes one space of each run of white space.
func collapsed(s string) string {
	if isCollapsed(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range s {
		if isSpace(r) {
			space = true
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	if space {
		b.WriteByte(' ')
	}
	return b.String()
}

// isCollapsed reports whether all white space is single spaces.
func isCollapsed(s string) bool {
	space := false
	for _, r := range s {
		if isSpace(r) && (space || r != ' ') {
			return false
		}
		space = r == ' '
	}
	return true
}

// lineEnds makes "\n" of the line ends that Unicode knows.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n\n")

// cleanLines cleans each line.
func (m mode) cleanLines(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	empty := 0
	for line := range strings.SplitSeq(lineEnds.Replace(s), "\n") {
		if m.collapse {
			line = collapsed(line)
		}
		if m.trim {
			line = strings.TrimFunc(line, isSpace)
		}
		if line == "" && m.collapse {
			empty++
			continue
		}
		if b.Len() > 0 || !m.trim && empty > 0 {
			b.WriteString("\n\n"[:min(empty, 1)+1])
		}
		b.WriteString(line)
		empty = 0
	}
	return b.String()
}

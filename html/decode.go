package html

import (
	"bytes"
	"unicode/utf8"
)

// nulRule says what becomes of U+0000.
type nulRule uint8

const (
	keepNUL    nulRule = iota // the tokenizer alone leaves it to the tree builder
	dropNUL                   // in HTML content
	replaceNUL                // by U+FFFD, everywhere else
)

const replacement = "\uFFFD"

// needsDecoding reports whether something in raw text is not what it stands for: a character
// reference, a carriage return (section 13.2.3.5) or a NUL.
func needsDecoding(raw []byte) bool {
	return bytes.IndexByte(raw, '&') >= 0 || bytes.IndexByte(raw, '\r') >= 0 || bytes.IndexByte(raw, 0) >= 0
}

// appendText appends raw text: with references in data and rcdata, without in the other modes.
func appendText(dst, raw []byte, references bool, nul nulRule) []byte {
	return appendDecoded(dst, raw, references, false, nul)
}

// appendValue appends the value of an attribute.
func appendValue(dst, raw []byte) []byte {
	return appendDecoded(dst, raw, true, true, replaceNUL)
}

func appendDecoded(dst, raw []byte, references, inValue bool, nul nulRule) []byte {
	done := 0
	var room [16]byte
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '&':
			if !references {
				i++
				continue
			}
			text, n, decoded := appendReference(room[:0], raw[i:], inValue)
			if decoded {
				dst = append(dst, raw[done:i]...)
				dst = append(dst, text...)
				done = i + n
			}
			i += n
		case '\r':
			dst = append(dst, raw[done:i]...)
			i++
			done = i
			if i == len(raw) || raw[i] != '\n' {
				dst = append(dst, '\n')
			}
		case 0:
			dst = append(dst, raw[done:i]...)
			i++
			done = i
			switch nul {
			case keepNUL:
				dst = append(dst, 0)
			case replaceNUL:
				dst = append(dst, replacement...)
			}
		default:
			i++
		}
	}
	return append(dst, raw[done:]...)
}

// appendReference appends what the character reference at the start of raw, which is an &, stands
// for, and returns how many bytes it has. If it is none, decoded is false and n is how many bytes
// are plain text for certain (sections 13.2.5.72 to 13.2.5.80).
func appendReference(dst, raw []byte, inValue bool) (_ []byte, n int, decoded bool) {
	if len(raw) < 2 {
		return dst, 1, false
	}
	switch c := raw[1]; {
	case c == '#':
		return appendNumeric(dst, raw)
	case class[c]&alnumClass == 0:
		return dst, 1, false
	}
	end := 1
	for end < len(raw) && end <= maxEntity && class[raw[end]]&alnumClass != 0 {
		end++
	}
	if end < len(raw) && raw[end] == ';' {
		if e := findEntity(raw[1 : end+1]); e > 0 {
			return append(dst, entityText(e)...), end + 1, true
		}
	}
	// Without a semicolon only the names of HTML 2 to 4 count, of which the longest that fits wins.
	for n := min(end, maxOldEntity+1); n > 2; n-- {
		e := findEntity(raw[1:n])
		if e == 0 {
			continue
		}
		if inValue && n < len(raw) && (raw[n] == '=' || class[raw[n]]&alnumClass != 0) {
			break
		}
		return append(dst, entityText(e)...), n, true
	}
	return dst, 1, false
}

const (
	maxEntity    = 32 // the length of the longest name of an entity
	maxOldEntity = 6  // the same of those that need no semicolon
)

// findEntity returns the number of the entity with a name, 0 if there is none. A name that needs a
// semicolon has it.
func findEntity(name []byte) int {
	at := hashOf(name) >> (32 - entityBits)
	for range entityProbes {
		e := entitySlots[at&(1<<entityBits-1)]
		if e == 0 {
			return 0
		}
		if entityNames[entityEnds[e-1].name:entityEnds[e].name] == string(name) {
			return int(e)
		}
		at++
	}
	return 0
}

func entityText(e int) string { return entityTexts[entityEnds[e-1].text:entityEnds[e].text] }

// appendNumeric appends what the reference &#… at the start of raw stands for.
func appendNumeric(dst, raw []byte) (_ []byte, n int, decoded bool) {
	const tooLarge = utf8.MaxRune + 1
	i, base := 2, rune(10)
	if i < len(raw) && raw[i]|0x20 == 'x' {
		i, base = 3, 16
	}
	first := i
	r := rune(0)
	for ; i < len(raw); i++ {
		digit := rune(0)
		switch c := raw[i]; {
		case '0' <= c && c <= '9':
			digit = rune(c - '0')
		case base == 16 && 'a' <= c|0x20 && c|0x20 <= 'f':
			digit = rune(c|0x20-'a') + 10
		default:
			digit = -1
		}
		if digit < 0 {
			break
		}
		r = min(r*base+digit, tooLarge)
	}
	if i == first {
		return dst, i, false
	}
	if i < len(raw) && raw[i] == ';' {
		i++
	}
	switch {
	case 0x80 <= r && r <= 0x9f:
		r = windows1252[r-0x80]
	case r == 0 || r > utf8.MaxRune:
		r = utf8.RuneError
	}
	return utf8.AppendRune(dst, r), i, true
}

// windows1252 is what references to the control characters U+0080 to U+009F stand for (section
// 13.2.5.80, numeric character reference end state).
var windows1252 = [32]rune{
	'\u20AC', '\u0081', '\u201A', '\u0192', '\u201E', '\u2026', '\u2020', '\u2021',
	'\u02C6', '\u2030', '\u0160', '\u2039', '\u0152', '\u008D', '\u017D', '\u008F',
	'\u0090', '\u2018', '\u2019', '\u201C', '\u201D', '\u2022', '\u2013', '\u2014',
	'\u02DC', '\u2122', '\u0161', '\u203A', '\u0153', '\u009D', '\u017E', '\u0178',
}

// appendName appends a name as written: with upper case turned to lower case and NUL replaced.
func appendName(dst, raw []byte) []byte {
	for _, c := range raw {
		switch {
		case 'A' <= c && c <= 'Z':
			dst = append(dst, c+'a'-'A')
		case c == 0:
			dst = append(dst, replacement...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

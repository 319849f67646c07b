package html

import (
	"bytes"
	"unicode/utf8"
)

// xmlEntity is what a reference in XML stands for that is not expanded.
type xmlEntity struct {
	name []byte // nil: the & starts no reference
	pos  int    // in the text that was decoded
}

// appendXML appends raw text or, with inValue, the value of an attribute, in XML: references replaced,
// line ends normalised (XML 1.0, section 2.11), white space in values turned into spaces (section
// 3.3.3). The references are those to characters, the five predefined entities (section 4.6) and, if
// known, the entities of HTML; of others the first is returned and all are left as they are.
func appendXML(dst, raw []byte, inValue, known bool) (_ []byte, first *xmlEntity) {
	done := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '&':
			n, text := xmlReference(raw[i:], known)
			if text == nil {
				if first == nil {
					first = &xmlEntity{pos: i}
					if n > 2 && raw[i+n-1] == ';' {
						first.name = raw[i+1 : i+n-1]
					}
				}
				continue
			}
			dst = append(dst, raw[done:i]...)
			dst = append(dst, text...)
			i += n - 1
			done = i + 1
		case '\r', '\n', '\t':
			if c != '\r' && !inValue {
				continue
			}
			dst = append(dst, raw[done:i]...)
			if c == '\r' && i+1 < len(raw) && raw[i+1] == '\n' {
				i++
			}
			done = i + 1
			if inValue {
				dst = append(dst, ' ')
			} else {
				dst = append(dst, '\n')
			}
		}
	}
	return append(dst, raw[done:]...), first
}

// xmlReference returns the length of the reference that raw starts with and what it stands for, nil if
// that is not to be known.
func xmlReference(raw []byte, known bool) (n int, text []byte) {
	end := bytes.IndexByte(raw[:min(len(raw), maxReference)], ';')
	if end < 2 {
		return 1, nil
	}
	if raw[1] == '#' {
		r, ok := xmlCharacter(raw[2:end])
		if !ok {
			return 1, nil
		}
		return end + 1, utf8.AppendRune(nil, r)
	}
	for i, c := range raw[1:end] {
		if !isXMLName(c, i == 0) {
			return 1, nil
		}
	}
	switch string(raw[1:end]) {
	case "amp":
		return end + 1, raw[:1]
	case "lt":
		return end + 1, []byte("<")
	case "gt":
		return end + 1, []byte(">")
	case "quot":
		return end + 1, []byte(`"`)
	case "apos":
		return end + 1, []byte("'")
	}
	if known {
		if e := findEntity(raw[1 : end+1]); e > 0 {
			return end + 1, []byte(entityText(e))
		}
	}
	return end + 1, nil
}

// maxReference is the longest reference that is looked at, in bytes.
const maxReference = 64

// xmlCharacter reads the digits of a character reference (XML 1.0, section 4.1).
func xmlCharacter(digits []byte) (r rune, ok bool) {
	base := rune(10)
	if len(digits) > 0 && digits[0] == 'x' {
		base, digits = 16, digits[1:]
	}
	for _, c := range digits {
		d := rune(-1)
		switch {
		case '0' <= c && c <= '9':
			d = rune(c - '0')
		case base == 16 && 'a' <= c|0x20 && c|0x20 <= 'f':
			d = rune(c|0x20-'a') + 10
		}
		if d < 0 {
			return 0, false
		}
		if r = r*base + d; r > utf8.MaxRune {
			return 0, false
		}
	}
	return r, len(digits) > 0 && isXMLChar(r)
}

// isXMLChar reports whether XML allows a character (XML 1.0, section 2.2).
func isXMLChar(r rune) bool {
	return r >= 0x20 && r <= 0xD7FF || r == '\t' || r == '\n' || r == '\r' ||
		r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= utf8.MaxRune
}

// isXMLName reports whether a byte can be in a name, or first in one (XML 1.0, section 2.3). Beyond
// ASCII all is allowed: telling letters from others there would refuse more good names than bad ones.
func isXMLName(c byte, first bool) bool {
	if class[c]&letterClass != 0 || c == '_' || c == ':' || c >= utf8.RuneSelf {
		return true
	}
	return !first && (class[c]&alnumClass != 0 || c == '-' || c == '.')
}

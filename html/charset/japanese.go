package charset

import "unicode/utf8"

// halfwidth is the distance between a byte of the half-width katakana and its code point.
const halfwidth = 0xff61 - 0xa1

// decodeEUCJP is the decoder of EUC-JP (Encoding standard, section 12.1.1).
func decodeEUCJP(dst, b []byte) []byte {
	table := jis0208Pairs()
	for len(b) > 0 {
		c := b[0]
		if c < utf8.RuneSelf {
			var n int
			dst, n = appendASCII(dst, b)
			b = b[n:]
			continue
		}
		r, size := replacement, 1
		switch {
		case c != 0x8e && c != 0x8f && c < 0xa1 || c == 0xff || len(b) == 1:
		case c == 0x8e && 0xa1 <= b[1] && b[1] <= 0xdf:
			r, size = rune(b[1])+halfwidth, 2
		case c == 0x8f && isRow(b[1]):
			size = 2
			if len(b) > 2 {
				if isRow(b[2]) {
					r = jis0212Pairs().at(b[1], b[2])
				}
				size = 1 + pairSize(r, b[2])
			}
		case isRow(c) && isRow(b[1]):
			r, size = table.at(c, b[1]), 2
		default:
			size = pairSize(r, b[1])
		}
		dst = utf8.AppendRune(dst, r)
		b = b[size:]
	}
	return dst
}

// isRow reports whether a byte is one of the 94 that rows and cells of the JIS tables are named by.
func isRow(c byte) bool { return 0xa1 <= c && c <= 0xfe }

// decodeShiftJIS is the decoder of Shift_JIS (section 12.3.1).
func decodeShiftJIS(dst, b []byte) []byte {
	table := shiftJISPairs()
	for len(b) > 0 {
		c := b[0]
		if c < utf8.RuneSelf {
			var n int
			dst, n = appendASCII(dst, b)
			b = b[n:]
			continue
		}
		r, size := replacement, 1
		switch {
		case c == 0x80:
			r = 0x80
		case 0xa1 <= c && c <= 0xdf:
			r = rune(c) + halfwidth
		case c == 0xa0 || c > 0xfc || len(b) == 1:
		case 0xf0 <= c && c <= 0xf9:
			r = userDefined(c, b[1])
			size = pairSize(r, b[1])
		default:
			r = table.at(c, b[1])
			size = pairSize(r, b[1])
		}
		dst = utf8.AppendRune(dst, r)
		b = b[size:]
	}
	return dst
}

// userDefined decodes the rows of Shift_JIS that stand for private characters: pointers 8836 to
// 10715 are U+E000 and on.
func userDefined(lead, trail byte) rune {
	if trail < 0x40 || trail == 0x7f || trail > 0xfc {
		return replacement
	}
	cell := rune(trail - 0x40)
	if trail > 0x7f {
		cell--
	}
	return 0xe000 + rune(lead-0xf0)*188 + cell
}

// The states of the ISO-2022-JP decoder.
type jisState uint8

const (
	jisASCII jisState = iota
	jisRoman
	jisKatakana
	jisLead
)

// decodeISO2022JP is the decoder of ISO-2022-JP (section 12.2.1). Its states "trail byte", "escape
// start" and "escape" are looks ahead here.
func decodeISO2022JP(b []byte) []byte {
	dst := make([]byte, 0, multibyteSize(b))
	table := jis0208Pairs()
	state := jisASCII
	escaped := false // an escape sequence was the last that was read: another one is an error
	for len(b) > 0 {
		c := b[0]
		if c == 0x1b {
			next, ok := escapeSequence(b)
			if !ok {
				dst, escaped, b = append(dst, "\uFFFD"...), false, b[1:]
				continue
			}
			if escaped {
				dst = append(dst, "\uFFFD"...)
			}
			state, escaped, b = next, true, b[3:]
			continue
		}
		r, size := replacement, 1
		switch state {
		case jisASCII, jisRoman:
			switch {
			case c == 0x0e || c == 0x0f || c >= utf8.RuneSelf:
			case state == jisRoman && c == '\\':
				r = '¥'
			case state == jisRoman && c == '~':
				r = '‾'
			default:
				r = rune(c)
			}
		case jisKatakana:
			if 0x21 <= c && c <= 0x5f {
				r = rune(c) + halfwidth + 0x80
			}
		case jisLead:
			if c < 0x21 || 0x7e < c {
				break
			}
			switch {
			case len(b) == 1: // the end makes one error with it
			case b[1] == 0x1b: // read again, as the beginning of an escape sequence
			case b[1] < 0x21 || 0x7e < b[1]:
				size = 2
			default:
				r, size = table.at(c|0x80, b[1]|0x80), 2
			}
		}
		dst, escaped, b = utf8.AppendRune(dst, r), false, b[size:]
	}
	return dst
}

// escapeSequence reads the escape sequence that b begins with.
func escapeSequence(b []byte) (state jisState, ok bool) {
	if len(b) < 3 {
		return 0, false
	}
	switch string(b[1:3]) {
	case "(B":
		return jisASCII, true
	case "(J":
		return jisRoman, true
	case "(I":
		return jisKatakana, true
	case "$@", "$B":
		return jisLead, true
	}
	return 0, false
}

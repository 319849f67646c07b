package charset

import "unicode/utf8"

// The decoders of this file share the standard's rule for a pair of bytes that means nothing: an
// ASCII byte is read again, for it may be the end of an attribute or a tag; another one is lost.

const replacement = utf8.RuneError

// pairSize is how many bytes of a pair are used up.
func pairSize(r rune, trail byte) int {
	if r == replacement && trail < utf8.RuneSelf {
		return 1
	}
	return 2
}

// decodeGB18030 is the decoder of gb18030 and of GBK (Encoding standard, section 10.2.1).
func decodeGB18030(dst, b []byte) []byte {
	table := gb18030Pairs()
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
			r = '€'
		case c == 0xff || len(b) == 1:
		case '0' <= b[1] && b[1] <= '9':
			r, size = gb18030Four(b)
		default:
			r = table.at(c, b[1])
			size = pairSize(r, b[1])
		}
		dst = utf8.AppendRune(dst, r)
		b = b[size:]
	}
	return dst
}

// gb18030Four decodes a character of four bytes, whose first two are known to be in range.
func gb18030Four(b []byte) (r rune, size int) {
	switch {
	case len(b) > 2 && (b[2] < 0x81 || b[2] == 0xff):
		return replacement, 1
	case len(b) > 3 && (b[3] < '0' || '9' < b[3]):
		return replacement, 1
	case len(b) < 4:
		return replacement, len(b)
	}
	pointer := ((int(b[0]-0x81)*10+int(b[1]-'0'))*126+int(b[2]-0x81))*10 + int(b[3]-'0')
	switch {
	case pointer == 7457:
		return 0xe7c7, 4
	case pointer < gb18030Ranges:
		r = gb18030Fours()[pointer]
	case 189000 <= pointer && pointer <= 1237575:
		return rune(pointer-189000) + 0x10000, 4
	default:
		r = replacement
	}
	return r, 4
}

// decodeBig5 is the decoder of Big5 (section 11.1.1).
func decodeBig5(dst, b []byte) []byte {
	table := big5Pairs()
	for len(b) > 0 {
		c := b[0]
		if c < utf8.RuneSelf {
			var n int
			dst, n = appendASCII(dst, b)
			b = b[n:]
			continue
		}
		r, size := replacement, 1
		if c != 0x80 && c != 0xff && len(b) > 1 {
			// Four pairs mean a letter with an accent that has no code point of its own.
			switch uint(c)<<8 | uint(b[1]) {
			case 0x8862:
				dst, r = append(dst, "\u00CA"...), 0x304
			case 0x8864:
				dst, r = append(dst, "\u00CA"...), 0x30c
			case 0x88a3:
				dst, r = append(dst, "\u00EA"...), 0x304
			case 0x88a5:
				dst, r = append(dst, "\u00EA"...), 0x30c
			default:
				r = table.at(c, b[1])
			}
			size = pairSize(r, b[1])
		}
		dst = utf8.AppendRune(dst, r)
		b = b[size:]
	}
	return dst
}

// decodeEUCKR is the decoder of EUC-KR (section 13.1.1).
func decodeEUCKR(dst, b []byte) []byte {
	table := eucKRPairs()
	for len(b) > 0 {
		c := b[0]
		if c < utf8.RuneSelf {
			var n int
			dst, n = appendASCII(dst, b)
			b = b[n:]
			continue
		}
		r, size := replacement, 1
		if c != 0x80 && c != 0xff && len(b) > 1 {
			r = table.at(c, b[1])
			size = pairSize(r, b[1])
		}
		dst = utf8.AppendRune(dst, r)
		b = b[size:]
	}
	return dst
}

package charset

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Decode returns a page as UTF-8, without byte order mark, and its encoding as [Detect] found it.
// The text is a part of body, not a copy, where body is valid UTF-8 or ASCII; it must not be changed
// then unless body may be. What is malformed becomes U+FFFD.
func Decode(body []byte, contentType string) (text []byte, e Encoding, source Source) {
	e, source, bom := detect(body, contentType)
	body = body[bom:]
	if source == ByValidity {
		return body, e, source
	}
	return e.Decode(body), e, source
}

// Decode returns text as UTF-8. Malformed input becomes U+FFFD by the rules of the encoding's
// decoder in the Encoding standard, sections 8 to 14, error mode "replacement". A byte order mark
// stays ("decode without BOM"). What is valid UTF-8 for all that is known, as UTF-8 or as ASCII, is
// returned as it is, without a copy.
func (e Encoding) Decode(text []byte) []byte {
	switch e {
	case UTF8:
		if utf8.Valid(text) {
			return text
		}
		return decodeUTF8(text)
	case UTF16BE, UTF16LE:
		return decodeUTF16(text, e == UTF16BE)
	case ISO2022JP:
		return decodeISO2022JP(text)
	case Replacement:
		if len(text) == 0 {
			return text
		}
		return []byte("\uFFFD")
	}
	n := asciiLen(text)
	if n == len(text) {
		return text
	}
	// A character of one byte takes at most three, one of two bytes seldom more than three.
	dst := append(make([]byte, 0, n+(len(text)-n)*3/2+utf8.UTFMax), text[:n]...)
	text = text[n:]
	switch e {
	case GBK, GB18030:
		return decodeGB18030(dst, text)
	case Big5:
		return decodeBig5(dst, text)
	case EUCJP:
		return decodeEUCJP(dst, text)
	case ShiftJIS:
		return decodeShiftJIS(dst, text)
	case EUCKR:
		return decodeEUCKR(dst, text)
	}
	return decodeSingle(dst, text, e.single())
}

// asciiLen returns how many bytes at the beginning are ASCII.
func asciiLen(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if high := binary.LittleEndian.Uint64(b[i:]) & 0x8080808080808080; high != 0 {
			return i + bits.TrailingZeros64(high)/8
		}
	}
	for ; i < len(b) && b[i] < utf8.RuneSelf; i++ {
	}
	return i
}

// appendASCII appends the ASCII that b begins with, and says how much it was.
func appendASCII(dst, b []byte) ([]byte, int) {
	n := asciiLen(b)
	return append(dst, b[:n]...), n
}

// decodeUTF8 makes one U+FFFD of each maximal part of a character (Encoding standard, section
// 8.1.1): of the bytes that could begin one, and are not continued.
func decodeUTF8(b []byte) []byte {
	dst := make([]byte, 0, len(b)+len(b)/8+utf8.UTFMax)
	for len(b) > 0 {
		var n int
		if dst, n = appendASCII(dst, b); n > 0 {
			b = b[n:]
			continue
		}
		if r, size := utf8.DecodeRune(b); r != utf8.RuneError || size > 1 {
			dst = append(dst, b[:size]...)
			b = b[size:]
			continue
		}
		dst = append(dst, "\uFFFD"...)
		b = b[brokenLen(b):]
	}
	return dst
}

// brokenLen is the length of the broken character that b begins with.
func brokenLen(b []byte) int {
	size := 1
	first, last := byte(0x80), byte(0xbf)
	switch c := b[0]; {
	case 0xc2 <= c && c <= 0xdf:
		size = 2
	case 0xe0 <= c && c <= 0xef:
		size = 3
		if c == 0xe0 {
			first = 0xa0
		}
		if c == 0xed {
			last = 0x9f
		}
	case 0xf0 <= c && c <= 0xf4:
		size = 4
		if c == 0xf0 {
			first = 0x90
		}
		if c == 0xf4 {
			last = 0x8f
		}
	}
	n := 1
	for ; n < size && n < len(b) && first <= b[n] && b[n] <= last; n++ {
		first, last = 0x80, 0xbf
	}
	return n
}

// decodeUTF16 is the shared UTF-16 decoder (Encoding standard, section 14.2).
func decodeUTF16(b []byte, bigEndian bool) []byte {
	dst := make([]byte, 0, len(b)*3/4+utf8.UTFMax)
	unit := func(i int) rune {
		if bigEndian {
			return rune(b[i])<<8 | rune(b[i+1])
		}
		return rune(b[i+1])<<8 | rune(b[i])
	}
	i := 0
	for ; i+1 < len(b); i += 2 {
		r := unit(i)
		if utf16.IsSurrogate(r) {
			low := rune(0)
			switch {
			case i+3 < len(b):
				low = unit(i + 2)
			case r < 0xdc00: // a half at the end is one error together with what is left of its other half
				return append(dst, "\uFFFD"...)
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				i += 2
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	if i < len(b) {
		dst = append(dst, "\uFFFD"...)
	}
	return dst
}

// decodeSingle decodes an encoding of one byte a character (section 9).
func decodeSingle(dst, b []byte, high *[128]rune) []byte {
	for len(b) > 0 {
		c := b[0]
		if c < utf8.RuneSelf {
			var n int
			dst, n = appendASCII(dst, b)
			b = b[n:]
			continue
		}
		dst = utf8.AppendRune(dst, high[c-utf8.RuneSelf])
		b = b[1:]
	}
	return dst
}

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

// DecodeCharged is Decode that asks for the memory of the text before it makes a copy of body, and gives back what that did
// not need. An error of grow is returned, with what was detected.
func DecodeCharged(body []byte, contentType string, grow func(bytes int64) error) (text []byte, e Encoding, source Source, err error) {
	e, source, bom := detect(body, contentType)
	body = body[bom:]
	if source == ByValidity {
		return body, e, source, nil
	}
	size := e.most(body)
	if size == 0 {
		return e.Decode(body), e, source, nil
	}
	if err := grow(size); err != nil {
		return nil, e, source, err
	}
	text = e.Decode(body)
	if rest := size - int64(cap(text)); rest > 0 {
		return text, e, source, grow(-rest)
	}
	return text, e, source, nil
}

// most returns how much memory Decode may take, 0 if it makes no copy.
func (e Encoding) most(text []byte) int64 {
	switch e {
	case UTF8:
		if utf8.Valid(text) {
			return 0
		}
		return int64(utf8Size(text))
	case UTF16BE, UTF16LE:
		return int64(utf16Size(text, e == UTF16BE))
	case ISO2022JP:
		return int64(multibyteSize(text))
	case Replacement:
		return 0
	}
	n := asciiLen(text)
	if n == len(text) {
		return 0
	}
	if !e.isMultibyte() {
		return int64(e.singleSize(text[n:]) + n)
	}
	return int64(n + multibyteSize(text[n:]))
}

// multibyteSize returns how much memory the text of an encoding of several bytes a character takes: a byte makes three at
// most, where it is malformed or of half width, and two bytes do as a rule.
func multibyteSize(b []byte) int {
	if len(b) < large {
		return len(b)*3/2 + utf8.UTFMax
	}
	return len(b)*3 + utf8.UTFMax
}

// isMultibyte reports whether characters may have several bytes.
func (e Encoding) isMultibyte() bool {
	switch e {
	case UTF8, UTF16BE, UTF16LE, ISO2022JP, GBK, GB18030, Big5, EUCJP, ShiftJIS, EUCKR:
		return true
	}
	return false
}

// large is the size in bytes from which on the memory of a text is found by counting. A smaller text may take some more
// than it needs.
const large = 64 << 10

// utf8Size returns how much memory decodeUTF8 takes.
func utf8Size(b []byte) int {
	if len(b) < large {
		return len(b) + len(b)/8 + utf8.UTFMax
	}
	return len(b) + 2*malformed(b) + utf8.UTFMax
}

// utf16Size returns how much memory decodeUTF16 takes.
func utf16Size(b []byte, bigEndian bool) int {
	if len(b) < large {
		return len(b)*3/4 + utf8.UTFMax
	}
	size, high := 2*utf8.UTFMax, 1
	if bigEndian {
		high = 0
	}
	for i := 0; i+1 < len(b); i += 2 {
		switch unit := uint16(b[i+high])<<8 | uint16(b[i+1-high]); {
		case unit < utf8.RuneSelf:
			size++
		case unit < 0x800:
			size += 2
		default: // half of a pair has two, if it is one
			size += 3
		}
	}
	return size
}

// singleSize returns how much memory the text of an encoding of one byte a character takes.
func (e Encoding) singleSize(b []byte) int {
	if len(b) < large {
		return len(b)*3/2 + utf8.UTFMax
	}
	var counts [256]int
	for _, c := range b {
		counts[c]++
	}
	size := utf8.UTFMax
	table := e.single()
	for c, n := range counts {
		switch {
		case c < utf8.RuneSelf:
			size += n
		default:
			size += n * utf8.RuneLen(table[c-utf8.RuneSelf])
		}
	}
	return size
}

// malformed returns how many bytes begin no character.
func malformed(b []byte) (n int) {
	for len(b) > 0 {
		if ascii := asciiLen(b); ascii > 0 {
			b = b[ascii:]
			continue
		}
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			n++
			size = brokenLen(b)
		}
		b = b[size:]
	}
	return n
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
	room := multibyteSize(text[n:])
	if !e.isMultibyte() {
		room = e.singleSize(text[n:])
	}
	dst := append(make([]byte, 0, n+room), text[:n]...)
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
	dst := make([]byte, 0, utf8Size(b))
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
	dst := make([]byte, 0, utf16Size(b, bigEndian))
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

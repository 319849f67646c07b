package charset

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Decode returns a page as UTF-8, without byte order mark, and its encoding as [Detect] found it.
// The text is a part of body, not a copy, where body is valid UTF-8 or ASCII; it must not be changed
// then unless body may be. What is malformed becomes U+FFFD.
func Decode(body []byte, contentType string) (text []byte, e Encoding, source Source) {
	text, e, source, _ = DecodeWithin(body, contentType, math.MaxInt)
	return text, e, source
}

// DecodeWithin is Decode with a bound on the copy that it makes of a body: if the text would have more than most bytes, ok is
// false, and there is no text. Of a text that is a part of body there may be more.
func DecodeWithin(body []byte, contentType string, most int) (text []byte, e Encoding, source Source, ok bool) {
	e, source, bom := detect(body, contentType)
	if text = body[bom:]; source == ByValidity {
		return text, e, source, true
	}
	text, ok = e.decode(text, most)
	return text, e, source, ok
}

// Decode returns text as UTF-8, as the decoder of golang.org/x/text reads it. Malformed input becomes
// U+FFFD. A byte order mark stays ("decode without BOM"). What is valid UTF-8 as far as it was looked at,
// as UTF-8 or as ASCII, is returned as it is, without a copy.
func (e Encoding) Decode(text []byte) []byte {
	text, _ = e.decode(text, math.MaxInt)
	return text
}

// large is the size in bytes from which on the length of a decoded text is found by decoding it twice, so that its memory is
// not taken in steps.
const large = 256 << 10

// decode is Decode with a bound on the copy that it makes. ok is false if it would have more than most bytes.
func (e Encoding) decode(text []byte, most int) (decoded []byte, ok bool) {
	plain := e.plainLen(text)
	if plain == len(text) {
		return text, true
	}
	if e == GBK {
		e = GB18030 // which adds characters of four bytes; the standard has one decoder for both
	}
	decoder, rest := e.text().NewDecoder(), text[plain:]
	size := plain
	if longest := plain + 3*len(rest); len(rest) < large && longest <= most { // a byte is U+FFFD at most
		size += len(rest) * 3 / 2 // a character of two bytes takes three as a rule
	} else if size += decodedLen(decoder, rest); size > most {
		return nil, false
	}
	decoded, _, _ = transform.Append(decoder, append(make([]byte, 0, size+utf8.UTFMax), text[:plain]...), rest)
	return decoded, true
}

// plainLen returns how many bytes at the beginning of text are the same in UTF-8.
func (e Encoding) plainLen(text []byte) int {
	switch e {
	case UTF8:
		if utf8.Valid(text) {
			return len(text)
		}
		return 0
	case UTF16BE, UTF16LE, ISO2022JP, Replacement:
		return 0
	}
	return asciiLen(text)
}

// decodedLen returns how many bytes decoder makes of text.
func decodedLen(decoder *encoding.Decoder, text []byte) (size int) {
	buf := make([]byte, 4<<10)
	for {
		n, read, err := decoder.Transform(buf, text, true)
		size, text = size+n, text[read:]
		if err == nil { // the only error is that of a full buffer
			return size
		}
	}
}

// text returns the encoding as golang.org/x/text has it; UTF-8 for one that is unknown.
func (e Encoding) text() encoding.Encoding {
	if known, err := htmlindex.Get(e.String()); err == nil {
		return known
	}
	return unicode.UTF8
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

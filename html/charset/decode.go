package charset

import (
	"encoding/binary"
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
	text, e, source, _ = DecodeCharged(body, contentType, free)
	return text, e, source
}

// DecodeCharged is Decode that asks for the memory of the text before it makes a copy of body. An error of grow is
// returned, with what was detected.
func DecodeCharged(body []byte, contentType string, grow func(bytes int64) error) (text []byte, e Encoding, source Source, err error) {
	e, source, bom := detect(body, contentType)
	text = body[bom:]
	if source != ByValidity {
		text, err = e.decode(text, grow)
	}
	return text, e, source, err
}

// Decode returns text as UTF-8, as the decoder of golang.org/x/text reads it. Malformed input becomes
// U+FFFD. A byte order mark stays ("decode without BOM"). What is valid UTF-8 for all that is known,
// as UTF-8 or as ASCII, is returned as it is, without a copy.
func (e Encoding) Decode(text []byte) []byte {
	text, _ = e.decode(text, free)
	return text
}

// free grants all memory.
func free(int64) error { return nil }

// large is the size in bytes from which on the memory of a text is found by decoding it twice. A smaller text may take
// more or less than it asks for.
const large = 256 << 10

// decode is Decode that asks for the memory of a copy before it makes one.
func (e Encoding) decode(text []byte, grow func(bytes int64) error) ([]byte, error) {
	plain := e.plainLen(text)
	if plain == len(text) {
		return text, nil
	}
	if e == GBK {
		e = GB18030 // which adds characters of four bytes; the standard has one decoder for both
	}
	decoder, rest := e.text().NewDecoder(), text[plain:]
	size := plain + utf8.UTFMax
	if len(rest) < large {
		size += len(rest) * 3 / 2 // a character of two bytes takes three as a rule
	} else {
		size += decodedLen(decoder, rest)
	}
	if err := grow(int64(size)); err != nil {
		return nil, err
	}
	decoded, _, _ := transform.Append(decoder, append(make([]byte, 0, size), text[:plain]...), rest)
	return decoded, nil
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

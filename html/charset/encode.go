package charset

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
)

// AppendReference appends a reference that a page of this encoding has, relative or not, with its
// query as [Encoding.AppendQuery] writes it and all else as it is. It is for http and https, where
// browsers do so.
func (e Encoding) AppendReference(dst []byte, ref string) []byte {
	ref, fragment, hasFragment := strings.Cut(ref, "#")
	path, query, hasQuery := strings.Cut(ref, "?")
	dst = append(dst, path...)
	if hasQuery {
		dst = e.AppendQuery(append(dst, '?'), query)
	}
	if hasFragment {
		dst = append(append(dst, '#'), fragment...)
	}
	return dst
}

// AppendQuery appends what browsers make of the query of a URL in a page of this encoding: each
// character beyond ASCII in the encoding's bytes, percent-encoded, and as the percent-encoded form of
// &#1234; if the encoding has none for it. ASCII stays as it is (URL standard, section 4.4, query
// state; "percent-encode after encoding", section 1.3). Invalid UTF-8 counts as U+FFFD.
func (e Encoding) AppendQuery(dst []byte, query string) []byte {
	return e.encode(dst, query, appendPercent, "%26%23", "%3B")
}

// AppendForm appends text as browsers send it in a form of this encoding: in the encoding's bytes, and
// as &#1234; where the encoding has none for a character (Encoding standard, section 6, "encode" with
// the error mode "html"). Invalid UTF-8 counts as U+FFFD.
func (e Encoding) AppendForm(dst []byte, text string) []byte {
	if e.Output() == UTF8 {
		if utf8.ValidString(text) {
			return append(dst, text...)
		}
		for _, r := range text {
			dst = utf8.AppendRune(dst, r)
		}
		return dst
	}
	return e.encode(dst, text, func(dst []byte, c byte) []byte { return append(dst, c) }, "&#", ";")
}

// encode appends text with the bytes of each character beyond ASCII as put writes them, and between before and
// after the number of a character that the encoding lacks.
func (e Encoding) encode(dst []byte, text string, put func(dst []byte, c byte) []byte, before, after string) []byte {
	var encoder *encoding.Encoder
	var out [16]byte
	shifted := false // ISO-2022-JP has left ASCII
	shiftBack := func() {
		if shifted {
			for _, c := range []byte("\x1b(B") {
				dst = put(dst, c)
			}
			shifted = false
			encoder.Reset()
		}
	}
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			shiftBack()
			dst = append(dst, text[i])
			i++
			continue
		}
		if encoder == nil {
			encoder = e.Output().text().NewEncoder()
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		n, _, err := encoder.Transform(out[:], []byte(string(r)), false)
		if err != nil {
			shiftBack()
			dst = append(dst, before...)
			dst = strconv.AppendInt(dst, int64(r), 10)
			dst = append(dst, after...)
			continue
		}
		for _, c := range out[:n] {
			dst = put(dst, c)
		}
		shifted = e == ISO2022JP
	}
	shiftBack()
	return dst
}

// appendPercent appends a byte, percent-encoded if it is in the special-query percent-encode set.
func appendPercent(dst []byte, c byte) []byte {
	const hex = "0123456789ABCDEF"
	if c <= ' ' || c >= 0x7f || c == '"' || c == '#' || c == '<' || c == '>' || c == '\'' {
		return append(dst, '%', hex[c>>4], hex[c&15])
	}
	return append(dst, c)
}

package charset

import "strings"

// Encoding is one of the encodings of the Encoding standard, section 4.2. The zero value is UTF-8.
type Encoding uint8

// The encodings, in the order of the standard.
const (
	UTF8 Encoding = iota
	IBM866
	ISO8859_2
	ISO8859_3
	ISO8859_4
	ISO8859_5
	ISO8859_6
	ISO8859_7
	ISO8859_8
	ISO8859_8I
	ISO8859_10
	ISO8859_13
	ISO8859_14
	ISO8859_15
	ISO8859_16
	KOI8R
	KOI8U
	Macintosh
	Windows874
	Windows1250
	Windows1251
	Windows1252
	Windows1253
	Windows1254
	Windows1255
	Windows1256
	Windows1257
	Windows1258
	XMacCyrillic
	GBK
	GB18030
	Big5
	EUCJP
	ISO2022JP
	ShiftJIS
	EUCKR
	Replacement // a U+FFFD for any content: stands for encodings that invite attacks
	UTF16BE
	UTF16LE
	XUserDefined

	encodings = iota
)

// String returns the name that the standard gives the encoding, such as "UTF-8" or "windows-1252".
func (e Encoding) String() string {
	if int(e) >= encodings {
		return "unknown"
	}
	return names[e]
}

// Lookup returns the encoding that a label means, in any case and with ASCII white space around it
// ("get an encoding", Encoding standard, section 4.2). "latin1", for example, is windows-1252.
func Lookup(label string) (Encoding, bool) {
	label = strings.Trim(label, asciiSpace)
	if len(label) == len("utf-8") && strings.EqualFold(label, "utf-8") {
		return UTF8, true
	}
	var buf [maxLabel]byte
	if len(label) > len(buf) {
		return 0, false
	}
	for i := range len(label) {
		buf[i] = lower(label[i])
	}
	e, ok := labelled()[string(buf[:len(label)])]
	return e, ok
}

// Output returns the encoding that replaces e where a page is written to, such as in forms and in
// the queries of URLs: UTF-8 for Replacement and UTF-16 ("get an output encoding", section 4.3).
func (e Encoding) Output() Encoding {
	switch e {
	case Replacement, UTF16BE, UTF16LE:
		return UTF8
	}
	return e
}

const asciiSpace = "\t\n\f\r "

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

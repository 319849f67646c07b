package charset

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Source says what an encoding was detected by.
type Source uint8

// The sources, the most certain first.
const (
	ByBOM      Source = iota + 1 // a byte order mark
	ByHeader                     // the charset of the Content-Type
	ByDocument                   // a meta element or an XML declaration
	ByType                       // nothing is declared, and the Content-Type says JSON or XML, which is UTF-8 then
	ByValidity                   // nothing is declared, and all bytes together are valid UTF-8
	ByGuess                      // nothing is declared, and the bytes look like it: by far most are UTF-8, or their frequencies speak
	ByDefault                    // there is nothing to go by
)

// String returns the source in a word.
func (s Source) String() string {
	switch s {
	case ByBOM:
		return "byte order mark"
	case ByHeader:
		return "header"
	case ByDocument:
		return "document"
	case ByType:
		return "media type"
	case ByValidity:
		return "validity"
	case ByGuess:
		return "guess"
	case ByDefault:
		return "default"
	}
	return "unknown"
}

// Detect returns the encoding of a page and how it is known. body is the whole page: the part that
// decides may come late. contentType is the value of the Content-Type field, or "".
//
// It is the encoding sniffing algorithm of the HTML standard, section 13.2.3.2: a byte order mark
// (UTF-8 or UTF-16) overrules all; then counts the charset parameter of contentType, if its label
// is known; then what the document declares: the first meta element that names an encoding, wherever
// it stands (section 13.2.3.5), or else what [Prescan] finds; but not in what contentType says to be
// something else than HTML or XML. In XML the declaration counts first, also one behind white space,
// and a meta element in XHTML alone.
//
// If all are silent, JSON and XML, by contentType, are UTF-8 (RFC 8259, section 8.1; XML 1.0, section
// 4.3.3). A page of another type is UTF-8 if it has a byte beyond ASCII and is valid UTF-8, or has at
// least two well-formed characters beyond ASCII for each malformed one; a last character that is cut
// off does not count. Else it is what the frequencies of its bytes speak for, if they do so
// clearly: Shift_JIS, EUC-JP, GBK, Big5, EUC-KR, windows-1251 or KOI8-R; but none of them where more
// characters are well-formed UTF-8 than not. Else it is windows-1252, the standard's default. A page
// in ASCII is windows-1252 as well, for it could be any of them.
func Detect(body []byte, contentType string) (Encoding, Source) {
	e, source, _ := detect(body, contentType)
	return e, source
}

// detect also says where the text begins: behind the byte order mark.
func detect(body []byte, contentType string) (e Encoding, source Source, bom int) {
	if e, bom = BOM(body); bom > 0 {
		return e, ByBOM, bom
	}
	if label := parameter(contentType); label != "" {
		if e, ok := Lookup(label); ok {
			return e, ByHeader, 0
		}
	}
	kind := kindOf(contentType)
	if e, ok := kind.declared(body); ok {
		return e, ByDocument, 0
	}
	if kind == aJSON || kind == anXML || kind == anXHTML {
		return UTF8, ByType, 0
	}
	ascii := asciiLen(body)
	if ascii == len(body) {
		return Windows1252, ByDefault, 0
	}
	if utf8.Valid(body[ascii:]) {
		return UTF8, ByValidity, 0
	}
	if e, ok := guess(body[ascii:]); ok {
		return e, ByGuess, 0
	}
	return Windows1252, ByDefault, 0
}

// kind says how pages of a media type name their encoding.
type kind uint8

const (
	aText   kind = iota // not at all: a meta element in them is somebody else's
	anHTML              // by a meta element; HTML, and what says nothing
	anXHTML             // by an XML declaration or a meta element
	anXML               // by an XML declaration
	aJSON               // not at all: it is UTF-8
)

// kindOf returns the kind of page that a Content-Type names (MIME Sniffing standard, section 4.6).
func kindOf(contentType string) kind {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	switch {
	case media == "text/html" || !strings.Contains(media, "/"):
		return anHTML
	case media == "application/json", media == "text/json", strings.HasSuffix(media, "+json"):
		return aJSON
	case media == "application/xhtml+xml":
		return anXHTML
	case media == "text/xml", media == "application/xml", strings.HasSuffix(media, "+xml"):
		return anXML
	case strings.Contains(media, "html"), strings.Contains(media, "xml"):
		return anHTML
	}
	return aText
}

// declared returns the encoding that a page of this kind declares.
func (k kind) declared(page []byte) (e Encoding, ok bool) {
	if k == anXML || k == anXHTML {
		if e, ok = declaredXML(page); ok {
			return e, true
		}
	}
	if k == anHTML || k == anXHTML {
		e, ok = declared(page)
	}
	return e, ok
}

// BOM returns the encoding whose byte order mark a page begins with, and the mark's length: 0 if
// there is none (Encoding standard, section 6, "BOM sniff").
func BOM(body []byte) (Encoding, int) {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return UTF8, 3
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return UTF16BE, 2
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return UTF16LE, 2
	}
	return 0, 0
}

// parameter returns the charset parameter of a Content-Type, read by the MIME Sniffing standard,
// section 4.4: the first one counts, and none that is empty. What stands in front of the parameters
// is not looked at: servers that send "charset=utf-8" alone, or a type that is none, mean it.
func parameter(contentType string) string {
	media, rest, found := strings.Cut(contentType, ";")
	if !found {
		if !strings.ContainsRune(media, '=') {
			return ""
		}
		rest = media
	}
	for rest != "" {
		var name, value string
		rest = strings.TrimLeft(rest, httpSpace)
		end := strings.IndexAny(rest, ";=")
		if end < 0 {
			return ""
		}
		name = rest[:end]
		if rest[end] == ';' {
			rest = rest[end+1:]
			continue
		}
		value, rest = parameterValue(rest[end+1:])
		if value != "" && strings.EqualFold(name, "charset") {
			return value
		}
	}
	return ""
}

const httpSpace = "\t\n\r "

// parameterValue returns the value that s begins with, and what follows its semicolon.
func parameterValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, ";")
		return strings.TrimRight(value, httpSpace), rest
	}
	var unquoted []byte
	i := 1
	for ; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		unquoted = append(unquoted, s[i])
	}
	_, rest, _ = strings.Cut(s[min(i+1, len(s)):], ";")
	return string(unquoted), rest
}

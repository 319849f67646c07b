package charset

import (
	"bytes"

	"github.com/tegenaria/tegenaria/html"
)

// declared returns the encoding that a page declares, wherever it does so. The prescan only makes a
// start: the parser changes the encoding when it comes to a meta element that names another one (HTML
// standard, sections 13.2.3.5 and 13.2.6.4.4).
func declared(page []byte) (Encoding, bool) {
	e, ok := Prescan(page)
	if ok && (e == UTF16LE || e == UTF16BE) {
		return e, true
	}
	if late, found := parsedMeta(page); found {
		return late, true
	}
	return e, ok
}

// parsedMeta returns the encoding of the first meta element that names one.
func parsedMeta(page []byte) (Encoding, bool) {
	if !mayDeclare(page) {
		return 0, false
	}
	z := html.NewTokenizer(page)
	for {
		switch z.Next() {
		case html.EndToken:
			return 0, false
		case html.StartTagToken:
			if z.Atom() == html.AtomMeta {
				if e, ok := metaEncoding(z); ok {
					return e, true
				}
			}
		}
	}
}

// metaEncoding reads the meta element that the tokenizer stands at. Other than in the prescan, a
// charset attribute that names nothing leaves the word to the content attribute.
func metaEncoding(z *html.Tokenizer) (Encoding, bool) {
	var label, content []byte
	pragma := false
	for name, value := range z.Attrs() {
		switch string(name) {
		case "charset":
			label = value
		case "content":
			content = value
		case "http-equiv":
			pragma = equalFold(value, "content-type")
		}
	}
	e, ok := Lookup(string(label))
	if !ok && pragma {
		e, ok = fromContent(content)
	}
	return asDeclared(e), ok
}

// mayDeclare reports whether a page has what every declaration in it has, so that most pages without
// one need not be parsed.
func mayDeclare(page []byte) bool {
	for rest := page; ; {
		i := bytes.IndexByte(rest, '<')
		if i < 0 || i+len("<meta") > len(rest) {
			return false
		}
		rest = rest[i+1:]
		if equalFold(rest[:len("meta")], "meta") {
			return indexFold(rest, "charset") >= 0
		}
	}
}

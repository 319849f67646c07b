package charset

import (
	"bytes"
)

// prescanned is how many bytes of a page may declare its encoding (HTML standard, section 13.2.3.2).
const prescanned = 1024

// Prescan returns the encoding that the first 1,024 bytes of a page declare: by the beginning of an
// XML declaration in UTF-16, by a meta element, or by the encoding of an XML declaration. It is the
// HTML standard's "prescan a byte stream to determine its encoding" (section 13.2.3.2), with its
// rules: a declared UTF-16 is UTF-8, since in UTF-16 it could not have been read, and a declared
// x-user-defined is windows-1252.
func Prescan(page []byte) (Encoding, bool) {
	p := prescan{page[:min(len(page), prescanned)], 0}
	if e, ok := xmlInUTF16(p.b); ok {
		return e, true
	}
	for p.more() {
		i := bytes.IndexByte(p.b[p.i:], '<')
		if i < 0 {
			break
		}
		p.i += i
		if e, ok := p.markup(); ok {
			return e, true
		}
	}
	return xmlEncoding(p.b)
}

// xmlInUTF16 tells an XML declaration in UTF-16 by its beginning.
func xmlInUTF16(b []byte) (Encoding, bool) {
	switch {
	case bytes.HasPrefix(b, []byte("<\x00?\x00x\x00")):
		return UTF16LE, true
	case bytes.HasPrefix(b, []byte("\x00<\x00?\x00x")):
		return UTF16BE, true
	}
	return 0, false
}

// prescan reads b from i on. At the end of b all of its methods move i to len(b) or beyond: then
// nothing is found any more.
type prescan struct {
	b []byte
	i int
}

func (p *prescan) more() bool { return p.i < len(p.b) }

// find moves to the next byte that stop knows and reports whether there is one.
func (p *prescan) find(stop func(byte) bool) bool {
	for ; p.i < len(p.b); p.i++ {
		if stop(p.b[p.i]) {
			return true
		}
	}
	return false
}

func notSpace(c byte) bool        { return !isSpace(c) }
func notSpaceOrSlash(c byte) bool { return !isSpace(c) && c != '/' }
func spaceOrGreater(c byte) bool  { return isSpace(c) || c == '>' }

// markup reads what the "<" at i begins, and moves behind it.
func (p *prescan) markup() (Encoding, bool) {
	rest := p.b[p.i:]
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		// The two dashes may be those of the beginning: "<!-->" is a whole comment.
		end := bytes.Index(rest[2:], []byte("-->"))
		if end < 0 {
			p.i = len(p.b)
			return 0, false
		}
		p.i += 2 + end + len("-->")
	case len(rest) > 5 && equalFold(rest[1:5], "meta") && (isSpace(rest[5]) || rest[5] == '/'):
		p.i += 5
		return p.meta()
	case len(rest) > 1 && isLetter(rest[1]), len(rest) > 2 && rest[1] == '/' && isLetter(rest[2]):
		if p.find(spaceOrGreater) {
			for {
				if _, _, ok := p.attribute(); !ok {
					break
				}
			}
		}
		p.i++
	case len(rest) > 1 && (rest[1] == '!' || rest[1] == '/' || rest[1] == '?'):
		p.find(func(c byte) bool { return c == '>' })
		p.i++
	default:
		p.i++
	}
	return 0, false
}

// meta reads the attributes of a meta element and returns the encoding that they declare.
func (p *prescan) meta() (Encoding, bool) {
	var (
		pragma, needsPragma, declared bool // declared: charset or content named an encoding
		known                         bool // by a label
		found                         Encoding
		hadEquiv, hadContent, hadName bool // attributes that are repeated do not count
	)
	for {
		name, value, ok := p.attribute()
		if !ok {
			break
		}
		switch {
		case !hadEquiv && equalFold(name, "http-equiv"):
			hadEquiv = true
			pragma = equalFold(value, "content-type")
		case !hadContent && equalFold(name, "content"):
			hadContent = true
			if e, ok := fromContent(value); ok && !declared {
				found, known, declared, needsPragma = e, true, true, true
			}
		case !hadName && equalFold(name, "charset"):
			hadName = true
			found, known = Lookup(string(value))
			declared, needsPragma = true, false
		}
	}
	if !p.more() || !declared || needsPragma && !pragma || !known {
		p.i++
		return 0, false
	}
	return asDeclared(found), true
}

// asDeclared is what an encoding stands for when a page declares it by a meta element.
func asDeclared(e Encoding) Encoding {
	switch e {
	case UTF16BE, UTF16LE:
		return UTF8
	case XUserDefined:
		return Windows1252
	}
	return e
}

// attribute reads the next attribute of a tag ("get an attribute"). Both parts are as they stand in
// the page: comparisons ignore case. At the end of the bytes there is no attribute.
func (p *prescan) attribute() (name, value []byte, ok bool) {
	if !p.find(notSpaceOrSlash) || p.b[p.i] == '>' {
		return nil, nil, false
	}
	start := p.i
	if !p.find(func(c byte) bool { return spaceOrGreater(c) || c == '/' || c == '=' && p.i > start }) {
		return nil, nil, false
	}
	name = p.b[start:p.i]
	if c := p.b[p.i]; c == '/' || c == '>' {
		return name, nil, true
	}
	if !p.find(notSpace) {
		return nil, nil, false
	}
	if p.b[p.i] != '=' {
		return name, nil, true
	}
	p.i++
	if !p.find(notSpace) {
		return nil, nil, false
	}
	switch quote := p.b[p.i]; quote {
	case '>':
		return name, nil, true
	case '"', '\'':
		p.i++
		start = p.i
		if !p.find(func(c byte) bool { return c == quote }) {
			return nil, nil, false
		}
		value = p.b[start:p.i]
		p.i++
		return name, value, true
	}
	start = p.i
	if !p.find(spaceOrGreater) {
		return nil, nil, false
	}
	return name, p.b[start:p.i], true
}

// fromContent returns the encoding in the content attribute of a meta element (HTML standard,
// section 2.5.2, "extracting a character encoding from a meta element").
func fromContent(s []byte) (Encoding, bool) {
	for {
		i := indexFold(s, "charset")
		if i < 0 {
			return 0, false
		}
		s = bytes.TrimLeft(s[i+len("charset"):], asciiSpace)
		if len(s) == 0 || s[0] != '=' {
			continue
		}
		s = bytes.TrimLeft(s[1:], asciiSpace)
		if len(s) == 0 {
			return 0, false
		}
		if s[0] == '"' || s[0] == '\'' {
			label, _, closed := bytes.Cut(s[1:], s[:1])
			if !closed {
				return 0, false
			}
			return Lookup(string(label))
		}
		if end := bytes.IndexAny(s, asciiSpace+";"); end >= 0 {
			s = s[:end]
		}
		return Lookup(string(s))
	}
}

// xmlEncoding returns the encoding of an XML declaration ("get an XML encoding").
func xmlEncoding(b []byte) (Encoding, bool) {
	if !bytes.HasPrefix(b, []byte("<?xml")) {
		return 0, false
	}
	_, b, found := bytes.Cut(b, []byte("encoding"))
	if !found {
		return 0, false
	}
	b = trimControls(b)
	if len(b) == 0 || b[0] != '=' {
		return 0, false
	}
	b = trimControls(b[1:])
	if len(b) == 0 || b[0] != '"' && b[0] != '\'' {
		return 0, false
	}
	label, _, closed := bytes.Cut(b[1:], b[:1])
	if !closed || bytes.ContainsFunc(label, func(r rune) bool { return r <= ' ' }) {
		return 0, false
	}
	e, ok := Lookup(string(label))
	if e == UTF16BE || e == UTF16LE {
		e = UTF8
	}
	return e, ok
}

// declaredXML returns the encoding that the declaration of an XML document names. Templates print white
// space in front of it, which XML does not allow and readers of feeds accept.
func declaredXML(page []byte) (Encoding, bool) {
	if e, ok := xmlInUTF16(page); ok {
		return e, true
	}
	page = bytes.TrimLeft(page, asciiSpace)
	declaration, _, _ := bytes.Cut(page[:min(len(page), prescanned)], []byte(">"))
	return xmlEncoding(declaration)
}

func trimControls(b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	return b
}

func isLetter(c byte) bool {
	c = lower(c)
	return 'a' <= c && c <= 'z'
}

// equalFold compares with a text in lower case, ignoring the case of ASCII letters alone.
func equalFold(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i, c := range b {
		if lower(c) != s[i] {
			return false
		}
	}
	return true
}

// indexFold finds a text in lower case, ignoring the case of ASCII letters.
func indexFold(b []byte, s string) int {
	for i := 0; i+len(s) <= len(b); i++ {
		if lower(b[i]) == s[0] && equalFold(b[i:i+len(s)], s) {
			return i
		}
	}
	return -1
}

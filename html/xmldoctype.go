package html

import "bytes"

// doctype takes a document type declaration (XML 1.0, section 2.8).
func (x *xmlParser) doctype() {
	at := x.pos
	if (x.rooted || x.d.doctype.name.start != 0) &&
		x.fault(at, "a document type that is not before the root element") {
		return
	}
	x.pos += len("<!DOCTYPE")
	var t rawDoctype
	start := x.pos
	x.skipSpace()
	t.name.start = uint32(x.pos)
	if len(x.name()) == 0 || int(t.name.start) == start {
		x.fault(start, "a document type without white space and a name")
	}
	t.name.end = uint32(x.pos)
	x.skipSpace()
	switch rest := x.src[x.pos:]; {
	case bytes.HasPrefix(rest, []byte("PUBLIC")):
		x.pos += len("PUBLIC")
		x.identifier(&t.public)
		x.identifier(&t.system)
	case bytes.HasPrefix(rest, []byte("SYSTEM")):
		x.pos += len("SYSTEM")
		x.identifier(&t.system)
	}
	x.skipSpace()
	if x.pos < len(x.src) && x.src[x.pos] == '[' {
		x.subset()
		x.skipSpace()
	}
	if x.pos < len(x.src) && x.src[x.pos] != '>' {
		x.fault(x.pos, "a document type with something else than identifiers and a subset")
	}
	if !x.skipTo(">", "a document type does not end") {
		return
	}
	if x.rooted || x.d.doctype.name.start != 0 {
		return
	}
	x.d.doctype = t
	x.d.entities = knowsEntities(x.src[t.public.start:t.public.end])
	x.add(uint32(DoctypeNode), uint32(at), 0)
}

// identifier takes a quoted identifier.
func (x *xmlParser) identifier(to *span) {
	x.skipSpace()
	if x.pos >= len(x.src) || x.src[x.pos] != '"' && x.src[x.pos] != '\'' {
		x.fault(x.pos, "an identifier without quotes")
		return
	}
	start := x.pos + 1
	i := bytes.IndexByte(x.src[start:], x.src[x.pos])
	if i < 0 {
		x.fault(x.pos, "an identifier does not end")
		return
	}
	*to = span{uint32(start), uint32(start + i)}
	x.pos = start + i + 1
}

// subset skips the internal subset. Its declarations count for nothing, but quotes, comments and
// instructions in it may hold a ].
func (x *xmlParser) subset() {
	for x.pos < len(x.src) {
		x.d.work++
		rest := x.src[x.pos:]
		switch {
		case rest[0] == ']':
			x.pos++
			return
		case rest[0] == '"' || rest[0] == '\'':
			x.pos++
			if !x.skipTo(string(rest[:1]), "a literal does not end") {
				return
			}
		case bytes.HasPrefix(rest, []byte("<!--")):
			if !x.skipTo("-->", "a comment does not end") {
				return
			}
		case bytes.HasPrefix(rest, []byte("<?")):
			if !x.skipTo("?>", "an instruction does not end") {
				return
			}
		default:
			i := bytes.IndexAny(rest[1:], "]\"'<")
			if i < 0 {
				i = len(rest) - 1
			}
			x.pos += 1 + i
		}
	}
	x.fault(x.pos, "a document type does not end")
}

// knowsEntities reports whether a public identifier is that of a document type in which the entities
// of HTML are known (HTML standard, section 14.2).
func knowsEntities(public []byte) bool {
	switch string(public) {
	case "-//W3C//DTD XHTML 1.0 Transitional//EN",
		"-//W3C//DTD XHTML 1.1//EN",
		"-//W3C//DTD XHTML 1.0 Strict//EN",
		"-//W3C//DTD XHTML 1.0 Frameset//EN",
		"-//W3C//DTD XHTML Basic 1.0//EN",
		"-//W3C//DTD XHTML 1.1 plus MathML 2.0//EN",
		"-//W3C//DTD XHTML 1.1 plus MathML 2.0 plus SVG 1.1//EN",
		"-//W3C//DTD MathML 2.0//EN",
		"-//WAPFORUM//DTD XHTML Mobile 1.0//EN":
		return true
	}
	return false
}

package html

import "bytes"

// HTML returns the node as markup: an element with its tags, a document with all that it holds. It
// follows section 13.3 (Serializing HTML fragments); parsing the result gives the same tree except for
// the cases that the standard names there, such as a line feed at the start of pre. XML documents are
// written as XML, with the prefixes of the source.
func (n Node) HTML() string { return view(n.AppendHTML(nil)) }

// InnerHTML returns what a node holds as markup, see [Node.HTML].
func (n Node) InnerHTML() string { return view(n.AppendInnerHTML(nil)) }

// AppendHTML appends the node as markup, see [Node.HTML], to dst.
func (n Node) AppendHTML(dst []byte) []byte {
	if n.IsZero() {
		return dst
	}
	return n.doc.write(dst, n.id, n.id)
}

// AppendInnerHTML appends what a node holds as markup to dst.
func (n Node) AppendInnerHTML(dst []byte) []byte {
	first := n.FirstChild()
	if first.IsZero() || n.doc.isVoid(n.rec()) {
		return dst
	}
	return n.doc.write(dst, first.id, n.id)
}

// write appends nodes in document order, from first up to the last one inside of root; root itself is
// written only if it is first.
func (d *Document) write(dst []byte, first, root uint32) []byte {
	leave := func(id uint32) {
		if id != root || first == root {
			dst = d.endTag(dst, &d.nodes[id])
		}
	}
	for id := first; id != 0; {
		r := &d.nodes[id]
		switch Kind(r.meta & kindMask) {
		case ElementNode:
			dst = d.startTag(dst, r)
			if d.isVoid(r) {
				break
			}
			if r.last != 0 {
				id++
				continue
			}
			if !d.xml {
				dst = d.endTag(dst, r)
			}
		case DocumentNode:
			if r.last != 0 {
				id++
				continue
			}
		case TextNode:
			if text := d.data(r); d.isLiteral(&d.nodes[r.parent]) {
				dst = append(dst, text...)
			} else {
				dst = appendEscaped(dst, text, false, d.xml)
			}
		case CommentNode:
			dst = append(dst, "<!--"...)
			dst = append(dst, d.data(r)...)
			dst = append(dst, "-->"...)
		case InstructionNode:
			dst = append(dst, "<?"...)
			dst = d.appendName(dst, Atom(r.meta>>atomShift))
			dst = append(dst, ' ')
			dst = append(dst, d.data(r)...)
			dst = append(dst, "?>"...)
		case DoctypeNode:
			dst = append(dst, "<!DOCTYPE "...)
			dst = append(dst, d.doctypeNames().Name...)
			dst = append(dst, '>')
		}
		id = d.after(id, root, leave)
	}
	return dst
}

func (d *Document) appendName(dst []byte, a Atom) []byte {
	if a < staticAtoms {
		return append(dst, a.String()...)
	}
	return append(dst, d.names.bytes(a)...)
}

func (d *Document) startTag(dst []byte, r *node) []byte {
	dst = append(dst, '<')
	dst = d.appendName(dst, Atom(r.meta>>atomShift))
	if i := r.data; i != 0 {
		for {
			a := &d.attrs[i]
			dst = append(dst, ' ')
			dst = d.appendName(dst, Atom(a.meta>>atomShift))
			dst = append(dst, `="`...)
			dst = appendEscaped(dst, Attr{d, i}.Bytes(), true, d.xml)
			dst = append(dst, '"')
			if a.meta&attrLast != 0 {
				break
			}
			i++
		}
	}
	if d.xml && r.last == 0 {
		dst = append(dst, '/')
	}
	return append(dst, '>')
}

func (d *Document) endTag(dst []byte, r *node) []byte {
	if r.meta&kindMask != uint32(ElementNode) {
		return dst
	}
	dst = append(dst, "</"...)
	dst = d.appendName(dst, Atom(r.meta>>atomShift))
	return append(dst, '>')
}

// isVoid reports whether an element has no end tag (13.1.2, the void elements, and those that
// "serializes as void" adds).
func (d *Document) isVoid(r *node) bool {
	if d.xml || r.meta&(kindMask|nsMask) != uint32(ElementNode)|uint32(HTML)<<nsShift {
		return false
	}
	switch Atom(r.meta >> atomShift) {
	case AtomArea, AtomBase, AtomBasefont, AtomBgsound, AtomBr, AtomCol, AtomEmbed, AtomFrame, AtomHr,
		AtomImg, AtomInput, AtomKeygen, AtomLink, AtomMeta, AtomParam, AtomSource, AtomTrack, AtomWbr:
		return true
	}
	return false
}

// isLiteral reports whether the text in an element is written as it is.
func (d *Document) isLiteral(r *node) bool {
	if d.xml || r.meta&(kindMask|nsMask) != uint32(ElementNode)|uint32(HTML)<<nsShift {
		return false
	}
	switch Atom(r.meta >> atomShift) {
	case AtomStyle, AtomScript, AtomXmp, AtomIframe, AtomNoembed, AtomNoframes, AtomPlaintext:
		return true
	}
	return false
}

// appendEscaped appends text or the value of an attribute, escaped (section 13.3, escaping a string).
func appendEscaped(dst, text []byte, inValue, xml bool) []byte {
	done := 0
	for i, c := range text {
		var ref string
		switch c {
		case '&':
			ref = "&amp;"
		case '<':
			ref = "&lt;"
		case '>':
			ref = "&gt;"
		case '"':
			if !inValue {
				continue
			}
			ref = "&quot;"
		case 0xc2: // the first byte of a no-break space
			if xml || !bytes.HasPrefix(text[i:], nbsp) {
				continue
			}
			dst = append(dst, text[done:i]...)
			dst = append(dst, "&nbsp;"...)
			done = i + len(nbsp)
			continue
		case '\r', '\n', '\t':
			// The parser of XML would make other white space of them.
			if !xml || c != '\r' && !inValue {
				continue
			}
			ref = "&#9;"
			if c == '\r' {
				ref = "&#13;"
			} else if c == '\n' {
				ref = "&#10;"
			}
		default:
			continue
		}
		dst = append(dst, text[done:i]...)
		dst = append(dst, ref...)
		done = i + 1
	}
	return append(dst, text[done:]...)
}

var nbsp = []byte("\u00A0")

// HTMLSize returns how many bytes [Node.HTML] has.
func (n Node) HTMLSize() int {
	if n.IsZero() {
		return 0
	}
	d, size := n.doc, 0
	leave := func(id uint32) { size += d.endTagSize(&d.nodes[id]) }
	for id := n.id; id != 0; {
		r := &d.nodes[id]
		switch Kind(r.meta & kindMask) {
		case ElementNode:
			size += d.startTagSize(r)
			if d.isVoid(r) {
				break
			}
			if r.last != 0 {
				id++
				continue
			}
			if !d.xml {
				size += d.endTagSize(r)
			}
		case DocumentNode:
			if r.last != 0 {
				id++
				continue
			}
		case TextNode:
			if text := d.data(r); d.isLiteral(&d.nodes[r.parent]) {
				size += len(text)
			} else {
				size += escapedSize(text, false, d.xml)
			}
		case CommentNode:
			size += len("<!---->") + len(d.data(r))
		case InstructionNode:
			size += len("<? ?>") + d.nameSize(Atom(r.meta>>atomShift)) + len(d.data(r))
		case DoctypeNode:
			size += len("<!DOCTYPE >") + len(d.doctypeNames().Name)
		}
		id = d.after(id, n.id, leave)
	}
	return size
}

func (d *Document) nameSize(a Atom) int {
	if a < staticAtoms {
		return len(a.String())
	}
	return len(d.names.bytes(a))
}

func (d *Document) startTagSize(r *node) int {
	size := len("<>") + d.nameSize(Atom(r.meta>>atomShift))
	for a := (Attr{d, r.data}); !a.IsZero(); a = a.Next() {
		size += len(` =""`) + d.nameSize(a.Atom()) + escapedSize(a.Bytes(), true, d.xml)
	}
	if d.xml && r.last == 0 {
		size++
	}
	return size
}

func (d *Document) endTagSize(r *node) int {
	if r.meta&kindMask != uint32(ElementNode) {
		return 0
	}
	return len("</>") + d.nameSize(Atom(r.meta>>atomShift))
}

// escapedSize returns how many bytes appendEscaped appends.
func escapedSize(text []byte, inValue, xml bool) int {
	size := len(text)
	for i, c := range text {
		switch c {
		case '&':
			size += len("amp;")
		case '<', '>':
			size += len("lt;")
		case '"':
			if inValue {
				size += len("quot;")
			}
		case 0xc2:
			if !xml && bytes.HasPrefix(text[i:], nbsp) {
				size += len("&nbsp;") - len(nbsp)
			}
		case '\r':
			if xml {
				size += len("#13;")
			}
		case '\n':
			if xml && inValue {
				size += len("#10;")
			}
		case '\t':
			if xml && inValue {
				size += len("#9;")
			}
		}
	}
	return size
}

package html

import (
	"bytes"
	"iter"
)

// attr is the record of an attribute, 12 bytes. The attributes of an element lie side by side; the
// last one is marked.
type attr struct {
	meta       uint32 // atom<<8 | flags | namespace<<3
	start, end uint32 // of the value as written, without quotes, in the source
}

const attrLast = 1 << 7

// Attr is an attribute of an element: a small value like [Node]. The zero Attr is none.
type Attr struct {
	doc *Document
	i   uint32
}

// IsZero reports whether this is not an attribute.
func (a Attr) IsZero() bool { return a.i == 0 }

// FirstAttr returns the first attribute of an element in the order of the source. With [Attr.Next]
// it goes through them all, without allocating:
//
//	for a := n.FirstAttr(); !a.IsZero(); a = a.Next() {
func (n Node) FirstAttr() Attr {
	r := n.rec()
	if r.meta&kindMask != uint32(ElementNode) || r.data == 0 {
		return Attr{}
	}
	return Attr{n.doc, r.data}
}

// Next returns the attribute after this one.
func (a Attr) Next() Attr {
	if a.i == 0 || a.doc.attrs[a.i].meta&attrLast != 0 {
		return Attr{}
	}
	return Attr{a.doc, a.i + 1}
}

// Attrs returns the attributes of an element in the order of the source.
func (n Node) Attrs() iter.Seq[Attr] {
	return func(yield func(Attr) bool) {
		for a := n.FirstAttr(); !a.IsZero(); a = a.Next() {
			if !yield(a) {
				return
			}
		}
	}
}

// FindAttr returns the attribute with this name, the zero Attr if there is none. It compares numbers
// only. Names of SVG and MathML attributes with a prefix are found by their whole name:
// AtomXlinkHref.
func (n Node) FindAttr(name Atom) Attr {
	r := n.rec()
	if r.meta&kindMask != uint32(ElementNode) || r.data == 0 {
		return Attr{}
	}
	for i := r.data; ; i++ {
		m := n.doc.attrs[i].meta
		if Atom(m>>atomShift) == name {
			return Attr{n.doc, i}
		}
		if m&attrLast != 0 {
			return Attr{}
		}
	}
}

// Attr returns the value of the attribute with this name, "" if there is none. Names are compared
// byte by byte; those of HTML are in lower case.
func (n Node) Attr(name string) string {
	value, _ := n.LookupAttr(name)
	return value
}

// LookupAttr returns the value of the attribute with this name and whether there is one.
func (n Node) LookupAttr(name string) (value string, ok bool) {
	if n.doc == nil {
		return "", false
	}
	atom := n.doc.LookupAtom(name)
	if atom == 0 && n.doc.xml {
		// An attribute in a namespace has an atom of its own.
		for a := range n.Attrs() {
			if a.Name() == name {
				return a.Value(), true
			}
		}
	}
	if atom == 0 {
		return "", false
	}
	a := n.FindAttr(atom)
	return a.Value(), !a.IsZero()
}

// Atom returns the number of the attribute's name.
func (a Attr) Atom() Atom {
	if a.i == 0 {
		return 0
	}
	return Atom(a.doc.attrs[a.i].meta >> atomShift)
}

// Namespace returns the namespace of the attribute, which is NoNamespace for all but a few.
func (a Attr) Namespace() Namespace {
	if a.i == 0 {
		return NoNamespace
	}
	return Namespace(a.doc.attrs[a.i].meta & nsMask >> nsShift)
}

// NamespaceURI returns the name of the attribute's namespace, "" for none.
func (a Attr) NamespaceURI() string {
	if ns := a.Namespace(); ns != OtherNamespace {
		return ns.URI()
	}
	return a.doc.atomSpace(a.Atom())
}

// Name returns the name of the attribute, with its prefix.
func (a Attr) Name() string {
	if a.i == 0 {
		return ""
	}
	return a.doc.AtomName(a.Atom())
}

// LocalName returns the name of the attribute without the prefix of its namespace.
func (a Attr) LocalName() string {
	name := a.Name()
	if a.Namespace() != NoNamespace {
		return localName(name)
	}
	return name
}

// Raw returns the value as it is written in the source, without quotes: character references and
// line ends are still there. It is a view of the source and must not be changed.
func (a Attr) Raw() []byte {
	if a.i == 0 {
		return nil
	}
	r := &a.doc.attrs[a.i]
	return a.doc.source[r.start:r.end:r.end]
}

// Bytes returns the value, with character references replaced. It is a view of the source if there
// is nothing to replace, which is the rule, else newly allocated; it must not be changed.
func (a Attr) Bytes() []byte {
	raw := a.Raw()
	if a.isPlain(raw) {
		return raw
	}
	return a.AppendTo(make([]byte, 0, len(raw)+8))
}

// AppendTo appends the value, with character references replaced, to dst.
func (a Attr) AppendTo(dst []byte) []byte {
	raw := a.Raw()
	if a.isPlain(raw) {
		return append(dst, raw...)
	}
	if a.doc.xml {
		dst, _ = appendXML(dst, raw, true, a.doc.entities)
		return dst
	}
	return appendValue(dst, raw)
}

// Value returns a copy of the value, with character references replaced (section 13.2.5, the
// attribute value states).
func (a Attr) Value() string {
	raw := a.Raw()
	if a.isPlain(raw) {
		return string(raw)
	}
	return view(a.AppendTo(make([]byte, 0, len(raw)+8)))
}

// isPlain reports whether the value is what is written.
func (a Attr) isPlain(raw []byte) bool {
	switch {
	case len(raw) == 0:
		return true
	case a.doc.xml:
		return !bytes.ContainsAny(raw, "&\r\n\t")
	}
	return !a.doc.coded || !needsDecoding(raw)
}

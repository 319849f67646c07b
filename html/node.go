package html

import "unsafe"

// Kind says what a node is.
type Kind uint8

// The kinds of nodes.
const (
	NoNode          Kind = iota // the zero Node
	DocumentNode                // the root of a document
	DoctypeNode                 // a document type, see [Document.Doctype]
	ElementNode                 // an element
	TextNode                    // text
	CommentNode                 // a comment
	InstructionNode             // a processing instruction; only in XML documents
)

var kindNames = [...]string{"no node", "document", "doctype", "element", "text", "comment", "instruction"}

// String returns the name of a kind in lower case.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Namespace is the namespace of an element or attribute.
type Namespace uint8

// The namespaces. Elements are in one of the first three or, in XML documents, in NoNamespace or
// OtherNamespace; attributes are in NoNamespace unless they have one of the prefixes of section
// 13.2.6.1 (Adjust foreign attributes) in foreign content, or any in XML documents.
const (
	HTML           Namespace = iota // http://www.w3.org/1999/xhtml
	SVG                             // http://www.w3.org/2000/svg
	MathML                          // http://www.w3.org/1998/Math/MathML
	NoNamespace                     // none
	XLink                           // http://www.w3.org/1999/xlink
	XML                             // http://www.w3.org/XML/1998/namespace
	XMLNS                           // http://www.w3.org/2000/xmlns/
	OtherNamespace                  // another one, which NamespaceURI knows
)

var namespaceURIs = [...]string{
	HTML:   "http://www.w3.org/1999/xhtml",
	SVG:    "http://www.w3.org/2000/svg",
	MathML: "http://www.w3.org/1998/Math/MathML",
	XLink:  "http://www.w3.org/1999/xlink",
	XML:    "http://www.w3.org/XML/1998/namespace",
	XMLNS:  "http://www.w3.org/2000/xmlns/",

	OtherNamespace: "",
}

// URI returns the name of the namespace, "" for NoNamespace and OtherNamespace.
func (ns Namespace) URI() string {
	if int(ns) >= len(namespaceURIs) {
		return ""
	}
	return namespaceURIs[ns]
}

// node is the record of a node, 28 bytes. Links are indices into Document.nodes, 0 for none.
//
// After parsing, indices are in document order: a node's is smaller than those of its descendants,
// which are smaller than those of the nodes that follow it. So the first child needs no link.
type node struct {
	meta uint32 // atom<<8 | flags | namespace<<3 | kind

	parent     uint32
	last       uint32 // child
	prev, next uint32 // siblings

	// data and end depend on the kind:
	//	element      index of the first attribute, 0 for none; position of the tag
	//	text         bounds of the text in the source; with flagSide: position, index into spans
	//	comment, instruction   the same
	data, end uint32
}

const (
	kindMask  = 7
	nsShift   = 3
	nsMask    = 7 << nsShift
	flagSide  = 1 << 6 // text: the text lies in Document.side
	flagMade  = 1 << 7 // element: made by the parser, not by a tag of its own
	atomShift = 8
)

// Node is a node of a [Document]: a small value that can be copied, compared and used as a key of a
// map. The zero Node is no node: its Kind is NoNode, and going from it anywhere leads to no node
// again, so that steps can be chained without checks between them.
//
// Kind, Atom, Namespace, Is, the five steps (Parent, FirstChild, LastChild, NextSibling,
// PrevSibling), ID, Data and the methods of [Attr] that return no string are made for inner loops:
// they are inlined or nearly so and allocate nothing. Nodes may be used by several goroutines at
// once, as long as Reset of their Document is not called.
type Node struct {
	doc *Document
	id  uint32
}

// IsZero reports whether this is not a node.
func (n Node) IsZero() bool { return n.id == 0 }

// Document returns the document that the node belongs to, nil for no node.
func (n Node) Document() *Document { return n.doc }

// ID returns the number of the node in its document. Numbers start at 1, the document itself, are
// dense and follow document order: the descendants of a node are the nodes numbered from ID()+1 up
// to, and without, EndID. 0 is no node. [Document.Node] is the inverse.
func (n Node) ID() uint32 { return n.id }

// EndID returns the number after that of the node's last descendant: of the next node in document
// order that is not inside this one. It takes as many steps as the rightmost branch is deep, up to 32; in documents where that
// is often more, the numbers of all nodes are kept.
func (n Node) EndID() uint32 {
	if n.id == 0 {
		return 0
	}
	id := n.id
	for range shallow {
		last := n.doc.nodes[id].last
		if last == 0 {
			return id + 1
		}
		id = last
	}
	return n.doc.deepEnd(n.id)
}

// shallow is how deep a rightmost branch is at most whose end EndID looks for each time.
const shallow = 32

// deepEnd is EndID for a deep branch. Once such branches have cost about as many steps as there are nodes, the ends of all nodes are
// noted: elements inside each other all have the same branch, and would take the square of their number.
func (d *Document) deepEnd(id uint32) uint32 {
	if ends := d.ends.Load(); ends != nil {
		return (*ends)[id]
	}
	end, steps := id, int64(0)
	for d.nodes[end].last != 0 {
		end = d.nodes[end].last
		steps++
	}
	if d.climbed.Add(steps) > int64(len(d.nodes)) {
		ends := make([]uint32, len(d.nodes))
		for i := len(ends) - 1; i > 0; i-- {
			ends[i] = uint32(i) + 1
			if last := d.nodes[i].last; last != 0 {
				ends[i] = ends[last]
			}
		}
		d.ends.CompareAndSwap(nil, &ends)
	}
	return end + 1
}

func (n Node) rec() *node {
	if n.doc == nil {
		return &noNode
	}
	return &n.doc.nodes[n.id]
}

// noNode is the record of the zero Node.
var noNode node

// Kind returns what the node is.
func (n Node) Kind() Kind { return Kind(n.rec().meta & kindMask) }

// IsElement reports whether the node is an element.
func (n Node) IsElement() bool { return n.rec().meta&kindMask == uint32(ElementNode) }

// Atom returns the number of the node's name: that of an element's tag or a processing
// instruction's target, 0 for other nodes.
func (n Node) Atom() Atom { return Atom(n.rec().meta >> atomShift) }

// Namespace returns the namespace of an element. Of nodes that have none it is meaningless.
func (n Node) Namespace() Namespace { return Namespace(n.rec().meta & nsMask >> nsShift) }

// Is reports whether the node is the element of HTML with this name.
func (n Node) Is(a Atom) bool {
	return n.rec().meta&^(flagSide|flagMade) == uint32(a)<<atomShift|uint32(HTML)<<nsShift|uint32(ElementNode)
}

// Implied reports whether an element was made by the parser without a tag of its own: html, head,
// body, tbody and the like, or a copy of a formatting element whose tags were misnested.
func (n Node) Implied() bool {
	m := n.rec().meta
	return m&kindMask == uint32(ElementNode) && m&flagMade != 0
}

// Parent returns the parent of the node.
func (n Node) Parent() Node { return n.at(n.rec().parent) }

// FirstChild returns the first child of the node. The children of a template element are those of
// its contents, for which the HTML standard has a separate fragment.
func (n Node) FirstChild() Node {
	if n.rec().last == 0 {
		return Node{}
	}
	return Node{n.doc, n.id + 1}
}

// LastChild returns the last child of the node.
func (n Node) LastChild() Node { return n.at(n.rec().last) }

// NextSibling returns the next node with the same parent.
func (n Node) NextSibling() Node { return n.at(n.rec().next) }

// PrevSibling returns the previous node with the same parent.
func (n Node) PrevSibling() Node { return n.at(n.rec().prev) }

func (n Node) at(id uint32) Node {
	if id == 0 {
		return Node{}
	}
	return Node{n.doc, id}
}

// Name returns the name of an element as the parser keeps it, in lower case for HTML, with its
// prefix in XML; the target of a processing instruction; the name of a document type; "" for other
// nodes.
func (n Node) Name() string {
	if n.doc == nil {
		return ""
	}
	if n.Kind() == DoctypeNode {
		return n.doc.doctypeNames().Name
	}
	return n.doc.AtomName(n.Atom())
}

// LocalName returns the name of an element without its prefix.
func (n Node) LocalName() string {
	name := n.Name()
	if n.doc != nil && n.doc.xml && n.IsElement() {
		return localName(name)
	}
	return name
}

// NamespaceURI returns the name of an element's namespace, "" for none.
func (n Node) NamespaceURI() string {
	if !n.IsElement() {
		return ""
	}
	if ns := n.Namespace(); ns != OtherNamespace {
		return ns.URI()
	}
	return n.doc.atomSpace(n.Atom())
}

// Data returns what a text node, comment or processing instruction holds, with character references
// replaced, nil for other nodes. It is a view of the document and must not be changed.
func (n Node) Data() []byte {
	r := n.rec()
	switch Kind(r.meta & kindMask) {
	case TextNode, CommentNode, InstructionNode:
		return n.doc.data(r)
	}
	return nil
}

func (d *Document) data(r *node) []byte {
	if r.meta&flagSide != 0 {
		s := d.spans[r.end]
		return d.side[s.start:s.end:s.end]
	}
	return d.source[r.data:r.end:r.end]
}

// Pos returns the position in the source at which the node starts: the offset in bytes of its first
// character or of the < of its tag. The position of an element that the parser implied is that of
// the token that made it do so.
func (n Node) Pos() int {
	r := n.rec()
	switch Kind(r.meta & kindMask) {
	case ElementNode:
		return int(r.end)
	case TextNode:
		return int(r.data)
	case DoctypeNode:
		return int(r.data)
	case CommentNode, InstructionNode:
		if r.meta&flagSide != 0 {
			return int(r.data)
		}
		return n.doc.markupStart(int(r.data))
	}
	return 0
}

// markupStart finds the < of the comment or instruction whose text starts at pos: <!--, or one of
// the bogus forms.
func (d *Document) markupStart(pos int) int {
	for back := 1; back <= 4 && back <= pos; back++ {
		if d.source[pos-back] == '<' {
			return pos - back
		}
	}
	return pos
}

// view makes a string of bytes that do not change any more.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

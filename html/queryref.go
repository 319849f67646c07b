package html

import "cmp"

// ID returns the number of the attribute in its document. Numbers start at 1 and follow the order of
// the source for the attributes of one element. 0 is no attribute.
func (a Attr) ID() uint32 { return a.i }

// View returns the value, with character references replaced: a view of the source if there is
// nothing to replace, else what it appends to buf[:0]. It must not be changed.
func (a Attr) View(buf []byte) []byte {
	raw := a.Raw()
	if len(raw) == 0 || !a.doc.coded || !needsDecoding(raw) {
		return raw
	}
	return a.AppendTo(buf[:0])
}

// Ref is what a query finds: a node or an attribute. It is a small value that can be copied, compared
// and used as a key of a map. The zero Ref is nothing.
type Ref struct {
	doc        *Document
	node, attr uint32
}

// Ref returns the Ref of a node of this document, or of one of its attributes, by their numbers:
// see [Node.ID] and [Attr.ID]. attr is 0 for the node itself.
func (d *Document) Ref(node, attr uint32) Ref { return Ref{d, node, attr} }

// Ref returns the node as a Ref.
func (n Node) Ref() Ref { return Ref{n.doc, n.id, 0} }

// IsZero reports whether this is nothing.
func (r Ref) IsZero() bool { return r.node == 0 }

// Node returns the node, for an attribute its element.
func (r Ref) Node() Node { return Node{r.doc, r.node} }

// Attr returns the attribute, the zero Attr if this is a node.
func (r Ref) Attr() Attr { return Attr{r.doc, r.attr} }

// IsAttr reports whether this is an attribute.
func (r Ref) IsAttr() bool { return r.attr != 0 }

// Compare orders nodes and attributes of one document as it does: an element comes before its
// attributes, these before what is inside.
func (r Ref) Compare(other Ref) int {
	if c := cmp.Compare(r.node, other.node); c != 0 {
		return c
	}
	return cmp.Compare(r.attr, other.attr)
}

package html

import "iter"

// Children returns the children of a node in order.
func (n Node) Children() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for c := n.FirstChild(); !c.IsZero(); c = c.NextSibling() {
			if !yield(c) {
				return
			}
		}
	}
}

// Descendants returns all nodes inside a node, itself not included, in document order.
func (n Node) Descendants() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for id, end := n.id+1, n.EndID(); id < end; id++ {
			if !yield(Node{n.doc, id}) {
				return
			}
		}
	}
}

// Ancestors returns the parent of a node, the parent of that and so on, up to the document.
func (n Node) Ancestors() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for p := n.Parent(); !p.IsZero(); p = p.Parent() {
			if !yield(p) {
				return
			}
		}
	}
}

// after returns the node that follows the descendants of id in document order and is inside of root,
// 0 if there is none, and calls leave for each element that ends on the way.
func (d *Document) after(id, root uint32, leave func(id uint32)) uint32 {
	for id != root {
		if next := d.nodes[id].next; next != 0 {
			return next
		}
		id = d.nodes[id].parent
		leave(id)
	}
	return 0
}

package html

import (
	"sync"
)

// Index is what query engines read instead of the tree: the elements of a document side by side in
// document order, with lists of those that share a name, an attribute, an id or a class. Each part
// is made when it is first asked for, in one pass over the document; see [Document.Index]. An Index
// may be used by several goroutines at once. Nothing that it returns may be changed.
//
// It is the seam between this package and html/css and html/xpath, which programs use; it changes with
// them.
type Index struct {
	doc      *Document
	elements []Element
	position []int32           // of the element with a node ID, else of the nearest element before it
	locals   map[string]uint32 // XML: the name that stands for all with the same local name
	byName   postings

	kinOnce sync.Once
	kin     []Kin

	attrsOnce sync.Once
	byAttr    postings

	wordsOnce sync.Once
	words     Words

	texts [2]struct { // as it is; in lower case
		once sync.Once
		text Text
	}
}

// Element is an element of a document as an [Index] has it. Elements are named by their position in
// document order, from 1. Position 0 stands for the document.
type Element struct {
	ID        uint32 // of the Node, see Node.ID
	Parent    int32  // 0 for the root element
	End       int32  // the position after that of the last descendant
	Name      uint32 // see Index.Name
	Namespace Namespace
}

// Kin is what few queries ask of an element: its place among its siblings. As a position 0 means none.
type Kin struct {
	EndID uint32 // see Node.EndID
	Prev  int32  // the sibling element before this one
	Last  int32  // the last child element
	Order int32  // the number of this element among its siblings, from 1
	Count int32  // the number of its own children that are elements
}

// Index returns the index of the document, which it makes when it is first called. The index lives
// as long as the document and takes about 24 bytes for each element and 4 for each node, as much again
// if ids or classes are asked for, and once more for siblings.
func (d *Document) Index() *Index {
	if x := d.index.Load(); x != nil {
		return x
	}
	d.index.CompareAndSwap(nil, newIndex(d))
	return d.index.Load()
}

func newIndex(d *Document) *Index {
	nodes := d.nodes
	count := 1
	for i := range nodes {
		if nodes[i].meta&kindMask == uint32(ElementNode) {
			count++
		}
	}
	x := &Index{doc: d}
	if d.xml {
		x.locals = make(map[string]uint32)
	}
	position := make([]int32, len(nodes))
	elements := make([]Element, count)
	starts := make([]uint32, d.Atoms()+2)
	elements[0] = Element{ID: 1}
	k := int32(0)
	for id := 1; id < len(nodes); id++ {
		n := &nodes[id]
		if n.meta&kindMask == uint32(ElementNode) {
			up := position[n.parent] // of the document too that is 0
			k++
			name := n.meta >> atomShift
			if d.xml {
				name = x.local(Atom(name))
			}
			e := &elements[k]
			e.ID, e.Parent, e.End, e.Name, e.Namespace = uint32(id), up, k+1, name, Namespace(n.meta&nsMask>>nsShift)
			starts[name+2]++
		}
		position[id] = k
	}
	names := postings{starts: starts}
	names.allot(count - 1)
	for k := 1; k < len(elements); k++ {
		names.put(elements[k].Name, int32(k))
	}
	for k := len(elements) - 1; k > 0; k-- {
		e := &elements[k]
		parent := &elements[e.Parent]
		parent.End = max(parent.End, e.End)
	}
	elements[0].End = int32(count)
	x.elements, x.position, x.byName = elements, position, names
	return x
}

// Kin returns what is known of the siblings of each element, by position.
func (x *Index) Kin() []Kin {
	x.kinOnce.Do(func() {
		kin := make([]Kin, len(x.elements))
		kin[0].EndID = 2
		nodes, k := x.doc.nodes, int32(0)
		for id := 1; id < len(nodes); id++ {
			parent := &kin[x.position[nodes[id].parent]]
			parent.EndID = uint32(id) + 1
			if nodes[id].meta&kindMask == uint32(ElementNode) {
				k++
				parent.Count++
				kin[k] = Kin{EndID: uint32(id) + 1, Prev: parent.Last, Order: parent.Count}
				parent.Last = k
			}
		}
		for k := len(kin) - 1; k > 0; k-- {
			parent := &kin[x.elements[k].Parent]
			parent.EndID = max(parent.EndID, kin[k].EndID)
		}
		x.kin = kin
	})
	return x.kin
}

// local returns what stands for all names in XML with the same local name.
func (x *Index) local(a Atom) uint32 {
	local := localName(x.doc.AtomName(a))
	first, known := x.locals[local]
	if !known {
		first = uint32(a)
		x.locals[local] = first
	}
	return first
}

// Elements returns the elements in document order. The first entry stands for the document.
func (x *Index) Elements() []Element { return x.elements }

// Position returns the position of an element of this document. For another node it is that of the
// nearest element before it in document order, 0 if there is none.
func (x *Index) Position(n Node) int32 { return x.position[n.id] }

// Node returns the element at a position.
func (x *Index) Node(k int32) Node { return Node{x.doc, x.elements[k].ID} }

// Name returns the number that elements with this local name have as Element.Name, 0 if no
// element of the document can have it. Names are compared byte by byte.
func (x *Index) Name(local string) uint32 {
	if x.locals != nil {
		return x.locals[local]
	}
	return uint32(x.doc.LookupAtom(local))
}

// ByName returns the positions of the elements with a name.
func (x *Index) ByName(name uint32) []int32 { return x.byName.of(name) }

// ByAttr returns the positions of the elements with an attribute of that name.
func (x *Index) ByAttr(name Atom) []int32 {
	x.attrsOnce.Do(func() {
		x.byAttr.starts = make([]uint32, x.doc.Atoms()+2)
		total := 0
		x.eachAttr(func(_ int32, name uint32) {
			x.byAttr.starts[name+2]++
			total++
		})
		x.byAttr.allot(total)
		x.eachAttr(func(k int32, name uint32) { x.byAttr.put(name, k) })
	})
	return x.byAttr.of(uint32(name))
}

// eachAttr goes through the attributes of all elements; those that the parser made by copying
// another share its records.
func (x *Index) eachAttr(see func(k int32, name uint32)) {
	d := x.doc
	for k := 1; k < len(x.elements); k++ {
		for i := d.nodes[x.elements[k].ID].data; i != 0; i++ {
			meta := d.attrs[i].meta
			see(int32(k), meta>>atomShift)
			if meta&attrLast != 0 {
				break
			}
		}
	}
}

// postings are lists of positions by number, side by side. To make them count each number n in
// starts[n+2], call allot, then put.
type postings struct {
	starts []uint32 // of the list of each number; for a number without list the start of the next
	list   []int32
}

// allot gives each list its place. The place of the list of n is kept in starts[n+1], which moves to
// the list's end as it fills.
func (p *postings) allot(total int) {
	sum := uint32(0)
	for i, n := range p.starts {
		sum += n
		p.starts[i] = sum
	}
	p.list = make([]int32, total)
}

func (p *postings) put(number uint32, k int32) {
	at := &p.starts[number+1]
	p.list[*at] = k
	*at++
}

func (p *postings) of(number uint32) []int32 {
	if int(number)+1 >= len(p.starts) {
		return nil
	}
	return p.list[p.starts[number]:p.starts[number+1]]
}

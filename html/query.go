package html

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"sync"
)

// Index is what query engines read instead of the tree: the elements of a document side by side in
// document order, with lists of those that share a name, an attribute, an id or a class. Each part
// is made when it is first asked for, in one pass over the document; see [Document.Index]. An Index
// may be used by several goroutines at once. Nothing that it returns may be changed.
type Index struct {
	doc      *Document
	elements []Element
	position []int32           // of the element with a node ID, else of the nearest element before it
	locals   map[string]uint32 // XML: the name that stands for all with the same local name
	byName   postings

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
// document order, from 1. Position 0 stands for the document; as a sibling it means none.
type Element struct {
	ID           uint32 // of the Node
	Parent       int32  // 0 for the root element
	End          int32  // the position after that of the last descendant
	Prev         int32  // the sibling element before this one
	Last         int32  // the last child element
	Order, Count int32  // the number of this element among its siblings, from 1; the number of its own children
	Name         uint32 // see Index.Name
	Namespace    Namespace
}

// Index returns the index of the document, which it makes when it is first called. The index lives
// as long as the document and takes about 44 bytes for each element and 4 for each node, half as
// much again if ids or classes are asked for.
func (d *Document) Index() *Index {
	if x := d.index.Load(); x != nil {
		return x
	}
	d.index.CompareAndSwap(nil, newIndex(d))
	return d.index.Load()
}

func newIndex(d *Document) *Index {
	x := &Index{doc: d, position: make([]int32, len(d.nodes))}
	count := 1
	for i := range d.nodes {
		if d.nodes[i].meta&kindMask == uint32(ElementNode) {
			count++
		}
	}
	x.elements = make([]Element, count)
	x.elements[0].ID = 1
	if d.xml {
		x.locals = make(map[string]uint32)
	}
	x.byName.starts = make([]uint32, d.Atoms()+2)
	k := int32(0)
	for id := 1; id < len(d.nodes); id++ {
		n := &d.nodes[id]
		if n.meta&kindMask == uint32(ElementNode) {
			k++
			up := int32(0)
			if n.parent != 0 {
				up = x.position[n.parent]
			}
			parent, e := &x.elements[up], &x.elements[k]
			parent.Count++
			e.ID, e.Parent, e.End, e.Prev, e.Order = uint32(id), up, k+1, parent.Last, parent.Count
			e.Name, e.Namespace = n.meta>>atomShift, Namespace(n.meta&nsMask>>nsShift)
			parent.Last = k
			if x.locals != nil {
				e.Name = x.local(Atom(e.Name))
			}
			x.byName.starts[e.Name+2]++
		}
		x.position[id] = k
	}
	x.byName.allot(count - 1)
	for k := 1; k < len(x.elements); k++ {
		x.byName.put(x.elements[k].Name, int32(k))
	}
	for k := len(x.elements) - 1; k > 0; k-- {
		e := &x.elements[k]
		if parent := &x.elements[e.Parent]; parent.End < e.End {
			parent.End = e.End
		}
	}
	return x
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

// Words are the ids and classes of a document as numbers, the same for an id and a class with the
// same letters. In quirks mode they are compared without regard to ASCII case (HTML standard,
// section 4.17.2 with DOM, section 4.9), so words that differ only in case have one number.
type Words struct {
	fold    bool     // quirks mode
	slots   []uint32 // open addressing: a number, 0 is empty
	words   []word   // by number
	own     []own    // by position
	classes []uint32 // of all elements
	lists   postings // of ids by twice their number, of classes by one more
}

type word struct {
	text string
	hash uint32
}

// own is what is known of one element.
type own struct {
	path   uint64 // the bits of the element and its ancestors
	id     uint32 // number of the id, 0 for none
	starts uint32 // where its classes start; they end where those of the next element start
}

// Words returns the ids and classes.
func (x *Index) Words() *Words {
	x.wordsOnce.Do(func() { x.words.read(x) })
	return &x.words
}

func (w *Words) read(x *Index) {
	d := x.doc
	w.fold = d.quirks == Quirks && !d.xml
	w.words = make([]word, 1, 32)
	w.slots = make([]uint32, 64)
	w.own = make([]own, len(x.elements)+1)
	w.classes = make([]uint32, 0, len(x.elements))
	for k := 1; k < len(x.elements); k++ {
		e, own := &x.elements[k], &w.own[k]
		own.starts = uint32(len(w.classes))
		for i := d.nodes[e.ID].data; i != 0; i++ {
			a := Attr{d, i}
			meta := d.attrs[i].meta
			switch Atom(meta >> atomShift) {
			case AtomId:
				if value := a.Bytes(); len(value) > 0 {
					own.id = w.intern(value)
				}
			case AtomClass:
				w.split(a.Bytes(), own.starts)
			}
			if meta&attrLast != 0 {
				break
			}
		}
		own.path = w.own[e.Parent].path | NameBit(e.Name) | w.WordBit(own.id)
		for _, c := range w.classes[own.starts:] {
			own.path |= w.WordBit(c)
		}
	}
	w.own[len(x.elements)].starts = uint32(len(w.classes))
	w.lists.starts = make([]uint32, 2*len(w.words)+2)
	for k := range x.elements {
		if id := w.own[k].id; id != 0 {
			w.lists.starts[2*id+2]++
		}
	}
	for _, c := range w.classes {
		w.lists.starts[2*c+1+2]++
	}
	w.lists.allot(len(w.classes) + len(x.elements))
	for k := range x.elements {
		if id := w.own[k].id; id != 0 {
			w.lists.put(2*id, int32(k))
		}
		for _, c := range w.Classes(int32(k)) {
			w.lists.put(2*c+1, int32(k))
		}
	}
}

// split adds the classes in the value of an attribute, each once.
func (w *Words) split(value []byte, first uint32) {
	for i := 0; i < len(value); {
		if separatesWords(value[i]) {
			i++
			continue
		}
		start := i
		for i < len(value) && !separatesWords(value[i]) {
			i++
		}
		word := w.intern(value[start:i])
		again := false
		// Few elements have many classes; those that do may list one twice.
		for _, c := range w.classes[first:min(len(w.classes), int(first)+16)] {
			again = again || c == word
		}
		if !again {
			w.classes = append(w.classes, word)
		}
	}
}

// separatesWords reports whether c is white space in the sense of the Infra standard, section 4.6.
func separatesWords(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// find returns the slot of a word and its number, 0 if it has none.
func (w *Words) find(word []byte, hash uint32) (slot, number uint32) {
	mask := uint32(len(w.slots) - 1)
	for slot = hash & mask; ; slot = (slot + 1) & mask {
		number = w.slots[slot]
		if number == 0 || w.words[number].hash == hash && w.words[number].text == string(word) {
			return slot, number
		}
	}
}

func hashWord(word []byte) uint32 { h := maphash.Bytes(seed, word); return uint32(h ^ h>>32) }

func (w *Words) intern(text []byte) uint32 {
	if w.fold {
		text = foldASCII(text)
	}
	hash := hashWord(text)
	slot, number := w.find(text, hash)
	if number != 0 {
		return number
	}
	number = uint32(len(w.words))
	w.words = append(w.words, word{view(text), hash})
	w.slots[slot] = number
	if 2*len(w.words) > len(w.slots) {
		w.slots = make([]uint32, 2*len(w.slots))
		for n := 1; n < len(w.words); n++ {
			slot := w.words[n].hash & uint32(len(w.slots)-1)
			for w.slots[slot] != 0 {
				slot = (slot + 1) & uint32(len(w.slots)-1)
			}
			w.slots[slot] = uint32(n)
		}
	}
	return number
}

// foldASCII returns word with the capitals of ASCII in lower case: word itself if it has none.
func foldASCII(word []byte) []byte {
	for i, c := range word {
		if 'A' <= c && c <= 'Z' {
			lower := append([]byte(nil), word...)
			for j := i; j < len(lower); j++ {
				if c := lower[j]; 'A' <= c && c <= 'Z' {
					lower[j] = c + 'a' - 'A'
				}
			}
			return lower
		}
	}
	return word
}

// Lookup returns the number of a word, 0 if it is neither id nor class of any element.
func (w *Words) Lookup(word string) uint32 {
	if word == "" {
		return 0
	}
	b := []byte(word)
	if w.fold {
		b = foldASCII(b)
	}
	_, number := w.find(b, hashWord(b))
	return number
}

// ByID returns the positions of the elements with an id.
func (w *Words) ByID(id uint32) []int32 { return w.lists.of(2 * id) }

// ByClass returns the positions of the elements with a class.
func (w *Words) ByClass(class uint32) []int32 { return w.lists.of(2*class + 1) }

// ID returns the number of the id of the element at a position, 0 if it has none.
func (w *Words) ID(k int32) uint32 { return w.own[k].id }

// Classes returns the numbers of the classes of the element at a position.
func (w *Words) Classes(k int32) []uint32 { return w.classes[w.own[k].starts:w.own[k+1].starts] }

// Path returns the filter of an element and its ancestors: the union of the bits of their names, ids
// and classes. If a bit is not in it none of them has the name or word; if it is, one may have.
func (w *Words) Path(k int32) uint64 { return w.own[k].path }

// NameBit returns the bit of a name in the filters of [Words.Path].
func NameBit(name uint32) uint64 { return 1 << (name * 0x9e3779b1 >> 26) }

// WordBit returns the bit of an id or class in the filters of [Words.Path]; that of 0 is no bit.
func (w *Words) WordBit(word uint32) uint64 {
	if word == 0 {
		return 0
	}
	return 1 << (w.words[word].hash >> 26)
}

// Text is all text of a document in one piece, so that the text of each element is a part of it.
type Text struct {
	all          string
	starts, ends []uint32 // by position
}

// Text returns the text of the document, that of scripts and styles included.
func (x *Index) Text() *Text { return x.readText(0, func(b []byte) []byte { return b }) }

// LowerText returns the text of the document in lower case, as bytes.ToLower makes it.
func (x *Index) LowerText() *Text { return x.readText(1, bytes.ToLower) }

func (x *Index) readText(which int, change func([]byte) []byte) *Text {
	t := &x.texts[which]
	t.once.Do(func() { t.text.read(x, change) })
	return &t.text
}

func (t *Text) read(x *Index, change func([]byte) []byte) {
	t.starts, t.ends = make([]uint32, len(x.elements)), make([]uint32, len(x.elements))
	var all []byte
	for id := 1; id < len(x.doc.nodes); id++ {
		n := &x.doc.nodes[id]
		switch Kind(n.meta & kindMask) {
		case ElementNode:
			k := x.position[id]
			t.starts[k], t.ends[k] = uint32(len(all)), uint32(len(all))
		case TextNode:
			all = append(all, change(x.doc.data(n))...)
			if n.parent != 0 {
				t.ends[x.position[n.parent]] = uint32(len(all))
			}
		}
	}
	for k := len(x.elements) - 1; k > 0; k-- {
		if parent := x.elements[k].Parent; t.ends[parent] < t.ends[k] {
			t.ends[parent] = t.ends[k]
		}
	}
	t.all = view(all)
}

// All returns the whole text.
func (t *Text) All() string { return t.all }

// Bounds returns where in the text that of the element at a position starts and ends.
func (t *Text) Bounds(k int32) (start, end int) { return int(t.starts[k]), int(t.ends[k]) }

// Of returns the text of the element at a position: all text nodes inside it, joined.
func (t *Text) Of(k int32) string { return t.all[t.starts[k]:t.ends[k]] }

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

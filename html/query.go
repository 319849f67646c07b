package html

import (
	"bytes"
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
	x.elements = make([]Element, 1, count)
	x.elements[0].ID = 1
	if d.xml {
		x.locals = make(map[string]uint32)
	}
	for id := 1; id < len(d.nodes); id++ {
		n := &d.nodes[id]
		if n.meta&kindMask != uint32(ElementNode) {
			x.position[id] = int32(len(x.elements) - 1)
			continue
		}
		k := int32(len(x.elements))
		x.position[id] = k
		up := int32(0)
		if n.parent != 0 {
			up = x.position[n.parent]
		}
		parent := &x.elements[up]
		e := Element{ID: uint32(id), Parent: up, End: k + 1, Prev: parent.Last, Name: n.meta >> atomShift,
			Namespace: Namespace(n.meta & nsMask >> nsShift)}
		if x.locals != nil {
			e.Name = x.local(Atom(e.Name))
		}
		parent.Count++
		e.Order = parent.Count
		parent.Last = k
		x.elements = append(x.elements, e)
	}
	for k := len(x.elements) - 1; k > 0; k-- {
		e := &x.elements[k]
		if parent := &x.elements[e.Parent]; parent.End < e.End {
			parent.End = e.End
		}
	}
	x.byName.count(x.elements, func(_ int32, e *Element, see func(uint32)) { see(e.Name) })
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
		x.byAttr.count(x.elements, func(k int32, _ *Element, see func(uint32)) {
			for a := x.Node(k).FirstAttr(); !a.IsZero(); a = a.Next() {
				see(uint32(a.Atom()))
			}
		})
	})
	return x.byAttr.of(uint32(name))
}

// postings are lists of positions by number, side by side.
type postings struct {
	starts []uint32 // of the list of each number, and the end of the last one
	list   []int32
}

// count makes the lists of what each calls see with for each element.
func (p *postings) count(elements []Element, each func(k int32, e *Element, see func(uint32))) {
	total := 0
	see := func(number uint32) {
		for int(number)+2 >= len(p.starts) {
			p.starts = append(p.starts, make([]uint32, int(number)+3-len(p.starts))...)
		}
		p.starts[number+2]++
		total++
	}
	for k := 1; k < len(elements); k++ {
		each(int32(k), &elements[k], see)
	}
	for i := 1; i < len(p.starts); i++ {
		p.starts[i] += p.starts[i-1]
	}
	// starts[n+1] is where the list of n begins, and moves to its end as the list fills.
	p.list = make([]int32, total)
	k := int32(1)
	put := func(number uint32) {
		p.list[p.starts[number+1]] = k
		p.starts[number+1]++
	}
	for ; int(k) < len(elements); k++ {
		each(k, &elements[k], put)
	}
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
	fold    bool
	slots   []uint32 // open addressing: a number, 0 is empty
	text    []string // by number
	hashes  []uint32 // by number
	ids     []uint32 // by position: the number of the id, 0 for none
	classes []uint32 // of all elements
	starts  []uint32 // by position: where its classes start, and the end of the last ones
	above   []uint64 // by position: the filter of the ancestors
	lists   postings
}

// Words returns the ids and classes.
func (x *Index) Words() *Words {
	x.wordsOnce.Do(func() { x.words.read(x) })
	return &x.words
}

func (w *Words) read(x *Index) {
	w.fold = x.doc.quirks == Quirks && !x.doc.xml
	w.text, w.hashes = make([]string, 1), make([]uint32, 1)
	w.slots = make([]uint32, 64)
	w.ids = make([]uint32, len(x.elements))
	w.starts = make([]uint32, 1, len(x.elements)+1)
	w.above = make([]uint64, len(x.elements))
	for k := 1; k < len(x.elements); k++ {
		w.starts = append(w.starts, uint32(len(w.classes)))
		for a := x.Node(int32(k)).FirstAttr(); !a.IsZero(); a = a.Next() {
			switch a.Atom() {
			case AtomId:
				if value := a.Bytes(); len(value) > 0 {
					w.ids[k] = w.intern(value)
				}
			case AtomClass:
				w.split(a.Bytes())
			}
		}
	}
	w.starts = append(w.starts, uint32(len(w.classes)))
	w.lists.count(x.elements, func(k int32, _ *Element, see func(uint32)) {
		if w.ids[k] != 0 {
			see(w.ids[k])
		}
		for _, c := range w.Classes(k) {
			if c != w.ids[k] {
				see(c)
			}
		}
	})
	for k := 1; k < len(x.elements); k++ {
		parent := x.elements[k].Parent
		if parent == 0 {
			continue
		}
		filter := w.above[parent] | NameBit(x.elements[parent].Name) | w.WordBit(w.ids[parent])
		for _, c := range w.Classes(parent) {
			filter |= w.WordBit(c)
		}
		w.above[k] = filter
	}
}

// split adds the classes in the value of an attribute, each once.
func (w *Words) split(value []byte) {
	first := w.starts[len(w.starts)-1]
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
		if number == 0 || w.hashes[number] == hash && w.text[number] == string(word) {
			return slot, number
		}
	}
}

func hashWord(word []byte) uint32 { h := maphash.Bytes(seed, word); return uint32(h ^ h>>32) }

func (w *Words) intern(word []byte) uint32 {
	if w.fold {
		word = foldASCII(word)
	}
	hash := hashWord(word)
	slot, number := w.find(word, hash)
	if number != 0 {
		return number
	}
	number = uint32(len(w.text))
	w.text = append(w.text, view(word))
	w.hashes = append(w.hashes, hash)
	w.slots[slot] = number
	if 2*len(w.text) > len(w.slots) {
		w.slots = make([]uint32, 2*len(w.slots))
		for n := 1; n < len(w.text); n++ {
			slot := w.hashes[n] & uint32(len(w.slots)-1)
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

// ByWord returns the positions of the elements with a word as id or class.
func (w *Words) ByWord(word uint32) []int32 { return w.lists.of(word) }

// ID returns the number of the id of the element at a position, 0 if it has none.
func (w *Words) ID(k int32) uint32 { return w.ids[k] }

// Classes returns the numbers of the classes of the element at a position.
func (w *Words) Classes(k int32) []uint32 { return w.classes[w.starts[k]:w.starts[k+1]] }

// Above returns the filter of the ancestors of the element at a position, the document excluded:
// the union of the bits of their names, ids and classes. If a bit is not in it no ancestor has the
// name or word; if it is, one may have.
func (w *Words) Above(k int32) uint64 { return w.above[k] }

// NameBit returns the bit of a name in the filters of [Words.Above].
func NameBit(name uint32) uint64 { return 1 << (name * 0x9e3779b1 >> 26) }

// WordBit returns the bit of an id or class in the filters of [Words.Above]; that of 0 is no bit.
func (w *Words) WordBit(word uint32) uint64 {
	if word == 0 {
		return 0
	}
	return 1 << (w.hashes[word] >> 26)
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

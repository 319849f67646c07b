package html

import "math/bits"

// Sweep is what query engines read a document with before it has an [Index]: it looks at one node
// after the other and counts its steps. Making an index takes as long as a few queries of the whole
// page by sweeps, and most pages get no more. The steps are therefore counted for each document, and
// once they have cost about what an index costs no sweep is worth it any more. So no sequence of queries
// takes much more than twice the time of the better way.
//
// Elements are named by their Node.ID, 0 is none. A Sweep is for one goroutine and one query; a
// document may be swept by several at once. Like Index it is a seam between this package and the query
// engines, and it changes with them.
type Sweep struct {
	doc   *Document
	nodes []node
	attrs []attr
	fold  bool // ids and classes ignore case
	steps int
	limit int
}

// A step is to look at one node in a row or at the name of one attribute, which takes a bit more than
// half a nanosecond. These are how many of them other things take, by BenchmarkSweep and BenchmarkIndex
// of html/css.
const (
	indexSteps = 16 // to make an index, for each node and attribute
	wordSteps  = 12 // to look for an id or class in a value
	moveSteps  = 2  // to go from an element to one beside or above it
)

// SweepLimit returns how many steps of sweeps are still worth it, 0 if the index should be asked. In
// XML documents that is always so: elements are found by a part of their name there.
func (d *Document) SweepLimit() int {
	if d.xml || d.index.Load() != nil {
		return 0
	}
	return max(indexSteps*(len(d.nodes)+len(d.attrs))-int(d.swept.Load()), 0)
}

// Sweep begins a sweep of at most so many steps.
func (d *Document) Sweep(limit int) Sweep {
	return Sweep{doc: d, nodes: d.nodes, attrs: d.attrs, fold: d.quirks == Quirks, limit: limit}
}

// Over reports whether the sweep has taken more steps than it may. What it found is incomplete then:
// the index has to answer.
func (w *Sweep) Over() bool { return w.steps > w.limit }

// End ends the sweep and returns its steps, which count for the document.
func (w *Sweep) End() int {
	w.doc.swept.Add(int64(w.steps))
	return w.steps
}

// Step counts steps that the query engine takes by itself.
func (w *Sweep) Step(n int) { w.steps += n }

// Node returns the node with a number, which must be one of the document's.
func (w *Sweep) Node(id uint32) Node { return Node{w.doc, id} }

// Element returns the first element from a number on, end if there is none before it.
func (w *Sweep) Element(from, end uint32) uint32 {
	nodes, id := w.nodes[:end], from
	for id < end && nodes[id].meta&kindMask != uint32(ElementNode) {
		id++
	}
	w.steps += int(id-from) + 1
	return id
}

// Named returns the first element with a name, of any namespace, from a number on, end if there is
// none before it.
func (w *Sweep) Named(from, end uint32, name Atom) uint32 {
	if name == 0 {
		return end
	}
	nodes, id := w.nodes[:end], from
	want := uint32(name)<<atomShift | uint32(ElementNode)
	for id < end && nodes[id].meta&^(nsMask|flagSide|flagMade) != want {
		id++
	}
	w.steps += int(id-from) + 1
	return id
}

// With returns the first element with an attribute of that name from a number on, end if there is none
// before it.
func (w *Sweep) With(from, end uint32, name Atom) uint32 { return w.with(from, end, name, "") }

// WithID returns the first element with an id from a number on, end if there is none before it. What an
// id or class is compared with must not be empty and hold none of &, NUL and white space.
func (w *Sweep) WithID(from, end uint32, word string) uint32 {
	return w.with(from, end, AtomId, word)
}

// WithClass returns the first element with a class from a number on, end if there is none before it.
func (w *Sweep) WithClass(from, end uint32, word string) uint32 {
	return w.with(from, end, AtomClass, word)
}

// with returns the first element with an attribute that is not there or, as id or class, a word.
func (w *Sweep) with(from, end uint32, name Atom, word string) uint32 {
	if name == 0 {
		return end
	}
	nodes, attrs, steps := w.nodes[:end], w.attrs, 0
	id := from
next:
	for ; id < end; id++ {
		n := &nodes[id]
		if n.meta&kindMask != uint32(ElementNode) || n.data == 0 {
			continue
		}
		for at := n.data; ; at++ {
			meta := attrs[at].meta
			if Atom(meta>>atomShift) == name && (word == "" || w.is(name, at, word)) {
				steps += int(at-n.data) + 1
				break next
			}
			if meta&attrLast != 0 {
				steps += int(at-n.data) + 1
				break
			}
		}
	}
	w.steps += steps + int(id-from) + 1
	return id
}

// HasID reports whether an element has an id.
func (w *Sweep) HasID(id uint32, word string) bool {
	at := w.Attr(id, AtomId).i
	return at != 0 && w.is(AtomId, at, word)
}

// HasClass reports whether an element has a class.
func (w *Sweep) HasClass(id uint32, word string) bool {
	at := w.Attr(id, AtomClass).i
	return at != 0 && w.is(AtomClass, at, word)
}

// Attr is Node.FindAttr, counted.
func (w *Sweep) Attr(id uint32, name Atom) Attr {
	first := w.nodes[id].data
	if first == 0 {
		return Attr{}
	}
	for at := first; ; at++ {
		meta := w.attrs[at].meta
		if Atom(meta>>atomShift) == name {
			w.steps += int(at-first) + 1
			return Attr{w.doc, at}
		}
		if meta&attrLast != 0 {
			w.steps += int(at-first) + 1
			return Attr{}
		}
	}
}

// Parent returns the element that is the parent of an element.
func (w *Sweep) Parent(id uint32) uint32 {
	w.steps += moveSteps
	id = w.nodes[id].parent
	if w.nodes[id].meta&kindMask != uint32(ElementNode) {
		return 0
	}
	return id
}

// Prev returns the sibling element before an element.
func (w *Sweep) Prev(id uint32) uint32 {
	for {
		w.steps += moveSteps
		id = w.nodes[id].prev
		if id == 0 || w.nodes[id].meta&kindMask == uint32(ElementNode) {
			return id
		}
	}
}

// Next returns the sibling element after an element.
func (w *Sweep) Next(id uint32) uint32 {
	for {
		w.steps += moveSteps
		id = w.nodes[id].next
		if id == 0 || w.nodes[id].meta&kindMask == uint32(ElementNode) {
			return id
		}
	}
}

// is reports whether an attribute is that id or has that class.
func (w *Sweep) is(name Atom, at uint32, word string) bool {
	w.steps += wordSteps
	if name == AtomId {
		return w.isID(at, word)
	}
	return w.hasClass(at, word)
}

func (w *Sweep) isID(at uint32, word string) bool {
	a := Attr{w.doc, at}
	value := a.Raw()
	if len(value) != len(word) && !w.doc.coded {
		return false
	}
	if w.doc.coded && needsDecoding(value) {
		value = a.Bytes()
	}
	return w.same(value, word)
}

// hasClass reports whether a word stands between white space in the value of an attribute. Values are
// compared as they are written: a reference may make another word of what it stands in, but never one
// that is not there already where it does not.
func (w *Sweep) hasClass(at uint32, word string) bool {
	source, r := w.doc.source, &w.attrs[at]
	start, coded := r.start, false // of the present word
	for i := start; i < r.end; i += 8 {
		n := min(r.end-i, 8)
		for marks := upToAmpersand(loadWord(source, int(i), int(n))) & (1<<(8*n) - 1); marks != 0; marks &= marks - 1 {
			end := i + uint32(bits.TrailingZeros64(marks))/8
			switch c := source[end]; {
			case separatesWords(c):
				if w.same(source[start:end], word) {
					return true
				}
				start = end + 1
			case c == '&' || c == 0:
				coded = true
			}
		}
	}
	return w.same(source[start:r.end], word) || coded && w.decodedHas(at, word)
}

// upToAmpersand marks the bytes of a word that are & or less, which are white space, NUL and little
// else, each by its highest bit.
func upToAmpersand(x uint64) uint64 {
	const ones = 1<<56 | 1<<48 | 1<<40 | 1<<32 | 1<<24 | 1<<16 | 1<<8 | 1
	return ^(x&(0x7f*ones) + (0x80-'&'-1)*ones | x) & (0x80 * ones)
}

// decodedHas is hasClass for a value with references.
func (w *Sweep) decodedHas(at uint32, word string) bool {
	value := Attr{w.doc, at}.Bytes()
	for start := 0; start < len(value); {
		end := start
		for end < len(value) && !separatesWords(value[end]) {
			end++
		}
		if w.same(value[start:end], word) {
			return true
		}
		start = end + 1
	}
	return false
}

// same reports whether two words are equal, in quirks mode up to ASCII case.
func (w *Sweep) same(a []byte, b string) bool {
	if len(a) != len(b) {
		return false
	}
	if !w.fold {
		return string(a) == b
	}
	for i, c := range a {
		if lowerByte(c) != lowerByte(b[i]) {
			return false
		}
	}
	return true
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

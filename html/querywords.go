package html

import "hash/maphash"

// Words are the ids and classes of a document as numbers, the same for an id and a class with the
// same letters. In quirks mode they are compared without regard to ASCII case (HTML standard,
// section 4.17.2 with DOM, section 4.9), so words that differ only in case have one number.
type Words struct {
	fold    bool // quirks mode
	words   interner
	values  interner   // of class attributes as written; few are seen once only
	sets    []classSet // by number of the value
	classes []uint32   // of all sets
	marks   []uint32   // by word: the last set that it was seen in
	own     []own      // by position
	lists   postings   // of ids by twice their number, of classes by one more
}

// classSet is the classes in the value of an attribute.
type classSet struct {
	bits       uint64
	start, end uint32 // in Words.classes
}

// own is what is known of one element.
type own struct {
	path uint64 // the bits of the element and its ancestors
	id   uint32 // number of the id, 0 for none
	set  uint32 // number of the set of classes, 0 for none
}

// Words returns the ids and classes.
func (x *Index) Words() *Words {
	x.wordsOnce.Do(func() { x.words.read(x) })
	return &x.words
}

func (w *Words) read(x *Index) {
	d := x.doc
	w.fold = d.quirks == Quirks && !d.xml
	w.words.init()
	w.values.init()
	w.sets = make([]classSet, 1, 32)
	w.own = make([]own, len(x.elements))
	w.classes, w.marks = make([]uint32, 0, 32), make([]uint32, 1, 32)
	classes := 0
	all, nodes, attrs := w.own, d.nodes, d.attrs
	for k := 1; k < len(all); k++ {
		e, own := &x.elements[k], &all[k]
		own.path = all[e.Parent].path | NameBit(e.Name)
		for i := nodes[e.ID].data; i != 0; i++ {
			meta := attrs[i].meta
			switch Atom(meta >> atomShift) {
			case AtomId:
				own.id = w.intern(Attr{d, i}.Bytes())
				own.path |= w.WordBit(own.id)
			case AtomClass:
				own.set = w.set(Attr{d, i})
				set := &w.sets[own.set]
				own.path |= set.bits
				classes += int(set.end - set.start)
			}
			if meta&attrLast != 0 {
				break
			}
		}
	}
	w.marks = nil
	w.list(classes)
}

// list makes the lists of elements by id and by class.
func (w *Words) list(classes int) {
	starts := make([]uint32, 2*len(w.words.list)+2)
	ids := 0
	for k := range w.own {
		if id := w.own[k].id; id != 0 {
			starts[2*id+2]++
			ids++
		}
		for _, c := range w.Classes(int32(k)) {
			starts[2*c+1+2]++
		}
	}
	w.lists.starts = starts
	w.lists.allot(ids + classes)
	for k := range w.own {
		if id := w.own[k].id; id != 0 {
			w.lists.put(2*id, int32(k))
		}
		for _, c := range w.Classes(int32(k)) {
			w.lists.put(2*c+1, int32(k))
		}
	}
}

// set returns the number of the set of classes in an attribute.
func (w *Words) set(a Attr) uint32 {
	number, known := w.values.intern(a.Raw())
	if known {
		return number
	}
	set := classSet{start: uint32(len(w.classes))}
	w.split(a.Bytes(), number)
	set.end = uint32(len(w.classes))
	for _, c := range w.classes[set.start:] {
		set.bits |= w.WordBit(c)
	}
	w.sets = append(w.sets, set)
	return number
}

// split adds the classes in the value of an attribute, each once.
func (w *Words) split(value []byte, set uint32) {
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
		for int(word) >= len(w.marks) {
			w.marks = append(w.marks, 0)
		}
		if w.marks[word] != set {
			w.marks[word] = set
			w.classes = append(w.classes, word)
		}
	}
}

// separatesWords reports whether c is white space in the sense of the Infra standard, section 4.6.
func separatesWords(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// intern returns the number of a word.
func (w *Words) intern(word []byte) uint32 {
	if len(word) == 0 {
		return 0
	}
	if w.fold {
		word = foldASCII(word)
	}
	number, _ := w.words.intern(word)
	return number
}

// interner numbers texts from 1. The texts must not change.
type interner struct {
	list  []interned // by number
	slots []uint32   // open addressing: a number, 0 is empty
}

type interned struct {
	text string
	hash uint32
}

func (in *interner) init() {
	in.list = make([]interned, 1, 32)
	in.slots = make([]uint32, 64)
}

func hashText(text []byte) uint32 { h := maphash.Bytes(seed, text); return uint32(h ^ h>>32) }

// find returns the number of a text, 0 if it has none, and its slot.
func (in *interner) find(text []byte, hash uint32) (slot, number uint32) {
	mask := uint32(len(in.slots) - 1)
	for slot = hash & mask; ; slot = (slot + 1) & mask {
		number = in.slots[slot]
		if number == 0 || in.list[number].hash == hash && in.list[number].text == string(text) {
			return slot, number
		}
	}
}

// intern returns the number of a text, and whether it had one before.
func (in *interner) intern(text []byte) (number uint32, known bool) {
	hash := hashText(text)
	slot, number := in.find(text, hash)
	if number != 0 {
		return number, true
	}
	number = uint32(len(in.list))
	in.list = append(in.list, interned{view(text), hash})
	in.slots[slot] = number
	if 2*len(in.list) > len(in.slots) {
		in.grow()
	}
	return number, false
}

func (in *interner) grow() {
	old := int64(len(in.slots))
	in.slots = make([]uint32, 2*old)
	mask := uint32(len(in.slots) - 1)
	for n := 1; n < len(in.list); n++ {
		slot := in.list[n].hash & mask
		for in.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		in.slots[slot] = uint32(n)
	}
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
	_, number := w.words.find(b, hashText(b))
	return number
}

// ByID returns the positions of the elements with an id.
func (w *Words) ByID(id uint32) []int32 { return w.lists.of(2 * id) }

// ByClass returns the positions of the elements with a class.
func (w *Words) ByClass(class uint32) []int32 { return w.lists.of(2*class + 1) }

// ID returns the number of the id of the element at a position, 0 if it has none.
func (w *Words) ID(k int32) uint32 { return w.own[k].id }

// Classes returns the numbers of the classes of the element at a position.
func (w *Words) Classes(k int32) []uint32 {
	set := &w.sets[w.own[k].set]
	return w.classes[set.start:set.end]
}

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
	return 1 << (w.words.list[word].hash >> 26)
}

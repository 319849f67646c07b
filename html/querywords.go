package html

import "hash/maphash"

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

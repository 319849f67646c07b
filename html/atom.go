package html

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

//go:generate go run gen.go

// Atom is the number of a name of an element or attribute. Two names in one document are equal if
// and only if their atoms are. The names of HTML, SVG and MathML have the same atom in all
// documents: the constants AtomA, AtomHref and so on, or [LookupAtom]. All others are numbered by
// each document as they come up: [Document.LookupAtom]. 0 is no name.
//
// Atoms tell names in lower case from those in SVG's mixed case: AtomForeignObject is not
// AtomForeignobject. In XML documents the names of elements and attributes in a namespace other
// than those of HTML, SVG and MathML have atoms of their own for each namespace.
type Atom uint32

// LookupAtom returns the atom of a name that is the same in all documents, 0 if the name has none.
// Names are compared byte by byte.
func LookupAtom(name string) Atom {
	at := hashOf(name) >> (32 - atomBits)
	for range atomProbes {
		a := atomSlots[at&(1<<atomBits-1)]
		if a == 0 {
			return 0
		}
		if atomNames[atomEnds[a-1]:atomEnds[a]] == name {
			return Atom(a)
		}
		at++
	}
	return 0
}

// String returns the name of an atom that is the same in all documents, "" for another atom;
// [Document.AtomName] knows those.
func (a Atom) String() string {
	if a == 0 || a >= staticAtoms {
		return ""
	}
	return atomNames[atomEnds[a-1]:atomEnds[a]]
}

// staticAtom is LookupAtom for bytes.
func staticAtom(name []byte) Atom {
	at := hashOf(name) >> (32 - atomBits)
	for range atomProbes {
		a := atomSlots[at&(1<<atomBits-1)]
		if a == 0 {
			return 0
		}
		if atomNames[atomEnds[a-1]:atomEnds[a]] == string(name) {
			return Atom(a)
		}
		at++
	}
	return 0
}

// wordAtom is staticAtom for a name of at most eight bytes, none of them NUL, which are packed into a
// word, the first lowest.
func wordAtom(w uint64) Atom {
	at := mixWord(w) >> (32 - atomBits)
	for range atomProbes {
		a := atomSlots[at&(1<<atomBits-1)]
		if a == 0 {
			return 0
		}
		// A longer name may begin with these eight bytes.
		if atomWords[a] == w && (w>>56 == 0 || atomEnds[a]-atomEnds[a-1] == 8) {
			return Atom(a)
		}
		at++
	}
	return 0
}

// hashOf is the hash of the generated tables. It looks at 16 bytes at most: the tables are fixed, so
// their names cannot be made to collide.
func hashOf[T string | []byte](b T) uint32 {
	n := len(b)
	if n <= 8 {
		return mixWord(pack(b))
	}
	return mixWord(pack(b[:8]) ^ (pack(b[n-8:])+uint64(n))*0xff51afd7ed558ccd)
}

func mixWord(x uint64) uint32 { return uint32(x * 0x9e3779b97f4a7c15 >> 32) }

// pack packs at most eight bytes into a word, the first lowest.
func pack[T string | []byte](b T) (w uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		w = w<<8 | uint64(b[i])
	}
	return w
}

// loadWord returns a word with the n bytes of b from start on, at most eight.
func loadWord(b []byte, start, n int) uint64 {
	if start+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[start:]) & (1<<(8*n) - 1)
	}
	return pack(b[start : start+n])
}

// names numbers the names that the generated table does not hold. Their bytes lie in one buffer; the
// hash table is keyed with a seed of the process, so that no page can make its names collide.
type names struct {
	text  []byte
	list  []name   // of atom staticAtoms+i
	slots []uint32 // open addressing: 1 + index into list, 0 is empty
	many  bool     // slots are in use
}

// name is a name of the document's own.
type name struct {
	start, end uint32 // in names.text
	hash       uint32
	space      uint32 // of names in XML: the atom of their namespace; 0 for most
}

// maxAtom is the largest atom that fits into a record.
const maxAtom = 1<<24 - 1

// seed keeps the hash tables of all documents from being steered by a page.
var seed = maphash.MakeSeed()

func (s *names) reset() {
	s.text = s.text[:0]
	s.list = s.list[:0]
	s.many = false
}

func hashName(b []byte, space uint32) uint32 {
	h := maphash.Bytes(seed, b)
	return uint32(h^h>>32) + space*0x9e3779b9
}

// lookup returns the atom of a name, 0 if it has none yet.
func (s *names) lookup(b []byte, space uint32) Atom {
	if space == 0 {
		if a := staticAtom(b); a != 0 {
			return a
		}
	}
	if len(s.list) == 0 {
		return 0
	}
	hash := hashName(b, space)
	if !s.many {
		return s.scan(b, space, hash)
	}
	_, a := s.find(b, space, hash)
	return a
}

// scan is find for few names.
func (s *names) scan(b []byte, space, hash uint32) Atom {
	for i := range s.list {
		if s.list[i].is(s, b, space, hash) {
			return staticAtoms + Atom(i)
		}
	}
	return 0
}

func (n *name) is(s *names, b []byte, space, hash uint32) bool {
	return n.hash == hash && n.space == space && string(s.text[n.start:n.end]) == string(b)
}

func (s *names) find(b []byte, space, hash uint32) (slot uint32, a Atom) {
	mask := uint32(len(s.slots) - 1)
	for slot = hash & mask; ; slot = (slot + 1) & mask {
		i := s.slots[slot]
		if i == 0 {
			return slot, 0
		}
		if s.list[i-1].is(s, b, space, hash) {
			return slot, staticAtoms + Atom(i-1)
		}
	}
}

// intern returns the atom of a name and makes one if needed. It returns 0 if there are too many.
func (s *names) intern(b []byte, space uint32) Atom {
	if space == 0 {
		if a := staticAtom(b); a != 0 {
			return a
		}
	}
	hash := hashName(b, space)
	slot, a := uint32(0), Atom(0)
	if !s.many && len(s.list) < fewNames {
		a = s.scan(b, space, hash)
	} else {
		if !s.many || 2*(len(s.list)+1) > len(s.slots) {
			s.fill()
		}
		slot, a = s.find(b, space, hash)
	}
	if a != 0 {
		return a
	}
	if staticAtoms+len(s.list) > maxAtom {
		return 0
	}
	if s.list == nil {
		s.text, s.list = make([]byte, 0, 128), make([]name, 0, fewNames)
	}
	start := len(s.text)
	s.text = append(s.text, b...)
	s.list = append(s.list, name{uint32(start), uint32(len(s.text)), hash, space})
	if s.many {
		s.slots[slot] = uint32(len(s.list))
	}
	return staticAtoms + Atom(len(s.list)-1)
}

// fewNames is how many names are searched one after the other; more have a hash table.
const fewNames = 8

// fill puts the list into the hash table, which has room for at least as many more.
func (s *names) fill() {
	if size := 4 * max(fewNames, len(s.list)); size > len(s.slots) {
		s.slots = make([]uint32, 1<<bits.Len(uint(size-1)))
	} else {
		clear(s.slots)
	}
	s.many = true
	mask := uint32(len(s.slots) - 1)
	for i := range s.list {
		slot := s.list[i].hash & mask
		for s.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		s.slots[slot] = uint32(i + 1)
	}
}

// bytes returns the name of an atom of the document's own.
func (s *names) bytes(a Atom) []byte {
	n := &s.list[a-staticAtoms]
	return s.text[n.start:n.end:n.end]
}

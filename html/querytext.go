package html

import "bytes"

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
	size := 0
	for id := range x.doc.nodes {
		if n := &x.doc.nodes[id]; Kind(n.meta&kindMask) == TextNode {
			size += len(x.doc.data(n))
		}
	}
	all := make([]byte, 0, size)
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

package html

import (
	"bytes"
	"slices"
)

// addLast makes a new node the last child of a parent. The caller has looked at the limit.
func (d *Document) addLast(parent, meta, data, end uint32) uint32 {
	id := uint32(len(d.nodes))
	p := &d.nodes[parent]
	last := p.last
	p.last = id
	if last != 0 {
		d.nodes[last].next = id
	}
	if int(id) == cap(d.nodes) {
		d.growNodes(meta, data, end)
	}
	d.nodes = d.nodes[:id+1]
	// Field by field: a record that is put together elsewhere is copied in a way that stalls.
	n := &d.nodes[id]
	n.meta = meta
	n.parent = parent
	n.last = 0
	n.prev, n.next = last, 0
	n.data, n.end = data, end
	return id
}

// growNodes makes room for nodes, as many as the rest of the source will need if it is like the part
// before the node that comes now.
func (d *Document) growNodes(meta, data, end uint32) {
	pos := data
	if meta&kindMask == uint32(ElementNode) {
		pos = end
	}
	have, part := len(d.nodes), 1.0
	if n := len(d.source); n > 0 && pos > 0 {
		part = float64(n)/float64(pos) - 1
	}
	// Not slices.Grow, which makes it a quarter more at least.
	room := min(have+int(float64(have)*min(max(1.05*part, 1.0/32), 1))+16, max(d.limit(), have)+2)
	d.nodes = append(make([]node, 0, room), d.nodes...)
}

// textRange is text: a range of the source, or of side if side is true.
type textRange struct {
	start, end uint32
	side       bool
	pos        uint32 // in the source
}

// sideSpan is a range of Document.side, with room to grow up to room.
type sideSpan struct{ start, end, room uint32 }

// bytes returns a text.
func (d *Document) bytes(t textRange) []byte {
	if t.side {
		return d.side[t.start:t.end]
	}
	return d.source[t.start:t.end]
}

// addSide decodes text into side.
func (d *Document) addSide(raw []byte, references bool, nul nulRule) textRange {
	most := len(raw)
	if nul == replaceNUL {
		most += 2 * bytes.Count(raw, []byte{0})
	}
	if cap(d.side) <= sideRoom && cap(d.side)-len(d.side) < len(raw) {
		refs := bytes.Count(d.source, []byte("&"))
		room := min(8*refs+len(d.source)/32+64, len(d.source)+16)
		if bytes.IndexByte(raw, '\r') >= 0 {
			room = len(d.source) // all lines end so
		}
		room = max(room, most)
		d.growSide(room)
		d.spans = slices.Grow(d.spans, min(refs/2, cap(d.nodes)/2)+8)
	}
	d.growSide(most)
	at := len(d.side)
	d.side = appendText(d.side, raw, references, nul)
	return textRange{start: uint32(at), end: uint32(len(d.side)), side: true}
}

// growSide makes room for n bytes of text. It ends the parser if that would be far more than the source has.
func (d *Document) growSide(n int) {
	if limit := 1<<20 + 2*len(d.source); len(d.side)+n > limit {
		panic(refusal{&LimitError{What: "bytes of text", Limit: limit}})
	}
	d.side = slices.Grow(d.side, n)
}

// addSpan notes a range of side.
func (d *Document) addSpan(t textRange) uint32 {
	d.spans = append(d.spans, sideSpan{t.start, t.end, t.end})
	return uint32(len(d.spans) - 1)
}

// extend adds text to a text node.
func (d *Document) extend(n *node, t textRange) {
	if n.meta&flagSide == 0 {
		if !t.side && n.end == t.start {
			n.end = t.end
			return
		}
		// From now on the text is no range of the source.
		at := uint32(len(d.side))
		d.side = append(d.side, d.source[n.data:n.end]...)
		n.meta |= flagSide
		n.end = d.addSpan(textRange{start: at, end: uint32(len(d.side))})
	}
	s := &d.spans[n.end]
	if int(s.end) == len(d.side) {
		d.side = append(d.side, d.bytes(t)...)
		s.end = uint32(len(d.side))
		s.room = s.end
		return
	}
	if t.side && s.end == t.start {
		s.end, s.room = t.end, t.end
		return
	}
	size := t.end - t.start
	if s.room-s.end < size {
		// Text that grows again and again gets twice the room each time.
		room := 2 * (s.end - s.start + size)
		at := uint32(len(d.side))
		d.growSide(int(room))
		d.side = append(d.side, d.side[s.start:s.end]...)
		d.side = append(d.side, make([]byte, at+room-uint32(len(d.side)))...)
		d.work += int(s.end-s.start) / 8 // bytes are moved by words
		*s = sideSpan{at, at + s.end - s.start, at + room}
	}
	s.end += uint32(copy(d.side[s.end:s.room], d.bytes(t)))
}

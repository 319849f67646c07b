package html

// formatting inserts the element of the current start tag and adds it to the list of active
// formatting elements.
func (b *builder) formatting() {
	b.element()
	b.activate(b.stack.top)
}

// activate adds the element of a stack entry to the list of active formatting elements.
func (b *builder) activate(entry uint32) {
	e := &b.stack.all[entry]
	f, gone := b.formats.add(b.d, e.node, Atom(e.name>>1), entry)
	if gone != 0 {
		b.stack.all[gone].format = 0
	}
	e.format = f
	if b.d.nodes[e.node].data != 0 {
		b.formats.all[f].size = uint32(b.s.pos - b.s.from)
	}
}

// What the tags of formatting elements may take all together that are made again: so many bytes, and
// so many for each byte of the source. Each open font tag, made again in each of many paragraphs, stays
// far below.
const (
	repeatedBase    = 1 << 20
	repeatedPerByte = 16
)

// repeat counts a formatting element that is made again. One tag with a great many attributes, made
// again in a great many paragraphs, costs the parser nothing, but what is made of the tree later would
// have a size that grows with the square of the page.
func (b *builder) repeat(f uint32) {
	b.again += int(b.formats.all[f].size)
	if most := repeatedBase + repeatedPerByte*len(b.d.source); b.again > most {
		b.fail("bytes in repeated tags", most)
	}
}

// drop takes an element out of the list of active formatting elements.
func (b *builder) drop(f uint32) {
	if open := b.formats.all[f].open; open != 0 {
		b.stack.all[open].format = 0
	}
	b.formats.remove(f)
}

// reconstruct reconstructs the active formatting elements (section 13.2.4.3).
func (b *builder) reconstruct() {
	if b.formats.all[b.formats.last].open == 0 {
		b.reopen()
	}
}

// reopen opens the formatting elements after the last marker or open one again.
func (b *builder) reopen() {
	l := &b.formats
	f := l.last
	for p := l.all[f].prev; l.all[p].open == 0; p = l.all[p].prev {
		f = p
		b.d.work++
	}
	for ; f != 0 && b.err == nil; f = l.all[f].next {
		e := &l.all[f]
		b.repeat(f)
		entry := b.push(e.name, HTML, b.d.nodes[e.node].data, flagMade)
		e.node, e.open = b.stack.all[entry].node, entry
		b.stack.all[entry].format = f
	}
}

func (b *builder) startA() {
	if f := b.formats.find(AtomA); f != 0 {
		node := b.formats.all[f].node
		b.adopt()
		// What adopt left of the element goes, too.
		if f := b.formats.find(AtomA); f != 0 && b.formats.all[f].node == node {
			open := b.formats.all[f].open
			b.drop(f)
			if open != 0 {
				b.remove(open)
			}
		}
	}
	b.reconstruct()
	b.formatting()
}

// adopt is the adoption agency algorithm for the current tag (section 13.2.6.4.7).
func (b *builder) adopt() {
	s, l, d := &b.stack, &b.formats, b.d
	if e := s.cur(); e.name == uint32(b.tag)<<1 && e.format == 0 {
		b.pop()
		return
	}
	for range 8 {
		d.work++
		f := l.find(b.tag)
		if f == 0 {
			b.endOther()
			return
		}
		entry := l.all[f].open
		if entry == 0 {
			b.drop(f)
			return
		}
		if s.all[entry].order < s.all[s.cur().scope].order {
			return
		}
		furthest := s.all[entry].above
		for furthest != 0 && s.all[furthest].props&propSpecial == 0 {
			furthest = s.all[furthest].above
			d.work++
		}
		if furthest == 0 {
			b.popTo(entry)
			b.drop(f)
			return
		}
		if !b.adoptOne(f, entry, furthest) {
			return
		}
	}
}

// adoptOne moves the formatting element f, of the given stack entry, into the furthest block. It
// reports false if parsing has failed.
func (b *builder) adoptOne(f, entry, furthest uint32) bool {
	s, l, d := &b.stack, &b.formats, b.d
	d.reordered = true
	ancestor := s.all[entry].below
	bookmark := uint32(0) // the entry of the list to come after; 0: the place of f
	last := s.all[furthest].node
	at := s.all[furthest].below
	for count := 1; at != entry; count++ {
		d.work++
		below := s.all[at].below
		g := s.all[at].format
		d.far = d.far || g != 0 && count > 3
		if g != 0 && count > 3 {
			b.drop(g)
			g = 0
		}
		if g == 0 {
			b.remove(at)
			at = below
			continue
		}
		b.repeat(g)
		id := b.clone(s.all[at].node)
		if b.err != nil {
			return false
		}
		l.all[g].node = id
		s.replace(at, id)
		if bookmark == 0 {
			bookmark = g
		}
		b.detach(last)
		b.append(id, last)
		last = id
		at = below
	}
	b.detach(last)
	parent, before := b.placeFor(ancestor)
	b.insert(last, parent, before)

	block := s.all[furthest].node
	b.repeat(f)
	id := b.clone(s.all[entry].node)
	if b.err != nil {
		return false
	}
	b.moveChildren(block, id)
	b.append(block, id)
	l.all[f].node = id
	if bookmark != 0 {
		d.work += l.moveAfter(f, bookmark)
	}
	s.replace(entry, id)
	d.work += s.moveAbove(entry, furthest)
	return true
}

// clone makes an element with the name and the attributes of another.
func (b *builder) clone(id uint32) uint32 {
	n := b.d.nodes[id]
	return b.newNode(node{meta: elementMeta(Atom(n.meta>>atomShift), HTML) | flagMade, data: n.data, end: uint32(b.s.from)})
}

// moveChildren moves all children of a node to another that has none.
func (b *builder) moveChildren(from, to uint32) {
	nodes := b.d.nodes
	for c := nodes[from].last; c != 0; c = nodes[c].prev {
		nodes[c].parent = to
		b.d.work++
	}
	nodes[to].last, nodes[from].last = nodes[from].last, 0
}

package html

import "slices"

// attrs stores the attributes of the current start tag and returns the index of the first, 0 if there
// are none.
func (b *builder) attrs(ns Namespace) uint32 {
	raw := b.s.attrs
	if len(raw) == 0 {
		return 0
	}
	d := b.d
	first := len(d.attrs)
	if len(raw) > fewAttrs {
		b.seen.begin()
	}
next:
	for i := range raw {
		a := &raw[i]
		atom := b.attrName(a)
		if atom == 0 {
			b.fail("names", maxAtom)
			return 0
		}
		if len(raw) > fewAttrs {
			d.work++
			if b.seen.add(atom) {
				continue
			}
		} else {
			for _, other := range d.attrs[first:] {
				d.work++
				if other.meta>>atomShift == uint32(atom) {
					continue next
				}
			}
		}
		if len(d.attrs) == cap(d.attrs) {
			d.attrs = slices.Grow(d.attrs, 1)
		}
		d.attrs = append(d.attrs, attr{uint32(atom)<<atomShift | uint32(NoNamespace)<<nsShift, uint32(a.value), uint32(a.valueEnd)})
	}
	if ns != HTML {
		adjustAttrs(d.attrs[first:], ns)
	}
	if d.maxAttrs > 0 && len(d.attrs)-1 > d.maxAttrs {
		b.fail("attributes", d.maxAttrs)
		return 0
	}
	d.attrs[len(d.attrs)-1].meta |= attrLast
	return uint32(first)
}

// attrName returns the number of the name of an attribute.
func (b *builder) attrName(a *rawAttr) Atom {
	if n := a.nameEnd - a.name; n <= 8 && !a.odd {
		if atom := wordAtom(loadWord(b.s.src, a.name, n)); atom != 0 {
			return atom
		}
	}
	name := b.s.src[a.name:a.nameEnd]
	if a.odd {
		b.buf = appendName(b.buf[:0], name)
		name = b.buf
	}
	return b.d.names.intern(name, 0)
}

// fewAttrs is how many attributes are compared with each other to find those of the same name; more
// are looked up in a set.
const fewAttrs = 32

// mergeLater keeps the attributes of a second html or body tag for mergeAttrs.
func (b *builder) mergeLater(node uint32) {
	if len(b.s.attrs) == 0 || node == 1 {
		return
	}
	if attrs := b.attrs(HTML); attrs != 0 {
		b.merges = append(b.merges, merge{node, attrs})
	}
}

// mergeAttrs gives html and body the attributes of further tags that they do not have yet.
func (b *builder) mergeAttrs() {
	d := b.d
	for len(b.merges) > 0 {
		id := b.merges[0].node
		first := len(d.attrs)
		b.seen.begin()
		add := func(i uint32) {
			for ; i != 0; i++ {
				a := d.attrs[i]
				if !b.seen.add(Atom(a.meta >> atomShift)) {
					d.attrs = append(d.attrs, attr{a.meta &^ attrLast, a.start, a.end})
				}
				if a.meta&attrLast != 0 {
					return
				}
			}
		}
		add(d.nodes[id].data)
		others := b.merges[:0]
		for _, m := range b.merges {
			if m.node == id {
				add(m.attrs)
			} else {
				others = append(others, m)
			}
		}
		b.merges = others
		d.attrs[len(d.attrs)-1].meta |= attrLast
		d.nodes[id].data = uint32(first)
	}
}

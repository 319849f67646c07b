package html

import "hash/maphash"

// format is an entry of the list of active formatting elements (section 13.2.4.3): an element or a
// marker. Entries are linked in the order of the list, by their name, and by what makes elements
// equal for the Noah's Ark clause, so that no question goes through the list.
type format struct {
	node    uint32 // 0 in a marker
	name    Atom
	open    uint32 // entry on the stack, 0 if the element is not open; not 0 in a marker and in entry 0
	segment uint32 // number of the markers before it
	size    uint32 // of its tag in the source if that has attributes, else 0

	prev, next         uint32 // neighbours in the list
	namePrev, nameNext uint32 // the same among those with its name
	hashPrev, hashNext uint32 // the same among those in its bucket, in no order
	hashed             bool
	hash               uint64
	order              uint64 // grows along the list
}

// formats is the list of active formatting elements. Entry 0 stands for nothing.
type formats struct {
	all     []format
	first   uint32
	last    uint32
	free    uint32 // unused entries, linked by next
	segment uint32 // number of the markers in the list

	names   [formatNames]uint32 // the last entry with each name
	buckets []uint32            // by hash
	hashes  int                 // entries in buckets
}

// formatNames is the number of names that formatting elements have.
const formatNames = 14

// formatName numbers the names of formatting elements.
func formatName(a Atom) int {
	switch a {
	case AtomA:
		return 0
	case AtomB:
		return 1
	case AtomBig:
		return 2
	case AtomCode:
		return 3
	case AtomEm:
		return 4
	case AtomFont:
		return 5
	case AtomI:
		return 6
	case AtomNobr:
		return 7
	case AtomS:
		return 8
	case AtomSmall:
		return 9
	case AtomStrike:
		return 10
	case AtomStrong:
		return 11
	case AtomTt:
		return 12
	case AtomU:
		return 13
	}
	return -1
}

func (l *formats) take() uint32 {
	if i := l.free; i != 0 {
		l.free = l.all[i].next
		return i
	}
	l.all = append(l.all, format{})
	return uint32(len(l.all) - 1)
}

// mark adds a marker.
func (l *formats) mark() {
	i := l.take()
	l.segment++
	l.all[i] = format{open: 1, prev: l.last, segment: l.segment}
	l.linkLast(i)
}

func (l *formats) linkLast(i uint32) {
	e := &l.all[i]
	e.order = l.all[l.last].order + orderGap
	if l.last != 0 {
		l.all[l.last].next = i
	} else {
		l.first = i
	}
	l.last = i
}

// find returns the last entry with a name after the last marker, 0 if there is none.
func (l *formats) find(name Atom) uint32 {
	n := formatName(name)
	if n < 0 {
		return 0
	}
	i := l.names[n]
	if i != 0 && l.all[i].segment == l.segment {
		return i
	}
	return 0
}

// add adds an element to the list, which keeps at most three equal ones (the Noah's Ark clause).
// gone is the stack's entry of the one that had to go, 0 if none had or it is not open.
func (l *formats) add(d *Document, node uint32, name Atom, open uint32) (entry, gone uint32) {
	var hash uint64
	hashed := false
	if twin := l.find(name); twin != 0 {
		// An element that is alone with its name needs no hash until there is a second one.
		if t := &l.all[twin]; !t.hashed {
			t.hash, t.hashed = d.formatHash(t.node, t.segment), true
			l.linkHash(twin)
		}
		hash, hashed = d.formatHash(node, l.segment), true
		equal, removed := 0, uint32(0)
		for i := l.buckets[hash&uint64(len(l.buckets)-1)]; i != 0; i = l.all[i].hashNext {
			d.work++
			if l.all[i].hash == hash {
				equal++
				if removed == 0 || l.all[i].order < l.all[removed].order {
					removed = i
				}
			}
		}
		if equal >= 3 {
			gone = l.all[removed].open
			l.remove(removed)
		}
	}
	i := l.take()
	e := &l.all[i]
	*e = format{}
	e.node, e.name, e.open, e.segment, e.prev, e.hash, e.hashed = node, name, open, l.segment, l.last, hash, hashed
	l.linkLast(i)
	n := formatName(name)
	l.all[i].namePrev = l.names[n]
	l.all[l.names[n]].nameNext = i
	l.names[n] = i
	if hashed {
		l.linkHash(i)
	}
	return i, gone
}

// formatHash is equal for two elements that the Noah's Ark clause takes for equal, the values of whose
// attributes are compared with their references replaced. It is keyed, and 64 bits make others
// different.
func (d *Document) formatHash(node, segment uint32) uint64 {
	n := &d.nodes[node]
	hash := uint64(n.meta>>atomShift)*0x9e3779b97f4a7c15 + uint64(segment)
	for a := (Node{d, node}).FirstAttr(); !a.IsZero(); a = a.Next() {
		d.work++
		h := maphash.Bytes(seed, a.Bytes())
		// Attributes are a set: their sum does not depend on their order.
		hash += (h ^ uint64(a.Atom())*0xff51afd7ed558ccd) * 0xc4ceb9fe1a85ec53
	}
	return hash ^ hash>>32
}

func (l *formats) linkHash(i uint32) {
	if l.hashes >= 2*len(l.buckets) {
		l.buckets = make([]uint32, max(16, 4*len(l.buckets)))
		for j := l.first; j != 0; j = l.all[j].next {
			if l.all[j].hashed && j != i {
				l.pushHash(j)
			}
		}
	}
	l.hashes++
	l.pushHash(i)
}

func (l *formats) pushHash(i uint32) {
	e := &l.all[i]
	head := &l.buckets[e.hash&uint64(len(l.buckets)-1)]
	e.hashPrev, e.hashNext = 0, *head
	if *head != 0 {
		l.all[*head].hashPrev = i
	}
	*head = i
}

// remove takes an element out of the list.
func (l *formats) remove(i uint32) {
	e := &l.all[i]
	l.unlink(i)
	if e.nameNext != 0 {
		l.all[e.nameNext].namePrev = e.namePrev
	} else {
		l.names[formatName(e.name)] = e.namePrev
	}
	l.all[e.namePrev].nameNext = e.nameNext
	if e.hashed {
		l.hashes--
		if e.hashPrev != 0 {
			l.all[e.hashPrev].hashNext = e.hashNext
		} else {
			l.buckets[e.hash&uint64(len(l.buckets)-1)] = e.hashNext
		}
		if e.hashNext != 0 {
			l.all[e.hashNext].hashPrev = e.hashPrev
		}
	}
	e.node = 0
	e.next, l.free = l.free, i
}

// unlink takes an entry out of its place in the list.
func (l *formats) unlink(i uint32) {
	e := &l.all[i]
	if e.next != 0 {
		l.all[e.next].prev = e.prev
	} else {
		l.last = e.prev
	}
	if e.prev != 0 {
		l.all[e.prev].next = e.next
	} else {
		l.first = e.next
	}
}

// moveAfter moves an element to the place after another entry.
func (l *formats) moveAfter(i, at uint32) (steps int) {
	if l.all[at].next == i {
		return 0
	}
	l.unlink(i)
	e := &l.all[i]
	next := l.all[at].next
	e.prev, e.next = at, next
	l.all[at].next = i
	if next == 0 {
		l.last = i
		e.order = l.all[at].order + orderGap
	} else {
		l.all[next].prev = i
		e.order = l.all[at].order + (l.all[next].order-l.all[at].order)/2
		if e.order == l.all[at].order {
			for j, before := i, at; j != 0; j, before = l.all[j].next, j {
				l.all[j].order = l.all[before].order + orderGap
				steps++
			}
		}
	}
	// Among its namesakes it may have changed places, too.
	n := formatName(e.name)
	if e.nameNext != 0 {
		l.all[e.nameNext].namePrev = e.namePrev
	} else {
		l.names[n] = e.namePrev
	}
	l.all[e.namePrev].nameNext = e.nameNext
	after, before := uint32(0), l.names[n]
	for before != 0 && l.all[before].order > e.order {
		after, before = before, l.all[before].namePrev
		steps++
	}
	e.namePrev, e.nameNext = before, after
	l.all[before].nameNext = i
	if after != 0 {
		l.all[after].namePrev = i
	} else {
		l.names[n] = i
	}
	return steps
}

// clear removes all up to and including the last marker.
func (l *formats) clear() {
	for l.last != 0 {
		i := l.last
		if l.all[i].node == 0 {
			l.unlink(i)
			l.segment--
			l.all[i].next, l.free = l.free, i
			return
		}
		l.remove(i)
	}
}

package html

import (
	"slices"
	"sync"
)

// room is memory that a builder begins with, enough for most pages.
type room struct {
	open    [24]open
	formats [8]format
	buckets [16]uint32
	raw     [16]rawAttr
	modes   [4]mode
	pending [2]textRange
	buf     [64]byte
}

// builders are builders that are not in use. They hold nothing of the documents they made, and none
// is kept that has grown much: a builder is six KiB, and up to 176 KiB with the memory that it lends.
var builders = sync.Pool{New: func() any { return newBuilder() }}

// isSmall reports whether a builder may be kept for other documents.
func (b *builder) isSmall() bool {
	const much = 1 << 10
	return max(cap(b.stack.all), cap(b.formats.all), len(b.formats.buckets), cap(b.s.attrs), cap(b.modes),
		cap(b.pending), cap(b.merges), cap(b.buf), cap(b.regions)) <= much && max(cap(b.stack.lastMore), cap(b.seen.stamps)) <= 4*much
}

// newBuilder returns a builder with its room, in one allocation.
func newBuilder() *builder {
	x := &struct {
		builder
		room
	}{}
	b, r := &x.builder, &x.room
	b.stack.all, b.formats.all, b.formats.buckets = r.open[:0], r.formats[:0], r.buckets[:]
	b.s.attrs, b.modes, b.pending, b.buf = r.raw[:0], r.modes[:0], r.pending[:0], r.buf[:0]
	return b
}

// maxLent is the size in bytes of the largest source whose document is made in the memory of a builder.
const maxLent = 64 << 10

// takeBack gives a document memory of its own for what it has in the builder's.
func (b *builder) takeBack(d *Document) {
	const much = 1 << 12
	if cap(d.nodes) > much || cap(d.attrs) > much { // which the document may as well keep
		b.nodes, b.records = nil, nil
		return
	}
	b.nodes, b.records = d.nodes[:0], d.attrs[:0]
	d.nodes, d.attrs = slices.Clone(d.nodes), slices.Clone(d.attrs)
}

package cache

import (
	"iter"
	"slices"
)

// Newest keeps the newest of many values, up to a number of them and a number of bytes; the very newest is kept whatever its
// size. The zero value keeps only that one: make one with [NewNewest]. It is not safe for concurrent use.
type Newest[T any] struct {
	number, room int
	kept         []sized[T]
	bytes        int
}

type sized[T any] struct {
	value T
	bytes int
}

// NewNewest keeps up to number values of together bytes.
func NewNewest[T any](number, bytes int) *Newest[T] { return &Newest[T]{number: number, room: bytes} }

// Add adds a value of that many bytes; the oldest give way.
func (k *Newest[T]) Add(v T, bytes int) {
	k.kept = append(k.kept, sized[T]{v, bytes})
	k.bytes += bytes
	for len(k.kept) > 1 && (len(k.kept) > k.number || k.bytes > k.room) {
		k.bytes -= k.kept[0].bytes
		k.kept[0] = sized[T]{}
		k.kept = k.kept[1:]
	}
}

// All yields the entries that were kept when All was called, the oldest first.
func (k *Newest[T]) All() iter.Seq[T] {
	kept := slices.Clone(k.kept)
	return func(yield func(T) bool) {
		for _, one := range kept {
			if !yield(one.value) {
				return
			}
		}
	}
}

package cache

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"time"
	"unsafe"
)

// Due keeps entries that are not yet due: the earliest first, and first in, first out among those
// of one instant. Make one with [NewDue]. It is not safe for concurrent use, and its codec must not
// call it. Add and Pop take time logarithmic in the number of entries.
type Due[T any] struct {
	encoder encoder[T]
	heap    heap[dated]
	added   uint64
	bytes   int64
}

type dated struct {
	at     time.Time
	number uint64
	data   []byte
}

// NewDue returns an empty list.
func NewDue[T any](codec Codec[T]) *Due[T] {
	return &Due[T]{encoder: encoder[T]{codec: codec}, heap: heap[dated]{less: func(a, b dated) bool { return a.compare(b) < 0 }}}
}

func (d dated) compare(e dated) int {
	if c := d.at.Compare(e.at); c != 0 {
		return c
	}
	if d.number < e.number {
		return -1
	}
	return 1
}

func (d dated) cost() int64 { return int64(unsafe.Sizeof(d)) + int64(cap(d.data)) }

// Add puts the value on the list; it is due from that instant on.
func (d *Due[T]) Add(at time.Time, v T) {
	d.added++
	e := dated{at: at, number: d.added, data: bytes.Clone(d.encoder.encode(v))}
	d.heap.push(e)
	d.bytes += e.cost()
}

// Pop takes the earliest entry that is due: its instant is now or earlier. It is false when none
// is. An entry that cannot be decoded is taken too: ok is true, and err says why there is no value.
func (d *Due[T]) Pop(now time.Time) (v T, ok bool, err error) {
	if at, found := d.Next(); !found || at.After(now) {
		return v, false, nil
	}
	e := d.heap.pop()
	d.bytes -= e.cost()
	v, err = d.decode(e)
	return v, true, err
}

// Next returns the earliest instant on the list; false when it is empty.
func (d *Due[T]) Next() (at time.Time, ok bool) {
	if len(d.heap.s) == 0 {
		return time.Time{}, false
	}
	return d.heap.s[0].at, true
}

// Len returns the number of entries.
func (d *Due[T]) Len() int { return len(d.heap.s) }

// Bytes estimates the memory held, in bytes. It is 0 when the list is empty.
func (d *Due[T]) Bytes() int64 { return d.bytes }

// Appointment is a value on a [Due] list with its instant.
type Appointment[T any] struct {
	At    time.Time
	Value T
}

// All iterates over the entries in the order Pop would take them, and takes none. An error belongs
// to the entry it comes with, whose Value is then not set. The list must not be changed meanwhile.
func (d *Due[T]) All() iter.Seq2[Appointment[T], error] {
	return func(yield func(Appointment[T], error) bool) {
		for _, e := range slices.SortedFunc(slices.Values(d.heap.s), dated.compare) {
			v, err := d.decode(e)
			if !yield(Appointment[T]{At: e.at, Value: v}, err) {
				return
			}
		}
	}
}

func (d *Due[T]) decode(e dated) (T, error) {
	v, err := d.encoder.codec.Decode(e.data)
	if err != nil {
		var zero T
		return zero, fmt.Errorf("cache: decoding an entry due at %s: %w", e.at.Format(time.RFC3339), err)
	}
	return v, nil
}

// Package cache has the parts of a crawl's queue. It is not an HTTP cache. [Queue] keeps entries by slot, larger priorities
// first, and first in, first out within a priority; [Due] keeps entries that must not start before a given time; [Seen]
// is the set of all keys that were ever accepted; [Store] is all three within the memory that [Room] allows. All are made for
// millions of entries. An entry is encoded when it is added and decoded when it is taken
// out; in between it is bytes in large chunks, so it costs little more than its encoding, and the
// garbage collector has no pointers to follow.
//
//	Enqueue(slot, priority, v) → Codec.Append → chunks of the slot's priority → Codec.Decode → Dequeue(slot)
//
// A short example:
//
//	q := cache.NewQueue[Job](jobCodec{})
//	q.Enqueue("example.com", 0, job)
//	job, priority, ok, err := q.Dequeue("example.com")
//
// The types use no goroutine, no clock and no lock; nothing blocks. They are not safe for
// concurrent use: the caller must lock.
package cache

import (
	"fmt"
	"iter"
	"strings"
	"unsafe"
)

// Codec turns values into bytes and back.
type Codec[T any] interface {
	// Append appends the encoding of v to dst and returns the longer slice, as the append
	// functions of encoding/binary do. It must not keep dst. An empty encoding is allowed.
	Append(dst []byte, v T) []byte

	// Decode returns the value that src encodes. The bytes are overwritten later: it must copy
	// what it keeps.
	Decode(src []byte) (T, error)
}

// Queue is a queue of queues: a slot has a queue of its own for each priority. Make one with
// [NewQueue]. It is not safe for concurrent use, and its codec must not call it.
//
// Enqueue and Dequeue take constant time, with the logarithm of the number of priorities in use in
// that slot. A slot that has no entries costs nothing.
type Queue[T any] struct {
	encoder encoder[T]
	lines   map[string]*line
	recent  recentLine
	peak    int // most slots since the map was made
	length  int
	bytes   int64
}

// recentLine is the line asked for last: one slot after the other is asked for many times. A nil line is none.
type recentLine struct {
	slot string
	line *line
}

// line returns the line of a slot, nil if it has none.
func (q *Queue[T]) line(slot string) *line {
	if q.recent.line == nil || q.recent.slot != slot {
		l := q.lines[slot]
		if l == nil {
			return nil
		}
		q.recent = recentLine{l.slot, l}
	}
	return q.recent.line
}

// NewQueue returns an empty queue.
func NewQueue[T any](codec Codec[T]) *Queue[T] {
	return &Queue[T]{encoder: encoder[T]{codec: codec}, lines: make(map[string]*line)}
}

// Entry is a value in a [Queue] with the priority it waits at.
type Entry[T any] struct {
	Priority int
	Value    T
}

// Enqueue puts the value behind the others of that slot and priority.
func (q *Queue[T]) Enqueue(slot string, priority int, v T) {
	data := q.encoder.encode(v)
	l := q.line(slot)
	if l == nil {
		slot = strings.Clone(slot) // it is often a piece of a large string
		l = &line{slot: slot, top: chain{priority: priority}}
		q.lines[slot] = l
		q.peak = max(q.peak, len(q.lines))
		l.bytes = lineCost(slot)
		q.bytes += l.bytes
	}
	grown := l.push(priority, data)
	l.bytes += grown
	q.bytes += grown
	q.length++
}

// Dequeue takes the first entry of the highest priority out of the slot. It is false when the slot
// has none. An entry that cannot be decoded is taken out too: ok is true, and err says why there is
// no value.
func (q *Queue[T]) Dequeue(slot string) (v T, priority int, ok bool, err error) {
	l := q.line(slot)
	if l == nil {
		return v, 0, false, nil
	}
	priority = l.top.priority
	data, freed := l.pop()
	l.bytes -= freed
	q.bytes -= freed
	q.length--
	if l.top.n == 0 {
		q.forget(slot)
	}
	v, err = q.decode(slot, data)
	return v, priority, true, err
}

// Head returns the priority of the entry that [Queue.Dequeue] would take next and the number of
// entries in the slot; 0 and 0 when it has none.
func (q *Queue[T]) Head(slot string) (priority, pending int) {
	l := q.line(slot)
	if l == nil {
		return 0, 0
	}
	return l.top.priority, l.len()
}

// Len returns the number of entries.
func (q *Queue[T]) Len() int { return q.length }

// Bytes returns the memory held, in bytes: the chunks as they are and an estimate for the index
// over them. It is 0 when the queue is empty.
func (q *Queue[T]) Bytes() int64 { return q.bytes }

// SlotBytes returns how much of [Queue.Bytes] the slot holds.
func (q *Queue[T]) SlotBytes(slot string) int64 {
	l := q.line(slot)
	if l == nil {
		return 0
	}
	return l.bytes
}

// Slots iterates over the slots that have entries and how many they have, in no order. Entries may
// be taken and slots dropped meanwhile; a slot that is added meanwhile may or may not show up.
func (q *Queue[T]) Slots() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for slot := range q.lines {
			// forget may have put a new map in place of the one that is ranged over.
			if l := q.lines[slot]; l != nil && !yield(slot, l.len()) {
				return
			}
		}
	}
}

// Each iterates over the entries of the slot in the order Dequeue would take them, and takes none.
// An error belongs to the entry it comes with, whose Value is then not set. The queue must not be
// changed meanwhile.
func (q *Queue[T]) Each(slot string) iter.Seq2[Entry[T], error] {
	return func(yield func(Entry[T], error) bool) {
		l := q.lines[slot]
		if l == nil {
			return
		}
		for c := range l.chains() {
			for data := range c.entries() {
				v, err := q.decode(slot, data)
				if !yield(Entry[T]{Priority: c.priority, Value: v}, err) {
					return
				}
			}
		}
	}
}

// Drop throws the entries of the slot away and returns how many there were.
func (q *Queue[T]) Drop(slot string) int {
	l := q.lines[slot]
	if l == nil {
		return 0
	}
	n := l.len()
	for c := range l.chains() {
		q.bytes -= c.cost()
	}
	if l.others != nil {
		q.bytes -= int64(len(l.others.heap.s)) * chainCost
	}
	q.length -= n
	q.forget(slot)
	return n
}

func (q *Queue[T]) decode(slot string, data []byte) (T, error) {
	v, err := q.encoder.codec.Decode(data)
	if err != nil {
		var zero T
		return zero, fmt.Errorf("cache: decoding an entry of slot %q: %w", slot, err)
	}
	return v, nil
}

// forget drops a slot without entries.
func (q *Queue[T]) forget(slot string) {
	q.bytes -= lineCost(slot)
	delete(q.lines, slot)
	q.recent = recentLine{}
	// A Go map keeps its peak size for ever; memory shall follow the slots with work.
	if q.peak > 1024 && len(q.lines) < q.peak/8 {
		smaller := make(map[string]*line, len(q.lines))
		for name, l := range q.lines {
			smaller[name] = l
		}
		q.lines, q.peak = smaller, len(smaller)
	}
}

// lineCost estimates what a slot costs beside its chunks: itself, its name, its place in the map
// (24 bytes and one of control, at a load between 7/16 and 7/8).
func lineCost(name string) int64 {
	return int64(unsafe.Sizeof(line{})) + int64(len(name)+7)&^7 + 40
}

// encoder is a codec with a buffer to encode into.
type encoder[T any] struct {
	codec   Codec[T]
	scratch []byte
}

// encode returns bytes that are valid until the next call.
func (e *encoder[T]) encode(v T) []byte {
	if cap(e.scratch) > 2*maxChunk {
		e.scratch = nil // one giant shall not stay for ever
	}
	e.scratch = e.codec.Append(e.scratch[:0], v)
	return e.scratch
}

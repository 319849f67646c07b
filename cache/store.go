package cache

import (
	"iter"
	"slices"
	"time"
)

// Store keeps the requests that wait in memory, in the queues of their slots or until they are due, and the keys of all that
// were ever accepted. Make one with [NewStore]. It is not safe for concurrent use.
type Store struct {
	queue *Queue[Waiting]
	due   *Due[Waiting]
	seen  *Seen
	live  map[uint64]any // live parts by Seq
	seq   uint64
	room  *Room

	verdicts []Verdict // of the newest batch
}

// Batch are entries that come to a [Store] together. If a key is known, the store reads only key and depth.
type Batch struct {
	Keys  [][16]byte         // of all entries
	Cost  int64              // of all entries, each as [Cost] estimates it
	Depth func(i int) int    // returns the depth of an entry
	Entry func(i int) Stored // returns an entry
}

// Stored is a request on its way into a [Store] or out of it. Its Seq is given by Accept.
type Stored struct {
	Waiting
	NotBefore time.Time // not zero: Accept puts it on the due list
	Live      any       // kept as it is; nil: there is nothing
}

// Verdict is the answer to one entry.
type Verdict uint8

// The verdicts.
const (
	Queued  Verdict = iota + 1 // it waits in its slot now
	Known                      // its key was accepted before: nothing is stored
	Delayed                    // it waits in the due list
	Refused                    // its slot has more than its share of the room: nothing is stored, and its key is not seen
)

// NewStore returns an empty store for at most that many bytes; 0: no limit.
func NewStore(limit int64) *Store {
	s := &Store{
		queue: NewQueue[Waiting](QueueCodec{}), due: NewDue[Waiting](DueCodec{}), seen: NewSeen(), live: make(map[uint64]any),
	}
	s.room = NewRoom(limit, s.queue.Bytes, s.queue.SlotBytes)
	return s
}

// Accept takes the entries of a batch, and returns the verdict on each, in their order; they are valid until the next call. ok is
// false if there is no room for all that is not refused; then nothing is stored. A waiting request whose key comes again at a
// smaller depth takes that depth.
func (s *Store) Accept(b Batch) (verdicts []Verdict, ok bool) {
	s.verdicts = slices.Grow(s.verdicts[:0], len(b.Keys))[:len(b.Keys)]
	clear(s.verdicts)
	fits, tight := s.room.Fits(b.Cost)
	if !fits && !s.admit(b) {
		return nil, false
	}
	if len(b.Keys) > 1 {
		s.seen.Look(b.Keys)
	}
	for i := range b.Keys {
		if s.verdicts[i] == Refused {
			continue
		}
		state := s.seen.At(&b.Keys[i])
		if *state == Unseen {
			s.verdicts[i] = s.accept(b.Entry(i), state, tight)
			continue
		}
		s.verdicts[i] = Known
		if *state >= SeenAtRoot {
			*state = min(*state, WaitingAt(b.Depth(i)))
		}
	}
	return s.verdicts, true
}

// accept stores a new entry.
func (s *Store) accept(e Stored, state *SeenState, tight bool) Verdict {
	*state = WaitingAt(e.Depth)
	s.seq++
	e.Seq = s.seq
	v := s.put(&e, !e.NotBefore.IsZero())
	if tight {
		s.room.Notice(e.Slot)
	}
	return v
}

// admit notes the verdict on the entries of a batch that a full store has no room for. It returns false if that is not enough.
func (s *Store) admit(b Batch) bool {
	want := func(i int) Want {
		e := b.Entry(i)
		return Want{Key: e.Key, Slot: e.Slot, Cost: Cost(len(e.Data), e.Slot, !e.NotBefore.IsZero(), e.Live != nil)}
	}
	return s.room.Admit(len(b.Keys), want, s.seen.Has, func(i int) { s.verdicts[i] = Refused })
}

// put stores an entry that waits from now on: on the due list, or in its slot.
func (s *Store) put(e *Stored, later bool) Verdict {
	if e.Live != nil {
		s.live[e.Seq] = e.Live
		s.room.PutAside(e.Slot, liveCost)
	}
	if later {
		before := s.due.Bytes()
		s.due.Add(e.NotBefore, e.Waiting)
		s.room.PutAside(e.Slot, s.due.Bytes()-before)
		return Delayed
	}
	s.queue.Enqueue(e.Slot, e.Priority, e.Waiting)
	return Queued
}

// Next takes the first entry of the highest priority out of a slot; its NotBefore is not set. It is false when the slot has
// none. An entry that cannot be decoded is taken too, and err says why there is none.
func (s *Store) Next(slot string) (e Stored, ok bool, err error) {
	w, priority, ok, err := s.queue.Dequeue(slot)
	if err != nil || !ok {
		return e, ok, err
	}
	state := s.seen.At(&w.Key)
	w.Slot, w.Priority, w.Depth = slot, priority, state.Depth(w.Depth)
	*state = SeenDone
	e = Stored{Waiting: w, Live: s.live[w.Seq]}
	if e.Live != nil {
		delete(s.live, w.Seq)
		s.room.PutAside(slot, -liveCost)
	}
	return e, true, nil
}

// Bytes estimates the memory of what waits. It is 0 when nothing does.
func (s *Store) Bytes() int64 { return s.room.Bytes() }

// Notice notes that a slot is asked for its entries: while little room is left, one that has more than its share is
// refused if another has work.
func (s *Store) Notice(slot string) { s.room.Notice(slot) }

// Head returns the priority of the entry that Next would take and the number of entries in the slot; 0 and 0 when it has none.
func (s *Store) Head(slot string) (priority, pending int) { return s.queue.Head(slot) }

// Slots iterates over the slots that have entries and how many they have, in no order.
func (s *Store) Slots() iter.Seq2[string, int] { return s.queue.Slots() }

// Due moves the earliest entry whose time has come from the due list to its slot's queue, and returns slot and priority. It is
// false when none is due. An entry that cannot be decoded is lost, and err says why.
func (s *Store) Due(now time.Time) (slot string, priority int, ok bool, err error) {
	before := s.due.Bytes()
	w, ok, err := s.due.Pop(now)
	if err != nil || !ok {
		return "", 0, false, err
	}
	s.room.PutAside(w.Slot, s.due.Bytes()-before)
	s.queue.Enqueue(w.Slot, w.Priority, w)
	return w.Slot, w.Priority, true, nil
}

// NextDue returns the earliest instant on the due list, zero if that is empty.
func (s *Store) NextDue() time.Time {
	at, _ := s.due.Next()
	return at
}

// Return stores an entry that Next has returned, with its Seq: on the due list if its NotBefore lies ahead, otherwise in its
// slot.
func (s *Store) Return(e Stored, now time.Time) Verdict {
	*s.seen.At(&e.Key) = WaitingAt(e.Depth)
	v := s.put(&e, e.NotBefore.After(now))
	s.room.Notice(e.Slot)
	return v
}

// liveCost is an estimate of the memory of a live part.
const liveCost = 256

// Cost estimates the memory of an entry while it waits: one with that many bytes of data, delayed or not, with a live part or without.
func Cost(data int, slot string, delayed, live bool) int64 {
	cost := int64(data) + 28
	if delayed {
		cost += 64 + int64(len(slot))
	}
	if live {
		cost += liveCost
	}
	return cost
}

package disk

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// record is a waiting request without its place.
type record struct {
	key     tegenaria.Key
	seq     uint64 // its number for life
	parent  uint64 // that of the request that emitted it; 0: a seed, or not known
	depth   int
	attempt int
	data    []byte
	lowered bool // its depth comes from the range of lowered depths; not encoded
}

// Bits of the first number of an encoded record, below the depth.
const (
	hasAttempt = 1 << iota
	hasSeq     // it differs from the order of its place
	hasParent
	recordBits = iota
)

func appendRecord(dst []byte, r *record, order uint64) []byte {
	dst = append(dst, r.key[:]...)
	head := uint64(r.depth) << recordBits
	if r.attempt != 0 {
		head |= hasAttempt
	}
	if r.seq != order {
		head |= hasSeq
	}
	if r.parent != 0 {
		head |= hasParent
	}
	dst = binary.AppendUvarint(dst, head)
	if r.attempt != 0 {
		dst = binary.AppendUvarint(dst, uint64(r.attempt))
	}
	if r.seq != order {
		dst = binary.AppendUvarint(dst, r.seq)
	}
	if r.parent != 0 {
		dst = binary.AppendUvarint(dst, r.parent)
	}
	return append(dst, r.data...)
}

// parseRecord takes an encoded record apart; its data is a part of value.
func parseRecord(value []byte, order uint64) (rec record, err error) {
	r := reader{wire.Decoder{Rest: value}}
	rec.key = r.key()
	head := r.Uint()
	rec.depth, rec.seq = int(head>>recordBits), order
	if head&hasAttempt != 0 {
		rec.attempt = int(r.Uint())
	}
	if head&hasSeq != 0 {
		rec.seq = r.Uint()
	}
	if head&hasParent != 0 {
		rec.parent = r.Uint()
	}
	rec.data = r.Rest
	return rec, r.Err()
}

// where is what is stored of a seen key: as little as will do, for there are very many.
type where struct {
	seq   uint64
	depth int     // smallest that is known
	slot  uint32  // its number, unless the record is in the due list
	order uint64  // of its place; differs from seq once it has moved
	due   bool    // it is in the due list,
	at    instant // due then

	lowered bool // there is an entry among the lowered depths, if it waits
}

// Bits of the first number of an encoded where, below the depth.
const (
	isDue = 1 << iota
	isLowered
	hasMoved
	whereBits = iota
)

func (w *where) append(dst []byte) []byte {
	head := uint64(w.depth) << whereBits
	if w.due {
		head |= isDue
	}
	if w.lowered {
		head |= isLowered
	}
	if w.order != w.seq {
		head |= hasMoved
	}
	dst = binary.AppendUvarint(dst, head)
	dst = binary.AppendUvarint(dst, w.seq)
	if !w.due {
		dst = binary.AppendUvarint(dst, uint64(w.slot))
	}
	if w.order != w.seq {
		dst = binary.AppendUvarint(dst, w.order)
	}
	if w.due {
		dst = binary.AppendVarint(dst, int64(w.at))
	}
	return dst
}

func parseWhere(value []byte) (where, error) {
	r := reader{wire.Decoder{Rest: value}}
	w := readWhere(&r)
	return w, r.end()
}

// readWhere reads a where that something else may follow.
func readWhere(r *reader) (w where) {
	head := r.Uint()
	w.depth, w.due, w.lowered = int(head>>whereBits), head&isDue != 0, head&isLowered != 0
	w.seq = r.Uint()
	w.order = w.seq
	if !w.due {
		w.slot = uint32(r.Uint())
	}
	if head&hasMoved != 0 {
		w.order = r.Uint()
	}
	if w.due {
		w.at = instant(r.Int())
	}
	return w
}

// appendDue encodes a record of the due list, where its key does not contain slot and priority.
func appendDue(dst []byte, slot string, priority int64, r *record, order uint64) []byte {
	dst = binary.AppendVarint(wire.AppendText(dst, slot), priority)
	return appendRecord(dst, r, order)
}

func parseDue(value []byte, order uint64) (slot string, priority int64, rec record, err error) {
	r := reader{wire.Decoder{Rest: value}}
	slot, priority = r.Text(), r.Int()
	if r.Err() != nil {
		return "", 0, rec, r.Err()
	}
	rec, err = parseRecord(r.Rest, order)
	return slot, priority, rec, err
}

// appendOutcome encodes how a record ended.
func appendOutcome(dst []byte, r *record, slot string, priority int64, s *tegenaria.Settled) []byte {
	dst = append(dst, byte(s.Outcome))
	dst = append(dst, r.key[:]...)
	dst = binary.AppendVarint(dst, int64(instantOf(s.At)))
	dst = binary.AppendVarint(dst, int64(s.Status))
	dst = binary.AppendUvarint(dst, r.parent)
	dst = binary.AppendUvarint(dst, uint64(r.depth))
	dst = binary.AppendUvarint(dst, uint64(r.attempt))
	dst = binary.AppendVarint(dst, priority)
	dst = wire.AppendText(dst, slot)
	dst = wire.AppendText(dst, s.Reason)
	return append(dst, r.data...)
}

// parseOutcome is the reverse; what it returns holds no part of value.
func parseOutcome(value []byte, seq uint64) (s tegenaria.Settled, parent uint64, err error) {
	r := reader{wire.Decoder{Rest: value}}
	s.Outcome = tegenaria.Outcome(r.Byte())
	s.Record.Key = r.key()
	s.At = instant(r.Int()).time()
	s.Status = int(r.Int())
	parent = r.Uint()
	s.Record.Depth, s.Record.Attempt = int(r.Uint()), int(r.Uint())
	s.Record.Priority = int(r.Int())
	s.Record.Slot, s.Reason = r.Text(), r.Text()
	s.Record.Seq = seq
	s.Record.Data = slices.Clone(r.Rest)
	return s, parent, r.Err()
}

// state is what a job knows of itself. It is part of every commit.
type state struct {
	commits    uint64 // how many there were: the number of this one
	next       uint64 // the next seq and order
	nextSlot   uint32
	waiting    int64 // in the queues, those in flight among them
	delayed    int64 // in the due list
	settled    int64
	lowered    int64 // waiting records with a lowered depth
	started    bool
	finished   bool
	reason     string // why it is finished
	id         [16]byte
	spider     string // "" before the first Begin
	keyVersion int
	filter     uint64  // number of the stored Bloom filter that is complete; 0: none is
	lost       float64 // expected loss of BloomOnly, in requests
	manifest   witness
}

func (s *state) append(dst []byte) []byte {
	dst = append(dst, s.id[:]...)
	for _, n := range [...]uint64{
		s.commits, s.next, uint64(s.nextSlot), uint64(s.waiting), uint64(s.delayed), uint64(s.settled),
		uint64(s.lowered), uint64(s.keyVersion), s.filter, math.Float64bits(s.lost),
		uint64(s.manifest.length), uint64(s.manifest.sum),
	} {
		dst = binary.AppendUvarint(dst, n)
	}
	var flags byte
	if s.started {
		flags |= 1
	}
	if s.finished {
		flags |= 2
	}
	return wire.AppendText(wire.AppendText(wire.AppendText(append(dst, flags), s.manifest.name), s.reason), s.spider)
}

func parseState(value []byte) (s state, err error) {
	r := reader{wire.Decoder{Rest: value}}
	copy(s.id[:], r.Take(uint64(len(s.id))))
	s.commits, s.next, s.nextSlot = r.Uint(), r.Uint(), uint32(r.Uint())
	s.waiting, s.delayed, s.settled, s.lowered = int64(r.Uint()), int64(r.Uint()), int64(r.Uint()), int64(r.Uint())
	s.keyVersion, s.filter, s.lost = int(r.Uint()), r.Uint(), math.Float64frombits(r.Uint())
	s.manifest.length, s.manifest.sum = int64(r.Uint()), uint32(r.Uint())
	flags := r.Byte()
	s.started, s.finished = flags&1 != 0, flags&2 != 0
	s.manifest.name, s.reason, s.spider = r.Text(), r.Text(), r.Text()
	return s, r.end()
}

func appendCounters(dst []byte, counters map[string]int64) []byte {
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		dst = binary.AppendVarint(wire.AppendText(dst, name), counters[name])
	}
	return dst
}

func parseCounters(value []byte) (map[string]int64, error) {
	counters := make(map[string]int64)
	r := reader{wire.Decoder{Rest: value}}
	for len(r.Rest) > 0 {
		name := r.Text()
		counters[name] = r.Int()
	}
	return counters, r.Err()
}

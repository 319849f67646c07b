package disk

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// The ranges of the store. All numbers in keys are big-endian, so that their order is that of the keys.
//
//	s key:16                    → number       seen; and its order, if the record has moved
//	q slot:4 priority:8 order:8 → record       waits in a slot's queue, or is in flight
//	d time:8 order:8            → slot record  waits in the due list
//	l seq:8                     → depth        of a waiting record that was found nearer to a seed
//	o seq:8                     → outcome      settled
//	x seq:8                     →              settled as a dead letter
//	h name                      → slot         with its number, count, head and politeness
//	j commit:8                  → journal      what this commit has to say of s and h, until it is merged into them
//	c name                      → checkpoint   of a committer
//	m                           → state        of the job; part of every commit
//	n                           → counters
//	r key:16                    → outcome      of a request that the crawl has refused; not all are kept
//
// Each key of q and d is set once and deleted once: whatever goes back to a queue gets a new order.
const (
	rangeSeen       = 's'
	rangeQueue      = 'q'
	rangeDue        = 'd'
	rangeLowered    = 'l'
	rangeOutcome    = 'o'
	rangeDeadLetter = 'x'
	rangeSlot       = 'h'
	rangeJournal    = 'j'
	rangeCheckpoint = 'c'
	rangeState      = 'm'
	rangeCounters   = 'n'
	rangeRefused    = 'r'
)

func seenKey(dst []byte, key *tegenaria.Key) []byte {
	return append(append(dst[:0], rangeSeen), key[:]...)
}

// place is a record's place in its slot's queue. The smaller one comes first.
type place struct {
	priority int64  // larger first
	order    uint64 // then in this order
}

// lastPlace comes after all others.
var lastPlace = place{math.MinInt64, math.MaxUint64}

func (p place) before(q place) bool {
	return p.priority > q.priority || p.priority == q.priority && p.order < q.order
}

const signBit = 1 << 63

// queueKey is the key of a place in a slot's queue.
func queueKey(dst []byte, slot uint32, p place) []byte {
	dst = append(dst[:0], rangeQueue)
	dst = binary.BigEndian.AppendUint32(dst, slot)
	dst = binary.BigEndian.AppendUint64(dst, ^(uint64(p.priority) ^ signBit))
	return binary.BigEndian.AppendUint64(dst, p.order)
}

const queueKeyLen = 1 + 4 + 8 + 8

func parseQueueKey(key []byte) (slot uint32, p place, err error) {
	if len(key) != queueKeyLen {
		return 0, p, errMalformed
	}
	slot = binary.BigEndian.Uint32(key[1:])
	p.priority = int64(^binary.BigEndian.Uint64(key[5:]) ^ signBit)
	p.order = binary.BigEndian.Uint64(key[13:])
	return slot, p, nil
}

// instant is a time as the due list orders it: nanoseconds since 1970, from the year 1678 to 2262.
type instant int64

var (
	firstTime = time.Unix(0, math.MinInt64)
	lastTime  = time.Unix(0, math.MaxInt64)
)

func instantOf(t time.Time) instant {
	switch {
	case t.Before(firstTime):
		return math.MinInt64
	case t.After(lastTime):
		return math.MaxInt64
	}
	return instant(t.UnixNano())
}

func (i instant) time() time.Time { return time.Unix(0, int64(i)).UTC() }

func dueKey(dst []byte, at instant, order uint64) []byte {
	dst = append(dst[:0], rangeDue)
	dst = binary.BigEndian.AppendUint64(dst, uint64(at)^signBit)
	return binary.BigEndian.AppendUint64(dst, order)
}

func parseDueKey(key []byte) (at instant, order uint64, err error) {
	if len(key) != 1+8+8 {
		return 0, 0, errMalformed
	}
	return instant(binary.BigEndian.Uint64(key[1:]) ^ signBit), binary.BigEndian.Uint64(key[9:]), nil
}

// seqKey is the key of a record by its number, in the ranges that have one.
func seqKey(dst []byte, in byte, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst[:0], in), seq)
}

func parseSeqKey(key []byte) (uint64, error) {
	if len(key) != 1+8 {
		return 0, errMalformed
	}
	return binary.BigEndian.Uint64(key[1:]), nil
}

func namedKey(dst []byte, in byte, name string) []byte {
	return append(append(dst[:0], in), name...)
}

// errMalformed is the failure of a key or value that this package has not written.
var errMalformed = errors.New("a stored value is malformed")

// reader takes a value apart. Its methods return zero values once something was missing.
type reader struct{ wire.Decoder }

func (r *reader) key() (key tegenaria.Key) {
	copy(key[:], r.Take(uint64(len(key))))
	return key
}

// Err returns errMalformed if something was missing.
func (r *reader) Err() error {
	if r.Decoder.Err() != nil {
		return errMalformed
	}
	return nil
}

// end is Err, also if something is left over.
func (r *reader) end() error {
	if len(r.Rest) > 0 {
		r.Fail()
	}
	return r.Err()
}

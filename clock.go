package tegenaria

import (
	"context"
	"encoding/binary"
	"iter"
	"slices"
	"time"
)

// clockCheckpoint is the key under which a durable job keeps the time of its newest batch.
const clockCheckpoint = "tegenaria/clock"

// clockNotice is how far back a clock must have gone before the log says so.
const clockNotice = time.Minute

// storeClock returns what clockCheckpoint stores.
func storeClock(now time.Time) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(now.UnixMicro()))
}

// clockBehind returns by how much the clock is behind the time at which a job was stored, because it was set back since
// then; 0 if it is not.
func clockBehind(state State, now time.Time) time.Duration {
	stored := state.Checkpoints[clockCheckpoint]
	if len(stored) != 8 {
		return 0
	}
	return max(time.UnixMicro(int64(binary.BigEndian.Uint64(stored))).Sub(now), 0)
}

// aheadCache is a cache that was written with a clock which was ahead of the present one, so that a pause of a second
// may seem to last for hours. All times that the cache stores stay times of that clock: what is stored is moved ahead,
// what is read is moved back. So each pause lasts as long as was left of it when it was stored.
type aheadCache struct {
	CacheInterface
	by time.Duration
}

// Accept stores records; a time to wait for is moved ahead.
func (c aheadCache) Accept(ctx context.Context, records []Record) ([]Verdict, error) {
	moved := slices.Clone(records)
	for i := range moved {
		c.stored(&moved[i].NotBefore)
	}
	return c.CacheInterface.Accept(ctx, moved)
}

// Due asks for the records that are due by the other clock.
func (c aheadCache) Due(ctx context.Context, now time.Time) (moved []SlotState, next time.Time, err error) {
	moved, next, err = c.CacheInterface.Due(ctx, now.Add(c.by))
	c.read(&next)
	return moved, next, err
}

// Return puts a record back that waits by the other clock.
func (c aheadCache) Return(ctx context.Context, record Record, now time.Time) (Verdict, error) {
	c.stored(&record.NotBefore)
	return c.CacheInterface.Return(ctx, record, now.Add(c.by))
}

// Settle stores a batch with the times of the other clock.
func (c aheadCache) Settle(ctx context.Context, batch Batch) error {
	batch.Slots = slices.Clone(batch.Slots)
	for i := range batch.Slots {
		c.stored(&batch.Slots[i].NextAllowed)
	}
	if _, ok := batch.Checkpoints[clockCheckpoint]; ok {
		batch.Checkpoints[clockCheckpoint] = storeClock(time.Now().Add(c.by))
	}
	return c.CacheInterface.Settle(ctx, batch)
}

// Slots lists the slots with the times of the present clock.
func (c aheadCache) Slots(ctx context.Context) iter.Seq2[SlotState, error] {
	return func(yield func(SlotState, error) bool) {
		for slot, err := range c.CacheInterface.Slots(ctx) {
			c.read(&slot.NextAllowed)
			if !yield(slot, err) {
				return
			}
		}
	}
}

// stored moves a time that is about to be stored ahead.
func (c aheadCache) stored(at *time.Time) {
	if !at.IsZero() {
		*at = at.Add(c.by)
	}
}

// read moves a stored time back.
func (c aheadCache) read(at *time.Time) {
	if !at.IsZero() {
		*at = at.Add(-c.by)
	}
}

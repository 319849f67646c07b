package disk

import (
	"context"
	"errors"
	"time"

	"github.com/tegenaria/tegenaria"
)

// errRunning is the failure to change a job behind the engine's back.
var errRunning = errors.New("disk: a job can be changed only before Begin")

// change runs a change of a job that is not running, and makes it durable.
func (c *Cache) change(ctx context.Context, do func() error) error {
	c.mu.Lock()
	err := c.open()
	if c.ready {
		err = errRunning
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	job := tegenaria.Job{Spider: c.state.spider, KeyVersion: c.state.keyVersion}
	if _, err := c.Begin(ctx, job); err != nil {
		return err
	}
	err = do()
	c.mu.Lock()
	c.ready = false
	turn := c.state.commits + 1
	c.mu.Unlock()
	return errors.Join(err, c.commit(ctx, turn, false))
}

// Replay puts the dead letters for which wanted returns true (nil: all) back into the queue, as if they had never been tried, and
// returns their number. A finished job is then unfinished again. The job must not be running: call it before the engine does Begin.
func (c *Cache) Replay(ctx context.Context, wanted func(Info) bool) (replayed int, err error) {
	err = c.change(ctx, func() error {
		for number, err := range c.numbers(ctx, rangeDeadLetter) {
			if err != nil {
				return err
			}
			info, err := c.outcome(number)
			if err != nil {
				return err
			}
			if wanted != nil && !wanted(info) {
				continue
			}
			if err := c.replay(info); err != nil {
				return err
			}
			replayed++
		}
		return nil
	})
	return replayed, err
}

func (c *Cache) replay(info Info) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keyBuf = seqKey(c.keyBuf, rangeDeadLetter, info.Number)
	c.erase(c.keyBuf)
	c.keyBuf = seqKey(c.keyBuf, rangeOutcome, info.Number)
	c.erase(c.keyBuf)
	c.state.settled--
	c.state.finished, c.state.reason = false, ""
	rec := info.Record
	c.enqueue(c.slotOf(rec.Slot), entry{
		place{int64(rec.Priority), c.number()},
		record{key: rec.Key, seq: info.Number, parent: info.Parent, depth: rec.Depth, data: rec.Data},
	})
	return c.room()
}

// DropHost settles all waiting requests of a slot as dropped, with this reason, and returns their number. The job must not be
// running: call it before the engine does Begin.
func (c *Cache) DropHost(ctx context.Context, slot, reason string) (dropped int, err error) {
	err = c.change(ctx, func() error {
		for {
			records, _, err := c.Next(ctx, slot, 1000)
			if err != nil {
				return err
			}
			if len(records) == 0 {
				break
			}
			if err := c.drop(records, reason); err != nil {
				return err
			}
			dropped += len(records)
		}
		n, err := c.dropDelayed(ctx, slot, reason)
		dropped += n
		return err
	})
	return dropped, err
}

func (c *Cache) drop(records []tegenaria.Record, reason string) error {
	var b tegenaria.Batch
	now := time.Now()
	for _, rec := range records {
		b.Settled = append(b.Settled, tegenaria.Settled{Record: rec, Outcome: tegenaria.Dropped, Reason: reason, At: now})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.settle(&b); err != nil {
		return err
	}
	return c.room()
}

// dropDelayed settles what a slot has in the due list.
func (c *Cache) dropDelayed(ctx context.Context, slot, reason string) (dropped int, err error) {
	for row, err := range c.rows(ctx, rangeDue) {
		if err != nil {
			return dropped, err
		}
		_, order, err := parseDueKey(row.key)
		if err != nil {
			return dropped, damage(c.dir, "", err)
		}
		name, priority, rec, err := parseDue(row.value, order)
		if err != nil {
			return dropped, damage(c.dir, "", err)
		}
		if name != slot {
			continue
		}
		c.mu.Lock()
		err = c.readLowered(&rec)
		c.unlower(&rec)
		c.erase(row.key)
		c.state.delayed--
		how := tegenaria.Settled{Outcome: tegenaria.Dropped, Reason: reason, At: time.Now()}
		c.settleRecord(c.slotOf(slot), &entry{place{priority, order}, rec}, &how)
		err = errors.Join(err, c.room())
		c.mu.Unlock()
		if err != nil {
			return dropped, err
		}
		dropped++
	}
	return dropped, nil
}

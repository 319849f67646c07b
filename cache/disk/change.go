package disk

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
)

// errRunning is the failure to change a job behind the engine's back.
var errRunning = errors.New("disk: a job can be changed only before Begin")

// change runs a change of a job that is not running, and makes it durable. do says what it has done to the counters.
func (c *Cache) change(ctx context.Context, do func(recount) error) error {
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
	counted := make(recount)
	err = do(counted)
	c.mu.Lock()
	err = errors.Join(err, c.recount(counted))
	c.ready = false
	turn := c.state.commits + 1
	c.mu.Unlock()
	return errors.Join(err, c.commit(ctx, turn, false))
}

// recount is by how much a change of a job changes the engine's counters, by their names.
type recount map[string]int64

// settled counts n requests more that ended in this way, or fewer.
func (r recount) settled(n int64, outcome tegenaria.Outcome, reason string) {
	r["settled"] += n
	r["outcome/"+outcome.String()] += n
	if reason != "" {
		r["reason/"+outcome.String()+": "+reason] += n
	}
}

// mostReasons bounds the counters by reason as the engine does; the rest are of "other".
const mostReasons = 100

// recount changes the counters so that the law of the ledger holds: each request that was discovered is settled or waits. The
// caller holds mu.
func (c *Cache) recount(by recount) error {
	if len(by) == 0 {
		return nil
	}
	counters, err := c.counts()
	if err != nil {
		return err
	}
	if counters == nil {
		counters = make(map[string]int64)
	}
	reasons := 0
	for name := range counters {
		if strings.HasPrefix(name, "reason/") {
			reasons++
		}
	}
	for name, n := range by {
		if _, known := counters[name]; !known && strings.HasPrefix(name, "reason/") && (n < 0 || reasons >= mostReasons) {
			outcome, _, _ := strings.Cut(name, ": ")
			name = outcome + ": other"
		}
		counters[name] = max(counters[name]+n, 0)
	}
	counters["discovered"] = counters["settled"] + c.state.waiting + c.state.delayed
	c.valueBuf = appendCounters(c.valueBuf[:0], counters)
	c.set([]byte{rangeCounters}, c.valueBuf)
	c.counters = append(c.counters[:0], c.valueBuf...)
	return nil
}

// Replay puts the dead letters for which wanted returns true (nil: all) back into the queue, as if they had never been tried, and
// returns their number. A finished job is then unfinished again. The job must not be running: call it before the engine does Begin.
func (c *Cache) Replay(ctx context.Context, wanted func(Info) bool) (replayed int, err error) {
	err = c.change(ctx, func(counted recount) error {
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
			counted.settled(-1, info.Outcome, info.Reason)
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
	err = c.change(ctx, func(counted recount) error {
		defer func() {
			if dropped > 0 {
				counted.settled(int64(dropped), tegenaria.Dropped, reason)
			}
		}()
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

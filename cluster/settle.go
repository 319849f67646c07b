package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria"
)

// Settle is described at [tegenaria.CacheInterface]. Batches that come together are written together.
func (c *Cache) Settle(ctx context.Context, b tegenaria.Batch) error {
	c.mu.Lock()
	err := c.usable()
	if err == nil {
		err = c.settle(&b)
	}
	mine := c.open.number
	if c.open.empty() {
		mine--
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return c.writeUntil(ctx, mine)
}

// settle gathers a batch. Called with mu held.
func (c *Cache) settle(b *tegenaria.Batch) error {
	for i := range b.Settled {
		e := c.entries[b.Settled[i].Record.Key]
		if e == nil || !e.inFlight || e.settling {
			for _, s := range b.Settled[:i] {
				c.entries[s.Record.Key].settling = false
			}
			return fmt.Errorf("cluster: settling a request that is not in flight: key %x", b.Settled[i].Record.Key)
		}
		e.settling = true
	}
	for i := range b.Settled {
		e := c.entries[b.Settled[i].Record.Key]
		c.endFlight(e)
		c.open.settle(e, &b.Settled[i])
		c.forgetEntry(e)
		c.rest(e.slot)
	}
	for _, known := range b.Slots {
		s := c.slotOf(known.Name)
		if s == nil { // it went to another worker, which reckons its politeness
			continue
		}
		s.nextAllowed, s.delay, s.pages = known.NextAllowed, max(known.Delay, 0), max(known.Pages, 0)
		s.penalty, s.throttle = max(known.Penalty, 0), max(known.AutoThrottle, 0)
		c.open.store(s)
		c.rest(s)
	}
	for name, checkpoint := range b.Checkpoints {
		if name == loopbackCheckpoint && (c.ownServer > 0 || !c.owned[0]) { // StartRequest runs elsewhere
			continue
		}
		if name == itemsKey {
			c.open.items = append(c.open.items, checkpoint...)
			c.open.size += len(checkpoint)
			continue
		}
		c.open.checkpoints[name] = slices.Clone(checkpoint)
		c.open.size += changeCost + len(checkpoint)
	}
	if b.Counters != nil {
		if c.counters == nil {
			c.counters = make(map[string]int64)
		}
		c.open.count(b.Counters, c.counters)
	}
	if b.Started || b.Finished != "" {
		c.open.started = c.open.started || b.Started
		c.open.finished = cmp.Or(b.Finished, c.open.finished)
		c.open.size += changeCost
	}
	return nil
}

// endFlight ends a flight, and takes the request out of its queue. Called with mu held.
func (c *Cache) endFlight(e *entry) {
	e.inFlight = false
	e.slot.flights--
	c.flights--
	c.clearCrashes(e.key)
	c.remove(e)
}

// Return is described at [tegenaria.CacheInterface]. The request goes behind others of the same priority.
func (c *Cache) Return(ctx context.Context, rec tegenaria.Record, now time.Time) (tegenaria.Verdict, error) {
	c.mu.Lock()
	err := c.usable()
	e := c.entries[rec.Key]
	if err == nil && (e == nil || !e.inFlight) {
		err = fmt.Errorf("cluster: returning a request that is not in flight: key %x", rec.Key)
	}
	if err != nil {
		c.mu.Unlock()
		return 0, err
	}
	c.endFlight(e)
	e.place, e.priority, e.attempt = c.next(), int64(rec.Priority), rec.Attempt
	verdict := tegenaria.VerdictNew
	if rec.NotBefore.After(now) {
		verdict = tegenaria.VerdictLater
		c.delay(e, rec.NotBefore)
	} else {
		c.enqueue(e)
	}
	return verdict, c.room(ctx)
}

package cluster

import (
	"context"
	"time"

	"github.com/tegenaria/tegenaria"
)

// The times that the database can have; what is beyond them is taken for them.
var (
	firstTime = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTime  = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
)

// delay gathers a request that waits in the due list from now on. Called with mu held.
func (c *Cache) delay(e *entry, notBefore time.Time) {
	if notBefore.After(lastTime) {
		notBefore = lastTime
	}
	e.rank, e.delayed = ceil(notBefore), true
	c.open.insert(e)
	e.slot.delayed++
	c.workbench.add(&c.due, e)
}

// Due is described at [tegenaria.CacheInterface]. It moves about 1,000 requests at a time.
func (c *Cache) Due(ctx context.Context, now time.Time) (moved []tegenaria.SlotState, next time.Time, err error) {
	c.mu.Lock()
	if err := c.usable(); err != nil {
		c.mu.Unlock()
		return nil, next, err
	}
	for len(moved) < dueRecords && c.due.count > 0 && !time.UnixMicro(c.due.head.rank).After(now) {
		if err := c.refill(ctx, &c.due, 0); err != nil {
			c.mu.Unlock()
			return nil, next, err
		}
		if c.due.count == 0 || time.UnixMicro(c.due.head.rank).After(now) {
			break
		}
		e := c.workbench.take(&c.due)
		c.remove(e)
		e.slot.delayed--
		e.place = c.next()
		c.enqueue(e)
		state := e.slot.state()
		state.Priority = int(e.priority)
		moved = append(moved, state)
	}
	if err := c.refill(ctx, &c.due, 0); err != nil { // so that it is known what comes next
		c.mu.Unlock()
		return nil, next, err
	}
	if c.due.count > 0 {
		next = time.UnixMicro(c.due.head.rank)
	}
	return moved, next, c.room(ctx)
}

package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/flightnotes"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// maxSettled is how many settled requests are worth a commit of their own.
const maxSettled = 50

// maxBatch is how many bytes of changes are gathered before they are handed to the store, which then holds
// them until the next commit makes them durable.
const maxBatch = 1 << 20

// touch notes that a slot is part of the next commit.
func (c *Cache) touch(s *slot) {
	if !s.dirty {
		s.dirty = true
		c.dirty = append(c.dirty, s)
	}
}

// set and erase gather changes.
func (c *Cache) set(key, value []byte) { c.changes.set(key, value) }

func (c *Cache) erase(key []byte) { c.changes.erase(key) }

// applied is a commit that the store has taken, and which may not be durable yet.
type applied struct {
	number uint64
	batch  *pebble.Batch
	held   int // removals that may happen once it is durable
}

// apply hands what was gathered to the store, in one step that no crash divides. From then on reading sees it.
// With sync the caller has to wait for the batch.
func (c *Cache) apply(sync bool) (done applied, err error) {
	if err := c.broken(); err != nil {
		return done, err
	}
	now := time.Now()
	for _, s := range c.dirty {
		s.dirty = false
		c.storeSlot(s, now)
	}
	c.dirty = c.dirty[:0]
	c.forgetIdle(now)
	c.gathered = 0
	c.state.commits++
	var merged *journal
	if c.journal.due() {
		merged = &c.journal
	} else if row := c.journal.next(); len(row) > 0 {
		c.keyBuf = seqKey(c.keyBuf, rangeJournal, c.state.commits)
		c.set(c.keyBuf, row)
		c.journal.wrote(c.state.commits)
	}
	held := c.fs.held() // before the witness is taken: it must not be older than what they are for
	if m, ok := c.fs.manifest(); ok {
		c.state.manifest = m
	} else {
		held = 0
	}
	c.set([]byte{rangeState}, c.state.append(nil))
	batch := c.changes.batch(c.db, merged)
	if sync {
		err = c.db.ApplyNoSyncWait(batch, pebble.Sync)
	} else {
		err = c.db.Apply(batch, pebble.NoSync)
		batch.Close()
	}
	if err == nil {
		err = c.broken()
	}
	return applied{c.state.commits, batch, held}, c.failure(err)
}

// merge hands what was gathered to the store, and what the journal says with it: then all is in rows of its own.
func (c *Cache) merge() error {
	c.journal.full = true
	_, err := c.apply(false)
	return err
}

// remembers reports whether a slot without records has something to remember.
func (s *slot) remembers(now time.Time) bool { return s.nextAllowed.After(now) || s.pages > 0 }

// storeSlot writes what a slot has to remember, or forgets it.
func (c *Cache) storeSlot(s *slot, now time.Time) {
	first, some := s.first()
	if !some {
		if !s.remembers(now) {
			c.forget(s)
			return
		}
		if !s.idle {
			s.idle = true
			c.idle = append(c.idle, s)
		}
	}
	v := binary.AppendUvarint(c.valueBuf[:0], uint64(s.id))
	v = binary.AppendUvarint(v, uint64(s.waiting+len(s.flights)))
	v = binary.AppendVarint(v, first.priority)
	v = binary.AppendUvarint(v, first.order)
	slow := s.delay > 0 || s.pages > 0 || s.penalty > 0 || s.throttle > 0
	if !s.nextAllowed.IsZero() || slow {
		v = binary.AppendVarint(v, int64(instantOf(s.nextAllowed)))
	}
	if slow {
		v = binary.AppendUvarint(v, uint64(s.delay))
		v = binary.AppendUvarint(v, uint64(s.pages))
	}
	if s.penalty > 0 || s.throttle > 0 {
		v = binary.AppendUvarint(v, uint64(s.penalty))
	}
	if s.throttle > 0 {
		v = binary.AppendUvarint(v, uint64(s.throttle))
	}
	c.valueBuf = v
	if s.stored {
		c.journal.setSlot(s.id, s.name, v)
		return
	}
	s.stored = true // with its name
	c.keyBuf = namedKey(c.keyBuf, rangeSlot, s.name)
	c.set(c.keyBuf, v)
}

func parseSlot(name string, value []byte) (*slot, error) {
	r := reader{wire.Decoder{Rest: value}}
	s := &slot{name: name, id: uint32(r.Uint()), waiting: int(r.Uint()), stored: true}
	s.head = place{r.Int(), r.Uint()}
	s.cursor = s.head
	if len(r.Rest) > 0 {
		s.nextAllowed = instant(r.Int()).time()
	}
	if len(r.Rest) > 0 {
		s.delay, s.pages = time.Duration(r.Uint()), int(r.Uint())
	}
	if len(r.Rest) > 0 {
		s.penalty = time.Duration(r.Uint())
	}
	if len(r.Rest) > 0 {
		s.throttle = time.Duration(r.Uint())
	}
	return s, r.end()
}

// forget drops a slot without records and state.
func (c *Cache) forget(s *slot) {
	if s.stored {
		c.keyBuf = namedKey(c.keyBuf, rangeSlot, s.name)
		c.erase(c.keyBuf)
		c.journal.forgetSlot(s.id)
	}
	delete(c.slots, s.name)
}

// forgetIdle drops slots that have become idle some time ago, and whose politeness is over. It looks at a few at a
// time.
func (c *Cache) forgetIdle(now time.Time) {
	for range min(len(c.idle), 64) {
		s := c.idle[0]
		c.idle = c.idle[1:]
		switch _, some := s.first(); {
		case some || c.slots[s.name] != s:
			s.idle = false
		case s.remembers(now):
			c.idle = append(c.idle, s)
		default:
			s.idle = false
			c.forget(s)
		}
	}
}

// room hands what was gathered to the store when it has become much.
func (c *Cache) room() error {
	if c.changes.size()+len(c.journal.next()) < maxBatch {
		return nil
	}
	_, err := c.apply(false)
	return err
}

// commit makes everything durable that was gathered before the call; in turn is the number of the commit it is to
// be part of. Commits of several callers are one.
func (c *Cache) commit(ctx context.Context, turn uint64, paced bool) error {
	c.syncing.Lock()
	defer c.syncing.Unlock()
	if c.durable >= turn {
		return nil
	}
	if paced {
		c.pace(ctx)
	}
	c.mu.Lock()
	done, err := c.apply(true)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return c.wait(done)
}

// wait waits until a commit is durable. The caller holds syncing.
func (c *Cache) wait(done applied) error {
	err := errors.Join(done.batch.SyncWait(), done.batch.Close())
	if err == nil {
		err = c.broken()
	}
	if err != nil {
		return c.failure(err)
	}
	c.durable, c.synced = done.number, time.Now()
	if err := c.mark.note(done.number); err != nil {
		return err
	}
	c.fs.release(done.held)
	return c.broken()
}

// pace waits until the last commit is long enough ago.
func (c *Cache) pace(ctx context.Context) {
	wait := time.Until(c.synced.Add(c.every))
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done(): // what is to be settled is settled all the same, but at once
	case <-c.closing:
	}
}

// Settle is described at [tegenaria.CacheInterface]. Unless there are many requests to settle it waits until
// [CommitEvery] has passed since the last commit, so that one synced write serves several.
func (c *Cache) Settle(ctx context.Context, b tegenaria.Batch) error {
	c.mu.Lock()
	err := c.begun()
	if err == nil {
		err = c.settle(&b)
	}
	c.gathered += len(b.Settled)
	paced := len(b.Settled) > 0 && c.gathered < maxSettled
	turn := c.state.commits + 1
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if err := c.commit(ctx, turn, paced); err != nil {
		return err
	}
	for i := range b.Settled {
		c.notes.Clear((*flightnotes.Key)(&b.Settled[i].Record.Key))
	}
	if b.Finished != "" {
		c.notes.ClearAll()
	}
	return nil
}

// settle gathers a batch.
func (c *Cache) settle(b *tegenaria.Batch) error {
	for i := range b.Settled {
		f := c.flights[b.Settled[i].Record.Key]
		if f == nil || f.settling {
			for _, s := range b.Settled[:i] {
				c.flights[s.Record.Key].settling = false
			}
			return fmt.Errorf("disk: settling a request that is not in flight: key %x", b.Settled[i].Record.Key)
		}
		f.settling = true
	}
	for i := range b.Settled {
		s := &b.Settled[i]
		f := c.flights[s.Record.Key]
		c.land(f)
		c.settleRecord(f.slot, &f.entry, s)
	}
	for _, known := range b.Slots {
		s := c.slotOf(known.Name)
		s.nextAllowed, s.delay, s.pages = known.NextAllowed, max(known.Delay, 0), max(known.Pages, 0)
		s.penalty, s.throttle = max(known.Penalty, 0), max(known.AutoThrottle, 0)
		c.touch(s)
	}
	c.refusals.gather(&c.changes)
	for name, checkpoint := range b.Checkpoints {
		c.checkpoints[name] = slices.Clone(checkpoint)
		c.set(namedKey(nil, rangeCheckpoint, name), checkpoint)
	}
	if b.Counters != nil {
		c.valueBuf = appendCounters(c.valueBuf[:0], b.Counters)
		c.set([]byte{rangeCounters}, c.valueBuf)
		c.counters = append(c.counters[:0], c.valueBuf...)
	}
	c.state.started = c.state.started || b.Started
	if b.Finished != "" {
		c.state.finished, c.state.reason = true, b.Finished
	}
	return nil
}

// land ends a flight and takes its record out of the queue.
func (c *Cache) land(f *flight) {
	delete(c.flights, f.key)
	f.slot.land(f)
	c.touch(f.slot)
	c.keyBuf = queueKey(c.keyBuf, f.slot.id, f.place)
	c.erase(c.keyBuf)
	c.state.waiting--
	c.unlower(&f.record)
}

// settleRecord writes how a record ended that was taken out of its queue.
func (c *Cache) settleRecord(s *slot, e *entry, how *tegenaria.Settled) {
	c.keyBuf = seqKey(c.keyBuf, rangeOutcome, e.seq)
	c.valueBuf = appendOutcome(c.valueBuf[:0], &e.record, s.name, e.priority, how)
	c.set(c.keyBuf, c.valueBuf)
	if isDeadLetter(how.Outcome) {
		c.keyBuf = seqKey(c.keyBuf, rangeDeadLetter, e.seq)
		c.set(c.keyBuf, nil)
	}
	c.state.settled++
}

func isDeadLetter(o tegenaria.Outcome) bool { return o == tegenaria.Failed || o == tegenaria.GaveUp }

// Return is described at [tegenaria.CacheInterface]. The record goes behind others of the same priority.
func (c *Cache) Return(_ context.Context, rec tegenaria.Record, now time.Time) (tegenaria.Verdict, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.begun(); err != nil {
		return 0, err
	}
	f := c.flights[rec.Key]
	if f == nil {
		return 0, fmt.Errorf("disk: returning a request that is not in flight: key %x", rec.Key)
	}
	c.land(f)
	c.notes.Clear((*flightnotes.Key)(&rec.Key))
	e := entry{place{int64(rec.Priority), c.number()}, f.record}
	e.attempt = rec.Attempt
	verdict := tegenaria.VerdictNew
	if rec.NotBefore.After(now) {
		verdict = tegenaria.VerdictLater
		c.delay(f.slot, e, rec.NotBefore)
	} else {
		c.enqueue(f.slot, e)
	}
	return verdict, c.room()
}

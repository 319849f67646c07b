package disk

import (
	"context"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tegenaria/tegenaria"
)

// DeadLetters is described at [tegenaria.CacheInterface]; they come in the order in which they were found.
func (c *Cache) DeadLetters(ctx context.Context) iter.Seq2[tegenaria.Settled, error] {
	return func(yield func(tegenaria.Settled, error) bool) {
		for seq, err := range c.numbers(ctx, rangeDeadLetter) {
			var s tegenaria.Settled
			if err == nil {
				s, err = c.outcome(seq)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// snapshot makes visible what was gathered, and returns an iterator over a part of the store as it is now.
func (c *Cache) snapshot(from, to []byte) (*pebble.Iterator, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.open(); err != nil {
		return nil, err
	}
	if c.batch.Count() > 0 {
		if _, err := c.apply(false); err != nil {
			return nil, err
		}
	}
	iter, err := c.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	return iter, c.failure(err)
}

// rows lists a part of the store. Key and value are valid until the next step.
func (c *Cache) rows(ctx context.Context, in byte) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		iter, err := c.snapshot([]byte{in}, []byte{in + 1})
		if err != nil {
			yield(row{}, err)
			return
		}
		defer iter.Close()
		for more := iter.First(); more; more = iter.Next() {
			value, err := iter.ValueAndErr()
			if err == nil {
				err = ctx.Err()
			}
			if !yield(row{iter.Key(), value}, err) || err != nil {
				return
			}
		}
		if err := iter.Error(); err != nil {
			yield(row{}, damage(c.dir, "", err))
		}
	}
}

// row is a key of the store and its value.
type row struct{ key, value []byte }

// numbers lists a range whose keys are numbers of records.
func (c *Cache) numbers(ctx context.Context, in byte) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		for row, err := range c.rows(ctx, in) {
			var seq uint64
			if err == nil {
				seq, err = parseSeqKey(row.key)
			}
			if !yield(seq, err) || err != nil {
				return
			}
		}
	}
}

// outcome reads how a record ended.
func (c *Cache) outcome(seq uint64) (s tegenaria.Settled, err error) {
	found := false
	err = c.get(seqKey(nil, rangeOutcome, seq), func(value []byte) (err error) {
		found = true
		s, _, err = parseOutcome(value, seq)
		return err
	})
	if err == nil && !found {
		err = c.failure(fmt.Errorf("the outcome of request %d is missing", seq))
	}
	return s, err
}

package cluster

import (
	"context"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
)

// deadPage is how many dead letters are read at a time.
const deadPage = 500

// DeadLetters is described at [tegenaria.CacheInterface].
func (c *Cache) DeadLetters(ctx context.Context) iter.Seq2[tegenaria.Settled, error] {
	return func(yield func(tegenaria.Settled, error) bool) {
		after := int64(-1)
		for {
			letters, err := c.deadLetters(ctx, after)
			if err != nil {
				yield(tegenaria.Settled{}, err)
				return
			}
			for _, letter := range letters {
				if !yield(letter, nil) {
					return
				}
				after = int64(letter.Record.Seq)
			}
			if len(letters) < deadPage {
				return
			}
		}
	}
}

// deadLetters reads those with a larger number, as many as are read at a time.
func (c *Cache) deadLetters(ctx context.Context, after int64) (letters []tegenaria.Settled, err error) {
	c.mu.Lock()
	err = c.usable()
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := c.acquireStore(ctx); err != nil {
		return nil, err
	}
	defer c.releaseStore()
	letters, err = c.store.deadLetters(ctx, after)
	return letters, c.failed(err)
}

func (s *server) deadLetters(ctx context.Context, after int64) (letters []tegenaria.Settled, err error) {
	err = s.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error {
		letters = nil
		rows, _ := conn.Query(ctx, `SELECT o.seq, o.key, o.parent, o.depth, o.attempt, o.outcome, o.reason, o.status,
			o.at, d.slot, d.priority, d.data
			FROM dead_letter AS d JOIN outcome AS o ON o.seq = d.seq WHERE d.seq > $1 ORDER BY d.seq LIMIT $2`, after, deadPage)
		var d tegenaria.Settled
		var seq, parent int64
		var key, slot, data []byte
		var outcome string
		rec := &d.Record
		_, err := pgx.ForEachRow(rows, []any{&seq, &key, &parent, &rec.Depth, &rec.Attempt, &outcome, &d.Reason, &d.Status, &d.At, &slot, &rec.Priority, &data}, func() error {
			letter := d
			letter.Record.Seq, letter.Record.ParentSeq, letter.Record.Key = uint64(seq), uint64(parent), tegenaria.Key(key)
			letter.Record.Slot, letter.Record.Data = string(slot), slices.Clone(data)
			err := letter.Outcome.UnmarshalText([]byte(outcome))
			letters = append(letters, letter)
			return err
		})
		return err
	})
	return letters, err
}

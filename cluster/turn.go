package cluster

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// turn is the wish of a session to send a request to a slot that another one has, because a callback waits for it (Fetch). Its owner holds the
// slot for it as long as it is there, but not longer than the request may take.
type turn struct {
	id int64 // drawn
	whereabout
	slot    string
	session int64
	atMost  time.Duration
	owner   int64 // which has granted it; 0: it waits
}

// turns are those of a cache. The mutex of the cache guards the maps.
type turns struct {
	waiting  map[int64]*waitingTurn // own ones that wait
	held     map[int64]*heldTurn    // those of others, until they are gone
	fetching map[int]int            // by partition of the own: requests of callbacks, which Next has not handed out
	asked    chan struct{}          // has room for one: a turn waits
}

// waitingTurn is an own turn that waits.
type waitingTurn struct {
	granted chan struct{} // closed when it is granted
	own     map[int]int   // nil unless the partition is of the own: the request counts here
}

// heldTurn is a turn of another session.
type heldTurn struct {
	partition int
	cancel    context.CancelFunc // ends the wait for the slot, or gives it back
	over      bool               // its time is over, or the slot was given back
}

func newTurns() turns {
	return turns{waiting: make(map[int64]*waitingTurn), held: make(map[int64]*heldTurn), fetching: make(map[int]int), asked: make(chan struct{}, 1)}
}

// Turn is described at [tegenaria.SharedCache].
func (c *Cache) Turn(ctx context.Context, slot string, atMost time.Duration) (done func(), err error) {
	for {
		t := turn{slot: slot, atMost: atMost, id: rand.Int64(), whereabout: whereabout{server: c.home}}
		w := &waitingTurn{granted: make(chan struct{})}
		c.mu.Lock()
		if err := c.usable(); err != nil {
			c.mu.Unlock()
			return nil, err
		}
		t.session = c.session
		if s := c.slots[slot]; s != nil {
			t.partition, w.own = s.partition, c.fetching
		} else if at, foreign := c.isForeign(slot); !foreign {
			t.partition, w.own = at.partition, c.fetching
		} else if t.whereabout = at; at.server == c.home {
			c.waiting[t.id] = w
		}
		w.count(t.partition, 1)
		c.mu.Unlock()
		if w.own != nil {
			return func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				w.count(t.partition, -1)
			}, nil
		}
		if err := c.await(ctx, &t, w.granted); err != nil {
			c.endTurn(&t, w)
			return nil, err
		}
		if c.MayStart() {
			return func() { c.endTurn(&t, w) }, nil
		}
		c.endTurn(&t, w) // it may be another's before this one may start
		pause := time.NewTimer(longestLook)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// count counts a request to a partition of the own. Called with mu held.
func (w *waitingTurn) count(partition, by int) {
	if w.own != nil {
		w.own[partition] += by
	}
}

// await asks for a turn, and waits until it is granted.
func (c *Cache) await(ctx context.Context, t *turn, granted chan struct{}) error {
	if t.server != c.home {
		return c.askAbroad(ctx, t)
	}
	if err := c.take(ctx); err != nil {
		return err
	}
	err := c.store.askTurn(ctx, t)
	c.give()
	if err != nil {
		return c.failed(err)
	}
	select {
	case c.asked <- struct{}{}:
	default:
	}
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.alive.Done():
		return errClosed
	}
}

// endTurn tells the owner that a request is over. The caller does not wait for that.
func (c *Cache) endTurn(t *turn, w *waitingTurn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, t.id)
	w.count(t.partition, -1)
	if c.closed {
		return
	}
	c.writes.Go(func() {
		if t.server != c.home {
			_ = c.abroad[t.server].endTurn(c.alive, t.id) // otherwise it ends with its time
			return
		}
		if c.take(c.alive) != nil {
			return
		}
		defer c.give()
		_ = c.failed(c.store.endTurn(c.alive, t.id)) // of an error the next call will know
	})
}

// takeTurns grants turns of others and notes which own ones are granted. It reports whether there are any, which are not to wait for long.
func (h *share) takeTurns(ctx context.Context, v *view) (some bool) {
	c := h.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	there := make(map[int64]bool)
	for _, t := range v.turns {
		there[t.id] = true
		owner := v.owners[t.partition]
		switch w := c.waiting[t.id]; {
		case w != nil && (t.owner == owner && owner != 0 || c.owned[t.partition]):
			if c.owned[t.partition] {
				w.own = c.fetching
			}
			w.count(t.partition, 1)
			close(w.granted)
			delete(c.waiting, t.id)
		case t.session != c.session && c.owned[t.partition] && !c.leaving[t.partition] && c.held[t.id] == nil:
			ctx, cancel := context.WithCancel(ctx)
			held := &heldTurn{partition: t.partition, cancel: cancel}
			c.held[t.id] = held
			h.sharing.Go(func() { h.hold(ctx, t, held) })
		}
	}
	for id, held := range c.held {
		if !there[id] {
			held.cancel()
			if held.over {
				delete(c.held, id)
			}
		}
	}
	return len(c.waiting)+len(c.held) > 0
}

// hold waits until a slot is free, grants the turn, and gives the slot back when it is over.
func (h *share) hold(ctx context.Context, t turn, held *heldTurn) {
	c := h.cache
	defer func() {
		held.cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		held.over = true
	}()
	done, err := h.run.Hold(ctx, t.slot)
	if err != nil {
		return
	}
	defer sync.OnceFunc(done)()
	ctx, cancel := context.WithTimeout(ctx, t.atMost+c.ttl/4)
	defer cancel()
	if c.take(ctx) != nil {
		return
	}
	err = c.store.grantTurn(ctx, t.id)
	c.give()
	if c.failed(err) == nil {
		<-ctx.Done()
	}
}

// isHeld reports whether a request of a callback is in flight in a partition of the own, be it of another session. Called with mu held.
func (t *turns) isHeld(partition int) bool {
	if t.fetching[partition] > 0 {
		return true
	}
	for _, held := range t.held {
		if held.partition == partition && !held.over {
			return true
		}
	}
	return false
}

func (s *server) askTurn(ctx context.Context, t *turn) error {
	return s.execute(ctx, `INSERT INTO turn VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`, t.id, t.partition, []byte(t.slot), t.session, int64(t.atMost))
}

func (s *server) grantTurn(ctx context.Context, id int64) error {
	return s.execute(ctx, `UPDATE turn SET owner = $2 WHERE id = $1`, id, s.session)
}

func (s *server) endTurn(ctx context.Context, id int64) error {
	return s.execute(ctx, `DELETE FROM turn WHERE id = $1`, id)
}

// execute executes a statement that may be executed twice.
func (s *server) execute(ctx context.Context, sql string, args ...any) error {
	return s.patiently(ctx, "writing", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql, args...)
		return err
	})
}

// isLiving is the condition that the session of a turn t is not over. Of one of another server it is not known: such a turn counts for a time.
const isLiving = `(EXISTS (SELECT FROM worker AS w WHERE w.session = t.session AND NOT w.buried) OR t.until > clock_timestamp())`

// readTurns reads the turns of all sessions that are not over.
func (v *view) readTurns(rows pgx.Rows) error {
	var t turn
	var slot []byte
	var atMost int64
	_, err := pgx.ForEachRow(rows, []any{&t.id, &t.partition, &slot, &t.session, &atMost, &t.owner}, func() error {
		t.slot, t.atMost = string(slot), time.Duration(atMost)
		v.turns = append(v.turns, t)
		return nil
	})
	return err
}

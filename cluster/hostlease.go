package cluster

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// hostLease lets a session send a request of a callback (Fetch) to a slot that another session owns. The owner grants
// it, and holds the slot until the lease is ended, but not longer than the request may take.
type hostLease struct {
	id int64 // random
	slotLocation
	slot    string
	session int64
	atMost  time.Duration
	owner   int64 // the session that has granted it; 0: it waits
}

// hostLeases are those of a cache. The mutex of the cache guards the maps.
type hostLeases struct {
	waitingLeases  map[int64]*waitingLease // its own that wait
	heldLeases     map[int64]*heldLease    // those of other sessions, until they are ended
	fetching       map[int]int             // by partition of its own: requests of callbacks, which Next has not handed out
	leaseRequested chan struct{}           // has room for one: a lease was requested
}

// waitingLease is a lease that this session waits for.
type waitingLease struct {
	granted chan struct{} // closed when it is granted
	own     map[int]int   // nil unless the cache owns the partition: the request counts here
}

// heldLease is a lease of another session.
type heldLease struct {
	partition int
	cancel    context.CancelFunc // ends the wait for the slot, or releases it
	over      bool               // its time is over, or the slot was released
}

func newHostLeases() hostLeases {
	return hostLeases{waitingLeases: make(map[int64]*waitingLease), heldLeases: make(map[int64]*heldLease), fetching: make(map[int]int), leaseRequested: make(chan struct{}, 1)}
}

// LeaseHost is described at [tegenaria.SharedCache].
func (c *Cache) LeaseHost(ctx context.Context, slot string, atMost time.Duration) (done func(), err error) {
	for {
		t := hostLease{slot: slot, atMost: atMost, id: rand.Int64(), slotLocation: slotLocation{server: c.ownServer}}
		w := &waitingLease{granted: make(chan struct{})}
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
		} else if t.slotLocation = at; at.server == c.ownServer {
			c.waitingLeases[t.id] = w
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
		if err := c.awaitLease(ctx, &t, w.granted); err != nil {
			c.endLease(&t, w)
			return nil, err
		}
		if c.MayStart() {
			return func() { c.endLease(&t, w) }, nil
		}
		c.endLease(&t, w) // it may be another's before this one may start
		pause := time.NewTimer(longestPoll)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// count counts a request to a partition that the cache owns. Called with mu held.
func (w *waitingLease) count(partition, by int) {
	if w.own != nil {
		w.own[partition] += by
	}
}

// awaitLease requests a lease, and waits until it is granted.
func (c *Cache) awaitLease(ctx context.Context, t *hostLease, granted chan struct{}) error {
	if t.server != c.ownServer {
		return c.requestRemoteLease(ctx, t)
	}
	if err := c.acquireStore(ctx); err != nil {
		return err
	}
	err := c.store.requestLease(ctx, t)
	c.releaseStore()
	if err != nil {
		return c.failed(err)
	}
	select {
	case c.leaseRequested <- struct{}{}:
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

// endLease tells the owner that a request is over. The caller does not wait for that.
func (c *Cache) endLease(t *hostLease, w *waitingLease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waitingLeases, t.id)
	w.count(t.partition, -1)
	if c.closed {
		return
	}
	c.writes.Go(func() {
		if t.server != c.ownServer {
			_ = c.remotes[t.server].endLease(c.alive, t.id) // otherwise it ends with its time
			return
		}
		if c.acquireStore(c.alive) != nil {
			return
		}
		defer c.releaseStore()
		_ = c.failed(c.store.endLease(c.alive, t.id)) // of an error the next call will know
	})
}

// updateLeases grants leases to others and notes which of its own are granted. It reports whether any lease waits or is
// held, so that the next poll comes soon.
func (m *membership) updateLeases(ctx context.Context, v *view) (some bool) {
	c := m.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	there := make(map[int64]bool)
	for _, t := range v.leases {
		there[t.id] = true
		owner := v.owners[t.partition]
		switch w := c.waitingLeases[t.id]; {
		case w != nil && (t.owner == owner && owner != 0 || c.owned[t.partition]):
			if c.owned[t.partition] {
				w.own = c.fetching
			}
			w.count(t.partition, 1)
			close(w.granted)
			delete(c.waitingLeases, t.id)
		case t.session != c.session && c.owned[t.partition] && !c.leaving[t.partition] && c.heldLeases[t.id] == nil:
			ctx, cancel := context.WithCancel(ctx)
			held := &heldLease{partition: t.partition, cancel: cancel}
			c.heldLeases[t.id] = held
			m.goroutines.Go(func() { m.holdSlot(ctx, t, held) })
		}
	}
	for id, held := range c.heldLeases {
		if !there[id] {
			held.cancel()
			if held.over {
				delete(c.heldLeases, id)
			}
		}
	}
	return len(c.waitingLeases)+len(c.heldLeases) > 0
}

// holdSlot waits until a slot is free, grants the lease, and releases the slot when the lease is ended.
func (m *membership) holdSlot(ctx context.Context, t hostLease, held *heldLease) {
	c := m.cache
	defer func() {
		held.cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		held.over = true
	}()
	done, err := m.run.Hold(ctx, t.slot)
	if err != nil {
		return
	}
	defer sync.OnceFunc(done)()
	ctx, cancel := context.WithTimeout(ctx, t.atMost+c.ttl/4)
	defer cancel()
	if c.acquireStore(ctx) != nil {
		return
	}
	err = c.store.grantLease(ctx, t.id)
	c.releaseStore()
	if c.failed(err) == nil {
		<-ctx.Done()
	}
}

// isLeased reports whether a request of a callback is in flight in a partition of its own, also one of another session.
// Called with mu held.
func (t *hostLeases) isLeased(partition int) bool {
	if t.fetching[partition] > 0 {
		return true
	}
	for _, held := range t.heldLeases {
		if held.partition == partition && !held.over {
			return true
		}
	}
	return false
}

func (s *server) requestLease(ctx context.Context, t *hostLease) error {
	return s.execute(ctx, `INSERT INTO host_lease VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT DO NOTHING`, t.id, t.partition, []byte(t.slot), t.session, int64(t.atMost))
}

func (s *server) grantLease(ctx context.Context, id int64) error {
	return s.execute(ctx, `UPDATE host_lease SET owner = $2 WHERE id = $1`, id, s.session)
}

func (s *server) endLease(ctx context.Context, id int64) error {
	return s.execute(ctx, `DELETE FROM host_lease WHERE id = $1`, id)
}

// execute executes a statement that may be executed twice.
func (s *server) execute(ctx context.Context, sql string, args ...any) error {
	return s.patiently(ctx, "writing", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql, args...)
		return err
	})
}

// leaseCounts is the condition that a lease t is in use: its session has not ended. Of a session of another server that
// is not known: its lease counts until a time.
const leaseCounts = `(EXISTS (SELECT FROM worker AS w WHERE w.session = t.session AND NOT w.expired) OR t.until > clock_timestamp())`

// readLeases reads the leases of all sessions that have not ended.
func (v *view) readLeases(rows pgx.Rows) error {
	var t hostLease
	var slot []byte
	var atMost int64
	_, err := pgx.ForEachRow(rows, []any{&t.id, &t.partition, &slot, &t.session, &atMost, &t.owner}, func() error {
		t.slot, t.atMost = string(slot), time.Duration(atMost)
		v.leases = append(v.leases, t)
		return nil
	})
	return err
}

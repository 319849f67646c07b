package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria"
)

// abroad is another server of the job. Its methods may be called concurrently. Each does all that it says or nothing, waits while the server
// is away, and says so with an [*Error] when it has waited long enough.
type abroad interface {
	// receive puts the letters of a parcel into the inboxes there, once, however often it is called.
	receive(ctx context.Context, p *parcel) error
	// stand reads how the job is doing there.
	stand(ctx context.Context) (*stand, error)
	// counts returns what the workers there have done, and what waits there.
	counts(ctx context.Context) (tegenaria.JobCounts, error)
	// bury ends a session there, unless it has beaten since it was read.
	bury(ctx context.Context, o *session) error
	// stop stores that the job was stopped, unless it was before.
	stop(ctx context.Context, reason string) error
	// askTurn stores a turn, or that it is still waited for, and reports whether it is granted, and whether there is a worker who might.
	askTurn(ctx context.Context, t *turn) (granted, attended bool, err error)
	endTurn(ctx context.Context, id int64) error
	// tell says which sessions there are on another server, so that the turns of those that are over end; and the first server how much waits there.
	tell(ctx context.Context, from int, r *roll) error
	close(ctx context.Context) error
}

// parcel is letters from one server to another. They lie in the outbox of the first one until they have arrived.
type parcel struct {
	from, to int
	number   int64 // the parcels from a server to another one are numbered without a gap
	letters  []letter
}

// stand is how the job is doing on a server. One statement reads it, so that it has been so at one moment.
type stand struct {
	started, paused, over bool
	stopped               string
	allowed               []byte
	sessions              []session // read by another statement

	idle    bool // nothing waits, is delayed or in flight, and no letter lies there
	reached bool // the server's part of Limits.Pages is used up
	empty   bool // no letter for another server lies there
	asked   bool // a worker of another server waits for a turn
	read    int64
	changes changes
}

// changes is different after each change of what is left to do on a server.
type changes struct{ sessions, batches, received int64 }

// done reports whether nothing is left to do there, unless a letter comes.
func (s *stand) done() bool { return s.empty && (s.idle || s.reached) }

// roll is what the worker's server says of itself.
type roll struct {
	open   int64   // requests that wait or are in flight there, and letters
	living []int64 // sessions
	upTo   int64   // the newest of all that there have been
	ended  bool    // the job is finished, or was stopped
}

// leads reports whether the session connects its server with the others: the oldest does. Two may take themselves for it for a moment, which does
// no harm.
func (r *roll) leads(session int64) bool {
	return r != nil && len(r.living) > 0 && slices.Min(r.living) == session
}

// travel starts what connects the server of the worker with the others, while the worker leads.
func (h *share) travel(ctx context.Context) {
	c := h.cache
	for to := range c.abroad {
		if to != c.home {
			v := &visits{to: to}
			h.sharing.Go(func() { h.repeat(ctx, func() (bool, error) { return h.visit(ctx, v) }) })
		}
	}
	if c.home == 0 && c.servers > 1 {
		var before []*stand
		h.sharing.Go(func() {
			h.repeat(ctx, func() (again bool, err error) {
				before, err = h.conclude(ctx, before)
				return false, err
			})
		})
	}
}

// repeat does something again and again while the worker leads. A server that is away is tried again.
func (h *share) repeat(ctx context.Context, do func() (again bool, err error)) {
	c := h.cache
	tick := time.NewTicker(pauseOf(c.ttl))
	defer tick.Stop()
	for {
		again := false
		if h.roll.Load().leads(c.session) {
			var err error
			var failure *Error
			again, err = do()
			if err != nil && ctx.Err() == nil && !(errors.As(err, &failure) && failure.Away > 0) {
				h.run.Lose(c.failed(err))
				return
			}
		}
		if again {
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// visits are those to another server.
type visits struct {
	to      int
	watches watches   // of the sessions there
	lonely  time.Time // since when there has been none, as far as is known
}

// visit carries letters to another server, buries the sessions there that have died, in case that nobody else does, and brings back what the first server
// says of the job. It reports whether there are more letters.
func (h *share) visit(ctx context.Context, v *visits) (again bool, err error) {
	c, to, there := h.cache, v.to, h.cache.abroad[v.to]
	p, err := withTurn(ctx, c, func() (*parcel, error) { return c.store.pack(ctx, to) })
	if err == nil && p != nil {
		if err = there.receive(ctx, p); err == nil {
			_, err = withTurn(ctx, c, func() (struct{}, error) { return struct{}{}, c.store.arrived(ctx, p) })
		}
	}
	if err != nil {
		return false, err
	}
	r, sent := h.roll.Load(), time.Now()
	s, err := there.stand(ctx)
	if err == nil {
		err = there.tell(ctx, c.home, r)
	}
	if err != nil {
		v.lonely = time.Time{}
		return false, err
	}
	if err := v.watches.bury(s.sessions, sent, time.Now(), func(o *session) error { return there.bury(ctx, o) }); err != nil {
		return false, err
	}
	if _, err = withTurn(ctx, c, func() (struct{}, error) { return struct{}{}, c.store.follow(ctx, to, s) }); err == nil {
		err = h.help(ctx, v, s)
	}
	return p != nil && len(p.letters) == mostLetters, err
}

// help has the worker go to another server on which there is something to do, and has been nobody for a TTL, if its own can spare it: others
// work there, or nothing is left to do.
func (h *share) help(ctx context.Context, v *visits, there *stand) error {
	c, r := h.cache, h.roll.Load()
	ended := r.ended || v.to == 0 && (there.over || there.stopped != "")
	switch {
	case len(there.sessions) > 0, ended, there.done() && !there.asked && v.to > 0: // the end is found out on the first
		v.lonely = time.Time{}
		return nil
	case v.lonely.IsZero():
		v.lonely = time.Now()
		return nil
	case time.Since(v.lonely) < c.ttl:
		return nil
	}
	here, err := withTurn(ctx, c, func() (*stand, error) { return c.store.stand(ctx) })
	if err != nil || len(r.living) == 1 && !here.done() {
		return err
	}
	move := func() (bool, error) { return c.store.moveTo(ctx, v.to) }
	moved := false
	if c.home == 0 {
		moved, err = withTurn(ctx, c, move)
	} else { // nothing here waits for the first server
		moved, err = move()
	}
	if moved {
		h.run.Stop(movedAway)
	}
	return err
}

// movedAway is why a run ends whose worker is to work on another server.
const movedAway = "moved to another server"

// withTurn does something with the turn.
func withTurn[T any](ctx context.Context, c *Cache, do func() (T, error)) (result T, err error) {
	if err := c.take(ctx); err != nil {
		return result, err
	}
	defer c.give()
	return do()
}

// conclude finds out that nothing is left to do on any server. It compares what it has read before with what it reads now.
func (h *share) conclude(ctx context.Context, before []*stand) (now []*stand, err error) {
	c := h.cache
	for server := range c.servers {
		var s *stand
		if server == 0 {
			s, err = withTurn(ctx, c, func() (*stand, error) { return c.store.stand(ctx) })
		} else {
			s, err = c.abroad[server].stand(ctx)
		}
		if err != nil {
			return nil, err
		}
		now = append(now, s)
	}
	if first := now[0]; !first.started || first.over || first.stopped != "" || !nothingLeft(before, now) {
		return now, nil
	}
	read, reason := int64(0), ""
	for _, s := range now {
		if read += s.read; s.reached {
			reason = pagesReached
		}
	}
	_, err = withTurn(ctx, c, func() (struct{}, error) { return struct{}{}, c.store.conclude(ctx, read, reason) })
	return now, err
}

// nothingLeft reports whether nothing is left to do on any server, by two readings of all. If each was done in both, and has not changed in
// between, all of them were done at the moment between the two readings. No letter was on its way then, since a letter lies in an outbox
// until it lies in an inbox.
func nothingLeft(before, now []*stand) bool {
	return slices.EqualFunc(before, now, func(b, n *stand) bool { return b.done() && n.done() && b.changes == n.changes })
}

// pagesReached is why Limits.Pages stops a job.
const pagesReached = "limit: pages"

// askAbroad asks for a turn on another server, until it is granted.
func (c *Cache) askAbroad(ctx context.Context, t *turn) error {
	pause := time.NewTicker(longestLook / 4)
	defer pause.Stop()
	seen := time.Now() // when a worker was there last
	for {
		granted, attended, err := c.abroad[t.server].askTurn(ctx, t)
		if err != nil || granted {
			return err
		}
		if attended {
			seen = time.Now()
		} else if time.Since(seen) > 2*movedFor*c.ttl {
			alone := &AloneError{Job: c.job, Server: t.server, Slot: t.slot}
			c.sharedRun().Lose(alone) // so that the page is not settled for that
			return alone
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.alive.Done():
			return errClosed
		}
	}
}

// spread tells the first server that this worker has stopped the job.
func (c *Cache) spread(reason string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.alive), longestClose)
	defer cancel()
	_ = c.abroad[0].stop(ctx, reason) // if it is away, its workers go on, and whoever begins here is stopped at once, and spreads it again
}

// watches are those of the sessions of a server, by number.
type watches map[int64]*watch

// bury buries the sessions that have died. It forgets those that are not there any more.
func (w *watches) bury(sessions []session, sent, answered time.Time, bury func(o *session) error) error {
	seen := make(watches)
	for _, o := range sessions {
		s := (*w)[o.number]
		if s == nil {
			s = new(watch)
		}
		if seen[o.number] = s; s.look(&o, sent, answered) {
			if err := bury(&o); err != nil {
				return err
			}
		}
	}
	*w = seen
	return nil
}

package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria"
)

// remoteServer is another server of the job. Its methods may be called concurrently. Each does all that it says or
// nothing, waits while the server is away, and says so with an [*Error] when it has waited long enough.
type remoteServer interface {
	// receive puts the messages of an outbox batch into the inboxes there, once, however often it is called.
	receive(ctx context.Context, p *outboxBatch) error
	// status reads how the job is doing there.
	status(ctx context.Context) (*serverStatus, error)
	// counts returns what the workers there have done, and what waits there.
	counts(ctx context.Context) (tegenaria.JobCounts, error)
	// expire ends a session there, unless a heartbeat has come since it was read.
	expire(ctx context.Context, o *session) error
	// stop stores that the job was stopped, unless it was before.
	stop(ctx context.Context, reason string) error
	// requestLease stores a host lease, or that it is still waited for, and reports whether it is granted, and whether
	// there is a worker who might grant it.
	requestLease(ctx context.Context, t *hostLease) (granted, attended bool, err error)
	endLease(ctx context.Context, id int64) error
	// report says which sessions there are on another server, so that the leases of those that have ended end too, and
	// tells the first server how much waits there.
	report(ctx context.Context, from int, r *serverReport) error
	close(ctx context.Context) error
}

// outboxBatch is messages from one server to another. They stay in the outbox of the first one until they have arrived.
type outboxBatch struct {
	from, to int
	number   int64 // the batches from one server to another are numbered without a gap
	messages []message
}

// serverStatus is how the job is doing on a server. One statement reads it, so that it has been so at one moment.
type serverStatus struct {
	started, paused, over bool
	stopped               string
	allowed               []byte
	sessions              []session // read by another statement

	idle           bool // nothing waits, is delayed or in flight, and no inbox has a message
	reached        bool // the server's part of Limits.Pages is used up
	empty          bool // the outbox has no message for another server
	leaseRequested bool // a worker of another server waits for a host lease
	read           int64
	changes        changes
}

// changes is different after each change of what is left to do on a server.
type changes struct{ sessions, batches, received int64 }

// done reports whether nothing is left to do there, unless a message comes.
func (s *serverStatus) done() bool { return s.empty && (s.idle || s.reached) }

// serverReport is what a server says of itself to the others.
type serverReport struct {
	unfinished    int64   // requests that wait or are in flight there, and messages
	sessions      []int64 // that have not ended
	newestSession int64   // of all that there have been
	ended         bool    // the job is finished, or was stopped
}

// leads reports whether the session connects its server with the others: the oldest does. For a moment two sessions may
// take themselves for the oldest, which does no harm.
func (r *serverReport) leads(session int64) bool {
	return r != nil && len(r.sessions) > 0 && slices.Min(r.sessions) == session
}

// connectServers starts what connects the server of the worker with the others, while the worker leads.
func (m *membership) connectServers(ctx context.Context) {
	c := m.cache
	for to := range c.remotes {
		if to != c.ownServer {
			state := &relayState{to: to}
			m.goroutines.Go(func() { m.whileLeader(ctx, func() (bool, error) { return m.relay(ctx, state) }) })
		}
	}
	if c.ownServer == 0 && c.servers > 1 {
		var before []*serverStatus
		m.goroutines.Go(func() {
			m.whileLeader(ctx, func() (again bool, err error) {
				before, err = m.conclude(ctx, before)
				return false, err
			})
		})
	}
}

// whileLeader does something again and again while the worker leads. A server that is away is tried again.
func (m *membership) whileLeader(ctx context.Context, do func() (again bool, err error)) {
	c := m.cache
	tick := time.NewTicker(pauseOf(c.ttl))
	defer tick.Stop()
	for {
		again := false
		if m.report.Load().leads(c.session) {
			var err error
			var failure *Error
			again, err = do()
			if err != nil && ctx.Err() == nil && !(errors.As(err, &failure) && failure.Away > 0) {
				m.run.Lose(c.failed(err))
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

// relayState is what the relay to another server remembers.
type relayState struct {
	to              int
	watches         watches   // of the sessions there
	unattendedSince time.Time // since when there has been no session, as far as is known
}

// relay carries messages to another server, expires the sessions there that have died, in case that nobody else does,
// and stores here what the first server says of the job. It reports whether there are more messages.
func (m *membership) relay(ctx context.Context, state *relayState) (again bool, err error) {
	c, to, there := m.cache, state.to, m.cache.remotes[state.to]
	p, err := withStore(ctx, c, func() (*outboxBatch, error) { return c.store.nextOutboxBatch(ctx, to) })
	if err == nil && p != nil {
		if err = there.receive(ctx, p); err == nil {
			_, err = withStore(ctx, c, func() (struct{}, error) { return struct{}{}, c.store.confirmOutboxBatch(ctx, p) })
		}
	}
	if err != nil {
		return false, err
	}
	r, sent := m.report.Load(), time.Now()
	s, err := there.status(ctx)
	if err == nil {
		err = there.report(ctx, c.ownServer, r)
	}
	if err != nil {
		state.unattendedSince = time.Time{}
		return false, err
	}
	if err := state.watches.expire(s.sessions, sent, time.Now(), func(o *session) error { return there.expire(ctx, o) }); err != nil {
		return false, err
	}
	if _, err = withStore(ctx, c, func() (struct{}, error) { return struct{}{}, c.store.follow(ctx, to, s) }); err == nil {
		err = m.moveIfNeeded(ctx, state, s)
	}
	return p != nil && len(p.messages) == mostMessages, err
}

// moveIfNeeded moves the worker to another server which has work and has had no worker for a TTL, if its own server can
// spare it: others work there, or nothing is left to do.
func (m *membership) moveIfNeeded(ctx context.Context, state *relayState, there *serverStatus) error {
	c, r := m.cache, m.report.Load()
	ended := r.ended || state.to == 0 && (there.over || there.stopped != "")
	switch {
	case len(there.sessions) > 0, ended, there.done() && !there.leaseRequested && state.to > 0: // the end is found out on the first
		state.unattendedSince = time.Time{}
		return nil
	case state.unattendedSince.IsZero():
		state.unattendedSince = time.Now()
		return nil
	case time.Since(state.unattendedSince) < c.ttl:
		return nil
	}
	here, err := withStore(ctx, c, func() (*serverStatus, error) { return c.store.status(ctx) })
	if err != nil || len(r.sessions) == 1 && !here.done() {
		return err
	}
	move := func() (bool, error) { return c.store.moveTo(ctx, state.to) }
	moved := false
	if c.ownServer == 0 {
		moved, err = withStore(ctx, c, move)
	} else { // nothing here waits for the first server
		moved, err = move()
	}
	if moved {
		m.run.Stop(movedAway)
	}
	return err
}

// movedAway is why a run ends whose worker is to work on another server.
const movedAway = "moved to another server"

// withStore does something with the store.
func withStore[T any](ctx context.Context, c *Cache, do func() (T, error)) (result T, err error) {
	if err := c.acquireStore(ctx); err != nil {
		return result, err
	}
	defer c.releaseStore()
	return do()
}

// conclude finds out that nothing is left to do on any server. It compares what it has read before with what it reads
// now.
func (m *membership) conclude(ctx context.Context, before []*serverStatus) (now []*serverStatus, err error) {
	c := m.cache
	for server := range c.servers {
		var s *serverStatus
		if server == 0 {
			s, err = withStore(ctx, c, func() (*serverStatus, error) { return c.store.status(ctx) })
		} else {
			s, err = c.remotes[server].status(ctx)
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
	_, err = withStore(ctx, c, func() (struct{}, error) { return struct{}{}, c.store.conclude(ctx, read, reason) })
	return now, err
}

// nothingLeft reports whether nothing is left to do on any server, by two readings of all. If each was done in both,
// and has not changed in between, all of them were done at the moment between the two readings. No message was on its
// way then, since a message stays in an outbox until it is in an inbox.
func nothingLeft(before, now []*serverStatus) bool {
	return slices.EqualFunc(before, now, func(b, n *serverStatus) bool { return b.done() && n.done() && b.changes == n.changes })
}

// pagesReached is why Limits.Pages stops a job.
const pagesReached = "limit: pages"

// requestRemoteLease requests a host lease on another server, until it is granted.
func (c *Cache) requestRemoteLease(ctx context.Context, t *hostLease) error {
	pause := time.NewTicker(longestPoll / 4)
	defer pause.Stop()
	seen := time.Now() // when a worker was there last
	for {
		granted, attended, err := c.remotes[t.server].requestLease(ctx, t)
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

// stopFirstServer tells the first server that this worker has stopped the job.
func (c *Cache) stopFirstServer(reason string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.alive), longestClose)
	defer cancel()
	_ = c.remotes[0].stop(ctx, reason) // if it is away, its workers go on, and whoever begins here is stopped at once, and tells it again
}

// watches are those of the sessions of a server, by number.
type watches map[int64]*watch

// expire expires the sessions that have died. It forgets those that are not there any more.
func (w *watches) expire(sessions []session, sent, answered time.Time, expire func(o *session) error) error {
	seen := make(watches)
	for _, o := range sessions {
		s := (*w)[o.number]
		if s == nil {
			s = new(watch)
		}
		if seen[o.number] = s; s.observe(&o, sent, answered) {
			if err := expire(&o); err != nil {
				return err
			}
		}
	}
	*w = seen
	return nil
}

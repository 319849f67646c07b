package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
)

// membership keeps a worker in step with the others of its job: it expires the sessions of workers that have died,
// takes the partitions that are assigned to the worker and releases those that are assigned to others, takes messages
// from its inboxes, and finds out that the job is finished.
type membership struct {
	cache      *Cache
	run        tegenaria.SharedRun
	cancel     context.CancelFunc
	goroutines sync.WaitGroup

	report atomic.Pointer[serverReport] // of the newest poll

	// Used by the goroutine that polls alone.
	watches       watches
	notices       notices
	allowed       []byte
	finished      bool
	leasesPending bool // somebody waits for a host lease
}

// startMembership begins to poll the job.
func startMembership(ctx context.Context, c *Cache, run tegenaria.SharedRun) *membership {
	m := &membership{cache: c, run: run}
	ctx, m.cancel = context.WithCancel(ctx)
	m.goroutines.Go(func() { m.pollLoop(ctx) })
	m.connectServers(ctx)
	return m
}

// end ends the polling.
func (m *membership) end() {
	if m != nil {
		m.cancel()
		m.goroutines.Wait()
	}
}

// pollLoop polls the job until ctx ends, or the database can be used no more.
func (m *membership) pollLoop(ctx context.Context) {
	tick := time.NewTicker(pauseOf(m.cache.ttl))
	defer tick.Stop()
	hurry := time.NewTimer(0)
	defer hurry.Stop()
	for {
		tell, again, err := m.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			m.run.Lose(m.cache.failed(err))
			return
		}
		for _, f := range tell { // without the store: they call the code of users
			f()
		}
		if again {
			continue
		}
		if m.leasesPending {
			hurry.Reset(shortestPoll)
		}
		select {
		case <-tick.C:
		case <-hurry.C:
		case <-m.cache.leaseRequested:
		case <-ctx.Done():
			return
		}
	}
}

// shortestPoll is the time between two polls while somebody waits for a host lease.
const shortestPoll = 20 * time.Millisecond

// poll reads the state of the job once, and does what there is to do. It returns what the run is to be told, and
// whether more messages wait or more partitions may be free.
func (m *membership) poll(ctx context.Context) (tell []func(), again bool, err error) {
	c := m.cache
	if err := c.acquireStore(ctx); err != nil {
		return nil, false, err
	}
	defer c.releaseStore()
	sent := time.Now()
	v, err := c.store.view(ctx)
	if err == nil {
		tell = m.notices.members(m.run, v, m.watches)
		others := slices.DeleteFunc(slices.Clone(v.sessions), func(o session) bool { return o.number == c.session })
		err = m.watches.expire(others, sent, time.Now(), func(o *session) error { return c.store.expire(ctx, o) })
	}
	if err == nil && v.stopped == "" {
		err = m.rebalance(ctx, v)
	}
	if err != nil {
		return nil, false, err
	}
	m.report.Store(&serverReport{unfinished: v.open, sessions: v.numbers(), newestSession: v.newestSession, ended: v.finished || v.stopped != ""})
	if c.paused.Swap(v.paused) && !v.paused {
		tell = append(tell, m.run.Resume)
	}
	if v.stopped != "" {
		tell = append(tell, func() { m.run.Stop(v.stopped) })
	}
	drained := v.isDrained(c.session)
	if drained {
		tell = append(tell, func() { m.run.Stop("drained") })
	}
	c.mu.Lock()
	open := v.open + int64(c.open.more())
	c.mu.Unlock()
	m.run.Open(open)
	m.run.Share(len(v.sessions) + v.elsewhere)
	if !bytes.Equal(v.allowed, m.allowed) {
		m.allowed = v.allowed
		m.run.Allow(v.allowed)
	}
	owned, idle, urgent, stays := m.markLeaving(v)
	m.leasesPending = m.updateLeases(ctx, v)
	tell = append(tell, stays...)
	if urgent { // what was taken in is deleted before more is read, and the others see that this run has stopped the job
		if err := c.writeOne(ctx); err != nil {
			return nil, false, err
		}
	}
	records, verdicts, err := c.takeInbox(ctx, owned)
	if err != nil {
		return nil, false, err
	}
	if len(records) > 0 {
		tell = append(tell, func() { m.run.Arrive(records, verdicts) })
	}
	released, err := m.releasePartitions(ctx, v)
	tell = append(tell, released...)
	if err == nil && v.stopped == "" {
		err = m.reservePages(ctx, v, idle, &tell)
	}
	if err == nil && v.stopped == "" && v.hasFreePartition(c.session, owned) {
		var taken []func()
		taken, err = m.takePartitions(ctx, v)
		tell, again = append(tell, taken...), len(taken) > 0
	}
	if err != nil {
		return nil, false, err
	}
	tell = append(tell, m.moves(v)...)
	if c.ownServer == 0 && !v.started && !v.finished && !drained && v.stopped == "" && v.owners[0] == c.session {
		tell = append(tell, m.run.Start)
	}
	if v.finished || v.started && idle && len(records) == 0 {
		err = m.finish(ctx, v.finished, &tell)
	}
	return tell, again || len(records) == mostMessages, err
}

// view is what a worker sees of a job.
type view struct {
	newestSession     int64     // of all that there have been
	sessions          []session // which are not over, the own one among them
	owners, wanted    []int64   // sessions, by partition; 0: none
	started, finished bool
	paused            bool
	stopped           string // why the job was stopped, "": it was not
	leases            []hostLease
	elsewhere         int    // workers on other servers
	open              int64  // requests that wait or are in flight, and messages
	allowed           []byte // what is stored of the loopback addresses
}

// view reads how the job is doing.
func (s *server) view(ctx context.Context) (v *view, err error) {
	err = s.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error {
		v = new(view)
		return v.read(ctx, conn)
	})
	return v, err
}

// read reads it over a connection or in a transaction.
func (v *view) read(ctx context.Context, q interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}) error {
	var batch pgx.Batch
	// The newest session is read before those that live: one that is missing there, and not newer, is over.
	batch.Queue(`SELECT sessions, started, finished IS NOT NULL, coalesce(stopped, ''), paused,
		(SELECT coalesce(sum(queued + delayed + messages), 0)::bigint
			FROM worker) + (SELECT coalesce(sum(messages + open), 0)::bigint FROM peer),
		(SELECT coalesce(sum(workers), 0) FROM peer),
		(SELECT value FROM checkpoint WHERE worker = '' AND name = $1) FROM job`, []byte(loopbackCheckpoint)).
		QueryRow(func(row pgx.Row) error {
			return row.Scan(&v.newestSession, &v.started, &v.finished, &v.stopped, &v.paused, &v.open, &v.elsewhere, &v.allowed)
		})
	queueSessions(&batch, &v.sessions)
	batch.Queue(`SELECT coalesce(owner, 0), coalesce(wanted, 0) FROM partition ORDER BY number`).Query(func(rows pgx.Rows) error {
		var owner, wanted int64
		_, err := pgx.ForEachRow(rows, []any{&owner, &wanted}, func() error {
			v.owners, v.wanted = append(v.owners, owner), append(v.wanted, wanted)
			return nil
		})
		return err
	})
	batch.Queue(`SELECT id, partition, slot, session, at_most, owner FROM host_lease AS t WHERE ` + leaseCounts).Query(v.readLeases)
	return q.SendBatch(ctx, &batch).Close()
}

// queueSessions has a batch read the sessions that are not over.
func queueSessions(batch *pgx.Batch, sessions *[]session) {
	batch.Queue(`SELECT w.name, w.session, w.drained, b.number, b.ttl, b.lock FROM worker AS w
		JOIN heartbeat AS b ON b.session = w.session WHERE NOT w.expired`).Query(func(rows pgx.Rows) error {
		var o session
		var ttl int64
		_, err := pgx.ForEachRow(rows, []any{&o.worker, &o.number, &o.drained, &o.heartbeat, &ttl, &o.lock}, func() error {
			o.ttl = time.Duration(ttl)
			*sessions = append(*sessions, o)
			return nil
		})
		return err
	})
}

// numbers returns those of the sessions.
func (v *view) numbers() (numbers []int64) {
	for i := range v.sessions {
		numbers = append(numbers, v.sessions[i].number)
	}
	return numbers
}

// isDrained reports whether a session is to end.
func (v *view) isDrained(number int64) bool {
	return slices.ContainsFunc(v.sessions, func(o session) bool { return o.number == number && o.drained })
}

// assignment returns which session shall have each partition. One that is to end gets none, unless all are to end.
func (v *view) assignment() []int64 {
	takers := slices.DeleteFunc(v.numbers(), v.isDrained)
	if len(takers) == 0 {
		return v.wanted
	}
	return assign(v.wanted, takers)
}

// hasFreePartition reports whether a session is to take a partition: one that it has without knowing that, or one that
// is assigned to it and has no owner.
func (v *view) hasFreePartition(session int64, owned []int) bool {
	alive := v.numbers()
	for p, owner := range v.owners {
		if !slices.Contains(owned, p) && (owner == session || v.wanted[p] == session && !slices.Contains(alive, owner)) {
			return true
		}
	}
	return false
}

// rebalance assigns the partitions anew if sessions have joined or ended.
func (m *membership) rebalance(ctx context.Context, v *view) error {
	c := m.cache
	if !slices.Contains(v.numbers(), c.session) {
		return &FencedError{Job: c.job, Worker: c.worker}
	} else if slices.Equal(v.assignment(), v.wanted) {
		return nil
	}
	now, err := c.store.rebalance(ctx)
	if err == nil {
		v.owners, v.wanted = now.owners, now.wanted
	}
	return err
}

// rebalance divides the partitions among the sessions that there are, and returns what there is then.
func (s *server) rebalance(ctx context.Context) (v *view, err error) {
	err = s.patiently(ctx, "writing", func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT FROM job FOR UPDATE`); err != nil { // one worker at a time
				return err
			}
			v = new(view)
			err := v.read(ctx, tx)
			if err == nil {
				err = v.rebalance(ctx, tx)
			}
			return err
		})
	})
	return v, err
}

// rebalance divides the partitions among the sessions, and stores that. The caller has locked the job.
func (v *view) rebalance(ctx context.Context, tx pgx.Tx) error {
	result := v.assignment()
	if slices.Equal(result, v.wanted) {
		return nil
	}
	v.wanted = result
	_, err := tx.Exec(ctx, `UPDATE partition AS p SET wanted = n.session FROM unnest($1::bigint[]) WITH ORDINALITY AS n (session, number)
		WHERE p.number = n.number - 1 AND p.wanted IS DISTINCT FROM n.session`, result)
	return err
}

// markLeaving notes which partitions the cache has to release. It returns those that it has, whether nothing waits
// there nor is in flight, whether there is something to be written at once, and what the run is to be told of
// partitions that stay after all.
func (m *membership) markLeaving(v *view) (owned []int, idle, urgent bool, stay []func()) {
	c := m.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	stays := make(map[int]bool)
	for p := range c.owned {
		leaves := c.owned[p] && v.wanted[p] != c.session && (p > 0 || c.ownServer > 0 || v.started) // StartRequest ends where it began
		if c.leaving[p] && !leaves {
			stays[p] = true
		}
		c.leaving[p] = leaves
	}
	if len(stays) > 0 { // the run has seen their queues as empty ones
		var states []tegenaria.SlotState
		pending := int64(0)
		for _, s := range c.slots {
			if stays[s.partition] && s.count > 0 {
				states, pending = append(states, s.state()), pending+int64(s.count)
			}
		}
		stay = append(stay, func() { m.run.Give(pending, 0); m.run.Gain(states, 0) })
	}
	return c.ownedNumbers(), c.workbench.lists == 0 && c.flights == 0, len(c.open.takenIn) > 0 || c.open.stopped != "", stay
}

// releasePartitions releases the partitions that are assigned to others, once nothing of them is in flight. The caller
// holds the store.
func (m *membership) releasePartitions(ctx context.Context, v *view) (tell []func(), err error) {
	c := m.cache
	if !slices.Contains(c.leaving, true) { // only whoever holds the store changes it
		return nil, nil
	}
	c.mu.Lock()
	busy := make(map[int]bool)
	for _, s := range c.slots {
		if s.flights > 0 {
			busy[s.partition] = true
		}
	}
	for p := range c.leaving {
		busy[p] = busy[p] || c.isLeased(p)
	}
	pending, delayed, hosts := int64(0), int64(0), 0
	releases := make([]bool, len(c.owned))
	for p := range c.leaving {
		if releases[p] = c.leaving[p] && !busy[p]; releases[p] {
			c.owned[p], c.leaving[p] = false, false
			c.open.released = append(c.open.released, p)
		}
	}
	for _, s := range c.slots {
		if releases[s.partition] {
			pending, delayed = pending+int64(s.count), delayed+int64(s.delayed)
			if s.count+s.delayed > 0 {
				hosts++
			}
			c.dropSlot(s)
		}
	}
	c.idle = slices.DeleteFunc(c.idle, func(s *slot) bool { return releases[s.partition] })
	some := len(c.open.released) > 0
	c.mu.Unlock()
	if !some {
		return nil, nil
	}
	if err := c.writeOne(ctx); err != nil {
		return nil, err
	}
	m.notices.released.add(hosts, pending+delayed, "")
	return []func(){func() { m.run.Give(pending, delayed) }}, nil
}

// dropSlot forgets a slot whose partition is released. Called with mu held.
func (c *Cache) dropSlot(s *slot) {
	if s.delayed > 0 {
		if len(c.due.front) > 0 {
			c.workbench.drop(&c.due)
		}
		if c.due.count -= s.delayed; c.due.count == 0 {
			c.workbench.lists--
		}
	}
	if len(s.front) > 0 {
		c.workbench.drop(&s.list)
	}
	if s.count > 0 {
		c.workbench.lists--
	}
	s.count = 0 // so that whoever waits to read it finds nothing
	delete(c.slots, s.name)
	delete(c.byID, s.id)
}

// takePartitions takes some of the partitions that are assigned to the worker and have no owner. The caller holds the
// store.
func (m *membership) takePartitions(ctx context.Context, v *view) (tell []func(), err error) {
	c := m.cache
	c.mu.Lock()
	has := c.ownedNumbers()
	c.mu.Unlock()
	l, err := c.store.takePartitions(ctx, has)
	if err != nil || len(l.parts) == 0 {
		return nil, err
	}
	m.run.Gain(nil, 0)               // before somebody accepts a request for a slot of theirs, of which a former owner may have stored nothing
	if slices.Contains(l.parts, 0) { // from here on this worker stores them
		m.run.Allow(l.state.Checkpoints[loopbackCheckpoint])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.add(l)
	delayed := l.state.Delayed
	for _, s := range l.slots {
		if s.count+s.delayed > 0 {
			from := ""
			if owner := v.owners[s.partition]; owner != c.session {
				from = m.notices.names[owner]
			}
			m.notices.taken.add(1, int64(s.count+s.delayed), from)
		}
	}
	return []func(){func() { m.run.Gain(taken, delayed) }}, nil
}

func (s *server) takePartitions(ctx context.Context, has []int) (l *loaded, err error) {
	err = s.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error {
		l = newLoaded(s.session)
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			var session int64
			err := tx.QueryRow(ctx, `SELECT session FROM worker WHERE session = $1 AND NOT expired FOR UPDATE`, s.session).Scan(&session)
			if errors.Is(err, pgx.ErrNoRows) {
				return &FencedError{Job: s.job, Worker: s.worker}
			}
			if err != nil {
				return err
			}
			return l.takePartitions(ctx, tx, "", has)
		})
	})
	return l, err
}

// finish tells the run that nothing is left to do, if the database says so.
func (m *membership) finish(ctx context.Context, finished bool, tell *[]func()) error {
	if m.finished {
		return nil
	}
	over, read, err := m.cache.store.finished(ctx, finished)
	if m.finished = over; err == nil && over {
		*tell = append(*tell, func() { m.run.Finish(read) })
	}
	return err
}

// finished reports whether the job is finished, unless it is told so, and how many pages its runs have read.
func (s *server) finished(ctx context.Context, told bool) (over bool, read int64, err error) {
	err = s.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error {
		// One statement sees one state of the database. A request leaves its queue when it is settled, together with
		// its links.
		return conn.QueryRow(ctx, `SELECT $1 OR over IS NOT NULL OR servers = 1 AND started AND stopped IS NULL
			AND `+idle+`, coalesce(over, `+pagesRead+`) FROM job`, told).Scan(&over, &read)
	})
	return over, read, err
}

// Stopped is described at [tegenaria.SharedCache]. The next poll writes it.
func (c *Cache) Stopped(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.usable() == nil {
		c.open.stopped = cmp.Or(c.open.stopped, reason)
		c.open.size += changeCost
		c.soon()
		if c.ownServer > 0 {
			c.writes.Go(func() { c.stopFirstServer(reason) })
		}
	}
}

// Join is described at [tegenaria.SharedCache].
func (c *Cache) Join() {
	run := c.sharedRun()
	if first := int64(c.ownServer + c.servers); c.session > first { // a former owner may have asked any host just now
		run.Gain(nil, 0)
	}
	c.membership.Swap(startMembership(c.alive, c, run)).end()
}

// sharedRun returns the run that the cache was given, or one whose funcs do nothing.
func (c *Cache) sharedRun() tegenaria.SharedRun {
	if run := c.run.Load(); run != nil {
		return *run
	}
	nothing := func() {}
	return tegenaria.SharedRun{
		Resume: nothing, Halt: func(error) {}, Lose: func(error) {}, Start: nothing, Open: func(int64) {}, Share: func(int) {}, Allow: func([]byte) {}, Gain: func([]tegenaria.SlotState, int64) {},
		Give: func(int64, int64) {}, Arrive: func([]tegenaria.Record, []tegenaria.Verdict) {}, Finish: func(int64) {}, Stop: func(string) {},
		Log: func(bool, string, map[string]any) {},
	}
}

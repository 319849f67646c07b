package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
)

// model is what the tables of a job hold, in memory. A call under its mutex is what a transaction is in PostgreSQL.
type model struct {
	location
	mu sync.Mutex // guards the fields below

	sessions          int64
	over              bool
	reached           bool
	read              int64 // told by over
	outbox            map[int64]message
	sent, received    map[int]int64   // outbox batches, by server
	batched           map[int][]int64 // the messages of the outbox batch that is on its way, by server
	assignments       map[string]*modelAssignment
	workers           map[string]*modelWorker
	heartbeats        map[int64]*session // by session, as others read them
	owners, wanted    []int64            // by partition
	started, paused   bool
	finished, stopped string

	slots       map[int64]slot
	requests    map[tegenaria.Key]seenKey
	queue       map[queuePosition]modelRow // both lists of waiting requests
	inbox       map[messageID]message
	leases      map[int64]hostLease
	until       map[int64]time.Time // by number of a lease of another server
	lastMessage int64
	outcomes    map[int64]modelOutcome // by number of the request
	checkpoints map[[2]string][]byte   // by worker and name
	counters    map[[2]string]int64
	violations  []string
	resumed     int // how often the job went on after it was stopped, with the whole limit of pages
}

// modelWorker is the row of a worker.
type modelWorker struct {
	session, batch int64
	expired        bool
	pages          int64
	holds          bool
	drained        bool // it is to end
}

// modelRow is a request that waits.
type modelRow struct {
	entry
	partition int
}

// modelOutcome is how a request has ended.
type modelOutcome struct {
	key     tegenaria.Key
	url     string
	depth   int
	outcome tegenaria.Outcome
}

func newModel(at location) *model {
	partitions := at.partitionsHere()
	return &model{
		location: at, sessions: int64(at.ownServer), outbox: make(map[int64]message), until: make(map[int64]time.Time), sent: make(map[int]int64), received: make(map[int]int64), batched: make(map[int][]int64), assignments: make(map[string]*modelAssignment),
		workers: make(map[string]*modelWorker), heartbeats: make(map[int64]*session), owners: make([]int64, partitions), wanted: make([]int64, partitions),
		slots: make(map[int64]slot), requests: make(map[tegenaria.Key]seenKey), queue: make(map[queuePosition]modelRow), inbox: make(map[messageID]message), leases: make(map[int64]hostLease),
		outcomes: make(map[int64]modelOutcome), checkpoints: make(map[[2]string][]byte), counters: make(map[[2]string]int64),
	}
}

// String says how the workers are doing.
func (m *model) String() string {
	var b strings.Builder
	for name, w := range m.workers {
		fmt.Fprintf(&b, "%s %+v ", name, *w)
	}
	return b.String()
}

// leaseCounts reports whether a lease may be in use.
func (m *model) leaseCounts(t *hostLease) bool {
	return m.alive(t.session) || m.until[t.id].After(time.Now())
}

// alive reports whether a session is not expired.
func (m *model) alive(session int64) bool {
	for _, w := range m.workers {
		if w.session == session {
			return !w.expired
		}
	}
	return false
}

func (m *model) view() *view {
	v := &view{
		newestSession: m.sessions,
		owners:        slices.Clone(m.owners), wanted: slices.Clone(m.wanted), started: m.started, finished: m.finished != "", paused: m.paused, stopped: m.stopped,
		open: int64(len(m.queue) + len(m.inbox)), allowed: m.checkpoints[[2]string{"", loopbackCheckpoint}],
	}
	for _, t := range m.leases {
		if m.leaseCounts(&t) {
			v.leases = append(v.leases, t)
		}
	}
	for name, w := range m.workers {
		if heartbeat := m.heartbeats[w.session]; heartbeat != nil && !w.expired {
			o := *heartbeat
			o.worker, o.drained = name, w.drained
			v.sessions = append(v.sessions, o)
		}
	}
	return v
}

func (m *model) rebalance() *view {
	v := m.view()
	v.wanted = v.assignment()
	m.wanted = slices.Clone(v.wanted)
	return v
}

// done reports whether nothing is left to do.
func (m *model) done() bool {
	return m.over || m.servers == 1 && m.started && m.stopped == "" && len(m.queue) == 0 && len(m.inbox) == 0
}

// isLeased reports whether another session sends a request to a slot of a partition, for which an owner has granted it
// a lease.
func (m *model) isLeased(partition int, session int64) bool {
	for _, t := range m.leases {
		if t.partition == partition && t.owner != 0 && t.session != session && m.leaseCounts(&t) {
			return true
		}
	}
	return false
}

// takePartitions has a session take some of what it is to have and nobody has, and of what it has without knowing that:
// at most so many partitions.
func (m *model) takePartitions(session int64, worker string, has []int, most int) *loaded {
	l := newLoaded(session)
	for p := range m.owners {
		if len(l.parts) < most && !slices.Contains(has, p) && (m.owners[p] == session || m.wanted[p] == session && !m.alive(m.owners[p]) && !m.isLeased(p, session)) {
			m.owners[p] = session
			l.parts = append(l.parts, p)
		}
	}
	for id, s := range m.slots {
		if slices.Contains(l.parts, s.partition) {
			loaded := s
			l.slots[s.name], l.byID[id] = &loaded, &loaded
		}
	}
	for where, row := range m.queue {
		if !slices.Contains(l.parts, row.partition) {
			continue
		}
		s, of := l.byID[row.slot.id], &l.due
		if where.delayed {
			s.delayed++
			l.state.Delayed++
		} else {
			of = &s.list
		}
		if head := (order{rank: where.rank}); of.count == 0 || head.before(of.head) {
			of.head, of.cursor = head, head
		}
		of.count++
	}
	l.state.Checkpoints = make(map[string][]byte)
	for of, value := range m.checkpoints {
		if of[0] == worker || of[0] == "" {
			l.state.Checkpoints[of[1]] = value
		}
	}
	for of, n := range m.counters {
		if of[0] == worker {
			if l.state.Counters == nil {
				l.state.Counters = make(map[string]int64)
			}
			l.state.Counters[of[1]] = n
		}
	}
	return l
}

// modelStore is the store of a worker on a model, over its link.
type modelStore struct {
	*link
	model *model
	all   []*model // by server
	member
	lock    int32
	batches map[*batch]*modelBatch
}

var _ store = (*modelStore)(nil)

// call has the model do something, again if the answer is lost.
func (d *modelStore) call(ctx context.Context, doing string, do func(m *model) error) error {
	return d.through(ctx, doing, func() error {
		d.model.mu.Lock()
		defer d.model.mu.Unlock()
		return do(d.model)
	})
}

func (d *modelStore) fenced() error { return &FencedError{Job: d.job, Worker: d.worker} }

// namesake returns the session of another process that has the name of the worker.
func (d *modelStore) namesake(m *model) *session {
	w := m.workers[d.worker]
	if w == nil || w.expired || m.heartbeats[w.session] == nil || m.heartbeats[w.session].lock == d.lock {
		return nil
	}
	o := *m.heartbeats[w.session]
	o.worker = d.worker
	return &o
}

func (d *modelStore) begin(ctx context.Context, job tegenaria.Job, _ death) (l *loaded, sent time.Time, err error) {
	for {
		var o *session
		if err = d.resumeStoppedEverywhere(ctx); err != nil {
			return nil, sent, err
		}
		sent = time.Now()
		err = d.call(ctx, "opening", func(m *model) error {
			if o = d.namesake(m); o != nil {
				return nil
			}
			m.sessions += int64(m.servers)
			d.session = m.sessions
			if m.servers == 1 && m.stopped != "" && !slices.ContainsFunc(slices.Collect(maps.Values(m.heartbeats)), func(o *session) bool { return o.lock != d.lock }) {
				m.stopped = ""
				m.resumed++
				for _, w := range m.workers {
					w.pages = 0
				}
			}
			maps.DeleteFunc(m.heartbeats, func(_ int64, o *session) bool { return o.lock == d.lock })
			pages := int64(0)
			if before := m.workers[d.worker]; before != nil {
				pages = before.pages
			}
			m.workers[d.worker] = &modelWorker{session: d.session, pages: pages}
			m.heartbeats[d.session] = &session{number: d.session, ttl: d.ttl, lock: d.lock}
			for of, n := range maps.Clone(m.counters) {
				if w := m.workers[of[0]]; w == nil || w.expired {
					delete(m.counters, of)
					m.counters[[2]string{d.worker, of[1]}] += n
				}
			}
			if m.stopped == "" {
				m.rebalance()
			}
			l = m.takePartitions(d.session, d.worker, nil, d.partitionsAtOnce())
			l.paused, l.reserved = m.paused, pages
			l.state.Durable, l.state.Started, l.state.Finished, l.state.Reason = true, m.started, m.finished != "", m.finished
			return nil
		})
		if o == nil || err != nil {
			return l, sent, err
		}
		if err := d.expire(ctx, o); err != nil { // the process of that name has died: there is one at a time
			return nil, sent, err
		}
	}
}

// partitionsAtOnce picks how many partitions are taken at a time.
func (d *modelStore) partitionsAtOnce() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return 1 + d.random.IntN(3)
}

func (d *modelStore) endSession(ctx context.Context) error {
	return d.call(ctx, "closing", func(m *model) error {
		maps.DeleteFunc(m.heartbeats, func(number int64, o *session) bool {
			if o.lock != d.lock {
				return false
			}
			for _, w := range m.workers {
				if w.session == number {
					w.expired = true
				}
			}
			return true
		})
		return nil
	})
}

func (d *modelStore) close(context.Context) error { return nil }

func (d *modelStore) view(ctx context.Context) (v *view, err error) {
	err = d.call(ctx, "reading", func(m *model) error {
		v = m.view()
		return nil
	})
	return v, err
}

func (d *modelStore) counts(ctx context.Context) (n tegenaria.JobCounts, err error) {
	err = d.call(ctx, "reading", func(m *model) error {
		n = m.counts()
		return nil
	})
	return n, err
}

func (m *model) counts() tegenaria.JobCounts {
	n := tegenaria.JobCounts{Programs: len(m.heartbeats), Waiting: int64(len(m.queue) + len(m.inbox) + len(m.outbox)), Counters: make(map[string]int64)}
	for of, value := range m.counters {
		n.Counters[of[1]] += value
	}
	return n
}

func (d *modelStore) expire(ctx context.Context, o *session) error {
	return d.call(ctx, "reading", func(m *model) error {
		m.expire(o)
		return nil
	})
}

// expire expires a session, unless a heartbeat has come since it was read.
func (m *model) expire(o *session) {
	if heartbeat := m.heartbeats[o.number]; heartbeat != nil && heartbeat.heartbeat == o.heartbeat {
		delete(m.heartbeats, o.number)
		m.workers[o.worker].expired = true
	}
}

func (d *modelStore) rebalance(ctx context.Context) (v *view, err error) {
	err = d.call(ctx, "writing", func(m *model) error {
		v = m.rebalance()
		return nil
	})
	return v, err
}

func (d *modelStore) takePartitions(ctx context.Context, has []int) (l *loaded, err error) {
	err = d.call(ctx, "reading", func(m *model) error {
		if !m.alive(d.session) {
			return d.fenced()
		}
		l = m.takePartitions(d.session, "", has, d.partitionsAtOnce())
		return nil
	})
	return l, err
}

func (d *modelStore) finished(ctx context.Context, told bool) (over bool, read int64, err error) {
	err = d.call(ctx, "reading", func(m *model) error {
		over, read = told || m.done(), 0
		for of, n := range m.counters {
			if of[1] == "read" {
				read += n
			}
		}
		if m.over {
			read = m.read
		}
		return nil
	})
	return over, read, err
}

func (d *modelStore) reservePages(ctx context.Context, limit, had, total int64, holds bool) (reserved int64, over bool, err error) {
	err = d.call(ctx, "writing", func(m *model) error {
		others, hold := int64(0), false
		for name, w := range m.workers {
			if name != d.worker {
				others, hold = others+w.pages, hold || w.holds && !w.expired
			}
		}
		if !m.alive(d.session) {
			return d.fenced()
		}
		w := m.workers[d.worker]
		w.pages = max(min(total, limit-others), 0)
		w.holds = holds || w.pages > had
		reserved, over = w.pages, others+w.pages >= limit && !w.holds && !hold
		m.reached = m.reached || over && m.servers > 1
		return nil
	})
	return reserved, over, err
}

func (d *modelStore) requestLease(ctx context.Context, t *hostLease) error {
	return d.call(ctx, "writing", func(m *model) error {
		if _, ok := m.leases[t.id]; !ok {
			m.leases[t.id] = *t
		}
		return nil
	})
}

func (d *modelStore) grantLease(ctx context.Context, id int64) error {
	return d.call(ctx, "writing", func(m *model) error {
		if t, ok := m.leases[id]; ok {
			t.owner = d.session
			m.leases[id] = t
		}
		return nil
	})
}

func (d *modelStore) endLease(ctx context.Context, id int64) error {
	return d.call(ctx, "writing", func(m *model) error {
		delete(m.leases, id)
		return nil
	})
}

func (d *modelStore) lookUp(ctx context.Context, keys [][]byte) (found map[tegenaria.Key]int, err error) {
	err = d.call(ctx, "reading", func(m *model) error {
		found = make(map[tegenaria.Key]int)
		for _, key := range keys {
			if s, ok := m.requests[tegenaria.Key(key)]; ok {
				found[tegenaria.Key(key)] = s.depth
			}
		}
		return nil
	})
	return found, err
}

func (d *modelStore) read(ctx context.Context, from order, id int64, most, bytes int, partitions []int) (r rows, err error) {
	err = d.call(ctx, "reading", func(m *model) error {
		r = rows{}
		var all []modelRow
		for where, row := range m.queue {
			if where.delayed == (id == 0) && (id == row.slot.id || id == 0 && slices.Contains(partitions, row.partition)) && !where.before(from) {
				all = append(all, row)
			}
		}
		slices.SortFunc(all, func(a, b modelRow) int { return a.compare(b.order) })
		size := 0
		for i := range all {
			if len(r.entries) == most || size > bytes {
				r.more, r.next = true, all[i].order
				break
			}
			e := all[i].entry
			e.depth = m.requests[e.key].depth
			r.entries = append(r.entries, &e)
			size += e.cost()
		}
		return nil
	})
	return r, err
}

func (d *modelStore) messages(ctx context.Context, partitions []int) (messages []message, err error) {
	err = d.call(ctx, "reading", func(m *model) error {
		messages = nil
		for _, l := range m.inbox {
			if slices.Contains(partitions, l.partition) {
				messages = append(messages, l)
			}
		}
		slices.SortFunc(messages, func(a, b message) int { return cmp.Compare(a.id, b.id) })
		messages = messages[:min(len(messages), mostMessages)]
		return nil
	})
	return messages, err
}

func (d *modelStore) deadLetters(context.Context, int64) ([]tegenaria.Settled, error) {
	return nil, nil
}

func (d *modelStore) heartbeatSender() heartbeatSender { return modelHeartbeats{d, d.session} }

// modelHeartbeats sends the heartbeats of the session of a modelStore.
type modelHeartbeats struct {
	*modelStore
	session int64
}

func (p modelHeartbeats) send(ctx context.Context) error {
	return p.call(ctx, "keeping", func(m *model) error {
		o := m.heartbeats[p.session]
		if o == nil {
			return p.fenced()
		}
		o.heartbeat++
		return nil
	})
}

func (p modelHeartbeats) close() {}

// modelBatch is what a batch changes, as it is when it is prepared.
type modelBatch struct {
	*batch
	rows     []modelRow
	slots    []slot
	messages []message
}

func (d *modelStore) prepare(b *batch) {
	p := &modelBatch{batch: b}
	for _, e := range b.inserts {
		row := modelRow{entry: *e, partition: e.slot.partition}
		row.slot, row.front, row.inFlight, row.settling, row.batch = &slot{id: e.slot.id}, false, false, false, nil
		p.rows = append(p.rows, row)
	}
	for s := range b.slots {
		row := *s
		row.list = list{most: s.most, quota: s.quota}
		row.flights, row.delayed, row.idle, row.stored = 0, 0, false, true
		p.slots = append(p.slots, row)
	}
	d.model.mu.Lock()
	defer d.model.mu.Unlock()
	for _, l := range b.messages { // a sequence counts before the commit, and batches are not committed in their order
		d.model.lastMessage++
		sent := *l
		sent.id, sent.Parent, sent.ParentSeq = d.model.lastMessage, tegenaria.Key{}, uint64(l.parent)
		p.messages = append(p.messages, sent)
	}
	d.batches[b] = p
}

func (d *modelStore) write(ctx context.Context, b *batch) error {
	p := d.batches[b]
	err := d.call(ctx, "writing", func(m *model) error {
		w := m.workers[d.worker]
		switch {
		case w == nil || w.session != d.session || w.expired:
			return d.fenced()
		case w.batch == b.number: // the answer was lost
			return nil
		case w.batch != b.number-1:
			return d.fenced()
		}
		w.batch = b.number
		m.write(d, p)
		return nil
	})
	if err == nil {
		delete(d.batches, b)
	}
	return err
}

// write applies a batch.
func (m *model) write(d *modelStore, b *modelBatch) {
	for key, s := range b.seen {
		if _, ok := m.requests[key]; !ok {
			m.requests[key] = s
		}
	}
	for key, depth := range b.lowered {
		if s, ok := m.requests[key]; ok {
			m.requests[key] = seenKey{s.seq, min(s.depth, depth)}
		}
	}
	for _, id := range b.gone {
		delete(m.slots, id)
	}
	for _, s := range b.slots {
		m.slots[s.id] = s
	}
	for _, where := range b.deletes {
		if _, ok := m.queue[where]; !ok {
			m.violations = append(m.violations, fmt.Sprintf("%s takes a request out of a queue where it is not: %+v", d.worker, where))
		}
		delete(m.queue, where)
	}
	for _, row := range b.rows {
		where := queuePosition{row.order, row.slot.id, row.delayed}
		if _, ok := m.queue[where]; ok {
			m.violations = append(m.violations, fmt.Sprintf("%s puts a request where another one is: %+v", d.worker, where))
		}
		m.queue[where] = row
	}
	for _, l := range b.messages {
		if l.server == m.ownServer {
			m.inbox[messageID{l.partition, l.id}] = l
		} else {
			m.outbox[l.id] = l
		}
	}
	for _, where := range b.takenIn {
		delete(m.inbox, where)
	}
	for _, p := range b.released {
		if m.owners[p] == d.session {
			m.owners[p] = 0
		}
	}
	for i := range b.settled {
		e := b.settled[i].entry
		if _, ok := m.outcomes[e.seq]; ok {
			m.violations = append(m.violations, fmt.Sprintf("%s settles %s once more", d.worker, urlOf(e)))
		}
		m.outcomes[e.seq] = modelOutcome{e.key, urlOf(e), e.depth, b.settled[i].how.Outcome}
	}
	for name, value := range b.checkpoints {
		worker := d.worker
		if name == loopbackCheckpoint {
			worker = ""
		}
		m.checkpoints[[2]string{worker, name}] = value
	}
	for _, name := range b.uncounted {
		delete(m.counters, [2]string{d.worker, name})
	}
	for name, n := range b.counters {
		m.counters[[2]string{d.worker, strings.Clone(name)}] = n
	}
	m.started = m.started || b.started
	m.finished = cmp.Or(b.finished, m.finished)
	m.stopped = cmp.Or(m.stopped, b.stopped)
}

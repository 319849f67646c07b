package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria"
)

// resumeStoppedEverywhere is that of a server.
func (d *modelStore) resumeStoppedEverywhere(ctx context.Context) error {
	if d.model.servers == 1 {
		return nil
	}
	alive, ended := false, false
	for _, m := range d.all {
		err := d.callThere(ctx, m, "opening", func(m *model) error {
			ended = ended || m.stopped != ""
			for _, o := range m.heartbeats {
				alive = alive || o.lock != d.lock
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if alive {
		why := ""
		err := d.call(ctx, "opening", func(m *model) error {
			why = m.stopped
			return nil
		})
		if err == nil && why != "" {
			err = modelRemote{d, d.all[0]}.stop(ctx, why)
		}
		return err
	}
	if !ended {
		return nil
	}
	for _, m := range d.all {
		err := d.callThere(ctx, m, "opening", func(m *model) error {
			for _, o := range m.heartbeats {
				if o.lock != d.lock {
					return nil
				}
			}
			m.stopped, m.reached = "", false
			m.resumed++
			for _, w := range m.workers {
				w.pages = 0
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// callThere is call of another model.
func (d *modelStore) callThere(ctx context.Context, there *model, doing string, do func(m *model) error) error {
	return d.call(ctx, doing, func(*model) error {
		if there != d.model { // otherwise call has locked it
			d.model.mu.Unlock()
			defer d.model.mu.Lock()
			there.mu.Lock()
			defer there.mu.Unlock()
		}
		return do(there)
	})
}

func (m *model) status() *serverStatus {
	s := &serverStatus{
		started: m.started, paused: m.paused, over: m.over, stopped: m.stopped, allowed: m.checkpoints[[2]string{"", loopbackCheckpoint}], sessions: m.view().sessions,
		idle: len(m.queue)+len(m.inbox) == 0, reached: m.reached, empty: len(m.outbox) == 0, changes: changes{sessions: m.sessions},
	}
	for id := range m.leases {
		s.leaseRequested = s.leaseRequested || m.until[id].After(time.Now())
	}
	for _, w := range m.workers {
		s.changes.batches += w.batch
	}
	for _, n := range m.received {
		s.changes.received += n
	}
	for of, n := range m.counters {
		if of[1] == "read" {
			s.read += n
		}
	}
	return s
}

func (d *modelStore) status(ctx context.Context) (s *serverStatus, err error) {
	return modelRemote{d, d.model}.status(ctx)
}

func (d *modelStore) nextOutboxBatch(ctx context.Context, to int) (p *outboxBatch, err error) {
	err = d.call(ctx, "writing", func(m *model) error {
		if len(m.batched[to]) == 0 {
			var ids []int64
			for id, l := range m.outbox {
				if l.server == to {
					ids = append(ids, id)
				}
			}
			slices.Sort(ids)
			if m.batched[to] = ids[:min(len(ids), mostMessages)]; len(ids) == 0 {
				p = nil
				return nil
			}
			m.sent[to]++
		}
		p = &outboxBatch{from: m.ownServer, to: to, number: m.sent[to]}
		for _, id := range m.batched[to] {
			p.messages = append(p.messages, m.outbox[id])
		}
		return nil
	})
	return p, err
}

func (d *modelStore) confirmOutboxBatch(ctx context.Context, p *outboxBatch) error {
	return d.call(ctx, "writing", func(m *model) error {
		if m.sent[p.to] == p.number && len(m.batched[p.to]) > 0 {
			m.batched[p.to] = nil
			for _, l := range p.messages {
				delete(m.outbox, l.id)
			}
		}
		return nil
	})
}

func (d *modelStore) follow(ctx context.Context, server int, first *serverStatus) error {
	return d.call(ctx, "writing", func(m *model) error {
		if server > 0 {
			return nil
		}
		m.started, m.paused, m.stopped = m.started || first.started, first.paused, cmp.Or(m.stopped, first.stopped)
		if first.over && !m.over {
			m.over, m.read = true, first.read
		}
		if first.allowed != nil {
			m.checkpoints[[2]string{"", loopbackCheckpoint}] = first.allowed
		}
		return nil
	})
}

func (d *modelStore) conclude(ctx context.Context, read int64, stopped string) error {
	return d.call(ctx, "writing", func(m *model) error {
		if stopped != "" {
			m.stopped = cmp.Or(m.stopped, stopped)
		} else {
			m.over, m.read = true, read
		}
		return nil
	})
}

// modelRemote is another server, over the link of a worker.
type modelRemote struct {
	store *modelStore
	there *model
}

var _ remoteServer = modelRemote{}

func (a modelRemote) receive(ctx context.Context, p *outboxBatch) error {
	return a.store.callThere(ctx, a.there, "writing", func(m *model) error {
		if m.received[p.from] != p.number-1 {
			return nil
		}
		m.received[p.from] = p.number
		for _, l := range p.messages {
			m.lastMessage++
			l.id = m.lastMessage
			m.inbox[messageID{l.partition, l.id}] = l
		}
		return nil
	})
}

func (a modelRemote) status(ctx context.Context) (s *serverStatus, err error) {
	err = a.store.callThere(ctx, a.there, "reading", func(m *model) error {
		s = m.status()
		return nil
	})
	return s, err
}

func (a modelRemote) counts(ctx context.Context) (n tegenaria.JobCounts, err error) {
	err = a.store.callThere(ctx, a.there, "reading", func(m *model) error {
		n = m.counts()
		return nil
	})
	return n, err
}

func (a modelRemote) expire(ctx context.Context, o *session) error {
	return a.store.callThere(ctx, a.there, "reading", func(m *model) error {
		m.expire(o)
		return nil
	})
}

func (a modelRemote) stop(ctx context.Context, reason string) error {
	return a.store.callThere(ctx, a.there, "writing", func(m *model) error {
		m.stopped = cmp.Or(m.stopped, reason)
		return nil
	})
}

func (a modelRemote) requestLease(ctx context.Context, t *hostLease) (granted, attended bool, err error) {
	err = a.store.callThere(ctx, a.there, "writing", func(m *model) error {
		if _, ok := m.leases[t.id]; !ok {
			m.leases[t.id] = *t
		}
		m.until[t.id] = time.Now().Add(t.atMost + 30*time.Second)
		owner := m.leases[t.id].owner
		granted, attended = owner != 0 && owner == m.owners[t.partition], len(m.heartbeats) > 0
		return nil
	})
	return granted, attended, err
}

func (a modelRemote) endLease(ctx context.Context, id int64) error {
	return a.store.callThere(ctx, a.there, "writing", func(m *model) error {
		delete(m.leases, id)
		return nil
	})
}

func (a modelRemote) report(ctx context.Context, from int, r *serverReport) error {
	return a.store.callThere(ctx, a.there, "writing", func(m *model) error {
		maps.DeleteFunc(m.leases, func(_ int64, t hostLease) bool {
			return t.session%int64(m.servers) == int64(from) && t.session <= r.newestSession && !slices.Contains(r.sessions, t.session)
		})
		return nil
	})
}

func (a modelRemote) close(context.Context) error { return nil }

// modelAssignment is where a worker works. The first model knows that of each.
type modelAssignment struct {
	server, before int // the checkpoints are before
	moved          time.Time
}

// modelOf returns the model on which a worker works, with its checkpoints.
func modelOf(models []*model, worker string) *model {
	first := models[0]
	first.mu.Lock()
	h := first.assignments[worker]
	if h == nil {
		workers := make([]int, len(models))
		for _, other := range first.assignments {
			workers[other.server]++
		}
		server := slices.Index(workers, slices.Min(workers))
		h = &modelAssignment{server: server, before: server}
		first.assignments[worker] = h
	}
	server, before := h.server, h.before
	first.mu.Unlock()
	if server != before {
		old, now := models[before], models[server]
		old.mu.Lock()
		if w := old.workers[worker]; w != nil {
			w.expired = true
			delete(old.heartbeats, w.session)
		}
		checkpoints := maps.Clone(old.checkpoints)
		old.mu.Unlock()
		now.mu.Lock()
		for of, value := range checkpoints {
			if of[0] == worker {
				now.checkpoints[of] = value
			}
		}
		now.mu.Unlock()
		first.mu.Lock()
		h.before = server
		first.mu.Unlock()
	}
	return models[server]
}

func (d *modelStore) moveTo(ctx context.Context, to int) (moved bool, err error) {
	doubt := false
	err = d.callThere(ctx, d.all[0], "writing", func(m *model) error {
		h := m.assignments[d.worker]
		if moved = doubt && h.server == to; moved {
			return nil
		}
		for _, other := range m.assignments {
			if other.server == to && time.Since(other.moved) < movedFor*d.ttl {
				return nil
			}
		}
		doubt, moved = true, true
		h.server, h.moved = to, time.Now()
		return nil
	})
	return moved, err
}

package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria"
)

// goOn is goOnEverywhere of a server.
func (d *door) goOn(ctx context.Context) error {
	if d.model.servers == 1 {
		return nil
	}
	alive, ended := false, false
	for _, m := range d.all {
		err := d.callThere(ctx, m, "opening", func(m *model) error {
			ended = ended || m.stopped != ""
			for _, o := range m.beats {
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
			err = modelAbroad{d, d.all[0]}.stop(ctx, why)
		}
		return err
	}
	if !ended {
		return nil
	}
	for _, m := range d.all {
		err := d.callThere(ctx, m, "opening", func(m *model) error {
			for _, o := range m.beats {
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
func (d *door) callThere(ctx context.Context, there *model, doing string, do func(m *model) error) error {
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

func (m *model) stand() *stand {
	s := &stand{
		started: m.started, paused: m.paused, over: m.over, stopped: m.stopped, allowed: m.checkpoints[[2]string{"", ofJob}], sessions: m.view().sessions,
		idle: len(m.queue)+len(m.inbox) == 0, reached: m.reached, empty: len(m.outbox) == 0, changes: changes{sessions: m.sessions},
	}
	for id := range m.turns {
		s.asked = s.asked || m.until[id].After(time.Now())
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

func (d *door) stand(ctx context.Context) (s *stand, err error) {
	return modelAbroad{d, d.model}.stand(ctx)
}

func (d *door) pack(ctx context.Context, to int) (p *parcel, err error) {
	err = d.call(ctx, "writing", func(m *model) error {
		if len(m.packed[to]) == 0 {
			var ids []int64
			for id, l := range m.outbox {
				if l.server == to {
					ids = append(ids, id)
				}
			}
			slices.Sort(ids)
			if m.packed[to] = ids[:min(len(ids), mostLetters)]; len(ids) == 0 {
				p = nil
				return nil
			}
			m.sent[to]++
		}
		p = &parcel{from: m.home, to: to, number: m.sent[to]}
		for _, id := range m.packed[to] {
			p.letters = append(p.letters, m.outbox[id])
		}
		return nil
	})
	return p, err
}

func (d *door) arrived(ctx context.Context, p *parcel) error {
	return d.call(ctx, "writing", func(m *model) error {
		if m.sent[p.to] == p.number && len(m.packed[p.to]) > 0 {
			m.packed[p.to] = nil
			for _, l := range p.letters {
				delete(m.outbox, l.id)
			}
		}
		return nil
	})
}

func (d *door) follow(ctx context.Context, server int, first *stand) error {
	return d.call(ctx, "writing", func(m *model) error {
		if server > 0 {
			return nil
		}
		m.started, m.paused, m.stopped = m.started || first.started, first.paused, cmp.Or(m.stopped, first.stopped)
		if first.over && !m.over {
			m.over, m.read = true, first.read
		}
		if first.allowed != nil {
			m.checkpoints[[2]string{"", ofJob}] = first.allowed
		}
		return nil
	})
}

func (d *door) conclude(ctx context.Context, read int64, stopped string) error {
	return d.call(ctx, "writing", func(m *model) error {
		if stopped != "" {
			m.stopped = cmp.Or(m.stopped, stopped)
		} else {
			m.over, m.read = true, read
		}
		return nil
	})
}

// modelAbroad is the way of a worker to another server.
type modelAbroad struct {
	door  *door
	there *model
}

var _ abroad = modelAbroad{}

func (a modelAbroad) receive(ctx context.Context, p *parcel) error {
	return a.door.callThere(ctx, a.there, "writing", func(m *model) error {
		if m.received[p.from] != p.number-1 {
			return nil
		}
		m.received[p.from] = p.number
		for _, l := range p.letters {
			m.lastLetter++
			l.id = m.lastLetter
			m.inbox[mark{l.partition, l.id}] = l
		}
		return nil
	})
}

func (a modelAbroad) stand(ctx context.Context) (s *stand, err error) {
	err = a.door.callThere(ctx, a.there, "reading", func(m *model) error {
		s = m.stand()
		return nil
	})
	return s, err
}

func (a modelAbroad) counts(ctx context.Context) (n tegenaria.JobCounts, err error) {
	err = a.door.callThere(ctx, a.there, "reading", func(m *model) error {
		n = m.counts()
		return nil
	})
	return n, err
}

func (a modelAbroad) bury(ctx context.Context, o *session) error {
	return a.door.callThere(ctx, a.there, "reading", func(m *model) error {
		m.bury(o)
		return nil
	})
}

func (a modelAbroad) stop(ctx context.Context, reason string) error {
	return a.door.callThere(ctx, a.there, "writing", func(m *model) error {
		m.stopped = cmp.Or(m.stopped, reason)
		return nil
	})
}

func (a modelAbroad) askTurn(ctx context.Context, t *turn) (granted, attended bool, err error) {
	err = a.door.callThere(ctx, a.there, "writing", func(m *model) error {
		if _, ok := m.turns[t.id]; !ok {
			m.turns[t.id] = *t
		}
		m.until[t.id] = time.Now().Add(t.atMost + 30*time.Second)
		owner := m.turns[t.id].owner
		granted, attended = owner != 0 && owner == m.owners[t.partition], len(m.beats) > 0
		return nil
	})
	return granted, attended, err
}

func (a modelAbroad) endTurn(ctx context.Context, id int64) error {
	return a.door.callThere(ctx, a.there, "writing", func(m *model) error {
		delete(m.turns, id)
		return nil
	})
}

func (a modelAbroad) tell(ctx context.Context, from int, r *roll) error {
	return a.door.callThere(ctx, a.there, "writing", func(m *model) error {
		maps.DeleteFunc(m.turns, func(_ int64, t turn) bool {
			return t.session%int64(m.servers) == int64(from) && t.session <= r.upTo && !slices.Contains(r.living, t.session)
		})
		return nil
	})
}

func (a modelAbroad) close(context.Context) error { return nil }

// modelHome is where a worker works. The first model knows that of each.
type modelHome struct {
	server, before int // the checkpoints are before
	moved          time.Time
}

// homeOf returns the model on which a worker works, with its checkpoints.
func homeOf(models []*model, worker string) *model {
	first := models[0]
	first.mu.Lock()
	h := first.homes[worker]
	if h == nil {
		workers := make([]int, len(models))
		for _, other := range first.homes {
			workers[other.server]++
		}
		server := slices.Index(workers, slices.Min(workers))
		h = &modelHome{server: server, before: server}
		first.homes[worker] = h
	}
	server, before := h.server, h.before
	first.mu.Unlock()
	if server != before {
		old, now := models[before], models[server]
		old.mu.Lock()
		if w := old.workers[worker]; w != nil {
			w.buried = true
			delete(old.beats, w.session)
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

func (d *door) moveTo(ctx context.Context, to int) (moved bool, err error) {
	doubt := false
	err = d.callThere(ctx, d.all[0], "writing", func(m *model) error {
		h := m.homes[d.worker]
		if moved = doubt && h.server == to; moved {
			return nil
		}
		for _, other := range m.homes {
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

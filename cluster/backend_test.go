package cluster

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/tegenaria/tegenaria"
)

// backend is where the job of a plan is stored: models of the database, or PostgreSQL. It is also a witness: it reads
// what is stored.
type backend interface {
	// open opens the job for a process of a worker with this link.
	open(ctx context.Context, w *link, m member, lock int32) (*Cache, error)
	// isOver reports whether the job is finished, or its limit has stopped it: a worker that begins later goes on with
	// the whole limit.
	isOver() bool
	// drain is what Job.Drain does. It reports whether there was such a worker.
	drain(worker string) bool
	// see says what is stored about a request that a worker begins.
	see(s start) seen
	// read returns what all servers hold together.
	read() *tally
	// String says how the job is doing.
	String() string
}

// start is a request that a worker begins.
type start struct {
	session           int64
	server, partition int // of its host
	url               string
	inline            bool // of a parser
}

// seen is what is stored about a request: whether the session is not expired, who owns the host or has its lease for
// this request, and whether it was settled.
type seen struct {
	alive   bool
	owner   int64
	settled bool
}

// tally is what the servers of a job hold when all workers have ended. The first one says how the job has ended.
type tally struct {
	started                     bool
	finished, stopped           string
	waiting, messages, outgoing int
	fetched                     int64 // as the workers have counted
	requests                    map[tegenaria.Key]seenKey
	outcomes                    map[int64]modelOutcome
	violations                  []string
	resumed                     int
}

// models are a backend in memory, by server.
type models []*model

func newModels(p *plan) (all models) {
	for own := range p.servers {
		all = append(all, newModel(location{suffixes: builtIn, ownServer: own, servers: p.servers, partitions: p.partitions}))
	}
	return all
}

func (all models) open(ctx context.Context, w *link, m member, lock int32) (*Cache, error) {
	d := &modelStore{link: w, model: modelOf(all, m.worker), all: all, member: m, lock: lock, batches: make(map[*batch]*modelBatch)}
	c := newCache(ctx, d, m, d.model.location, Options{})
	if len(all) > 1 {
		for _, there := range all {
			c.remotes = append(c.remotes, modelRemote{d, there})
		}
	}
	return c, nil
}

func (all models) isOver() bool {
	first := all[0] // the others follow it
	first.mu.Lock()
	defer first.mu.Unlock()
	return first.finished != "" || first.stopped != ""
}

func (all models) drain(worker string) (found bool) {
	for _, m := range all {
		m.mu.Lock()
		if w := m.workers[worker]; w != nil && !w.expired {
			w.drained, found = true, true
		}
		m.mu.Unlock()
	}
	return found
}

func (all models) see(s start) (saw seen) {
	own := all[s.session%int64(len(all))]
	own.mu.Lock()
	saw.alive = own.alive(s.session)
	own.mu.Unlock()
	there := all[s.server]
	there.mu.Lock()
	defer there.mu.Unlock()
	saw.owner = there.owners[s.partition]
	for _, t := range there.leases {
		// The owner, or an owner that has left, has granted the lease: nobody takes the partition while the lease is
		// there.
		if s.inline && t.session == s.session && t.partition == s.partition && t.owner != 0 && (t.owner == saw.owner || saw.owner == 0) {
			saw.owner = s.session
		}
	}
	for _, o := range there.outcomes {
		saw.settled = saw.settled || o.url == s.url && o.outcome == tegenaria.Fetched
	}
	return saw
}

func (all models) read() *tally {
	t := &tally{requests: make(map[tegenaria.Key]seenKey), outcomes: make(map[int64]modelOutcome)}
	for i, m := range all {
		m.mu.Lock()
		defer m.mu.Unlock()
		if i == 0 {
			t.started, t.finished, t.stopped = m.started, m.finished, m.stopped
		}
		maps.Copy(t.outcomes, m.outcomes)
		maps.Copy(t.requests, m.requests)
		t.waiting, t.messages, t.outgoing = t.waiting+len(m.queue), t.messages+len(m.inbox), t.outgoing+len(m.outbox)
		for of, n := range m.counters {
			if of[1] == fetchedCounter {
				t.fetched += n
			}
		}
		t.violations = append(t.violations, m.violations...)
		t.resumed = max(t.resumed, m.resumed)
	}
	return t
}

// fetchedCounter counts the pages that were fetched.
const fetchedCounter = "outcome/fetched"

// String says how the job is doing on each server.
func (all models) String() string {
	var b strings.Builder
	for _, m := range all {
		m.mu.Lock()
		fmt.Fprintf(&b, "owners %v, wanted %v, %d wait, %d messages, %d for others, started %v, stopped %q, finished %q, over %v, workers %s; ",
			m.owners, m.wanted, len(m.queue), len(m.inbox), len(m.outbox), m.started, m.stopped, m.finished, m.over, m)
		m.mu.Unlock()
	}
	return b.String()
}

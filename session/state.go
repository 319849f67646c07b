package session

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Where a job is durable, the engine keeps the sessions with it: it calls the methods of this file; no program needs to.

// StateKey names the state of the sessions in a durable job.
func (p *Pool) StateKey() string { return "session.pool" }

// RestoreState brings back the sessions that a durable job has stored.
func (p *Pool) RestoreState(state map[string][]byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, stored := range state {
		if len(stored) == 0 || p.sessions[name] != nil {
			continue
		}
		s := p.newSession(name)
		if err := json.Unmarshal(stored, &s.kept); err != nil {
			return fmt.Errorf("session: the stored session %s cannot be read: %w", name, err)
		}
		if s.HasName() {
			s.gate = p.named(name).gate
			continue
		}
		if n, err := strconv.Atoi(name[1:]); err == nil {
			p.last = max(p.last, n)
		}
		p.nameless++
		if p.list(s); p.nameless > p.opts.Size {
			p.discard(s)
		}
	}
	return nil
}

// ChangedState returns the sessions that have changed since the last call. Version 0 is that of new ones.
func (p *Pool) ChangedState(since uint64) (state map[string][]byte, version uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.changes)+len(p.dropped) == 0 {
		return nil, p.version, nil
	}
	state = make(map[string][]byte, len(p.changes)+len(p.dropped))
	for _, name := range p.dropped {
		state[name] = nil
	}
	for s := range p.changes {
		if state[s.name], err = json.Marshal(s.kept); err != nil {
			return nil, since, fmt.Errorf("session: %s cannot be stored: %w", s.name, err)
		}
	}
	clear(p.changes)
	p.dropped = nil
	p.version++
	return state, p.version, nil
}

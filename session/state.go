package session

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tegenaria/tegenaria"
)

// Where a job is durable, the engine keeps the sessions with it: it calls the methods of this file; no program needs to.

var _ tegenaria.StateKeeper = (*Pool)(nil)

// StateKey names the state of the sessions in a durable job.
func (p *Pool) StateKey() string { return "session.pool" }

// RestoreState brings back the sessions that a durable job has stored.
func (p *Pool) RestoreState(state map[string][]byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes = make(map[string]bool)
	for name, stored := range state {
		if len(stored) == 0 || p.sessions[name] != nil {
			continue
		}
		s := p.newSession(name)
		s.Header = 0 // which is stored by leaving it out
		if err := json.Unmarshal(stored, &s.kept); err != nil {
			return fmt.Errorf("session: the stored session %s cannot be read: %w", name, err)
		}
		if s.HasName() {
			s.gate = p.named(name).gate
			if !s.Born.IsZero() {
				p.stats.Named++
			}
			continue
		}
		if n, err := strconv.Atoi(name[1:]); err == nil {
			p.last = max(p.last, n)
		}
		p.nameless++
		if p.list(s); p.nameless > p.opts.Size {
			p.discard(s)
			continue
		}
		p.stats.Nameless++
	}
	return nil
}

// ChangedState returns the sessions that have changed since the last call: its versions are not needed.
func (p *Pool) ChangedState(uint64) (state map[string][]byte, version uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.changes) == 0 {
		return nil, 0, nil
	}
	state = make(map[string][]byte, len(p.changes))
	for name := range p.changes {
		state[name] = nil
		if s := p.sessions[name]; s != nil {
			if state[name], err = json.Marshal(s.kept); err != nil {
				return nil, 0, fmt.Errorf("session: %s cannot be stored: %w", name, err)
			}
		}
	}
	clear(p.changes)
	return state, 0, nil
}

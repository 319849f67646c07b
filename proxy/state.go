package proxy

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
)

// Where a job is durable, the engine keeps with it which proxies rest, and with which hosts: it calls the methods of this file; no program
// needs to.

var _ tegenaria.StateKeeper = (*Pool)(nil)

// kept is what a durable job stores of a proxy, or of one with a host, while it rests. What is stored under an ID, or an ID and a
// host, has no passwords.
type kept struct {
	Until time.Time `json:"until"`
	Rests int       `json:"rests"` // that have not helped
}

// StateKey names the state of the proxies in a durable job.
func (p *Pool) StateKey() string { return "proxy.pool" }

// RestoreState has the proxies rest that rested when the job was stopped. Those that are not listed any more are forgotten.
func (p *Pool) RestoreState(state map[string][]byte) error {
	latest := time.Now().Add(longestRest * 5 / 4) // should the clock have been set back
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes = make(map[string]bool)
	for name, stored := range state {
		if len(stored) == 0 {
			continue
		}
		var k kept
		if err := json.Unmarshal(stored, &k); err != nil {
			return fmt.Errorf("proxy: what is stored of %s cannot be read: %w", name, err)
		}
		if k.Until.After(latest) {
			k.Until = latest
		}
		id, host, isPair := strings.Cut(name, " ")
		e := p.byID[id]
		switch {
		case e == nil:
			p.changes[name] = true
			continue
		case isPair:
			*p.pairOf(host, e) = health{until: k.Until, rests: k.Rests}
		default:
			e.health = health{until: k.Until, rests: k.Rests}
			p.rests(&e.health)
		}
	}
	return nil
}

// changed notes that a proxy, or one with a host, begins or ends a rest. The host is "" for the proxy itself.
func (p *Pool) changed(e *entry, host string) {
	if p.changes == nil {
		return
	}
	name := e.id()
	if host != "" {
		name += " " + host
	}
	p.changes[name] = true
}

// ChangedState returns the rests that have begun or ended since the last call: its versions are not needed.
func (p *Pool) ChangedState(uint64) (state map[string][]byte, version uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.changes) == 0 {
		return nil, 0, nil
	}
	state = make(map[string][]byte, len(p.changes))
	for name := range p.changes {
		state[name] = nil
		id, host, isPair := strings.Cut(name, " ")
		e := p.byID[id]
		if e == nil {
			continue
		}
		h := &e.health
		if isPair {
			h = p.pairs[pair{host, e}]
		}
		if h != nil && h.resting() {
			if state[name], err = json.Marshal(kept{h.until, h.rests}); err != nil {
				return nil, 0, err
			}
		}
	}
	clear(p.changes)
	return state, 0, nil
}

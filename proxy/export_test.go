package proxy

import "github.com/tegenaria/tegenaria"

// Wait returns the gate at which requests of a host wait; that of all hosts for "". It is nil if none waits.
func (p *Pool) Wait(host string) *tegenaria.Gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waits[host]
}

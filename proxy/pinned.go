package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/tegenaria/tegenaria"
)

// The methods of this file are for what keeps identities, as package session does: an identity goes through one proxy.

// Pick chooses a proxy for an identity that begins, as for a request of the host, and returns its ID. Without one it returns the gate that
// opens when there may be one again.
func (p *Pool) Pick(host string) (id string, wait *tegenaria.Gate) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.choose(host, now); e != nil {
		return e.id(), nil
	}
	return "", p.wait(host, now)
}

// URL returns the URL of the proxy with an ID that Pick has returned, maybe in an earlier run. It is "" if that is not
// listed any more. Otherwise at is the zero time if a request of the host can use the proxy now, or else when that may
// be tried again.
func (p *Pool) URL(id, host string) (url string, at time.Time) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.byID[id]
	if e == nil || !e.listed {
		return "", time.Time{}
	}
	if p.usable(e, host, now) {
		return e.url, time.Time{}
	}
	at = e.at()
	if h := p.pairs[pair{host, e}]; h != nil && h.at().After(at) {
		at = h.at()
	}
	return e.url, at
}

// Rest has the proxy with an ID that Pick has returned not be used for a host for a while: the host has blocked it.
func (p *Pool) Rest(id, host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.byID[id]; e != nil {
		p.failsWith(host, e, true)
	}
}

// id names a proxy without its password.
func (e *entry) id() string {
	if e.hash == "" {
		sum := sha256.Sum256([]byte(e.url))
		e.hash = hex.EncodeToString(sum[:8])
	}
	return e.hash
}

package identity

import "sync"

// Emissions counts the unfiltered requests that one sender sends, by key. The zero value has counted none. It may be used
// concurrently.
type Emissions struct {
	mu   sync.Mutex // guards sent
	sent map[Key]uint64
}

// Count returns how often a request with this key was sent before, and counts it.
func (e *Emissions) Count(key Key) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sent == nil {
		e.sent = make(map[Key]uint64)
	}
	before := e.sent[key]
	e.sent[key] = before + 1
	return before
}

package frontier

import "sync/atomic"

// Parts counts the parts of a job that are not done. Its methods may be called concurrently.
type Parts struct{ n atomic.Int64 }

// Add opens the first part, or another one while one is open.
func (p *Parts) Add() { p.n.Add(1) }

// Open opens another part. It returns false if all are done.
func (p *Parts) Open() bool {
	for {
		n := p.n.Load()
		if n == 0 {
			return false
		}
		if p.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Close ends a part, and reports whether it was the last one.
func (p *Parts) Close() (done bool) { return p.n.Add(-1) == 0 }

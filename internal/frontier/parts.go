package frontier

import "sync/atomic"

// Parts counts the parts of a job that are not done, and how many of them are lost: their code was given up, and has not returned. A job
// whose parts are all lost is lost itself, which the Ledger is told. Its methods may be called concurrently, but for Find.
type Parts struct{ n atomic.Int64 } // a lost part counts as one that is not done, and as lostPart

const lostPart = 1 << 32

func allOf(n int64) (open, lost int64) { return n & (lostPart - 1), n >> 32 }

// Add opens the first part, or another one while one is open.
func (p *Parts) Add() { p.n.Add(1) }

// Open opens another part. It returns false if all are done or lost.
func (p *Parts) Open() bool {
	for {
		n := p.n.Load()
		if open, lost := allOf(n); open <= lost {
			return false
		}
		if p.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Close ends a part that is not lost, and reports whether it was the last one.
func (p *Parts) Close(l *Ledger) (done bool) {
	open, lost := allOf(p.n.Add(-1))
	if open > 0 && open == lost {
		l.lose()
	}
	return open == 0
}

// Lose adds a lost part for one whose code was given up. The caller closes that one afterwards.
func (p *Parts) Lose() { p.n.Add(1 + lostPart) }

// AreLost reports whether all parts are lost that are not done.
func (p *Parts) AreLost() bool {
	open, lost := allOf(p.n.Load())
	return open == lost
}

// Find makes a lost part one that is not, because its code has returned. It returns false if the Ledger has taken the job for lost: the
// crawl is over. No two goroutines may call it at a time for the same job.
func (p *Parts) Find(l *Ledger) bool {
	found := false
	for {
		n := p.n.Load()
		if open, lost := allOf(n); open == lost && !found {
			if found = l.find(); !found {
				return false
			}
		}
		if p.n.CompareAndSwap(n, n-lostPart) {
			return true
		}
	}
}

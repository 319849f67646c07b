package frontier

import (
	"maps"
	"slices"
	"sync"
)

// Lane knows which jobs wait for a Fetch, so that all can be ended when a crawl is over. Its zero value is empty. Its methods may
// be called concurrently.
type Lane[J comparable] struct {
	mu     sync.Mutex // guards the fields below
	jobs   map[J]struct{}
	closed bool // no job may begin to wait any more
}

// Add notes that a job waits. It returns false if the lane is closed: the job may not wait.
func (l *Lane[J]) Add(j J) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if l.jobs == nil {
		l.jobs = make(map[J]struct{})
	}
	l.jobs[j] = struct{}{}
	return true
}

// Remove notes that a job does not wait any more.
func (l *Lane[J]) Remove(j J) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.jobs, j)
}

// Close lets no job wait any more, and returns those that do: they are not removed.
func (l *Lane[J]) Close() []J {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return slices.Collect(maps.Keys(l.jobs))
}

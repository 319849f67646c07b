package tegenaria

import (
	"maps"
	"sync"
)

// jobCounts is what attempts at requests add to the counters of a durable job. What an attempt adds is stored in the
// batch that settles its request: one that ends with its process runs again, and counts once. The zero value has
// counted nothing.
type jobCounts struct {
	responses []int // their statuses
	damaged   int64 // of the responses
	read      int64 // pages that a parser, or the caller of Fetch, was given
	parsed    int64 // pages whose parser has returned without an error

	scraped, dropped, failed int64            // items
	items                    map[string]int64 // those dropped and failed by reason, as in Stats.ItemReasons; nil: none
}

// jobTotals are the counts of the requests of a run that are settled.
type jobTotals struct {
	mu     sync.Mutex // guards the fields below
	counts jobCounts  // without responses
	pages  int64      // responses
	status map[int]int64
}

// add adds the counts of an attempt; nil adds nothing.
func (t *jobTotals) add(c *jobCounts) {
	if c == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status == nil {
		t.status = make(map[int]int64)
	}
	for _, status := range c.responses {
		t.pages++
		t.status[status]++
	}
	t.counts.damaged += c.damaged
	t.counts.read += c.read
	t.counts.parsed += c.parsed
	t.counts.scraped += c.scraped
	t.counts.dropped += c.dropped
	t.counts.failed += c.failed
	if len(c.items) > 0 && t.counts.items == nil {
		t.counts.items = make(map[string]int64)
	}
	for reason, n := range c.items {
		t.counts.items[reason] += n
	}
}

// fill sets the counts that depend on requests being settled, and returns how many pages were read
// and parsed.
func (t *jobTotals) fill(s *Stats) (read, parsed int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Responses, s.Damaged = t.pages, t.counts.damaged
	s.ItemScraped, s.ItemDropped, s.ItemFailed = t.counts.scraped, t.counts.dropped, t.counts.failed
	s.Status, s.ItemReasons = maps.Clone(t.status), maps.Clone(t.counts.items)
	return t.counts.read, t.counts.parsed
}

// countForJob counts something of a job that a durable cache stores when its request is settled.
func (rp *reporter) countForJob(j *job, add func(c *jobCounts)) {
	if !rp.isDurable() {
		return
	}
	root := j.root()
	root.mu.Lock()
	defer root.mu.Unlock()
	if root.counts == nil {
		root.counts = new(jobCounts)
	}
	add(root.counts)
}

package report

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Counters are the counts of a run that no ledger keeps. The zero value counts nothing yet. All may be used concurrently.
type Counters struct {
	Downloads atomic.Int64 // that have begun
	Answered  atomic.Int64 // requests that were answered without a download
	Blocked   atomic.Int64 // answers that a site has blocked
	Robots    atomic.Int64 // downloads of robots.txt, which are not among Downloads
	Retries   atomic.Int64 // requests that were put back to run again
	Scraped   atomic.Int64 // items that passed all pipelines
	Dropped   atomic.Int64 // items that a pipeline has dropped
	Failed    atomic.Int64 // items that ended by another error
	Errors    atomic.Int64 // failures of all kinds
	Read      atomic.Int64 // pages that a parser, or the caller of Fetch, was given

	damaged   atomic.Int64
	damagedAt atomic.Pointer[string] // the URL of the first of them

	Unparsed  atomic.Int64 // failures of parsers
	Unchanged atomic.Int64 // pages whose parser did not run, because they are unchanged

	parsed atomic.Int64
	first  atomic.Pointer[string] // the URL of the first page that was parsed

	responses, bytes atomic.Int64
	status           [1000]atomic.Int64 // HTTP has no code of more digits

	mu  sync.Mutex    // guards odd
	odd map[int]int64 // responses with another status
}

// Response counts a response with that many bytes of body, and returns how many responses and bytes there are by now.
func (c *Counters) Response(status int, length int) (responses, bytes int64) {
	if status >= 0 && status < len(c.status) {
		c.status[status].Add(1)
	} else {
		c.mu.Lock()
		if c.odd == nil {
			c.odd = make(map[int]int64)
		}
		c.odd[status]++
		c.mu.Unlock()
	}
	return c.responses.Add(1), c.bytes.Add(int64(length))
}

// Responses returns how many responses there are, the bytes of their bodies, and how many have each status. The map is
// the caller's, and not nil.
func (c *Counters) Responses() (responses, bytes int64, status map[int]int64) {
	c.mu.Lock()
	if status = maps.Clone(c.odd); status == nil {
		status = make(map[int]int64)
	}
	c.mu.Unlock()
	for code := range c.status {
		if n := c.status[code].Load(); n > 0 {
			status[code] = n
		}
	}
	return c.responses.Load(), c.bytes.Load(), status
}

// DamagedPage counts a response whose body is not whole.
func (c *Counters) DamagedPage(url string) {
	if c.damaged.Add(1) == 1 {
		c.damagedAt.Store(&url)
	}
}

// Damaged returns how many responses DamagedPage has counted, and the URL of the first of them.
func (c *Counters) Damaged() (responses int64, first string) {
	if url := c.damagedAt.Load(); url != nil {
		first = *url
	}
	return c.damaged.Load(), first
}

// ParsedPage counts a page whose parser has returned without an error.
func (c *Counters) ParsedPage(url string) {
	if c.parsed.Add(1) == 1 {
		first := url
		c.first.Store(&first)
	}
}

// Parsed returns how many pages ParsedPage has counted, and the URL of the first of them.
func (c *Counters) Parsed() (pages int64, first string) {
	if url := c.first.Load(); url != nil {
		first = *url
	}
	return c.parsed.Load(), first
}

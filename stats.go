package tegenaria

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Stats is a snapshot of a crawl's counters. The counts of requests are taken in one step:
// Discovered = Settled + Pending + Delayed + InFlight holds in each snapshot.
type Stats struct {
	Discovered int64 `json:"discovered"` // requests sent by user code, redirect targets, Fetch
	Settled    int64 `json:"settled"`    // of them, those that came to an end
	Pending    int64 `json:"pending"`    // those that wait in a slot
	Delayed    int64 `json:"delayed"`    // those that wait for their NotBefore
	InFlight   int64 `json:"in_flight"`  // those between the cache and their end
	Items      int64 `json:"items"`      // items on their way through the pipelines

	Outcomes map[Outcome]int64 `json:"outcomes"` // how the settled requests ended
	Reasons  map[string]int64  `json:"reasons"`  // the same with reasons, "filtered: offsite"; at most 1,000, then ": other"

	RequestDownloaded int64         `json:"request_downloaded"` // downloads started, inline ones among them
	Responses         int64         `json:"responses"`          // responses received, whatever their status
	Bytes             int64         `json:"bytes"`              // of bodies
	Status            map[int]int64 `json:"status"`             // responses by status code
	ItemScraped       int64         `json:"item_scraped"`       // items that passed all pipelines
	ItemDropped       int64         `json:"item_dropped"`       // items ended by DropItem
	ItemFailed        int64         `json:"item_failed"`        // items ended by another error
	ErrorCount        int64         `json:"error_count"`        // HandleErrors
	Retries           int64         `json:"retries"`            // requests that were put back to run again
	RobotsRequests    int64         `json:"robots_requests"`    // downloads of robots.txt; not in RequestDownloaded

	StartTime time.Time     `json:"start_time"`
	Elapsed   time.Duration `json:"elapsed"`
	Abandoned map[Stage]int `json:"abandoned"` // callbacks that were given up
}

// counters are the counts that the ledger does not keep.
type counters struct {
	requests, scraped, dropped, failed, errors, retries, robots atomic.Int64

	responses, bytes atomic.Int64
	status           [1000]atomic.Int64 // HTTP has no code of more digits

	mu  sync.Mutex    // guards odd
	odd map[int]int64 // responses with another status
}

func newCounters() *counters { return &counters{odd: make(map[int]int64)} }

// response counts a response and returns what there are by now.
func (c *counters) response(status int, length int) (responses, bytes int64) {
	if status >= 0 && status < len(c.status) {
		c.status[status].Add(1)
	} else {
		c.mu.Lock()
		c.odd[status]++
		c.mu.Unlock()
	}
	return c.responses.Add(1), c.bytes.Add(int64(length))
}

func (c *counters) snapshot(s *Stats) {
	s.RequestDownloaded = c.requests.Load()
	s.ItemScraped, s.ItemDropped, s.ItemFailed = c.scraped.Load(), c.dropped.Load(), c.failed.Load()
	s.ErrorCount, s.Retries, s.RobotsRequests = c.errors.Load(), c.retries.Load(), c.robots.Load()
	s.Responses, s.Bytes = c.responses.Load(), c.bytes.Load()
	c.mu.Lock()
	s.Status = maps.Clone(c.odd)
	c.mu.Unlock()
	for status := range c.status {
		if n := c.status[status].Load(); n > 0 {
			s.Status[status] = n
		}
	}
}

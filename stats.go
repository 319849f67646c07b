package tegenaria

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/module"
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

// count fills in what the counters count.
func (s *Stats) count(c *report.Counters) {
	s.RequestDownloaded, s.RobotsRequests, s.Retries = c.Downloads.Load(), c.Robots.Load(), c.Retries.Load()
	s.ItemScraped, s.ItemDropped, s.ItemFailed = c.Scraped.Load(), c.Dropped.Load(), c.Failed.Load()
	s.ErrorCount = c.Errors.Load()
	s.Responses, s.Bytes, s.Status = c.Responses()
}

// durable returns the counts that a durable job keeps over its runs: those of the earlier ones, and this one's. Requests that
// were waiting when this run began are discovered in both, so they count once.
func (s *Stats) durable(earlier map[string]int64) map[string]int64 {
	counts := map[string]int64{
		"discovered": s.Discovered, "settled": s.Settled,
		"responses": s.Responses, "bytes": s.Bytes, "items_scraped": s.ItemScraped, "errors": s.ErrorCount,
	}
	for o, n := range s.Outcomes {
		counts["outcome/"+o.String()] = n
	}
	for name, n := range earlier {
		if name != "discovered" {
			counts[name] += n
		}
	}
	counts["discovered"] += earlier["settled"]
	return counts
}

// Summary is a snapshot of a run, in the words of the machines that it consists of. It stays valid after
// the run. As JSON it is stable: names are fixed, lists sorted, parts that do not exist left out.
type Summary struct {
	Spider string `json:"spider,omitempty"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"` // of the end: "finished", or StoppedError's reason

	RequestArgs RequestArgs            `json:"request_args"`
	ModuleArgs  ModuleArgs             `json:"module_args"`
	Downloaders []module.SummaryStruct `json:"downloaders,omitempty"` // the default one first
	ItemBuffers PoolSummary            `json:"item_buffer_pool"`
	URLNumber   int64                  `json:"url_number"` // requests that were accepted or are known

	Stats Stats `json:"stats"`
}

// RequestArgs are the bounds on the requests of a run.
type RequestArgs struct {
	AcceptedDomains []string `json:"accepted_primary_domains,omitempty"`
	MaxDepth        int      `json:"max_depth"`
}

// ModuleArgs counts the parts of a run.
type ModuleArgs struct {
	Downloaders int `json:"downloader_list_size"`
	Analyzers   int `json:"analyzer_list_size"` // parsers that run at once
	Pipelines   int `json:"pipeline_list_size"`
}

// PoolSummary describes the elastic buffer between parsers and pipelines.
type PoolSummary struct {
	BufferCap       int `json:"buffer_cap"`
	MaxBufferNumber int `json:"max_buffer_number"`
	BufferNumber    int `json:"buffer_number"`
	Total           int `json:"total"`
}

// String returns the summary as indented JSON.
func (s Summary) String() string {
	text, err := json.MarshalIndent(s, "", "    ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// addLedger fills in the ledger's part of the statistics.
func (s *Stats) addLedger(l *frontier.Ledger) {
	n := l.Counts()
	s.Discovered, s.Settled = n.Discovered, n.Settled
	s.Pending, s.Delayed, s.InFlight, s.Items = n.Pending, n.Delayed, n.InFlight, n.Items
	s.Outcomes = make(map[Outcome]int64)
	for o, n := range n.Outcomes {
		if n > 0 {
			s.Outcomes[Outcome(o)] = n
		}
	}
	s.Reasons = make(map[string]int64, len(n.Reasons))
	for reason, n := range n.Reasons {
		s.Reasons[Outcome(reason.Outcome).String()+": "+reason.Text] = n
	}
}

func summaryOf(c *crawl, status Status) Summary {
	s := Summary{
		Spider:      c.spider.GetName(),
		Status:      status.String(),
		RequestArgs: RequestArgs{slices.Sorted(slices.Values(c.cfg.domains)), c.limits.Depth},
		ModuleArgs:  ModuleArgs{len(c.fetcher.downloaders.All()), int(c.cfg.parseWorkers), len(c.mill.pipelines)},
		ItemBuffers: PoolSummary{c.mill.buffer.BufferCap(), c.mill.buffer.MaxBufferNumber(), c.mill.buffer.BufferNumber(), c.mill.buffer.Total()},
	}
	s.Reason, _, _ = c.ending.Why()
	for _, d := range c.fetcher.downloaders.All() {
		s.Downloaders = append(s.Downloaders, d.Summary())
	}
	s.Stats.addLedger(c.ledger)
	s.Stats.count(&c.teller.counters)
	s.Stats.StartTime, s.Stats.Elapsed = c.began, c.elapsed()
	s.Stats.Abandoned = c.abandoned()
	s.URLNumber = s.Stats.Discovered - s.Stats.Outcomes[Duplicate] - s.Stats.Outcomes[Filtered]
	return s
}

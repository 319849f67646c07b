package tegenaria

import (
	"encoding/json"
	"slices"

	"github.com/tegenaria/tegenaria/internal/lifecycle"
	"github.com/tegenaria/tegenaria/module"
)

// Summary is a snapshot of a run: statistics, limits and parts. It remains valid after
// the run. Its JSON form is stable: names are fixed, lists are sorted, missing parts are left out.
type Summary struct {
	Spider string `json:"spider,omitempty"`
	// of the engine while it runs; then how it ended: "finished", "stopped", "cancelled", "failed"
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"` // of the end: "finished", or StoppedError's reason

	RequestArgs RequestArgs            `json:"request_args"`
	ModuleArgs  ModuleArgs             `json:"module_args"`
	Downloaders []module.SummaryStruct `json:"downloaders,omitempty"` // the default one first
	ItemBuffers PoolSummary            `json:"item_buffer_pool"`
	Feeds       []FeedStats            `json:"feeds,omitempty"` // of the pipelines that are a FeedCounter
	URLNumber   int64                  `json:"url_number"`      // requests that were accepted or are known

	Stats Stats  `json:"stats"`         // of this run
	Job   *Stats `json:"job,omitempty"` // of all runs of a durable job; nil: there is none
}

// RequestArgs are the bounds on the requests of a run.
type RequestArgs struct {
	AcceptedDomains []string `json:"accepted_primary_domains,omitempty"`
	MaxDepth        int      `json:"max_depth,omitempty"` // Limits.Depth; 0: no limit
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

// summary returns what the run has done so far.
func (c *crawl) summary(status Status) Summary {
	s := Summary{
		Spider:      c.spider.GetName(),
		Status:      status.String(),
		RequestArgs: RequestArgs{slices.Sorted(slices.Values(c.cfg.AllowedDomains)), c.limits.Depth},
		ModuleArgs:  ModuleArgs{len(c.downloads.downloaders.All()), int(c.cfg.SchedulerNum), len(c.pipelines)},
		ItemBuffers: PoolSummary{c.buffer.BufferCap(), c.buffer.MaxBufferNumber(), c.buffer.BufferNumber(),
			c.buffer.Total()},
	}
	s.Feeds = c.pipelines.feedStats()
	s.Reason, _, _ = c.stop.ending.Why()
	if status == StatusStopped && (s.Reason == lifecycle.Finished || s.Reason == lifecycle.Cancelled ||
		s.Reason == lifecycle.Broken) {
		s.Status = s.Reason
	}
	for _, d := range c.downloads.downloaders.All() {
		s.Downloaders = append(s.Downloaders, d.Summary())
	}
	s.Stats.addLedger(c.ledger)
	s.Stats.count(&c.report.counters)
	s.Stats.ItemReasons = c.report.itemReasons()
	s.Stats.Fields = fieldStats(c.report.fields.Counts())
	s.Stats.StartTime, s.Stats.Elapsed = c.stop.began, c.stop.elapsed()
	s.Stats.Abandoned, s.Stats.Unreturned = c.abandoned(), c.watch.Unreturned()
	s.Stats.Cache = c.downloads.layers.cacheStats()
	s.Stats.Proxies, s.Stats.Sessions = c.middlewares.proxyStats(), c.middlewares.sessionStats()
	if c.report.isDurable() {
		job := s.Stats.ofJob(c.settler.counters(nil))
		s.Job = &job
	}
	s.URLNumber = s.Stats.Discovered - s.Stats.Outcomes[Duplicate] - s.Stats.Outcomes[Filtered]
	return s
}

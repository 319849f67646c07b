package tegenaria

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/module"
)

// Summary is a snapshot of a run, in the words of the machines that it consists of. It stays valid after
// the run. As JSON it is stable: names are fixed, lists sorted, what does not exist is left out.
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

// RequestArgs is what bounds the requests of a run.
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

func (c *crawl) summary(status Status) Summary {
	s := Summary{
		Spider:      c.spider.GetName(),
		Status:      status.String(),
		RequestArgs: RequestArgs{slices.Sorted(slices.Values(c.cfg.domains)), c.limits.Depth},
		ModuleArgs:  ModuleArgs{len(c.downloaders.all), int(c.cfg.parseWorkers), len(c.pipelines)},
		ItemBuffers: PoolSummary{c.items.BufferCap(), c.items.MaxBufferNumber(), c.items.BufferNumber(), c.items.Total()},
	}
	c.stop.mu.Lock()
	s.Reason = c.reason
	c.stop.mu.Unlock()
	for _, d := range c.downloaders.all {
		s.Downloaders = append(s.Downloaders, d.Summary())
	}
	c.ledger.snapshot(&s.Stats)
	c.counters.snapshot(&s.Stats)
	s.Stats.StartTime, s.Stats.Elapsed = c.began, c.elapsed()
	s.Stats.Abandoned = c.watch.counts()
	s.URLNumber = s.Stats.Discovered - s.Stats.Outcomes[Duplicate] - s.Stats.Outcomes[Filtered]
	return s
}

// elapsed is the time since the beginning, or that of the whole run once it is over.
func (c *crawl) elapsed() time.Duration {
	if d := c.took.Load(); d > 0 {
		return time.Duration(d)
	}
	return time.Since(c.began)
}

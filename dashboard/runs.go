package dashboard

import (
	"sync"
	"time"
)

const (
	maxRuns  = 200              // that are shown
	runsTime = 10 * time.Second // for which they are kept: the files need not be read for each look
)

// PastRuns are earlier runs in the answer of GET /api/v1/runs.
type PastRuns struct {
	Runs  []PastRun `json:"runs"`            // the newest first, 200 at most
	Error string    `json:"error,omitempty"` // why some, or all, cannot be shown
}

// PastRun is one of them.
type PastRun struct {
	ID       string        `json:"id"`     // "20261129-141502"
	Spider   string        `json:"spider"` // or the sites that were crawled
	Began    time.Time     `json:"began"`
	Elapsed  time.Duration `json:"elapsed"` // in nanoseconds, of all runs of its job
	Pages    int64         `json:"pages"`   // responses
	Items    int64         `json:"items"`   // that passed all pipelines
	Errors   int64         `json:"errors"`
	Code     int           `json:"code"`   // the exit code
	Reason   string        `json:"reason"` // why it has ended: "finished", "limit: pages" …
	Finished bool          `json:"finished"`
}

// pastRuns are the earlier runs as they were read last. They may be used concurrently.
type pastRuns struct {
	mu   sync.Mutex // guards the fields below, and has one reader at a time
	read time.Time  // when; zero: never
	last PastRuns
}

// list returns the runs that load reads, or has read just now.
func (p *pastRuns) list(load func() ([]PastRun, error)) PastRuns {
	if load == nil {
		return PastRuns{Runs: []PastRun{}, Error: "this program keeps no past runs"}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.read.IsZero() && time.Since(p.read) < runsTime {
		return p.last
	}
	runs, err := load()
	p.read, p.last = time.Now(), PastRuns{Runs: append([]PastRun{}, runs[:min(len(runs), maxRuns)]...)}
	if err != nil {
		p.last.Error = err.Error()
	}
	return p.last
}

package telemetry

import (
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tegenaria/tegenaria"
)

// stageErrors counts the failures of a run by stage. It may be used concurrently.
type stageErrors struct {
	mu     sync.Mutex // guards the field below
	counts map[tegenaria.Stage]int64
}

func (e *stageErrors) add(at tegenaria.Stage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts[at]++
}

func (e *stageErrors) list() map[tegenaria.Stage]int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.counts)
}

// histogram is that of a callback, or of all that have no labels of their own.
type histogram struct {
	time   time.Duration
	counts []int64
}

// histograms are those of one scrape, by stage and callback.
type histograms map[[2]string]histogram

// addCallbacks adds the errors of callbacks, and returns their histograms. Called with mu held.
func (m *Metrics) addCallbacks(found scrape, callbacks []tegenaria.Callback) histograms {
	all := make(histograms)
	for _, c := range callbacks {
		stage, name := string(c.Stage), strings.ToValidUTF8(c.Name, "\uFFFD")
		if m.callbacks.label(stage+" "+name) == other {
			name = other
		}
		found.count(callbackErrors, c.Errors, stage, name)
		key := [2]string{stage, name}
		h := all[key]
		h.time += c.Time
		if h.counts == nil {
			h.counts = make([]int64, len(c.Counts))
		}
		for i, n := range c.Counts {
			h.counts[i] += n
		}
		all[key] = h
	}
	return all
}

func (all histograms) send(metrics chan<- prometheus.Metric) {
	bounds := tegenaria.CallbackBounds()
	for key, h := range all {
		calls, buckets := uint64(0), make(map[float64]uint64, len(bounds))
		for i, n := range h.counts {
			calls += uint64(n)
			if i < len(bounds) {
				buckets[bounds[i].Seconds()] = calls
			}
		}
		metrics <- prometheus.MustNewConstHistogram(callbackSeconds, calls, h.time.Seconds(), buckets, key[0], key[1])
	}
}

// addSlots adds the numbers of slots.
func addSlots(found scrape, n tegenaria.SlotCounts) {
	for state, count := range map[string]int{
		"ready": n.Ready, "delayed": n.Delayed, "at_limit": n.AtLimit, "robots": n.Robots, "gated": n.Gated, "empty": n.Empty,
	} {
		found.add(slots, float64(count), state)
	}
}

package report

import (
	"sync"
	"sync/atomic"
)

// mostHosts is how many hosts are counted separately.
const mostHosts = 100_000

// Hosts counts different names, up to 100,000. The zero value has none. It may be used concurrently.
type Hosts struct {
	names sync.Map
	count atomic.Int64
}

// Add counts a name that was not counted before.
func (h *Hosts) Add(name string) {
	if _, known := h.names.Load(name); known || h.count.Load() >= mostHosts {
		return
	}
	if _, known := h.names.LoadOrStore(name, nil); !known {
		h.count.Add(1)
	}
}

// Len returns how many names there are.
func (h *Hosts) Len() int { return int(h.count.Load()) }

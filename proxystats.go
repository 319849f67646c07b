package tegenaria

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// ProxyStats are the counters of one proxy in one run.
type ProxyStats struct {
	Name      string        `json:"name"`              // its URL, without the password
	Requests  int64         `json:"requests"`          // that were to go through it, those for robots.txt included
	Responses int64         `json:"responses"`         // that came
	Errors    int64         `json:"errors,omitempty"`  // failures of the proxy, or of connections through it
	Blocked   int64         `json:"blocked,omitempty"` // answers that a site has blocked it with, see [BlockedError]
	Bytes     int64         `json:"bytes"`             // of bodies
	Latency   time.Duration `json:"latency"`           // to the first byte: a mean in which the newest answer counts an eighth
}

// ProxyCounter is an optional interface of middlewares that choose proxies: [Stats] and the end of the log show its ProxyStats.
// ProxyStats may be called at any time, also concurrently.
type ProxyCounter interface{ ProxyStats() []ProxyStats }

// proxyStats asks the middlewares for their proxies. Those with the most requests come first.
func (m Middlewares) proxyStats() (list []ProxyStats) {
	for _, c := range all[ProxyCounter](m) {
		_ = guard.Protect(func() error { list = append(list, c.ProxyStats()...); return nil })
	}
	slices.SortFunc(list, func(a, b ProxyStats) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Name, b.Name))
	})
	return list
}

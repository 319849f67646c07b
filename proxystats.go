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

// SessionStats are the counters of the sessions of one run, see package session. Named and Nameless include those that
// a durable job has kept.
type SessionStats struct {
	Named    int64 `json:"named"`              // sessions with a name that were used
	Nameless int64 `json:"nameless"`           // sessions without one that were made
	Logins   int64 `json:"logins"`             // that worked, and have fetched something
	Failed   int64 `json:"failed,omitempty"`   // logins that failed
	Expired  int64 `json:"expired,omitempty"`  // sessions that the site had ended
	Retired  int64 `json:"retired,omitempty"`  // sessions that were thrown away, or are to log in anew, for any other reason
	Waiting  int64 `json:"waiting,omitempty"`  // sessions whose requests wait at present, for a login or a proxy
	Rejected int64 `json:"rejected,omitempty"` // sessions with a name whose login was given up

	Reasons map[string]int64 `json:"reasons,omitempty"` // why sessions were retired: "blocked: RULE", "network errors", "old", "used up", or that of Retire
}

// SessionCounter is an optional interface of middlewares that keep sessions: [Stats] and the end of the log show its
// SessionStats, which may be called at any time, also concurrently.
type SessionCounter interface{ SessionStats() SessionStats }

// sessionStats returns the counters of the middleware that keeps sessions, nil if there is none.
func (m Middlewares) sessionStats() (sum *SessionStats) {
	for _, c := range all[SessionCounter](m) {
		_ = guard.Protect(func() error { s := c.SessionStats(); sum = &s; return nil })
	}
	return sum
}

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

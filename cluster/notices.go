package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/report"
)

// notices are what a worker has in its log about the others, and about the hosts that go from one to another. The
// goroutine that polls has them.
type notices struct {
	known           []session        // those at work at the last poll; none before the first
	names           map[int64]string // workers by session: of those at work, and of those that have ended and whose partitions nobody has taken
	taken, released moved
}

// moved counts what has moved since the last line about it.
type moved struct {
	began   time.Time // when the first of it did
	hosts   int       // with requests
	waiting int64     // requests
	from    []string  // workers that have ended, whose hosts they were
}

// longestMove is how long a line about hosts waits for more of them: a host moves when nothing of it is in flight.
const longestMove = time.Minute

// note has the run log a line about the job.
func note(run tegenaria.SharedRun, warn bool, numbers map[string]any, format string, values ...any) func() {
	return func() { run.Log(warn, fmt.Sprintf(format, values...), numbers) }
}

// members returns what the log says of workers that have begun or ended since the last poll, by the watches of that.
func (n *notices) members(run tegenaria.SharedRun, v *view, w watches) (tell []func()) {
	before := n.known
	n.known = slices.Clone(v.sessions)
	names := make(map[int64]string)
	for number, name := range n.names {
		if slices.Contains(v.owners, number) {
			names[number] = name
		}
	}
	for _, o := range v.sessions {
		names[o.number] = o.worker
	}
	n.names = names
	if before == nil {
		return nil
	}
	isIn := func(list []session) func(session) bool {
		return func(o session) bool {
			return slices.ContainsFunc(list, func(other session) bool { return other.number == o.number })
		}
	}
	joined := slices.DeleteFunc(slices.Clone(v.sessions), isIn(before))
	gone := slices.DeleteFunc(before, isIn(v.sessions))
	at := v.workers()
	var left []session
	for _, o := range gone {
		if seen := w[o.number]; seen == nil || seen.silent < o.ttl { // it has ended, or another worker says that it died
			left = append(left, o)
			continue
		}
		tell = append(tell, note(run, true, map[string]any{"worker": o.worker, "seconds": o.ttl.Seconds(), "workers": at},
			"worker %s was not heard of for %s: it is taken for dead, and others take its hosts over; %s at work", o.worker, report.Duration(o.ttl), report.Count(int64(at), "worker")))
	}
	for _, change := range []struct {
		what string
		who  []session
	}{{"no longer at work", left}, {"joined the job", joined}} {
		if len(change.who) > 0 {
			tell = append(tell, note(run, false, map[string]any{"count": len(change.who), "workers": at},
				"%s: %s; %s at work", change.what, listed(change.who), report.Count(int64(at), "worker")))
		}
	}
	return tell
}

// workers returns how many workers are at work, on all servers.
func (v *view) workers() int { return len(v.sessions) + v.elsewhere }

// add counts hosts that have moved, with as many waiting requests, from a worker; "" if it is at work, or not known.
func (m *moved) add(hosts int, waiting int64, from string) {
	if m.began.IsZero() {
		m.began = time.Now()
	}
	m.hosts, m.waiting = m.hosts+hosts, m.waiting+waiting
	if from != "" && !slices.Contains(m.from, from) {
		m.from = append(m.from, from)
	}
}

// line returns what the log says of hosts that have moved, once no more of them are about to; nothing if no request
// waited for them.
func (m *moved) line(run tegenaria.SharedRun, more bool, verb, to string) (tell []func()) {
	if m.began.IsZero() || more && time.Since(m.began) < longestMove {
		return nil
	}
	if m.hosts > 0 {
		if len(m.from) > 0 {
			to = " from " + strings.Join(m.from, ", ")
		}
		tell = append(tell, note(run, false, map[string]any{"hosts": m.hosts, "waiting": m.waiting}, "%s %s with %s waiting%s",
			verb, report.Count(int64(m.hosts), "host"), report.Count(m.waiting, "request"), to))
	}
	*m = moved{}
	return tell
}

// moves returns what the log says of the hosts that have moved. The caller holds the store.
func (m *membership) moves(v *view) (tell []func()) {
	c := m.cache
	c.mu.Lock()
	takes := slices.ContainsFunc(v.wantedBy(c.session), func(p int) bool { return !c.owned[p] })
	releases := slices.Contains(c.leaving, true)
	c.mu.Unlock()
	tell = m.notices.taken.line(m.run, takes, "took over", "")
	return append(tell, m.notices.released.line(m.run, releases, "gave away", " to other workers")...)
}

// wantedBy returns the partitions that a session is to have.
func (v *view) wantedBy(session int64) (numbers []int) {
	for p, wanted := range v.wanted {
		if wanted == session {
			numbers = append(numbers, p)
		}
	}
	return numbers
}

// mostListed bounds the names in a line.
const mostListed = 6

// listed names workers: "worker two", "workers two, three".
func listed(sessions []session) string {
	var names []string
	for i, o := range sessions {
		if i == mostListed {
			names = append(names, fmt.Sprintf("%d more", len(sessions)-i))
			break
		}
		names = append(names, o.worker)
	}
	if len(names) == 1 {
		return "worker " + names[0]
	}
	return "workers " + strings.Join(names, ", ")
}

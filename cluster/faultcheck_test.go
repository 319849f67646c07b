//go:build linux

package cluster_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// faultResult is what a fault has cost.
type faultResult struct {
	extra int           // requests too many until the next fault
	on    time.Duration // until hosts of the victim, or any if it is the database, were asked again
}

// check compares the log of the web, the items and the outcomes with what there was to do: each page was asked for and
// has one outcome and one item, no host was asked sooner than its delay or twice at a time, except by a process that
// stood still, and what was asked twice was in flight or unsettled when a fault happened.
func (r *faultRun) check(table map[string][]faultResult) {
	asks := r.web.snapshot()
	extra := r.extra(asks)
	last := make(map[string]faultAsk)
	frozen := 0
	for _, a := range asks {
		if before, ok := last[a.host]; ok && a.at.Sub(before.at) < faultDelay*4/5 { // the machine is busy
			switch {
			case r.wasFrozen(a.by, a.at) || r.wasFrozen(before.by, before.at):
				frozen++
			default:
				r.Errorf("%s%s was asked for by %s %v after %s by %s", a.host, a.path, a.by, a.at.Sub(before.at), before.path, before.by)
			}
		}
		last[a.host] = a
	}
	if r.web.peak > 1+min(frozen, 1) {
		r.Errorf("%d requests in flight at a host", r.web.peak)
	}
	files := make([]string, 0, len(r.workers))
	for _, w := range r.workers {
		files = append(files, w.File)
		r.Logf("%s: %d kills, %d errors", w.Options.Worker, w.kills, len(w.errs))
		if len(w.errs) > 0 && w != r.workers[0] {
			r.Errorf("%s has ended with errors:\n%s", w.Options.Worker, strings.Join(w.errs, "\n"))
		}
	}
	dsn := r.primary.DSN("postgres")
	items := itemsOf(r.T, files...)
	if collected := collect(r.T, dsn, r.job); len(items) != *faultPages || !maps.Equal(collected, items) {
		r.Errorf("%d items in the files, %d collected, want %d", len(items), len(collected), *faultPages)
	}
	admin := connect(r.T, dsn)
	got := read(r.T, admin, fmt.Sprintf(`SELECT count(*) || ' ' || count(DISTINCT url) FROM %q.outcome WHERE outcome = 'fetched' AND url LIKE '%%/page/%%'`, r.job))
	if want := fmt.Sprint(*faultPages, " ", *faultPages); got != want {
		r.Errorf("outcomes and URLs of pages: %s, want %s", got, want)
	}
	others := read(r.T, admin, fmt.Sprintf(`SELECT string_agg(n || ' ' || outcome || ' ' || reason, ', ' ORDER BY n) FROM
		(SELECT count(*) AS n, outcome, reason FROM %q.outcome WHERE outcome <> 'fetched' GROUP BY 2, 3) AS others`, r.job))
	poisoned := 0
	for _, a := range asks {
		if strings.HasPrefix(a.path, "/poison/") {
			poisoned++
		}
	}
	if twice := read(r.T, admin, fmt.Sprintf(`SELECT count(*)::text FROM (SELECT FROM %q.outcome GROUP BY seq HAVING count(*) > 1) AS twice`, r.job)); twice != "0" {
		r.Errorf("%s requests have two outcomes", twice)
	}
	r.Logf("%d requests, %d sooner than the delay by what stood still; poison asked for %d times; other outcomes: %s", len(asks), frozen, poisoned, others)
	for i, f := range r.faults {
		table[f.kind] = append(table[f.kind], faultResult{extra[i], r.wentOn(asks, f)})
		most := 4 * faultConcurrency // of one worker: in flight, and not yet settled, which are more the slower the database is
		if f.victim == "" {
			most *= len(r.workers)
		}
		if extra[i] > 2*most { // a fault may kill two
			r.Errorf("%s of %q: %d requests too many", f.kind, f.victim, extra[i])
		}
	}
}

// extra returns how many requests beyond those that had to be followed each fault, and reports pages that were not
// asked for.
func (r *faultRun) extra(asks []faultAsk) []int {
	extra := make([]int, len(r.faults))
	left := make(map[string]int)
	for i := range *faultPages {
		left[fmt.Sprint("/page/", i)] = 1
		if i%unwilling == 1 {
			left[fmt.Sprint("/page/", i)] = 2
		}
		if i%redirected == 1 {
			left[fmt.Sprint("/moved/", i)] = 1
		}
		if i%repeated == 1 {
			left[fmt.Sprint("/again/", i)] = 2
		}
		if i%fetching == 1 {
			left[fmt.Sprint("/fetched/", i)] = 1
		}
	}
	for _, a := range asks {
		if left[a.path]--; left[a.path] >= 0 || strings.HasPrefix(a.path, "/poison/") {
			continue
		}
		i, _ := slices.BinarySearchFunc(r.faults, a.at, func(f fault, at time.Time) int { return cmp.Compare(f.at.UnixNano(), at.UnixNano()) })
		extra[max(i-1, 0)]++
	}
	for path, n := range left {
		if n > 0 {
			r.Errorf("%s was asked for %d times too few", path, n)
		}
	}
	return extra
}

// wentOn returns how long after a fault the first of the hosts was asked that were the victim's.
func (r *faultRun) wentOn(asks []faultAsk, f fault) time.Duration {
	hosts := make(map[string]string)
	since := f.over
	if f.victim != "" {
		since = f.at.Add(200 * time.Millisecond)
	}
	for _, a := range asks {
		if a.at.Before(f.at) {
			hosts[a.host] = a.by
		} else if a.at.After(since) && (f.victim == "" || hosts[a.host] == f.victim) && !(a.by == f.victim && r.wasFrozen(a.by, a.at)) {
			return a.at.Sub(f.at)
		}
	}
	return 0
}

// printFaults prints the table of all runs.
func printFaults(t *testing.T, table map[string][]faultResult) {
	t.Helper()
	sum := 0
	for _, kind := range slices.Sorted(maps.Keys(table)) {
		extra, slowest := 0, time.Duration(0)
		for _, one := range table[kind] {
			extra, slowest = extra+one.extra, max(slowest, one.on)
		}
		sum += len(table[kind])
		t.Logf("%-28s %2d times, %3d requests too many, its hosts asked again after %4.1f s at most", kind, len(table[kind]), extra, slowest.Seconds())
	}
	t.Logf("%d faults", sum)
}

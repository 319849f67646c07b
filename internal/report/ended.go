package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/remedy"
)

// Ended is what the log says at the end of a crawl.
type Ended struct {
	Reason   string        // "finished", "stopped", "limit: pages"
	Why      string        // what ended it beyond the reason; "" if nothing did
	Took     time.Duration //
	Pages    int64         // responses
	Items    int64         // that passed all pipelines
	Bytes    int64         // of bodies
	Hosts    int           // that have answered
	Memory   int64         // most that the process has taken, in bytes; 0: not known
	Waiting  int64         // requests that a durable job keeps for the next run
	JobPages int64         // responses of all runs of a durable job
	JobItems int64         // their items that passed all pipelines
	Workers  *Workers      // of a job on which several workers work; nil: there is one
	Outcomes []Tally       // how the requests ended
	Statuses []Tally       // of the responses
	Lost     []Tally       // items that were dropped, or failed
	Failures []Kind        // the most frequent first
	Wired    Wired         // what the crawl has
	Slow     string        // where the time of the downloads went, in a sentence; "": nothing to say

	Damaged   int64  // responses that were delivered though their body is not whole
	DamagedAt string // the URL of one of them

	Feeds []Feed // what the feeds have delivered
	Cache *Cache // what the HTTP cache has saved; nil: there is none

	Proxies []Proxy // those with the most requests come first

	Sessions *Sessions // nil: there are none
	Blocked  int64     // answers that a site has blocked

	Itemless  int64   // pages that were parsed, if no item was sent; 0: some were, or none is expected
	Example   string  // the URL of one of them
	Unmatched []Query // that matched nothing on any page, those tried on most pages first
	Unfilled  []Tally // fields that were filled on no item; their parts say how often, and why
}

// worthSlow is how long a crawl has to be for the log to say where its time went.
const worthSlow = 10 * time.Second

// Workers are what all workers of a job have done together.
type Workers struct {
	Pages, Items int64
	Waiting      int64 // requests that are left to do
}

// line says it: "all workers of the job: 20,200 pages, 20,100 items".
func (w Workers) line() Line {
	text := "all workers of the job: " + Count(w.Pages, "page") + ", " + Count(w.Items, "item")
	if w.Waiting > 0 {
		text += "; " + Count(w.Waiting, "request") + " waiting"
	}
	return Line{Text: text, Numbers: Numbers{"job_pages": w.Pages, "job_items": w.Items, "job_waiting": w.Waiting}}
}

// Feed is what a feed has done.
type Feed struct {
	Name                                             string
	Written, Duplicate, Failed, Others, Bytes, Parts int64
}

// line says it: "books.jsonl: 144 items, 27 kB; 2 duplicates".
func (f Feed) line() Line {
	name := f.Name
	if name == "-" {
		name = "standard output"
	}
	text := name + ": " + Count(f.Written, "item")
	if f.Bytes > 0 {
		text += ", " + Bytes(f.Bytes)
	}
	if f.Parts > 1 {
		text += " in " + Count(f.Parts, "file")
	}
	if f.Duplicate > 0 {
		text += "; " + Count(f.Duplicate, "duplicate") + " left out"
	}
	if f.Failed > 0 {
		text += fmt.Sprintf("; %d failed", f.Failed)
	}
	if f.Others > 0 && f.Written+f.Duplicate+f.Failed == 0 {
		text += "; " + Count(f.Others, "item") + " not for it: of another type, or not selected"
	}
	return Line{Text: text, Numbers: Numbers{"feed": f.Name, "items": f.Written, "duplicates": f.Duplicate, "failed": f.Failed,
		"bytes": f.Bytes, "files": f.Parts}}
}

// Cache is what an HTTP cache has done.
type Cache struct {
	Hits, Revalidated, Stale, Stored, BytesSaved, Passed int64

	Problems []string
}

// lines say it: "cache: 120 hits, 3 revalidated, 40 stored, 2.1 MB saved".
func (c Cache) lines() (lines []Line) {
	parts := []string{Count(c.Hits, "hit")}
	for _, part := range []struct {
		n    int64
		name string
	}{{c.Revalidated, "revalidated"}, {c.Stale, "stale"}, {c.Stored, "stored"}} {
		if part.n > 0 {
			parts = append(parts, Number(part.n)+" "+part.name)
		}
	}
	if c.BytesSaved > 0 {
		parts = append(parts, Bytes(c.BytesSaved)+" saved")
	}
	text := "cache: " + strings.Join(parts, ", ")
	if c.Passed > 0 {
		text += "; " + Count(c.Passed, "page") + " of other downloaders not kept"
	}
	lines = append(lines, Line{Text: text, Numbers: Numbers{"hits": c.Hits, "revalidated": c.Revalidated, "stale": c.Stale,
		"stored": c.Stored, "bytes_saved": c.BytesSaved, "passed": c.Passed}})
	for _, problem := range c.Problems {
		lines = append(lines, Line{Warn: true, Text: problem})
	}
	return lines
}

// Sessions is what has become of the sessions.
type Sessions struct {
	Named, Nameless, Logins, Failed, Expired, Retired, Waiting, Rejected int64

	Reasons map[string]int64 // of those that were retired
}

// line says it: "sessions: 3 with a name, 40 without; 5 logins, 1 failed; 12 retired (9 used up, 3 blocked: status 403)".
func (s *Sessions) line() Line {
	text := fmt.Sprintf("sessions: %s with a name, %s without", Number(s.Named), Number(s.Nameless))
	if s.Logins+s.Failed > 0 {
		text += "; " + Count(s.Logins, "login")
	}
	for _, part := range []struct {
		n    int64
		text string
	}{{s.Failed, " failed"}, {s.Rejected, " given up"}} {
		if part.n > 0 {
			text += ", " + Number(part.n) + part.text
		}
	}
	for _, part := range []struct {
		n    int64
		text string
	}{{s.Expired, " expired"}, {s.Retired, " retired" + s.reasons()}, {s.Waiting, " waiting"}} {
		if part.n > 0 {
			text += "; " + Number(part.n) + part.text
		}
	}
	return Line{Warn: s.Rejected > 0, Text: text, Numbers: Numbers{"named": s.Named, "nameless": s.Nameless, "logins": s.Logins,
		"logins_failed": s.Failed, "logins_given_up": s.Rejected, "expired": s.Expired, "retired": s.Retired}}
}

// reasons are those of the sessions that were retired, in parentheses.
func (s *Sessions) reasons() string {
	var list []Tally
	for reason, n := range s.Reasons {
		list = append(list, Tally{Name: cmp.Or(reason, "no reason given"), Count: n})
	}
	switch len(list) {
	case 0:
		return ""
	case 1:
		return " (" + list[0].Name + ")"
	}
	return " (" + tallies(list, " ") + ")"
}

// Proxy is what one proxy has done.
type Proxy struct {
	Name                                        string
	Requests, Responses, Errors, Blocked, Bytes int64
	Latency                                     time.Duration
}

// mostProxies is how many proxies have a line each.
const mostProxies = 20

// proxies says what they have done: "proxy http://192.0.2.7:3128: 120 requests, 3 errors, 1.2 MB, 310 ms to the first byte".
func proxies(list []Proxy) (lines []Line) {
	rest := Proxy{Name: fmt.Sprintf("%d other proxies", len(list)-mostProxies)}
	for i, p := range list {
		if i < mostProxies {
			lines = append(lines, p.line("proxy "))
			continue
		}
		rest.Requests, rest.Responses, rest.Bytes = rest.Requests+p.Requests, rest.Responses+p.Responses, rest.Bytes+p.Bytes
		rest.Errors, rest.Blocked = rest.Errors+p.Errors, rest.Blocked+p.Blocked
	}
	if len(list) > mostProxies {
		lines = append(lines, rest.line(""))
	}
	return lines
}

func (p Proxy) line(kind string) Line {
	parts := []string{Count(p.Requests, "request")}
	if p.Errors > 0 {
		parts = append(parts, Count(p.Errors, "error"))
	}
	if p.Blocked > 0 {
		parts = append(parts, Number(p.Blocked)+" blocked")
	}
	if p.Bytes > 0 {
		parts = append(parts, Bytes(p.Bytes))
	}
	if p.Latency > 0 {
		parts = append(parts, p.Latency.Round(time.Millisecond).String()+" to the first byte")
	}
	return Line{Text: kind + p.Name + ": " + strings.Join(parts, ", "), Numbers: Numbers{"requests": p.Requests,
		"responses": p.Responses, "errors": p.Errors, "blocked": p.Blocked, "bytes": p.Bytes}}
}

// Query is a selector that matched nothing.
type Query struct {
	Kind    string // "CSS selector"
	Text    string
	Pages   int64  // on which it was tried
	Example string // the URL of one of them
}

// Stopping is what the log says of a crawl that was asked to stop.
type Stopping struct {
	Reason   string
	Grace    time.Duration // how long it waits at most
	Requests int64         // that are in work
	Items    int64         // that are in pipelines
	Hosts    []Tally       // downloads that run, by host
	Again    bool          // another signal cancels the work
}

// Line says what the crawl waits for.
func (s Stopping) Line() string {
	text := "stopping (" + s.Reason + ")"
	if s.Requests+s.Items == 0 {
		return text
	}
	work := Count(s.Requests, "request")
	if s.Requests == 0 {
		work = Count(s.Items, "item")
	} else if s.Items > 0 {
		work += " and " + Count(s.Items, "item")
	}
	text += ": waiting up to " + Duration(s.Grace) + " for " + work + " in progress"
	if downloads := tallies(s.Hosts, " from "); downloads != "" {
		text += "; downloads: " + downloads
	}
	if s.Again {
		text += "; press Ctrl-C again to cancel them"
	}
	return text
}

// Numbers are the fields of the line.
func (s Stopping) Numbers() Numbers {
	return Numbers{"end": s.Reason, "grace_seconds": s.Grace.Seconds(), "in_flight": s.Requests, "items_in_flight": s.Items}
}

// Tally is a number of things of one name, and of what parts it consists.
type Tally struct {
	Name  string
	Count int64
	Parts []Tally
}

// Line is a line of the log.
type Line struct {
	Warn bool // it says that something went wrong
	Text string
	URL  string // an example; "" for none
	From string // the page that led to it; "" for none

	Numbers Numbers // of the text
}

// Bounds of the table.
const (
	mostParts   = 6   // of a tally, and selectors or fields of a row, that are named; the rest is summed up
	mostCauses  = 12  // kinds of failures that have a line of their own
	mostEmpty   = 10  // selectors that have a line of their own
	mostOfQuery = 100 // bytes of a selector or field in a row
)

// Lines returns the table of a crawl's end: how much it was, how the requests ended, what failed and what may help.
func (e Ended) Lines() []Line {
	lines := []Line{{Text: e.headline(), Numbers: Numbers{"end": e.Reason, "pages": e.Pages, "items": e.Items,
		"seconds": e.Took.Seconds(), "bytes": e.Bytes, "hosts": e.Hosts, "memory": e.Memory, "waiting": e.Waiting}}}
	if e.JobPages > e.Pages || e.JobItems > e.Items {
		whose, pages, items := "the job", "job_pages", "job_items"
		if e.Workers != nil {
			whose, pages, items = "this worker", "worker_pages", "worker_items"
		}
		lines = append(lines, Line{Text: "all runs of " + whose + ": " + Count(e.JobPages, "page") + ", " + Count(e.JobItems, "item"),
			Numbers: Numbers{pages: e.JobPages, items: e.JobItems}})
	}
	if e.Workers != nil {
		lines = append(lines, e.Workers.line())
	}
	if e.Why != "" {
		lines = append(lines, Line{Warn: true, Text: "the crawl ended early: " + e.Why})
	}
	for _, row := range []struct {
		name    string
		sign    string // between a number and its name
		field   string
		tallies []Tally
	}{{"requests", " ", "outcomes", e.Outcomes}, {"status codes", " × ", "statuses", e.Statuses}, {"items", " ", "lost", e.Lost}} {
		if text := tallies(row.tallies, row.sign); text != "" {
			lines = append(lines, Line{Text: row.name + ": " + text, Numbers: Numbers{row.field: counts(row.tallies)}})
		}
	}
	if e.Slow != "" && e.Took >= worthSlow {
		lines = append(lines, Line{Text: e.Slow})
	}
	for _, f := range e.Feeds {
		lines = append(lines, f.line())
	}
	if e.Cache != nil {
		lines = append(lines, e.Cache.lines()...)
	}
	lines = append(lines, proxies(e.Proxies)...)
	if e.Sessions != nil {
		lines = append(lines, e.Sessions.line())
	}
	if e.Blocked > 0 {
		lines = append(lines, Line{Warn: true, Text: Count(e.Blocked, "answer") + " blocked by the sites, and not parsed",
			Numbers: Numbers{"blocked": e.Blocked}})
	}
	if e.Damaged > 0 {
		lines = append(lines, Line{Warn: true, URL: e.DamagedAt, Numbers: Numbers{"count": e.Damaged}, Text: Count(e.Damaged, "response") +
			" delivered with a body that is not whole, as its content coding or its length says; Transfer().Err tells which"})
	}
	rest, kinds := int64(0), 0
	for i, k := range e.Failures {
		if i >= mostCauses {
			rest += k.Count
			kinds++
			continue
		}
		line := k.Line("failure", true)
		line.URL, line.From = k.Example.URL, k.Example.Referrer
		lines = append(lines, line)
	}
	if rest > 0 {
		lines = append(lines, Line{Warn: true, Text: fmt.Sprintf("%s of %s", Count(rest, "failure"), Count(int64(kinds), "other cause")),
			Numbers: Numbers{"count": rest, "causes": kinds}})
	}
	if len(e.Failures) > 0 {
		if advice := Advice(e.Failures[0].Example, e.Wired); advice != "" {
			lines = append(lines, Line{Warn: true, Text: "what may help: " + advice})
		}
	}
	return append(lines, e.silence()...)
}

// silence returns the lines about parsers that have found nothing, though nothing has failed.
func (e Ended) silence() (lines []Line) {
	warn := func(url string, numbers Numbers, format string, args ...any) {
		lines = append(lines, Line{Warn: true, Text: fmt.Sprintf(format, args...), URL: url, Numbers: numbers})
	}
	if e.Itemless > 0 {
		were, one := "were", "one of them"
		if e.Itemless == 1 {
			were, one = "was", "it"
		}
		warn(e.Example, Numbers{"pages": e.Itemless}, "no item was sent, although %s %s parsed: try the parser on %s with "+
			"%s, or give %s if there are none to send",
			Count(e.Itemless, "page"), were, one, remedy.TryParser, remedy.EmptyOK)
	}
	if len(e.Unfilled) > 0 {
		were := "were"
		if len(e.Unfilled) == 1 {
			were = "was"
		}
		warn("", Numbers{"fields": len(e.Unfilled)}, "%s %s filled on no item: %s", Count(int64(len(e.Unfilled)), "field"), were, names(e.Unfilled, func(f Tally) string {
			return fmt.Sprintf("%q (%s)", Cut(f.Name, mostOfQuery), tallies(f.Parts, " "))
		}))
	}
	hasItems := e.Items > 0 || slices.ContainsFunc(e.Lost, func(t Tally) bool { return t.Count > 0 })
	if hasItems && len(e.Unmatched) > 1 {
		warn(e.Unmatched[0].Example, Numbers{"selectors": len(e.Unmatched)}, "%s matched nothing on any page: %s", Count(int64(len(e.Unmatched)), "selector"), row(e.Unmatched))
		return lines
	}
	for i, q := range e.Unmatched {
		if i == mostEmpty {
			warn("", Numbers{"selectors": len(e.Unmatched) - i}, "%s matched nothing on any page", Count(int64(len(e.Unmatched)-i), "more selector"))
			break
		}
		pages := "the one page"
		if q.Pages > 1 {
			pages = "any of the " + Count(q.Pages, "page")
		}
		warn(q.Example, Numbers{"pages": q.Pages}, "the %s %q matched nothing on %s that it was tried on", q.Kind, q.Text, pages)
	}
	if len(e.Unmatched) > 0 && !hasItems {
		warn("", nil, "what may help: look for it in the page as the server sends it; a browser shows what scripts have made of the page")
	}
	return lines
}

// row names selectors in one line: `the CSS selector ".discount" (214 pages), the XPath expression ".//i" (3 pages)`.
func row(queries []Query) string {
	return names(queries, func(q Query) string {
		return fmt.Sprintf("the %s %q (%s)", q.Kind, Cut(q.Text, mostOfQuery), Count(q.Pages, "page"))
	})
}

// names writes the first things of a list in one line, and how many others there are.
func names[T any](list []T, write func(T) string) string {
	var parts []string
	for i, one := range list {
		if i == mostParts {
			parts = append(parts, Count(int64(len(list)-i), "other"))
			break
		}
		parts = append(parts, write(one))
	}
	return strings.Join(parts, ", ")
}

func (e Ended) headline() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s in %s", Ending("stopped", e.Reason), Count(e.Pages, "page"), Count(e.Items, "item"), Duration(e.Took))
	if e.Pages > 0 && e.Took >= time.Second {
		fmt.Fprintf(&b, " (%s pages/min)", Rate(e.Pages, e.Took))
	}
	fmt.Fprintf(&b, ", %s from %s", Bytes(e.Bytes), Count(int64(e.Hosts), "host"))
	if e.Memory > 0 {
		fmt.Fprintf(&b, ", peak memory %s", Bytes(e.Memory))
	}
	if e.Waiting > 0 {
		fmt.Fprintf(&b, "; %s waiting for the next run", Count(e.Waiting, "request"))
	}
	return b.String()
}

// Ending is what a crawl is that ends, or has ended, for a reason: "finished"; "stopped (limit: pages)".
func Ending(stopped, reason string) string {
	switch reason {
	case "finished", "cancelled", "failed", "interrupted":
		return reason
	case "stopped":
		return stopped
	}
	return stopped + " (" + reason + ")"
}

// counts are numbers by name, without those that are 0.
func counts(list []Tally) map[string]int64 {
	counts := make(map[string]int64)
	for _, t := range list {
		if t.Count > 0 {
			counts[t.Name] = t.Count
		}
	}
	return counts
}

// tallies prints numbers, the largest first: "240 fetched, 14 filtered (10 offsite, 4 depth), 3 failed (status code)".
func tallies(list []Tally, sign string) string {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	rest := int64(0)
	var parts []string
	for _, t := range list {
		switch {
		case t.Count == 0:
		case len(parts) == mostParts:
			rest += t.Count
		case len(t.Parts) == 1 && t.Parts[0].Count == t.Count:
			parts = append(parts, fmt.Sprintf("%s%s%s (%s)", Number(t.Count), sign, t.Name, t.Parts[0].Name))
		case len(t.Parts) > 0:
			parts = append(parts, fmt.Sprintf("%s%s%s (%s)", Number(t.Count), sign, t.Name, tallies(t.Parts, sign)))
		default:
			parts = append(parts, Number(t.Count)+sign+t.Name)
		}
	}
	if rest > 0 {
		parts = append(parts, Number(rest)+" others")
	}
	return strings.Join(parts, ", ")
}

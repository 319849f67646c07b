package tegenaria

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/tegenaria/tegenaria/internal/fieldcount"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/report"
)

// Stats is a snapshot of a crawl's counters. The counts of requests are taken in one step:
// Discovered = Settled + Pending + Delayed + InFlight holds in each snapshot.
type Stats struct {
	Discovered int64 `json:"discovered"` // requests sent by user code, redirect targets, Fetch
	Settled    int64 `json:"settled"`    // requests that have ended
	Pending    int64 `json:"pending"`    // requests that wait in a slot
	Delayed    int64 `json:"delayed"`    // requests that wait for their NotBefore
	InFlight   int64 `json:"in_flight"`  // requests that are being processed
	Items      int64 `json:"items"`      // items on their way through the pipelines

	Outcomes map[Outcome]int64 `json:"outcomes"` // how the settled requests ended
	// the same with reasons, "filtered: offsite"; at most 1,000, then ": other"
	Reasons map[string]int64 `json:"reasons"`

	RequestDownloaded int64         `json:"request_downloaded"` // downloads started, inline ones among them
	Answered          int64         `json:"answered"`           // requests that an Answerer answered without a download
	Blocked           int64         `json:"blocked,omitempty"`  // answers that were a [BlockedError], those for robots.txt included
	Responses         int64         `json:"responses"`          // responses received, whatever their status
	Bytes             int64         `json:"bytes"`              // of bodies
	Status            map[int]int64 `json:"status"`             // responses by status code
	ItemScraped       int64         `json:"item_scraped"`       // items that passed all pipelines
	ItemDropped       int64         `json:"item_dropped"`       // items ended by DropItem
	ItemFailed        int64         `json:"item_failed"`        // items ended by another error
	// why items were dropped and failed, "dropped: price: min"; at most 1,000, then ": other"
	ItemReasons    map[string]int64 `json:"item_reasons,omitempty"`
	ErrorCount     int64            `json:"error_count"`     // HandleErrors
	Retries        int64            `json:"retries"`         // requests that were put back to run again
	RobotsRequests int64            `json:"robots_requests"` // downloads of robots.txt; not in RequestDownloaded
	Damaged        int64            `json:"damaged"`         // responses whose body is not whole: see Transfer.Err

	// by type and name, "Book.price"; at most 1,000, then "other"; nil: none were counted
	Fields map[string]FieldStats `json:"fields,omitempty"`

	// of the HTTP caches among the layers around the downloaders, of this run; nil: there is none
	Cache *CacheStats `json:"cache,omitempty"`
	// of the proxies that a [ProxyCounter] has chosen, such as package proxy; those with the most requests come first
	Proxies []ProxyStats `json:"proxies,omitempty"`
	// of the sessions that a [SessionCounter] keeps, such as package session; nil: there are none
	Sessions *SessionStats `json:"sessions,omitempty"`

	StartTime  time.Time     `json:"start_time"`
	Elapsed    time.Duration `json:"elapsed"`
	Abandoned  map[Stage]int `json:"abandoned"`  // callbacks that were given up
	Unreturned int           `json:"unreturned"` // those of them that have not returned yet
}

// count fills in what the counters count.
func (s *Stats) count(c *report.Counters) {
	s.RequestDownloaded, s.RobotsRequests, s.Retries = c.Downloads.Load(), c.Robots.Load(), c.Retries.Load()
	s.ItemScraped, s.ItemDropped, s.ItemFailed = c.Scraped.Load(), c.Dropped.Load(), c.Failed.Load()
	s.ErrorCount, s.Answered, s.Blocked = c.Errors.Load(), c.Answered.Load(), c.Blocked.Load()
	s.Responses, s.Bytes, s.Status = c.Responses()
	s.Damaged, _ = c.Damaged()
}

// plain are the counts by the names of the counters in which a durable job keeps them.
func (s *Stats) plain() map[string]*int64 {
	return map[string]*int64{
		"discovered": &s.Discovered, "settled": &s.Settled,
		"responses": &s.Responses, "bytes": &s.Bytes, "items_scraped": &s.ItemScraped, "errors": &s.ErrorCount,
		"items_dropped": &s.ItemDropped, "items_failed": &s.ItemFailed, "downloads": &s.RequestDownloaded,
		"robots":  &s.RobotsRequests,
		"retries": &s.Retries, "answered": &s.Answered, "blocked": &s.Blocked, "damaged": &s.Damaged, "elapsed": (*int64)(&s.Elapsed),
	}
}

// durable returns the counts that a durable job keeps over its runs: those of the earlier ones, and this one's.
// Requests that were waiting when this run began are discovered in both, so they count once.
func (s *Stats) durable(earlier map[string]int64) map[string]int64 {
	counts := make(map[string]int64)
	for name, n := range s.plain() {
		counts[name] = *n
	}
	report.AddGroup(counts, "status/", s.Status)
	report.AddGroup(counts, "reason/", report.Fewer(s.Reasons, earlier, "reason/"))
	report.AddGroup(counts, "item/", report.Fewer(s.ItemReasons, earlier, "item/"))
	report.AddGroup(counts, "outcome/", s.Outcomes)
	for name, n := range earlier {
		if name != "discovered" && !fieldcount.IsCounter(name) {
			counts[name] += n
		}
	}
	counts["discovered"] += earlier["settled"]
	fields := fieldcount.In(earlier)
	for key, f := range s.Fields {
		fieldcount.Merge(fields, key, fieldcount.Counts(f))
	}
	fieldcount.Put(counts, fields)
	return counts
}

// ofJob returns the statistics of all runs of a durable job: what its counters say, and the state of this run.
func (s Stats) ofJob(counters map[string]int64) Stats {
	for name, to := range s.plain() {
		*to = counters[name]
	}
	s.Status = report.Group(counters, "status/", strconv.Atoi)
	asIs := func(reason string) (string, error) { return reason, nil }
	s.Reasons, s.ItemReasons = report.Group(counters, "reason/", asIs), report.Group(counters, "item/", asIs)
	s.Outcomes = report.Group(counters, "outcome/", func(name string) (o Outcome, err error) {
		err = o.UnmarshalText([]byte(name))
		return o, err
	})
	s.Fields = fieldStats(fieldcount.In(counters))
	s.Cache = nil
	return s
}

// FieldStats are the counts of a field of items, of requests that have ended. The key of a field in [Stats] is its type
// and its name in JSON: "Book.price", or "Book.offer.price" for one of a struct in it.
//
// Items and Filled are counted if [EngineWithFieldCounts] says so, the others by [Response.Unmarshal] and [Each]. A
// selector has stopped matching when Missing and Defaulted come near LookedFor.
type FieldStats struct {
	Items     int64 `json:"items"`      // items of the type that passed all pipelines, however they were made
	Filled    int64 `json:"filled"`     // those of them whose field is neither its zero value nor empty
	LookedFor int64 `json:"looked_for"` // times that the field was looked for
	Defaulted int64 `json:"defaulted"`  // times that it was not there, and has its default
	Missing   int64 `json:"missing"`    // times that it was not there
	Failed    int64 `json:"failed"`     // times that its text could not be converted
}

// fieldStats returns counts of fields as they stand in Stats, nil if there are none.
func fieldStats(counts map[string]fieldcount.Counts) map[string]FieldStats {
	if len(counts) == 0 {
		return nil
	}
	list := make(map[string]FieldStats, len(counts))
	for key, f := range counts {
		list[key] = FieldStats(f)
	}
	return list
}

// statsJSON is how the durations of Stats are written: as a text with units, and in seconds.
type statsJSON struct {
	*plainStats
	Elapsed string  `json:"elapsed"` // "1m20s"
	Seconds float64 `json:"elapsed_seconds"`
}

type plainStats Stats

// MarshalJSON writes Elapsed twice: as a text with units, "elapsed": "1m20s", and as "elapsed_seconds": 80.
func (s Stats) MarshalJSON() ([]byte, error) {
	return json.Marshal(statsJSON{(*plainStats)(&s), s.Elapsed.String(), s.Elapsed.Seconds()})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Stats) UnmarshalJSON(text []byte) (err error) {
	got := statsJSON{plainStats: (*plainStats)(s)}
	if err = json.Unmarshal(text, &got); err != nil || got.Elapsed == "" {
		return err
	}
	s.Elapsed, err = time.ParseDuration(got.Elapsed)
	return err
}

// reasonKey is the key of an outcome with its reason in Stats.Reasons.
func reasonKey(outcome Outcome, reason string) string { return outcome.String() + ": " + reason }

// addLedger fills in the ledger's part of the statistics.
func (s *Stats) addLedger(l *frontier.Ledger) {
	n := l.Counts()
	s.Discovered, s.Settled = n.Discovered, n.Settled
	s.Pending, s.Delayed, s.InFlight, s.Items = n.Pending, n.Delayed, n.InFlight, n.Items
	s.Outcomes = make(map[Outcome]int64)
	for o, n := range n.Outcomes {
		if n > 0 {
			s.Outcomes[Outcome(o)] = n
		}
	}
	s.Reasons = make(map[string]int64, len(n.Reasons))
	for reason, n := range n.Reasons {
		s.Reasons[reasonKey(Outcome(reason.Outcome), reason.Text)] = n
	}
}

package tegenaria

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tegenaria/tegenaria/internal/fieldcount"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/module"
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
	Reasons  map[string]int64  `json:"reasons"`  // the same with reasons, "filtered: offsite"; at most 1,000, then ": other"

	RequestDownloaded int64         `json:"request_downloaded"` // downloads started, inline ones among them
	Answered          int64         `json:"answered"`           // requests that an Answerer answered without a download
	Responses         int64         `json:"responses"`          // responses received, whatever their status
	Bytes             int64         `json:"bytes"`              // of bodies
	Status            map[int]int64 `json:"status"`             // responses by status code
	ItemScraped       int64         `json:"item_scraped"`       // items that passed all pipelines
	ItemDropped       int64         `json:"item_dropped"`       // items ended by DropItem
	ItemFailed        int64         `json:"item_failed"`        // items ended by another error
	ErrorCount        int64         `json:"error_count"`        // HandleErrors
	Retries           int64         `json:"retries"`            // requests that were put back to run again
	RobotsRequests    int64         `json:"robots_requests"`    // downloads of robots.txt; not in RequestDownloaded
	Damaged           int64         `json:"damaged"`            // responses whose body is not whole: see Transfer.Err

	Fields map[string]FieldStats `json:"fields,omitempty"` // by type and name, "Book.price"; at most 1,000, then "other"; nil: none were counted

	StartTime time.Time     `json:"start_time"`
	Elapsed   time.Duration `json:"elapsed"`
	Abandoned map[Stage]int `json:"abandoned"` // callbacks that were given up
}

// count fills in what the counters count.
func (s *Stats) count(c *report.Counters) {
	s.RequestDownloaded, s.RobotsRequests, s.Retries = c.Downloads.Load(), c.Robots.Load(), c.Retries.Load()
	s.ItemScraped, s.ItemDropped, s.ItemFailed = c.Scraped.Load(), c.Dropped.Load(), c.Failed.Load()
	s.ErrorCount, s.Answered = c.Errors.Load(), c.Answered.Load()
	s.Responses, s.Bytes, s.Status = c.Responses()
	s.Damaged, _ = c.Damaged()
}

// plain are the counts by the names of the counters in which a durable job keeps them.
func (s *Stats) plain() map[string]*int64 {
	return map[string]*int64{
		"discovered": &s.Discovered, "settled": &s.Settled,
		"responses": &s.Responses, "bytes": &s.Bytes, "items_scraped": &s.ItemScraped, "errors": &s.ErrorCount,
		"items_dropped": &s.ItemDropped, "items_failed": &s.ItemFailed, "downloads": &s.RequestDownloaded, "robots": &s.RobotsRequests,
		"retries": &s.Retries, "answered": &s.Answered, "damaged": &s.Damaged, "elapsed": (*int64)(&s.Elapsed),
	}
}

// durable returns the counts that a durable job keeps over its runs: those of the earlier ones, and this one's. Requests that
// were waiting when this run began are discovered in both, so they count once.
func (s *Stats) durable(earlier map[string]int64) map[string]int64 {
	counts := make(map[string]int64)
	for name, n := range s.plain() {
		counts[name] = *n
	}
	report.AddGroup(counts, "status/", s.Status)
	report.AddGroup(counts, "reason/", report.Fewer(s.Reasons, earlier, "reason/"))
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
	s.Reasons = report.Group(counters, "reason/", func(reason string) (string, error) { return reason, nil })
	s.Outcomes = report.Group(counters, "outcome/", func(name string) (o Outcome, err error) {
		err = o.UnmarshalText([]byte(name))
		return o, err
	})
	s.Fields = fieldStats(fieldcount.In(counters))
	return s
}

// FieldStats are the counts of a field of items, of requests that have ended. The key of a field in [Stats] is its type and its name in JSON: "Book.price",
// or "Book.offer.price" for one of a struct in it.
//
// Items and Filled are counted if [EngineWithFieldCounts] says so, the others by [Response.Unmarshal] and [Each]. A selector has stopped matching
// when Missing and Defaulted come near LookedFor.
type FieldStats struct {
	Items     int64 `json:"items"`      // items of the type that passed all pipelines, however they were made
	Filled    int64 `json:"filled"`     // those of them whose field is neither its zero value nor empty
	LookedFor int64 `json:"looked_for"` // times that the field was looked for
	Defaulted int64 `json:"defaulted"`  // times that it was not there, and has its default
	Missing   int64 `json:"missing"`    // times that it was not there
	Failed    int64 `json:"failed"`     // times that its text could not be converted
}

// fieldCounting is what EngineWithFieldCounts says.
type fieldCounting uint8

const (
	countExtracted fieldCounting = iota // the default
	countItems                          // and items of all kinds
	countNothing
)

// EngineWithFieldCounts counts the fields of all items that pass the pipelines, those built by hand too: [FieldStats].Items and Filled. Without this option
// only the fields that [Response.Unmarshal] and [Each] fill are counted; with false none are. Structs are counted by the rules of encoding/json, other items by
// the members of the object that they become in JSON, which costs as much as writing it.
func EngineWithFieldCounts(count bool) EngineOption {
	return func(e *SpiderEngine) {
		if e.config.fieldCounting = countNothing; count {
			e.config.fieldCounting = countItems
		}
	}
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

// Summary is a snapshot of a run: statistics, limits and parts. It remains valid after
// the run. Its JSON form is stable: names are fixed, lists are sorted, missing parts are left out.
type Summary struct {
	Spider string `json:"spider,omitempty"`
	Status string `json:"status"`           // of the engine while it runs; then how it ended: "finished", "stopped", "cancelled", "failed"
	Reason string `json:"reason,omitempty"` // of the end: "finished", or StoppedError's reason

	RequestArgs RequestArgs            `json:"request_args"`
	ModuleArgs  ModuleArgs             `json:"module_args"`
	Downloaders []module.SummaryStruct `json:"downloaders,omitempty"` // the default one first
	ItemBuffers PoolSummary            `json:"item_buffer_pool"`
	Feeds       []FeedStats            `json:"feeds,omitempty"` // of the pipelines that are a FeedCounter
	URLNumber   int64                  `json:"url_number"`      // requests that were accepted or are known

	Stats Stats  `json:"stats"`         // of this run
	Job   *Stats `json:"job,omitempty"` // of all runs of a durable job; nil: there is none
}

// FeedStats are the counters of a feed in one run.
type FeedStats struct {
	Name      string `json:"name"`      // the file, table or bucket that it writes to
	Written   int64  `json:"written"`   // items of requests that have ended
	Duplicate int64  `json:"duplicate"` // items left out because an item with the same key was written before
	Failed    int64  `json:"failed"`    // items that the file or table cannot hold
	Others    int64  `json:"others"`    // items that are not for the feed: of another type, or not selected
	Bytes     int64  `json:"bytes"`     // 0 if the size is unknown
	Parts     int64  `json:"parts"`     // finished files of a feed that writes several; else 0
}

// FeedCounter is an optional interface of pipelines: [Summary] and the end of the log show its FeedStats. FeedStats may be called
// at any time, also concurrently.
type FeedCounter interface{ FeedStats() FeedStats }

// feedStats asks the pipelines for what they have delivered.
func (p ItemPipelines) feedStats() (list []FeedStats) {
	for _, c := range all[FeedCounter](p) {
		_, _ = guard.Protect(func() error { list = append(list, c.FeedStats()); return nil })
	}
	return list
}

// sharedPlaces refuses feeds that deliver to one place, and do not have one CommitKey, which is another mistake.
func (p ItemPipelines) sharedPlaces() error {
	var errs []error
	keys := make(map[string]string) // by place
	for _, one := range p {
		c, isFeed := one.(FeedCounter)
		f, commits := one.(Committer)
		if !isFeed || !commits {
			continue
		}
		place := filepath.Clean(c.FeedStats().Name)
		if key, taken := keys[place]; taken && place != "-" && key != f.CommitKey() {
			errs = append(errs, fmt.Errorf("two feeds write to %s: give each a file of its own", place))
		}
		keys[place] = f.CommitKey()
	}
	return errors.Join(errs...)
}

// RequestArgs are the bounds on the requests of a run.
type RequestArgs struct {
	AcceptedDomains []string `json:"accepted_primary_domains,omitempty"`
	MaxDepth        int      `json:"max_depth,omitempty"` // Limits.Depth; 0: no limit
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

// Events are funcs that the engine calls when something happens; nil ones cost nothing. They run in
// the goroutine of the event, may be called concurrently, and must not block. A panic in one
// is recovered and reported on ErrorChan, and has no other effect.
//
// RequestStarted is called once for each download, before the slot's delay begins: a slow func postpones the download, and
// the delay after it is kept in full. If the slot is blocked when the func returns, the request is queued again; RequestStarted
// is not called a second time, and the request counts once in Politeness.MaxPages. A request that ends between the call and
// the download, such as a Fetch whose caller is abandoned, is not downloaded and not counted. RequestStarted is not called for
// a response without a download, from a middleware or from the engine's own robots.txt.
//
// SlowCallback and Abandoned, and RequestSettled for a callback that had not returned when the run ended, are called with a copy of the
// request as it was accepted; that of a Fetch has only its URL and ResponseWriter. Closed is called last: Run waits up to a second for calls that abandoned callbacks have begun, and makes
// none after it.
type Events struct {
	Started func(spider SpiderInterface)
	Paused  func()
	Resumed func()
	Closed  func(reason string) // the run is over; reason is "finished", or that of StoppedError

	RequestAccepted func(r *Request)                                  // the request was queued; not called for duplicates and filtered requests
	RequestStarted  func(r *Request)                                  // the download is about to start
	Downloaded      func(r *Request, resp *Response)                  // the response has arrived, before ProcessResponse
	RequestRetried  func(r *Request, after time.Duration, why error)  // the request has failed and is queued again
	RequestSettled  func(r *Request, outcome Outcome, reason string)  // the request has ended; called exactly once
	ItemScraped     func(item *ItemMeta)                              // the item has passed all pipelines
	ItemDropped     func(err *HandleError)                            // a pipeline has returned DropItem
	Error           func(err *HandleError)                            // a failure, before the ErrorHandlers are called
	SlowCallback    func(stage Stage, r *Request, took time.Duration) // a callback has been running for 60 s
	Abandoned       func(stage Stage, r *Request)                     // a callback did not return and is no longer waited for
	SlotBlocked     func(block SlotBlock)                             // no request of a slot starts for more than a minute; once for each block
}

// and returns events that call the funcs of both, e's first. Those that are nil in both stay nil, and cost nothing.
func (e Events) and(more Events) Events {
	return Events{
		Started: guard.Both(e.Started, more.Started), Closed: guard.Both(e.Closed, more.Closed),
		Paused: guard.BothPlain(e.Paused, more.Paused), Resumed: guard.BothPlain(e.Resumed, more.Resumed),
		RequestAccepted: guard.Both(e.RequestAccepted, more.RequestAccepted), RequestStarted: guard.Both(e.RequestStarted, more.RequestStarted),
		Downloaded: guard.BothOfTwo(e.Downloaded, more.Downloaded), RequestRetried: guard.BothOfThree(e.RequestRetried, more.RequestRetried),
		RequestSettled: guard.BothOfThree(e.RequestSettled, more.RequestSettled),
		ItemScraped:    guard.Both(e.ItemScraped, more.ItemScraped), ItemDropped: guard.Both(e.ItemDropped, more.ItemDropped), Error: guard.Both(e.Error, more.Error),
		SlowCallback: guard.BothOfThree(e.SlowCallback, more.SlowCallback), Abandoned: guard.BothOfTwo(e.Abandoned, more.Abandoned),
		SlotBlocked: guard.Both(e.SlotBlocked, more.SlotBlocked),
	}
}

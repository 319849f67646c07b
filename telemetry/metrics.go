package telemetry

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tegenaria/tegenaria"
)

// Options configure [Metrics]. The zero value is a sensible default.
type Options struct {
	// Hosts is of how many hosts there are metrics of their own: those in which most requests wait at the time of the scrape.
	// The default is 0: none.
	Hosts int
}

// Metrics is a prometheus.Collector of the runs of an engine. Make it with [NewMetrics]. It may be used concurrently.
//
// The numbers of one scrape belong together: tegenaria_requests_discovered_total is the sum of tegenaria_requests_total and
// tegenaria_requests_open. All numbers are those of one run: they begin at 0 with each run of the engine, which Prometheus takes for
// a restart of the program, and those of the last run stay when it is over. No label has a URL. What a label says is bounded: the first
// 100 reasons, status codes, fields and callbacks that are scraped keep their names, and the rest are "other". What is
// not UTF-8 in a label is U+FFFD.
//
// A registry takes the Metrics of one engine. For more, tell them apart with prometheus.WrapRegistererWith.
type Metrics struct {
	engine *tegenaria.SpiderEngine
	hosts  int
	phases atomic.Pointer[phases]      // of the current run, or else of the last one
	errors atomic.Pointer[stageErrors] // of the same run

	mu                                  sync.Mutex // guards the fields below
	reasons, itemReasons, codes, fields labels
	stages, callbacks                   labels
}

var _ prometheus.Collector = (*Metrics)(nil)

// mostLabels is how many values of a label keep their names.
const mostLabels = 100

// NewMetrics makes the metrics of an engine. It adds events to the engine and has it measure its callbacks, so it has
// to be called before [tegenaria.SpiderEngine.Run].
func NewMetrics(engine *tegenaria.SpiderEngine, o Options) *Metrics {
	bounded := labels{most: mostLabels}
	m := &Metrics{engine: engine, hosts: o.Hosts, reasons: bounded, itemReasons: bounded, codes: bounded, fields: bounded,
		stages: bounded, callbacks: bounded}
	m.reset()
	tegenaria.EngineWithEvents(tegenaria.Events{
		Started:    func(tegenaria.SpiderInterface) { m.reset() },
		Error:      func(err *tegenaria.HandleError) { m.errors.Load().add(err.Stage) },
		Downloaded: func(_ *tegenaria.Request, resp *tegenaria.Response) { m.phases.Load().observe(resp.Transfer()) },
	})(engine)
	tegenaria.EngineWithCallbackTimes(true)(engine)
	return m
}

// reset begins a run.
func (m *Metrics) reset() {
	m.phases.Store(newPhases())
	m.errors.Store(&stageErrors{counts: make(map[tegenaria.Stage]int64)})
}

// Describe is part of prometheus.Collector.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range all {
		descs <- d.desc
	}
	descs <- callbackSeconds
	for _, h := range m.phases.Load() {
		h.Describe(descs)
	}
}

// Collect is part of prometheus.Collector.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	found := make(scrape)
	s := m.engine.Summary()
	m.mu.Lock()
	m.addRun(found, &s)
	m.addFields(found, s.Stats.Fields)
	histograms := m.addCallbacks(found, m.engine.Callbacks())
	m.mu.Unlock()
	found.add(concurrency, float64(m.engine.Concurrency()))
	for _, t := range m.engine.Places().Causes {
		found.add(placeShare, t.Share, string(t.Cause))
	}
	addSlots(found, m.engine.SlotCounts())
	for _, one := range m.engine.BusiestSlots(m.hosts) {
		found.add(hostRequests, float64(one.Pending), one.Name, "waiting")
		found.add(hostRequests, float64(one.InFlight), one.Name, "in_flight")
		found.add(hostDelay, one.Delay.Seconds(), one.Name)
	}
	found.send(metrics)
	histograms.send(metrics)
	for _, h := range m.phases.Load() {
		h.Collect(metrics)
	}
}

// addRun adds what a run has counted, without its fields. Called with mu held.
func (m *Metrics) addRun(found scrape, summary *tegenaria.Summary) {
	s := &summary.Stats
	if summary.Spider != "" { // there has been a run
		found.add(runInfo, 1, summary.Spider)
		found.add(runStart, float64(s.StartTime.UnixMilli())/1000)
	}
	found.add(runPaused, 0)
	if summary.Status == tegenaria.StatusPaused.String() {
		found.add(runPaused, 1)
	}
	found.count(discovered, s.Discovered)
	found.count(requestsOpen, s.Pending, "pending")
	found.count(requestsOpen, s.Delayed, "delayed")
	found.count(requestsOpen, s.InFlight, "in_flight")
	for o := tegenaria.Fetched; o <= tegenaria.GaveUp; o++ {
		found.count(requests, s.Outcomes[o], o.String(), "")
	}
	for key, n := range s.Reasons { // "filtered: offsite"
		outcome, reason, _ := strings.Cut(key, ": ")
		found.count(requests, -n, outcome, "")
		found.count(requests, n, outcome, m.reasons.label(reason))
	}
	found.count(downloads, s.RequestDownloaded)
	for code, n := range s.Status {
		found.count(responses, n, m.codes.label(strconv.Itoa(code)))
	}
	found.count(responseBytes, s.Bytes)
	found.count(damaged, s.Damaged)
	found.count(retries, s.Retries)
	found.count(robotsRequests, s.RobotsRequests)
	found.count(items, s.ItemScraped, "scraped")
	found.count(items, s.ItemDropped, "dropped")
	found.count(items, s.ItemFailed, "failed")
	for key, n := range s.ItemReasons { // "dropped: price: min"
		result, reason, _ := strings.Cut(key, ": ")
		found.count(itemsLost, n, result, m.itemReasons.label(reason))
	}
	found.count(itemsOpen, s.Items)
	for at, n := range m.errors.Load().list() {
		found.count(failures, n, m.stages.label(string(at)))
	}
	for at, n := range s.Abandoned {
		found.count(abandoned, int64(n), string(at))
	}
	for _, f := range summary.Feeds {
		found.count(feedItems, f.Written, f.Name, "written")
		found.count(feedItems, f.Duplicate, f.Name, "duplicate")
		found.count(feedItems, f.Failed, f.Name, "failed")
	}
}

// addFields adds the counts of fields. Called with mu held.
func (m *Metrics) addFields(found scrape, fields map[string]tegenaria.FieldStats) {
	for key, f := range fields { // "Book.price"
		itemType, field, _ := strings.Cut(m.fields.label(key), ".")
		found.count(fieldItems, f.Items, itemType, field)
		found.count(fieldFilled, f.Filled, itemType, field)
		found.count(fieldLookedFor, f.LookedFor, itemType, field)
		found.count(fieldMissing, f.Missing, itemType, field)
		found.count(fieldDefaulted, f.Defaulted, itemType, field)
		found.count(fieldFailed, f.Failed, itemType, field)
	}
}

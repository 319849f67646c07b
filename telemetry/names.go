package telemetry

import "github.com/prometheus/client_golang/prometheus"

// metric is one of the metrics that are read from the engine.
type metric struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	labels []string
}

func counter(name, help string, labels ...string) *metric {
	return &metric{prometheus.NewDesc("tegenaria_"+name, help, labels, nil), prometheus.CounterValue, labels}
}

func gauge(name, help string, labels ...string) *metric {
	return &metric{prometheus.NewDesc("tegenaria_"+name, help, labels, nil), prometheus.GaugeValue, labels}
}

// downloadSeconds is the name of the histograms.
const downloadSeconds = "tegenaria_download_duration_seconds"

var (
	runInfo     = gauge("run_info", "Always 1. The label is the spider of the run.", "spider")
	runStart    = gauge("run_start_time_seconds", "When the run began, in seconds since 1970.")
	runPaused   = gauge("run_paused", "1 while the run is paused, else 0.")
	concurrency = gauge("concurrency", "How many downloads may run at once.")

	placeShare = gauge("place_share", "Share of the time of all places for downloads since the run began, from 0 to 1, "+
		"by what they were used for or why they were free.", "cause")

	discovered   = counter("requests_discovered_total", "Requests that were sent by user code, redirect targets, and requests of Fetch.")
	requests     = counter("requests_total", "Requests that have ended, by outcome and reason.", "outcome", "reason")
	requestsOpen = gauge("requests_open", "Requests that have not ended.", "state")

	downloads      = counter("downloads_total", "Downloads that were started.")
	responses      = counter("responses_total", "Responses by status code.", "code")
	responseBytes  = counter("response_bytes_total", "Bytes of the bodies of responses.")
	damaged        = counter("responses_damaged_total", "Responses whose body was not whole.")
	retries        = counter("retries_total", "Requests that were put back to run again.")
	robotsRequests = counter("robots_requests_total", "Downloads of robots.txt.")

	items     = counter("items_total", "Items by what became of them.", "result")
	itemsLost = counter("items_lost_total", "Items that were dropped or failed, by reason.", "result", "reason")
	itemsOpen = gauge("items_open", "Items on their way through the pipelines.")

	failures  = counter("errors_total", "Failures of requests, items and callbacks, by stage.", "stage")
	abandoned = counter("callbacks_abandoned_total", "Callbacks that did not return and were given up.", "stage")

	callbackErrors = counter("callback_errors_total", "Calls of callbacks that panicked or returned an error that is a failure.", "stage", "callback")

	fieldItems     = counter("field_items_total", "Items of the type of the field that passed all pipelines.", "type", "field")
	fieldFilled    = counter("field_filled_total", "Items whose field is filled.", "type", "field")
	fieldLookedFor = counter("field_looked_for_total", "Times that the field was looked for.", "type", "field")
	fieldMissing   = counter("field_missing_total", "Times that the field was not on the page.", "type", "field")
	fieldDefaulted = counter("field_defaulted_total", "Times that the field was not on the page and has its default.", "type", "field")
	fieldFailed    = counter("field_failed_total", "Times that the text of the field could not be converted.", "type", "field")

	feedItems = counter("feed_items_total", "Items that came to a feed, by what became of them.", "feed", "result")

	slots = gauge("slots", "Slots (usually hosts) by what their requests wait for.", "state")

	hostRequests = gauge("host_requests", "Requests of the busiest hosts.", "host", "state")
	hostDelay    = gauge("host_delay_seconds", "The delay in force between two downloads from a busy host.", "host")
)

// callbackSeconds is the histogram of the times of callbacks.
var callbackSeconds = prometheus.NewDesc("tegenaria_callback_duration_seconds",
	"How long callbacks took, without what they waited for the engine.", []string{"stage", "callback"}, nil)

// all has each of them, without the histograms.
var all = []*metric{
	runInfo, runStart, runPaused, concurrency, placeShare, discovered, requests, requestsOpen, downloads, responses, responseBytes, damaged, retries,
	robotsRequests, items, itemsLost, itemsOpen, failures, abandoned, callbackErrors, fieldItems, fieldFilled, fieldLookedFor, fieldMissing, fieldDefaulted,
	fieldFailed, feedItems, slots, hostRequests, hostDelay,
}

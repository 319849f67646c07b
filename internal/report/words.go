package report

import (
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/remedy"
)

// Message is what a line of the log says of a failure beside its fields: where it happened and why. The text is without the URL, since
// the line has that as a field. panicked says that it is a panic of user code.
//
//	Message("parse", "no price", false) // "failure in the parser: no price"
func Message(stage, text string, panicked bool) string {
	thing := "failure"
	if panicked {
		thing = "panic"
	}
	switch place := placeOf(stage); {
	case place != "":
		return thing + " " + place + ": " + text
	case panicked:
		return thing + ": " + text
	}
	return text
}

// placeOf says where a failure of a stage happened, in words that need no knowledge of stages; "" if that is the request itself.
func placeOf(stage string) string {
	if place, known := places[stage]; known {
		return place
	}
	return stage
}

var places = map[string]string{
	"start": "in the start of the spider", "accept": "when a request was sent", "robots": "when asking for robots.txt",
	"request": "in ProcessRequest of a middleware", "download": "", "response": "in ProcessResponse of a middleware", "status": "",
	"redirect": "when a redirect was followed", "parse": "in the parser", "pipeline": "in a pipeline", "error": "in an ErrorHandler",
	"event": "in a func of Events", "settle": "when it was stored", "open": "when the crawl was opened", "close": "when the crawl was closed",
}

// Code says in words whose code works at a stage.
func Code(stage string) string {
	if code, known := codes[stage]; known {
		return code
	}
	return stage
}

var codes = map[string]string{
	"start": "the start of the spider", "accept": "taking a request", "robots": "asking for robots.txt",
	"request": "ProcessRequest of a middleware", "download": "the downloader", "response": "ProcessResponse of a middleware",
	"redirect": "following a redirect", "parse": "the parser", "pipeline": "a pipeline", "error": "an ErrorHandler",
	"event": "a func of Events", "settle": "storing the outcome", "open": "opening a part", "close": "closing a part",
}

// Failed says that the code of a stage failed at a URL, which may be empty.
//
//	Failed("parse", "http://a.test/", "no price") // "the parser of http://a.test/: no price"
func Failed(stage, url, text string) string {
	switch {
	case url == "":
		return Code(stage) + ": " + text
	case stage == "robots" || stage == "status":
		return url + ": " + text
	case stage == "accept":
		return "request \"" + url + "\": " + text
	case stage == "download":
		return "downloading " + url + ": " + text
	case stage == "parse":
		return "the parser of " + url + ": " + text
	}
	return Code(stage) + ", for " + url + ": " + text
}

// OpeningError is the failure to open a part of a crawl.
type OpeningError struct {
	What string // "the output *feed.Feed"
	Err  error
}

// Error says which part it is, and why.
func (e *OpeningError) Error() string { return e.What + " cannot be opened: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *OpeningError) Unwrap() error { return e.Err }

// causes say in words what the short names of causes stand for. Other causes are said as they are.
var causes = map[string]sentence{
	"certificate": said("the certificate is not trusted"), "proxy": said("the proxy failed"),
	"private address": said("the host is in a private network"), "panic": said("it panicked"), "timeout": said("the server took too long"),
	OverNodes: said("page over %s", remedy.Nodes), OverAttributes: said("page over %s", remedy.Attributes),
}

// The causes of failures on pages that exceed a bound.
const (
	OverNodes      = "page over Limits.Nodes"
	OverAttributes = "page over Limits.Attributes"
)

// CauseInWords says what the short name of a cause stands for.
func CauseInWords(cause string) string {
	if words, known := causes[cause]; known {
		return words.String()
	}
	return cause
}

// outcomes say how requests ended, and why, where the names of statistics would need an explanation.
var outcomes = map[string]string{"gave-up": "given up", "robots": "refused by robots.txt"}

// reasons say the same of the parts of an outcome. One of "" adds nothing.
var reasons = map[string]string{
	"forbidden": "", "status": "status code", "parse": "in the parser", "pipeline": "in a pipeline", "settle": "when stored", "request": "in a middleware",
	"response": "in a middleware", "robots": "robots.txt", "url": "unusable URL", "scheme": "other scheme than http and https", "url-length": "too long a URL", "accept": "when sent",
}

// InWords returns a number of requests that ended in an outcome, and for which reasons, in words. The names are those of statistics:
// a reason is "filtered: offsite", and those of other outcomes are left out.
func InWords(outcome string, count int64, why map[string]int64) Tally {
	t := Tally{Name: outcome, Count: count}
	if words, known := outcomes[outcome]; known {
		t.Name = words
	}
	for name, n := range why {
		reason, its := strings.CutPrefix(name, outcome+": ")
		if !its {
			continue
		}
		part := Tally{Name: strings.TrimPrefix(reason, "robots: "), Count: n}
		if words, known := reasons[part.Name]; known {
			part.Name = words
		}
		if part.Name != "" {
			t.Parts = append(t.Parts, part)
		}
	}
	return t
}

// Bounds are the limits that a user has set; 0 is none.
type Bounds struct {
	Counts    []Tally // by the names of their fields
	OnlySeeds bool
	Time      time.Duration
	Bytes     int64
}

// Words lists them: "limits: Pages 100, Time 1h".
func (b Bounds) Words() string {
	var parts []string
	for _, n := range b.Counts {
		if n.Count > 0 {
			parts = append(parts, n.Name+" "+Number(n.Count))
		}
	}
	if b.OnlySeeds {
		parts = append(parts, "only seeds")
	}
	if b.Time > 0 {
		parts = append(parts, "Time "+Duration(b.Time))
	}
	if b.Bytes > 0 {
		parts = append(parts, "Bytes "+Bytes(b.Bytes))
	}
	if len(parts) == 0 {
		return "no limits"
	}
	return "limits: " + strings.Join(parts, ", ")
}

// Manners are how a crawl treats hosts.
type Manners struct {
	PerHost                    int // requests at once
	Delay                      time.Duration
	AutoThrottle, IgnoreRobots bool
}

// Words says it: "at most 8 requests at once per host, 1s between them, robots.txt is obeyed".
func (m Manners) Words() string {
	text := "at most " + Count(int64(m.PerHost), "request") + " at once per host"
	if m.Delay > 0 {
		text += ", " + Duration(m.Delay) + " between them"
	}
	if m.AutoThrottle {
		text += ", AutoThrottle"
	}
	if m.IgnoreRobots {
		return text + ", robots.txt is ignored"
	}
	return text + ", robots.txt is obeyed"
}

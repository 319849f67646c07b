package tegenaria

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/funcname"
	"github.com/tegenaria/tegenaria/internal/remedy"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/robotsgate"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// The errors with which a run ends, and those that its callers are told.

// NothingError is the error of Run when all work is done and nothing has come of it, in this run of the job and all
// earlier ones. Either there was no page: the spider sent no request, or every request was refused or failed. Or there
// were pages, every parser that was given one has failed, and no item passed the pipelines; this is not found out where
// several programs share a job.
// A page is a response that was given to a parser or to the caller of Fetch; a response from a cache counts. With
// [EngineWithEmptyOK] Run returns nil instead.
type NothingError struct {
	Spider   string
	Unparsed int64       // how often a parser failed; 0: there was no page
	Seeds    []SeedError // the first 10 requests of this run that ended without a page, or whose parser failed
	More     int64       // how many others did
}

// SeedError describes a request that has yielded nothing, in a [NothingError].
type SeedError struct {
	URL     string
	Outcome Outcome
	Reason  string // of the outcome: "offsite", the stage of a failure
	Err     error  // of a failure; nil if there is none
	Remedy  string // what to do; "" if nothing is known
}

// nothing makes the error of a spider that has got no page or, if unparsed is not 0, whose parsers have failed so
// often.
func nothing(spider string, unparsed int64, ended func() ([]report.Seed[Outcome], int64)) error {
	seeds, more := ended()
	e := &NothingError{Spider: spider, Unparsed: unparsed, More: more}
	for _, s := range seeds {
		e.Seeds = append(e.Seeds, SeedError(s))
	}
	return e
}

// Error lists the requests, each with its reason and the remedy.
func (e *NothingError) Error() string { return errtext.Module + e.WithoutURL("") }

// WithoutURL is Error without "tegenaria: ".
func (e *NothingError) WithoutURL(string) string {
	var b strings.Builder
	switch {
	case e.Unparsed > 0:
		fmt.Fprintf(&b, "spider %q got pages, and its parsers failed on all of them (%s)", e.Spider, report.Count(e.Unparsed, "failure"))
	case len(e.Seeds) == 0:
		fmt.Fprintf(&b, "spider %q got no page: it sent no request; give it URLs, or send requests in StartRequest", e.Spider)
	default:
		fmt.Fprintf(&b, "spider %q got no page", e.Spider)
	}
	for _, s := range e.Seeds {
		fmt.Fprintf(&b, "\n  %s", s.Error())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\n  and %s more", report.Count(e.More, "request"))
	}
	return b.String()
}

// Unwrap returns the errors of the seeds that have one.
func (e *NothingError) Unwrap() []error {
	var errs []error
	for _, s := range e.Seeds {
		if s.Err != nil {
			errs = append(errs, s.Err)
		}
	}
	return errs
}

// Error names the URL, the outcome or the error, and the remedy.
func (e *SeedError) Error() string {
	text := e.Outcome.String()
	var robots *robotsgate.UnreachableError
	switch {
	case errors.As(e.Err, &robots):
		text = errtext.Beside(robots.Err, robots.Origin+"/robots.txt")
	case e.Err != nil:
		text = errtext.Beside(urlx.Cause(rootCause(e.Err)), urlx.Redact(e.URL))
	case e.Reason != "":
		text += " (" + e.Reason + ")"
	}
	if e.Remedy != "" {
		text += ": " + e.Remedy
	}
	if e.URL == "" {
		return text
	}
	return fmt.Sprintf("%s: %s", urlx.Redact(e.URL), text)
}

// StoppedError is the error of Run when a crawl was stopped before its work was done: by Stop, a signal, a limit, a
// full queue or CloseSpider.
type StoppedError struct {
	Reason string // "stopped", "limit: pages", "queue full", CloseSpider's reason …
	Err    error  // the cause, if there is a typed one
}

// Error says the reason.
func (e *StoppedError) Error() string { return errtext.Module + e.WithoutURL("") }

// WithoutURL is Error without "tegenaria: ".
func (e *StoppedError) WithoutURL(shown string) string {
	var interrupted *InterruptedError
	switch {
	case errors.As(e.Err, &interrupted):
		return interrupted.Error()
	default:
		return "crawl stopped: " + e.Reason + errtext.Because(e.Err, shown)
	}
}

// Unwrap returns the cause.
func (e *StoppedError) Unwrap() error { return e.Err }

// StopError is the error of Stop when the crawl outlasts the grace, most likely because it waits for the caller of
// Stop.
type StopError struct{ Waited time.Duration }

// Error names the remedy.
func (e *StopError) Error() string { return errtext.Module + e.WithoutURL("") }

// WithoutURL is Error without "tegenaria: ".
func (e *StopError) WithoutURL(string) string {
	return fmt.Sprintf("the crawl has not ended within %s; if Stop was called in a callback, the crawl waits for that "+
		"one: return CloseSpider instead, or call \"go e.Stop(ctx)\"", e.Waited)
}

// RunError is the error of Run when a crawl could not be started or its store failed.
type RunError struct {
	Op  string // "wiring" (the configuration), "start", "store"
	Err error  // joined if there are several
}

// Error names the step that failed and the cause.
func (e *RunError) Error() string { return errtext.Module + e.WithoutURL("") }

// WithoutURL is Error without "tegenaria: ".
func (e *RunError) WithoutURL(shown string) string {
	if _, opening := e.Err.(*report.OpeningError); opening {
		return errtext.Beside(e.Err, shown)
	}
	step := e.Op
	switch step {
	case "wiring":
		step = "configuration"
	case "store":
		step = "storing requests or items failed"
	}
	return step + errtext.Because(e.Err, shown)
}

// Unwrap returns the cause.
func (e *RunError) Unwrap() error { return e.Err }

// AbandonedError says how many callbacks were abandoned because they did not return in time. Their goroutines run on
// until they return, and have no effect any more. The request of such a callback has failed with the reason "abandoned",
// without its ErrorHandlers; in a durable job it runs again, as a retry.
type AbandonedError struct{ Stages map[Stage]int }

// Error lists the stages, each with its number of callbacks.
func (e *AbandonedError) Error() string { return errtext.Module + e.WithoutURL("") }

// WithoutURL is Error without "tegenaria: ".
func (e *AbandonedError) WithoutURL(string) string {
	parts := make([]string, 0, len(e.Stages))
	for s, n := range e.Stages {
		parts = append(parts, fmt.Sprintf("%s (%d)", report.Code(string(s)), n))
	}
	slices.Sort(parts)
	return "code that did not return in time was left behind: " + strings.Join(parts, ", ")
}

// abandonedBy is the error of one callback that was given up, because of a limit of its own unless tooLate is nil.
func abandonedBy(at Stage, tooLate error) error {
	abandoned := &AbandonedError{map[Stage]int{at: 1}}
	if tooLate != nil {
		return fmt.Errorf("%w; %w", tooLate, abandoned)
	}
	return abandoned
}

// InterruptedError is the cause of a [*StoppedError] when a signal, such as that of Ctrl-C, has stopped the crawl.
type InterruptedError struct {
	Waiting int64 // requests that were not crawled
	Durable bool  // they are stored: the next run of the job goes on with them
}

// Error says how to go on.
func (e *InterruptedError) Error() string {
	if e.Durable {
		return fmt.Sprintf("interrupted: run the same command to go on (%s waiting)", report.Count(e.Waiting, "request"))
	}
	return fmt.Sprintf("interrupted: what waited in memory is lost (%s); with a queue on disk (%s) the same command goes on",
		report.Count(e.Waiting, "request"), remedy.DiskQueue)
}

// MissedErrorsError is sent on an ErrorChan whose reader was too slow: Count errors were not
// delivered before the next one.
type MissedErrorsError struct{ Count int64 }

// Error says how many.
func (e *MissedErrorsError) Error() string { return errtext.Module + e.WithoutURL("") }

// WithoutURL is Error without "tegenaria: ".
func (e *MissedErrorsError) WithoutURL(string) string {
	return fmt.Sprintf("%s not delivered: the reader of ErrorChan was too slow", report.Count(e.Count, "error"))
}

// UnnamedParserError ends a run with a durable cache, in a [*RunError], when a request has a parser that has no name:
// the cache stores parsers by their names. The page that sent the request is not settled: after the missing line was
// added, the job continues with that page.
type UnnamedParserError struct {
	URL  string // of the request
	Func string // the parser, or what [Handle] made it of: "main.detail", "main.(*shop).detail", "main.main.func1"
	Line string // what to write, with a name that can be replaced by any other

	made string // "made by Handle of ", if it was
}

// Error contains the line to add.
func (e *UnnamedParserError) Error() string {
	return fmt.Sprintf("the parser of %s, %s%s, has no name under which a durable cache can store it; write %s",
		urlx.Redact(e.URL), e.made, e.Func, e.Line)
}

// unnamedParser makes the error of a request whose parser has no name. namer is how users call the method that names
// parsers.
func unnamedParser(r *Request, namer string) error {
	h, handled := insideOf(r.parser)
	made, wrap := "made by Handle of ", "tegenaria.Handle(%s)"
	if !handled {
		h, made, wrap = funcname.Of(r.parser), "", "%s"
	}
	d := funcname.Describe(h)
	e := &UnnamedParserError{URL: r.Url, Func: d.Symbol, Line: d.Register(namer, wrap), made: made}
	if namer != namerOn {
		e.Line += "; or make the spider by NewSpider, and call its method On in the same way"
	}
	return e
}

const namerOn = "spider.On"

// namerOf returns how users call the method that names parsers of this spider.
func namerOf(spider SpiderInterface) string {
	type namer interface {
		On(name string, parser Parser) *Spider
	}
	if _, ok := spider.(namer); ok {
		return namerOn
	}
	return "engine.RegisterParser"
}

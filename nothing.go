package tegenaria

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/robotsgate"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// NothingError is the error of Run when all work is done and the job, in this run and all earlier ones, has fetched no page: the
// spider sent no request, or every request was refused or failed. A page is a response that was given to a parser or to the caller
// of Fetch; a response from a cache counts. With [EngineWithEmptyOK] Run returns nil instead.
type NothingError struct {
	Spider string
	Seeds  []SeedError // the first 10 requests that ended without a page
	More   int64       // how many others did
}

// SeedError describes a request that ended without a page, in a [NothingError].
type SeedError struct {
	URL     string
	Outcome Outcome
	Reason  string // of the outcome: "offsite", the stage of a failure
	Err     error  // of a failure; nil if there is none
	Remedy  string // what to do; "" if nothing is known
}

// Error lists the requests, each with its reason and the remedy.
func (e *NothingError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tegenaria: spider %q got no page", e.Spider)
	if len(e.Seeds) == 0 {
		b.WriteString(": it sent no request; give it URLs, or send requests in StartRequest")
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
		text = robots.Err.Error()
	case e.Err != nil:
		text = report.Beyond(urlx.Cause(rootCause(e.Err)).Error(), urlx.Redact(e.URL))
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

// rootCause returns the error that a request was given up for, which other failures of it may hold.
func rootCause(err error) error {
	for inner := (*HandleError)(nil); errors.As(err, &inner) && inner.Err != nil; {
		err = inner.Err
	}
	return err
}

// mostSeeds is how many seeds an error names.
const mostSeeds = 10

// noPages remembers how requests ended as long as no page was read.
type noPages struct {
	mu    sync.Mutex
	errs  map[string]error // of failures, by URL; at most as many as seeds
	seeds []SeedError
	more  int64
}

// failed notes the error of a request.
func (n *noPages) failed(herr *HandleError) {
	if herr.Request == nil && herr.Stage != StageAccept {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.errs == nil {
		n.errs = make(map[string]error)
	}
	url := rawURL(herr.Request)
	_, known := n.errs[url]
	if known && herr.Stage == StageError || !known && len(n.errs) >= mostSeeds { // a failing handler does not hide why it was called
		return
	}
	n.errs[url] = herr
}

// rawURL returns the URL of a request as it was given; "" if there is no request.
func rawURL(r *Request) string {
	if r == nil {
		return ""
	}
	return r.Url
}

// settled notes the end of a request, which is nil if a Context without one was sent.
func (n *noPages) settled(r *Request, outcome Outcome, reason string, wired func() report.Wired) {
	n.mu.Lock()
	defer n.mu.Unlock()
	url := rawURL(r)
	known := slices.IndexFunc(n.seeds, func(s SeedError) bool { return s.URL == url })
	again := known >= 0 && n.seeds[known].Outcome == Redirected // a redirect back to it, whose end says more
	if !again && (known >= 0 || len(n.seeds) >= mostSeeds) {    // an error handler has sent it again, say
		n.more++
		return
	}
	seed := SeedError{URL: url, Outcome: outcome, Reason: reason, Remedy: report.Remedy(outcome.String(), reason)}
	if err := n.errs[url]; err != nil && outcome != Robots {
		seed.Err = err.(*HandleError).Err
		cause, _ := causeOf(err.(*HandleError))
		if advice := report.Advice(report.Failure{Cause: cause}, wired()); advice != "" {
			seed.Remedy = advice
		}
	}
	if again {
		n.seeds[known] = seed
		return
	}
	n.seeds = append(n.seeds, seed)
}

// err returns the error of a spider that has got no page.
func (n *noPages) err(spider string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return &NothingError{Spider: spider, Seeds: n.seeds, More: n.more}
}

// causeOf names the cause of a failure in a few words, so that failures of one cause can be counted together: without the URL,
// which is a field of its own. The text is the cause in its own words, if the few words were made of these.
func causeOf(herr *HandleError) (cause, text string) {
	var status *StatusError
	var robots *robotsgate.UnreachableError
	var loop *RedirectLoopError
	var many *TooManyRedirectsError
	var panicked *PanicError
	switch err := reasonFor(herr); {
	case errors.As(err, &status):
		return "status " + strconv.Itoa(status.Status), ""
	case errors.As(err, &panicked) || herr.Stack != nil:
		return "panic", ""
	case errors.As(err, &loop):
		return "redirect loop", ""
	case errors.As(err, &many):
		return "too many redirects", ""
	case errors.As(err, &robots):
		err = robots.Err
		fallthrough
	default:
		if cause := fetch.Cause(err); cause != "" && !(isUsers[herr.Stage] && err == herr.Err) {
			return cause, ""
		}
		url := urlOf(herr.Request)
		text := report.Message("", urlx.Cause(err).Error(), url, false)
		return report.Short(text, url), report.Cut(text, mostOfText)
	}
}

// isUsers are the stages whose errors are the user's own: what an error of the network means there, only the user knows.
var isUsers = map[Stage]bool{StageParse: true, StagePipeline: true, StageStart: true, StageError: true}

// mostOfText bounds what the table at the end says of a cause, in bytes.
const mostOfText = 300

// urlOf names a request in the log.
func urlOf(r *Request) string {
	if r == nil {
		return ""
	}
	return urlx.Redact(r.Url)
}

package tegenaria

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// maxCrashes is how often in a row the process may die while a request is in flight before the request is given up.
const maxCrashes = 3

// ProcessDiedError is the failure of a request that a durable job gives up because the process died each time it was in
// flight, the last times alone. It is logged and sent to ErrorChan and Events.Error when it is stored. ErrorMiddlewares
// and ErrorHandlers are not called: they may be the code that kills the process.
type ProcessDiedError struct {
	URL   string
	Times int // in a row
}

// Error says what to do.
func (e *ProcessDiedError) Error() string {
	return fmt.Sprintf("%s: %s is a dead letter now; look for what ends the process in its parser, its pipelines and the "+
		"memory that it takes", e.reason(), urlx.Redact(e.URL))
}

// reason is the reason that the request is settled with.
func (e *ProcessDiedError) reason() string {
	return fmt.Sprintf("the process died %d times while it was in flight", e.Times)
}

// suspectsLogged bounds how many suspects are named in the log.
const suspectsLogged = 50

// flights notes in a durable cache which requests network and user code see, so that the next run knows those that were
// in flight when the process died. Such a request is a suspect: it runs alone.
type flights struct {
	cache    FlightRecorder // nil: the cache is none, and nothing is noted
	frontier *frontier.Frontier[*job]
	ledger   *frontier.Ledger
	log      *report.Log
	done     func(j *job) // of the settler, which is made later

	failed atomic.Bool // a flight could not be noted, which was logged
}

// begin notes that network and user code see a job from now on.
func (f *flights) begin(j *job) {
	if f.cache != nil {
		j.flown = true
		f.note(&j.rec, FlightBegun)
	}
}

// pause notes that a job waits in line again.
func (f *flights) pause(j *job) {
	if j.flown {
		j.flown = false
		f.note(&j.rec, FlightPaused)
	}
}

// end notes that jobs got through: no user code sees them any more.
func (f *flights) end(list []ended) {
	if f.cache == nil {
		return
	}
	for i := range list {
		e := &list[i]
		if e.flown {
			f.note(&e.Record, FlightOver)
		}
		if e.Record.Crashes > 0 {
			f.frontier.GotThrough(func(j *job) bool { return j.rec.Key == e.Record.Key })
		}
	}
}

// note has the cache note a flight. A failure is logged once: the crawl goes on without notes.
func (f *flights) note(rec *Record, now Flight) {
	if err := f.cache.RecordFlight(rec, now); err != nil && !f.failed.Swap(true) {
		f.log.Warnf("a request that kills the process will not be recognised: %v", err)
	}
}

// takeSuspects lines up the requests that were in flight when the process died.
func (f *flights) takeSuspects(state State, newJob func(Record) *job) {
	if state.Unread != nil {
		f.log.Warn(state.Unread)
	}
	f.ledger.Resume(int64(len(state.Suspects)), 0)
	for i, rec := range state.Suspects {
		if i == suspectsLogged {
			rest := int64(len(state.Suspects) - i)
			f.log.Lines([]report.Line{{Warn: true, Text: "in flight when the process died: " + report.Count(rest, "more request"),
				Numbers: report.Numbers{"count": rest}}})
		}
		f.ledger.Take()
		f.suspect(newJob(rec), i < suspectsLogged)
	}
}

// suspect lines a suspect up, or gives it up if the process died with it too often. The job is in flight.
func (f *flights) suspect(j *job, tell bool) {
	request, err := j.rec.Request() // without the types of user code
	if err != nil {
		request = NewRequest("", GET, nil)
	}
	if j.rec.Crashes >= maxCrashes {
		died := &ProcessDiedError{URL: request.Url, Times: j.rec.Crashes}
		j.ctx = &Context{Request: request, Ctx: context.Background(), CtxId: identity.NewID().String()}
		j.died = &HandleError{CtxId: j.ctx.CtxId, Err: died, Request: request, Stage: StageOpen}
		j.decide(Failed, died.reason())
		f.done(j)
		return
	}
	if tell {
		f.log.Crashed(urlOf(request), j.rec.Crashes)
	}
	if !f.frontier.LineUp(j) {
		f.done(j)
	}
}

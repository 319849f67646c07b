package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/fieldcount"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// job is one attempt at one request, from the cache to its end. It is settled when nothing of it
// is open any more: its way through fetch and parse, its items, and the Fetch calls it waits for.
type job struct {
	pages   *reader // where it lives
	rec     Record  // that of an inline request has its URL alone
	ctx     *Context
	id      string // the CtxId of its Context when its user code began
	caller  *job   // of an inline request: it lives and is settled with this one
	emitted identity.Emissions

	claim frontier.Claim[*job]   // its slot and its fetch worker
	hold  fetch.Hold             // its share of Limits.BodiesInFlight
	call  guard.Call             // the user code it is in
	inbox *inbox                 // receives the requests that its user code sends
	quiet inbox                  // the first of those that have no receiver at once
	outs  atomic.Pointer[output] // those that have held references back; the newest first
	attempt
	fetching

	fields  atomic.Pointer[fieldcount.Tally] // counts of fields of its items; nil: there are none
	died    *HandleError                     // it is given up because the process died with it too often
	ofItem  bool                             // it stands for the pipelines of an item, which have no place
	parts   frontier.Parts                   // that are not done
	mu      sync.Mutex                       // guards the fields below, and spooled
	verdict                                  // on its request
}

// attempt is what an exchange keeps of a job's request.
type attempt struct {
	prepared   bool              // it has passed the middlewares
	announced  bool              // RequestStarted was called for its download
	flown      bool              // the cache knows that it is seen
	copy       *Response         // of the robots.txt that it asks for, which the engine has asked for because of it; or nil
	loan       *guard.Loan       // of its ResponseWriter; nil: it has none
	started    time.Time         // when its download began, zero if it did not
	downloader *downloaderModule // that answered
	theirs     *asking           // for its download; nil: to be made
	sends      atomic.Bool       // its user code has sent an item or a request
}

// verdict is what becomes of a request.
type verdict struct {
	outcome Outcome // 0: undecided, it goes back to the cache
	sealed  bool    // it stays undecided: something of it was lost because the crawl ends
	reason  string
	status  int         // of its response
	retry   *RetryError // it goes back to the cache, to run again
	lost    error       // why an item of it could not be sent
}

// fetching is what a job has to do with inline requests.
type fetching struct {
	inCall  *frontier.Call[*job] // that an inline request belongs to
	calls   frontier.Calls[*job] // for which the job stays open
	place   frontier.Place       // among the parsers, which is lent while they wait
	spooled []*Response          // of its inline requests: their files are removed when it ends; the job's mutex guards it
}

// newJob makes the job of a record. Its request is decoded when it is fetched.
func newJob(rd *reader, rec Record) *job {
	var j *job
	if rd.fetcher.layers.top != nil { // each download needs one, and this makes no garbage of its own
		layered := new(struct {
			job
			asking
		})
		j, layered.job.theirs = &layered.job, &layered.asking
	} else {
		j = new(job)
	}
	j.pages, j.rec, j.hold.Slot = rd, rec, rec.Slot
	j.claim.Slot, j.claim.Priority, j.claim.Crashes = rec.Slot, rec.Priority, rec.Crashes
	j.call.Owner = j
	j.parts.Add()
	return j
}

// begin gives the job its Context: ctx as decoded, with a context of its own that ends with the crawl's
// work, and with the user's if there is one.
func (j *job) begin(ctx *Context) {
	j.call.Life.Parent = j.pages.stop.work
	var own context.Context = &j.call.Life
	if user := ctx.Ctx; user != nil {
		own = j.call.Life.With(user)
	}
	ctx.Ctx, ctx.run = own, j
	if ctx.CtxId == "" {
		ctx.CtxId = identity.NewID().String()
	}
	r := ctx.Request
	r.Priority, r.Depth, r.Attempt, r.parent = j.rec.Priority, j.rec.Depth, j.rec.Attempt, j.rec.parentPage()
	j.ctx = ctx
}

// root returns the job that this one is settled with.
func (j *job) root() *job {
	for j.caller != nil {
		j = j.caller
	}
	return j
}

// MarkAsProcessed ends the job's way through the stages: it is the ledger's hook. The stages call it
// once for each job.
func (j *job) MarkAsProcessed() { j.end() }

// openToSend opens the job for an item or a request that its user code has sent. It returns false if it has settled already, or is
// lost.
func (j *job) openToSend() bool {
	if !j.parts.Open() {
		return false
	}
	if !j.sends.Load() { // a plain look is cheaper than a store for each link
		j.sends.Store(true)
	}
	return true
}

// done ends one part of the job. The last one has it settled.
func (j *job) done() {
	if j.parts.Close(j.pages.ledger) {
		j.pages.settler.add(j)
	}
}

// end is done for a caller without locks, which may settle the job by itself.
func (j *job) end() {
	if j.parts.Close(j.pages.ledger) {
		j.pages.settler.end(j)
	}
}

// decide sets the outcome unless there is one.
func (j *job) decide(outcome Outcome, reason string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.outcome == 0 && j.retry == nil && !j.sealed {
		j.outcome, j.reason = outcome, reason
	}
}

// undecided reports whether the job goes on.
func (j *job) undecided() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.outcome == 0 && j.retry == nil && !j.sealed
}

// runAgain makes the job go back to the cache when it ends.
func (j *job) runAgain(retry *RetryError) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.outcome == 0 && !j.sealed {
		j.retry = retry
	}
}

// leaveUndecided makes the job go back to the cache as it is, whatever was decided.
func (j *job) leaveUndecided() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.outcome, j.reason, j.retry, j.sealed = 0, "", nil, true
}

// loseItem notes that an item could not be sent.
func (j *job) loseItem(why error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lost = why
}

// lostItem returns why an item could not be sent, nil if all could.
func (j *job) lostItem() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lost
}

// Claim returns what the job has of the frontier.
func (j *job) Claim() *frontier.Claim[*job] { return &j.claim }

// release releases what the job holds of the frontier: its slot and its worker.
func (j *job) release() {
	j.mu.Lock()
	unused := j.caller == nil && j.status == 0
	j.mu.Unlock()
	j.pages.frontier.Release(j, unused)
}

// requeue puts the job into its slot's queue, ahead of what the cache holds; it is taken again. In a stopping crawl it is
// done.
func (j *job) requeue() {
	j.pages.flights.pause(j)
	if !j.pages.frontier.Requeue(j) {
		j.done()
	}
}

// Calls returns what the job keeps for the Lane.
func (j *job) Calls() *frontier.Calls[*job] { return &j.calls }

// Open opens the job for a call of Fetch. It returns false if it has settled already, or was abandoned.
func (j *job) Open() bool { return !j.call.GivenUp() && j.parts.Open() }

// Park keeps a job whose robots.txt another job asks for: it holds no worker, and its slot is parked.
func (j *job) Park() {
	j.parts.Add()
	j.pages.flights.pause(j)
	j.pages.frontier.Park(j.rec.Slot)
	j.release()
}

// run runs user code of the job that the watch keeps an eye on. It returns false if the code was abandoned, or must not run any
// more because the crawl gives up.
func (j *job) run(w *guard.Watch, at Stage, code func()) bool {
	call := &j.call
	if call.GivenUp() {
		return false
	}
	if !call.Joined() {
		w.Join(call)
		defer w.Leave(call)
	}
	j.id = j.ctx.CtxId
	if at == StageResponse && j.inbox != nil {
		return w.Run(call, string(at), j.inbox, code)
	}
	return w.Run(call, string(at), nil, code)
}

// asAccepted returns a copy of the job's request as it was accepted, see [codec.requestOf].
func (j *job) asAccepted() *Request { return j.pages.acceptor.codec.requestOf(&j.rec) }

// Slow reports that the job's user code has been running for long.
func (j *job) Slow(at string, took time.Duration) {
	j.pages.teller.slow(Stage(at), j.asAccepted(), took)
}

// closeSpools removes the files of the job's responses.
func (j *job) closeSpools() {
	if j.ctx != nil {
		if resp := j.ctx.Response(); resp != nil {
			resp.closeSpool()
		}
	}
	j.mu.Lock()
	spooled := j.spooled
	j.mu.Unlock()
	for _, resp := range spooled {
		resp.closeSpool()
	}
}

// Abandon gives back all that the job holds, and reports that its user code was given up.
func (j *job) Abandon(l guard.Loss) {
	c := j.pages
	j.loan.End()
	j.release()
	c.fetcher.robots.abort(j) // its download of robots.txt may never end
	c.places.Release(&j.place)
	r := j.asAccepted()
	lost := loss{Loss: l, job: j, call: &j.call, atEnd: c.stop.work.Err() != nil}
	if j.caller != nil { // its caller goes on
		c.teller.abandoned(Stage(l.At), r)
		c.teller.failed(lost.failure(r))
		c.dropInline(j)
		c.leave(j.inCall) // its caller may be a pipeline, whose item has been given up before
		return
	}
	c.fetcher.bodies.Release(&j.hold)
	c.frontier.GotThrough(func(suspect *job) bool { return suspect == j })
	j.dropFetches()
	c.losses.add(lost)
	c.teller.abandoned(Stage(l.At), r)
}

// dropFetches ends all calls of Fetch that are under way: they have no effect any more.
func (j *job) dropFetches() {
	calls, awaited := j.pages.lane.Drop(j)
	for _, inline := range awaited {
		j.pages.dropInline(inline)
	}
	for range calls {
		j.done()
	}
}

// tally returns the counts of the job's fields, which reach those of the run when it has settled.
func (j *job) tally() *fieldcount.Tally {
	if known := j.fields.Load(); known != nil {
		return known
	}
	j.fields.CompareAndSwap(nil, new(fieldcount.Tally))
	return j.fields.Load()
}

// notJSON warns that Json has returned nil, because of this error of Decode.
func (j *job) notJSON(url string, err error) {
	if !j.pages.teller.refused.Add(report.Failure{Stage: "json"}) || !j.pages.teller.door.Enter() {
		return
	}
	defer j.pages.teller.door.Leave()
	j.pages.teller.log.Lines([]report.Line{{Warn: true, URL: urlx.Redact(url),
		Text: fmt.Sprintf("Json has returned nil, because the body is not a JSON object: %v; Decode returns this error, and decodes other values too", errors.Unwrap(err))}})
}

func (j *job) share() page.Run {
	if j.pages == nil {
		return nil
	}
	return (*pageShare)(j)
}

func (j *job) slotDelay(d time.Duration) { j.pages.frontier.SetDelay(j.rec.Slot, d, j.started) }

func (j *job) fetch(caller *Context, r *Request) (*Response, error) {
	return j.pages.fetchInline(caller, r)
}

// jobOf returns the job of a Context, nil outside a run.
func jobOf(c *Context) *job {
	j, _ := c.run.(*job)
	return j
}

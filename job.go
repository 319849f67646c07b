package tegenaria

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/fieldcount"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/loan"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// job is one attempt at one request, from the cache to its end: what the stations know of it. It is settled when
// nothing of it is open any more: its way through fetch and parse, its items, and the Fetch calls it waits for.
type job struct {
	rec     Record // that of an inline request has its URL alone
	ctx     *Context
	id      string // the CtxId of its Context when its user code began
	caller  *job   // of an inline request: it lives and is settled with this one
	emitted identity.Emissions

	claim frontier.Claim[*job] // its slot and its fetch worker
	hold  fetch.Hold           // its share of Limits.BodiesInFlight
	call  guard.Call           // the user code it is in
	quiet requestChannel       // the first of its seldomRequests
	waits *guard.Waits         // of its user code for the engine; nil: not measured

	// What the exchange keeps.
	prepared  bool        // it has passed the middlewares
	announced bool        // RequestStarted was called for its download
	flown     bool        // the cache knows that it is in flight
	linksOnly bool        // its parser reads a stored page for its links: items are discarded
	sends     atomic.Bool // its user code has sent an item or a request
	// of the robots.txt that it asks for, which the engine has asked for because of it; or nil
	copy       *Response
	loan       *loan.Loan        // of its ResponseWriter; nil: it has none
	started    time.Time         // when its download began, zero if it did not
	took       time.Duration     // of the download, if RequestEnded is to be told
	downloader *downloaderModule // that answered
	theirs     *asking           // the Context that a downloader of the user gets; nil: to be made

	// Inline requests.
	inCall *frontier.Call[*job] // that an inline request belongs to
	calls  frontier.Calls[*job] // for which the job stays open
	permit frontier.ParsePermit // to parse, which is yielded while they wait

	fields atomic.Pointer[fieldcount.Tally] // counts of fields of its items; nil: there are none
	died   *HandleError                     // it is given up because the process died with it too often
	parts  frontier.Parts                   // that are not done

	mu      sync.Mutex       // guards the fields below
	counts  *jobCounts       // nil: none
	spooled []*Response      // its own and those of its inline requests: their files are removed when it ends
	outcome Outcome          // of its request; 0: undecided, it goes back to the cache
	sealed  bool             // it stays undecided: something of it was lost because the crawl ends
	givenUp bool             // code of it was: its record alone may be looked at
	begun   bool             // middlewares process its request, see gates.begun
	status  int32            // of its response
	reason  string           // of the outcome
	notes   *settlementNotes // nil: none
	again   *again           // it goes back to the cache, to run again
	lost    error            // why an item of it could not be sent
}

// init makes it the job of a record. Its request is decoded when it is fetched.
func (j *job) init(rec Record, owner guard.Owner) {
	j.rec, j.hold.Places = rec, rec.Slot
	j.claim.Queue, j.claim.Priority, j.claim.Crashes = rec.Slot, rec.Priority, int32(rec.Crashes)
	j.call.Owner = owner
	j.parts.Add()
}

// slot returns the name of its slot. Record.Slot is that of its queue: of the slot, or of a lane of it.
func (j *job) slot() string { return slots.Name(j.rec.Slot) }

// begin gives the job its Context: ctx as decoded, with a context of its own that ends with the crawl's
// work, and with the user's if there is one.
func (j *job) begin(ctx *Context, run inRun, work context.Context) {
	j.call.Life.Parent = work
	var own context.Context = &j.call.Life
	if user := ctx.Ctx; user != nil {
		own = j.call.Life.With(user)
	}
	ctx.Ctx, ctx.run = own, run
	if ctx.CtxId == "" {
		ctx.CtxId = identity.NewID().String()
	}
	r := ctx.Request
	r.Priority, r.Depth, r.Attempt, r.parent = j.rec.Priority, j.rec.Depth, j.rec.Attempt, j.rec.parentPage()
	j.ctx = ctx
}

// jobOf returns the job of a Context, nil outside a run.
func jobOf(c *Context) *job {
	if c.run == nil {
		return nil
	}
	return c.run.ofRun()
}

func (j *job) ofRun() *job { return j }

// isInline reports whether the job's request is one of Context.Fetch, whose caller waits for it.
func (j *job) isInline() bool { return j.caller != nil }

// root returns the job that this one is settled with.
func (j *job) root() *job {
	for j.caller != nil {
		j = j.caller
	}
	return j
}

// openToSend opens the job for an item or a request that its user code has sent. It returns false if it has settled
// already, or is lost.
func (j *job) openToSend() bool {
	if !j.parts.Open() {
		return false
	}
	if !j.sends.Load() { // a plain look is cheaper than a store for each link
		j.sends.Store(true)
	}
	return true
}

// decide sets the outcome unless there is one.
func (j *job) decide(outcome Outcome, reason string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.decided() {
		j.outcome, j.reason = outcome, reason
	}
}

// undecided reports whether the job goes on.
func (j *job) undecided() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.decided()
}

// decided reports whether it is known how the job ends. The caller holds mu.
func (j *job) decided() bool { return j.outcome != 0 || j.again != nil || j.sealed }

// again says how a request runs again: after a failure, or as it was accepted if retry is nil.
type again struct {
	retry *RetryError
	gate  *Gate // at which it waits; nil: none
}

// runAgain makes the job go back to the cache when it ends.
func (j *job) runAgain(how again) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.outcome == 0 && !j.sealed && !j.givenUp {
		j.again = &how
	}
}

// leaveUndecided makes the job go back to the cache as it is, whatever was decided.
func (j *job) leaveUndecided() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.outcome, j.reason, j.again, j.sealed = 0, "", nil, true
}

// giveUp decides the outcome because code of the job was given up, whatever was decided: it goes back to the cache if
// that is 0, to run again if there is a retry.
func (j *job) giveUp(outcome Outcome, reason string, retry *RetryError) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.givenUp = true
	if !j.sealed {
		j.outcome, j.reason, j.again, j.sealed = outcome, reason, nil, outcome == 0 && retry == nil
		if retry != nil {
			j.again = &again{retry: retry}
		}
	}
}

// isGivenUp reports whether code of the job was given up, and may be at work on all that it was given.
func (j *job) isGivenUp() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.givenUp
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

// counted returns what the job adds to the counters of a durable job; nil: nothing. Nothing that comes later is added.
func (j *job) counted() *jobCounts {
	j.mu.Lock()
	defer j.mu.Unlock()
	counts := j.counts
	j.counts = nil
	return counts
}

// Claim returns what the job has of the frontier.
func (j *job) Claim() *frontier.Claim[*job] { return &j.claim }

// isUnused reports whether nothing has come of the job's slot and worker.
func (j *job) isUnused() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.caller == nil && j.status == 0
}

// Calls returns what the job keeps for calls of Fetch.
func (j *job) Calls() *frontier.Calls[*job] { return &j.calls }

// Open opens the job for a call of Fetch. It returns false if it has settled already, or was abandoned.
func (j *job) Open() bool { return !j.call.GivenUp() && j.parts.Open() }

// run runs user code of the job that the watch keeps an eye on. The error is that of the code, or guard.ErrGivenUp if it
// was given up, or must not run any more because the crawl gives up.
func (j *job) run(w *guard.Watch, at Stage, code func() error) error {
	return j.runLate(w, at, nil, code)
}

// runLate is run for code that needs late if it does not return soon.
func (j *job) runLate(w *guard.Watch, at Stage, late guard.Late, code func() error) error {
	call := &j.call
	if call.GivenUp() {
		return guard.ErrGivenUp
	}
	if !call.Joined() {
		w.Join(call)
		defer w.Leave(call)
	}
	j.id = j.ctx.CtxId
	return w.Run(call, string(at), late, code)
}

// keepSpool has the file of a response removed when the job ends.
func (j *job) keepSpool(resp *Response) {
	if resp == nil || !resp.isSpooled() {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.spooled = append(j.spooled, resp)
}

// closeSpools removes the files of the job's responses.
func (j *job) closeSpools() {
	j.mu.Lock()
	spooled := j.spooled
	j.mu.Unlock()
	for _, resp := range spooled {
		resp.closeSpool()
	}
}

// The rows of the watch.
const (
	pagePool = iota
	itemPool
)

// emission says that a request comes from the job's own callback.
func (j *job) emission() emission { return emission{parent: j, by: &j.call} }

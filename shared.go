package tegenaria

import (
	"context"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/report"
)

// SharedCache is an optional interface of a durable [CacheInterface] on whose job several programs work at the same
// time, each on the slots that are its own: see package cluster. A request for the slot of another program is handed on
// to that one ([VerdictHandedOn]).
type SharedCache interface {
	// Attach gives the cache the run that is about to begin, in the place of an earlier one. The engine calls it once
	// for each run, before Begin.
	Attach(run SharedRun)
	// Join is called once the run knows what Begin and Slots have said. From then on the cache may call each func of
	// its SharedRun; before, Resume, Halt, Lose and Log alone. It must not wait for them.
	Join()
	// MayStart reports whether a download may start now. The engine asks at each start, concurrently and with its locks
	// held: MayStart must not wait for anything but a lock of its own.
	MayStart() bool
	// LeaseHost waits until a request that a callback sends (Fetch) may go to a slot. The program that owns the slot
	// holds it until done is called, or the time is over that the request may take. For a slot of its own LeaseHost
	// returns at once. Called concurrently.
	LeaseHost(ctx context.Context, slot string, atMost time.Duration) (done func(), err error)
	// Stopped notes that CloseSpider or a limit has stopped the run, so that those of the other programs are stopped by
	// Stop, with this reason. It must not wait. The engine may also call it for a reason that has come by Stop.
	Stopped(reason string)
}

// NamedWorker is an optional interface of a [CacheInterface] on whose job several programs work: WorkerName returns the
// name of this one among them. It is stable: a program that is started again has the name that it had before. The
// engine asks once for each run, when it is wired; see [WorkerName].
type NamedWorker interface{ WorkerName() string }

// JobCounter is an optional interface of a [SharedCache]: JobCounts returns what all programs of the job have stored.
// The engine asks when a run has begun and when it has ended, for its log, with a context that ends soon.
type JobCounter interface {
	JobCounts(ctx context.Context) (JobCounts, error)
}

// JobCounts are what all programs of a shared job have done, and what is left.
type JobCounts struct {
	Programs int              // that work on it
	Waiting  int64            // requests that wait or are in flight
	Counters map[string]int64 // the sums of those of all programs, see [State]
}

// SharedRun is what a [SharedCache] tells a run. The funcs may be called concurrently, also when the run is over. None
// of them waits for the cache.
type SharedRun struct {
	Resume func() // MayStart was false, and is true again: requests that wait for that go on
	// another program may take the slots at any time: the run ends with err if a download is in flight
	Halt func(err error)
	Lose func(err error) // the slots belong to others: the run ends with err

	// StartRequest is to be called by this run; a second call does nothing
	Start func()
	// so many requests of the job wait or are in flight, in all programs: Limits.Pending is for all of them
	Open func(n int64)
	// so many programs work on the job now: each has its part of PerIP and PerProxy, 1 at least
	Share func(programs int)
	// the loopback addresses that the seeds of the job allow, as a run has stored them
	Allow func(checkpoint []byte)
	// these slots belong to this program now, and so many delayed requests
	Gain func(gained []SlotState, delayed int64)
	// so many requests went to another program with their slots, of which Next has none any more
	Give func(pending, delayed int64)
	// requests that others have handed on, as Accept would answer for them
	Arrive func(records []Record, verdicts []Verdict)
	// nothing of the job is left to do; all its runs have read so many pages
	Finish func(read int64)
	// the job was stopped elsewhere: the run ends gracefully, for the same reason
	Stop func(reason string)

	// Log writes a line to the log of the run: a warning, or how the crawl goes. A log that is not text has the numbers
	// of the message as fields. It calls the user's logger: no lock may be held.
	Log func(warn bool, message string, numbers map[string]any)

	// Hold returns when a request of another program may go to this slot, which is that one's until done is called; it
	// waits for the slot.
	Hold func(ctx context.Context, slot string) (done func(), err error)

	// Limits.Pages, which is of the whole job: the run may begin none until Budget allows it; 0: no limit
	Pages int64
	// so many more downloads may begin; it returns how many that are, and whether one is in flight
	Budget func(more int64) (left int64, busy bool)
}

// sharedRun makes what a shared cache tells the run.
func sharedRun(c *crawl) SharedRun {
	pages := int64(c.limits.Pages)
	c.frontier.Budget(-pages)
	return SharedRun{
		Pages: pages, Budget: c.frontier.Budget, Hold: c.frontier.Hold, Open: c.ledger.Job, Share: c.frontier.Share,
		Resume: c.frontier.Wake,
		Lose:   c.stop.storeFailed,
		Halt: func(err error) {
			if len(c.frontier.InFlight()) > 0 {
				c.stop.storeFailed(err)
			}
		},
		Start: func() { c.start.begin(false) },
		Allow: func(checkpoint []byte) { c.loopback.Add(loopbackOf(checkpoint)...) },
		Gain: func(gained []SlotState, delayed int64) {
			pending := int64(0)
			for i := range gained {
				pending += int64(gained[i].Pending)
			}
			c.ledger.Resume(pending, delayed) // a request must be counted before anybody can take it
			for i := range gained {
				c.frontier.Restore(frontier.Saved(gained[i]), false)
			}
			c.frontier.LookAtDue()
		},
		Give:   func(pending, delayed int64) { c.ledger.Resume(-pending, -delayed) },
		Arrive: func(records []Record, verdicts []Verdict) { c.acceptor.arrive(records, verdicts) },
		Finish: func(read int64) {
			c.report.shared.Store(read)
			c.start.begin(true)
			c.ledger.Share(false)
		},
		Stop: func(reason string) { c.stop.requestStop(reason, nil) },
		Log: func(warn bool, message string, numbers map[string]any) {
			if c.report.told.Enter() {
				defer c.report.told.Leave()
				c.report.log.Lines([]report.Line{{Warn: warn, Text: message, Numbers: numbers}})
			}
		},
	}
}

// jobCounts returns what all programs of a shared job have done; nil if there is none, nothing of it is logged, or its
// cache cannot say it soon.
func (c *crawl) jobCounts() *JobCounts {
	counter, ok := c.shared.(JobCounter)
	if !ok || !c.report.log.HasInfo() || c.stop.failed.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.stop.work), countsWithin)
	defer cancel()
	counts, err := counter.JobCounts(ctx)
	if err != nil {
		return nil
	}
	return &counts
}

// countsWithin is how long the log of a run waits for the counts of the job.
const countsWithin = 2 * time.Second

// arrive accepts requests that other programs have handed on to this one. They were checked where they were emitted.
func (a *acceptor) arrive(records []Record, verdicts []Verdict) {
	if len(records) == 0 || !a.entries.Enter() {
		return // what came to a run that is over waits in the cache
	}
	defer a.entries.Leave()
	s := a.scratch.Get().(*scratch)
	defer a.scratch.Put(s)
	defer s.reset()
	s.records = append(s.records, records...)
	a.ledger.Discover(int64(len(records)))
	accepted := a.cfg.events.RequestAccepted
	for i, verdict := range verdicts {
		known := verdict == VerdictKnown
		if known && !a.report.tellsSettled() || !known && accepted == nil {
			continue
		}
		r, err := records[i].Request()
		switch {
		case err != nil: // its parser is not there: it fails when it is handed out
		case known:
			a.report.settled(r, Duplicate, emission{}.known())
		default:
			a.report.event(func() { accepted(r) })
		}
	}
	a.accepted(emission{}, s, verdicts, 0)
}

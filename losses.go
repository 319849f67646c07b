package tegenaria

import (
	"slices"
	"sync"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
)

// A callback that does not return in time is given up. That ends at its job: what it sends is refused, its worker is
// replaced, and all that the job holds is given back at once; but the request stays in flight, as one that is lost,
// until the code returns or the run ends. Code that returns after all has its request fail. Requests that are lost when
// all else is over are ended by their records.

// loss is a part of a job whose code was given up.
type loss struct {
	guard.Loss
	job   *job
	item  *ItemMeta   // as it came from its parser; nil: the part is the job's way
	told  bool        // the end of the item has been counted
	call  *guard.Call // of the code
	atEnd bool        // it was given up because the crawl gave up
}

// failure makes the HandleError of a loss whose code has not returned.
func (l *loss) failure(r *Request) *HandleError {
	herr := &HandleError{CtxId: l.job.id, Err: abandonedBy(Stage(l.At), l.TooLate), Request: r, Stage: Stage(l.At)}
	if l.item != nil {
		herr.CtxId, herr.Item = l.item.CtxId, l.item
	}
	return herr
}

// losses are the parts whose code was given up and has not returned.
type losses struct {
	codec    *codec
	ledger   *frontier.Ledger
	settler  *settler
	report   *reporter
	attempts int // that a request may have

	mu   sync.Mutex // guards the fields below
	list []loss
	left bool // some were lost when the run ended
}

// add notes a loss. The part itself is closed when the worker is replaced, as at its end.
func (ls *losses) add(l loss) {
	ls.mu.Lock()
	ls.list = append(ls.list, l)
	ls.mu.Unlock()
	ls.settler.bodies.Release(&l.job.hold) // others may wait for it
	l.job.parts.Lose()
	if l.call.Worker.Worker() < 0 { // it has no worker any more: its code was given up before, and has returned
		ls.settler.end(l.job)
	}
}

// find takes the loss out whose code has returned. It returns false if the run has ended: the job is over.
func (ls *losses) find(call *guard.Call) (l loss, ok bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	i := slices.IndexFunc(ls.list, func(l loss) bool { return l.call == call })
	if i < 0 || !ls.list[i].job.parts.Find(ls.ledger) {
		return l, false
	}
	l = ls.list[i]
	ls.list = slices.Delete(ls.list, i, i+1)
	return l, true
}

// end ends the requests that are lost when all else is over. Their code may be at work on all that it was given, so
// nothing is looked at but their records.
func (ls *losses) end() {
	ls.mu.Lock()
	list := ls.list
	ls.list = nil
	ls.mu.Unlock()
	var jobs []*loss // one of each job
	for i := range list {
		l := &list[i]
		herr := l.failure(ls.codec.requestOf(&l.job.rec))
		ls.report.failed(herr)
		if l.item != nil && !l.told {
			ls.report.lostItem(l.job, itemFailed, herr)
		}
		k := slices.IndexFunc(jobs, func(other *loss) bool { return other.job == l.job })
		switch {
		case k >= 0:
			jobs[k].atEnd = jobs[k].atEnd || l.atEnd
		case l.job.parts.AreLost():
			jobs = append(jobs, l)
		}
	}
	ls.left = len(jobs) > 0
	ls.ledger.EndLost(int64(len(jobs)))
	for _, l := range jobs {
		ls.endLost(l)
	}
}

// endLost ends a lost job: a durable cache lets its request run again, as a retry does.
func (ls *losses) endLost(l *loss) {
	j := l.job
	e := ended{Settled: Settled{Record: j.rec}, request: ls.codec.requestOf(&j.rec), id: j.id, ids: j.calls.Names(),
		flown: j.flown, lost: true, counts: j.counted()}
	switch {
	case l.atEnd: // it goes back as it is
	case !ls.settler.durable:
		e.Outcome, e.Reason = Failed, "abandoned"
	case j.rec.Attempt+1 >= ls.attempts:
		e.Outcome, e.Reason = GaveUp, "abandoned"
	default:
		e.retry = &RetryError{Err: abandonedBy(Stage(l.At), l.TooLate)}
	}
	ls.settler.take(e, false)
}

package tegenaria

import "context"

// ended is a job of which nothing is open any more, until it is stored. A disk may take its time over that, while pages
// keep coming: so of most jobs this is all that is kept, and their responses may be forgotten before.
type ended struct {
	Settled          // without an Outcome it goes back to the cache
	request *Request // nil: it was not decoded, or nobody is going to be told of it
	id      string   // its CtxId
	ids     []string // those of what it fetched inline
	job     *job     // nil: it was let go
	died    *HandleError
	flown   bool
}

// ended returns what is left of the job.
func (j *job) ended() ended {
	if j.reserved { // its download was announced, and did not begin
		j.crawl.sched.overrule(j)
	}
	e := ended{Settled: Settled{Record: j.rec, Outcome: j.outcome, Reason: j.reason, Status: j.status}, ids: j.ids, job: j, died: j.died, flown: j.flown}
	if j.ctx != nil {
		e.request, e.id = j.request(), j.id()
	}
	return e
}

// needed reports whether the job is needed until it is stored: it is to run again, or the code that was left behind may be
// at work on it.
func (e *ended) needed() bool { return e.Outcome == 0 || e.job.abandoned.Load() }

// discard ends what the job has beside its share of Limits.BodiesInFlight. The caller holds no locks.
func (j *job) discard() {
	if !j.abandoned.Load() { // the code that was left behind may be at work on its response
		j.closeSpools()
	}
	j.life.Cancel(context.Canceled)
}

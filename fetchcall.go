package tegenaria

import (
	"context"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/frontier"
)

// fetching is what a job does inline, and what it has lent for that. The mutex of the job guards it.
type fetching struct {
	fetches int         // inline requests it waits for
	inlines []*job      // those of them that are under way
	ids     []string    // their CtxIds, and of those that are over
	spooled []*Response // their files are removed when the job ends
	dropped bool        // its Fetch calls were ended: they have no effect any more

	place frontier.Place // among the parsers, whose mutex guards it

	paused int  // inline requests of its ProcessRequest that are under way
	gave   bool // it gave its slot back for them
	taking bool // it stands in line for that slot again
}

// fetchCall is a call of Fetch. It keeps the job that is settled with it open until it returns.
type fetchCall struct {
	root *job
	left bool // guarded by the mutex of root
}

// dropFetches ends all calls that are under way, and lets none begin: the crawl is over, and the jobs that wait for them can
// be settled as they are. User code that was left behind may still be in one.
func (rd *reader) dropFetches() {
	for _, j := range rd.lane.Close() {
		j.dropFetches()
	}
}

// maxNesting is how deep inline requests may nest: one that a middleware sends for another counts.
const maxNesting = 8

var errNesting = fmt.Errorf("Fetch is nested %d deep; does a middleware fetch for the requests that it sends itself?", maxNesting)

// nesting counts the inline requests that a job stands in.
func (rd *reader) nesting(j *job) (n int) {
	for ; j.caller != nil; j = j.caller {
		n++
	}
	return n
}

// enterFetch opens the job for an inline request. It returns nil if the job has settled already, or was abandoned.
func (rd *reader) enterFetch(j *job) *fetchCall {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.call.GivenUp() || j.dropped {
		return nil
	}
	first := j.fetches == 0
	if first && !j.crawl.reader.lane.Add(j) {
		return nil
	}
	if !j.tryOpen() {
		if first {
			j.crawl.reader.lane.Remove(j)
		}
		return nil
	}
	j.fetches++
	return &fetchCall{root: j}
}

// count enters an inline request into the ledger; j is nil if it is refused at once. It returns false if the call has
// ended already.
func (f *fetchCall) count(j *job) bool {
	f.root.mu.Lock()
	defer f.root.mu.Unlock()
	if f.left || f.root.dropped {
		return false
	}
	f.root.crawl.ledger.Inline()
	if j != nil {
		f.root.ids = append(f.root.ids, j.ctx.CtxId)
		f.root.inlines = append(f.root.inlines, j)
	}
	return true
}

// leave closes the job that enterFetch opened, unless that was done already because user code was abandoned.
func (f *fetchCall) leave() {
	j := f.root
	j.mu.Lock()
	if f.left || j.dropped {
		j.mu.Unlock()
		return
	}
	f.left = true
	if j.fetches--; j.fetches == 0 {
		j.crawl.reader.lane.Remove(j)
	}
	j.mu.Unlock()
	j.done()
}

// waitsForEngine stops the clocks of the user code that has called Fetch for the job, until the func it returns is
// called: the engine makes it wait.
func (rd *reader) waitsForEngine(j *job) (over func()) {
	for caller := j.caller; caller != nil; caller = caller.caller {
		j.crawl.watch.Pause(&caller.call)
	}
	return func() {
		for caller := j.caller; caller != nil; caller = caller.caller {
			j.crawl.watch.Resume(&caller.call)
		}
	}
}

// pauseOwn releases the slot and worker of a job whose ProcessRequest fetches inline, since it may wait
// for the same slot. The func it returns takes the slot again, once the last of several such Fetches is over.
//
// An inline job releases its worker too: inline requests that hold a worker while they wait for another
// could end up waiting for each other. A job of the queue keeps it, since it does occupy one, and
// waits for one that is reserved for the lane.
func (rd *reader) pauseOwn(j *job) (resume func() error) {
	j.mu.Lock()
	j.paused++
	if j.crawl.frontier.ReleaseSlot(j) {
		j.gave = true
	}
	j.mu.Unlock()
	return func() error { return rd.resumeOwn(j) }
}

func (rd *reader) resumeOwn(j *job) error {
	j.mu.Lock()
	j.paused--
	take := j.gave && j.paused == 0 && !j.taking
	j.taking = j.taking || take
	j.mu.Unlock()
	if !take {
		return nil
	}
	defer j.crawl.fetcher.bodies.Want(j.rec.Slot)()
	defer rd.waitsForEngine(j)()
	j.crawl.watch.Pause(&j.call)
	defer j.crawl.watch.Resume(&j.call)
	w := j.crawl.frontier.Ask(j.rec.Slot)
	select {
	case <-w.Granted():
		rd.takeOwn(j, w)
		return nil
	case <-j.ctx.Done():
		j.crawl.frontier.Withdraw(w)
		return context.Cause(j.ctx.Ctx)
	}
}

// takeOwn keeps the slot that resumeOwn was granted, unless another Fetch has begun meanwhile and may wait for it.
func (rd *reader) takeOwn(j *job, w *frontier.Waiter) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.taking = false
	if j.paused == 0 && !j.call.GivenUp() {
		j.gave = false
		j.crawl.frontier.Keep(j, w)
	} else {
		j.crawl.frontier.Decline(w)
	}
}

// lendToWait lends the parser's place while it waits for memory, until it is reclaimed. It returns false if it must not
// wait.
func (rd *reader) lendToWait(j *job) bool {
	if mustGetMemory(j) {
		return false
	}
	lent := rd.places.Lend(&j.place)
	if !lent {
		_ = rd.places.Reclaim(j.ctx, &j.place) // it has lent nothing
	}
	return lent
}

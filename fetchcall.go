package tegenaria

import (
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

// inLine notes that a job stands in line for its slot, until the func that it returns is called: downloads of the slot get the
// memory that they wait for, and the clocks of the code that waits for the job stop.
func (rd *reader) inLine(j *job) (over func()) {
	served := rd.crawl.fetcher.bodies.Want(j.rec.Slot)
	goesOn := rd.waitsForEngine(j)
	return func() {
		goesOn()
		served()
	}
}

// reclaimSlot ends a Fetch of the job's ProcessRequest. The last of them waits until the job has its slot again.
func (rd *reader) reclaimSlot(j *job) error {
	if !rd.crawl.frontier.EndFetch(j) {
		return nil
	}
	defer rd.inLine(j)()
	rd.crawl.watch.Pause(&j.call)
	defer rd.crawl.watch.Resume(&j.call)
	return rd.crawl.frontier.ReclaimSlot(j.ctx, j)
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

package tegenaria

import (
	"slices"
	"sync"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/guard"
)

// A callback that does not return in time is given up, and its request has its verdict then: it fails, and in a durable
// job it runs again as a retry does. What the request holds is given back, and what it has staged is discarded. The code
// may go on: nothing that it still does has an effect, and nothing that it was given is looked at, but for the record of
// the request. No error handlers are told, since they would be given what the code may be at work on.

// maxUnreturned is how many callbacks may be at work that were given up, until the crawl stops.
const maxUnreturned = 1000

// abandonment gives requests up whose callbacks have not returned.
type abandonment struct {
	codec      *codec
	bodies     *fetch.Budget
	report     *reporter
	limits     *Limits
	stop       *stop
	watch      *guard.Watch
	unreturned *unreturned
	durable    bool // the job is
}

// giveUp ends the part of a job in which the call was given up: its way, or an item. The caller closes that part
// afterwards. item is as it came from its parser; nil: there is none, or its end has been counted.
func (a *abandonment) giveUp(j *job, call *guard.Call, item *ItemMeta, l guard.Loss) {
	at, r := Stage(l.At), a.codec.requestOf(&j.rec)
	a.unreturned.add(call, j.id)
	a.bodies.Release(&j.hold) // others may wait for it
	a.report.abandoned(at, r)
	err := abandonedBy(at, l.TooLate)
	herr := NewError(j.id, err, ErrorWithRequest(r), ErrorWithItem(item), ErrorWithStage(at))
	a.report.failed(herr)
	if item != nil {
		a.report.lostItem(j, itemFailed, herr)
	}
	switch {
	case a.stop.work.Err() != nil: // the crawl gives up, and the request has not failed
		j.giveUp(0, "", nil)
	case !a.durable:
		j.giveUp(Failed, "abandoned", nil)
	case j.rec.Attempt+1 >= a.limits.Attempts:
		j.giveUp(GaveUp, "abandoned", nil)
	default:
		j.giveUp(0, "", &RetryError{After: a.limits.Callback, Err: err})
	}
	if a.watch.Unreturned() >= maxUnreturned {
		a.stop.requestStop("limit: abandoned callbacks", nil)
	}
}

// unreturned are the CtxIds under which code may stage items that was given up. It lives as long as the engine: code of
// one run may be at work in the next one.
type unreturned struct {
	mu       sync.Mutex // guards the fields below
	at       map[*guard.Call][]string
	returned []string // of code that has returned since staged was called
}

func (u *unreturned) add(call *guard.Call, id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = make(map[*guard.Call][]string)
	}
	u.at[call] = []string{id}
}

// also adds the CtxIds of what a request has fetched inline, which are known when it settles.
func (u *unreturned) also(id string, inline []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for call, ids := range u.at {
		if ids[0] == id {
			u.at[call] = append(ids, inline...)
		}
	}
}

// done notes that code has returned.
func (u *unreturned) done(call *guard.Call) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.returned = append(u.returned, u.at[call]...)
	delete(u.at, call)
}

// staged returns the CtxIds of code that has returned since the last call, for the committers to discard once more; and
// with those of code that has not, if all is set.
func (u *unreturned) staged(all bool) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	ids := u.returned
	u.returned = nil
	if all {
		for _, some := range u.at {
			ids = append(ids, some...)
		}
	}
	return ids
}

// has reports whether code that was given up may have staged items under a CtxId that are still to be discarded.
func (u *unreturned) has(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if slices.Contains(u.returned, id) {
		return true
	}
	for _, ids := range u.at {
		if slices.Contains(ids, id) {
			return true
		}
	}
	return false
}

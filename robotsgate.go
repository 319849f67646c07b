package tegenaria

import (
	"context"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/robots"
)

const (
	robotsRefresh   = 24 * time.Hour // RFC 9309 §2.4
	robotsAgain     = time.Hour      // after a refresh that failed
	robotsRedirects = 5              // RFC 9309 §2.3.1.2
	maxOrigins      = 1 << 16        // robots.txt files kept at once
)

// robotsBackoff are the waits after a server error, less than a minute in all.
var robotsBackoff = [...]time.Duration{2 * time.Second, 8 * time.Second, 20 * time.Second}

type robotsState uint8

const (
	robotsUnknown robotsState = iota
	robotsAsking              // somebody is asking for it
	robotsKnown
	robotsUnreachable
)

// robotsFile is what is known of the robots.txt of one origin.
type robotsFile struct {
	state   robotsState
	group   *robots.Group // the last that was known
	pace    pace
	expires time.Time
	retryAt time.Time     // after a server error: nobody asks again before
	tries   int           // server errors so far
	owner   *job          // who asks
	waiting []*job        // jobs of the queue that wait for the answer; their slots are parked
	changed chan struct{} // closed when asking is over
	copy    *Response     // what the owner's download brought, until asking is over
}

// robotsGate obeys robots.txt (RFC 9309). The first request of an origin asks for it, with the slot and
// worker that it was granted; the others of that origin wait in their parked slots, holding no worker.
// After a server error all of them stand in line again, and whoever is served first asks: were one of
// them to keep the right to ask while it waits, it could stand behind a slot that the others have parked.
type robotsGate struct {
	crawl *crawl

	mu      sync.Mutex // guards what follows
	files   map[string]*robotsFile
	paces   paces
	stopped bool
}

func newRobotsGate(c *crawl) *robotsGate {
	return &robotsGate{crawl: c, files: make(map[string]*robotsFile), paces: paces{sched: c.sched, slots: make(map[string]map[*pace]bool)}}
}

// robotsAnswer is what look found out.
type robotsAnswer uint8

const (
	robotsAllow robotsAnswer = iota
	robotsForbid
	robotsCannotRead
	robotsWait  // somebody else asks
	robotsLater // nobody may ask before retryAt
	robotsAsk   // the caller has to ask
)

// robotsLook is what look found out, and what belongs to the answer.
type robotsLook struct {
	answer  robotsAnswer
	file    *robotsFile
	at      time.Time       // of robotsLater
	changed <-chan struct{} // of robotsWait, closed when asking is over
}

// look tells what to do with a job. With robotsAsk the caller has to ask, and then to resolve.
func (g *robotsGate) look(j *job, enqueue bool) robotsLook {
	r := j.ctx.Request
	key := urlx.Origin(r.Url)
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.files[key]
	if f == nil {
		g.makeRoom()
		f = &robotsFile{}
		g.files[key] = f
	}
	now := time.Now()
	if (f.state == robotsKnown || f.state == robotsUnreachable) && !now.Before(f.expires) {
		f.state, f.tries = robotsUnknown, 0
	}
	switch f.state {
	case robotsKnown:
		g.paces.join(&f.pace, j.rec.Slot)
		if !f.group.Allowed(urlx.Path(urlx.MergeParams(r.Url, r.Params))) {
			return robotsLook{answer: robotsForbid}
		}
		return robotsLook{answer: robotsAllow}
	case robotsUnreachable:
		return robotsLook{answer: robotsCannotRead}
	case robotsAsking:
		if enqueue {
			if g.stopped {
				return robotsLook{answer: robotsCannotRead}
			}
			// All this comes before anybody can find the job among the waiting ones and send it on.
			j.open.Add(1)
			g.crawl.sched.park(j)
			j.letGo()
			f.waiting = append(f.waiting, j)
		}
		return robotsLook{answer: robotsWait, changed: f.changed}
	}
	if now.Before(f.retryAt) {
		return robotsLook{answer: robotsLater, at: f.retryAt}
	}
	f.state, f.owner, f.changed = robotsAsking, j, make(chan struct{})
	j.asks = f
	return robotsLook{answer: robotsAsk, file: f}
}

// makeRoom forgets a file that nobody waits for when there are too many. The caller holds mu.
func (g *robotsGate) makeRoom() {
	if len(g.files) < maxOrigins {
		return
	}
	for key, f := range g.files {
		if f.state != robotsAsking {
			g.paces.forget(&f.pace)
			delete(g.files, key)
			return
		}
	}
}

// pass tells whether a job of the queue may be downloaded now. If not it has its outcome, or else it
// waits: then it will come again, and must not be touched any more.
func (g *robotsGate) pass(j *job) (ok, waits bool) {
	if g.crawl.cfg.politeness.IgnoreRobots {
		return true, false
	}
	look := g.look(j, true)
	switch look.answer {
	case robotsAllow:
		return true, false
	case robotsForbid:
		j.decide(Robots, "forbidden")
	case robotsCannotRead:
		if !g.stopping() {
			j.decide(Robots, "unreachable")
		}
	case robotsWait:
		return false, true
	case robotsLater:
		g.crawl.sched.block(j.rec.Slot, look.at)
		g.crawl.askAgain(j)
		return false, true
	case robotsAsk:
		return g.passOwner(j, look.file)
	}
	return false, false
}

// passOwner asks for the file on behalf of a job of the queue.
func (g *robotsGate) passOwner(j *job, f *robotsFile) (ok, waits bool) {
	c := g.crawl
	err := g.ask(j, f)
	switch {
	case j.abandoned.Load():
		return false, false
	case err != nil:
		c.guard(j, StageError, func() { c.fail(j, j.failure(StageRobots, err, nil)); j.closeRequests() })
		return false, false
	case j.copy == nil && c.sched.delayed(j.slot()):
		// Its slot has a delay, and the download of robots.txt took the turn.
		c.askAgain(j)
		return false, true
	}
	return g.pass(j)
}

// askAgain puts a job back into its slot's queue, without its worker.
func (c *crawl) askAgain(j *job) {
	j.open.Add(1)
	j.letGo()
	c.sched.comeBack(j)
}

// passInline is pass for an inline request. False without an error: its slot was given back, it has to
// stand in line again.
func (g *robotsGate) passInline(j *job) (bool, error) {
	c := g.crawl
	if c.cfg.politeness.IgnoreRobots {
		return true, nil
	}
	look := g.look(j, false)
	switch look.answer {
	case robotsAllow:
		return true, nil
	case robotsForbid:
		return false, &RobotsError{URL: j.ctx.Request.Url}
	case robotsCannotRead:
		return false, &RobotsError{URL: j.ctx.Request.Url, Unreachable: true}
	case robotsWait:
		j.letGo()
		defer j.waitsForEngine()()
		select {
		case <-look.changed:
			return false, nil
		case <-j.ctx.Done():
			return false, context.Cause(j.ctx.Ctx)
		}
	case robotsLater:
		j.letGo()
		defer j.waitsForEngine()()
		return false, waitFor(j.ctx, time.Until(look.at))
	}
	if err := g.ask(j, look.file); err != nil || j.abandoned.Load() {
		return false, err
	}
	if j.copy == nil && c.sched.delayed(j.slot()) {
		j.letGo()
		return false, nil
	}
	return g.passInline(j)
}

// postpone lets nobody ask before that instant for the file that the job has asked for.
func (g *robotsGate) postpone(j *job, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := j.asks; f != nil && f.owner == j {
		f.retryAt = until
	}
}

// resolve ends the asking of a job, if it still asks, and lets everybody go on who waited for it.
func (g *robotsGate) resolve(j *job, state robotsState, group *robots.Group) {
	g.resolveFor(j, state, group, robotsRefresh)
}

// resolveFor is resolve for what holds that long.
func (g *robotsGate) resolveFor(j *job, state robotsState, group *robots.Group, valid time.Duration) {
	g.mu.Lock()
	f := j.asks
	if f == nil || f.owner != j {
		g.mu.Unlock()
		return
	}
	f.state, f.owner = state, nil
	if state == robotsKnown {
		f.group = group
		g.paces.set(&f.pace, group, j.rec.Slot)
		f.handCopy(j)
		for _, j := range f.waiting {
			g.paces.join(&f.pace, j.rec.Slot) // before it is served again
			f.handCopy(j)
		}
	}
	f.copy = nil
	f.expires = time.Now().Add(valid)
	waiting, retryAt := f.waiting, f.retryAt
	f.waiting = nil
	close(f.changed)
	g.mu.Unlock()
	for _, j := range waiting {
		if state == robotsUnknown {
			g.crawl.sched.block(j.rec.Slot, retryAt)
		}
		g.crawl.sched.unpark(j.rec.Slot)
		g.crawl.sched.comeBack(j)
	}
	g.crawl.tellBlocks()
}

// stop sends the jobs that wait back to the cache: a stopping crawl starts nothing new.
func (g *robotsGate) stop() {
	g.mu.Lock()
	g.stopped = true
	var waiting []*job
	for _, f := range g.files {
		waiting = append(waiting, f.waiting...)
		f.waiting = nil
	}
	g.mu.Unlock()
	for _, j := range waiting {
		g.crawl.sched.unpark(j.rec.Slot) // Fetch is served until the grace ends
		j.done()
	}
}

func (g *robotsGate) stopping() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stopped
}

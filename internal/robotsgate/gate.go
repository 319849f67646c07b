// Package robotsgate obeys robots.txt (RFC 9309): it knows the file of each origin as far as that was fetched, which job asks for
// one, and which jobs wait for it. It asks for a file as a whole, with redirects, and knows what each status means. It neither
// sends requests nor reads a robots.txt: both are funcs that its user gives.
//
//	Look → Allow, Forbid, Unreachable: the file is known
//	     → Wait: another job asks; the gate keeps this one until the file is known
//	     → Later: the file must not be asked for before an instant
//	     → Ask: the caller calls Ask, which fetches the file and returns the jobs that waited for it
//
// A short example:
//
//	parse := func(body []byte) robotsgate.Group { return robots.Parse(body).Agent("mybot") }
//	gate := robotsgate.New(parse, func(slot string, delay time.Duration) { … }, func(j *job) { … })
//	look := gate.Look(j, robotsgate.Place{Origin: "https://a.example", Path: "/page", Slot: "a.example"}, true)
//	if look.Answer == robotsgate.Ask {
//		end, err := gate.Ask(j, "https://a.example", func(url string, left time.Duration, first bool) (robotsgate.Response, error) { … })
//		for _, w := range end.Waiting {
//			// w.Job may look again
//		}
//	}
//
// Where other code may answer in the place of the server, or change what it has answered, an [AnsweredBy] notes whether that
// code has lost the rules on the way.
//
// All methods may be called concurrently, but those of a AnsweredBy.
package robotsgate

import (
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

const (
	Refresh    = 24 * time.Hour // how long rules hold, RFC 9309 §2.4
	Again      = time.Hour      // how long old ones hold after a refresh that failed
	MaxOrigins = 1 << 16        // files that are kept at once
)

// backoff are the waits after a server error, less than a minute in all.
var backoff = [...]time.Duration{2 * time.Second, 8 * time.Second, 20 * time.Second}

// Group is what a robots.txt says to the crawler.
type Group interface {
	Allowed(path string) bool
	CrawlDelay() (delay time.Duration, ok bool)  // ok is false if the file does not say
	RequestRate() (delay time.Duration, ok bool) // as the time between two requests
}

// rules are the part of a robots.txt that a crawler has to obey.
type rules struct {
	group Group         // nil: everything is allowed
	delay time.Duration // how far apart requests have to be, 0 if the file does not say
}

// newRules returns the rules of a group. The longer one of Crawl-delay and Request-rate counts; neither is in RFC 9309.
func newRules(group Group) rules {
	delay, _ := group.CrawlDelay()
	rate, _ := group.RequestRate()
	return rules{group, max(delay, rate)}
}

// allow reports whether the rules let a path be asked for.
func (r *rules) allow(path string) bool { return r.group == nil || r.group.Allowed(path) }

// Place is where a job wants to go.
type Place struct {
	Origin string // scheme, host and port
	Path   string // with query
	Slot   string // that its request is sent by
}

// Answer is the answer of [Gate.Look].
type Answer uint8

// The answers.
const (
	Allow       Answer = iota
	Forbid             // the rules forbid the path
	Unreachable        // the file cannot be had because of server errors: nothing is allowed (RFC 9309 §2.3.1.4)
	Wait               // another job asks for the file
	Later              // the file must not be asked for before Look.At
	Ask                // the caller has to ask for the file, by Gate.Ask
)

// Look is an answer with its details.
type Look struct {
	Answer  Answer
	At      time.Time       // of Later
	Changed <-chan struct{} // of Wait: closed when the other job does not ask any more
}

// Refused returns the error of a request for url that the answer does not let pass: a [*RefusedError] for [Forbid] and
// [Unreachable], nil for the other answers.
func (l Look) Refused(url string) error {
	if l.Answer != Forbid && l.Answer != Unreachable {
		return nil
	}
	return &RefusedError{URL: url, Unreachable: l.Answer == Unreachable}
}

// RefusedError is the failure of a request that must not be sent, as robots.txt forbids it or cannot be read.
type RefusedError struct {
	URL         string
	Unreachable bool // robots.txt cannot be read
}

// Error names the URL.
func (e *RefusedError) Error() string {
	if e.Unreachable {
		return "robots.txt for " + urlx.Redact(e.URL) + " is unreachable"
	}
	return "robots.txt forbids " + urlx.Redact(e.URL)
}

type state uint8

const (
	unknown state = iota
	asking        // a job asks for it
	known
	unreachable
)

// file is the state of the robots.txt of one origin.
type file[J comparable] struct {
	state   state
	rules   *rules // the last that were known
	pace    pace
	expires time.Time
	retryAt time.Time     // after a server error: when it may be asked for again
	tries   int           // server errors so far
	slot    string        // that it asks by
	waiting []Waiting[J]  // their slots are parked
	changed chan struct{} // closed when asking is over
}

// Waiting is a job that the gate has kept, and the slot of its request.
type Waiting[J comparable] struct {
	Job  J
	Slot string
}

// Released are the jobs that waited for a file.
type Released[J comparable] struct {
	Waiting []Waiting[J]
	RetryAt time.Time // when the file may be asked for; zero if the file is known or may be asked for at once
}

// Gate obeys robots.txt. The first request of an origin asks for it, with the slot and worker that it was granted; the
// others of that origin wait in their parked slots, holding no worker. After a server error all of them wait in line
// again, and whoever is served first asks: were one of them to keep the right to ask while it waits, it could stand behind a
// slot that the others have parked. Make one with [New].
type Gate[J comparable] struct {
	parse func(body []byte) Group
	park  func(J)

	mu      sync.Mutex // guards the fields below
	files   map[string]*file[J]
	askers  map[J]*file[J]
	paces   paces
	stopped bool
}

// New returns a gate without any robots.txt. parse reads the beginning of the body of a robots.txt, and must not fail.
// The gate calls delay when robots.txt files want the requests of a slot that far apart, 0: they do not say any more. delay must
// not call the gate. It calls park when it keeps a job, before anybody else can be given that job; park must not call the gate either.
func New[J comparable](parse func(body []byte) Group, delay func(slot string, d time.Duration), park func(J)) *Gate[J] {
	return &Gate[J]{
		parse: parse, park: park, files: make(map[string]*file[J]), askers: make(map[J]*file[J]),
		paces: paces{delay: delay, slots: make(map[string]map[*pace]bool)},
	}
}

// Look reports whether a job may pass. After [Ask] the caller has to call [Gate.Ask] or [Gate.Abort]. Where the
// answer is [Wait] and keep is set, the gate keeps the job until it is released; a stopped gate keeps none.
func (g *Gate[J]) Look(j J, at Place, keep bool) Look {
	look, rules := g.look(j, at, keep)
	if rules != nil && !rules.allow(at.Path) { // without the lock: a long file takes its time
		look.Answer = Forbid
	}
	return look
}

// look is Look without the path. It also returns the rules that the path has to obey, nil if there are none.
func (g *Gate[J]) look(j J, at Place, keep bool) (Look, *rules) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.files[at.Origin]
	if f == nil {
		g.makeRoom()
		f = &file[J]{}
		g.files[at.Origin] = f
	}
	now := time.Now()
	if (f.state == known || f.state == unreachable) && !now.Before(f.expires) {
		f.state, f.tries = unknown, 0
	}
	switch f.state {
	case known:
		g.paces.join(&f.pace, at.Slot)
		return Look{Answer: Allow}, f.rules
	case unreachable:
		return Look{Answer: Unreachable}, nil
	case asking:
		if keep {
			if g.stopped {
				return Look{Answer: Unreachable}, nil
			}
			g.park(j) // before anybody can find the job among the waiting ones and send it on
			f.waiting = append(f.waiting, Waiting[J]{j, at.Slot})
		}
		return Look{Answer: Wait, Changed: f.changed}, nil
	}
	if now.Before(f.retryAt) {
		return Look{Answer: Later, At: f.retryAt}, nil
	}
	f.state, f.slot, f.changed = asking, at.Slot, make(chan struct{})
	g.askers[j] = f
	return Look{Answer: Ask}, nil
}

// makeRoom forgets a file that no job asks for when there are too many. The caller holds mu.
func (g *Gate[J]) makeRoom() {
	if len(g.files) < MaxOrigins {
		return
	}
	for origin, f := range g.files {
		if f.state != asking {
			g.paces.forget(&f.pace)
			delete(g.files, origin)
			return
		}
	}
}

// Postpone forbids, until that instant, to ask for the file that the job asks for.
func (g *Gate[J]) Postpone(j J, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.askers[j]; f != nil {
		f.retryAt = until
	}
}

// Abort ends the asking of a job, if it still asks: nothing is known, and another job may ask.
func (g *Gate[J]) Abort(j J) Released[J] {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.settle(j, unknown, nil, 0)
}

// settle ends the asking of a job. The caller holds mu.
func (g *Gate[J]) settle(j J, to state, is *rules, valid time.Duration) (released Released[J]) {
	f := g.askers[j]
	if f == nil {
		return released
	}
	delete(g.askers, j)
	f.state = to
	if to == known {
		f.rules = is
		g.paces.set(&f.pace, is.delay, f.slot)
		for _, w := range f.waiting {
			g.paces.join(&f.pace, w.Slot) // before it is served again
		}
	}
	f.expires = time.Now().Add(valid)
	released.Waiting = f.waiting
	if to == unknown {
		released.RetryAt = f.retryAt
	}
	f.waiting = nil
	close(f.changed)
	return released
}

// Stop returns all jobs that wait, and lets the gate keep no other one: a crawl that ends starts nothing new.
func (g *Gate[J]) Stop() (waiting []Waiting[J]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	for _, f := range g.files {
		waiting = append(waiting, f.waiting...)
		f.waiting = nil
	}
	return waiting
}

// Stopped reports whether the gate was stopped.
func (g *Gate[J]) Stopped() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stopped
}

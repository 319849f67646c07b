package frontier

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// PlaceCause is what a place for a download is used for, or why nothing starts in one that is free.
type PlaceCause uint8

// The causes. The first ones are those of free places.
const (
	PlaceEmpty        PlaceCause = iota // nothing is queued
	PlaceNotBefore                      // what is queued waits for its time: to be tried again, or as it was sent
	PlaceDelay                          // of the slot's rule, or that a callback asks for
	PlaceCrawlDelay                     // of robots.txt
	PlaceAutoThrottle                   // the delay follows the latency
	PlaceRefusals                       // the delay and pauses after refusals without Retry-After
	PlaceRetryAfter                     // of a refusal
	PlaceBlocked                        // robots.txt cannot be had, or an earlier run was to wait
	PlacePerSlot                        // as many downloads of the slot as may be
	PlaceGate                           // an address, a proxy or a downloader is at its limit
	PlaceRobots                         // robots.txt is fetched
	PlacePages                          // Config.Pages
	PlaceAlone                          // a suspect of a crash runs alone
	PlaceNotOurs                        // Config.MayStart
	PlacePaused
	PlaceStopping

	PlaceEngine // what is left
	PlaceMiddlewares
	PlaceLookup
	PlaceConnect // with TLS
	PlaceFirstByte
	PlaceBody
	PlaceDownload // what is not known better: layers, other downloaders
	PlaceMemory
	PlaceParsers
	PlaceItems
	PlaceFeeds
	PlaceStore

	PlaceCauses = iota // how many there are
)

// Phases are the parts of a download, as far as they are known.
type Phases struct {
	Lookup, Connect, FirstByte, Body time.Duration
}

// The states of a place that is used.
type placeState uint8

const (
	preparing placeState = iota
	downloading
	finishing
)

// place counts the time of one worker from when it is taken until it is free again. The Frontier's mutex guards it, without the
// atomic fields, which the goroutine of its job writes.
type place struct {
	slot       string
	inline     bool // its worker is one for waiters alone
	state      placeState
	since      time.Time // of the part that is not counted yet
	prev, next *place    // those in use

	// What is known of the uncounted part.
	known  [PlaceCauses]atomic.Int64 // nanoseconds
	some   atomic.Bool               // there are some
	doing  atomic.Uint32             // a PlaceCause and 1; 0: what the state says
	phase  atomic.Uint32             // of the download: the same
	memory atomic.Int64              // of it, nanoseconds of waiting for memory
	short  func() PlaceCause         // see Config.Short
}

// Wait is something that a job which has a place waits for. The zero Wait is nothing.
type Wait struct {
	place *place
	cause PlaceCause
	began time.Time
	now   func() time.Time
}

// waits begins a Wait, the zero one if there is no place. It takes no lock.
func (p *place) waits(cause PlaceCause, now func() time.Time) Wait {
	if p == nil {
		return Wait{}
	}
	p.doing.Store(uint32(cause) + 1)
	return Wait{p, cause, now(), now}
}

// Done ends the wait.
func (w Wait) Done() { w.DoneAs(w.cause) }

// DoneAs ends the wait, whose second half had another cause.
func (w Wait) DoneAs(cause PlaceCause) {
	if w.place == nil {
		return
	}
	w.place.doing.Store(0)
	took := w.now().Sub(w.began)
	w.place.knows(w.cause, took/2)
	w.place.knows(cause, took-took/2)
}

// knows notes how long the job has been in something that is not counted yet.
func (p *place) knows(cause PlaceCause, took time.Duration) {
	p.known[cause].Add(int64(took))
	p.some.Store(true)
}

// spent is how long places were in a cause, and for which slots above all.
type spent struct {
	time time.Duration
	top  [topSlots]spentFor
}

// topSlots is how many slots are counted for a cause. A slot that has more than a quarter of the time is among them.
const topSlots = 4

// spentFor is the time of a slot, which is never too long. above is how much it may be too short.
type spentFor struct {
	name  string // of the slot, or the gate
	time  time.Duration
	above time.Duration
	delay time.Duration // that was in force last
}

// add counts time. The slot of least time makes place for a new one.
func (s *spent) add(name string, delay, took time.Duration) {
	s.time += took
	if name == "" {
		return
	}
	least := 0
	for i := range s.top {
		if t := &s.top[i]; t.name == name {
			t.time, t.delay = t.time+took, delay
			return
		} else if t.time+t.above < s.top[least].time+s.top[least].above {
			least = i
		}
	}
	t := &s.top[least]
	*t = spentFor{name: name, time: took, above: t.time + t.above, delay: delay}
}

// freeFor is why nothing starts in the places that are free.
type freeFor struct {
	cause PlaceCause
	name  string
	delay time.Duration
}

// places count what the places for downloads are used for, and why nothing starts in those that are free. The Frontier's mutex
// guards them.
type places struct {
	between   PlaceCause        // see Config.Between
	short     func() PlaceCause // see Config.Short
	last      time.Time         // of the last tick; zero before the first
	over      bool
	total     time.Duration // of all places
	spent     [PlaceCauses]spent
	inline    time.Duration // of the workers for waiters
	free      freeFor       // since the last tick
	used      *place        // a list
	finishing int           // of them: those whose download is over
	spare     *place        // another one, by next alone
}

// tick counts the time of the free places until now. It is called before the workers or the reason change.
func (p *places) tick(w *workers, now time.Time) {
	if p.over {
		return
	}
	if p.last.IsZero() {
		p.last = now
		return
	}
	took := now.Sub(p.last)
	p.last = now
	if took <= 0 {
		return
	}
	free := time.Duration(max(w.free, 0))
	p.total += took * (free + time.Duration(w.all-w.free))
	if free > 0 {
		p.spent[p.free.cause].add(p.free.name, p.free.delay, took*free)
	}
}

// begin counts a place that is used from now on.
func (p *places) begin(inline bool, slot string, now time.Time) *place {
	one := p.spare
	if one == nil {
		one = &place{short: p.short}
	} else {
		p.spare = one.next
	}
	one.slot, one.inline, one.state, one.since = slot, inline, preparing, now
	one.doing.Store(0) // code that was given up may have left it behind
	one.prev, one.next = nil, p.used
	if p.used != nil {
		p.used.prev = one
	}
	p.used = one
	return one
}

// end counts a place that is free from now on.
func (p *places) end(one *place, now time.Time) {
	p.enter(one, preparing, now, Phases{})
	if one.prev != nil {
		one.prev.next = one.next
	} else {
		p.used = one.next
	}
	if one.next != nil {
		one.next.prev = one.prev
	}
	one.slot, one.prev, one.next = "", nil, p.spare
	p.spare = one
}

// enter counts what a place was in until now, and takes it to its next state.
func (p *places) enter(one *place, to placeState, now time.Time, ph Phases) {
	if !p.over {
		p.count(one, now, ph, &p.spent, &p.inline)
	}
	if one.some.Load() {
		one.some.Store(false)
		one.memory.Store(0)
		for i := range one.known {
			one.known[i].Store(0)
		}
	}
	if one.state == finishing && !one.inline {
		p.finishing--
	}
	if to == finishing && !one.inline {
		p.finishing++
	}
	one.state, one.since = to, now
	one.phase.Store(0)
}

// count adds what a place was in from its since until now.
func (p *places) count(one *place, now time.Time, ph Phases, to *[PlaceCauses]spent, inline *time.Duration) {
	left := now.Sub(one.since)
	if left <= 0 {
		return
	}
	if one.inline {
		*inline += left
		return
	}
	add := func(cause PlaceCause, took time.Duration) {
		if took = min(took, left); took > 0 {
			left -= took
			to[cause].add(one.slot, 0, took)
		}
	}
	var memory time.Duration
	if one.some.Load() {
		memory = time.Duration(one.memory.Load())
		for cause := range one.known {
			add(PlaceCause(cause), time.Duration(one.known[cause].Load()))
		}
	}
	add(PlaceLookup, ph.Lookup)
	add(PlaceConnect, ph.Connect)
	add(PlaceFirstByte, ph.FirstByte)
	add(PlaceBody, ph.Body-memory) // which waits for memory while it is read
	rest := p.between
	if one.state == downloading {
		rest = PlaceDownload
		if phase := one.phase.Load(); phase != 0 && ph == (Phases{}) { // it goes on, or has failed
			rest = PlaceCause(phase - 1)
		}
	}
	if doing := one.doing.Load(); doing != 0 {
		rest = PlaceCause(doing - 1)
	}
	add(rest, left)
}

// enter counts what the place of a job was in, and takes it to its next state. The caller holds mu.
func (f *Frontier[J]) enter(c *Claim[J], to placeState, now time.Time, ph Phases) {
	if one := c.worker.place; one != nil {
		f.places.enter(one, to, now, ph)
	}
}

// whyFree returns why nothing starts in the places that are free. The caller holds mu.
func (f *Frontier[J]) whyFree() freeFor {
	switch {
	case f.stopped:
		return freeFor{cause: PlaceStopping}
	case f.paused:
		return freeFor{cause: PlacePaused}
	case f.workers.limited && f.workers.pages <= 0:
		return freeFor{cause: PlacePages}
	case !f.mayStart():
		return freeFor{cause: PlaceNotOurs}
	case f.suspects.alone != nil:
		return freeFor{cause: PlaceAlone, name: f.suspects.alone.claim.Slot()}
	}
	held := f.slots.HeldUp()
	why := freeFor{name: held.Slot, delay: held.Delay}
	switch held.Hold {
	case slots.NotHeld:
		return freeFor{cause: f.whyEmpty()}
	case slots.Delayed:
		why.cause = causeOfDelay(held)
	case slots.RetryAfter:
		why.cause = PlaceRetryAfter
	case slots.Refused:
		why.cause = PlaceRefusals
	case slots.Blocked:
		why.cause = PlaceBlocked
	case slots.AtLimit:
		why.cause = PlacePerSlot
	case slots.Parked:
		why.cause = PlaceRobots
	case slots.AtGate:
		why.cause, why.name = PlaceGate, held.Gate
	}
	return why
}

// causeOfDelay returns where the delay of a slot comes from.
func causeOfDelay(held slots.Held) PlaceCause {
	switch held.Delay {
	case held.Delays[slots.Penalty]:
		return PlaceRefusals
	case held.Delays[slots.Robots]:
		return PlaceCrawlDelay
	case held.Delays[slots.Throttled]:
		return PlaceAutoThrottle
	}
	return PlaceDelay
}

// whyEmpty returns why there is nothing to start although nothing holds it up. The caller holds mu.
func (f *Frontier[J]) whyEmpty() PlaceCause {
	switch {
	case f.workers.all-f.workers.free > f.places.finishing: // what is downloaded may bring some
		return PlaceEmpty
	case !f.due.next.IsZero():
		return PlaceNotBefore
	case f.atWork != nil && !f.places.last.IsZero():
		return f.atWork()
	}
	return PlaceEmpty
}

// Waits notes that a job, which may have a place, waits for something, until Done of the result is called. It takes no lock. Only the
// goroutine of the job may call it.
func (f *Frontier[J]) Waits(j J, cause PlaceCause) Wait {
	return j.Claim().place.waits(cause, f.now)
}

// Progress returns where the download of the job is to note how far it is. Only the goroutine of the job may call it.
func (c *Claim[J]) Progress() Progress { return Progress{c.place} }

// Progress is where a download notes how far it is. Its methods take no lock, and may be called concurrently.
type Progress struct{ place *place }

// Enter notes what the download is in from now on.
func (p Progress) Enter(phase PlaceCause) {
	if p.place != nil {
		p.place.phase.Store(uint32(phase) + 1)
	}
}

// WaitedForMemory notes that the download has waited for memory while its body came.
func (p Progress) WaitedForMemory(took time.Duration) {
	if p.place != nil {
		p.place.knows(p.place.short(), took)
		p.place.memory.Add(int64(took))
	}
}

// PlaceTime is how long places were in a cause.
type PlaceTime struct {
	Cause PlaceCause
	Time  time.Duration
	Top   string        // the slot, or the gate, that most of it was for; "": none, or it is not known
	For   time.Duration // that was for Top, at least
	Delay time.Duration // in force in Top; 0: none
}

// PlaceTimes is what the places were used for.
type PlaceTimes struct {
	Total  time.Duration // the number of places, added up over time
	Causes []PlaceTime   // those with some time, the longest first
	Inline time.Duration // of downloads in places that are reserved for inline requests, which Total does not have
	Places int           // how many there are now
}

// PlaceTimes returns what the places were used for until now.
func (f *Frontier[J]) PlaceTimes() PlaceTimes {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	f.places.tick(&f.workers, now)
	all := PlaceTimes{Total: f.places.total, Inline: f.places.inline, Places: f.workers.all}
	spent := f.places.spent
	if !f.places.over && !f.places.last.IsZero() {
		for one := f.places.used; one != nil; one = one.next {
			f.places.count(one, now, Phases{}, &spent, &all.Inline)
		}
	}
	for cause := range spent {
		s := &spent[cause]
		if s.time <= 0 {
			continue
		}
		top := slices.MaxFunc(s.top[:], func(a, b spentFor) int { return cmp.Compare(a.time, b.time) })
		all.Causes = append(all.Causes, PlaceTime{PlaceCause(cause), s.time, top.name, top.time, top.delay})
	}
	slices.SortStableFunc(all.Causes, func(a, b PlaceTime) int { return cmp.Compare(b.Time, a.Time) })
	return all
}

// EndPlaces ends the counting of the places: the crawl is over.
func (f *Frontier[J]) EndPlaces() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	f.places.tick(&f.workers, now)
	for one := f.places.used; one != nil; one = one.next {
		f.places.count(one, now, Phases{}, &f.places.spent, &f.places.inline)
	}
	f.places.over = true
}

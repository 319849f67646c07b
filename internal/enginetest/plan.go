package enginetest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
)

// Plan is all that is random about one crawl of the harness. It is a function of the seed: what
// user code and servers do is drawn by place, page and attempt, never in the order in which things happen
// to run, so that a model can tell beforehand what has to come out.
type Plan struct {
	seed   uint64
	traced bool     // what happens is kept, for a crawl that is looked at
	hosts  []string // origins without scheme
	pages  []harnessPage
	seeds  []harnessLink

	overHTTP  bool // the real downloader over net.Pipe; else an answering Downloader
	output    bool // parsers made by Handle; else the channels
	plain     bool // no events per request, so that Output takes its short way
	starter   bool // the spider has Start
	unique    bool // EngineWithUniqueReq
	domains   bool // EngineWithAllowedDomains
	oneSlot   bool // SlotBy puts all hosts into one
	middle    bool // middlewares are registered
	commits   bool // a Committer is registered
	robots    []harnessRobots
	obey      bool    // robots.txt is asked for
	faulty    float64 // how often user code and servers fail
	fetches   float64 // how often user code fetches inline
	slow      time.Duration
	closes    bool // user code may return CloseSpider
	stuck     bool // user code may refuse to return
	slotDelay time.Duration

	retryAfter time.Duration // what 429 and 503 say; 0: nothing

	parse, readers        uint
	concurrency, itemers  int
	policy                tegenaria.Politeness
	limits                tegenaria.Limits
	grace                 time.Duration
	ending                harnessEnding
	endTouch, pauseTouch  int // what happens at this touch of the witness; 0: never
	endAfter, deadline    time.Duration
	pauseFor, sampleEvery time.Duration
	endTwice              bool

	linger      time.Duration // how long calls of the cache take, at most
	deaf        bool          // whatever their context says
	heedful     bool          // every touch takes a snapshot
	slowStarted time.Duration // how long RequestStarted takes, at most
	stops       []harnessStop // that come on top of the ending
}

// harnessStop is another call of Stop.
type harnessStop struct {
	after, deadline time.Duration // of the ending; below 0: none
}

// harnessEnding is an event that ends a crawl early.
type harnessEnding uint8

const (
	endNone harnessEnding = iota
	endStop
	endStopDeadline
	endCancel
	endLimit
	harnessEndings
)

// harnessKind is the answer of a page.
type harnessKind uint8

const (
	pageFine harnessKind = iota
	pageMoved
	pageStatus
	pageBroken
	pageFlaky  // 503 before its attempt good
	pageSilent // no answer until the request times out
)

// harnessPage is a page of the synthetic web.
type harnessPage struct {
	id        int
	host      int
	kind      harnessKind
	to        int // of pageMoved
	code      int
	good      int
	forbidden bool // by the rules of robots.txt
	inline    bool // only Fetch asks for it
	leaf      bool // it has no links and no redirect
	links     []harnessLink
	items     int
}

// harnessLink is one emission: a reference and where it leads.
type harnessLink struct {
	ref        string
	to         int // page, −1: nowhere
	unfiltered bool
	offsite    bool
	follow     bool // resolved by Response.Follow; else sent as it is
	later      time.Duration
	priority   int
}

// harnessRobots is how a host answers for robots.txt.
type harnessRobots uint8

const (
	robotsNone   harnessRobots = iota // 404
	robotsRules                       // 200 with rules
	robotsSlow                        // the same after 3 s
	robotsDown                        // 503 for ever
	robotsFlaky                       // 503 twice, then the rules
	robotsBroken                      // a network error for ever
	harnessRobotsKinds
)

// harnessTimeout is the timeout of all requests.
const harnessTimeout = 5 * time.Second

// NewPlan returns the plan of a seed. traced says that its crawl keeps a trace of what happens.
func NewPlan(seed uint64, traced bool) *Plan {
	r := rand.New(rand.NewPCG(seed, 7))
	chance := func(p float64) bool { return r.Float64() < p }
	pick := func(ds ...time.Duration) time.Duration { return ds[r.IntN(len(ds))] }
	p := &Plan{seed: seed, traced: traced, unique: !chance(0.1)}
	p.overHTTP, p.output, p.starter = chance(0.5), chance(0.4), chance(0.3)
	p.plain = p.output && chance(0.4)
	p.domains, p.oneSlot, p.middle, p.commits = chance(0.3), chance(0.15), chance(0.6), chance(0.4)
	p.obey = chance(0.5)
	if chance(0.6) {
		p.faulty = r.Float64() * 0.3
	}
	if chance(0.5) {
		p.fetches = r.Float64() * 0.5
	}
	p.slow = pick(0, 10*time.Millisecond, time.Second)
	p.parse, p.readers = uint(1+r.IntN(3)), 1+uint(r.IntN(3))*uint(r.IntN(2))
	p.concurrency, p.itemers = 1+r.IntN(5), 1+r.IntN(3)
	p.policy = tegenaria.Politeness{
		Delay: pick(0, 0, 50*time.Millisecond, time.Second), PerSlot: r.IntN(4), IgnoreRobots: !p.obey,
	}
	if chance(0.15) {
		p.slotDelay = pick(100*time.Millisecond, 2*time.Second)
	}
	p.limits.Attempts = []int{0, 1, 2, 3}[r.IntN(4)]
	if chance(0.3) {
		p.limits.Pending = 1 + r.IntN(3)
	}
	if chance(0.3) {
		p.limits.BodiesInFlight = int64(1 + r.IntN(500))
	}
	p.grace = pick(20*time.Second, 20*time.Second, 3*time.Second, 200*time.Millisecond, 0)
	p.sampleEvery = pick(7*time.Millisecond, 333*time.Millisecond, 5*time.Second)
	if chance(0.25) {
		p.pauseTouch, p.pauseFor = 1+r.IntN(60), pick(0, time.Millisecond, 10*time.Second)
	}
	p.planEnding(r, chance, pick)
	p.planPages(r, chance)
	p.planPoliteness()
	p.planTrouble()
	return p
}

// planTrouble draws by itself, as planPoliteness does.
func (p *Plan) planTrouble() {
	r := rand.New(rand.NewPCG(p.seed, 9))
	pick := func(ds ...time.Duration) time.Duration { return ds[r.IntN(len(ds))] }
	p.linger = pick(0, 0, 0, time.Millisecond, 50*time.Millisecond, 3*time.Second)
	p.deaf = p.linger < time.Second && r.IntN(2) == 0
	p.heedful = r.IntN(4) == 0
	p.slowStarted = pick(0, 0, p.slow, 5*time.Second)
	if p.ending == endNone || r.IntN(3) > 0 {
		return
	}
	for range 1 + r.IntN(2) {
		p.stops = append(p.stops, harnessStop{
			after:    pick(0, 0, time.Millisecond, 150*time.Millisecond, 2*time.Second, 10*time.Second),
			deadline: pick(-1, -1, 0, 100*time.Millisecond, 3*time.Second),
		})
	}
}

// hasty reports whether work may be given less time to end than it needs.
func (p *Plan) hasty() bool {
	noTime := p.grace == 0 || p.ending == endStopDeadline && p.deadline == 0
	for _, s := range p.stops {
		noTime = noTime || s.deadline == 0
	}
	return noTime
}

// planPoliteness draws by itself, so that what else a seed means stays as it was.
func (p *Plan) planPoliteness() {
	r := rand.New(rand.NewPCG(p.seed, 8))
	pick := func(ds ...time.Duration) time.Duration { return ds[r.IntN(len(ds))] }
	p.retryAfter = pick(0, 0, 0, time.Second, 40*time.Second)
	if r.IntN(4) == 0 {
		p.policy.Jitter = r.Float64()
	}
	if r.IntN(4) == 0 {
		p.policy.Overrides = make(map[string]tegenaria.SlotPolicy)
		for _, key := range []string{"h0.test", "*.test"} {
			p.policy.Overrides[key] = tegenaria.SlotPolicy{Delay: pick(0, 20*time.Millisecond, 2*time.Second), PerSlot: r.IntN(3)}
		}
	}
	if r.IntN(6) == 0 {
		p.policy.AutoThrottle = &tegenaria.AutoThrottle{Start: pick(0, 10*time.Millisecond), Max: pick(0, time.Second)}
	}
	if r.IntN(8) == 0 {
		p.policy.MaxPages = 1 + r.IntN(8)
	}
}

// rule is the policy of a slot, as the harness understands Politeness; jitter is taken off its delay.
func (p *Plan) rule(slot string) tegenaria.SlotPolicy {
	o := tegenaria.SlotPolicy{Delay: p.policy.Delay, Jitter: p.policy.Jitter, PerSlot: p.policy.PerSlot, MaxPages: p.policy.MaxPages}
	if p.policy.Overrides != nil {
		if own, ok := p.policy.Overrides[slot]; ok {
			o = own
		} else if strings.HasSuffix(slot, ".test") {
			o = p.policy.Overrides["*.test"]
		}
	}
	o.Delay = time.Duration(float64(o.Delay) * (1 - o.Jitter))
	if o.PerSlot == 0 {
		o.PerSlot = 8
	}
	return o
}

func (p *Plan) planEnding(r *rand.Rand, chance func(float64) bool, pick func(...time.Duration) time.Duration) {
	if chance(0.5) {
		if p.stuck = chance(0.2); p.stuck { // the crawl finishes without them
			p.limits.Callback = pick(500*time.Millisecond, 5*time.Second, 90*time.Second)
		}
		return
	}
	p.ending = harnessEnding(1 + r.IntN(int(harnessEndings)-1))
	p.endTouch, p.endAfter = 1+r.IntN(150), pick(0, 0, time.Millisecond, 100*time.Millisecond, 4*time.Second)
	p.deadline = pick(0, 100*time.Millisecond, 3*time.Second)
	p.endTwice = chance(0.3)
	p.closes = chance(0.2)
	p.stuck = chance(0.35)
	if p.stuck && chance(0.5) {
		p.limits.Callback = pick(500*time.Millisecond, 5*time.Second, 90*time.Second)
	}
	if p.ending != endLimit {
		return
	}
	switch r.IntN(6) {
	case 0:
		p.limits.Pages = 1 + r.IntN(15)
	case 1:
		p.limits.Items = 1 + r.IntN(15)
	case 2:
		p.limits.Errors = 1 + r.IntN(5)
	case 3:
		p.limits.Time = pick(time.Millisecond, time.Second, 20*time.Second)
	case 4:
		p.limits.Depth = r.IntN(4) - 1
	case 5:
		p.limits.QueueBytes = int64(100 + r.IntN(1000))
	}
	if p.stuck && p.limits.Callback == 0 {
		p.stuck = false // nobody would stop it
	}
}

// Numbers of special pages, behind the linked ones.
const (
	harnessLeaves  = 4
	harnessInlines = 6
)

func (p *Plan) planPages(r *rand.Rand, chance func(float64) bool) {
	for i := range 1 + r.IntN(4) {
		p.hosts = append(p.hosts, []string{"h0.test", "h0.test:8080", "www.h1.test", "h2.test"}[i])
		p.robots = append(p.robots, harnessRobots(r.IntN(int(harnessRobotsKinds))))
	}
	n := 1 + r.IntN(22)
	if !p.unique {
		n = 1 + r.IntN(6)
	}
	for i := range n + harnessLeaves + harnessInlines {
		page := harnessPage{
			id: i, host: r.IntN(len(p.hosts)), items: r.IntN(4), code: 200,
			leaf: i >= n && i < n+harnessLeaves, inline: i >= n+harnessLeaves, forbidden: chance(0.1),
		}
		switch {
		case chance(0.12) && !page.leaf:
			page.kind, page.code = pageMoved, []int{301, 302, 303, 307, 308}[r.IntN(5)]
			page.to = r.IntN(n)
			if !p.unique {
				page.to = i + 1 + r.IntN(2) // no circles
			}
			if page.inline {
				page.to = min(i+1+r.IntN(2), n+harnessLeaves+harnessInlines-1)
			}
		case !chance(p.faulty):
		case chance(0.3):
			page.kind, page.code = pageStatus, []int{400, 404, 429, 500, 503}[r.IntN(5)]
		case chance(0.4):
			page.kind, page.code = pageFlaky, 503
			page.good = 1 + r.IntN(2)
		case chance(0.85):
			page.kind = pageBroken
		default:
			page.kind = pageSilent
		}
		p.pages = append(p.pages, page)
	}
	for i := range n {
		if p.chainFrom(i) > 6 {
			p.pages[i].kind, p.pages[i].code = pageFine, 200
		}
	}
	for i := range n {
		for range r.IntN(5) {
			p.pages[i].links = append(p.pages[i].links, p.planLink(r, i, n))
		}
	}
	for range 1 + r.IntN(4) {
		p.seeds = append(p.seeds, p.planLink(r, -1, n))
	}
	p.seeds = append(p.seeds, harnessLink{ref: p.url(0), to: 0})
}

// chainFrom is the length of the chain of redirects that begins with a page.
func (p *Plan) chainFrom(page int) (n int) {
	for p.pages[page].kind == pageMoved && n < 50 {
		page = p.pages[page].to
		n++
	}
	return n
}

func (p *Plan) url(page int) string {
	dir := "/"
	if p.pages[page].forbidden {
		dir = "/private/"
	}
	return fmt.Sprintf("http://%s%sp%d?a=%d&b=2", p.hosts[p.pages[page].host], dir, page, page)
}

// planLink draws a link from a page, −1 for a seed, among n pages.
func (p *Plan) planLink(r *rand.Rand, from, n int) harnessLink {
	l := harnessLink{follow: from >= 0 && r.IntN(2) == 0, priority: r.IntN(3) - 1}
	if r.IntN(10) == 0 {
		l.later = time.Duration(r.IntN(5000)) * time.Millisecond
	}
	switch {
	case r.IntN(12) == 0:
		l.to, l.ref = -1, []string{"ftp://h0.test/", "mailto:a@b", "", "http://", "http://h0.test/" + strings.Repeat("x", 17000)}[r.IntN(5)]
		return l
	case p.domains && r.IntN(8) == 0:
		l.to, l.ref, l.offsite = -1, "http://off.test/p1", true
		return l
	case r.IntN(8) == 0:
		l.to, l.unfiltered = n+r.IntN(harnessLeaves), true
		l.ref = p.url(l.to)
		return l
	}
	l.to = r.IntN(n + harnessLeaves)
	if !p.unique {
		l.to = from + 1 + r.IntN(n+harnessLeaves-from-1) // no circles
	}
	l.ref = p.url(l.to)
	switch r.IntN(6) {
	case 0:
		l.ref += "#part"
	case 1:
		l.ref = strings.Replace(l.ref, fmt.Sprintf("?a=%d&b=2", l.to), fmt.Sprintf("?b=2&a=%d", l.to), 1)
	case 2:
		l.ref = strings.Replace(l.ref, "http://h", "HTTP://H", 1)
	case 3:
		l.ref = strings.Replace(l.ref, "/p", "/x/../p", 1)
	case 4:
		if from >= 0 && p.pages[from].host == p.pages[l.to].host {
			l.ref, l.follow = l.ref[len("http://")+len(p.hosts[p.pages[l.to].host]):], true
		}
	}
	return l
}

// draw is a random number that belongs to a place, a page and an attempt.
func (p *Plan) draw(place string, page, attempt int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, place, "/", page, "/", attempt)
	return rand.New(rand.NewPCG(p.seed, h.Sum64()))
}

// harnessFault is how a piece of user code ends.
type harnessFault uint8

const (
	faultNone harnessFault = iota
	faultError
	faultPanic
	faultIgnore
	faultRetry
	faultAnswer // of ProcessRequest: it sets the response
	faultClose
	faultStuck
)

// fault draws how user code of a place ends for a page. Faults that end the whole crawl are told apart, since
// no model foresees them.
func (p *Plan) fault(place string, page, attempt int) harnessFault {
	r := p.draw(place, page, attempt)
	if r.Float64() >= p.faulty {
		return faultNone
	}
	f := []harnessFault{faultError, faultPanic, faultIgnore, faultRetry, faultRetry, faultAnswer}[r.IntN(6)]
	if p.closes && r.IntN(6) == 0 {
		f = faultClose
	}
	if p.stuck && r.IntN(4) == 0 {
		f = faultStuck
	}
	return f
}

// after is how long a Retry waits.
func (p *Plan) after(page, attempt int) time.Duration {
	return []time.Duration{0, 100 * time.Millisecond, 5 * time.Second}[p.draw("after", page, attempt).IntN(3)]
}

// attempts is Limits.Attempts in force.
func (p *Plan) attempts() int {
	if p.limits.Attempts == 0 {
		return 10
	}
	return p.limits.Attempts
}

// slot is the slot of a host, as the harness understands Politeness.
func (p *Plan) slot(host string) string {
	if p.oneSlot {
		return "all"
	}
	name, _, _ := strings.Cut(host, ":")
	return name
}

// body is what a page says.
func (p *Plan) body(page int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><title>page %d</title>\n", page)
	for _, l := range p.pages[page].links {
		fmt.Fprintf(&b, "<a href=\"%s\">link</a>\n", strings.ReplaceAll(l.ref, "&", "&amp;"))
	}
	return b.String()
}

// harnessRules is the robots.txt of all hosts that have one.
const harnessRules = "User-agent: *\nDisallow: /private/\n"

// harnessPageOf returns the page of a URL, however it is spelled; −1 for none.
func harnessPageOf(url string) int {
	_, rest, ok := strings.Cut(url, "a=")
	page := -1
	if ok {
		fmt.Sscanf(rest, "%d", &page)
	}
	return page
}

// Summary tells the plan without its pages.
func (p *Plan) Summary() string {
	short := *p
	short.pages, short.seeds = nil, nil
	return fmt.Sprintf("%d pages, %+v", len(p.pages), short)
}

package tegenaria

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Politeness says how hosts are treated. Its zero value obeys robots.txt, sets no delay, lets 8 requests of one host
// be in flight at once, and leaves a host alone that asks for it by 429 or 503.
//
// The delay in force in a slot is the largest of four, each kept by itself: this one, Crawl-delay of robots.txt, what
// AutoThrottle finds, and a penalty after refusals. A callback may ask for more, with [Context.SlotDelay].
type Politeness struct {
	Delay  time.Duration // between the starts of two downloads of a slot
	Jitter float64       // each Delay is stretched by a random factor from 1−Jitter to 1+Jitter; Scrapy's is 0.5 (0: none)

	PerSlot  int // requests in flight per slot (0: 8)
	PerIP    int // requests in flight per address, of all its slots together (0: no limit)
	PerProxy int // requests in flight per proxy (0: no limit)
	MaxPages int // downloads begun per slot and job; what is left then is filtered as page-budget (0: no limit)

	SlotBy    SlotBy                // what a slot is (nil: SlotHost)
	Overrides map[string]SlotPolicy // for some slots: this instead of Delay, Jitter, PerSlot and MaxPages

	AutoThrottle  *AutoThrottle // delays that follow the latency of the answers (nil: none)
	MaxRetryAfter time.Duration // the longest Retry-After that is honoured; a longer one counts as this (0: 1 h)
	MaxCrawlDelay time.Duration // the longest Crawl-delay of robots.txt that is honoured; a longer one counts as this (0: 30 s)

	IgnoreRobots bool           // do not ask for robots.txt
	UserAgent    string         // sent where a request names none, and matched in robots.txt ("": tegenaria/VERSION)
	AllowPrivate []netip.Prefix // special-purpose address ranges that may be dialled all the same
}

// SlotPolicy stands in the place of Politeness.Delay, Jitter, PerSlot and MaxPages for some slots. It inherits
// nothing: its zero value means no delay, the default of 8, and no page budget.
//
// The key in Politeness.Overrides is the name of a slot, as "www.example.com"; or "*.example.com" for all slots whose
// names end in .example.com, itself not. The name goes before the patterns, a longer pattern before a shorter one.
// Hosts may be spelled as in URLs: "WWW.Example.com", "bücher.example". A slot of a host has no port.
type SlotPolicy struct {
	Delay    time.Duration
	Jitter   float64
	PerSlot  int
	MaxPages int
}

// AutoThrottle sets the delay of each slot so that about Target requests are under way in it at a time: after each
// answer it is the mean of the old delay and latency/Target, at least the latter, never below Politeness.Delay and
// never above Max. An answer whose status is not 200 never lowers it. That is the algorithm of Scrapy. In addition
// timeouts and broken connections are refusals like 429 and 503. The latency is the time from the start of the
// download to the header of the response.
type AutoThrottle struct {
	Start  time.Duration // of a slot that is new, unless its Delay is larger (0: 5 s)
	Max    time.Duration // the largest delay (0: 60 s)
	Target float64       // requests under way at a time (0: 1)
}

// SlotBy names the slot of a URL: requests of one slot share delay and limit. It is called
// concurrently and must not block. One that panics is told to the ErrorHandlers once in a run; a URL for
// which it does belongs to its host's slot.
type SlotBy func(u *url.URL) string

// SlotHost is the default: one slot per host name, whatever the port.
func SlotHost(u *url.URL) string { return urlx.Hostname(u.Scheme + "://" + u.Host) }

// SlotRegistrableDomain makes one slot of a registrable domain and all its sub-domains, by the public
// suffix list.
func SlotRegistrableDomain(u *url.URL) string { return urlx.RegistrableDomain(SlotHost(u)) }

const (
	defaultPerSlot       = 8
	defaultMaxRetryAfter = time.Hour
	defaultMaxCrawlDelay = 30 * time.Second
)

func (p Politeness) mistakes() error {
	errs := []error{p.own().mistakes("Politeness.")}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"PerIP", int64(p.PerIP)}, {"PerProxy", int64(p.PerProxy)},
		{"MaxRetryAfter", int64(p.MaxRetryAfter)}, {"MaxCrawlDelay", int64(p.MaxCrawlDelay)},
	} {
		if n.value < 0 {
			errs = append(errs, fmt.Errorf("the field Politeness.%s is negative (0 is the default)", n.name))
		}
	}
	if strings.ContainsFunc(p.UserAgent, unicode.IsControl) {
		errs = append(errs, fmt.Errorf("Politeness.UserAgent is %q; a header cannot carry control characters such as line ends", p.UserAgent))
	}
	for name, o := range p.Overrides {
		if name == "" || name == "*" || name == "*." {
			errs = append(errs, fmt.Errorf("Politeness.Overrides[%q] is for no slot; name one, or write \"*.example.com\" for all below a domain", name))
		}
		errs = append(errs, o.mistakes(fmt.Sprintf("Politeness.Overrides[%q].", name)))
	}
	for _, prefix := range p.AllowPrivate {
		if !prefix.IsValid() {
			errs = append(errs, errors.New("Politeness.AllowPrivate holds an invalid prefix; use netip.MustParsePrefix(\"10.0.0.0/8\")"))
		}
	}
	if a := p.AutoThrottle; a != nil && (a.Start < 0 || a.Max < 0 || !(a.Target >= 0)) {
		errs = append(errs, fmt.Errorf("the throttle Politeness.AutoThrottle is %+v; nothing in it may be negative (0 is the default)", *a))
	}
	return errors.Join(errs...)
}

func (p SlotPolicy) mistakes(where string) error {
	var errs []error
	if p.Delay < 0 {
		errs = append(errs, fmt.Errorf("%sDelay is %s; it must not be negative", where, p.Delay))
	}
	if !(p.Jitter >= 0 && p.Jitter <= 1) {
		errs = append(errs, fmt.Errorf("%sJitter is %v; it must be between 0 and 1 (0.5 stretches a delay by 0.5 to 1.5)", where, p.Jitter))
	}
	if p.PerSlot < 0 {
		errs = append(errs, fmt.Errorf("%sPerSlot is %d; it must not be negative (0 is the default of %d)", where, p.PerSlot, defaultPerSlot))
	}
	if p.MaxPages < 0 {
		errs = append(errs, fmt.Errorf("%sMaxPages is %d; it must not be negative (0 is no limit)", where, p.MaxPages))
	}
	return errors.Join(errs...)
}

func (p Politeness) agent() string {
	if p.UserAgent == "" {
		return "tegenaria/" + Version
	}
	return p.UserAgent
}

// own is the policy of slots that no override is for.
func (p Politeness) own() SlotPolicy {
	return SlotPolicy{Delay: p.Delay, Jitter: p.Jitter, PerSlot: p.PerSlot, MaxPages: p.MaxPages}
}

// throttle returns the AutoThrottle with its defaults, nil for none.
func (p Politeness) throttle() *slots.Throttle {
	if p.AutoThrottle == nil {
		return nil
	}
	return &slots.Throttle{
		Start:  cmp.Or(p.AutoThrottle.Start, 5*time.Second),
		Max:    cmp.Or(p.AutoThrottle.Max, time.Minute),
		Target: cmp.Or(p.AutoThrottle.Target, 1),
	}
}

// rule is the policy as the frontier needs it.
func (p SlotPolicy) rule() frontier.Rule {
	r := frontier.Rule{Policy: slots.Policy{Delay: p.Delay, Limit: cmp.Or(p.PerSlot, defaultPerSlot)}, Pages: p.MaxPages}
	if j := p.Jitter; j > 0 {
		r.Jitter = func() float64 { return 1 - j + 2*j*rand.Float64() }
	}
	return r
}

// rules are the policies of all slots as the frontier needs them.
func (p Politeness) rules() *frontier.Rules {
	overrides := make(map[string]frontier.Rule, len(p.Overrides))
	for key, o := range p.Overrides {
		overrides[key] = o.rule()
	}
	return frontier.NewRules(p.own().rule(), overrides)
}

// SlotStatus is the state of a slot of a running crawl.
type SlotStatus struct {
	Name     string
	Pending  int       // requests that wait in its queue
	InFlight int       // downloads that are under way, or about to start
	PerSlot  int       // the most of them; RequestWithMaxConnsPerHost may have lowered it
	Next     time.Time // nothing starts before; zero if nothing was started yet

	Delay        time.Duration // in force, before jitter: the largest of the slot's own and those that follow
	SlotDelay    time.Duration // that a callback asked for, 0: none
	CrawlDelay   time.Duration // of robots.txt, 0: none
	AutoThrottle time.Duration // that follows the latency, 0: none
	Penalty      time.Duration // after refusals, 0: none

	Pages, MaxPages int  // downloads begun, and how many may be; both 0 without a page budget
	Gated           bool // it waits for a place at its address or proxy
}

// Slots returns how the slots of the running crawl are doing that have work or something to remember, in no
// order; nil if no crawl is running. No request starts while it looks at all of them.
func (e *SpiderEngine) Slots() []SlotStatus {
	c := e.current()
	if c == nil {
		return nil
	}
	known := c.frontier.Status()
	all := make([]SlotStatus, len(known))
	for i, s := range known {
		all[i] = SlotStatus{
			Name: s.Name, Pending: s.Pending, InFlight: s.InFlight, PerSlot: s.Limit, Next: s.Next,
			Delay:     s.Delay,
			SlotDelay: max(s.Delays[slots.Asked], 0), CrawlDelay: max(s.Delays[slots.Robots], 0),
			AutoThrottle: max(s.Delays[slots.Throttled], 0), Penalty: max(s.Delays[slots.Penalty], 0),
			Pages: s.Pages, MaxPages: s.MaxPages, Gated: s.Gated,
		}
	}
	return all
}

// SetSlot gives one slot another policy, from now on and until the end of the run: a slot that is waiting for its
// delay waits for the new one, counted from its last start. It stands in the place of Politeness and its Overrides.
// A page budget counts what was begun before. A host may be spelled as in URLs. A negative field or a Jitter above 1 is an error, as is a call while no
// crawl is running.
func (e *SpiderEngine) SetSlot(name string, p SlotPolicy) error {
	if err := p.mistakes("SlotPolicy."); err != nil {
		return err
	}
	c := e.current()
	if c == nil {
		return errNotRunning
	}
	c.frontier.SetRule(name, p.rule())
	return nil
}

// BlockCause says why nothing is asked of a slot for a while.
type BlockCause string

// The causes. The delays that the user's own code asks for are none.
const (
	BlockRetryAfter   BlockCause = "Retry-After"    // of 429 and 503
	BlockRefusals     BlockCause = "refusals"       // 429 and 503 without Retry-After, with AutoThrottle timeouts and broken connections too
	BlockRobots       BlockCause = "robots.txt"     // it cannot be had, or was answered with Retry-After
	BlockCrawlDelay   BlockCause = "Crawl-delay"    // of robots.txt, for each request; needs a MaxCrawlDelay above a minute
	BlockAutoThrottle BlockCause = "AutoThrottle"   // for each request
	BlockEarlierRun   BlockCause = "an earlier run" // of the durable job, which was to wait until then
)

// SlotBlock says that for more than a minute nothing will be asked of a slot.
type SlotBlock struct {
	Slot  string // its name, usually the host
	Cause BlockCause
	Until time.Time // when the next request may start, as far as is known
}

// blockCauses names the causes of the frontier.
var blockCauses = [frontier.Causes]BlockCause{
	frontier.RetryAfter: BlockRetryAfter, frontier.Refusals: BlockRefusals, frontier.Robots: BlockRobots,
	frontier.CrawlDelay: BlockCrawlDelay, frontier.AutoThrottle: BlockAutoThrottle, frontier.EarlierRun: BlockEarlierRun,
}

// blocked reports slots that were blocked meanwhile. The caller holds no locks.
func (t *teller) blocked() {
	c := t.crawl
	if !c.frontier.HasBlocks() {
		return
	}
	list, log, last := c.frontier.TakeBlocks()
	for i, b := range list {
		block := SlotBlock{b.Slot, blockCauses[b.Cause], b.Until}
		if i < log {
			t.log.Blocked(block.Slot, string(block.Cause), block.Until, last && i == log-1)
		}
		if f := c.cfg.events.SlotBlocked; f != nil {
			t.event(func() { f(block) })
		}
	}
}

// describeSlots adds to a batch the politeness of its jobs' slots, those that go back among them, and of others.
func (s *settler) describeSlots(batch *Batch, list []ended, others []string) {
	seen := make(map[string]struct{})
	add := func(name string) {
		if _, known := seen[name]; known {
			return
		}
		seen[name] = struct{}{}
		if state, ok := s.crawl.frontier.Save(name); ok {
			batch.Slots = append(batch.Slots, SlotState(state))
		}
	}
	for i := range list {
		add(list[i].Record.Slot)
	}
	for _, name := range others {
		add(name)
	}
}

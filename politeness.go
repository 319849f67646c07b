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
	MaxRetryAfter time.Duration // of a longer Retry-After only so much is obeyed (0: 1 h)
	MaxCrawlDelay time.Duration // of a longer Crawl-delay in robots.txt only so much is obeyed (0: 30 s)

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

// SlotBy names the slot of an URL: requests of one slot share delay and limit. It is called
// concurrently and must not block. One that panics is told to the ErrorHandlers once in a run; an URL for
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

// throttle returns the AutoThrottle with its defaults.
func (p Politeness) throttle() (t slots.Throttle, on bool) {
	if p.AutoThrottle == nil {
		return t, false
	}
	return slots.Throttle{
		Start:  cmp.Or(p.AutoThrottle.Start, 5*time.Second),
		Max:    cmp.Or(p.AutoThrottle.Max, time.Minute),
		Target: cmp.Or(p.AutoThrottle.Target, 1),
	}, true
}

// slotRule is a SlotPolicy as the scheduler needs it.
type slotRule struct {
	slots.Policy
	pages int // 0: no limit
}

func (p SlotPolicy) rule() slotRule {
	r := slotRule{slots.Policy{Delay: p.Delay, Limit: cmp.Or(p.PerSlot, defaultPerSlot)}, p.MaxPages}
	if j := p.Jitter; j > 0 {
		r.Jitter = func() float64 { return 1 - j + 2*j*rand.Float64() }
	}
	return r
}

// slotRules finds the rule of a slot.
type slotRules struct {
	common slotRule
	exact  map[string]slotRule // by name
	below  map[string]slotRule // by what follows "*."
}

func newSlotRules(p Politeness) *slotRules {
	r := &slotRules{common: p.own().rule(), exact: make(map[string]slotRule), below: make(map[string]slotRule)}
	for key, o := range p.Overrides {
		rules, name := r.exact, key
		if domain, ok := strings.CutPrefix(key, "*."); ok {
			rules, name = r.below, domain
		}
		rules[name] = o.rule()
		if host := asHost(name); host != name {
			if _, taken := p.Overrides[strings.TrimSuffix(key, name)+host]; !taken {
				rules[host] = o.rule()
			}
		}
	}
	return r
}

// asHost returns the name as slots of hosts have it if it is another spelling of a host's, as "WWW.Example.com" or
// "bücher.example"; others as they are.
func asHost(name string) string {
	if strings.ContainsAny(name, "/\\:@?#%[] ") {
		return name
	}
	return cmp.Or(urlx.Hostname("http://"+name+"/"), name)
}

// of returns the rule of a slot: its own, or that of the nearest domain above it.
func (r *slotRules) of(name string) slotRule {
	if rule, ok := r.exact[name]; ok {
		return rule
	}
	if len(r.below) > 0 {
		for _, above, ok := strings.Cut(name, "."); ok; _, above, ok = strings.Cut(above, ".") {
			if rule, ok := r.below[above]; ok {
				return rule
			}
		}
	}
	return r.common
}

// budgets reports whether any slot has a page budget.
func (r *slotRules) budgets() bool {
	for _, rules := range []map[string]slotRule{{"": r.common}, r.exact, r.below} {
		for _, rule := range rules {
			if rule.pages > 0 {
				return true
			}
		}
	}
	return false
}

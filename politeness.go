package tegenaria

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/remedy"
	"github.com/tegenaria/tegenaria/internal/setting"
	"github.com/tegenaria/tegenaria/internal/slots"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/robots"
)

// Politeness limits the requests to each host. With its zero value robots.txt is obeyed, there is no delay, up to 8
// requests to one host are in flight at once, and a host that answers 429 or 503 gets a pause.
//
// The requests of a host form a slot. The delay in force in a slot is the largest of five, each kept separately: Delay,
// Crawl-delay of robots.txt, that of AutoThrottle, a penalty after refusals, and that set by [Context.SlotDelay].
type Politeness struct {
	Delay time.Duration `json:"delay"` // between the starts of two downloads of a slot
	// each Delay is multiplied by a random factor from 1−Jitter to 1+Jitter; Scrapy's is 0.5 (0: none)
	Jitter float64 `json:"jitter"`

	PerSlot  int `json:"per_slot"`  // requests in flight per slot (0: 8)
	PerIP    int `json:"per_ip"`    // requests in flight per IP address, of all its slots together (0: no limit)
	PerProxy int `json:"per_proxy"` // requests in flight per proxy (0: no limit)
	// downloads begun per slot and job; further requests are filtered as page-budget (0: no limit)
	MaxPages int `json:"max_pages"`

	SlotBy SlotBy `json:"slot_by"` // which requests share a slot (nil: SlotHost, those of a host)
	// for some slots: this instead of Delay, Jitter, PerSlot and MaxPages
	Overrides map[string]SlotPolicy `json:"overrides"`

	// delays that adapt to the latency of the responses (nil: none)
	AutoThrottle *AutoThrottle `json:"auto_throttle"`
	// the longest Retry-After that is honoured; a longer one counts as this (0: 1 h)
	MaxRetryAfter time.Duration `json:"max_retry_after"`
	// the longest Crawl-delay of robots.txt that is honoured; a longer one counts as this (0: 30 s)
	MaxCrawlDelay time.Duration `json:"max_crawl_delay"`

	IgnoreRobots bool   `json:"ignore_robots"` // robots.txt is neither requested nor obeyed
	UserAgent    string `json:"user_agent"`    // sent with requests that have none ("": tegenaria/VERSION)
	// the product token that is compared with robots.txt ("": that of UserAgent, see [robots.ProductToken])
	RobotsAgent  string         `json:"robots_agent"`
	AllowPrivate []netip.Prefix `json:"allow_private"` // special-purpose address ranges that may be dialled
	// nothing on this machine is asked, although a seed names localhost, a name below it or a loopback address, or has
	// done so in an earlier run of the job (false: a seed allows its own host and port)
	DenyLoopback bool `json:"deny_loopback"`
}

// SlotPolicy replaces Politeness.Delay, Jitter, PerSlot and MaxPages for some slots. It inherits
// nothing: its zero value means no delay, the default of 8, and no page budget.
//
// The key in Politeness.Overrides is the name of a slot, such as "www.example.com"; or "*.example.com" for all slots
// whose names end in .example.com, but not example.com. A name takes precedence over patterns, a longer pattern over a
// shorter one. Hosts may be written as in URLs: "WWW.Example.com", "bücher.example". The slot of a host has no port.
type SlotPolicy struct {
	Delay    time.Duration `json:"delay"`
	Jitter   float64       `json:"jitter"`
	PerSlot  int           `json:"per_slot"`
	MaxPages int           `json:"max_pages"`
}

// AutoThrottle adjusts the delay of each slot so that about Target requests are in flight in it at a time. After each
// response the delay is the mean of the old delay and latency/Target, but at least latency/Target, at least
// Politeness.Delay and at most Max. A response whose status is not 200 never lowers it. This is Scrapy's algorithm. In
// addition timeouts and broken connections are refusals like 429 and 503. The latency is the time from the start of the
// download to the header of the response.
type AutoThrottle struct {
	Start  time.Duration `json:"start"`  // of a slot that is new, unless its Delay is larger (0: 5 s)
	Max    time.Duration `json:"max"`    // the largest delay (0: 60 s)
	Target float64       `json:"target"` // requests in flight at a time (0: 1)
}

// SlotBy returns the name of a URL's slot. The requests of one slot share delay and limits. It is called
// concurrently and must not block. If it panics, the URL belongs to its host's slot, and the ErrorHandlers are called
// once in a run.
type SlotBy func(u *url.URL) string

// SlotHost is the default: one slot per host name, whatever the port, and with or without a dot at its end.
func SlotHost(u *url.URL) string { return urlx.WithoutDot(urlx.Hostname(u.Scheme + "://" + u.Host)) }

// SlotRegistrableDomain puts a registrable domain (by the public suffix list) and all its subdomains into one slot.
func SlotRegistrableDomain(u *url.URL) string { return urlx.RegistrableDomain(SlotHost(u)) }

const (
	defaultPerSlot       = 8
	defaultMaxRetryAfter = time.Hour
	defaultMaxCrawlDelay = 30 * time.Second
)

func (p Politeness) mistakes() error {
	errs := mistakes{p.own().mistakes(inGroup("politeness."))}
	for path := range setting.Negative(p, "politeness.", "PerIP", "PerProxy", "MaxRetryAfter", "MaxCrawlDelay") {
		errs = append(errs, fmt.Errorf("the field %s is negative (0 is the default)", remedy.Setting(path).Name()))
	}
	errs.addIf(strings.ContainsFunc(p.UserAgent, unicode.IsControl),
		"%s is %q; a header cannot carry control characters such as line ends", remedy.UserAgent.Name(), p.UserAgent)
	token := p.RobotsAgent
	errs.addIf(token != "" && robots.ProductToken(token) != token,
		"%s is %q; it must be a product token, such as \"mybot\": letters, digits, - and _", remedy.RobotsAgent.Name(), token)
	for name, o := range p.Overrides {
		errs.addIf(name == "" || name == "*" || name == "*.",
			"%s[%q] is for no slot; name one, or write \"*.example.com\" for all below a domain", remedy.Overrides.Name(), name)
		errs = append(errs, o.mistakes(inGroup(overrideOf(name))))
	}
	for _, prefix := range p.AllowPrivate {
		errs.addIf(!prefix.IsValid(), "%s holds an invalid prefix; use netip.MustParsePrefix(\"10.0.0.0/8\")", remedy.AllowPrivate.Name())
	}
	for _, loopback := range []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")} {
		allows := slices.ContainsFunc(p.AllowPrivate, loopback.Overlaps)
		errs.addIf(p.DenyLoopback && allows, "%s forbids %s, which %s allows; leave one out", remedy.DenyLoopback.Name(), loopback,
			remedy.AllowPrivate.Name())
	}
	if a := p.AutoThrottle; a != nil && (a.Start < 0 || a.Max < 0 || !(a.Target >= 0)) {
		errs = append(errs, fmt.Errorf("the throttle %s is %+v; nothing in it may be negative (0 is the default)", remedy.AutoThrottle.Name(), *a))
	}
	return errors.Join(errs...)
}

// warnings are about values that are allowed and hardly meant, as far as that can be told.
func (p Politeness) warnings() (texts []string) {
	short := func(name string, d time.Duration) {
		if d > 0 && d < time.Microsecond { // a plain number
			texts = append(texts, fmt.Sprintf("%s is %s: was %d * time.Second or %[3]d * time.Millisecond meant?", name,
				d, int64(d)))
		}
	}
	short(remedy.Delay.Name(), p.Delay)
	for _, name := range slices.Sorted(maps.Keys(p.Overrides)) {
		short(inGroup(overrideOf(name))("delay"), p.Overrides[name].Delay)
		if u, err := url.Parse(name); p.SlotBy == nil && err == nil && u.Host != "" {
			texts = append(texts, fmt.Sprintf("%s has the URL %q as a key, where the name of a slot is needed: write the host, %q",
				remedy.Overrides.Name(), name, u.Hostname()))
		}
	}
	return texts
}

// overrideOf is the group of settings of one slot.
func overrideOf(slot string) string { return string(remedy.Overrides) + "." + slot + "." }

// inGroup returns a func that names the fields of a group of settings.
func inGroup(group string) func(field string) string {
	return func(field string) string { return remedy.Setting(group + field).Name() }
}

// mistakes lists the fields that make no sense; name is what a field is called, by its JSON name.
func (p SlotPolicy) mistakes(name func(field string) string) error {
	var errs mistakes
	errs.addIf(p.Delay < 0, "%s is %s; it must not be negative", name("delay"), p.Delay)
	errs.addIf(!(p.Jitter >= 0 && p.Jitter <= 1),
		"%s is %v; it must be between 0 and 1 (0.5 stretches a delay by 0.5 to 1.5)", name("jitter"), p.Jitter)
	errs.addIf(p.PerSlot < 0, "%s is %d; it must not be negative (0 is the default of %d)", name("per_slot"), p.PerSlot,
		defaultPerSlot)
	errs.addIf(p.MaxPages < 0, "%s is %d; it must not be negative (0 is no limit)", name("max_pages"), p.MaxPages)
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

// rule is the policy as the frontier needs it. Slot.reckon in internal/slots makes the delay in force of it and of what
// the host has asked for.
func (p SlotPolicy) rule() frontier.Rule {
	r := frontier.Rule{Policy: slots.Policy{Delay: p.Delay, Limit: cmp.Or(p.PerSlot, defaultPerSlot)}, Pages: p.MaxPages, Spread: p.Jitter}
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

// slotOf returns the slot of a request to that host. The error is that of a SlotBy that panicked: the request belongs
// to the slot of its host then.
func (p *Politeness) slotOf(r *Request, host string) (slot string, err error) {
	if slot := r.extras().Slot; slot != "" {
		return slot, nil
	}
	if p.SlotBy == nil {
		return host, nil
	}
	u, err := urlx.HTTP(r.Url)
	if err != nil {
		return host, nil
	}
	slot = host
	err = guard.Protect(func() error {
		slot = p.SlotBy(u)
		return nil
	})
	return slot, err
}

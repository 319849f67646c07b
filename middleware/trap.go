package middleware

import (
	"container/list"
	"context"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// TrapOptions bounds what [TrapGuard] tolerates.
type TrapOptions struct {
	Priority int // 0: the place in the package comment's table

	// Budget is how many URLs of one trap are requested from a host before the others are filtered, 0: 5,000. For soft
	// 404s it is a quarter more.
	Budget int

	// Patience is how many pages are requested from a host before URLs that bring nothing new are filtered, 0: 2,500.
	// The guard begins to compare the pages of a host after half as many.
	Patience int

	// Repeats is how often one to four segments must follow each other in a path before it counts as repeating, 0: 3.
	Repeats int

	// Pattern is how many URLs of one pattern are requested from a host, 0: no limit. The pattern of a URL is its path
	// with every number replaced by 0, and the names in its query: /item/0?page. A shop with a million products has one
	// pattern too.
	Pattern int

	// Hosts is how many hosts are remembered, 0: 50,000. The host that was asked least recently is forgotten first. A
	// host takes about 500 bytes (25 MiB for all). It takes 32 KiB more while its URLs carry session ids, for 512 hosts
	// at most (16 MiB), and 170 KiB more while its pages are compared, for 128 hosts at most (22 MiB).
	Hosts int
}

// TrapGuard filters the URLs of traps: sites that have new URLs without end, but no new pages. For each host and port, and there for each
// session with a name, it counts
//
//	repeating path  URLs such as /a/b/a/b/a/b: a relative link leads ever deeper
//	calendar        URLs such as /cal/2031-05 and ?month=5 that differ only in their date
//	session id      URLs such as ?sid=… and ;jsessionid=… that differ only in a session id
//	soft 404        pages with status 200 that differ only where they repeat their URL
//	pattern         URLs of one pattern, see TrapOptions.Pattern
//
// Once a count is above TrapOptions.Budget, further requests of that sort settle as filtered, with a reason such as
// "trap: calendar". A soft 404 is recognised when its page has arrived; the guard then drops the page, so that its links
// are not followed. No count is ever too high. It may be too low: pages are compared for soft 404s, and URLs for session
// ids, only after a quarter of the budget has come from the host. A redirect counts as the page it leads to.
//
// The guard also compares the content of the pages of a host, once the host has sent half of TrapOptions.Patience: of some of them,
// and of all as long as there is a sign of a trap. Of soft 404s it counts one page of eight, as eight. It compares
// their words, the names of their pictures and, where numbers or random values tell the URLs apart, their numbers; links
// and dates are left out. A page that repeats a word or a number of its URL counts as new content. Two more reasons
// follow from that, from Patience pages on:
//
//	parameter       the URL was requested under another value of a parameter, or of a segment of its path, and that value
//	                does not change the page
//	nothing new     500 pages of this kind of URL had no new content and no link to new content (pages of the kind that
//	                had are subtracted). URLs are of one kind if they differ only in numbers, dates and random values
//
// If the URLs of a kind differ in numbers, ten times as many pages may have no new content, since the pages of a shop may
// have little text. This does not hold for pages more than 250 links away from a seed, nor for pages whose links are random:
// of 64 links to their kind, fewer than one leads to a page that another page links to as well. On a real site many pages
// link to the same page. If links are random, a page needs more than eight words of its own, or words and numbers of its
// URL, to count as new content.
//
// A few URLs of each filtered kind are still requested, since new pages may appear there. Pages without links are never
// part of a trap.
//
// A request is judged when it is about to be sent, and not when its link is found, because each URL is sent once and may
// be found many times. All counts begin anew with each run, and so does a resumed job.
type TrapGuard struct {
	part
	options TrapOptions
	seed    maphash.Seed

	mu      sync.Mutex // guards the fields below
	hosts   map[string]*list.Element
	recent  list.List   // of *trapHost, the one asked last in front
	filters int         // hosts with pages
	studies int         // hosts with a study
	looks   int         // calls of host
	crowded int         // calls of idle
	studied atomic.Bool // there is one
}

var (
	_ tegenaria.MiddlewaresInterface = (*TrapGuard)(nil)
	_ tegenaria.Opener               = (*TrapGuard)(nil)
)

const (
	maxPageFilters = 512
	maxStudies     = 128
	patternsOfHost = 64
)

// NewTrapGuard makes a TrapGuard.
func NewTrapGuard(o TrapOptions) *TrapGuard {
	o.Budget = max(orDefault(o.Budget, 5_000), 1)
	o.Patience = max(orDefault(o.Patience, 2_500), 10)
	o.Repeats = max(orDefault(o.Repeats, 3), 2)
	o.Hosts = max(orDefault(o.Hosts, 50_000), 1)
	return &TrapGuard{part: newPart("trap guard", o.Priority, priorityTrapGuard), options: o, seed: maphash.MakeSeed(), hosts: make(map[string]*list.Element)}
}

// Open forgets all hosts: each run counts anew.
func (m *TrapGuard) Open(context.Context, tegenaria.SpiderInterface) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hosts, m.filters, m.studies = make(map[string]*list.Element), 0, 0
	m.studied.Store(false)
	m.recent.Init()
	return nil
}

// ProcessRequest filters the request if its URL belongs to a trap.
func (m *TrapGuard) ProcessRequest(ctx *tegenaria.Context) error {
	r := ctx.Request
	if r.Attempt > 0 || isRepeated(r) {
		return nil
	}
	s := suspect(m.seed, urlx.MergeParams(r.Url, r.Params), m.options.Repeats, m.options.Pattern > 0)
	if s.clear() && !m.studied.Load() {
		return nil
	}
	m.mu.Lock()
	name := siteOf(s.host, r)
	h := m.host(name)
	reason := m.judge(h, &s)
	learnt := h.study
	if h.answers < m.options.Patience {
		learnt = nil
	}
	m.mu.Unlock()
	if reason == "" && learnt != nil {
		_, path, query := splitURL(urlx.MergeParams(r.Url, r.Params))
		u := lookAt(m.seed, s.host, path, query)
		u.repeats = s.repeats
		reason = learnt.refuse(&u, r.Depth, m.options.Patience/5)
	}
	if reason != "" {
		return m.cut(name, reason)
	}
	return nil
}

// siteOf names what is counted together: a host, or what one account sees of it. The pages of many accounts are alike, and are no trap.
func siteOf(host string, r *tegenaria.Request) string {
	if name := r.Session(); name != "" && name != "-" && name[0] != '#' {
		return host + " in the session " + name
	}
	return host
}

// isRepeated reports whether a request is one of those that are sent again and again on purpose, as those of logins.
func isRepeated(r *tegenaria.Request) bool {
	own, ok := r.SessionOwn().(interface{ IsRepeated() bool })
	return ok && own.IsRepeated()
}

// cut returns the error that filters a request. The first error of a host with this reason carries a notice for the log.
func (m *TrapGuard) cut(host, reason string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.host(host)
	bit := uint16(1) << slices.Index(trapReasons[:], reason)
	if h.told&bit != 0 {
		return tegenaria.IgnoreRequest(reason)
	}
	h.told |= bit
	return &trapNotice{tegenaria.IgnoreRequest(reason), fmt.Sprintf("%s: URLs of %s are not asked for any more (filtered); "+
		"if they are no trap, raise TrapOptions or leave the trap guard out", reason, h.name)}
}

// trapNotice ignores a request and has a line for the log.
type trapNotice struct {
	error
	notice string
}

func (e *trapNotice) Unwrap() error  { return e.error }
func (e *trapNotice) Notice() string { return e.notice }

// The reasons of filtered requests.
const (
	trapRepeats    = "trap: repeating path"
	trapCalendar   = "trap: calendar"
	trapSession    = "trap: session id"
	trapPattern    = "trap: pattern"
	trapSoft404    = "trap: soft 404"
	trapParameter  = "trap: parameter"
	trapNothingNew = "trap: nothing new"
)

var trapReasons = [...]string{trapRepeats, trapCalendar, trapSession, trapPattern, trapSoft404, trapParameter, trapNothingNew}

// host returns the counts of a host, see siteOf, new ones if it has none. Called with mu held.
func (m *TrapGuard) host(name string) *trapHost {
	m.looks++
	if element := m.hosts[name]; element != nil {
		m.recent.MoveToFront(element)
		h := element.Value.(*trapHost)
		h.looked = m.looks
		return h
	}
	if len(m.hosts) >= m.options.Hosts {
		m.forget(m.recent.Back())
	}
	h := &trapHost{name: strings.Clone(name), looked: m.looks}
	m.hosts[h.name] = m.recent.PushFront(h)
	return h
}

// forget removes a host. Called with mu held.
func (m *TrapGuard) forget(element *list.Element) {
	h := element.Value.(*trapHost)
	if h.pages != nil {
		m.filters--
	}
	if h.study != nil {
		m.studies--
	}
	delete(m.hosts, h.name)
	m.recent.Remove(element)
}

// judge counts a URL and returns the reason to filter it, "" if there is none. Called with mu held.
func (m *TrapGuard) judge(h *trapHost, s *suspicion) string {
	budget := m.options.Budget
	if s.repeats {
		if h.repeats++; h.repeats > budget {
			return trapRepeats
		}
	}
	if s.session {
		if h.sessions++; h.sessions > budget/4 && m.isVariant(h, s.page) {
			if h.variants++; h.variants > budget {
				return trapSession
			}
		}
	}
	if s.dated && h.dates.add(s.date) > budget {
		return trapCalendar
	}
	if s.pattern != 0 {
		if h.patterns == nil {
			h.patterns = make([]counted, patternsOfHost)
		}
		if addHeavy(h.patterns, s.pattern) > m.options.Pattern {
			return trapPattern
		}
	}
	return ""
}

// isVariant reports whether the page was requested before under another session id. Called with mu held.
func (m *TrapGuard) isVariant(h *trapHost, page uint64) bool {
	if h.pages == nil {
		if m.filters >= maxPageFilters {
			idle := m.idle(func(h *trapHost) bool { return h.pages != nil })
			if idle == nil {
				return false
			}
			idle.pages = nil
			m.filters--
		}
		h.pages = new(pageFilter)
		m.filters++
	}
	return h.pages.seen(page)
}

// begin starts the study of a host; nil if there is no room for one. Called with mu held.
func (m *TrapGuard) begin(h *trapHost) *study {
	if m.studies >= maxStudies {
		idle := m.idle(func(h *trapHost) bool { return h.study != nil })
		if idle == nil {
			return nil
		}
		idle.study = nil
		m.studies--
	}
	h.study = &study{begun: h.answers, credit: creditMost}
	m.studies++
	m.studied.Store(true)
	return h.study
}

// idle returns the host with a filter or a study that was asked least recently; nil if that was a short while ago. Hosts
// that take turns would otherwise take each other's room with every page. Called with mu held.
func (m *TrapGuard) idle(has func(*trapHost) bool) *trapHost {
	const (
		idle  = 1 << 16 // looks at other hosts
		every = 64      // calls: one walks over the hosts
	)
	if m.crowded++; m.crowded%every != 0 {
		return nil
	}
	for element := m.recent.Back(); element != nil; element = element.Prev() {
		h := element.Value.(*trapHost)
		if m.looks-h.looked < idle {
			return nil
		}
		if has(h) {
			return h
		}
	}
	return nil
}

// ProcessResponse compares the page with others of its host, and drops it if it is a soft 404 above the budget.
func (m *TrapGuard) ProcessResponse(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
	resp := ctx.Response()
	if resp.Status != http.StatusOK || !isHTML(resp) || isRepeated(ctx.Request) {
		return nil
	}
	body := resp.Bytes()
	if body == nil {
		return nil
	}
	host, path, query := splitURL(resp.URL)
	m.mu.Lock()
	name := siteOf(host, ctx.Request)
	h := m.host(name)
	h.answers++
	answers, soft404 := h.answers, h.soft404
	learnt := h.study
	if learnt == nil && answers > m.options.Patience/2 {
		learnt = m.begin(h)
	}
	m.mu.Unlock()
	if learnt != nil && learnt.looksAt(answers) {
		u := lookAt(m.seed, host, path, query)
		learnt.judge(m.seed, &u, ctx.Request.Depth, body)
	}
	const share = 8 // one of so many pages is counted
	counts := answers%share == 0
	if answers <= m.options.Budget/4 || !counts && !soft404 {
		return nil
	}
	key, n := bodyKey(m.seed, body, path), 0
	m.mu.Lock()
	h = m.host(name)
	if counts {
		n = h.bodies.add(key)
	} else {
		n = h.bodies.count(key)
	}
	isSoft404 := n*share > m.options.Budget
	h.soft404 = h.soft404 || isSoft404
	m.mu.Unlock()
	if isSoft404 {
		return m.cut(name, trapSoft404)
	}
	return nil
}

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

// TrapOptions say how much [TrapGuard] puts up with.
type TrapOptions struct {
	Priority int // 0: the place in the package comment's table

	// Budget is how many URLs of a trap are asked of a host before the others are cut, 0: 5,000. Of a soft 404 it is a
	// quarter more.
	Budget int

	// Patience is how many pages are asked of a host before URLs are cut that bring nothing new, 0: 2,500. Pages are
	// compared from half of it on.
	Patience int

	// Repeats is how often one to four segments of a path must stand there in a row to be suspicious, 0: 3.
	Repeats int

	// Pattern is how many URLs of one pattern are asked of a host, 0: no limit. The pattern is the path with all numbers
	// alike, and the names of the query: /item/0?page. A shop with a million products has one, too.
	Pattern int

	// Hosts is how many hosts are remembered, those that were asked last, 0: 50,000. One takes about 500 bytes; 32 KiB
	// more while its links have session ids, which at most 512 hosts may take; and 160 KiB more once it has given half of
	// Patience, which at most 128 hosts may take. All together that is 25 MiB, 16 MiB, and 20 MiB.
	Hosts int
}

// TrapGuard ends spaces of URLs that have no end. For each host and port it counts
//
//	repeating path  /a/b/a/b/a/b          a relative link that leads ever deeper
//	calendar        /cal/2031-05, ?month=5   the same page for ever other dates
//	session id      ?sid=…, ;jsessionid=…  a page that was asked before, under another id
//	soft 404        the same HTML with status 200, but for the URL in it
//	pattern         see TrapOptions.Pattern
//
// and cuts what exceeds the budget: the request settles as filtered, with "trap: calendar" and the like as reason. A
// soft 404 is recognised when it has come, so it is its links that are not followed. Nothing is cut within the
// budget, counts are too low rather than too high (pages are not compared and session ids not looked through before a
// quarter of the budget has come from a host), and redirects count as what they lead to.
//
// Of a host that has given many pages, see TrapOptions.Patience, it also compares what they say: their text without
// links, dates, and, where the URLs have none, numbers; what a page repeats of its URL's words and numbers makes it
// another one. So it finds out
//
//	parameter       a name of the query, or a place in the path, whose value changes nothing: the URL without it was
//	                asked for before
//	nothing new     a kind of URLs (numbers, dates and random values alike) of which 500 pages more said nothing new, and
//	                led to nothing new of another kind, than did; ten times
//	                as many where numbers tell the URLs apart, unless they lie 250 links deep
//
// and does not ask for those any more, but for a few of a kind, which may show that it has become another. A page
// without links is never part of a trap.
//
// It looks at requests when they are about to be asked, not when they are found, since only then each URL comes once.
// Counts begin anew with each run, a resumed job's too.
type TrapGuard struct {
	part
	options TrapOptions
	seed    maphash.Seed

	mu      sync.Mutex // guards what follows
	hosts   map[string]*list.Element
	recent  list.List   // of *trapHost, the one asked last in front
	filters int         // hosts with pages
	studies int         // hosts with a study
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

// Open begins to count.
func (m *TrapGuard) Open(context.Context, tegenaria.SpiderInterface) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hosts, m.filters, m.studies = make(map[string]*list.Element), 0, 0
	m.studied.Store(false)
	m.recent.Init()
	return nil
}

// ProcessRequest cuts what exceeds the budget.
func (m *TrapGuard) ProcessRequest(ctx *tegenaria.Context) error {
	r := ctx.Request
	if r.Attempt > 0 {
		return nil
	}
	s := suspect(m.seed, urlx.MergeParams(r.Url, r.Params), m.options.Repeats, m.options.Pattern > 0)
	if s.clear() && !m.studied.Load() {
		return nil
	}
	m.mu.Lock()
	h := m.host(s.host)
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
		reason = learnt.refuse(&u, m.options.Patience/5)
	}
	if reason != "" {
		return m.cut(s.host, reason)
	}
	return nil
}

// cut returns the error that ends a request. The first one of a host for a reason is told to the log.
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

// trapNotice is an ignored request of which the log is told.
type trapNotice struct {
	error
	notice string
}

func (e *trapNotice) Unwrap() error  { return e.error }
func (e *trapNotice) Notice() string { return e.notice }

// The reasons of cut requests.
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

// host returns what is remembered of a host. The caller holds mu.
func (m *TrapGuard) host(name string) *trapHost {
	if element := m.hosts[name]; element != nil {
		m.recent.MoveToFront(element)
		return element.Value.(*trapHost)
	}
	if len(m.hosts) >= m.options.Hosts {
		m.forget(m.recent.Back())
	}
	h := &trapHost{name: strings.Clone(name)}
	m.hosts[h.name] = m.recent.PushFront(h)
	return h
}

// forget forgets a host. The caller holds mu.
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

// judge counts an URL and returns why it is cut, "" if it is not. The caller holds mu.
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

// isVariant tells whether a page came before under another session id. The caller holds mu.
func (m *TrapGuard) isVariant(h *trapHost, page uint64) bool {
	if h.pages == nil {
		if m.filters >= maxPageFilters {
			m.forgetPages()
		}
		h.pages = new(pageFilter)
		m.filters++
	}
	return h.pages.seen(page)
}

// begin begins the study of a host. The one that was not asked for longest gives way if there are too many. The caller
// holds mu.
func (m *TrapGuard) begin(h *trapHost) *study {
	for element := m.recent.Back(); element != nil && m.studies >= maxStudies; element = element.Prev() {
		if other := element.Value.(*trapHost); other.study != nil {
			other.study = nil
			m.studies--
		}
	}
	h.study = &study{credit: creditMost}
	m.studies++
	m.studied.Store(true)
	return h.study
}

// forgetPages takes its pages from the host that has some and was not asked for longest. The caller holds mu.
func (m *TrapGuard) forgetPages() {
	for element := m.recent.Back(); element != nil; element = element.Prev() {
		if h := element.Value.(*trapHost); h.pages != nil {
			h.pages = nil
			m.filters--
			return
		}
	}
}

// ProcessResponse cuts pages that are always the same.
func (m *TrapGuard) ProcessResponse(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
	resp := ctx.Response()
	if resp.Status != http.StatusOK || !isHTML(resp) {
		return nil
	}
	body := resp.Bytes()
	if body == nil {
		return nil
	}
	host, path, query := splitURL(resp.URL)
	m.mu.Lock()
	h := m.host(host)
	h.answers++
	answers := h.answers
	learnt := h.study
	if learnt == nil && answers > m.options.Patience/2 {
		learnt = m.begin(h)
	}
	m.mu.Unlock()
	if learnt != nil && (answers%4 == 0 || learnt.alarmed()) {
		u := lookAt(m.seed, host, path, query)
		learnt.judge(m.seed, &u, ctx.Request.Depth, body)
	}
	if answers <= m.options.Budget/4 {
		return nil
	}
	key := bodyKey(m.seed, body, path)
	m.mu.Lock()
	n := m.host(host).bodies.add(key)
	m.mu.Unlock()
	if n > m.options.Budget {
		return m.cut(host, trapSoft404)
	}
	return nil
}

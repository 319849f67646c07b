package middleware

import (
	"container/list"
	"context"
	"hash/maphash"
	"net/http"
	"strings"
	"sync"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// TrapOptions say how much [TrapGuard] puts up with.
type TrapOptions struct {
	Priority int // 0: the place in the package comment's table

	// Budget is how many URLs of a trap are asked of a host before the others are cut, 0: 5,000. Of a soft 404 it is a
	// quarter more.
	Budget int

	// Repeats is how often one to four segments of a path must stand there in a row to be suspicious, 0: 3.
	Repeats int

	// Pattern is how many URLs of one pattern are asked of a host, 0: no limit. The pattern is the path with all numbers
	// alike, and the names of the query: /item/0?page. A shop with a million products has one, too.
	Pattern int

	// Hosts is how many hosts are remembered, those that were asked last, 0: 50,000. One takes about 500 bytes, and 32 KiB
	// more while its links have session ids, which at most 512 hosts may take.
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
// It looks at requests when they are about to be asked, not when they are found, since only then each URL comes once.
// Counts begin anew with each run, a resumed job's too.
type TrapGuard struct {
	part
	options TrapOptions
	seed    maphash.Seed

	mu      sync.Mutex // guards what follows
	hosts   map[string]*list.Element
	recent  list.List // of *trapHost, the one asked last in front
	filters int       // hosts with pages
}

var (
	_ tegenaria.MiddlewaresInterface = (*TrapGuard)(nil)
	_ tegenaria.Opener               = (*TrapGuard)(nil)
)

const (
	maxPageFilters = 512
	patternsOfHost = 64
)

// NewTrapGuard makes a TrapGuard.
func NewTrapGuard(o TrapOptions) *TrapGuard {
	o.Budget = max(orDefault(o.Budget, 5_000), 1)
	o.Repeats = max(orDefault(o.Repeats, 3), 2)
	o.Hosts = max(orDefault(o.Hosts, 50_000), 1)
	return &TrapGuard{part: newPart("trap guard", o.Priority, priorityTrapGuard), options: o, seed: maphash.MakeSeed(), hosts: make(map[string]*list.Element)}
}

// Open begins to count.
func (m *TrapGuard) Open(context.Context, tegenaria.SpiderInterface) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hosts, m.filters = make(map[string]*list.Element), 0
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
	if s.clear() {
		return nil
	}
	m.mu.Lock()
	reason := m.judge(m.host(s.host), &s)
	m.mu.Unlock()
	if reason != "" {
		return tegenaria.IgnoreRequest(reason)
	}
	return nil
}

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
	delete(m.hosts, h.name)
	m.recent.Remove(element)
}

// judge counts an URL and returns why it is cut, "" if it is not. The caller holds mu.
func (m *TrapGuard) judge(h *trapHost, s *suspicion) string {
	budget := m.options.Budget
	if s.repeats {
		if h.repeats++; h.repeats > budget {
			return "trap: repeating path"
		}
	}
	if s.session {
		if h.sessions++; h.sessions > budget/4 && m.isVariant(h, s.page) {
			if h.variants++; h.variants > budget {
				return "trap: session id"
			}
		}
	}
	if s.dated && h.dates.add(s.date) > budget {
		return "trap: calendar"
	}
	if s.pattern != 0 {
		if h.patterns == nil {
			h.patterns = make([]counted, patternsOfHost)
		}
		if addHeavy(h.patterns, s.pattern) > m.options.Pattern {
			return "trap: pattern"
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
	host, path, _ := splitURL(resp.URL)
	m.mu.Lock()
	h := m.host(host)
	h.answers++
	few := h.answers <= m.options.Budget/4
	m.mu.Unlock()
	if few {
		return nil
	}
	key := bodyKey(m.seed, body, path)
	m.mu.Lock()
	n := m.host(host).bodies.add(key)
	m.mu.Unlock()
	if n > m.options.Budget {
		return tegenaria.IgnoreRequest("trap: soft 404")
	}
	return nil
}

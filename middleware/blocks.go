package middleware

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// BlockRules say which answers are no pages, but what a site sends to those that it does not want to serve. Each of the rules is enough.
type BlockRules struct {
	Priority int // 0: the place in the package comment's table

	Status   []int                                            // status codes: 403
	Header   map[string]string                                // header fields, with a part of their value; "" is any value
	Text     []string                                         // parts of the first 64 KiB of the page's text; the case makes no difference
	Redirect []string                                         // parts of the URL to which a redirect leads: "/challenge"
	Func     func(page *tegenaria.Response) (evidence string) // your own rule, for all but robots.txt: "" is a page. Called concurrently

	// Robots lets the status of a robots.txt count that the rules call blocked: a 403 says that the site has no rules then. Otherwise
	// such a file is asked for again, up to three times, and if it stays blocked, nothing of the site is fetched.
	Robots bool
}

// Blocks ends the attempt of a request whose answer a site has blocked, with a [*tegenaria.BlockedError]: such an answer is neither
// parsed nor cached. The request is tried again, at once if it went through a proxy, since a pool of package proxy chooses another one, or
// else after a pause that grows from a second to a minute. In its last attempt it ends as gave-up, with the reason
// "blocked: " and the rule.
//
// After 50 blocked answers of a host and port without one page between them, all further requests to it end so without
// being sent, until the end of the run: also those that wait for a proxy or a session. A middleware of its own with a
// low priority sees to that, see Group.
//
// Blocks recognises blocks so that the crawl changes its pace and its identity. It solves no challenges.
type Blocks struct {
	part
	rules BlockRules
	text  []string // in lower case
	lost  lostHosts

	mu    sync.Mutex              // guards the field below
	hosts map[string]*blockedHost // by host and port
}

// blockedHost counts the blocked answers of a host since its last page.
type blockedHost struct {
	answers int
	last    *tegenaria.BlockedError
}

const (
	mostBlocked      = 50
	mostBlockedHosts = 1 << 16
	blockText        = 64 << 10
	evidenceLength   = 80
)

var (
	_ tegenaria.MiddlewaresInterface = (*Blocks)(nil)
	_ tegenaria.InternalMiddleware   = (*Blocks)(nil)
	_ tegenaria.MiddlewareGroup      = (*Blocks)(nil)
	_ tegenaria.Opener               = (*Blocks)(nil)
)

// NewBlocks makes a Blocks.
func NewBlocks(rules BlockRules) *Blocks {
	m := &Blocks{part: newPart("blocks", rules.Priority, priorityBlocks), rules: rules, hosts: make(map[string]*blockedHost)}
	m.lost = lostHosts{newPart("lost hosts", 0, priorityLostHosts), m}
	for _, text := range rules.Text {
		m.text = append(m.text, strings.ToLower(text))
	}
	return m
}

// Open forgets all hosts: each run counts anew.
func (m *Blocks) Open(context.Context, tegenaria.SpiderInterface) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.hosts)
	return nil
}

// SeesInternal is true unless the rules do not hold for robots.txt.
func (m *Blocks) SeesInternal() bool { return !m.rules.Robots }

// Group returns the middleware that gives up requests to hosts which block them all.
func (m *Blocks) Group([]tegenaria.MiddlewaresInterface) []tegenaria.MiddlewaresInterface {
	return []tegenaria.MiddlewaresInterface{&m.lost}
}

// lostHosts gives up requests to hosts which block them all, before other middlewares choose an identity for them or
// have them wait for one.
type lostHosts struct {
	part
	blocks *Blocks
}

func (l *lostHosts) SeesInternal() bool { return l.blocks.SeesInternal() }

func (l *lostHosts) ProcessRequest(ctx *tegenaria.Context) error {
	m := l.blocks
	m.mu.Lock()
	defer m.mu.Unlock()
	host, _, _ := splitURL(ctx.Request.Url)
	if h := m.hosts[host]; h != nil && h.last.HostLost {
		return tegenaria.GiveUp(h.last)
	}
	return nil
}

// ProcessResponse looks for a block.
func (m *Blocks) ProcessResponse(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
	resp := ctx.Response()
	rule, evidence := m.rule(ctx.Request, resp)
	host, _, _ := splitURL(ctx.Request.Url)
	m.mu.Lock()
	defer m.mu.Unlock()
	if rule == "" {
		if !isRepeated(ctx.Request) { // a login that works says nothing of the pages
			delete(m.hosts, host)
		}
		return nil
	}
	blocked := &tegenaria.BlockedError{URL: resp.URL, Rule: rule, Evidence: evidence}
	h := m.hosts[host]
	if h == nil {
		if len(m.hosts) >= mostBlockedHosts {
			clear(m.hosts)
		}
		h = new(blockedHost)
		m.hosts[host] = h
	}
	h.answers++
	h.last = blocked
	blocked.HostLost = h.answers >= mostBlocked
	switch {
	case blocked.HostLost:
		return tegenaria.GiveUp(blocked)
	case ctx.Request.Proxy != nil:
		return tegenaria.Retry(0, blocked)
	}
	return tegenaria.Retry(min(time.Second<<min(ctx.Request.Attempt, 6), time.Minute), blocked)
}

// rule returns the rule by which a response is blocked, and what it has found; "" is a page.
func (m *Blocks) rule(r *tegenaria.Request, resp *tegenaria.Response) (rule, evidence string) {
	if slices.Contains(m.rules.Status, resp.Status) {
		return fmt.Sprintf("status %d", resp.Status), cut(head(resp))
	}
	for name, part := range m.rules.Header {
		if value := first(resp.Header, name); value != "" && strings.Contains(value, part) {
			return "header " + name, cut(value)
		}
	}
	if len(m.rules.Redirect) > 0 && resp.Status >= 300 && resp.Status < 400 {
		target := first(resp.Header, "Location")
		for _, part := range m.rules.Redirect {
			if strings.Contains(target, part) {
				return "redirect to " + part, cut(target)
			}
		}
	}
	if len(m.text) > 0 {
		text := strings.ToLower(head(resp))
		for i, part := range m.text {
			if at := strings.Index(text, part); at >= 0 {
				return "text: " + m.rules.Text[i], cut(text[max(at-evidenceLength/4, 0):])
			}
		}
	}
	if m.rules.Func != nil && urlx.Path(r.Url) != "/robots.txt" {
		if evidence := m.rules.Func(resp); evidence != "" {
			return "own rule", cut(evidence)
		}
	}
	return "", ""
}

// head returns the beginning of a page's text.
func head(resp *tegenaria.Response) string {
	text := resp.String()
	return text[:min(len(text), blockText)]
}

// cut shortens evidence to a line.
func cut(text string) string {
	text = strings.Join(strings.Fields(text[:min(len(text), 4*evidenceLength)]), " ")
	if runes := []rune(strings.ToValidUTF8(text, "")); len(runes) > evidenceLength {
		return string(runes[:evidenceLength]) + "…"
	}
	return strings.ToValidUTF8(text, "")
}

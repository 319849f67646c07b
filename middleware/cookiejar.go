package middleware

import (
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// jar is a store of cookies, grouped by registrable domain: all cookies that a request can be sent are in one group.
type jar struct {
	limits cookieLimits

	mu     sync.Mutex // guards what follows
	groups map[string]*list.Element
	recent list.List // of *cookieGroup, the one used last in front
	total  int
	clock  uint64 // counts uses
}

// cookieLimits bound a jar.
type cookieLimits struct{ perDomain, domainBytes, total int }

// cookieGroup holds the cookies of a registrable domain, in order of creation.
type cookieGroup struct {
	domain  string
	cookies []*storedCookie
	bytes   int
}

// storedCookie is a cookie and when it was used last.
type storedCookie struct {
	Cookie
	used uint64
}

func (c *storedCookie) size() int { return len(c.Name) + len(c.Value) + len(c.Domain) + len(c.Path) }

func newJar(limits cookieLimits) *jar {
	return &jar{limits: limits, groups: make(map[string]*list.Element)}
}

// set stores a cookie that came from an origin, or deletes the one that it replaces if it has expired.
func (j *jar) set(c Cookie, secure bool, now time.Time) {
	domain := urlx.RegistrableDomain(c.Domain)
	j.mu.Lock()
	defer j.mu.Unlock()
	element := j.groups[domain]
	if element == nil {
		if c.expired(now) {
			return
		}
		element = j.recent.PushFront(&cookieGroup{domain: domain})
		j.groups[domain] = element
	}
	j.recent.MoveToFront(element)
	g := element.Value.(*cookieGroup)
	if !secure && !c.Secure && g.guards(&c) {
		return
	}
	j.clock++
	stored := &storedCookie{c, j.clock}
	at := slices.IndexFunc(g.cookies, func(old *storedCookie) bool { return old.same(&c) })
	switch {
	case at >= 0 && c.expired(now):
		j.remove(g, at)
	case at >= 0:
		g.bytes += stored.size() - g.cookies[at].size()
		g.cookies[at] = stored // it keeps its place: the creation time stays
	case !c.expired(now):
		g.cookies = append(g.cookies, stored)
		g.bytes += stored.size()
		j.total++
	}
	for len(g.cookies) > j.limits.perDomain || g.bytes > j.limits.domainBytes {
		j.remove(g, g.leastWanted(now))
	}
	if len(g.cookies) == 0 {
		j.drop(element)
	}
	for j.total > j.limits.total {
		j.shrink(now)
	}
}

// guards tells whether a secure cookie forbids one that came over an insecure connection (RFC 6265bis §5.7 step 14).
func (g *cookieGroup) guards(c *Cookie) bool {
	return slices.ContainsFunc(g.cookies, func(old *storedCookie) bool {
		return old.Secure && old.Name == c.Name && pathMatches(c.Path, old.Path) &&
			(domainMatches(old.Domain, c.Domain) || domainMatches(c.Domain, old.Domain))
	})
}

// leastWanted chooses what goes when there are too many: what has expired, then what is not secure, then what was not
// used for longest (RFC 6265bis §5.7).
func (g *cookieGroup) leastWanted(now time.Time) int {
	worst := 0
	for i, c := range g.cookies {
		w := g.cookies[worst]
		switch {
		case c.expired(now):
			return i
		case c.Secure != w.Secure:
			if !c.Secure {
				worst = i
			}
		case c.used < w.used:
			worst = i
		}
	}
	return worst
}

// remove takes a cookie out of its group. The caller holds mu.
func (j *jar) remove(g *cookieGroup, at int) {
	g.bytes -= g.cookies[at].size()
	g.cookies = slices.Delete(g.cookies, at, at+1)
	j.total--
}

// drop forgets a group. The caller holds mu.
func (j *jar) drop(element *list.Element) {
	g := element.Value.(*cookieGroup)
	j.total -= len(g.cookies)
	delete(j.groups, g.domain)
	j.recent.Remove(element)
}

// shrink makes room in a jar that is full: of the domain that was not used for longest. The caller holds mu.
func (j *jar) shrink(now time.Time) {
	oldest := j.recent.Back()
	if oldest != j.recent.Front() {
		j.drop(oldest)
		return
	}
	g := oldest.Value.(*cookieGroup)
	j.remove(g, g.leastWanted(now))
}

// header returns the value of the Cookie header for a request to an origin, without the names in own, and "" if there
// are no cookies for it (RFC 6265 §5.4).
func (j *jar) header(to origin, own map[string]string, now time.Time) string {
	domain := urlx.RegistrableDomain(to.host)
	j.mu.Lock()
	defer j.mu.Unlock()
	element := j.groups[domain]
	if element == nil {
		return ""
	}
	j.recent.MoveToFront(element)
	j.clock++
	g := element.Value.(*cookieGroup)
	var room [16]*storedCookie
	send := room[:0]
	for _, c := range g.cookies {
		if _, has := own[c.Name]; has || !c.goesTo(to) || c.expired(now) {
			continue
		}
		c.used = j.clock
		send = append(send, c)
	}
	slices.SortStableFunc(send, func(a, b *storedCookie) int { return len(b.Path) - len(a.Path) })
	var b strings.Builder
	for _, c := range send {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(c.Name)
		b.WriteByte('=')
		b.WriteString(c.Value)
	}
	return b.String()
}

// all returns the cookies that have not expired, by domain, each domain's in order of creation.
func (j *jar) all(now time.Time) []Cookie {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []Cookie
	for _, element := range j.groups {
		for _, c := range element.Value.(*cookieGroup).cookies {
			if !c.expired(now) {
				all = append(all, c.Cookie)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Cookie) int {
		return strings.Compare(urlx.RegistrableDomain(a.Domain), urlx.RegistrableDomain(b.Domain))
	})
	return all
}

package cookiejar

import (
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Store is shared by jars: it has their lock, and bounds the memory that they take together. Make one with [NewStore].
type Store struct {
	limits Limits

	mu     sync.Mutex // guards the fields below, and all jars
	recent list.List  // of *group of all jars, the one used last in front
	bytes  int        // of memory, about
	clock  uint64     // counts uses

	parts   map[int]*part // by number, see Parts
	version uint64        // counts changes of cookies
}

// Limits bound the jars of a store. Each is at least 1.
type Limits struct {
	PerDomain   int // cookies of a registrable domain in a jar
	DomainBytes int // of text of these, and with it of the header that they make
	Total       int // cookies in a jar
	Bytes       int // memory of all jars
}

// NewStore returns a store without jars.
func NewStore(l Limits) *Store { return &Store{limits: l} }

// MakeRoom lets the jars of the store take that much memory together, unless they may take more already.
func (s *Store) MakeRoom(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits.Bytes = max(s.limits.Bytes, bytes)
}

// Jar holds cookies, grouped by registrable domain: all cookies that a request can be sent are in one group. A full jar
// forgets the group that was not used for longest; when all jars of the store take too much memory, the one of any jar
// goes. The methods may be called concurrently. Make one with [Store.NewJar].
type Jar struct {
	store *Store
	name  string

	groups  map[string]*group
	recent  list.List // of *group, the one used last in front
	total   int
	cleared bool // nothing comes in any more
}

// group holds the cookies of a registrable domain in a jar, in order of creation.
type group struct {
	jar          *Jar
	domain       string
	part         int // of the store
	cookies      []*storedCookie
	bytes        int           // sum of the cookies' sizes
	inJar, inAll *list.Element // of the lists of recent ones
}

// The memory that a group and a cookie take besides their text: the structs, entries of lists and of the map.
const (
	groupOverhead  = 512
	cookieOverhead = 192
)

// touch notes that a group is used.
func (g *group) touch() {
	g.jar.recent.MoveToFront(g.inJar)
	g.jar.store.recent.MoveToFront(g.inAll)
}

// storedCookie is a cookie and when it was used last.
type storedCookie struct {
	Cookie
	used uint64
}

func (c *storedCookie) size() int { return len(c.Name) + len(c.Value) + len(c.Domain) + len(c.Path) }

// NewJar returns an empty jar. Its name tells it apart from the store's other jars in [Store.Changed].
func (s *Store) NewJar(name string) *Jar {
	return &Jar{store: s, name: name, groups: make(map[string]*group)}
}

// Set stores a cookie that came from an origin, or deletes the one that it replaces if it has expired.
func (j *Jar) Set(c Cookie, secure bool, now time.Time) {
	domain := urlx.RegistrableDomain(c.Domain)
	s := j.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.cleared {
		return
	}
	g := j.groups[domain]
	if g == nil {
		if c.expired(now) {
			return
		}
		g = j.newGroup(strings.Clone(domain))
	}
	g.touch()
	if !secure && !c.Secure && g.guards(&c) {
		return
	}
	s.clock++
	at := slices.IndexFunc(g.cookies, func(old *storedCookie) bool { return old.same(&c) })
	switch {
	case at >= 0 && c.expired(now):
		j.remove(g, at)
	case at >= 0:
		stored := newStored(&c, s.clock)
		if g.cookies[at].Cookie != stored.Cookie {
			s.changed(g)
		}
		change := stored.size() - g.cookies[at].size()
		g.bytes += change
		s.bytes += change
		g.cookies[at] = stored // it keeps its place: the creation time stays
	case !c.expired(now):
		stored := newStored(&c, s.clock)
		g.cookies = append(g.cookies, stored)
		g.bytes += stored.size()
		s.bytes += stored.size() + cookieOverhead
		j.total++
		s.changed(g)
	}
	for len(g.cookies) > s.limits.PerDomain || g.bytes > s.limits.DomainBytes {
		j.remove(g, g.leastWanted(now))
	}
	if len(g.cookies) == 0 {
		j.drop(g)
	}
	for j.total > s.limits.Total {
		j.recent.Back().Value.(*group).shrink(now, &j.recent)
	}
	for s.bytes > s.limits.Bytes && s.recent.Len() > 0 {
		s.recent.Back().Value.(*group).shrink(now, &s.recent)
	}
}

// newStored copies a cookie: its text is part of a header, which it must not keep.
func newStored(c *Cookie, used uint64) *storedCookie {
	stored := &storedCookie{*c, used}
	for _, text := range []*string{&stored.Name, &stored.Value, &stored.Domain, &stored.Path, &stored.SameSite} {
		*text = strings.Clone(*text)
	}
	return stored
}

// newGroup makes the group of a domain. The caller holds mu.
func (j *Jar) newGroup(domain string) *group {
	g := &group{jar: j, domain: domain}
	g.inJar, g.inAll = j.recent.PushFront(g), j.store.recent.PushFront(g)
	j.groups[domain] = g
	j.store.join(g)
	j.store.bytes += groupOverhead + len(domain)
	return g
}

// guards reports whether a secure cookie forbids one that came over an insecure connection (RFC 6265bis §5.7 step 14).
func (g *group) guards(c *Cookie) bool {
	return slices.ContainsFunc(g.cookies, func(old *storedCookie) bool {
		return old.Secure && old.Name == c.Name && pathMatches(c.Path, old.Path) &&
			(domainMatches(old.Domain, c.Domain) || domainMatches(c.Domain, old.Domain))
	})
}

// leastWanted chooses the cookie that is removed when there are too many: an expired one, then one that is not secure, then the
// one that was not used for longest (RFC 6265bis §5.7).
func (g *group) leastWanted(now time.Time) int {
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
func (j *Jar) remove(g *group, at int) {
	size := g.cookies[at].size()
	g.bytes -= size
	j.store.bytes -= size + cookieOverhead
	g.cookies = slices.Delete(g.cookies, at, at+1)
	j.total--
	j.store.changed(g)
}

// drop forgets a group. The caller holds mu.
func (j *Jar) drop(g *group) {
	j.total -= len(g.cookies)
	j.store.bytes -= groupOverhead + len(g.domain) + g.bytes + cookieOverhead*len(g.cookies)
	delete(j.groups, g.domain)
	j.store.leave(g)
	j.recent.Remove(g.inJar)
	j.store.recent.Remove(g.inAll)
}

// Clear forgets all cookies, and lets no other one in.
func (j *Jar) Clear() {
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	j.cleared = true
	for _, g := range j.groups {
		j.drop(g)
	}
}

// shrink makes room among these groups, of which g was not used for longest: it removes g, or the least wanted cookie of g if
// that is the only group. The caller holds mu.
func (g *group) shrink(now time.Time, among *list.List) {
	if among.Len() == 1 && len(g.cookies) > 1 {
		g.jar.remove(g, g.leastWanted(now))
		return
	}
	g.jar.drop(g)
}

// Header returns the value of the Cookie header for a request to an origin, without the names in own, and "" if there
// are no cookies for it (RFC 6265 §5.4).
func (j *Jar) Header(to Origin, own map[string]string, now time.Time) string {
	domain := urlx.RegistrableDomain(to.Host)
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	g := j.groups[domain]
	if g == nil {
		return ""
	}
	g.touch()
	j.store.clock++
	var room [16]*storedCookie
	send := room[:0]
	for _, c := range g.cookies {
		if _, has := own[c.Name]; has || !c.goesTo(to) || c.expired(now) {
			continue
		}
		c.used = j.store.clock
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

// All returns the cookies that have not expired, by domain, each domain's in order of creation.
func (j *Jar) All(now time.Time) []Cookie {
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	var all []Cookie
	for _, g := range j.groups {
		for _, c := range g.cookies {
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

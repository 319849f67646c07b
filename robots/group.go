package robots

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxPace bounds delays: rules may not be kept for longer than 24 hours (RFC 9309 §2.4), so a
// longer delay says no more than this one.
const maxPace = 24 * time.Hour

// Group is what a robots.txt says to one crawler: its rules and its pace. It never changes: any
// number of goroutines may use it at once. The zero Group allows everything and asks for no delay.
//
// A group costs its patterns, normalised, and 12 bytes for each; one without rules is shared.
type Group struct {
	text  string // all patterns, one after the other, in the order of rules
	rules []rule
	delay time.Duration
	rate  time.Duration

	hasDelay, hasRate bool
	asWritten         bool // nothing is decoded, see GoogleAgent
}

// rule is one pattern of a group. Rules are sorted by their literals, what stands before the first
// "*" or the closing "$". So all literals that a target starts with are found by one binary search
// and the parents of what it finds.
type rule struct {
	start   uint32 // of the pattern in the group's text; it ends where the next one starts
	literal uint32 // length of the literal, with allowBit
	parent  int32  // the last rule before this one whose literal this one's starts with, or -1
}

const allowBit = 1 << 31

// maxPath bounds what is compared with the patterns: half a megabyte of them times a path of any length takes long.
const maxPath = 16 << 10

var everything Group

// Allowed reports whether the crawler may ask for a target: path and query of a URL, as they are
// sent ("/search?q=go"; what starts with "/" is always read so), or an absolute URL, of which path
// and query are taken. An empty path is "/"; a fragment is ignored.
//
// Among the patterns that match the target from its start, the one with the most octets decides, Allow
// if there are two; without any the target is allowed, and "/robots.txt" always is (RFC 9309
// §2.2.2). "*" stands for any octets, "$" at a pattern's end for the target's end (§2.2.3).
//
// Before they are compared, patterns and targets are normalised: octets that a URL cannot have are
// percent-encoded, percent-encoded letters, digits and "-._~" are decoded, and escapes are in upper
// case. A reserved character is not the same as its escape. But in a query, where the characters
// :/?[]@ delimit nothing (RFC 3986 §3.4), they are. A "*" or "$" of a target is matched by "%2A" or
// "%24" in a pattern, besides by wildcards.
//
// The time is bounded by the rules' text plus the product of the number of rules and the length of
// the target, whatever the patterns are. Of a target that is longer than 16 KiB, more than a crawl's requests have by default, only as
// much is compared, and no pattern reaches its end.
func (g *Group) Allowed(target string) bool {
	if len(g.rules) == 0 {
		return true
	}
	path := pathAndQuery(target)
	if g.asWritten {
		path, _, _ = strings.Cut(path, "#")
	} else {
		path = normalise(path, false)
	}
	if path == "/robots.txt" {
		return true
	}
	if len(path) > maxPath {
		path = path[:maxPath] + "\x00" // which no pattern has: none that ends in "$" matches
	}
	best, allowed := g.longest(path, 0, true)
	// A pattern without "?" may have been meant for either spelling of the query.
	if open := openQuery(path); len(open) != len(path) && !g.asWritten {
		_, allowed = g.longest(open, best, allowed)
	}
	return allowed
}

// CrawlDelay returns the time that the group asks to leave between two requests, and whether it
// asks for one at all. It is not part of RFC 9309. If the groups merged here differ, it is the
// longest; it is never more than 24 hours.
func (g *Group) CrawlDelay() (time.Duration, bool) { return g.delay, g.hasDelay }

// RequestRate returns the Request-rate that the group asks for as the time between two requests,
// and whether it asks for one at all: "1/5" (a request in 5 seconds) is 5 s, "30/1m" is 2 s. Times
// of the day are not looked at: of several rates the slowest is taken. It is not part of RFC 9309
// and never more than 24 hours.
func (g *Group) RequestRate() (time.Duration, bool) { return g.rate, g.hasRate }

// longest finds the longest pattern that matches path and beats a pattern of the length best.
func (g *Group) longest(path string, best int, allowed bool) (int, bool) {
	// The rules whose literals do not sort after path.
	low, high := 0, len(g.rules)
	for low < high {
		mid := int(uint(low+high) >> 1)
		if g.literal(mid) <= path {
			low = mid + 1
		} else {
			high = mid
		}
	}
	// Literals between a prefix of path and path itself have that prefix too. So all prefixes are
	// among the parents, and the parents of a prefix are prefixes.
	i := low - 1
	for i >= 0 && !strings.HasPrefix(path, g.literal(i)) {
		i = int(g.rules[i].parent)
	}
	for ; i >= 0; i = int(g.rules[i].parent) {
		pattern, literal := g.pattern(i), int(g.rules[i].literal&^allowBit)
		allow := g.rules[i].literal&allowBit != 0
		if len(pattern) < best || len(pattern) == best && (allowed || !allow) {
			continue
		}
		if matchRest(pattern[literal:], path[literal:]) {
			best, allowed = len(pattern), allow
		}
	}
	return best, allowed
}

func (g *Group) literal(i int) string {
	r := g.rules[i]
	return g.text[r.start:][:r.literal&^allowBit]
}

func (g *Group) pattern(i int) string {
	if i+1 < len(g.rules) {
		return g.text[g.rules[i].start:g.rules[i+1].start]
	}
	return g.text[g.rules[i].start:]
}

// builder collects the records of a group.
type builder struct {
	patterns []pattern
	g        Group
}

type pattern struct {
	text    string
	literal int
	allow   bool
}

// add takes the path of an Allow or Disallow record. An empty one says nothing.
func (b *builder) add(path string, allow bool) {
	if path == "" || path[0] != '/' && path[0] != '*' {
		return
	}
	var text string
	if b.g.asWritten {
		text = asWritten(path)
	} else {
		text = openQuery(normalise(path, true))
	}
	b.patterns = append(b.patterns, pattern{text, literalLen(text), allow})
	if i := strings.LastIndexByte(text, '/'); allow && i >= 0 && (text[i+1:] == "index.html" || text[i+1:] == "index.htm") {
		text = text[:i+1] + "$"
		b.patterns = append(b.patterns, pattern{text, literalLen(text), allow})
	}
}

// slow takes a Crawl-delay or Request-rate record.
func (b *builder) slow(rec record) {
	if rec.kind == delayRecord {
		if d, ok := parseDelay(rec.value); ok {
			b.g.delay, b.g.hasDelay = max(b.g.delay, d), true
		}
	} else if d, ok := parseRate(rec.value); ok {
		b.g.rate, b.g.hasRate = max(b.g.rate, d), true
	}
}

// group compiles what was collected.
func (b *builder) group() *Group {
	if len(b.patterns) == 0 && !b.g.hasDelay && !b.g.hasRate {
		return &everything
	}
	slices.SortFunc(b.patterns, func(p, q pattern) int {
		return cmp.Or(strings.Compare(p.text[:p.literal], q.text[:q.literal]), strings.Compare(p.text, q.text), allowFirst(p, q))
	})
	// Of equal patterns Allow wins.
	b.patterns = slices.CompactFunc(b.patterns, func(p, q pattern) bool { return p.text == q.text })

	size := 0
	for _, p := range b.patterns {
		size += len(p.text)
	}
	var text strings.Builder
	text.Grow(size)
	g := b.g
	g.rules = make([]rule, len(b.patterns))
	for i, p := range b.patterns {
		r := rule{start: uint32(text.Len()), literal: uint32(p.literal), parent: int32(i - 1)}
		for r.parent >= 0 && !strings.HasPrefix(p.text[:p.literal], b.patterns[r.parent].text[:b.patterns[r.parent].literal]) {
			r.parent = g.rules[r.parent].parent
		}
		if p.allow {
			r.literal |= allowBit
		}
		g.rules[i] = r
		text.WriteString(p.text)
	}
	g.text = text.String()
	return &g
}

func allowFirst(p, q pattern) int {
	switch {
	case p.allow == q.allow:
		return 0
	case p.allow:
		return -1
	default:
		return 1
	}
}

// parseDelay reads seconds, with a fraction or not, and ignores what follows them.
func parseDelay(s string) (time.Duration, bool) {
	seconds, _, ok := cutNumber(s)
	if !ok {
		return 0, false
	}
	return pace(seconds), true
}

// parseRate reads "requests/time", where the time is in seconds unless it ends with s, m or h.
func parseRate(s string) (time.Duration, bool) {
	requests, rest, ok := cutNumber(s)
	rest, slash := strings.CutPrefix(strings.TrimLeft(rest, " \t"), "/")
	if !ok || !slash || requests <= 0 {
		return 0, false
	}
	period, unit, ok := cutNumber(strings.TrimLeft(rest, " \t"))
	if !ok {
		return 0, false
	}
	switch {
	case strings.HasPrefix(unit, "m"), strings.HasPrefix(unit, "M"):
		period *= 60
	case strings.HasPrefix(unit, "h"), strings.HasPrefix(unit, "H"):
		period *= 3600
	}
	return pace(period / requests), true
}

// cutNumber reads the decimal number, without sign or exponent, that s starts with.
func cutNumber(s string) (n float64, rest string, ok bool) {
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.') {
		end++
	}
	n, err := strconv.ParseFloat(s[:end], 64)
	// A number out of range is read as infinite.
	return n, s[end:], err == nil || n > 0
}

// pace is a number of seconds as a duration, at most maxPace.
func pace(seconds float64) time.Duration {
	// Also for what an infinite number made infinite or NaN.
	if !(seconds < maxPace.Seconds()) {
		return maxPace
	}
	return time.Duration(seconds * float64(time.Second))
}

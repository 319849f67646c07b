package rfc9111

import (
	"iter"
	"net/textproto"
	"strings"
	"time"
)

// none is the value of a directive with an argument that is not there.
const none time.Duration = -1

// directives are those of a Cache-Control that mean something to a private cache (§5.2, RFC 5861, RFC 8246).
type directives struct {
	noCache, noStore, onlyIfCached, mustRevalidate, mustUnderstand, public, private, immutable bool

	maxAge, minFresh, maxStale, staleWhileRevalidate, staleIfError time.Duration

	noCacheFields []string // of no-cache="…", canonical
}

// parseDirectives reads the lines of a Cache-Control (§5.2). Of a directive that is there twice the first counts (§4.2.1). An
// argument that is no number of seconds is 0, which is the careful reading of each: stale, no window, validate.
func parseDirectives(lines []string) directives {
	d := directives{maxAge: none, minFresh: none, maxStale: none, staleWhileRevalidate: none, staleIfError: none}
	for member := range listMembers(lines) {
		name, value, hasValue := strings.Cut(member, "=")
		if bare := strings.TrimRight(name, " \t"); bare != name {
			name, value = bare, " "+value // no space is allowed here: what was to be a number is none
		}
		seconds := func(to *time.Duration) {
			if *to == none {
				*to, _ = deltaSeconds(unquoted(value))
			}
		}
		switch strings.ToLower(name) {
		case "no-cache":
			fields := len(d.noCacheFields)
			for field := range listMembers([]string{unquoted(value)}) {
				d.noCacheFields = append(d.noCacheFields, textproto.CanonicalMIMEHeaderKey(field))
			}
			d.noCache = d.noCache || fields == len(d.noCacheFields)
		case "no-store":
			d.noStore = true
		case "only-if-cached":
			d.onlyIfCached = true
		case "must-revalidate":
			d.mustRevalidate = true
		case "must-understand":
			d.mustUnderstand = true
		case "public":
			d.public = true
		case "private":
			d.private = true
		case "immutable":
			d.immutable = true
		case "max-age":
			seconds(&d.maxAge)
		case "min-fresh":
			seconds(&d.minFresh)
		case "max-stale":
			if hasValue {
				seconds(&d.maxStale)
			} else if d.maxStale == none {
				d.maxStale = longest
			}
		case "stale-while-revalidate":
			seconds(&d.staleWhileRevalidate)
		case "stale-if-error":
			seconds(&d.staleIfError)
		}
	}
	return d
}

// listMembers goes over the members of a list (RFC 9110 §5.6.1), which commas outside quoted strings separate, without those that
// are empty. A quoted string ends with its line at the latest.
func listMembers(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range lines {
			start, quoted := 0, false
			for i := 0; i <= len(line); i++ {
				switch {
				case i == len(line) || line[i] == ',' && !quoted:
					if member := strings.Trim(line[start:i], " \t"); member != "" && !yield(member) {
						return
					}
					start = i + 1
				case line[i] == '"':
					quoted = !quoted
				case line[i] == '\\' && quoted && i+1 < len(line):
					i++
				}
			}
		}
	}
}

// unquoted returns what a quoted string means (RFC 9110 §5.6.4), and other text as it is.
func unquoted(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	s = s[1 : len(s)-1]
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

package middleware

import (
	"hash/maphash"
	"strings"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// suspicion is what an URL looks like to the trap guard. A key is a hash of what is left of the URL without the part
// that varies: the same key again and again is the sign of a trap.
type suspicion struct {
	repeats bool   // the path repeats itself
	dated   bool   // it has a date
	date    uint64 // the key without it
	session bool   // it has a session id
	page    uint64 // the key without it
	pattern uint64 // the key without numbers and values of the query; 0 if nobody asked
}

// clear tells that there is nothing to look after.
func (s *suspicion) clear() bool { return !s.repeats && !s.dated && !s.session && s.pattern == 0 }

// suspect looks at an URL.
func suspect(seed maphash.Seed, url string, repeats int, pattern bool) (s suspicion) {
	path := urlx.Path(url)
	path, query, _ := strings.Cut(path, "?")
	s.repeats = repeatsItself(path, repeats)
	if hasYear(path) || query != "" {
		s.date, s.dated = withoutDate(seed, path, query)
	}
	if query != "" || strings.IndexByte(path, ';') >= 0 || strings.IndexByte(path, '(') >= 0 {
		s.page, s.session = withoutSession(seed, path, query)
	}
	if pattern {
		s.pattern = patternKey(seed, path, query)
	}
	return s
}

// longestCycle is how many segments may make up a part that repeats.
const longestCycle = 4

// repeatsItself tells whether one to four segments of a path stand there times in a row: /a/b/a/b/a/b.
func repeatsItself(path string, times int) bool {
	if strings.Count(path, "/") < times {
		return false
	}
	var room [64]string
	segments := room[:0]
	for segment := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		segments = append(segments, segment)
	}
	for cycle := 1; cycle <= longestCycle; cycle++ {
		run := 0
		for i := cycle; i < len(segments); i++ {
			if segments[i] != segments[i-cycle] {
				run = 0
				continue
			}
			if run++; run == cycle*(times-1) {
				return true
			}
		}
	}
	return false
}

// hasYear tells whether four digits stand in a row.
func hasYear(s string) bool {
	run := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			run = 0
		} else if run++; run == 4 {
			return true
		}
	}
	return false
}

// withoutDate hashes path and query without the dates in them. False: there are none.
func withoutDate(seed maphash.Seed, path, query string) (key uint64, dated bool) {
	var h maphash.Hash
	h.SetSeed(seed)
	for path != "" {
		n := dateLen(path)
		if n == 0 {
			h.WriteByte(path[0])
			path = path[1:]
			continue
		}
		dated = true
		h.WriteByte(0)
		path = path[n:]
	}
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(pair, "=")
		h.WriteByte('&')
		h.WriteString(name)
		h.WriteByte('=')
		switch n := dateLen("/" + value); {
		case n > 1 && n == len(value)+1, isDateName(name) && isNumeric(value):
			dated = true
			h.WriteByte(0)
		default:
			h.WriteString(value)
		}
	}
	return h.Sum64(), dated
}

// dateLen returns how long the date is that s begins with, after a slash: /2031-05, /2031-05-07, /20310507, /2031/05,
// /2031/05/07. 0: there is none. The months and days of dates that slashes part have two digits: one that has not may
// be the number of a page.
func dateLen(s string) int {
	const digits4, digits2 = 4, 2
	if len(s) < len("/2031-05") || s[0] != '/' {
		return 0
	}
	rest := s[1:]
	year, ok := fixedNumber(rest, digits4)
	if !ok || year < 1000 {
		return 0
	}
	rest = rest[digits4:]
	separator := rest[0]
	if separator != '-' && separator != '/' {
		return compactDate(s, year)
	}
	month, ok := fixedNumber(rest[1:], digits2)
	if !ok || month < 1 || month > 12 {
		return 0
	}
	rest = rest[1+digits2:]
	n := len("/2031-05")
	if len(rest) > digits2 && rest[0] == separator {
		if day, ok := fixedNumber(rest[1:], digits2); ok && day >= 1 && day <= 31 && !startsWithDigit(rest[1+digits2:]) {
			return n + 1 + digits2
		}
	}
	if startsWithDigit(rest) {
		return 0
	}
	return n
}

// compactDate is dateLen for /20310507. Other numbers of eight digits are common, so the year is one of this time.
func compactDate(s string, year int) int {
	const n = len("/20310507")
	if len(s) < n || year < 1900 || year > 2199 || startsWithDigit(s[n:]) {
		return 0
	}
	month, ok1 := fixedNumber(s[5:], 2)
	day, ok2 := fixedNumber(s[7:], 2)
	if !ok1 || !ok2 || month < 1 || month > 12 || day < 1 || day > 31 {
		return 0
	}
	return n
}

// fixedNumber reads a number of n digits.
func fixedNumber(s string, n int) (value int, ok bool) {
	if len(s) < n {
		return 0, false
	}
	for i := range n {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		value = value*10 + int(s[i]-'0')
	}
	return value, true
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// isNumeric tells whether a value of a query is made of digits and what parts them in dates.
func isNumeric(s string) bool { return s != "" && strings.Trim(s, "0123456789-./:") == "" }

// isDateName tells whether a name of a query speaks of dates.
func isDateName(name string) bool {
	for _, word := range [...]string{"date", "year", "month", "week", "day"} {
		if indexFold(name, word) >= 0 {
			return true
		}
	}
	return false
}

// withoutSession hashes path and query without session ids. False: there are none.
func withoutSession(seed maphash.Seed, path, query string) (key uint64, found bool) {
	var h maphash.Hash
	h.SetSeed(seed)
	for first := true; first || path != ""; first = false {
		var segment string
		segment, path, _ = strings.Cut(path, "/")
		if isASPSession(segment) {
			found = true
			continue
		}
		segment, parameter, has := strings.Cut(segment, ";")
		h.WriteByte('/')
		h.WriteString(segment)
		if name, value, _ := strings.Cut(parameter, "="); has {
			if isSessionName(name, value) {
				found = true
			} else {
				h.WriteString(parameter)
			}
		}
	}
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if name, value, _ := strings.Cut(pair, "="); isSessionName(name, value) {
			found = true
			continue
		}
		h.WriteByte('&')
		h.WriteString(pair)
	}
	return h.Sum64(), found
}

// isASPSession tells whether a segment is the (S(lit3py55t21z5v55vlm25s55)) of ASP.NET.
func isASPSession(segment string) bool {
	return len(segment) >= 10 && (segment[:3] == "(S(" || segment[:3] == "(s(") && strings.HasSuffix(segment, "))")
}

// isSessionName tells whether a parameter is a session id, by its name and, where that is short, by its value too.
func isSessionName(name, value string) bool {
	if len(name) > 32 || len(value) < 6 {
		return false
	}
	switch strings.ToLower(name) {
	case "jsessionid", "phpsessid", "sessionid", "session_id", "session-id", "session", "sessid", "sess_id", "zenid", "oscsid", "cfid", "cftoken":
		return true
	case "sid", "s", "psid", "osid", "xtcsid", "token":
		return isRandom(value)
	}
	return hasPrefixFold(name, "aspsessionid")
}

// isRandom tells whether a value looks like nobody chose it: 16 letters and digits or more, some of each.
func isRandom(value string) bool {
	if len(value) < 16 {
		return false
	}
	letters, numbers := 0, 0
	for i := range len(value) {
		switch c := value[i] | 0x20; {
		case c >= 'a' && c <= 'z':
			letters++
		case value[i] >= '0' && value[i] <= '9':
			numbers++
		case value[i] != '-' && value[i] != '_':
			return false
		}
	}
	return letters > 0 && numbers >= 3
}

// patternKey hashes a path with its numbers alike, and the names of the query without values. It is not 0.
func patternKey(seed maphash.Seed, path, query string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := 0; i < len(path); i++ {
		if path[i] < '0' || path[i] > '9' {
			h.WriteByte(path[i])
			continue
		}
		h.WriteByte('0')
		for i+1 < len(path) && path[i+1] >= '0' && path[i+1] <= '9' {
			i++
		}
	}
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, _, _ := strings.Cut(pair, "=")
		h.WriteByte('&')
		h.WriteString(name)
	}
	return h.Sum64() | 1
}

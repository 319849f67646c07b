package middleware

import (
	"hash/maphash"
	"strings"
)

// suspicion is what a URL looks like to the trap guard. A key is a hash of what is left of the URL without the part
// that varies: the same key again and again is the sign of a trap.
type suspicion struct {
	host    string // with its port
	repeats bool   // the path repeats itself
	dated   bool   // it has a date
	date    uint64 // the key without it
	session bool   // it has a session id
	page    uint64 // the key without it
	pattern uint64 // the key without numbers and values of the query; 0 if not needed
}

// clear says that there is nothing to look after.
func (s *suspicion) clear() bool { return !s.repeats && !s.dated && !s.session && s.pattern == 0 }

// suspect looks at a URL.
func suspect(seed maphash.Seed, url string, repeats int, pattern bool) (s suspicion) {
	authority, path, query := splitURL(url)
	s.host = authority
	s.repeats = repeatsItself(path, repeats)
	if hasDate(path, query) {
		s.date, s.dated = withoutDate(seed, path, query), true
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

// repeatsItself reports whether one to four segments of a path stand there times in a row: /a/b/a/b/a/b.
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

// splitURL cuts host and port, path, and query out of a URL as they stand there.
func splitURL(url string) (authority, path, query string) {
	if i := strings.IndexByte(url, ':'); i >= 0 && strings.HasPrefix(url[i:], "://") {
		url = url[i+len("://"):]
	}
	if i := strings.IndexByte(url, '#'); i >= 0 {
		url = url[:i]
	}
	url, query, _ = strings.Cut(url, "?")
	authority, path = url, "/"
	if i := strings.IndexByte(url, '/'); i >= 0 {
		authority, path = url[:i], url[i:]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	return authority, path, query
}

// hasDate reports whether there is a date in path or query.
func hasDate(path, query string) bool {
	for i := 0; i < len(path); i++ {
		if path[i] == '/' && dateLen(path[i:]) > 0 {
			return true
		}
	}
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if name, value, _ := strings.Cut(pair, "="); isDatePair(name, value) {
			return true
		}
	}
	return false
}

// isDatePair reports whether a pair of a query is a date or a part of one.
func isDatePair(name, value string) bool {
	return isNumeric(value) && (isDateName(name) || isDate(value))
}

// withoutDate hashes path and query without the dates in them.
func withoutDate(seed maphash.Seed, path, query string) (key uint64) {
	start := 0
	for i := 0; i < len(path); i++ {
		if path[i] != '/' {
			continue
		}
		if n := dateLen(path[i:]); n > 0 {
			key = mix(key, maphash.String(seed, path[start:i]))
			start = i + n
			i = start - 1
		}
	}
	key = mix(key, maphash.String(seed, path[start:]))
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if name, value, _ := strings.Cut(pair, "="); isDatePair(name, value) {
			pair = name
		}
		key = mix(key, maphash.String(seed, pair))
	}
	return key
}

// mix adds a hash to those before it. Their order matters.
func mix(key, hash uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15 // of the golden ratio
	return (key ^ hash) * odd
}

// dateLen returns how long the date is that s begins with, after a slash: /2031-05, /2031-05-07, /20310507, /2031/05,
// /2031/05/07, in any year of four digits. 0: there is none. The months and days of dates that slashes part have two
// digits: one that has not may be the number of a page.
func dateLen(s string) int {
	const digits4, digits2 = 4, 2
	if len(s) < len("/2031-05") || s[0] != '/' {
		return 0
	}
	rest := s[1:]
	year, ok := fixedNumber(rest, digits4)
	if !ok {
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

// isDate is dateLen for a whole value without a slash in front.
func isDate(value string) bool {
	return len(value) >= len("2031-05") && len(value) <= len("2031-05-07") && dateLen("/"+value) == len(value)+1
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

// isNumeric reports whether a value of a query is made of digits and what parts them in dates.
func isNumeric(s string) bool { return s != "" && strings.Trim(s, "0123456789-./:") == "" }

// isDateName reports whether a name of a query speaks of dates.
func isDateName(name string) bool {
	for _, word := range [...]string{"date", "year", "month", "week", "day"} {
		if indexFold(name, word) >= 0 {
			return true
		}
	}
	return false
}

// withoutSession hashes path and query without session ids. found is false if there are none.
func withoutSession(seed maphash.Seed, path, query string) (key uint64, found bool) {
	for segment := range strings.SplitSeq(path, "/") {
		if isASPSession(segment) {
			found = true
			continue
		}
		segment, parameter, _ := strings.Cut(segment, ";")
		key = mix(key, maphash.String(seed, segment))
		if name, value, _ := strings.Cut(parameter, "="); isSessionName(name, value) {
			found = true
		} else if parameter != "" {
			key = mix(key, maphash.String(seed, parameter))
		}
	}
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if name, value, _ := strings.Cut(pair, "="); isSessionName(name, value) {
			found = true
			continue
		}
		key = mix(key, maphash.String(seed, pair))
	}
	return key, found
}

// isASPSession reports whether a segment is the (S(lit3py55t21z5v55vlm25s55)) of ASP.NET.
func isASPSession(segment string) bool {
	return len(segment) >= 10 && (segment[:3] == "(S(" || segment[:3] == "(s(") && strings.HasSuffix(segment, "))")
}

// isSessionName reports whether a parameter is a session id, by its name and, where that is short, by its value too.
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
	return len(name) >= 12 && strings.EqualFold(name[:12], "aspsessionid")
}

// isRandom reports whether a value looks random: 16 letters and digits or more, some of them digits.
func isRandom(value string) bool {
	if len(value) < 16 {
		return false
	}
	numbers := 0
	for i := range len(value) {
		switch c := value[i] | 0x20; {
		case value[i] >= '0' && value[i] <= '9':
			numbers++
		case (c < 'a' || c > 'z') && value[i] != '-' && value[i] != '_':
			return false
		}
	}
	return numbers >= 3
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

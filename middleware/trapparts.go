package middleware

import (
	"hash/maphash"
	"strings"
)

// trapURL is what the guard sees in a URL when it compares pages.
type trapURL struct {
	host, path, query string
	kind              uint64 // the pattern: numbers, dates and random values alike, the query without values
	base              uint64 // sum over its parts, of random values over their names alone
	parts             []urlPart
	dated, repeats    bool
	counts            bool // a segment or a value is a number
	numbered          bool // numbers tell it from others of its kind: they may be all that tells their pages apart
	random            bool

	tokens []uint64 // words and numbers that a page may repeat
	ofPath int      // so many of them belong to the path
	mask   uint64
	echoed uint32
}

// urlPart is a part of the URL that may not matter: a pair of the query, or a segment of the path with digits in it.
type urlPart struct {
	name, hash uint64
	session    bool
}

const mostTokens = 32

// lookAt takes a URL apart.
func lookAt(seed maphash.Seed, host, path, query string) trapURL {
	u := trapURL{host: host, path: path, query: query}
	u.dated = hasDate(path, query) || indexFold(path, "calend") >= 0
	position := uint64(0)
	for i := 0; i < len(path); {
		if n := dateLen(path[i:]); n > 0 {
			u.kind, u.base = mix(u.kind, 'd'), u.base+maphash.String(seed, path[i:i+n])
			i += n
			continue
		}
		end := strings.IndexByte(path[i+1:], '/')
		if end < 0 {
			end = len(path)
		} else {
			end += i + 1
		}
		position++
		name := position
		for part := range strings.SplitSeq(path[i+1:end], ";") {
			u.segment(seed, part, name)
			name += 1 << 16 // of a parameter of the segment
		}
		i = end
	}
	u.ofPath = len(u.tokens)
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		u.pair(seed, pair)
	}
	u.numbered = u.numbered && !u.dated && !u.random
	return u
}

// segment takes a segment of the path.
func (u *trapURL) segment(seed maphash.Seed, s string, position uint64) {
	digits := strings.ContainsAny(s, "0123456789")
	name, value, isPair := strings.Cut(s, "=")
	session := isASPSession(s) || isPair && isSessionName(name, value) || looksRandom(s)
	hash := maphash.String(seed, s)*(2*position+1) + position
	if session {
		u.random = true
		u.kind, hash = mix(u.kind, '*'), position
	} else {
		u.kind = mix(u.kind, patternKey(seed, s, ""))
		u.addTokens(seed, s)
		u.numbered = u.numbered || digits
		u.counts = u.counts || isNumeric(s)
	}
	u.base += hash
	if session || digits || len(s) >= 12 {
		u.parts = append(u.parts, urlPart{name: position, hash: hash, session: true})
	}
}

// pair takes a pair of the query.
func (u *trapURL) pair(seed maphash.Seed, pair string) {
	name, value, _ := strings.Cut(pair, "=")
	named := maphash.String(seed, name) | 1<<32
	hash := maphash.String(seed, pair)
	session := isSessionName(name, value)
	switch {
	case isDatePair(name, value):
		u.base += hash
		return
	case session || looksRandom(value):
		u.random = true
		hash = named
	default:
		u.addTokens(seed, value)
		u.numbered = u.numbered || strings.ContainsAny(value, "0123456789")
		u.counts = u.counts || isNumeric(value)
	}
	u.kind += named // in any order
	u.base += hash
	u.parts = append(u.parts, urlPart{named, hash, session})
}

// addTokens adds the words and numbers of a part of the URL.
func (u *trapURL) addTokens(seed maphash.Seed, s string) {
	for i := 0; i < len(s) && len(u.tokens) < mostTokens; i++ {
		from := i
		for i < len(s) && isWordByte(s[i]) {
			i++
		}
		if token := s[from:i]; token != "" && !(u.dated && isNumeric(token)) {
			hash := maphash.String(seed, token)
			u.tokens = append(u.tokens, hash)
			u.mask |= 1 << (hash & 63)
		}
	}
}

// resolve returns where a link leads, near enough to compare it. ok is false for a link that leads nowhere.
func (u *trapURL) resolve(ref string) (path, query, host string, ok bool) {
	ref = strings.ReplaceAll(ref, "&amp;", "&")
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		ref = ref[:i]
	}
	if strings.HasPrefix(ref, "//") {
		ref = "http:" + ref
	}
	if i := strings.IndexAny(ref, ":/?"); i >= 0 && ref[i] == ':' {
		if !strings.HasPrefix(ref[i:], "://") {
			return "", "", "", false
		}
		host, path, query = splitURL(ref)
		return path, query, host, true
	}
	path, query, _ = strings.Cut(ref, "?")
	switch dir := u.path[:strings.LastIndexByte(u.path, '/')+1]; {
	case path == "":
		path = u.path
	case path[0] != '/':
		for path = strings.TrimPrefix(path, "./"); strings.HasPrefix(path, "../"); path = path[3:] {
			dir = dir[:strings.LastIndexByte(strings.TrimSuffix(dir, "/"), '/')+1]
			if dir == "" {
				dir = "/"
			}
		}
		path = dir + path
	}
	return path, query, u.host, ref != ""
}

// looksRandom reports whether a value looks random: letters and digits that change places twice, or many
// of them.
func looksRandom(s string) bool {
	if len(s) < 6 || isNumeric(s) {
		return false
	}
	changes, last := 0, byte(0)
	for i := range len(s) {
		is := byte(0)
		switch c := s[i]; {
		case c-'0' <= 9:
			is = 'd'
		case c|0x20-'a' <= 25:
			is = 'a'
		case c == '-' || c == '_':
			continue
		default:
			return false
		}
		if last != 0 && is != last {
			changes++
		}
		last = is
	}
	return changes >= 3 || changes >= 2 && len(s) <= 12 && strings.IndexByte(s, '-') < 0 || isRandom(s)
}

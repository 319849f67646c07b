package middleware

import (
	"bytes"
	"hash/maphash"
	"strings"
)

// trapHost is what the guard remembers of a host.
type trapHost struct {
	name     string
	repeats  int
	sessions int // URLs with a session id
	variants int // those of them whose page had come before
	answers  int // with status 200 and HTML
	dates    heavy
	bodies   heavy       // of a share of the answers
	soft404  bool        // one of them is a soft 404
	patterns []counted   // as heavy, but of more patterns; nil if not needed
	pages    *pageFilter // that came with a session id; nil while there are few
	study    *study      // nil before the host has given many pages
	looked   int         // TrapGuard.looks when it was asked last
	told     uint16      // bits of trapReasons that were logged
}

// counted is a key and how often it came, or less.
type counted struct {
	key uint64
	n   int
}

// heavy finds what comes very often among things that come seldom, in little room, by the algorithm of Misra and Gries
// (Finding repeated elements, 1982): a count is never too high, and too low by a ninth of all at most. So nothing
// is cut too early.
type heavy [8]counted

// add counts a key and returns its count.
func (h *heavy) add(key uint64) int { return addHeavy(h[:], key) }

// count returns the count of a key.
func (h *heavy) count(key uint64) int {
	for _, c := range h {
		if c.key == key {
			return c.n
		}
	}
	return 0
}

func addHeavy(counts []counted, key uint64) int {
	free := -1
	for i := range counts {
		c := &counts[i]
		switch {
		case c.n > 0 && c.key == key:
			c.n++
			return c.n
		case c.n == 0:
			free = i
		}
	}
	if free >= 0 {
		counts[free] = counted{key, 1}
		return 1
	}
	for i := range counts {
		counts[i].n--
	}
	return 0
}

// pageFilter is a Bloom filter of pages, 32 KiB: 27,000 of them give one error in a hundred.
type pageFilter [4096]uint64

// seen adds a page and reports whether it was there.
func (f *pageFilter) seen(key uint64) bool {
	const hashes, bits = 6, 4096 * 64
	step := key>>32 | 1
	known := true
	for range hashes {
		word, bit := &f[key%bits/64], uint64(1)<<(key%64)
		known = known && *word&bit != 0
		*word |= bit
		key += step
	}
	return known
}

// bodyKey hashes the beginning of a body, without what it repeats of the URL: the page "/x was not found" is the same
// for every x.
func bodyKey(seed maphash.Seed, body []byte, path string) (key uint64) {
	const most = 64 << 10
	body = body[:min(len(body), most)]
	path = strings.TrimPrefix(path, "/") // HTML is full of slashes: without one the path is found faster
	at := rarest(path)
	for from := 0; path != "" && from+len(path) <= len(body); {
		i := bytes.IndexByte(body[from+at:], path[at])
		if i < 0 {
			break
		}
		if i += from; i+len(path) > len(body) || string(body[i:i+len(path)]) != path {
			from = i + 1
			continue
		}
		key = mix(key, maphash.Bytes(seed, body[:i]))
		body, from = body[i+len(path):], 0
	}
	return mix(key, maphash.Bytes(seed, body))
}

// rarest returns the position of the byte of a path that HTML has least of, as a rule.
func rarest(path string) (at int) {
	for i := range len(path) {
		if commonness[path[i]] < commonness[path[at]] {
			at = i
		}
	}
	return at
}

// commonness is how common a byte is in HTML: 0 is rare, such as a capital or z.
var commonness = func() (rank [256]uint8) {
	for i, c := range []byte("jxkvw9876543y210gbf._-ump=hd\"ldc><rsi/nota e") {
		rank[c] = uint8(i + 1)
	}
	return rank
}()

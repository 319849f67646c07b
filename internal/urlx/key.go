package urlx

import (
	"bytes"
	"slices"
)

// KeyVersion is the version of [AppendKey]'s rules. Stored keys of another version do not compare.
const KeyVersion = 1

// AppendKey appends the canonical form of an absolute URL: URLs with the same form are one page.
// It is for comparing, not for fetching. On error it returns dst as it was.
//
// The form is what the URL standard serialises (what would be sent: scheme and host in lower case,
// default port and dot segments gone, empty path "/", forbidden characters percent-encoded), and
// then, for http and https:
//
//   - the fragment is off, and so are user name and password, which do not name a page;
//   - percent-encoded unreserved characters are decoded (RFC 3986 §6.2.2.2), the hex digits of
//     others are in upper case (§6.2.2.1);
//   - pairs of the query, between ampersands, are sorted by name and then value, byte by byte,
//     unless keepOrder;
//   - empty pairs go, and the equals sign of an empty value: "a=1&&b=" is "a=1&b"; a question mark
//     without query goes. To form decoders (URL standard §5.1) these are the same.
//
// Nothing else is removed or changed: not double slashes, trailing slashes, index pages, session
// parameters, repeated pairs, or the difference of + and %20. Other schemes only lose the fragment.
//
// The key of a key is itself. Typical URLs cost no allocation but dst's growth.
func AppendKey(dst []byte, abs string, keepOrder bool) ([]byte, error) {
	start := len(dst)
	dst, err := appendURL(dst, nil, abs, false)
	if err != nil {
		return dst, err
	}
	key := dst[start:]
	i := pastScheme(key)
	if i == 0 {
		// Spaces that the fragment had protected would go when the key is parsed.
		return dst[:start+len(bytes.TrimRight(key, " "))], nil
	}
	return canonical(dst, start+i, keepOrder), nil
}

// AppendResolvedKey is [AppendKey] for an http or https URL that [Base.Resolve] returned, which needs no
// parsing any more: serialising a URL twice changes nothing. Its fragment has been cut off.
func AppendResolvedKey(dst, url []byte, keepOrder bool) []byte {
	start := len(dst)
	return canonical(append(dst, url...), start+pastScheme(url), keepOrder)
}

// pastScheme returns where an http or https URL goes on behind its scheme, 0 for others.
func pastScheme[S []byte | string](url S) int {
	switch {
	case len(url) > 7 && string(url[:7]) == "http://":
		return 7
	case len(url) > 8 && string(url[:8]) == "https://":
		return 8
	}
	return 0
}

// canonical brings the serialised URL whose authority begins at start, and which ends with dst, into its
// canonical form.
func canonical(dst []byte, start int, keepOrder bool) []byte {
	dst = cutUserinfo(dst, start)
	dst = dst[:start+decodeUnreserved(dst[start:])]
	if i := bytes.IndexByte(dst[start:], '?'); i >= 0 {
		dst = canonicalQuery(dst, start+i+1, keepOrder)
	}
	return dst
}

// cutUserinfo cuts the user name and the password out of the serialised http or https URL whose authority begins at start, and
// which ends with dst.
func cutUserinfo(dst []byte, start int) []byte {
	at := bytes.IndexByte(dst[start:], '@')
	if at < 0 {
		return dst
	}
	if slash := bytes.IndexByte(dst[start:], '/'); slash < at {
		return dst // it belongs to the path or the query
	}
	return slices.Delete(dst, start, start+at+1) // a serialised user name or password has no other @
}

// decodeUnreserved normalises percent-encodings in place and returns the new length.
func decodeUnreserved(b []byte) int {
	r := bytes.IndexByte(b, '%')
	if r < 0 {
		return len(b)
	}
	w := r
	stray := -3 // where in the output the last % is that starts no percent-encoding
	for r < len(b) {
		if b[r] != '%' {
			b[w] = b[r]
			w, r = w+1, r+1
			continue
		}
		if r+2 >= len(b) || unhex[b[r+1]] == 0 || unhex[b[r+2]] == 0 {
			stray = w
			b[w] = '%'
			w, r = w+1, r+1
			continue
		}
		c := (unhex[b[r+1]]-1)<<4 | (unhex[b[r+2]] - 1)
		// "%%34%31" must not become "%41", which would be another URL.
		completes := unhex[c] != 0 && (w-stray == 1 || w-stray == 2 && unhex[b[w-1]] != 0)
		if unreserved[c] && !completes {
			b[w] = c
			w++
		} else {
			b[w], b[w+1], b[w+2] = '%', upperHex[c>>4], upperHex[c&15]
			w += 3
		}
		r += 3
	}
	return w
}

// pair is where a pair of a query starts and ends; its name ends at eq.
type pair struct{ start, eq, end int }

// comparePairs orders by name, then value.
func comparePairs(b []byte, x, y pair) int {
	if c := bytes.Compare(b[x.start:x.eq], b[y.start:y.eq]); c != 0 {
		return c
	}
	return bytes.Compare(b[x.eq:x.end], b[y.eq:y.end])
}

// canonicalQuery brings the query that starts at q, just behind the question mark, and ends with
// dst into its canonical form.
func canonicalQuery(dst []byte, q int, keepOrder bool) []byte {
	var array [32]pair
	pairs := array[:0]
	sorted := true
	length := 0
	for at := q; at <= len(dst); {
		p := pair{start: at, end: len(dst)}
		if i := bytes.IndexByte(dst[at:], '&'); i >= 0 {
			p.end = at + i
		}
		at = p.end + 1
		if i := bytes.IndexByte(dst[p.start:p.end], '='); i < 0 {
			p.eq = p.end
		} else if p.eq = p.start + i; p.eq == p.end-1 {
			p.end = p.eq
		}
		if p.start == p.end {
			continue
		}
		length += p.end - p.start + 1
		if n := len(pairs); n > 0 && !keepOrder && sorted && comparePairs(dst, pairs[n-1], p) > 0 {
			sorted = false
		}
		pairs = append(pairs, p)
	}
	if len(pairs) == 0 {
		return dst[:q-1]
	}
	if sorted && q+length-1 == len(dst) {
		return dst
	}
	if !sorted {
		sortPairs(dst, pairs)
	}

	// Written behind the query, then moved over it: no second buffer.
	end := len(dst)
	for _, p := range pairs {
		dst = append(dst, dst[p.start:p.end]...)
		dst = append(dst, '&')
	}
	n := copy(dst[q:], dst[end:len(dst)-1])
	return dst[:q+n]
}

// sortPairs sorts few pairs by insertion, which needs no closure on the heap.
func sortPairs(b []byte, pairs []pair) {
	if len(pairs) > 32 {
		slices.SortFunc(pairs, func(x, y pair) int { return comparePairs(b, x, y) })
		return
	}
	for i := 1; i < len(pairs); i++ {
		for j := i; j > 0 && comparePairs(b, pairs[j-1], pairs[j]) > 0; j-- {
			pairs[j-1], pairs[j] = pairs[j], pairs[j-1]
		}
	}
}

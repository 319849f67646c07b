package links

import (
	"bytes"
	"iter"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// Candidates iterates over the URLs in the value of a srcset attribute, as they are written: "a.jpg 1x, b.jpg 2x" has a.jpg and b.jpg.
func Candidates(srcset string) iter.Seq[string] {
	return func(yield func(string) bool) {
		eachCandidate([]byte(srcset), func(url []byte) bool { return yield(string(url)) })
	}
}

// Lazy returns the address of a picture, frame or medium that a script is to load later, as it is written: the value of data-src,
// of a similar attribute (data-lazy-src, data-original), or the first candidate of an attribute that ends in srcset. It is "" if
// the element has an address in src, one that is neither empty nor of the schemes data and about, or if nothing waits in it.
func Lazy(n html.Node) string {
	switch n.Atom() {
	case html.AtomImg, html.AtomSource, html.AtomIframe, html.AtomEmbed, html.AtomVideo, html.AtomAudio:
	default:
		return ""
	}
	if !isPlaceholder(n.FindAttr(html.AtomSrc).Value()) {
		return ""
	}
	similar, candidate := "", ""
	for a := range n.Attrs() {
		name := a.Name()
		switch {
		case isLazyName(name):
			ref := a.Value()
			if isPlaceholder(ref) {
				continue
			}
			if name == "data-src" {
				return ref
			}
			if similar == "" {
				similar = ref
			}
		case similar == "" && candidate == "" && strings.HasSuffix(name, "srcset"):
			for url := range Candidates(a.Value()) {
				if !isPlaceholder(url) {
					candidate = url
					break
				}
			}
		}
	}
	if similar != "" {
		return similar
	}
	return candidate
}

// isPlaceholder reports whether a reference stands for an address that a script fills in.
func isPlaceholder(ref string) bool {
	ref = strings.TrimLeft(ref, asciiSpace)
	return ref == "" || hasScheme(ref, "data:") || hasScheme(ref, "about:")
}

func hasScheme(ref, scheme string) bool {
	return len(ref) >= len(scheme) && strings.EqualFold(ref[:len(scheme)], scheme)
}

// isLazyName reports whether an attribute has the address of what a script loads later.
func isLazyName(name string) bool {
	return name == "data-original" || name == "data-lazy" || strings.HasPrefix(name, "data-") && strings.HasSuffix(name, "src")
}

// eachCandidate calls f for the URL of each image candidate of a srcset attribute until f returns
// false (HTML standard, section 4.8.4.2.10, "parse a srcset attribute"). Descriptors are passed over,
// right or wrong: browsers ignore wrong ones with their URL, a crawler had better look.
func eachCandidate(srcset []byte, f func(url []byte) bool) bool {
	s := srcset
	for {
		for len(s) > 0 && (isSpace(s[0]) || s[0] == ',') {
			s = s[1:]
		}
		if len(s) == 0 {
			return true
		}
		end := 0
		for end < len(s) && !isSpace(s[end]) {
			end++
		}
		url := s[:end]
		s = s[end:]
		if trimmed := bytes.TrimRight(url, ","); len(trimmed) < len(url) {
			url = trimmed
		} else {
			s = s[descriptorsLen(s):]
		}
		if !f(url) {
			return false
		}
	}
}

// descriptorsLen returns where the comma that ends the descriptors stands. Commas in parentheses are
// part of them.
func descriptorsLen(s []byte) int {
	inParens := false
	for i, c := range s {
		switch c {
		case ',':
			if !inParens {
				return i
			}
		case '(':
			inParens = true
		case ')':
			inParens = false
		}
	}
	return len(s)
}

// eachWord calls f for each part of a list, separated by white space and, if commas is set, commas.
func eachWord(list []byte, commas bool, f func([]byte) bool) bool {
	separates := func(c byte) bool { return isSpace(c) || commas && c == ',' }
	for i := 0; i < len(list); {
		if separates(list[i]) {
			i++
			continue
		}
		start := i
		for i < len(list) && !separates(list[i]) {
			i++
		}
		if !f(list[start:i]) {
			return false
		}
	}
	return true
}

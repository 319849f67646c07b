package links

import "bytes"

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

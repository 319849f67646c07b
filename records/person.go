package records

import "strings"

// person reads an author as RSS has it: "mail@example.com (Name)", "Name <mail@example.com>", a name or an address alone.
func person(text string) Person {
	text = strings.TrimSpace(text)
	for _, pair := range []string{"()", "<>"} {
		open := strings.IndexByte(text, pair[0])
		end := strings.LastIndexByte(text, pair[1])
		if open < 0 || end < open || strings.TrimSpace(text[end+1:]) != "" {
			continue
		}
		outside, inside := strings.TrimSpace(text[:open]), strings.TrimSpace(text[open+1:end])
		switch {
		case isEmail(outside):
			return Person{Name: inside, Email: outside}
		case isEmail(inside):
			return Person{Name: outside, Email: inside}
		}
	}
	first, rest, _ := strings.Cut(text, " ")
	switch {
	case isEmail(text):
		return Person{Email: text}
	case isEmail(first):
		return Person{Name: strings.TrimSpace(rest), Email: first}
	}
	if i := strings.LastIndexByte(text, ' '); i > 0 && isEmail(text[i+1:]) {
		return Person{Name: strings.TrimSpace(text[:i]), Email: text[i+1:]}
	}
	return Person{Name: text}
}

// isEmail reports whether a text looks like an address.
func isEmail(s string) bool {
	at := strings.IndexByte(s, '@')
	return at > 0 && at < len(s)-1 && !strings.ContainsAny(s, " \t\r\n<>()")
}

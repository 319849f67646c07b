package rfc9111

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// mostVary is how many fields a Vary may name. A response with more is not stored.
const mostVary = 100

// nominated returns the fields of a request header that the Vary of a response names, normalized (§4.1). It fails if no later request
// can match: by *, or by what is not the name of a field.
func nominated(response, request http.Header) (vary http.Header, ok bool) {
	vary = make(http.Header)
	for name := range listMembers(response["Vary"]) {
		if name == "*" || !httpguts.ValidHeaderFieldName(name) {
			return nil, false
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		if _, known := vary[name]; known {
			continue
		}
		if len(vary) == mostVary {
			return nil, false
		}
		vary[name] = normalized(name, request[name])
	}
	return vary, true
}

// normalized returns the members of a request header field, so that lines, spaces and, where it has no meaning, case make no
// difference (§4.1). Only a field that is absent has no members.
func normalized(name string, lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	members := slices.Collect(listMembers(lines))
	switch name {
	case "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language": // RFC 9110 §12.5
		for i := range members {
			members[i] = strings.ToLower(members[i])
		}
	}
	if len(members) == 0 {
		return []string{""}
	}
	return members
}

// matcher returns a func that reports whether the request matches that of an entry by the Vary of the entry (§4.1).
func matcher(r Request) func(Entry) bool {
	known := make(http.Header) // each field of the request is normalized once
	return func(e Entry) bool {
		for name, want := range e.Vary {
			if _, ok := known[name]; !ok {
				known[name] = normalized(name, r.Header[name])
			}
			if !slices.Equal(known[name], want) {
				return false
			}
		}
		return true
	}
}

// choose returns the index of the newest entry that matches a request, -1 if none does (§4, §4.1).
func choose(r Request, stored []Entry) int {
	match, best := matcher(r), -1
	for i := range stored {
		if !match(stored[i]) {
			continue
		}
		if best < 0 || !stored[i].date().Before(stored[best].date()) {
			best = i
		}
	}
	return best
}

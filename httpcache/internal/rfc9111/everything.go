package rfc9111

import (
	"net/http"
	"net/textproto"

	"golang.org/x/net/http/httpguts"
)

// A cache that stores every response, whatever its header says, needs these parts of the rules alone.

// NewEntry makes an entry of any response. Members of Vary that no request could match, such as *, are ignored.
func NewEntry(r Request, a Response) Entry {
	vary := make(http.Header)
	for name := range listMembers(a.Header["Vary"]) {
		if name = textproto.CanonicalMIMEHeaderKey(name); httpguts.ValidHeaderFieldName(name) && name != "*" && len(vary) < mostVary {
			vary[name] = normalized(name, r.Header[name])
		}
	}
	return Entry{Response: a, Vary: vary}
}

// Choose returns the index of the newest entry whose Vary matches a request, -1 if none does (§4, §4.1).
func Choose(r Request, stored []Entry) int { return choose(r, stored) }

// Condition returns the header fields that ask whether a stored response is still right (§4.3.1); none if it has no validator.
func (r Response) Condition() http.Header { return r.condition() }

// Validated returns an entry with the header of a 304 to its Condition (§4.3.4). It reports whether the 304 is about the entry.
func (e Entry) Validated(a Response) (Entry, bool) {
	if !e.identifiedBy(a) {
		return e, false
	}
	return e.updated(a), true
}

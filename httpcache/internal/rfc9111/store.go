package rfc9111

import (
	"maps"
	"net/http"
	"net/textproto"
	"strconv"
	"time"
)

// newEntry makes an entry of an answer if it may be stored.
func newEntry(r Request, a Response) (Entry, bool) {
	vary, ok := nominated(a.Header, r.Header)
	if !ok || !storable(r, a) {
		return Entry{}, false
	}
	a.Header = storedHeader(a)
	return Entry{Response: a, Vary: vary}, true
}

// storable reports whether a response may be stored (§3) and can be of use: by its freshness, a validator, or a permission to be
// handed out stale.
func storable(r Request, a Response) bool {
	said := parseDirectives(a.Header["Cache-Control"])
	switch {
	case r.Method != http.MethodGet || parseDirectives(r.Header["Cache-Control"]).noStore:
		return false
	case a.Status < 200 || a.Status == http.StatusPartialContent || a.Status == http.StatusNotModified:
		return false
	case said.mustUnderstand && !understood(a.Status): // §5.2.2.3
		return false
	case said.noStore && !said.mustUnderstand:
		return false
	}
	_, expires := a.Header["Expires"]
	if !said.public && !said.private && !expires && said.maxAge == none && !heuristicStatus(a.Status) {
		return false
	}
	return len(a.condition()) > 0 || said.staleIfError > 0 || !said.noCache && (a.lifetime() > 0 || said.staleWhileRevalidate > 0)
}

// understood reports whether we know what a status means for a cache (§3).
func understood(status int) bool {
	return heuristicStatus(status) || status == http.StatusFound || status == http.StatusSeeOther || status == http.StatusTemporaryRedirect
}

// storedHeader is the header of a response without the fields that are not stored (§3.1). One without Date gets that of its arrival
// (RFC 9110 §6.6.1).
func storedHeader(a Response) http.Header {
	h := a.Header.Clone()
	if h == nil {
		h = make(http.Header)
	}
	for name := range listMembers(a.Header["Connection"]) {
		delete(h, textproto.CanonicalMIMEHeaderKey(name))
	}
	for _, name := range [...]string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info",
		"Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"} {
		delete(h, name)
	}
	if _, ok := h["Date"]; !ok {
		h.Set("Date", a.Received.UTC().Format(http.TimeFormat))
	}
	return h
}

// updated returns an entry with the header fields of a newer answer about the same body (§3.2). What describes the stored bytes stays.
// Age and Date are of the newer answer alone: there they are counted from.
func (e Entry) updated(a Response) Entry {
	update := storedHeader(a)
	for _, name := range [...]string{"Content-Length", "Content-Encoding", "Content-Range"} {
		delete(update, name)
	}
	e.Header = maps.Clone(e.Header)
	delete(e.Header, "Age")
	maps.Copy(e.Header, update)
	e.Requested, e.Received = a.Requested, a.Received
	return e
}

// reply makes the response that is handed out of an entry (§4). It has an Age, and without validation not the fields that a
// no-cache="…" names (§5.2.2.4). The preconditions of the request come before its Range (RFC 9110 §13.2.2).
func (e Entry) reply(r Request, now time.Time, validated bool) Reply {
	reply := Reply{Status: e.Status, Header: e.Header.Clone(), Age: e.age(now)}
	if !validated {
		for _, name := range parseDirectives(e.Header["Cache-Control"]).noCacheFields {
			delete(reply.Header, name)
		}
	}
	reply.Header.Set("Age", strconv.FormatInt(int64(reply.Age/time.Second), 10))
	if e.notModifiedFor(r) {
		reply.Status = http.StatusNotModified
	} else if part := e.rangeFor(r); part != nil {
		reply.Status, reply.Range = http.StatusPartialContent, part
		reply.Header.Set("Content-Range", part.contentRange(e.Length))
		reply.Header.Set("Content-Length", strconv.FormatInt(part.Length, 10))
	}
	return reply
}

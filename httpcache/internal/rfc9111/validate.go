package rfc9111

import (
	"net/http"
	"strings"
)

// condition returns the header fields that ask whether a stored response is still right (§4.3.1). With an ETag and a Last-Modified
// both are sent.
func (r Response) condition() http.Header {
	h := make(http.Header)
	if tag := r.etag(); tag != "" {
		h["If-None-Match"] = []string{tag}
	}
	if modified := r.lastModified(); modified != "" {
		h["If-Modified-Since"] = []string{modified}
	}
	return h
}

// etag returns the entity tag of a response, "" for what is none (RFC 9110 §8.8.3): as a condition, * or a list would hold for other
// representations too.
func (r Response) etag() string {
	tag := r.Header.Get("ETag")
	opaque := strings.TrimPrefix(tag, "W/")
	if len(opaque) < 2 || opaque[0] != '"' || opaque[len(opaque)-1] != '"' {
		return ""
	}
	for _, c := range []byte(opaque[1 : len(opaque)-1]) {
		if c <= ' ' || c == '"' || c == 0x7f {
			return ""
		}
	}
	return tag
}

// lastModified returns the Last-Modified of a response as it was written, "" if it is no date (RFC 9110 §8.8.2).
func (r Response) lastModified() string {
	text := r.Header.Get("Last-Modified")
	if _, ok := parseDate(text, r.Received); !ok {
		return ""
	}
	return text
}

// weaklyEqual is the weak comparison of entity tags (RFC 9110 §8.8.3.2).
func weaklyEqual(a, b string) bool { return strings.TrimPrefix(a, "W/") == strings.TrimPrefix(b, "W/") }

// identifiedBy reports whether a 304 to the condition of an entry is about that entry (§4.3.4). A validator that both have decides.
// A 304 without any can only mean the one that was asked about. Tags are compared weakly, since servers that compress send a weak
// tag with a 200 and the strong one with a 304.
func (e Entry) identifiedBy(a Response) bool {
	tag, modified := a.etag(), a.lastModified()
	if own := e.etag(); tag != "" && own != "" {
		return weaklyEqual(tag, own)
	}
	if own := e.lastModified(); modified != "" && own != "" {
		return modified == own
	}
	return tag == "" && modified == ""
}

// contradictedBy reports whether an answer to a HEAD with 200 shows that a stored response is out of date (§4.3.5).
func (e Entry) contradictedBy(a Response) bool {
	differ := func(own, new string) bool { return own != "" && new != "" && own != new }
	tag, own := a.etag(), e.etag()
	return e.Status != a.Status || tag != "" && own != "" && !weaklyEqual(tag, own) || differ(e.lastModified(), a.lastModified()) ||
		differ(e.Header.Get("Content-Length"), a.Header.Get("Content-Length"))
}

// hasPrecondition reports whether a request has a precondition of its own that a cache may answer.
func hasPrecondition(r Request) bool {
	return len(r.Header["If-None-Match"]) > 0 || len(r.Header["If-Modified-Since"]) > 0
}

// originOnly reports whether a request has a precondition that only the origin may answer (§4.3.2).
func originOnly(r Request) bool {
	return len(r.Header["If-Match"]) > 0 || len(r.Header["If-Unmodified-Since"]) > 0
}

// notModifiedFor reports whether the preconditions of a request say that its sender has the stored response already (§4.3.2).
func (e Entry) notModifiedFor(r Request) bool {
	if !hasPrecondition(r) || e.Status < 200 || e.Status > 299 {
		return false
	}
	if tags := r.Header["If-None-Match"]; len(tags) > 0 {
		own := e.etag()
		for tag := range listMembers(tags) {
			if tag == "*" || own != "" && weaklyEqual(tag, own) {
				return true
			}
		}
		return false
	}
	since, ok := parseDate(r.Header.Get("If-Modified-Since"), e.Received)
	if !ok {
		return false
	}
	modified, ok := parseDate(e.Header.Get("Last-Modified"), e.Received)
	if !ok {
		modified = e.date()
	}
	return !modified.After(since)
}

package rfc9111

import (
	"strings"
	"time"
)

// longest stands for times that are longer (§1.2.2).
const longest = time.Second << 31

// bounded keeps a time in the bounds in which a few can be added.
func bounded(d time.Duration) time.Duration { return min(max(d, -longest), longest) }

// heuristicStatus reports whether responses of a status may be given a freshness lifetime that they do not state (RFC 9110 §15.1).
func heuristicStatus(status int) bool {
	switch status {
	case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: // and 206, which is not stored
		return true
	}
	return false
}

// lifetime is the freshness lifetime (§4.2.1). An Expires that is no date lies in the past (§5.3).
func (r Response) lifetime() time.Duration {
	said := parseDirectives(r.Header["Cache-Control"])
	if said.maxAge != none {
		return said.maxAge
	}
	if expires := r.Header["Expires"]; len(expires) > 0 {
		if t, ok := parseDate(expires[0], r.Received); ok {
			return bounded(t.Sub(r.date()))
		}
		return 0
	}
	if heuristicStatus(r.Status) || said.public {
		return r.heuristicLifetime()
	}
	return 0
}

// heuristicLifetime is a tenth of the time since the last modification, a day at most (§4.2.2).
func (r Response) heuristicLifetime() time.Duration {
	modified, ok := parseDate(r.Header.Get("Last-Modified"), r.Received)
	if !ok {
		return 0
	}
	return min(max(r.date().Sub(modified)/10, 0), 24*time.Hour)
}

// date is the Date of a response. One without a valid Date has that of its arrival (RFC 9110 §6.6.1).
func (r Response) date() time.Time {
	if t, ok := parseDate(r.Header.Get("Date"), r.Received); ok {
		return t
	}
	return r.Received
}

// age is the current_age of §4.2.3.
func (r Response) age(now time.Time) time.Duration {
	apparent := max(bounded(r.Received.Sub(r.date())), 0)
	delay := max(bounded(r.Received.Sub(r.Requested)), 0)
	resident := max(bounded(now.Sub(r.Received)), 0)
	return bounded(max(apparent, r.ageValue()+delay) + resident)
}

// ageValue reads Age (§5.1): the first member of a list, and nothing if that is no number of seconds.
func (r Response) ageValue() time.Duration {
	first, _, _ := strings.Cut(r.Header.Get("Age"), ",")
	age, _ := deltaSeconds(strings.Trim(first, " \t"))
	return age
}

// deltaSeconds reads a number of seconds (§1.2.2).
func deltaSeconds(s string) (time.Duration, bool) {
	var d time.Duration
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		d = min(d*10+time.Duration(c-'0')*time.Second, longest)
	}
	return d, s != ""
}

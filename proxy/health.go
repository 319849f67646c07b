package proxy

import (
	"math/rand/v2"
	"time"
)

const (
	failures    = 3                // in a row: then a proxy rests
	firstRest   = 10 * time.Second // doubled with each rest that has not helped
	longestRest = 10 * time.Minute
	trial       = 2 * time.Minute // how long the one request may take that tries a proxy after its rest
)

// health is how a proxy does, or a proxy with one host.
type health struct {
	failed int       // in a row
	rests  int       // that have not helped
	until  time.Time // it rests until then; zero: it is in use
	trying time.Time // a request tries it, at most until then
}

// rests reports whether it is not in use.
func (h *health) resting() bool { return !h.until.IsZero() }

// at returns when it can be used: now, if that has passed.
func (h *health) at() time.Time {
	if h.trying.After(h.until) {
		return h.trying
	}
	return h.until
}

// try notes that a request uses it, after its rest it is the only one.
func (h *health) try(now time.Time) {
	if h.resting() {
		h.trying = now.Add(trial)
	}
}

// worked notes that it works, and reports whether it rested.
func (h *health) worked() (rested bool) {
	rested = h.resting()
	*h = health{}
	return rested
}

// fails notes a failure. At once means that it rests though it is the first one.
func (h *health) fails(now time.Time, atOnce bool) {
	h.failed++
	h.trying = time.Time{}
	switch {
	case h.resting() && now.Before(h.until): // of a request that was under way when it began to rest
	case atOnce || h.resting() || h.failed >= failures:
		rest := min(firstRest<<min(h.rests, 16), longestRest)
		h.until = now.Add(time.Duration((0.75 + rand.Float64()/2) * float64(rest)))
		h.rests++
	}
}

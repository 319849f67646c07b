package dashboard

import (
	"fmt"
	"strings"
	"time"
)

// kept is how many samples there are at most: those of an hour, one a second.
const kept = 3600

// sample is what the counters of a run were at a moment.
type sample struct {
	at                          time.Duration // since the run began
	pages, items, errors, bytes int64
	settled, open               int64 // requests that have ended, and those that have not
}

// samples are the last ones of a run, in a ring.
type samples struct {
	ring []sample
	next int // where the next one goes, once the ring is full
}

func (s *samples) add(one sample) {
	if len(s.ring) < kept {
		s.ring = append(s.ring, one)
		return
	}
	s.ring[s.next] = one
	s.next = (s.next + 1) % kept
}

// back returns the sample that is n before the newest one, or the oldest one.
func (s *samples) back(n int) sample {
	n = min(n, len(s.ring)-1)
	return s.ring[(s.next+len(s.ring)-1-n)%len(s.ring)]
}

// rates returns the means of the last period.
func (s *samples) rates(period time.Duration) Rates {
	if len(s.ring) < 2 {
		return Rates{}
	}
	newest := s.back(0)
	before := s.back(int(period / time.Second))
	seconds := (newest.at - before.at).Seconds()
	if seconds <= 0 {
		return Rates{}
	}
	return Rates{
		Pages: float64(newest.pages-before.pages) / seconds, Items: float64(newest.items-before.items) / seconds,
		Errors: float64(newest.errors-before.errors) / seconds, Bytes: float64(newest.bytes-before.bytes) / seconds,
	}
}

// Estimate is how long the crawl is likely to go on.
type Estimate struct {
	Least string `json:"least,omitempty"` // if no further requests are found; "" if that is not known
	Most  string `json:"most,omitempty"`  // if they are found as quickly as in the last minute; "" if it then has no end
}

// InWords says it, "" if nothing is known.
func (e Estimate) InWords() string {
	switch {
	case e.Least == "":
		return ""
	case e.Most == "":
		return "at least " + e.Least + " more"
	case e.Least == e.Most:
		return "about " + e.Least + " more"
	}
	return e.Least + " to " + e.Most + " more"
}

const (
	estimatePeriod  = time.Minute
	leastToEstimate = 5 // samples
)

// estimate returns how long the crawl is likely to go on, by what has ended in the last minute.
func (s *samples) estimate() (e Estimate) {
	if len(s.ring) < leastToEstimate {
		return e
	}
	newest, before := s.back(0), s.back(int(estimatePeriod/time.Second))
	took := newest.at - before.at
	lasts := func(ended int64) string {
		if ended <= 0 || took <= 0 {
			return ""
		}
		left := min(float64(newest.open)/float64(ended)*float64(took), float64(maxEstimate))
		return time.Duration(left).Round(time.Second).String()
	}
	return Estimate{Least: lasts(newest.settled - before.settled), Most: lasts(before.open - newest.open)}
}

// maxEstimate is what longer times count as.
const maxEstimate = 10 * 365 * 24 * time.Hour

// Curve is the pages a second of the last hour at most, as a drawing of curveWidth by curveHeight.
type Curve struct {
	Points string  // of an SVG polyline; "" while there are too few
	Most   float64 // pages a second at its highest
	Period time.Duration
	Steps  []Step // the same as a table
}

// Step is a part of a [Curve].
type Step struct {
	Ago   time.Duration // of its end
	Pages float64       // a second
}

const (
	curveWidth, curveHeight = 600, 120
	curveSteps              = 60
)

// curve returns the curve of the samples.
func (s *samples) curve() (c Curve) {
	steps := min(curveSteps, len(s.ring)-1)
	if steps < 2 {
		return c
	}
	each := (len(s.ring) - 1) / steps
	newest := s.back(0)
	for i := steps; i >= 1; i-- {
		from, to := s.back(i*each), s.back((i-1)*each)
		if seconds := (to.at - from.at).Seconds(); seconds > 0 {
			c.Steps = append(c.Steps, Step{newest.at - to.at, float64(to.pages-from.pages) / seconds})
		}
	}
	for _, step := range c.Steps {
		c.Most = max(c.Most, step.Pages)
	}
	c.Period = newest.at - s.back(steps*each).at
	var points strings.Builder
	for i, step := range c.Steps {
		x := float64(curveWidth) * float64(i) / float64(max(len(c.Steps)-1, 1))
		y := curveHeight * (1 - step.Pages/max(c.Most, 1e-9))
		fmt.Fprintf(&points, "%.1f,%.1f ", x, y)
	}
	c.Points = strings.TrimSpace(points.String())
	return c
}

package report

import (
	"fmt"
	"strings"
	"time"
)

// Sample is the state of a crawl at one moment.
type Sample struct {
	At       time.Duration // since the crawl began
	Pages    int64         // responses
	Items    int64         // that passed all pipelines
	Waiting  int64         // requests that wait for their turn
	InFlight int64         // requests that are being downloaded, parsed, or whose items are processed
	Failed   int64         // failures
	Retried  int64         // requests that were put back to run again
	Busiest  Busy          // of the slots
	Slowest  Slow          // of the slots
}

// numbers are the fields of its line, without those that need an earlier sample.
func (s Sample) numbers() Numbers {
	n := Numbers{"seconds": s.At.Seconds(), "pages": s.Pages, "items": s.Items, "waiting": s.Waiting, "in_flight": s.InFlight,
		"failed": s.Failed, "retried": s.Retried}
	if s.Busiest.Slot != "" {
		n["slot"], n["slot_waiting"], n["slot_seconds"] = s.Busiest.Slot, s.Busiest.Waiting, s.Busiest.For.Seconds()
	}
	if s.Slowest.Slot != "" {
		n["slowest_slot"], n["latency_seconds"] = s.Slowest.Slot, s.Slowest.Latency.Seconds()
	}
	return n
}

// Slow is the slot of the highest mean latency.
type Slow struct {
	Slot    string // "" if none is known
	Latency time.Duration
}

// String names the slot and its latency.
func (s Slow) String() string {
	return fmt.Sprintf("%s with a latency of %s", s.Slot, Duration(s.Latency))
}

// Busy is the slot in which most requests wait, and why nothing of it starts.
type Busy struct {
	Slot    string // "" if nothing waits
	Waiting int
	For     time.Duration // until its next request may start; 0: it may start now
	Why     string        // "Retry-After"; "" if that is not known
}

// Progress makes a line of each sample of a crawl, one after the other.
type Progress struct{ last Sample }

// Line says how far the crawl is, and how fast it was since the line before.
func (p *Progress) Line(s Sample) Line {
	since := s.At - p.last.At
	var b strings.Builder
	fmt.Fprintf(&b, "after %s: %s (%s/min), %s (%s/min), %s waiting, %s in flight", Duration(s.At),
		Count(s.Pages, "page"), Rate(s.Pages-p.last.Pages, since),
		Count(s.Items, "item"), Rate(s.Items-p.last.Items, since), Number(s.Waiting), Number(s.InFlight))
	if s.Failed > 0 {
		fmt.Fprintf(&b, ", %s failed", Number(s.Failed))
	}
	if s.Retried > 0 {
		fmt.Fprintf(&b, ", %s retried", Number(s.Retried))
	}
	if busy := s.Busiest; busy.Slot != "" && busy.Waiting > 0 {
		fmt.Fprintf(&b, "; busiest host: %s with %s waiting", busy.Slot, Number(int64(busy.Waiting)))
		if busy.For > 0 {
			fmt.Fprintf(&b, ", the next in %s", Duration(busy.For))
		}
		if busy.Why != "" {
			fmt.Fprintf(&b, ", held back by %s", busy.Why)
		}
	}
	if s.Slowest.Slot != "" {
		fmt.Fprintf(&b, "; slowest host: %v", s.Slowest)
	}
	n := s.numbers()
	n["pages_per_minute"], n["items_per_minute"] = perMinute(s.Pages-p.last.Pages, since), perMinute(s.Items-p.last.Items, since)
	p.last = s
	return Line{Text: b.String(), Numbers: n}
}

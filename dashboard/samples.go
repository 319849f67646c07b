package dashboard

import "time"

// kept is how many samples there are at most: those of an hour, one a second.
const kept = 3600

// sample is what the counters of a run were at a moment.
type sample struct {
	at                          time.Duration // since the run began
	pages, items, errors, bytes int64
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

package dashboard

import (
	"time"

	"github.com/tegenaria/tegenaria"
)

// Ended tells a board that a request has ended, as its engine does.
func Ended(b *Board, end tegenaria.RequestEnd) { b.ends.add(end) }

// ItemEnded tells a board that an item has ended, as its engine does.
func ItemEnded(b *Board, end tegenaria.ItemEnd) { b.items.add(end) }

// Counts are what is sampled for an [Estimate].
type Counts struct {
	At            time.Duration
	Settled, Open int64
}

// EstimateOf is the estimate after these samples, one a second.
func EstimateOf(all []Counts) Estimate {
	var s samples
	for _, c := range all {
		s.add(sample{at: c.At, settled: c.Settled, open: c.Open})
	}
	return s.estimate()
}

package tegenaria

import "fmt"

// Outcome is how a request ended. Each request has exactly one.
type Outcome uint8

// The outcomes. Those marked with (reason) carry a reason in [Settled] and [Stats].
const (
	Fetched    Outcome = iota + 1 // its response was read by a parser, or by the caller of Fetch
	Redirected                    // the target took its place
	Duplicate                     // an equal request had been accepted before
	Filtered                      // never asked (reason: offsite, depth, scheme, url, middleware …)
	Robots                        // robots.txt forbids it, or cannot be read (reason)
	Dropped                       // a middleware's answer or the spider's wish ended it early (reason)
	Failed                        // an error ended it (reason: the stage)
	GaveUp                        // it was tried Limits.Attempts times, or GiveUp says so (reason: the last error)
	outcomes                      // how many there are, plus one
)

var outcomeNames = [outcomes]string{"", "fetched", "redirected", "duplicate", "filtered", "robots", "dropped", "failed", "gave-up"}

// String returns the outcome's name as summaries print it: "fetched", "gave-up" …
func (o Outcome) String() string {
	if o < outcomes {
		return outcomeNames[o]
	}
	return "unknown"
}

// UnmarshalText reads what MarshalText wrote.
func (o *Outcome) UnmarshalText(text []byte) error {
	for i, name := range outcomeNames {
		if i > 0 && name == string(text) {
			*o = Outcome(i)
			return nil
		}
	}
	return fmt.Errorf("tegenaria: %q is no outcome", text)
}

// MarshalText makes an Outcome usable as a JSON value and map key.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// isDead tells whether a request that ended so is a dead letter.
func (o Outcome) isDead() bool { return o == Failed || o == GaveUp }

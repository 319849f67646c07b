package report

import (
	"fmt"
	"slices"
	"sync"
)

// mostSeeds is how many seeds are named.
const mostSeeds = 10

// Seeds remembers how the requests of a crawl ended as long as no page has come: then they are those that the user has
// given it. O are the outcomes, whose String is the name that statistics have. The zero value has none. It may be used
// concurrently.
type Seeds[O fmt.Stringer] struct {
	mu       sync.Mutex
	failures map[string]seedFailure // by URL; at most mostSeeds
	ended    []Seed[O]
	more     int64
}

// Seed is a request that ended without a page.
type Seed[O fmt.Stringer] struct {
	URL     string
	Outcome O
	Reason  string
	Err     error  // of a failure; nil if there is none
	Remedy  string // what to do; "" if nothing is known
}

type seedFailure struct {
	err   error
	cause string
}

// Failed notes the failure of a request, and its cause as [Failure] has it. The newest of a URL counts, but one that is
// only the consequence of another does not take its place.
func (s *Seeds[O]) Failed(url string, err error, cause string, consequence bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.failures[url]
	if known && consequence || !known && len(s.failures) >= mostSeeds {
		return
	}
	if s.failures == nil {
		s.failures = make(map[string]seedFailure)
	}
	s.failures[url] = seedFailure{err, cause}
}

// Ended notes how a request ended. The first end of a URL counts, but one that was redirected may be reached again, and
// its end says more; the two ends may come in any order. wired is asked where there may be advice.
func (s *Seeds[O]) Ended(url string, outcome O, reason string, wired func() Wired) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := slices.IndexFunc(s.ended, func(one Seed[O]) bool { return one.URL == url })
	const redirected = "redirected"
	if known >= 0 && outcome.String() == redirected {
		return
	}
	again := known >= 0 && s.ended[known].Outcome.String() == redirected
	if !again && (known >= 0 || len(s.ended) >= mostSeeds) { // an error handler has sent it again, say
		s.more++
		return
	}
	seed := Seed[O]{URL: url, Outcome: outcome, Reason: reason, Remedy: Remedy(outcome.String(), reason)}
	if failure, failed := s.failures[url]; failed && outcome.String() != "robots" {
		seed.Err = failure.err
		if advice := Advice(Failure{Cause: failure.cause}, wired()); advice != "" {
			seed.Remedy = advice
		}
	}
	if again {
		s.ended[known] = seed
		return
	}
	s.ended = append(s.ended, seed)
}

// List returns the first ones, and how many others there are.
func (s *Seeds[O]) List() (seeds []Seed[O], more int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ended), s.more
}

package report

import (
	"cmp"
	"slices"
	"sync"
)

// Failure is one failure, as it is counted: failures of one stage and cause are of one kind.
type Failure struct {
	Stage    string // where it happened: "download", "parse"
	Cause    string // "status 404", "timeout"; without the URL, and the same for all of a kind
	Text     string // the cause of this failure in full; "" if it is Cause
	URL      string // of its request; "" if it has none
	Referrer string // the page that led to it; "" if there is none, or it is not known
}

// Kind is what is known of all failures of one stage and cause.
type Kind struct {
	Example Failure // the first of them
	Count   int64
}

// Tell says how many there are of such failures, where and why, in words that need no knowledge of stages: "2 failures: status 404",
// "1 failure in the parser: it panicked". They are called by the name thing, in the singular.
func (k Kind) Tell(thing string) string {
	where := placeOf(k.Example.Stage)
	if where != "" {
		where = " " + where
	}
	why := CauseInWords(k.Example.Cause)
	if why == k.Example.Cause && k.Example.Text != "" {
		why = k.Example.Text
	}
	return Count(k.Count, thing) + where + ": " + why
}

// Line is a line of the log that says what Tell does.
func (k Kind) Line(thing string, warn bool) Line {
	return Line{Warn: warn, Text: k.Tell(thing),
		Numbers: Numbers{"count": k.Count, "stage": k.Example.Stage, "cause": k.Example.Cause}}
}

// The bounds of Failures.
const (
	mostKinds  = 1000 // kinds that are kept apart; those beyond have the cause "other"
	mostLogged = 3    // failures of a kind that are logged one by one
)

// Failures counts failures by stage and cause, and says which ones are worth a line of the log. The zero value has none. It may be used
// concurrently.
type Failures struct {
	mu    sync.Mutex
	kinds map[[2]string]*kind
}

type kind struct {
	Kind
	held int64 // not logged, and not returned by Held since
}

// Add counts a failure. It returns true for the first three of a kind, which are logged; the others are reported
// together, see [Failures.Held].
func (f *Failures) Add(failure Failure) (log bool) {
	_, log = f.Count(failure)
	return log
}

// Count is Add, and returns the cause under which the failure was counted: its own one, or "other" if there are too many kinds.
func (f *Failures) Count(failure Failure) (cause string, log bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kinds == nil {
		f.kinds = make(map[[2]string]*kind)
	}
	k := f.kinds[[2]string{failure.Stage, failure.Cause}]
	if k == nil {
		if len(f.kinds) >= mostKinds {
			failure.Cause, failure.Text = "other", ""
		}
		key := [2]string{failure.Stage, failure.Cause}
		if k = f.kinds[key]; k == nil {
			k = &kind{Kind: Kind{Example: failure}}
			f.kinds[key] = k
		}
	}
	if k.Count++; k.Count <= mostLogged {
		return failure.Cause, true
	}
	k.held++
	return failure.Cause, false
}

// Held returns the failures that were not logged since its last call, by kind with their number, the most frequent first.
func (f *Failures) Held() []Kind {
	f.mu.Lock()
	defer f.mu.Unlock()
	var held []Kind
	for _, k := range f.kinds {
		if k.held > 0 {
			held = append(held, Kind{k.Example, k.held})
			k.held = 0
		}
	}
	sortKinds(held)
	return held
}

// All returns all kinds, the most frequent first.
func (f *Failures) All() []Kind {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]Kind, 0, len(f.kinds))
	for _, k := range f.kinds {
		all = append(all, k.Kind)
	}
	sortKinds(all)
	return all
}

func sortKinds(kinds []Kind) {
	slices.SortFunc(kinds, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Example.Stage, b.Example.Stage), cmp.Compare(a.Example.Cause, b.Example.Cause))
	})
}

package dashboard

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

const (
	maxKinds   = 200 // kinds of failures that are told apart
	maxSamples = 5   // of each kind
	maxMessage = 2000
)

// Failures are failures of one kind in the answer of GET /api/v1/failures: those of a stage whose texts differ in URLs and numbers alone.
type Failures struct {
	Stage   string    `json:"stage"` // download, status, parse …
	Cause   string    `json:"cause"` // the text, with … for URLs and # for numbers
	Count   int64     `json:"count"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Samples []Failure `json:"samples"` // the first ones
}

// Failure is one of them.
type Failure struct {
	URL     string    `json:"url,omitempty"` // without a password
	Message string    `json:"message"`
	Status  int       `json:"status,omitempty"`  // of the response, if there was one
	Attempt int       `json:"attempt,omitempty"` // how often the request was tried before
	At      time.Time `json:"at"`
}

// failures are those of a run by kind. They may be used concurrently.
type failures struct {
	mu    sync.Mutex // guards the fields below
	kinds map[[2]string]*Failures
}

// add counts a failure.
func (f *failures) add(herr *tegenaria.HandleError) {
	one := Failure{At: time.Now()}
	if r := herr.Request; r != nil {
		one.URL, one.Attempt = report.Cut(urlx.Redact(r.Url), maxMessage), r.Attempt
	}
	if resp := herr.Response; resp != nil {
		one.Status = resp.Status
	}
	one.Message = report.Cut(errtext.Beside(herr.Err, one.URL), maxMessage)
	kind := [2]string{string(herr.Stage), report.Short(one.Message, one.URL)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kinds == nil {
		f.kinds = make(map[[2]string]*Failures)
	}
	if f.kinds[kind] == nil && len(f.kinds) >= maxKinds {
		kind = [2]string{"", "other failures"}
	}
	all := f.kinds[kind]
	if all == nil {
		all = &Failures{Stage: kind[0], Cause: kind[1], First: one.At}
		f.kinds[kind] = all
	}
	all.Count++
	all.Last = one.At
	if len(all.Samples) < maxSamples {
		all.Samples = append(all.Samples, one)
	}
}

// list returns the kinds, the most frequent ones first.
func (f *failures) list() []Failures {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := []Failures{}
	for _, all := range f.kinds {
		one := *all
		one.Samples = slices.Clone(one.Samples)
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Failures) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Cause, b.Cause))
	})
	return list
}

// reset forgets all.
func (f *failures) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kinds = nil
}

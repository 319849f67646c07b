package page

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tegenaria/tegenaria/selector"
)

// Queries finds the queries of a run that match nothing on any of its pages, by their text: the first 1,000 different ones are
// watched. Make one with [NewQueries]. It may be used concurrently, and queries that match something wait for nothing.
type Queries struct {
	seed  maphash.Seed
	known atomic.Int64
	slots [2 * mostQueries]atomic.Pointer[query] // open addressing; never more than half full
}

// NewQueries returns the Queries of a run, which has seen none yet.
func NewQueries() *Queries { return &Queries{seed: maphash.MakeSeed()} }

const (
	mostQueries  = 1000
	longestQuery = 1 << 10 // bytes; longer ones are not watched
)

// query is a query of a run.
type query struct {
	language selector.Language
	text     string
	found    atomic.Bool  // it has matched on some page
	pages    atomic.Int64 // on which it has matched nothing, as long as it has not matched
	example  atomic.Pointer[string]
}

// miss is a query that has matched nothing on a page.
type miss struct {
	query *query
	next  *miss
}

// Unmatched is a query that has matched nothing.
type Unmatched struct {
	Language selector.Language
	Text     string
	Pages    int64  // on which it was tried
	Example  string // the URL of the first of them
}

// count counts a query on a page. A page that is an error (a status of 400 or more) does not count, unless the query has
// found something there: most queries are not written for it.
func (q *Queries) count(p *Page, language selector.Language, text string, found bool) {
	if !found && !p.passed.Load() {
		return
	}
	known := q.of(language, text)
	if known == nil || known.found.Load() {
		return
	}
	if found {
		known.found.Store(true)
		return
	}
	if p.hasMissed(known) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hasMissed(known) { // another goroutine was faster
		return
	}
	p.misses.Store(&miss{known, p.misses.Load()})
	if given := p.host.Given(); given.Status < 400 && known.pages.Add(1) == 1 {
		example := given.URL // or all of given would be allocated each time
		known.example.Store(&example)
	}
}

// hasMissed reports whether it is noted that a query has matched nothing on this page.
func (p *Page) hasMissed(known *query) bool {
	for m := p.misses.Load(); m != nil; m = m.next {
		if m.query == known {
			return true
		}
	}
	return false
}

// of returns what is known of a query, nil if it is not watched.
func (q *Queries) of(language selector.Language, text string) *query {
	if len(text) > longestQuery {
		return nil
	}
	at := maphash.String(q.seed, text)
	for range q.slots {
		slot := &q.slots[at%uint64(len(q.slots))]
		at++
		known := slot.Load()
		if known == nil {
			if q.known.Load() >= mostQueries {
				return nil
			}
			fresh := &query{language: language, text: strings.Clone(text)}
			if slot.CompareAndSwap(nil, fresh) {
				q.known.Add(1)
				return fresh
			}
			known = slot.Load() // another goroutine was faster
		}
		if known.language == language && known.text == text {
			return known
		}
	}
	return nil
}

// Unmatched returns the queries that have matched nothing on any page, those that were tried on most pages first.
func (q *Queries) Unmatched() []Unmatched {
	var list []Unmatched
	for i := range q.slots {
		known := q.slots[i].Load()
		if known == nil || known.found.Load() {
			continue
		}
		if example := known.example.Load(); example != nil {
			list = append(list, Unmatched{known.language, known.text, known.pages.Load(), *example})
		}
	}
	slices.SortFunc(list, func(a, b Unmatched) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Language, b.Language))
	})
	return list
}

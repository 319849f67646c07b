package page_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/selector"
)

// on runs queries on a page of its own.
func on(q *page.Queries, status int, body string, queries ...string) *response {
	run := newRun()
	run.queries = q
	r := of("text/html", body)
	r.run, r.status = run, status
	r.page.Document(r).CSS(".middleware") // which looks for what should not be there
	r.page.Passed()
	for _, query := range queries {
		r.page.Document(r).CSS(query)
	}
	return r
}

// Queries are counted by their text, on each page once, also below other queries; one that has matched anywhere is not reported.
func TestQueries(t *testing.T) {
	q := page.NewQueries()
	const card = `<p class=card>`
	on(q, 200, card+card, ".card", ".crad", ".crad", ".late")
	r := on(q, 200, card+card, ".crad")
	for _, c := range r.page.Document(r).CSS(".card").All() {
		c.CSS(".discount")
	}
	on(q, 200, "<p class=late>", ".late")
	on(q, 404, card, ".captcha", ".crad")
	on(q, 200, card, ".captcha-found")
	on(q, 403, "<p class=captcha-found>", ".captcha-found")
	on(q, 200, card, strings.Repeat("p", 2000))
	of("text/html", card).page.Document(of("text/html", card)).CSS(".outside")
	const url = "http://a.test/dir/page"
	want := []page.Unmatched{{selector.CSS, ".crad", 2, url}, {selector.CSS, ".discount", 1, url}}
	if got := q.Unmatched(); !reflect.DeepEqual(got, want) {
		t.Errorf("unmatched %+v, want %+v", got, want)
	}
}

// The same text in two languages is two queries; a new body of a response is the same page.
func TestQueriesOfLanguages(t *testing.T) {
	q := page.NewQueries()
	r := on(q, 200, "<p>x", "p", "i")
	r.page.Document(r).XPath("i")
	r.page.Document(r).CSS("p").Re("i")
	r.page.Lock()
	r.page.Adopt(r.buffer)
	r.page.Unlock()
	r.page.Document(r).CSS("i")
	if got := fmt.Sprint(q.Unmatched()); got != "[{CSS selector i 1 http://a.test/dir/page} {XPath expression i 1 http://a.test/dir/page} {regular expression i 1 http://a.test/dir/page}]" {
		t.Errorf("unmatched %s", got)
	}
}

// Of programs that make up queries as they go, the first 1,000 are kept, whoever asks at the same time. It fails if the table takes
// more, or loses some.
func TestQueriesAreBounded(t *testing.T) {
	q := page.NewQueries()
	var asking sync.WaitGroup
	for worker := range 4 {
		asking.Go(func() {
			r := on(q, 200, "<p>x")
			for i := range 600 {
				r.page.Document(r).CSS(fmt.Sprintf("#x%d", i))
				r.page.Document(r).CSS(fmt.Sprintf("#w%d-%d", worker, i))
			}
		})
	}
	asking.Wait()
	list := q.Unmatched()
	if len(list) < 1000 || len(list) > 1004 {
		t.Errorf("%d queries are kept", len(list))
	}
	seen := make(map[string]bool)
	for _, u := range list {
		if seen[u.Text] || u.Pages < 1 || u.Pages > 4 {
			t.Errorf("%+v", u)
		}
		seen[u.Text] = true
	}
}

// A query that matches costs no allocation, nor does one that is known to match nothing on this page.
func TestQueriesAllocateNothing(t *testing.T) {
	run := newRun()
	r, plain := in(run, "text/html", "<p>x"), in(newRun(), "text/html", "<p>x")
	run.queries = page.NewQueries()
	ask := func(r *response) float64 {
		doc := r.page.Document(r)
		return testing.AllocsPerRun(100, func() {
			if doc.CSS("p").Len() != 1 || doc.CSS("i").Len() != 0 {
				t.Fatal("other results")
			}
		})
	}
	if watched, not := ask(r), ask(plain); deep.Checks() && watched != not {
		t.Errorf("%v allocations, %v if nothing is counted", watched, not)
	}
}

package browser

import (
	"errors"
	"testing"
)

// It fails if losses that are the machine's fault do not close the crawl, or if those that may be a page's own do.
func TestLosses(t *testing.T) {
	crashed := &LostError{Reason: "the tab has crashed"}
	killed := &LostError{Reason: "the process of its tab was killed", killed: true}
	type event struct {
		url string
		err error // nil: the page was made
	}
	many := func(n int, events ...event) (all []event) {
		for range n {
			all = append(all, events...)
		}
		return all
	}
	for name, test := range map[string]struct {
		events []event
		closes int // after how many events the crawl is closed; 0: never
	}{
		"four pages":                      {[]event{{"a", crashed}, {"b", crashed}, {"c", crashed}, {"d", crashed}}, 4},
		"a page again and again":          {many(10, event{"a", crashed}), 0},
		"a page that somebody kills":      {many(10, event{"a", killed}), 4},
		"a page among many":               {many(100, event{"a", crashed}, event{"b", nil}, event{"c", nil}, event{"d", nil}), 0},
		"half of the pages":               {many(20, event{"a", killed}, event{"b", nil}), 11},
		"a navigation that is broken off": {many(5, event{"a", &NavigationError{Reason: "net::ERR_ABORTED"}}, event{"b", &StartError{Err: errors.New("exit status 1")}}), 4},
		"pages that take all memory":      {many(10, event{"a", &LostError{greedy: true}}, event{"b", &LostError{greedy: true}}), 0},
	} {
		var l losses
		closed := 0
		for i, event := range test.events {
			switch {
			case event.err == nil:
				l.made()
			case isLoss(event.err) && l.lost(event.url, event.err, true) && closed == 0:
				closed = i + 1
			}
		}
		if closed != test.closes {
			t.Errorf("%s: closed after %d events instead of %d", name, closed, test.closes)
		}
	}
}

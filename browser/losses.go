package browser

import (
	"errors"
	"sync"
)

const (
	// A loss counts for lossPoints, each page that is made takes one off again, and with closingPoints the crawl is closed: after four
	// losses in a row, and sooner or later where more than a quarter of the pages are lost. The machine is to blame then and not the
	// pages, which would fail one after the other.
	lossPoints    = 3
	closingPoints = 4 * lossPoints
	// carefulPages is how many pages have to be made one at a time after a loss.
	carefulPages = 10
)

// losses count the pages that could not be made because Chromium, or the process of the page, was lost. Their methods may be called
// concurrently. The zero value has seen no loss.
type losses struct {
	mu      sync.Mutex // guards the fields below
	points  int
	last    string // URL of the page that was lost last; "" once another one was made
	careful int    // how many pages are still to be made one at a time
}

// isLoss reports whether a page could not be made through no fault of its own, as far as can be told: Chromium did not start, it was lost,
// or the process of the page was. Before there is a document, that looks like a navigation that was broken off.
func isLoss(err error) bool {
	if lost, ok := errors.AsType[*LostError](err); ok {
		return !lost.greedy
	}
	if navigation, ok := errors.AsType[*NavigationError](err); ok {
		return navigation.Temporary()
	}
	_, unstarted := errors.AsType[*StartError](err)
	return unstarted
}

// isKilled reports whether somebody else has killed the process that made a page, which no page can do: a kernel without memory does.
func isKilled(err error) bool {
	lost, ok := errors.AsType[*LostError](err)
	return ok && lost.killed
}

// made counts a page that was made.
func (l *losses) made() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.points, l.last, l.careful = max(0, l.points-1), "", max(0, l.careful-1)
}

// lost counts a page that was lost with err, and reports whether the crawl is to be closed. A page that is lost again, after the site was
// asked for it, does not count again, unless its process was killed: it may be to blame itself.
func (l *losses) lost(url string, err error, asked bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !asked || url != l.last || isKilled(err) {
		l.points += lossPoints
	}
	l.last, l.careful = url, carefulPages
	return l.points >= closingPoints
}

// areRecent reports whether pages are to be made one at a time, which takes the least memory.
func (l *losses) areRecent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.careful > 0
}

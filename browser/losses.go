package browser

import (
	"errors"
	"sync"
)

const (
	// mostLost is how many pages may be lost one after the other, while none is made, before the crawl is closed: the machine is to blame
	// and not the pages, which would fail one after the other.
	mostLost = 4
	// carefulPages is how many pages have to be made one at a time after a loss.
	carefulPages = 10
)

// losses count the pages that could not be made because Chromium, or the process of the page, was lost. Their methods may be called
// concurrently. The zero value has seen no loss.
type losses struct {
	mu      sync.Mutex // guards the fields below
	inRow   int        // lost pages since the last one that was made
	last    string     // URL of the page that was lost last
	careful int        // how many pages are still to be made one at a time
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

// made counts a page that was made.
func (l *losses) made() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inRow, l.last, l.careful = 0, "", max(0, l.careful-1)
}

// lost counts a page that was lost, and reports whether there were mostLost in a row. A page that is lost again, after the site was asked
// for it, does not count again: it may be to blame itself.
func (l *losses) lost(url string, asked bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !asked || url != l.last {
		l.inRow++
	}
	l.last, l.careful = url, carefulPages
	return l.inRow >= mostLost
}

// areRecent reports whether pages are to be made one at a time, which takes the least memory.
func (l *losses) areRecent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.careful > 0
}

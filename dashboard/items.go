package dashboard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

const (
	maxItems    = 50      // that are kept
	maxItemText = 4 << 10 // bytes of the JSON of each
	itemShare   = 100     // encoding takes one part in so many of the time of a processor, or less
)

// Items are the items of the run in the answer of GET /api/v1/items.
type Items struct {
	Newest  []Item         `json:"newest"`  // the last 50, the newest first; some are left out where encoding all would take too much time
	Fields  []Field        `json:"fields"`  // by name, see [tegenaria.FieldStats]
	Dropped []DroppedItems `json:"dropped"` // by reason, the most frequent first
}

// Item is an item that has passed all pipelines.
type Item struct {
	At   time.Time `json:"at"`
	URL  string    `json:"url"`  // of the page that it came from, without a password
	Type string    `json:"type"` // in Go
	Text string    `json:"text"` // its JSON; of a long one the beginning and …
}

// Field is how often a field of items was looked for and filled.
type Field struct {
	Name string `json:"name"` // "Book.price"
	tegenaria.FieldStats
}

// FilledShare returns the part of the items whose field is filled, from 0 to 1; 0 if they are not counted.
func (f Field) FilledShare() float64 { return float64(f.Filled) / float64(max(f.Items, 1)) }

// FoundShare returns the part of the times that the field was looked for at which it was there, from 0 to 1.
func (f Field) FoundShare() float64 {
	return 1 - float64(f.Missing+f.Defaulted)/float64(max(f.LookedFor, 1))
}

// DroppedItems are the items that pipelines have dropped for one reason.
type DroppedItems struct {
	Reason  string        `json:"reason"` // as in the log
	Count   int64         `json:"count"`
	Samples []DroppedItem `json:"samples"` // the first ones, five at most
}

// DroppedItem is one of them.
type DroppedItem struct {
	Item
	Message string `json:"message"` // the reason in full
}

// items are those of a run. They may be used concurrently.
type items struct {
	mu       sync.Mutex // guards the fields below
	ring     []Item     // the newest ones
	next     int        // where the next one goes, once the ring is full
	encoding bool       // one is being encoded
	resting  time.Time  // no item is kept before
	dropped  map[string]*DroppedItems
}

// add keeps an item that has ended, if it is to be shown.
func (l *items) add(end tegenaria.ItemEnd) {
	switch end.Outcome {
	case "scraped":
		l.addScraped(end)
	case "dropped":
		l.addDropped(end)
	}
}

// addScraped keeps an item, unless another one is being encoded, or was so just now and has taken its time.
func (l *items) addScraped(end tegenaria.ItemEnd) {
	began := time.Now()
	l.mu.Lock()
	if l.encoding || began.Before(l.resting) {
		l.mu.Unlock()
		return
	}
	l.encoding = true
	l.mu.Unlock()
	one := itemOf(end, began)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.encoding, l.resting = false, began.Add(itemShare*time.Since(began))
	if len(l.ring) < maxItems {
		l.ring = append(l.ring, one)
		return
	}
	l.ring[l.next] = one
	l.next = (l.next + 1) % maxItems
}

// addDropped counts an item, and keeps the first ones for each reason.
func (l *items) addDropped(end tegenaria.ItemEnd) {
	reason, wanted := l.countDropped(end.Reason)
	if !wanted {
		return
	}
	one := itemOf(end, time.Now())
	sample := DroppedItem{one, report.Cut(errtext.Beside(end.Err, one.URL), maxMessage)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if all := l.dropped[reason]; all != nil && len(all.Samples) < maxSamples {
		all.Samples = append(all.Samples, sample)
	}
}

// countDropped counts an item that was dropped, and returns the reason it is counted for. wanted says that there is room for a sample.
func (l *items) countDropped(why string) (reason string, wanted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropped == nil {
		l.dropped = make(map[string]*DroppedItems)
	}
	if l.dropped[why] == nil && len(l.dropped) >= maxKinds {
		why = "other reasons"
	}
	all := l.dropped[why]
	if all == nil {
		all = &DroppedItems{Reason: why}
		l.dropped[why] = all
	}
	all.Count++
	return why, len(all.Samples) < maxSamples
}

// itemOf describes an item that has ended.
func itemOf(end tegenaria.ItemEnd, at time.Time) Item {
	one := Item{At: at, Type: fmt.Sprintf("%T", end.Item.Item), Text: report.Cut(jsonOf(end.Item.Item), maxItemText)}
	if end.Request != nil {
		one.URL = report.Cut(urlx.Redact(end.Request.Url), maxMessage)
	}
	return one
}

// jsonOf returns a value as JSON, or says why it has none.
func jsonOf(v any) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("its MarshalJSON has panicked: %v", p)
		}
	}()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "it cannot be written as JSON: " + err.Error()
	}
	return string(b)
}

// list returns what is kept, and the counts of fields.
func (l *items) list(fields map[string]tegenaria.FieldStats) Items {
	all := Items{Newest: []Item{}, Fields: []Field{}, Dropped: []DroppedItems{}}
	l.mu.Lock()
	all.Newest = append(append(all.Newest, l.ring[l.next:]...), l.ring[:l.next]...)
	for _, d := range l.dropped {
		one := *d
		one.Samples = slices.Clone(one.Samples)
		all.Dropped = append(all.Dropped, one)
	}
	l.mu.Unlock()
	slices.Reverse(all.Newest)
	slices.SortFunc(all.Dropped, func(a, b DroppedItems) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	for name, counts := range fields {
		all.Fields = append(all.Fields, Field{name, counts})
	}
	slices.SortFunc(all.Fields, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// reset forgets all.
func (l *items) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring, l.next, l.resting, l.dropped = nil, 0, time.Time{}, nil
}

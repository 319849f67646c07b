package revisit

import (
	"errors"
	"iter"
)

// Why says why a page was not read.
type Why string

// The reasons.
const (
	// Unreached says that the run did not get to the page: it was stopped, nothing led to the page, or a filter or robots.txt kept it away.
	Unreached Why = "unreached"
	// Failed says that the page was asked for, and no answer came that says anything, or its parser failed.
	Failed Why = "failed"
)

// Unread is a page that the last run has not read. It keeps its items.
type Unread struct {
	Op    Why    `json:"op"`
	URL   string `json:"url"`
	Run   int    `json:"run"`   // that has read it last; 0: none has
	Items int    `json:"items"` // that it has given then
}

// Unread returns the pages that the last run has not read, in no order. Pages that are known to be gone are not among
// them. An error ends it.
func (h *History) Unread() iter.Seq2[Unread, error] {
	return func(yield func(Unread, error) bool) {
		h.mu.Lock()
		last := h.meta.Run
		h.mu.Unlock()
		err := h.each(pagePrefix, func(_ string, value []byte) error {
			p, err := decodePage(value)
			if err != nil {
				return &DamagedError{h.folder, err}
			}
			if p.read == last {
				return nil
			}
			why := Unreached
			if p.asked == last && p.failed {
				why = Failed
			}
			if !yield(Unread{why, p.url, p.read, len(p.items)}, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(Unread{}, err)
		}
	}
}

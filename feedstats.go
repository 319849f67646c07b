package tegenaria

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// FeedStats are the counters of a feed in one run.
type FeedStats struct {
	Name      string `json:"name"`      // the file, table or bucket that it writes to
	Written   int64  `json:"written"`   // items of requests that have ended
	Duplicate int64  `json:"duplicate"` // items left out because an item with the same key was written before
	Failed    int64  `json:"failed"`    // items that the file or table cannot hold
	Others    int64  `json:"others"`    // items that are not for the feed: of another type, or not selected
	Bytes     int64  `json:"bytes"`     // 0 if the size is unknown
	Parts     int64  `json:"parts"`     // finished files of a feed that writes several; else 0
}

// FeedCounter is an optional interface of pipelines: [Summary] and the end of the log show its FeedStats. FeedStats may
// be called at any time, also concurrently.
type FeedCounter interface{ FeedStats() FeedStats }

// feedStats asks the pipelines for what they have delivered.
func (p ItemPipelines) feedStats() (list []FeedStats) {
	for _, c := range all[FeedCounter](p) {
		_ = guard.Protect(func() error { list = append(list, c.FeedStats()); return nil })
	}
	return list
}

// sharedPlaces refuses feeds that deliver to one place, and do not have one CommitKey, which is another mistake.
func (p ItemPipelines) sharedPlaces() error {
	var errs []error
	keys := make(map[string]string) // by place
	for _, one := range p {
		c, isFeed := one.(FeedCounter)
		f, commits := one.(Committer)
		if !isFeed || !commits {
			continue
		}
		place := filepath.Clean(c.FeedStats().Name)
		if key, taken := keys[place]; taken && place != "-" && key != f.CommitKey() {
			errs = append(errs, fmt.Errorf("two feeds write to %s: give each a file of its own", place))
		}
		keys[place] = f.CommitKey()
	}
	return errors.Join(errs...)
}

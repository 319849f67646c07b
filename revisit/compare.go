package revisit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/tegenaria/tegenaria"
)

// Comparison is a pipeline that compares the items of a run with the table of a history, and stores nothing.
type Comparison struct {
	history   *History
	to        func(Change) error
	unsettled unsettled
	last      int               // the number of the last run of the history
	seen      map[uint64]uint64 // of the items that have come: the beginning of the hash of the key, and that of the JSON
	found     Difference
}

// Difference counts items by what a [Comparison] has found.
type Difference struct {
	Same    int64 // as in the table
	New     int64 // their keys are not in the table
	Changed int64 // a field is another one than in the table
	Missing int64 // in the table, and the run has not found their keys; 0 if it did not come to its end
	Clashes int64 // their key was that of another item of the run, with other contents: that one counts, as in a history
}

var (
	_ tegenaria.PipelinesInterface = (*Comparison)(nil)
	_ tegenaria.Committer          = (*Comparison)(nil)
	_ tegenaria.Closer             = (*Comparison)(nil)
	_ tegenaria.SettlementListener = (*Comparison)(nil)
)

// Compare returns a pipeline for one run that compares the items that come to it with the table, as [History.Changes] does, and leaves the
// history as it is. Nothing may write to the history meanwhile. The pipeline comes after all others.
//
// to is called with each difference, by one goroutine at a time: New and Changed when a page settles, and when the run has come to its end
// Removed for each item of the table whose key it has not found; these have no Proof, since pages that fail keep no items here. Run is the
// number of the last run of the history. The error of to ends the run. 16 bytes are kept for each item.
//
// A run with a durable job cannot be resumed with it, which is an error.
func (h *History) Compare(to func(Change) error) *Comparison {
	return &Comparison{history: h, to: to}
}

// Found returns what the run has found. It is called when the run is over.
func (c *Comparison) Found() Difference { return c.found }

// GetPriority is part of tegenaria.PipelinesInterface.
func (c *Comparison) GetPriority() int { return 0 }

// Mistake is part of tegenaria.PipelinesInterface.
func (c *Comparison) Mistake() error {
	if c.to == nil {
		return errors.New("revisit: Compare has no func that is told the differences")
	}
	return c.history.checkKeys()
}

// CommitKey is part of tegenaria.Committer.
func (c *Comparison) CommitKey() string { return "revisit-compare:" + c.history.folder }

// ProcessItem keeps an item until its page settles.
func (c *Comparison) ProcessItem(_ tegenaria.SpiderInterface, meta *tegenaria.ItemMeta) error {
	return c.unsettled.add(&c.history.options, meta)
}

// Restore begins the run.
func (c *Comparison) Restore(_ context.Context, stored []byte) error {
	if stored != nil {
		return errors.New("revisit: a run that compares with a history cannot be resumed: begin a new job, or have none")
	}
	h := c.history
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.db == nil {
		return errClosed
	}
	c.unsettled.reset()
	c.last, c.seen, c.found = h.meta.Run, make(map[uint64]uint64), Difference{}
	return nil
}

// Settling is part of tegenaria.SettlementListener.
func (c *Comparison) Settling(settlements []tegenaria.Settlement) { c.unsettled.settle(settlements) }

// Settled is part of tegenaria.SettlementListener.
func (c *Comparison) Settled() {}

// Discard is part of tegenaria.Committer.
func (c *Comparison) Discard(id string) { c.unsettled.items.Discard(id) }

// Prepare compares what the pages of a batch have given with the table.
func (c *Comparison) Prepare(_ context.Context, ids []string) ([]byte, error) {
	settling := c.unsettled.settling
	given, err := c.unsettled.take(ids)
	if err != nil {
		return nil, err
	}
	for i := range settling {
		s := &settling[i]
		items := given[s.CtxId]
		if s.Caller != "" || !wasRead(s) {
			continue
		}
		withKeys(items, s.Asked)
		for _, one := range items {
			if err := c.compare(&one, s.URL); err != nil {
				return nil, err
			}
		}
	}
	return []byte("{}"), nil
}

// compare compares an item with that of the table.
func (c *Comparison) compare(one *given, url string) error {
	id, text := shortOf(idOf(one.key)), sha256.Sum256(one.text)
	if before, known := c.seen[id]; known {
		if before != shortOf(itemID(text[:])) {
			c.found.Clashes++
		}
		return nil
	}
	c.seen[id] = shortOf(itemID(text[:]))
	known, is, err := c.known(idOf(one.key))
	change := Change{Op: New, Key: one.key, URL: url, Item: one.text, Run: c.last, Time: now()}
	switch {
	case err != nil:
		return err
	case !is:
		c.found.New++
	case bytes.Equal(known.text, one.text):
		c.found.Same++
		return nil
	default:
		c.found.Changed++
		change.Op = Changed
		if change.Old, err = oldFields(known.text, one.text); err != nil {
			return err
		}
	}
	return c.to(change)
}

// known returns an item of the table.
func (c *Comparison) known(id itemID) (known item, is bool, err error) {
	h := c.history
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.db == nil {
		return item{}, false, errClosed
	}
	return h.known(newChange(h.db), id)
}

// shortOf is the beginning of a hash.
func shortOf(id itemID) uint64 { return binary.BigEndian.Uint64(id[:]) }

// Close finds the items of the table that are missing, if the run has come to its end.
func (c *Comparison) Close(ctx context.Context, _ string) error {
	if c.seen == nil { // it was not opened
		return nil
	}
	_, err := c.unsettled.items.Close()
	if err != nil || !tegenaria.Complete(ctx) {
		return err
	}
	for row, err := range c.history.Items() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if _, found := c.seen[shortOf(idOf(row.Key))]; found {
			continue
		}
		c.found.Missing++
		gone := Change{Op: Removed, Key: row.Key, URL: row.URL, Item: json.RawMessage(row.Item), Run: c.last, Time: now()}
		if err := c.to(gone); err != nil {
			return err
		}
	}
	return nil
}

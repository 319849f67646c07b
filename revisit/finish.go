package revisit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/commit"
)

// Close ends the run. If it has come to its end, what is removed is found out first, which takes a while for a large table.
func (c *changes) Close(ctx context.Context, reason string) error {
	h := c.history
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.busy { // it was not opened
		return nil
	}
	h.busy = false
	var err error
	if tegenaria.Complete(ctx) && c.failed == nil && h.db != nil {
		_, err = c.finish(ctx, false)
	}
	_, closed := c.unsettled.items.Close()
	// The feed goes on with the next run, so for it the job is not complete.
	return errors.Join(err, closed, c.feed.Close(commit.OfClose(ctx, false), reason))
}

// AcceptRemoved removes what the last run has withheld because it was more than [Options.MaxRemoved], and returns how
// many items these are. to is the feed of the changes, made as for that run. It is an error if the last run has
// withheld nothing.
func (h *History) AcceptRemoved(ctx context.Context, to Feed) (removed int64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.db == nil:
		return 0, errClosed
	case h.busy:
		return 0, fmt.Errorf("revisit: a run of this program writes to the history %s: wait until it has ended", h.folder)
	}
	c := &changes{history: h, feed: to, ctx: ctx}
	text, err := newChange(h.db).get(runAt(h.meta.Run))
	if err == nil && text != nil {
		err = json.Unmarshal(text, &c.run)
	}
	switch {
	case err != nil:
		return 0, err
	case c.run.Withheld == 0:
		return 0, errors.New("revisit: the last run has withheld nothing")
	}
	c.begun = c.run
	ctx = commit.OfRun(ctx, c.run.Spider, "", false)
	if err := to.Restore(ctx, h.meta.Feed); err != nil {
		return 0, err
	}
	removed, err = c.finish(ctx, true)
	return removed, errors.Join(err, to.Close(commit.OfClose(ctx, false), "accepted"))
}

// finish enters that the run has come to its end: items that no page gives are removed, and pages to which nothing leads. accepted says
// that any number may be. The caller holds the history's mu.
func (c *changes) finish(ctx context.Context, accepted bool) (removed int64, err error) {
	h := c.history
	b := &batch{changes: c, store: newChange(h.db), meta: h.meta, run: c.run}
	b.run.Complete, b.run.Ended, b.run.Withheld, b.run.Accepted = true, now(), 0, accepted
	gone, err := c.unreached(ctx)
	if err != nil {
		return 0, err
	}
	for _, p := range gone {
		for _, id := range p.items {
			if err := b.withdraw(id, p.key, Unreachable); err != nil {
				return 0, err
			}
		}
		if _, err := b.store.get(pageAt(p.key)); err != nil {
			return 0, err
		}
		b.store.set(pageAt(p.key), nil)
		if err := b.forget(p.key, &p.page); err != nil {
			return 0, err
		}
	}
	orphans, err := b.orphans(ctx)
	if err != nil {
		return 0, err
	}
	most := max(minRemoved, int64(h.options.MaxRemoved*float64(h.meta.Items)))
	if n := int64(len(orphans)); n > most && !accepted {
		b.store = newChange(h.db) // everything stays
		b.run.Withheld = n
		return 0, c.store(ctx, b)
	}
	for _, o := range orphans {
		b.remove(o.id, &o.item)
	}
	return int64(len(orphans)), c.store(ctx, b)
}

// orphan is an item that no page gives.
type orphan struct {
	id itemID
	item
}

// orphans returns the items that no page gives.
func (b *batch) orphans(ctx context.Context) (list []orphan, err error) {
	err = eachOf(b.store.db, itemPrefix, func(key string, value []byte) error {
		if other, changed := b.store.values[key]; changed {
			value = other
		}
		i, err := decodeItem(value)
		if err != nil {
			return b.damaged(err)
		}
		if len(i.pages) == 0 {
			b.store.read(key, value)
			list = append(list, orphan{itemID([]byte(key)[1:]), i})
		}
		return ctx.Err()
	})
	return list, err
}

// gonePage is a page that is removed.
type gonePage struct {
	key tegenaria.Key
	page
}

// unreached returns the pages that the run has not read because nothing leads to them any more. Eight bytes are kept for each page that
// was not read.
//
// A page that was not read is lost, and not gone, if it is a seed or was asked for all the same; if a page that was read leads to it;
// if it was read by another spider or with other arguments; or if a lost page has led to it when that was read last.
func (c *changes) unreached(ctx context.Context) (gone []gonePage, err error) {
	db, run := c.history.db, c.run.Number
	each := func(call func(key string, p *page)) error {
		return eachOf(db, pagePrefix, func(key string, value []byte) error {
			p, err := decodePage(value)
			if err != nil {
				return &DamagedError{c.history.folder, err}
			}
			call(key, &p)
			return ctx.Err()
		})
	}
	var unread lostPages // in the order of their keys
	var unknown error
	if err := each(func(key string, p *page) {
		if p.read != run {
			alike, err := c.isAlike(p.read)
			unknown = errors.Join(unknown, err)
			unread.add(keyIn(key).Short(), p.seed || p.asked == run || !alike)
		}
	}); err != nil || unknown != nil {
		return nil, errors.Join(err, unknown)
	}
	if len(unread.short) == 0 {
		return nil, nil
	}
	if err := each(func(_ string, p *page) {
		if p.read == run {
			unread.leadTo(p.links)
		}
	}); err != nil {
		return nil, err
	}
	for len(unread.waiting) > 0 {
		next := unread.waiting[len(unread.waiting)-1]
		unread.waiting = unread.waiting[:len(unread.waiting)-1]
		if err := c.lead(&unread, unread.short[next]); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	err = each(func(key string, p *page) {
		if p.read != run && !unread.isLost(keyIn(key).Short()) {
			gone = append(gone, gonePage{keyIn(key), page{items: p.items, remembered: p.remembered}})
		}
	})
	return gone, err
}

// lead marks what a lost page has led to.
func (c *changes) lead(unread *lostPages, short uint64) error {
	prefix := pagesAt(short)
	return rangeOf(c.history.db, prefix, pagesAfter(prefix), func(_ string, value []byte) error {
		p, err := decodePage(value)
		if err != nil {
			return &DamagedError{c.history.folder, err}
		}
		if p.read != c.run.Number {
			unread.leadTo(p.links)
		}
		return nil
	})
}

// isAlike reports whether a run had the spider and the arguments of this one. 0 is that of pages that none has read, which give nothing.
func (c *changes) isAlike(run int) (bool, error) {
	if run == 0 || run == c.begun.Number {
		return true, nil
	}
	if alike, known := c.alike.Load(run); known {
		return alike.(bool), nil
	}
	var r Run
	text, err := newChange(c.history.db).get(runAt(run))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return false, &DamagedError{c.history.folder, err}
	}
	alike := r.Spider == c.begun.Spider && r.Arguments == c.begun.Arguments
	c.alike.Store(run, alike)
	return alike, nil
}

// lostPages are pages that were not read, by the beginnings of their keys, and which of them are lost.
type lostPages struct {
	short   []uint64 // sorted
	lost    []bool
	waiting []int // lost ones whose links are still to be followed
}

// add adds a page, in the order of the keys.
func (l *lostPages) add(short uint64, lost bool) {
	if n := len(l.short); n == 0 || l.short[n-1] != short {
		l.short, l.lost = append(l.short, short), append(l.lost, false)
	}
	if n := len(l.short) - 1; lost && !l.lost[n] {
		l.lost[n] = true
		l.waiting = append(l.waiting, n)
	}
}

// leadTo marks those of some links that were not read as lost.
func (l *lostPages) leadTo(links []uint64) {
	for _, link := range links {
		if i, found := slices.BinarySearch(l.short, link); found && !l.lost[i] {
			l.lost[i] = true
			l.waiting = append(l.waiting, i)
		}
	}
}

// isLost reports whether a page is lost.
func (l *lostPages) isLost(short uint64) bool {
	i, found := slices.BinarySearch(l.short, short)
	return found && l.lost[i]
}

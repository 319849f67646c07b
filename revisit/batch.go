package revisit

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tegenaria/tegenaria"
)

// batch is what becomes of the table by some pages: all of it is stored in one step.
type batch struct {
	changes *changes
	store   *change
	meta    meta
	run     Run
	made    []Change

	settling []tegenaria.Settlement
}

// page enters how a page has settled, and what it has given.
func (b *batch) page(s *tegenaria.Settlement, items []given) error {
	at := pageAt(s.Key)
	text, err := b.store.get(at)
	if err != nil {
		return err
	}
	var before page
	if text != nil {
		if before, err = decodePage(text); err != nil {
			return b.damaged(err)
		}
	}
	if !wasRead(s) || !b.changes.history.options.remembers() {
		b.changes.sources.take(s.Key)
	}
	if isGone(s.Status) && len(items) == 0 {
		for _, id := range before.items {
			if err := b.withdraw(id, s.Key, PageGone); err != nil {
				return err
			}
		}
		b.store.set(at, nil)
		return b.forget(s.Key, &before)
	}
	next := page{url: s.URL, asked: b.run.Number, seed: s.Seed, read: before.read, items: before.items, links: before.links,
		remembered: before.remembered}
	next.seed = next.seed || before.seed && before.asked == b.run.Number
	if !wasRead(s) {
		if next.failed = s.Outcome != tegenaria.Filtered && s.Outcome != tegenaria.Robots; next.failed {
			b.run.Failed++
		}
		if s.StoredRead {
			b.run.Followed++
		}
		b.store.set(at, next.encode())
		return nil
	}
	if s.Unchanged {
		err := b.skipped(s, &next)
		b.store.set(at, next.encode())
		return err
	}
	b.run.Pages++
	clashes := b.run.Clashes
	next.read, next.links = b.run.Number, sorted(s.Links)
	if next.items, err = b.give(s, items); err != nil {
		return err
	}
	if next.remembered = false; b.changes.history.options.remembers() {
		whole := b.run.Clashes == clashes && s.Outcome == tegenaria.Fetched && s.LostItems == 0 && s.Sendable && !b.hasFetched(s.CtxId)
		if err := b.remember(s, &next, items, whole); err != nil {
			return err
		}
	} else if err := b.forget(s.Key, &before); err != nil {
		return err
	}
	var missing []itemID // what it gave before
	for _, id := range before.items {
		if !slices.Contains(next.items, id) {
			missing = append(missing, id)
		}
	}
	switch may, err := b.mayGive(s, items, &before); {
	case err != nil:
		return err
	case len(missing) > 0 && may:
		b.run.Kept++
		next.items = append(next.items, missing...)
	default:
		for _, id := range missing {
			if err := b.withdraw(id, s.Key, NotOnPage); err != nil {
				return err
			}
		}
	}
	b.store.set(at, next.encode())
	return nil
}

// hasFetched reports whether the parser of a page has asked for other pages by Fetch: what it gives depends on these too.
func (b *batch) hasFetched(id string) bool {
	return slices.ContainsFunc(b.settling, func(s tegenaria.Settlement) bool { return s.Caller == id })
}

// mayGive reports whether a page that was read may give what it gave before, and does not now: some of its items were
// lost, or it gives none, or another spider has read it.
func (b *batch) mayGive(s *tegenaria.Settlement, items []given, before *page) (bool, error) {
	if s.LostItems > 0 || len(items) == 0 {
		return true, nil
	}
	alike, err := b.changes.isAlike(before.read)
	return !alike, err
}

// wasRead reports whether a page was read: its parser has ended without an error, or it leads elsewhere.
func wasRead(s *tegenaria.Settlement) bool {
	return s.Outcome == tegenaria.Fetched || s.Outcome == tegenaria.Redirected
}

// give enters the items of a page, and returns their ids.
func (b *batch) give(s *tegenaria.Settlement, items []given) (ids []itemID, err error) {
	b.run.Keyless += int64(withKeys(items, s.Asked))
	for i := range items {
		one := &items[i]
		id := idOf(one.key)
		if slices.Contains(ids, id) { // twice on this page
			if err := b.clash(id, s.URL, one.text); err != nil {
				return nil, err
			}
			continue
		}
		ids = append(ids, id)
		if err := b.item(id, one, s); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// item enters an item of a page.
func (b *batch) item(id itemID, one *given, s *tegenaria.Settlement) error {
	known, is, err := b.known(id)
	if err != nil {
		return err
	}
	next := item{key: one.key, url: s.URL, seen: b.run.Number, text: one.text, pages: known.pages}
	if !slices.Contains(next.pages, s.Key) {
		next.pages = append(slices.Clone(known.pages), s.Key)
	}
	now := now()
	switch {
	case !is:
		b.meta.Items++
		b.run.New++
		b.made = append(b.made, Change{Op: New, Key: one.key, URL: s.URL, Item: one.text, Run: b.run.Number, Time: now})
	case known.seen == b.run.Number: // another page has given it
		if !bytes.Equal(known.text, one.text) {
			b.clashed(&known, s.URL)
		}
		next.url, next.text = known.url, known.text
	case bytes.Equal(known.text, one.text):
		b.run.Unchanged++
	default:
		old, err := oldFields(known.text, one.text)
		if err != nil {
			return err
		}
		b.run.Changed++
		b.made = append(b.made, Change{Op: Changed, Key: one.key, URL: s.URL, Item: one.text, Old: old, Run: b.run.Number, Time: now})
	}
	b.store.set(itemAt(id), next.encode())
	return nil
}

// clash counts an item whose key its page has given before, if its contents are others.
func (b *batch) clash(id itemID, url string, text []byte) error {
	known, _, err := b.known(id)
	if err == nil && !bytes.Equal(known.text, text) {
		b.clashed(&known, url)
	}
	return err
}

func (b *batch) clashed(known *item, url string) {
	b.run.Clashes++
	if len(b.run.Examples) < 3 {
		b.run.Examples = append(slices.Clone(b.run.Examples), Clash{known.key, known.url, url})
	}
}

// withdraw enters that a page does not give an item any more. It stays in the table until the run has come to its end:
// another page may give it.
func (b *batch) withdraw(id itemID, from tegenaria.Key, why Proof) error {
	known, is, err := b.known(id)
	if err != nil || !is {
		return err
	}
	known.pages = slices.DeleteFunc(slices.Clone(known.pages), func(p tegenaria.Key) bool { return p == from })
	if len(known.pages) == 0 {
		known.proof = why
	}
	b.store.set(itemAt(id), known.encode())
	return nil
}

// known returns an item of the table.
func (b *batch) known(id itemID) (known item, is bool, err error) {
	return b.changes.history.known(b.store, id)
}

// remove takes an item out of the table.
func (b *batch) remove(id itemID, known *item) {
	b.meta.Items--
	b.run.Removed++
	b.made = append(b.made, Change{Op: Removed, Key: known.key, URL: known.url, Item: json.RawMessage(known.text),
		Run: b.run.Number, Time: now(), Proof: known.proof})
	b.store.set(itemAt(id), nil)
}

func (b *batch) damaged(err error) error { return &DamagedError{b.changes.history.folder, err} }

// sorted returns links in their order, each once.
func sorted(links []uint64) []uint64 {
	links = slices.Clone(links)
	slices.Sort(links)
	return slices.Compact(links)
}

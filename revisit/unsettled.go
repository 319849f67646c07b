package revisit

import (
	"fmt"
	"slices"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/staging"
)

// unsettled keeps the items of pages until these settle.
type unsettled struct {
	items    staging.Items
	settling []tegenaria.Settlement // of the batch that is being prepared
}

// reset begins a run.
func (u *unsettled) reset() {
	u.items.Reset(staging.Options{}) // without a spool: in memory
	u.settling = nil
}

// add keeps an item. It may be called concurrently.
func (u *unsettled) add(o *Options, meta *tegenaria.ItemMeta) error {
	text, err := marshal(meta.Item)
	if err == nil {
		text, err = canonical(text)
	}
	if err != nil {
		return fmt.Errorf("revisit: an item of type %T cannot be written as JSON: %w", meta.Item, err)
	}
	key, err := o.keyOf(meta.Item, text)
	if err != nil {
		return err
	}
	return u.items.Add(meta.CtxId, append(appendText(nil, []byte(key)), text...))
}

// settle notes how pages of the next batch end.
func (u *unsettled) settle(settlements []tegenaria.Settlement) {
	u.settling = append(u.settling, settlements...)
}

// given is an item that a page gives.
type given struct {
	key  string // "": that of the page
	text []byte
}

// take returns what the pages of a batch have given, by the CtxId of the page, and ends the batch; what a page has
// fetched inline belongs to it.
func (u *unsettled) take(ids []string) (map[string][]given, error) {
	callers := make(map[string]string)
	for i := range u.settling {
		if s := &u.settling[i]; s.Caller != "" {
			callers[s.CtxId] = s.Caller
		}
	}
	u.settling = nil
	all := make(map[string][]given)
	for _, id := range ids {
		page := id
		if caller, inline := callers[id]; inline {
			page = caller
		}
		err := u.items.Take([]string{id}, func(staged []byte) error {
			d := decoder{rest: staged}
			key := string(d.text())
			all[page] = append(all[page], given{key, slices.Clone(d.rest)})
			return d.err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// withKeys gives the items of a page that have no key theirs: the URL that its page was first asked for with, or the
// whole item if the page gives several, and returns how many have the latter.
func withKeys(items []given, url string) (keyless int) {
	for i := range items {
		if one := &items[i]; one.key == "" {
			if one.key = url; len(items) > 1 {
				one.key = string(one.text)
				keyless++
			}
		}
	}
	return keyless
}

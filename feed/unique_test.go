package feed_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
)

func idOf(item any) string {
	if r := item.(record); r.ID >= 0 {
		return fmt.Sprint(r.ID)
	}
	return ""
}

// Of the items of a key the first one that is settled is written, whatever crashes between; requests that were given up, or run again,
// take no key away. Items without a key are all written.
func TestUniqueOverCrashes(t *testing.T) {
	t.Parallel()
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	for _, name := range []string{"out.jsonl", "out-{part}.csv"} {
		dir := plainDir(t)
		make := func() *feed.Feed { return makeFeed(filepath.Join(dir, name), feed.Unique(idOf)) }
		f := make()
		checkpoint := restore(t, f, nil)
		want := map[string]bool{}
		written := map[int]bool{}
		for n := range deep.Rounds(80, 200) {
			var ids []string
			var items []record
			for i := range random.IntN(12) {
				r := record{ID: random.IntN(300) - 20, Text: fmt.Sprintf("%d.%d", n, i)}
				id := r.Text
				put(t, f, id, r)
				if random.IntN(4) == 0 {
					f.Discard(id)
					continue
				}
				ids, items = append(ids, id), append(items, r)
			}
			stored := prepare(t, f, ids...)
			if random.IntN(4) == 0 {
				f = make()
				restore(t, f, checkpoint)
				continue
			}
			checkpoint = stored
			for _, r := range items {
				if r.ID < 0 || !written[r.ID] {
					want[r.Text] = true
				}
				if r.ID >= 0 {
					written[r.ID] = true
				}
			}
		}
		end(t, f)
		list, _ := finishedFiles(t, dir, map[string][32]byte{})
		for _, r := range list {
			if !want[r.Text] {
				t.Errorf("%s: %s is there, or twice", name, r.Text)
			}
			delete(want, r.Text)
		}
		if len(want) > 0 {
			t.Errorf("%s: %v are missing", name, want)
		}
	}
}

func TestUniqueIsBounded(t *testing.T) {
	f := feed.JSONL(filepath.Join(t.TempDir(), "out.jsonl"), feed.Unique(idOf), feed.MostKeys(2))
	restore(t, f, nil)
	defer end(t, f)
	for i, id := range []int{1, 2, 1, 2} {
		put(t, f, fmt.Sprint(i), record{ID: id})
		prepare(t, f, fmt.Sprint(i))
	}
	put(t, f, "x", record{ID: 3})
	var full *feed.UniqueFullError
	if _, err := f.Prepare(t.Context(), []string{"x"}); !errors.As(err, &full) || full.Most != 2 {
		t.Error(err)
	}
	for _, bad := range []feed.Option{feed.Unique(nil), feed.MostKeys(0)} {
		if err := feed.JSONL("x.jsonl", bad).Restore(t.Context(), nil); err == nil {
			t.Error("a mistake is taken")
		}
	}
}

// Package feedtest tests feeds into databases: the same tests for each.
package feedtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/spidertest"
)

// Feed is a feed into a database.
type Feed interface {
	tegenaria.PipelinesInterface
	tegenaria.Committer
	tegenaria.Closer
}

// Book is what the tables hold.
type Book struct {
	SKU   string            `json:"sku"`
	Title string            `json:"title"`
	Price float64           `json:"price"`
	Pages *int              `json:"pages"`
	Tags  []string          `json:"tags"`
	More  map[string]string `json:"more,omitempty"`
	Seen  time.Time         `json:"seen,omitzero"`
	Cover []byte            `json:"cover"`
	Used  bool              `json:"used"`
}

// Restore begins a run, or fails the test.
func Restore(t testing.TB, f Feed, checkpoint []byte) []byte {
	t.Helper()
	if err := f.Restore(t.Context(), checkpoint); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close(context.Background(), "") })
	if checkpoint != nil {
		return checkpoint
	}
	return Prepare(t, f)
}

// Prepare settles requests, or fails the test.
func Prepare(t testing.TB, f Feed, ids ...string) []byte {
	t.Helper()
	checkpoint, err := f.Prepare(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	return checkpoint
}

// Put gives a feed an item, or fails the test.
func Put(t testing.TB, f Feed, id string, item any) {
	t.Helper()
	if err := f.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: id, Item: item}); err != nil {
		t.Fatal(err)
	}
}

// End closes a feed, or fails the test.
func End(t testing.TB, f Feed) {
	t.Helper()
	if err := f.Close(t.Context(), "finished"); err != nil {
		t.Fatal(err)
	}
}

// Harness returns what [spidertest.TestCommitter] needs of a feed of books. read returns "SKU TITLE" of each row, in
// the order of the rows if there is no key; with a key, which is the SKU, the last row of each is left.
func Harness(open func() Feed, read func(t testing.TB) []string, hasKey bool) spidertest.CommitterHarness {
	const keys = 20
	h := spidertest.CommitterHarness{
		Open: func(testing.TB) tegenaria.Committer { return open() },
		Stage: func(t testing.TB, c tegenaria.Committer, id string, n int) {
			t.Helper()
			Put(t, c.(Feed), id, Book{SKU: fmt.Sprint("s", n%keys), Title: fmt.Sprint("title ", n), Pages: &n})
		},
		Read: func(t testing.TB) (results []int) {
			for _, row := range read(t) {
				var sku, n int
				if _, err := fmt.Sscanf(row, "s%d title %d", &sku, &n); err != nil || sku != n%keys {
					t.Errorf("a row is %q: %v", row, err)
				}
				results = append(results, n)
			}
			return results
		},
		Kill: func(t testing.TB, c tegenaria.Committer) { End(t, c.(Feed)) },
	}
	if hasKey {
		h.AnyOrder = true
		h.Merge = func(settled []int) (last []int) {
			of := make(map[int]int)
			for _, n := range settled {
				of[n%keys] = n
			}
			return slices.Collect(maps.Values(of))
		}
	}
	return h
}

// Write has a feed write items, as a job of one batch.
func Write[T any](t testing.TB, f Feed, items ...T) {
	t.Helper()
	Restore(t, f, nil)
	for _, item := range items {
		Put(t, f, "a", item)
	}
	Prepare(t, f, "a")
	End(t, f)
}

// Rejected returns "ID COLUMN" of each item in a reject file, sorted. Each has to have its error.
func Rejected(t testing.TB, path string) (list []string) {
	t.Helper()
	lines, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(lines) {
		var r struct {
			Error, Column string
			Item          struct{ ID int }
		}
		if err := json.Unmarshal(line, &r); err != nil || r.Error == "" {
			t.Fatalf("%s: %v", line, err)
		}
		list = append(list, fmt.Sprint(r.Item.ID, " ", r.Column))
	}
	slices.Sort(list)
	return list
}

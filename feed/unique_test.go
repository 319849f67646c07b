package feed_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/feed"
)

func idOf(item any) string {
	if r := item.(record); r.ID >= 0 {
		return fmt.Sprint(r.ID)
	}
	return ""
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
}

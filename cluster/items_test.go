package cluster_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
)

// Items go into the table with what is settled, and nowhere else; a cache without the table is refused.
func TestItemsNeedTheirCache(t *testing.T) {
	items := cluster.Items()
	if err := items.Restore(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "cluster.Open") {
		t.Errorf("another cache: %v", err)
	}
	dsn, job, file := database(t), newJob(), filepath.Join(t.TempDir(), "items.jsonl")
	c, state := begin(t, dsn, job, cluster.Options{})
	defer closed(t, c)
	if err := items.Restore(t.Context(), state.Checkpoints[items.CommitKey()]); err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"settled", "again", "left"} {
		for _, text := range []string{"a line\n & \x00", "\xff"} {
			if err := items.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: id, Item: map[int]string{i: text}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	items.Discard("again")
	lines, err := items.Prepare(t.Context(), []string{"settled", "again"})
	if err != nil {
		t.Fatal(err)
	}
	j := dial(t, dsn, job)
	for _, want := range []string{"", "{\"0\":\"a line\\n & \\u0000\"}\n{\"0\":\"\\ufffd\"}\n"} { // before and after it is settled
		if got, err := cluster.Collect(t.Context(), j, file); err != nil || got.Finished || got.Items != int64(strings.Count(want, "\n")) {
			t.Errorf("collected %+v, %v", got, err)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("the file is %q, %v, want %q", text, err, want)
		}
		if err := c.Settle(t.Context(), tegenaria.Batch{Checkpoints: map[string][]byte{items.CommitKey(): lines}}); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	if err := items.Close(t.Context(), ""); err != nil {
		t.Error(err)
	}
}

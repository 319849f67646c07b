package disk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/cache/disk"
)

// The text of a report names every checkpoint, but of the state of a crawl's parts, which may be hundreds, ten at most.
func TestReportText(t *testing.T) {
	state := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("tegenaria/state/cookies/1/site%d.example", i))
		}
		return names
	}
	feeds := []string{"feed/items.jsonl", "tegenaria/loopback"}
	const all = `checkpoints ["feed/items.jsonl" "tegenaria/loopback"]; lost`
	for _, test := range []struct {
		name        string
		checkpoints []string
		want        string
		named       int // sites
		more        bool
	}{
		{"no state", feeds, all, 0, false},
		{"no checkpoints", nil, "checkpoints []; lost", 0, false},
		{"ten", slices.Concat(feeds, state(10)), all, 10, false},
		{"eleven", slices.Concat(feeds, state(11)), "and 1 more\n", 10, true},
		{"hundreds before the others", slices.Concat(state(300), feeds), all, 10, true},
		{"hundreds", state(300), `saved, too: 300 checkpoints below tegenaria/state/: ["cookies/1/site0.example" `, 10, true},
		{"many others", slices.Concat(slices.Repeat(feeds, 20), state(1)), strings.Repeat(` "feed/items.jsonl" "tegenaria/loopback"`, 19) + "];", 1, false},
	} {
		text := disk.Report{Damaged: []*disk.DamageError{{File: "000001.sst", Err: fmt.Errorf("bad")}}, Checkpoints: test.checkpoints, Kept: "/job/store.damaged"}.String()
		if !strings.Contains(text, test.want) || strings.Count(text, ".example") != test.named || strings.Contains(text, " more\n") != test.more ||
			!strings.HasSuffix(text, "\nthe damaged store is kept in /job/store.damaged") {
			t.Errorf("%s: %s", test.name, text)
		}
	}
}

package disk_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// A job that was made before the counts of fields were stored opens, goes on, and counts the fields of the pages that
// it parses from then on.
func TestOldJobCountsFields(t *testing.T) {
	const pages = 30
	type item struct {
		Title string `css:"h1" json:"title"`
		Price string `css:".price" json:"price"`
	}
	world := enginetest.NewWorld()
	for i := range pages {
		world.Page(fmt.Sprintf("http://a.test/%d", i), enginetest.Text(fmt.Sprintf("<h1>%d</h1><a href=/%d>next</a>", i, (i+1)%pages)))
	}
	dir := filepath.Join(t.TempDir(), "job")
	run := func(opts ...tegenaria.EngineOption) (tegenaria.Stats, map[string]int64) {
		c := open(t, dir)
		defer closed(t, c)
		parse := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[item]) error {
			var v item
			if err := page.Unmarshal(&v); err != nil {
				return err
			}
			if err := out.Item(v); err != nil {
				return err
			}
			return out.FollowLinks()
		})
		engine := tegenaria.NewSpiderEngine(append([]tegenaria.EngineOption{tegenaria.EngineWithQuiet(), tegenaria.EngineWithCache(c), tegenaria.EngineWithDownloader(world),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
			tegenaria.EngineWithSpiders(tegenaria.NewSpider("site", parse, "http://a.test/0"))}, opts...)...)
		if err := engine.Run(t.Context(), "site"); err != nil && !strings.Contains(err.Error(), "limit: pages") {
			t.Fatal(err)
		}
		return engine.JobStats(), statusOf(t, c).Counters
	}
	// Without counts of fields a job stores what an older program has stored.
	old, counters := run(tegenaria.EngineWithFieldCounts(false), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 10}))
	for name := range counters {
		if strings.HasPrefix(name, "field/") {
			t.Fatalf("the old job has the counter %q", name)
		}
	}
	if old.Fields != nil || old.Responses < 10 || old.Responses >= pages {
		t.Fatalf("the old job: %d pages, %v", old.Responses, old.Fields)
	}
	stats, _ := run(tegenaria.EngineWithFieldCounts(true))
	rest := pages - old.Outcomes[tegenaria.Fetched]
	if stats.Outcomes[tegenaria.Fetched] != pages || rest <= 0 {
		t.Fatalf("%v after %v", stats.Outcomes, old.Outcomes)
	}
	for name, want := range map[string]tegenaria.FieldStats{
		"item.title": {Items: rest, Filled: rest, LookedFor: rest}, "item.price": {Items: rest, LookedFor: rest, Missing: rest},
	} {
		if got := stats.Fields[name]; got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

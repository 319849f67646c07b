package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/pipeline"
)

const (
	killedPages = 240
	perGroup    = 8 // pages with the same text
	mostOfType  = 230
)

// killPlan is where the job that is killed lies, and what it crawls.
type killPlan struct{ Folder, Site string }

// killed is the job that is killed: each page is an item, and eight pages have one text.
var killed = killtest.NewProgram("killed", func(p killPlan) error {
	cache, err := disk.Open(filepath.Join(p.Folder, "job"))
	if err != nil {
		return err
	}
	parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[text]) error {
		if err := out.Item(text{Text: resp.CSS("p").Text()}); err != nil {
			return err
		}
		return out.FollowLinks()
	}
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithCache(cache), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("killed", tegenaria.Handle(parse), p.Site+"/0")),
		tegenaria.EngineWithPipelines(
			pipeline.NearDuplicates(textOf, pipeline.NearOptions{File: filepath.Join(p.Folder, "near")}),
			pipeline.Budget(pipeline.BudgetOptions{Items: mostOfType, By: pipeline.ByType, File: filepath.Join(p.Folder, "budget")}),
			feed.JSONL(filepath.Join(p.Folder, "items.jsonl"))))
	return errors.Join(engine.Run(context.Background(), "killed"), cache.Close())
})

// A job is killed again and again at a random request. In the end each page was asked for, of each text exactly one
// item is unmarked, the others name a page of their text, and as many items passed as the budget allows.
func TestKills(t *testing.T) {
	dir := t.TempDir()
	loop := &killtest.Loop{Seed: deep.Seed(), Log: t.Logf}
	var spared, asked sync.Map // no page dies twice: the third time it would be given up
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil {
			http.NotFound(w, r)
			return
		}
		if _, known := spared.Load(n); !known && loop.Count() {
			spared.Store(n, true)
		}
		asked.Store(n, true)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<p>%s</p>", words(n/perGroup, 0))
		for child := 3*n + 1; child <= 3*n+3 && child < killedPages; child++ {
			fmt.Fprintf(w, `<a href="/%d">next</a>`, child)
		}
	}))
	defer site.Close()
	loop.Next = func(_ int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
		return killed.Command(killPlan{dir, site.URL}), []killtest.Fault{{Count: 10 + random.IntN(killedPages/8)}}
	}
	starts, err := loop.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if starts < 6 {
		t.Error("too few kills")
	}
	lines, err := os.ReadFile(filepath.Join(dir, "items.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	unmarked, items := make(map[string]int), 0
	for line := range bytes.Lines(lines) {
		var item text
		if err := json.Unmarshal(line, &item); err != nil {
			t.Fatal(err)
		}
		items++
		if item.Near == nil {
			unmarked[item.Text]++
			continue
		}
		var n int
		if _, err := fmt.Sscanf(strings.TrimPrefix(item.Near.URL, site.URL), "/%d", &n); err != nil || words(n/perGroup, 0) != item.Text || item.Near.Distance != 0 {
			t.Errorf("%q is no page of its text: %+v", item.Near.URL, item.Near)
		}
	}
	pages := 0
	asked.Range(func(any, any) bool { pages++; return true })
	if items != mostOfType || pages != killedPages {
		t.Errorf("%d items of %d pages, want %d of %d", items, pages, mostOfType, killedPages)
	}
	var counts []int
	for _, n := range unmarked {
		counts = append(counts, n)
	}
	if len(counts) > killedPages/perGroup || slices.Max(counts) > 1 {
		t.Errorf("unmarked: %v", counts)
	}
}

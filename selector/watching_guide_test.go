package selector_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// The code of docs/guides/watching-selectors.md.

// stale returns the fields that more than half of the pages did not have, or had as something else.
func stale(stats tegenaria.Stats) (names []string) {
	for name, f := range stats.Fields {
		if f.LookedFor >= 20 && f.Missing+f.Defaulted+f.Failed > f.LookedFor/2 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// watch ends a crawl whose selectors have stopped matching. It is asked after each item.
func watch(engine func() tegenaria.Stats) tegenaria.PipelinesInterface {
	return tegenaria.PipelineFunc(1, func(_ context.Context, item watched) (watched, error) {
		if names := stale(engine()); len(names) > 0 {
			return item, tegenaria.CloseSpider("fields are missing: " + strings.Join(names, ", "))
		}
		return item, nil
	})
}

type watched struct {
	Title string `json:"title" css:"h1" required:"true"`
	Price string `json:"price" css:".price"`
	Stock int    `json:"stock" css:".stock" default:"0"`
}

// changing is a site of 60 pages in a row whose template changes from one on: the class of the prices gets another name.
func changing(from int) *enginetest.World {
	site := enginetest.NewWorld()
	for i := range 60 {
		class := "price"
		if i >= from {
			class = "amount"
		}
		site.Page(fmt.Sprintf("http://shop.test/%d", i), enginetest.Text(fmt.Sprintf("<h1>Book %d</h1><p class=%s>7.50</p><a href=/%d>next</a>", i, class, i+1)))
	}
	return site.Page("http://shop.test/60", enginetest.Text("<h1>The end</h1><p class=price>1</p>"))
}

func watchedParser(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[watched]) error {
	var item watched
	if err := page.Unmarshal(&item); err != nil {
		return err
	}
	if err := out.Item(item); err != nil {
		return err
	}
	return out.FollowLinks()
}

// A site that changes its template in the middle of a crawl shows it in the Summary and in its JSON; and the crawl can
// end itself. It fails if the counts are not those of the site.
func TestTemplateChange(t *testing.T) {
	parse := tegenaria.Handle(watchedParser)
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet(), tegenaria.EngineWithFieldCounts(true), tegenaria.EngineWithDownloader(changing(20)),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), tegenaria.EngineWithSpiders(tegenaria.NewSpider("shop", parse, "http://shop.test/0")))
	if err := engine.Run(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(engine.Summary())
	if err != nil {
		t.Fatal(err)
	}
	var summary struct {
		Stats struct {
			Fields map[string]tegenaria.FieldStats
		}
	}
	if err := json.Unmarshal(text, &summary); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]tegenaria.FieldStats{
		"watched.title": {Items: 61, Filled: 61, LookedFor: 61},
		"watched.price": {Items: 61, Filled: 21, LookedFor: 61, Missing: 40},
		"watched.stock": {Items: 61, LookedFor: 61, Defaulted: 61},
	} {
		if got := summary.Stats.Fields[name]; got != want {
			t.Errorf("%s: got %+v, want %+v in %s", name, got, want, text)
		}
	}
	if got := stale(engine.Stats()); !slices.Equal(got, []string{"watched.price", "watched.stock"}) {
		t.Errorf("got %q", got)
	}
}

// The pipeline of the guide ends the crawl when most prices are missing, and not before.
func TestWatch(t *testing.T) {
	type priced struct {
		Title string `json:"title" css:"h1"`
		Price string `json:"price" css:".price"`
	}
	for from, want := range map[int]bool{61: false, 10: true} {
		var engine *tegenaria.SpiderEngine
		parse := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[watched]) error {
			var item priced
			if err := page.Unmarshal(&item); err != nil {
				return err
			}
			if err := out.Item(watched{Title: item.Title}); err != nil {
				return err
			}
			return out.FollowLinks()
		})
		engine = tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet(), tegenaria.EngineWithDownloader(changing(from)),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), tegenaria.EngineWithSpiders(tegenaria.NewSpider("shop", parse, "http://shop.test/0")),
			tegenaria.EngineWithPipelines(watch(func() tegenaria.Stats { return engine.Stats() })))
		err := engine.Run(t.Context(), "shop")
		if stopped := err != nil && strings.Contains(err.Error(), "fields are missing: priced.price"); stopped != want {
			t.Errorf("a change from page %d on: %v", from, err)
		}
	}
}

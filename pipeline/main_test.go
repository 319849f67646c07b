package pipeline_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/pipeline"
)

func TestMain(m *testing.M) { killtest.Main(m) }

// outcome is what became of the items of a crawl.
type outcome struct {
	passed  []any
	dropped []*tegenaria.HandleError
	failed  []*tegenaria.HandleError
}

// crawl sends items from one page of each URL through pipelines, one after the other.
func crawl(t testing.TB, items map[string][]any, parts ...tegenaria.PipelinesInterface) (outcome, error) {
	t.Helper()
	var urls []string
	for url := range items {
		urls = append(urls, url)
	}
	return crawlOrder(t, urls, items, parts...)
}

func crawlOrder(t testing.TB, urls []string, items map[string][]any, parts ...tegenaria.PipelinesInterface) (outcome, error) {
	t.Helper()
	var mu sync.Mutex
	var out outcome
	log := logrus.New()
	log.SetOutput(io.Discard)
	parser := func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		for _, one := range items[resp.Request.Url] {
			item <- tegenaria.NewItem(resp, one)
		}
		return nil
	}
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithLogger(log), tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithItemConcurrency(1),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("test", parser, urls...)),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithDownloader(tegenaria.DownloaderFunc(func(_ context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
			return tegenaria.NewResponse(r, 200, nil, nil), nil
		})),
		tegenaria.EngineWithPipelines(parts...),
		tegenaria.EngineWithEvents(tegenaria.Events{
			ItemScraped: func(item *tegenaria.ItemMeta) {
				mu.Lock()
				defer mu.Unlock()
				out.passed = append(out.passed, item.Item)
			},
			ItemDropped: func(err *tegenaria.HandleError) { mu.Lock(); defer mu.Unlock(); out.dropped = append(out.dropped, err) },
			Error:       func(err *tegenaria.HandleError) { mu.Lock(); defer mu.Unlock(); out.failed = append(out.failed, err) },
		}))
	err := engine.Run(t.Context(), "test")
	return out, err
}

// pass sends items through pipelines, and fails the test if the run fails.
func pass(t testing.TB, items []any, parts ...tegenaria.PipelinesInterface) outcome {
	t.Helper()
	out, err := crawl(t, map[string][]any{"http://a.test/": items}, parts...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// faultsOf returns the faults of one item, as "field rule".
func faultsOf(t testing.TB, item any, part tegenaria.PipelinesInterface) (list []string, err error) {
	t.Helper()
	err = part.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: "1", Item: item})
	var invalid *pipeline.InvalidError
	if errors.As(err, &invalid) {
		for _, f := range invalid.Faults {
			list = append(list, strings.TrimSpace(f.Field+" "+f.Rule))
		}
	}
	return list, err
}

// page is the Context of an item that was found on a page.
func page(url string, id string) *tegenaria.Context {
	ctx := tegenaria.NewContext(tegenaria.NewRequest(url, tegenaria.GET, nil))
	ctx.CtxId = id
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, nil, nil)}
	return ctx
}

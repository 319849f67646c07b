package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
)

// The context of a PipelineFunc ends when Limits.Callback is over, and when its item is done.
func TestPipelineFuncContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpider("http://a.test/")
		s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(ctx, "quick")
			item <- tegenaria.NewItem(ctx, "stuck")
			return nil
		}
		var quick context.Context
		e := newEngine(onePage(), s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}), tegenaria.EngineWithPipelines(
			tegenaria.PipelineFunc(1, func(ctx context.Context, item string) (string, error) {
				if item == "quick" {
					quick = ctx
					return item, ctx.Err()
				}
				<-ctx.Done()
				if quick.Err() == nil {
					t.Error("the context of an item that is done has not ended")
				}
				return item, context.Cause(ctx)
			})), tegenaria.EngineWithItemConcurrency(1))
		began := time.Now()
		stats := mustRun(t, e)
		var late *tegenaria.CallbackTimeoutError
		if herr := s.onlyError(t); !errors.As(herr, &late) || late.Stage != tegenaria.StagePipeline || herr.Item.Item != "stuck" {
			t.Errorf("ErrorHandler got %v", herr)
		}
		if took := time.Since(began); took != 10*time.Second || stats.ItemScraped != 1 || stats.ItemFailed != 1 {
			t.Errorf("it took %s, stats %+v", took, stats)
		}
	})
}

// Once given up, an item that a slow event or collector was busy with is in one counter alone.
func TestItemIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newSpider("http://a.test/")
		s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(ctx, 1)
			return nil
		}
		e := newEngine(onePage(), s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}),
			tegenaria.EngineWithEvents(tegenaria.Events{ItemScraped: func(*tegenaria.ItemMeta) { <-release }}))
		run(t, e)
		close(release)
		synctest.Wait()
		if stats := e.Stats(); stats.ItemScraped+stats.ItemFailed != 1 {
			t.Errorf("scraped %d, failed %d, want one of them", stats.ItemScraped, stats.ItemFailed)
		}
	})
}

// A crawl whose items all have another type than somebody takes says so in the log, once.
func TestTypesThatDoNotMatch(t *testing.T) {
	keep := func(_ context.Context, q quote) (quote, error) { return q, nil }
	any1 := func(_ context.Context, v any) (any, error) { return v, nil }
	for _, tt := range []struct {
		name  string
		items []any
		crawl bool
		want  []string // warnings contain
	}{
		{"pointers for values", []any{&quote{}, &quote{}, &quote{}}, false,
			[]string{"PipelineFunc[tegenaria_test.quote] saw 3 items, none of them of the type tegenaria_test.quote (the first was a *tegenaria_test.quote)"}},
		{"pointers for values, Crawl", []any{&quote{}, &quote{}}, true, []string{"Crawl[tegenaria_test.quote] saw 2 items", "PipelineFunc[tegenaria_test.quote] saw 2 items"}},
		{"mixed", []any{&quote{}, quote{}, "x"}, true, nil},
		{"none", nil, true, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			logger := logrus.New()
			logger.SetOutput(&log)
			logger.SetFormatter(&logrus.TextFormatter{DisableQuote: true, DisableColors: true})
			s := newSpider("http://a.test/")
			s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				for _, v := range tt.items {
					item <- tegenaria.NewItem(ctx, v)
				}
				return nil
			}
			opts := []tegenaria.EngineOption{tegenaria.EngineWithLogger(logger), tegenaria.EngineWithDownloader(onePage()),
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
				tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, keep), tegenaria.PipelineFunc(2, any1))}
			if tt.crawl {
				for _, err := range tegenaria.Crawl[quote](t.Context(), s, opts...) {
					if err != nil {
						t.Error(err)
					}
				}
			} else {
				e := tegenaria.NewSpiderEngine(append(opts, tegenaria.EngineWithSpiders(s))...)
				mustRun(t, e)
				log.Reset()
				mustRun(t, e) // the second run counts its own items
			}
			if n := strings.Count(log.String(), "none of them"); n != len(tt.want) {
				t.Errorf("%d warnings, want %d:\n%s", n, len(tt.want), log.String())
			}
			for _, want := range tt.want {
				if !strings.Contains(log.String(), want) {
					t.Errorf("%q is not in:\n%s", want, log.String())
				}
			}
		})
	}
}

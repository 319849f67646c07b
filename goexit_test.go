package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

// Code that ends its goroutine, as FailNow of a test does, is given up at once, and the crawl goes on without it.
func TestGoexit(t *testing.T) {
	for _, stage := range []tegenaria.Stage{tegenaria.StageRequest, tegenaria.StageDownload, tegenaria.StageResponse,
		tegenaria.StageParse, tegenaria.StagePipeline, tegenaria.StageError, tegenaria.StageOpen} {
		t.Run(string(stage), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left := false // an ErrorHandler is told of itself
				leave := func(at tegenaria.Stage, url string) {
					if at == stage && url == "http://a.test/1" && !left {
						left = true
						runtime.Goexit()
					}
				}
				s := newSpider()
				s.start = func(req chan<- *tegenaria.Context) {
					for i := range 3 {
						req <- send(fmt.Sprint("http://a.test/", i))
					}
				}
				s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					leave(tegenaria.StageParse, ctx.Request.Url)
					item <- tegenaria.NewItem(ctx, ctx.Request.Url)
					if stage == tegenaria.StageError {
						return errors.New("ask the handler")
					}
					return nil
				}
				s.fail = func(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) {
					if err.Request != nil && err.Stage == tegenaria.StageParse {
						leave(tegenaria.StageError, err.Request.Url)
					}
				}
				w := newWorld().page("http://a.test/0", text("x")).page("http://a.test/1", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
					leave(tegenaria.StageDownload, "http://a.test/1")
					return text("x")(ctx)
				}).page("http://a.test/2", text("x"))
				part := &opening{open: func(context.Context) error { leave(tegenaria.StageOpen, "http://a.test/1"); return nil }}
				part.hooks = hooks{
					request: func(ctx *tegenaria.Context) error { leave(tegenaria.StageRequest, ctx.Request.Url); return nil },
					response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
						leave(tegenaria.StageResponse, ctx.Request.Url)
						return nil
					},
				}
				e := newEngine(w, s, tegenaria.EngineWithMiddlewares(part), tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, func(_ context.Context, url string) (string, error) {
					leave(tegenaria.StagePipeline, url)
					return url, nil
				})))
				began := time.Now()
				err := run(t, e)
				var abandoned *tegenaria.AbandonedError
				at := stage
				if at == tegenaria.StageError {
					at = tegenaria.StageParse // which called the handler
				}
				if !errors.As(err, &abandoned) || len(abandoned.Stages) != 1 || abandoned.Stages[at] != 1 {
					t.Errorf("Run returned %v", err)
				}
				n := int64(3)
				if stage == tegenaria.StageOpen {
					n = 0
				}
				if stats := e.Stats(); stats.Settled != n || stats.Discovered != n || time.Since(began) > 0 {
					t.Errorf("after %s: %+v", time.Since(began), stats)
				}
			})
		})
	}
}

// A start that ends its goroutine is a failed one.
func TestGoexitOfStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpider()
		s.start = func(req chan<- *tegenaria.Context) {
			req <- send("http://a.test/")
			runtime.Goexit()
		}
		err := run(t, newEngine(onePage(), s))
		var failed *tegenaria.RunError
		if !errors.As(err, &failed) || failed.Op != "start" {
			t.Errorf("Run returned %v", err)
		}
	})
}

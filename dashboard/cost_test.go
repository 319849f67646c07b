package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/dashboard"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// tenMilliseconds downloads pages that come after this time, each with a link to the next page of its host. Ten at once are 1,000 pages a
// second.
func tenMilliseconds(ctx context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
	after := time.NewTimer(10 * time.Millisecond)
	defer after.Stop()
	select {
	case <-after.C:
		return tegenaria.NewResponse(r, 200, nil, []byte("<a href='"+r.Url+"a'>next</a>")), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A browser that shows a page asks for the run, as an event, and for the page once a second. In a crawl of 1,000 pages a second both
// together take 1 % of a processor at most, whatever the page and however many hosts there are.
func TestCostOfAReader(t *testing.T) {
	hosts := []int{100}
	if deep.Checks() {
		hosts = []int{10_000, 1_000_000}
	}
	for _, n := range hosts {
		t.Run(fmt.Sprint(n, " hosts"), func(t *testing.T) {
			urls := make([]string, n)
			for i := range urls {
				urls[i] = fmt.Sprintf("http://h%d.test/a", i)
			}
			parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[Book]) error {
				return errors.Join(out.Item(Book{r.URL, 1}), out.FollowLinks())
			})
			e := enginetest.NewEngine(tegenaria.DownloaderFunc(tenMilliseconds), tegenaria.NewSpider("test", parser, urls...),
				tegenaria.EngineWithConcurrency(10), tegenaria.EngineWithLimits(tegenaria.Limits{Pending: 2 * n}))
			board := dashboard.New(e, dashboard.Options{})
			defer board.Close()
			ctx, end := context.WithCancel(t.Context())
			var running sync.WaitGroup
			defer running.Wait()
			defer end()
			running.Go(func() { _ = e.Run(ctx, "test") })
			for e.Stats().Pending < int64(n)/2 {
				runtime.Gosched()
			}
			ask := func(path string) {
				r := httptest.NewRequest("GET", path, nil)
				r.Header.Set("Authorization", "Bearer "+board.ControlToken())
				w := httptest.NewRecorder()
				if board.ServeHTTP(w, r); w.Code != 200 || strings.HasPrefix(path, "/hosts") && !strings.Contains(w.Body.String(), ".test</th>") {
					t.Errorf("%s: status %d, %s", path, w.Code, w.Body)
				}
			}
			rounds, took := deep.Rounds(1, 60), make(map[string]time.Duration)
			second := time.NewTicker(time.Second)
			defer second.Stop()
			for range rounds {
				for _, page := range []string{"/", "/hosts", "/failures", "/items", "/callbacks", "/log", "/runs", "/settings", "/url"} {
					took[page] += deep.Took(func() {
						ask("/api/v1/run")
						ask(page)
					})
				}
				if deep.Checks() {
					<-second.C
				}
			}
			for page, all := range took {
				each := all / time.Duration(rounds)
				t.Logf("%-10s %s a second, %.2f %% of a processor", page, each, 100*each.Seconds())
				if deep.Checks() && each > 10*time.Millisecond {
					t.Errorf("%s: a reader takes %s a second, want 10ms at most", page, each)
				}
			}
			t.Logf("%d pages in %s", e.Stats().Responses, e.Stats().Elapsed)
		})
	}
}

package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// settlements notes what it is told, as a pipeline.
type settlements struct {
	tegenaria.PipelinesInterface
	mu    sync.Mutex
	lines []string
	keys  map[tegenaria.Key]int
	ids   map[string]int
	calls map[string]string // the caller of an inline request
	fails string            // the method that panics

	told, settled int // calls
}

func newSettlements() *settlements {
	return &settlements{PipelinesInterface: enginetest.PipelineFunc{}, keys: make(map[tegenaria.Key]int), ids: make(map[string]int), calls: make(map[string]string)}
}

func (s *settlements) GetPriority() int { return 0 }

func (s *settlements) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error { return nil }

func (s *settlements) Settling(list []tegenaria.Settlement) {
	if s.fails == "Settling" {
		panic("broken")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told++
	for _, one := range list {
		s.ids[one.CtxId]++
		if one.Caller == "" {
			s.keys[one.Key]++
		} else {
			s.calls[one.CtxId] = one.Caller
		}
		s.lines = append(s.lines, fmt.Sprintf("%s %q at %q, %d, attempt %d, inline %t, parent %t", one.Outcome, one.Reason, one.Failed, one.Status,
			one.Attempt, one.Caller != "", one.Parent != tegenaria.Key{}))
	}
}

// A part is told how each request ends, once, those of Fetch with that of their caller. Attempts that run again are not told of.
func TestSettlements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/ok", "/missing", "/moved", "/panics", "/again", "/fetches")).
			Page("http://a.test/moved", enginetest.Redirect(302, "/ok2"))
		for _, path := range []string{"ok", "ok2", "panics", "again", "fetches", "inline", "inline2"} {
			w.Page("http://a.test/"+path, enginetest.Text(path))
		}
		w.Page("http://a.test/missing", enginetest.Status(404))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			switch {
			case strings.HasSuffix(ctx.Request.Url, "/panics"):
				panic("a bug")
			case strings.HasSuffix(ctx.Request.Url, "/again") && ctx.Request.Attempt < 2:
				return tegenaria.Retry(0, errors.New("once more"))
			case strings.HasSuffix(ctx.Request.Url, "/fetches"):
				for _, path := range []string{"/inline", "/missing"} {
					_, _ = ctx.Fetch(tegenaria.NewRequest("http://a.test"+path, tegenaria.GET, nil))
				}
			}
			return enginetest.FollowAll(ctx, items, req)
		}
		told := newSettlements()
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(told)))
		slices.Sort(told.lines)
		want := []string{
			`failed "parse" at "parse", 200, attempt 0, inline false, parent true`,
			`failed "status" at "status", 404, attempt 0, inline false, parent true`,
			`failed "status" at "status", 404, attempt 0, inline true, parent false`,
			`fetched "" at "", 200, attempt 0, inline false, parent false`,
			`fetched "" at "", 200, attempt 0, inline false, parent true`,
			`fetched "" at "", 200, attempt 0, inline false, parent true`,
			`fetched "" at "", 200, attempt 0, inline false, parent true`,
			`fetched "" at "", 200, attempt 0, inline true, parent false`,
			`fetched "" at "", 200, attempt 2, inline false, parent true`,
			`redirected "" at "", 302, attempt 0, inline false, parent true`,
		}
		if !slices.Equal(told.lines, want) {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(told.lines, "\n"), strings.Join(want, "\n"))
		}
		if told.told == 0 || told.settled != told.told {
			t.Errorf("told %d times, settled %d", told.told, told.settled)
		}
		if int(stats.Settled) != len(want) || len(told.ids) != len(want) || len(told.keys) != len(want)-2 || len(told.calls) != 2 {
			t.Errorf("%d settled, %d CtxIds, %d keys, calls %v", stats.Settled, len(told.ids), len(told.keys), told.calls)
		}
		for _, caller := range told.calls {
			if told.ids[caller] != 1 {
				t.Errorf("the caller %s was not told of", caller)
			}
		}
	})
}

func (s *settlements) Settled() {
	if s.fails == "Settled" {
		panic("broken")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settled++; s.settled != s.told {
		s.lines = append(s.lines, "Settled without Settling")
	}
}

// A listener that panics ends the run, as a committer does.
func TestSettlementListenerPanics(t *testing.T) {
	for _, method := range []string{"Settling", "Settled"} {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page())
		told := newSettlements()
		told.fails = method
		err := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithPipelines(told)).Run(context.Background(), "test")
		if err == nil || !strings.Contains(err.Error(), "*tegenaria_test.settlements: "+method) {
			t.Errorf("Run: %v", err)
		}
	}
}

// failingPipeline is a committer that cannot make anything durable.
type failingPipeline struct{ enginetest.PipelineFunc }

func (failingPipeline) CommitKey() string                     { return "failing" }
func (failingPipeline) Restore(context.Context, []byte) error { return nil }
func (failingPipeline) Discard(string)                        {}

func (failingPipeline) Prepare(_ context.Context, ids []string) ([]byte, error) {
	if len(ids) > 0 {
		return nil, errors.New("no disk")
	}
	return nil, nil
}

// Where storing fails, a listener is not told that its requests are settled.
func TestSettledIsToldOfWhatIsStored(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page())
	told := newSettlements()
	err := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithPipelines(told, failingPipeline{})).Run(context.Background(), "test")
	if err == nil || told.told != 1 || told.settled != 0 {
		t.Errorf("Run: %v; told %d times, settled %d", err, told.told, told.settled)
	}
}

// staleLayer hands out a stored page whatever comes, as a cache may.
type staleLayer struct{ tegenaria.Downloader }

func (l staleLayer) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	own := make(chan *tegenaria.Context, 1)
	l.Downloader.Download(ctx, own)
	came := (<-own).DownloadResult
	page, err := ctx.Respond(http.StatusOK, map[string][]string{"Content-Type": {"text/html"}}, strings.NewReader("<p>stored"))
	if err == nil {
		page.SetCached(tegenaria.CacheStatus{State: tegenaria.CacheStale, Age: time.Hour}, came)
		ctx.DownloadResult = &tegenaria.RequestResult{Response: page}
	}
	result <- ctx
}

// Slot and counters see what came over the network, whatever page is handed out: behind a stale page a 503 pauses the host.
func TestStaleResponses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer enginetest.Answer
		status int
		pause  time.Duration
	}{
		{"503", enginetest.Status(503), 503, time.Second},
		{"503 with Retry-After", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			return tegenaria.NewResponse(ctx.Request, 503, map[string][]string{"Retry-After": {"60"}}, nil), nil
		}, 503, time.Minute},
		{"304", enginetest.Status(304), 304, 0},
		{"nothing", enginetest.Broken(errBroken), 200, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/1", tt.answer).Page("http://a.test/2", tt.answer)
				s := enginetest.NewSpider("http://a.test/1", "http://a.test/2")
				s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					resp := ctx.Response()
					if cached := resp.Cached(); resp.Status != 200 || resp.String() != "<p>stored" || cached.State != tegenaria.CacheStale || cached.Age != time.Hour {
						t.Errorf("%d %s %+v", resp.Status, resp.String(), cached)
					}
					return nil
				}
				began := time.Now()
				stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithDownloaderLayers(func(next tegenaria.Downloader) tegenaria.Downloader {
					return staleLayer{next}
				}), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: time.Millisecond})))
				if took := time.Since(began); took < tt.pause || tt.pause == 0 && took > time.Second {
					t.Errorf("the crawl took %s, want a pause of %s", took, tt.pause)
				}
				if stats.Status[tt.status] != 2 || stats.Outcomes[tegenaria.Fetched] != 2 {
					t.Errorf("%v, %v", stats.Status, stats.Outcomes)
				}
			})
		})
	}
}

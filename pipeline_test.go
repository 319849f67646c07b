package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"net/http"
	"sync"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// emitting is a spider whose one page has these items.
func emitting(items ...any) *enginetest.Spider {
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		for _, v := range items {
			item <- tegenaria.NewItem(ctx, v)
		}
		return nil
	}
	return s
}

func onePage() *enginetest.World {
	return enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
}

// Items pass the pipelines ascending, whatever the order of registration.
func TestPipelineOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		l := &trace{}
		var all []tegenaria.PipelinesInterface
		for i := range 3 {
			all = append(all, enginetest.PipelineFunc{Priority: i, Process: func(item *tegenaria.ItemMeta) error { l.add("%d %v", i, item.Item); return nil }})
		}
		e := enginetest.NewEngine(onePage(), emitting("x"))
		for _, i := range order {
			e.RegisterPipelines(all[i])
		}
		enginetest.MustRun(t, e)
		l.want(t, "0 x", "1 x", "2 x")
	}
}

// The list types sort by priority, as the seed's do.
func TestSortableLists(t *testing.T) {
	p := tegenaria.ItemPipelines{&enginetest.Collector{Priority: 3}, &enginetest.Collector{Priority: 1}, &enginetest.Collector{Priority: 2}}
	sort.Sort(p)
	m := tegenaria.Middlewares{&enginetest.Hooks{Priority: 3}, &enginetest.Hooks{Priority: 1}, &enginetest.Hooks{Priority: 2}}
	sort.Sort(m)
	for i := range 3 {
		if p[i].GetPriority() != i+1 || m[i].GetPriority() != i+1 {
			t.Errorf("place %d: %d, %d", i, p[i].GetPriority(), m[i].GetPriority())
		}
	}
}

// Fail-fast ends an item at its first error; without it all pipelines see the item and the errors are joined.
func TestFailFast(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	for _, tt := range []struct {
		failFast bool
		trace    []string
		second   bool
	}{
		{true, []string{"1"}, false},
		{false, []string{"1", "2", "3"}, true},
	} {
		t.Run(fmt.Sprint(tt.failFast), func(t *testing.T) {
			l := &trace{}
			pipe := func(n int, err error) tegenaria.PipelinesInterface {
				return enginetest.PipelineFunc{Priority: n, Process: func(*tegenaria.ItemMeta) error { l.add("%d", n); return err }}
			}
			s := emitting("x")
			stats := enginetest.MustRun(t, enginetest.NewEngine(onePage(), s, tegenaria.EngineWithFailFast(tt.failFast),
				tegenaria.EngineWithPipelines(pipe(1, first), pipe(2, second), pipe(3, nil))))
			l.want(t, tt.trace...)
			herr := s.OnlyError(t)
			if !errors.Is(herr, first) || errors.Is(herr, second) != tt.second {
				t.Errorf("ErrorHandler got %v", herr)
			}
			if herr.Stage != tegenaria.StagePipeline || herr.Item == nil || herr.Item.Item != "x" || herr.Item.CtxId != herr.CtxId ||
				herr.Request.Url != "http://a.test/" || herr.Response == nil {
				t.Errorf("the HandleError lacks something: %+v", herr)
			}
			if stats.ItemFailed != 1 || stats.ItemScraped != 0 || stats.ErrorCount != 1 || stats.Outcomes[tegenaria.Fetched] != 1 {
				t.Errorf("stats: %+v", stats)
			}
		})
	}
}

// DropItem is no failure, fail-fast or not.
func TestDropItem(t *testing.T) {
	for _, failFast := range []bool{true, false} {
		l := &trace{}
		why := errors.New("why")
		s := emitting("x", "y")
		drop := enginetest.PipelineFunc{Priority: 1, Process: func(item *tegenaria.ItemMeta) error {
			if item.Item == "x" {
				return fmt.Errorf("wrapped: %w", tegenaria.DropItem(why))
			}
			return nil
		}}
		after := enginetest.PipelineFunc{Priority: 2, Process: func(item *tegenaria.ItemMeta) error { l.add("passed %v", item.Item); return nil }}
		stats := enginetest.MustRun(t, enginetest.NewEngine(onePage(), s, tegenaria.EngineWithFailFast(failFast), tegenaria.EngineWithPipelines(drop, after),
			tegenaria.EngineWithEvents(tegenaria.Events{ItemDropped: func(err *tegenaria.HandleError) {
				if !errors.Is(err, why) || err.Item.Item != "x" {
					t.Errorf("ItemDropped got %v", err)
				}
			}})))
		l.want(t, "passed y")
		if stats.ItemDropped != 1 || stats.ItemScraped != 1 || stats.ItemFailed != 0 || stats.ErrorCount != 0 || len(s.Errors()) != 0 {
			t.Errorf("stats: %+v, errors %v", stats, s.Errors())
		}
	}
}

// PipelineFunc sees its type alone, and what it returns goes on.
func TestPipelineFunc(t *testing.T) {
	items := &enginetest.Collector{Priority: 9}
	upper := tegenaria.PipelineFunc(1, func(_ context.Context, s string) (string, error) { return strings.ToUpper(s), nil })
	double := tegenaria.PipelineFunc(2, func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	bad := tegenaria.PipelineFunc(3, func(_ context.Context, s string) (string, error) {
		if s == "BAD" {
			return "never", errBroken
		}
		return s, nil
	})
	s := emitting("a", 1, "bad", 2.5)
	stats := enginetest.MustRun(t, enginetest.NewEngine(onePage(), s, tegenaria.EngineWithItemConcurrency(1), tegenaria.EngineWithPipelines(items, bad, double, upper)))
	if want := []any{"A", 2, 2.5}; !slices.Equal(items.All(), want) {
		t.Errorf("items %v, want %v", items.All(), want)
	}
	if herr := s.OnlyError(t); herr.Item.Item != "BAD" || stats.ItemFailed != 1 {
		t.Errorf("ErrorHandler got %+v", herr)
	}
	if upper.GetPriority() != 1 {
		t.Error("the priority is lost")
	}
}

// A pipeline may replace the item, and a committer runs last whatever its priority.
func TestCommitterRunsLast(t *testing.T) {
	c := &staging{}
	replace := enginetest.PipelineFunc{Priority: 50, Process: func(item *tegenaria.ItemMeta) error { item.Item = "replaced"; return nil }}
	s := emitting("x")
	enginetest.MustRun(t, enginetest.NewEngine(onePage(), s, tegenaria.EngineWithPipelines(c, replace)))
	if !slices.Equal(c.committed, []any{"replaced"}) || !slices.Equal(c.restore, []string{""}) {
		t.Errorf("committed %v, restored %q", c.committed, c.restore)
	}
}

// A failing Prepare ends the run: nothing is settled that is not durable.
func TestFailingCommitter(t *testing.T) {
	c := &failingCommitter{}
	e := enginetest.NewEngine(onePage(), emitting("x"), tegenaria.EngineWithPipelines(c))
	err := enginetest.Run(t, e)
	var failed *tegenaria.RunError
	if !errors.As(err, &failed) || failed.Op != "store" || !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "failingCommitter") {
		t.Errorf("Run returned %v, want a *RunError of store that names the committer", err)
	}
	if s := e.Stats(); s.Settled != 0 || s.Pending != 1 {
		t.Errorf("stats: %+v", s)
	}
}

type failingCommitter struct{ staging }

func (c *failingCommitter) Prepare(_ context.Context, ids []string) ([]byte, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return nil, errBroken
}

// Items of one page pass concurrently, as many at once as EngineWithItemConcurrency says.
func TestItemConcurrency(t *testing.T) {
	for _, n := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			var running, peak atomic.Int64
			slow := enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error {
				peak.Store(max(peak.Load(), running.Add(1)))
				enginetest.Sleep(time.Second)
				running.Add(-1)
				return nil
			}}
			began := time.Now()
			enginetest.MustRun(t, enginetest.NewEngine(onePage(), emitting(1, 2, 3, 4, 5, 6), tegenaria.EngineWithItemConcurrency(n), tegenaria.EngineWithPipelines(slow)))
			if took := time.Since(began); peak.Load() != int64(n) || took != time.Duration(6/n)*time.Second {
				t.Errorf("%d at once, %s in all", peak.Load(), took)
			}
		})
	}
}

// A burst of items fills the elastic buffer; then the parser waits, and nothing is lost.
func TestItemsFeelBackpressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 5000
		sent := 0
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			for i := range n {
				item <- tegenaria.NewItem(ctx, i)
				sent++
			}
			return nil
		}
		release := make(chan struct{})
		gate := enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { <-release; return nil }}
		e := enginetest.NewEngine(onePage(), s, tegenaria.EngineWithPipelines(gate))
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		synctest.Wait()
		pool := e.Summary().ItemBuffers
		if pool.Total != pool.BufferCap*pool.MaxBufferNumber || pool.BufferNumber != pool.MaxBufferNumber {
			t.Errorf("the buffer is not full: %+v", pool)
		}
		if sent > pool.Total+16+2 {
			t.Errorf("the parser has sent %d items", sent)
		}
		close(release)
		if err := <-result; err != nil || e.Stats().ItemScraped != n {
			t.Errorf("Run: %v, %d items", err, e.Stats().ItemScraped)
		}
	})
}

// What a handler of an item's error asks for belongs to the item's page.
func TestItemErrorMayAskForMore(t *testing.T) {
	w := onePage().Page("http://a.test/more", enginetest.Text("x"))
	s := emitting("x")
	parse := s.Parse
	s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		if ctx.Request.Url == "http://a.test/more" {
			if ctx.Request.Depth != 1 {
				t.Errorf("depth %d", ctx.Request.Depth)
			}
			return nil
		}
		return parse(ctx, item, req)
	}
	s.Fail = func(_ *tegenaria.HandleError, req chan<- *tegenaria.Context) {
		req <- enginetest.Send("http://a.test/more")
	}
	enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { return errBroken }})))
	if w.Count("http://a.test/more") != 1 {
		t.Errorf("asked %q", w.Urls())
	}
}

// The context of a PipelineFunc ends when Limits.Callback is over, and when its item is done.
func TestPipelineFuncContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(ctx, "quick")
			item <- tegenaria.NewItem(ctx, "stuck")
			return nil
		}
		var quick context.Context
		e := enginetest.NewEngine(onePage(), s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}), tegenaria.EngineWithPipelines(
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
		stats := enginetest.MustRun(t, e)
		var late *tegenaria.CallbackTimeoutError
		if herr := s.OnlyError(t); !errors.As(herr, &late) || late.Stage != tegenaria.StagePipeline || herr.Item.Item != "stuck" {
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
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(ctx, 1)
			return nil
		}
		e := enginetest.NewEngine(onePage(), s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}),
			tegenaria.EngineWithEvents(tegenaria.Events{ItemScraped: func(*tegenaria.ItemMeta) { <-release }}))
		enginetest.Run(t, e)
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
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
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
				enginetest.MustRun(t, e)
				log.Reset()
				enginetest.MustRun(t, e) // the second run counts its own items
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

// The three traps: ways to build an engine that look right and are not. Each test says which change of the
// engine makes it fail.

// An item that fails long after its request was parsed may still ask, through ErrorHandler, for a new
// request. So an item keeps its request open, and the crawl.
//
// It fails if items.add does not open the item's request (root.tryOpen in items.go, and the done of
// MarkAsProcessed with it) and does not count it (Ledger.Items): the ledger is at zero as soon as the
// only page was parsed.
func TestTrapItemErrorAsksForNewRequestLate(t *testing.T) {
	const late = "http://a.test/late"
	for _, slow := range []time.Duration{0, time.Second, time.Hour} {
		t.Run(slow.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page(late, enginetest.Text("x"))
				s := enginetest.NewSpider("http://a.test/")
				var parsed time.Time
				s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					if resp.Request.Url != late {
						item <- tegenaria.NewItem(resp, "fails")
						parsed = time.Now()
					}
					return nil
				}
				s.Fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
					if err.Item != nil {
						req <- enginetest.Send(late)
					}
				}
				fails := enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error {
					enginetest.Wait(context.Background(), slow)
					return errors.New("too late?")
				}}
				began := time.Now()
				stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(fails)))
				if parsed != began {
					t.Errorf("the page was parsed after %s", parsed.Sub(began))
				}
				if !slices.Equal(w.Urls(), []string{"http://a.test/", late}) {
					t.Errorf("asked for %q", w.Urls())
				} else if got := w.Visits()[1].At.Sub(began); got != slow {
					t.Errorf("the late request was made after %s, want %s", got, slow)
				}
				if took := time.Since(began); took != slow {
					t.Errorf("the crawl took %s, want %s", took, slow)
				}
				enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2})
			})
		})
	}
}

// images is a pipeline that fetches a file for each item.
type images struct {
	mu     sync.Mutex
	got    map[string]string // file → text
	failed []error
	began  chan struct{} // receives when a Fetch begins
	onPage map[string]string
}

func (p *images) GetPriority() int { return 0 }

func (p *images) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	return errors.New("ProcessItem was called")
}

func (p *images) ProcessItemContext(ctx *tegenaria.Context, item *tegenaria.ItemMeta) error {
	url := item.Item.(string)
	select {
	case p.began <- struct{}{}:
	default:
	}
	resp, err := ctx.Fetch(tegenaria.NewRequest(url, "GET", nil))
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed = append(p.failed, err)
		return err
	}
	p.got[url] = resp.String()
	p.onPage[url] = ctx.Response().URL
	return nil
}

// slowSite answers all after a second.
type slowSite struct {
	mu    sync.Mutex
	asked map[string]int
}

func (s *slowSite) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	s.mu.Lock()
	s.asked[ctx.Request.Url]++
	s.mu.Unlock()
	select {
	case <-time.After(time.Second):
		ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, http.StatusOK, nil, []byte("of "+ctx.Request.Url))}
	case <-ctx.Done():
		ctx.DownloadResult = &tegenaria.RequestResult{Error: tegenaria.NewError(ctx.CtxId, ctx.Err())}
	}
	result <- ctx
}

func (s *slowSite) CheckStatus(status uint64, _ []uint64) bool { return status < 400 }

// Pipelines that fetch come to their end while every item worker is in Fetch and every other worker is busy, also while the crawl stops.
func TestFetchingPipelines(t *testing.T) {
	for _, stops := range []bool{false, true} {
		t.Run(fmt.Sprint("stops: ", stops), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := &slowSite{asked: make(map[string]int)}
				files := &images{got: make(map[string]string), onPage: make(map[string]string), began: make(chan struct{}, 1)}
				parse := func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
					url := ctx.Request.Url
					for i := range 8 {
						items <- tegenaria.NewItem(ctx, fmt.Sprint(url, "/file/", i))
					}
					for i := range 4 {
						if ctx.Request.Depth < 3 {
							req <- tegenaria.NewContext(tegenaria.NewRequest(fmt.Sprint(url, "/", i), "GET", nil))
						}
					}
					return nil
				}
				engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithDownloader(site), tegenaria.EngineWithConcurrency(2), tegenaria.EngineWithItemConcurrency(3),
					tegenaria.EngineWithSchedulerNum(2), tegenaria.EngineWithPipelines(files), tegenaria.EngineWithQuiet(), tegenaria.EngineWithGrace(10*time.Minute),
					tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 30 * time.Second}),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
				engine.RegisterSpiders(tegenaria.NewSpiderOf("files", parse, tegenaria.NewRequest("http://a.test/x", "GET", nil)))
				stopped := make(chan error, 1)
				if stops {
					go func() {
						<-files.began
						<-time.After(3 * time.Second)
						stopped <- engine.Stop(context.Background())
					}()
				}
				err := engine.Run(t.Context(), "files")
				s := engine.Stats()
				var stop *tegenaria.StoppedError
				switch {
				case stops && (!errors.As(err, &stop) || <-stopped != nil):
					t.Error(err)
				case !stops && (err != nil || s.Outcomes[tegenaria.Fetched] != (1+4+16+64)*9):
					t.Errorf("%v, %+v", err, s.Outcomes)
				}
				if len(files.failed) > 0 || s.ItemFailed > 0 || int(s.ItemScraped) != len(files.got) || len(files.got) == 0 || len(s.Abandoned) > 0 {
					t.Errorf("%d files, %d items, %d failed: %v", len(files.got), s.ItemScraped, s.ItemFailed, errors.Join(files.failed...))
				}
				for url, text := range files.got {
					page, _, _ := strings.Cut(url, "/file/")
					if text != "of "+url || files.onPage[url] != page || site.asked[url] != 1 {
						t.Errorf("%s: %q, of page %s, asked for %d times", url, text, files.onPage[url], site.asked[url])
					}
				}
			})
		})
	}
}

// A pipeline whose Fetch does not end in time is given up; the Fetch ends with it.
func TestFetchingPipelineTooSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan error, 1)
		p := pipelineWithContext(func(ctx *tegenaria.Context, _ *tegenaria.ItemMeta) error {
			<-ctx.Done()
			_, err := ctx.Fetch(tegenaria.NewRequest("http://a.test/file", "GET", nil))
			gone <- err
			return err
		})
		parse := func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			items <- tegenaria.NewItem(ctx, 1)
			return nil
		}
		site := &slowSite{asked: make(map[string]int)}
		engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithDownloader(site), tegenaria.EngineWithPipelines(p), tegenaria.EngineWithQuiet(),
			tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 5 * time.Second}), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
		engine.RegisterSpiders(tegenaria.NewSpiderOf("slow", parse, tegenaria.NewRequest("http://a.test/x", "GET", nil)))
		if err := engine.Run(t.Context(), "slow"); err != nil {
			t.Error(err)
		}
		if err := <-gone; err == nil || site.asked["http://a.test/file"] > 0 {
			t.Errorf("%v, asked for %d times", err, site.asked["http://a.test/file"])
		}
		if s := engine.Stats(); s.ItemFailed != 1 || s.InFlight != 0 {
			t.Errorf("%+v", s)
		}
	})
}

type pipelineWithContext func(ctx *tegenaria.Context, item *tegenaria.ItemMeta) error

func (pipelineWithContext) GetPriority() int { return 0 }

func (pipelineWithContext) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	return nil
}

func (f pipelineWithContext) ProcessItemContext(ctx *tegenaria.Context, item *tegenaria.ItemMeta) error {
	return f(ctx, item)
}

// A pipeline that hangs in the middle of a Fetch, because a middleware never returns, is given up with it: the crawl ends. It fails if
// visit.Abandon does not end the call of Fetch that the middleware was called for.
func TestAbandonedFetchOfAPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := onePage().Page("http://a.test/image", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(ctx, "item")
			return nil
		}
		m := &enginetest.Hooks{Name: "m", Request: func(ctx *tegenaria.Context) error {
			if ctx.Request.Url == "http://a.test/image" {
				<-release
			}
			return nil
		}}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}),
			tegenaria.EngineWithPipelines(pipelineWithContext(func(ctx *tegenaria.Context, _ *tegenaria.ItemMeta) error {
				_, err := get(ctx, "http://a.test/image")
				return err
			})))
		timer := time.AfterFunc(time.Hour, func() { e.Stop(context.Background()) })
		began := time.Now()
		enginetest.WantAbandoned(t, enginetest.Run(t, e))
		timer.Stop()
		if stats := e.Stats(); time.Since(began) != 11*time.Second || stats.Abandoned[tegenaria.StageRequest] != 1 ||
			stats.Abandoned[tegenaria.StagePipeline] != 1 || stats.InFlight != 0 {
			t.Errorf("after %s: %+v", time.Since(began), stats)
		}
		enginetest.WantOutcomes(t, e.Stats(), map[tegenaria.Outcome]int64{tegenaria.Failed: 2})
		close(release)
		synctest.Wait()
	})
}

// It fails if a pipeline that is left out is opened or gets items, or if one that is registered later is left out too.
func TestEngineWithoutPipelines(t *testing.T) {
	before, after := &openedPipeline{}, &openedPipeline{}
	parser := tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.Item("x")
	})
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithDownloader(tegenaria.DownloaderFunc(func(_ context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
			return tegenaria.NewResponse(r, 200, nil, nil), nil
		})),
		tegenaria.EngineWithPipelines(before), tegenaria.EngineWithoutPipelines(), tegenaria.EngineWithPipelines(after),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("s", parser, "http://a.test/")))
	if err := engine.Run(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if *before != (openedPipeline{}) || *after != (openedPipeline{opened: 1, items: 1}) {
		t.Errorf("the one before: %+v, the one after: %+v", *before, *after)
	}
}

// It fails if an output that is left out is opened or gets items, or if another pipeline, or an output that is
// registered later, is left out too.
func TestEngineWithoutOutputs(t *testing.T) {
	other, before, after := &openedPipeline{}, &openedOutput{}, &openedOutput{}
	parser := tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.Item("x")
	})
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithDownloader(tegenaria.DownloaderFunc(func(_ context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
			return tegenaria.NewResponse(r, 200, nil, nil), nil
		})),
		tegenaria.EngineWithPipelines(before, other), tegenaria.EngineWithoutOutputs(), tegenaria.EngineWithPipelines(after),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("s", parser, "http://a.test/")))
	if err := engine.Run(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	want := openedPipeline{opened: 1, items: 1}
	if *before != (openedOutput{}) || after.openedPipeline != want || *other != want {
		t.Errorf("the output before: %+v, the one after: %+v, the other pipeline: %+v", *before, *after, *other)
	}
}

type openedOutput struct{ openedPipeline }

func (*openedOutput) CommitKey() string { return "opened" }

func (*openedOutput) Restore(context.Context, []byte) error { return nil }

func (*openedOutput) Prepare(context.Context, []string) ([]byte, error) { return nil, nil }

func (*openedOutput) Discard(string) {}

type openedPipeline struct{ opened, items int }

func (p *openedPipeline) Open(context.Context, tegenaria.SpiderInterface) error {
	p.opened++
	return nil
}

func (p *openedPipeline) GetPriority() int { return 1 }

func (p *openedPipeline) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	p.items++
	return nil
}

// Idle was true while a datum was on its way from one pool to the next. Fails if items.add does not hold the item's
// request open.
func TestNotIdleWhileAnItemIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(resp, 1)
			return nil
		}
		release := make(chan struct{})
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { <-release; return errors.New("bad") }}))
		s.Fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
			w.Page("http://a.test/next", enginetest.Text("x"))
			if err.Stage == tegenaria.StagePipeline && err.Request.Depth == 0 {
				req <- enginetest.Send("http://a.test/next")
			}
		}
		if !e.Idle() {
			t.Error("not idle before the run")
		}
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		synctest.Wait()
		if st := e.Stats(); e.Idle() || st.Items != 1 || st.InFlight != 1 {
			t.Errorf("idle %t, stats %+v: an item is in its pipeline", e.Idle(), st)
		}
		close(release)
		if err := <-result; err != nil {
			t.Errorf("Run: %v", err)
		}
		if w.Count("http://a.test/next") != 1 || !e.Idle() {
			t.Errorf("asked %q; what ErrorHandler wanted for an item is lost", w.Urls())
		}
	})
}

// There was a goroutine for each datum. Fails if items.add puts in a goroutine of its own.
func TestGoroutinesDoNotFollowTheItems(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	s := enginetest.NewSpider("http://a.test/")
	const n = 20_000
	s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		for i := range n {
			item <- tegenaria.NewItem(resp, i)
		}
		return nil
	}
	before := runtime.NumGoroutine()
	var most, seen atomic.Int64
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error {
		if seen.Add(1)%100 == 0 {
			most.Store(max(most.Load(), int64(runtime.NumGoroutine()-before)))
		}
		return nil
	}}))
	if stats := enginetest.MustRun(t, e); stats.ItemScraped != n {
		t.Errorf("%d items", stats.ItemScraped)
	}
	if most.Load() > 150 {
		t.Errorf("%d goroutines for %d items", most.Load(), n)
	}
}

// After one pipeline error nobody received items, and the parser hung on its 33rd. Fails if items.pipe returns
// the pipelines' error to its stage.
func TestPipelineErrorEndsOneItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const items = 1000
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			for i := range items {
				item <- tegenaria.NewItem(resp, i)
			}
			return nil
		}
		good := &enginetest.Collector{Priority: 2}
		bad := enginetest.PipelineFunc{Priority: 1, Process: func(item *tegenaria.ItemMeta) error {
			if item.Item.(int)%2 == 0 {
				return errors.New("even")
			}
			return nil
		}}
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(good, bad)))
		if len(good.All()) != items/2 || stats.ItemScraped != items/2 || stats.ItemFailed != items/2 {
			t.Errorf("%d items passed, stats: %+v", len(good.All()), stats)
		}
		if n := len(s.Errors()); n != items/2 {
			t.Errorf("ErrorHandler was told of %d, want %d", n, items/2)
		}
	})
}

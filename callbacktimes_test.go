package tegenaria_test

import (
	"context"

	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// timesOf runs a crawl that measures its callbacks, and returns them by stage and name.
func timesOf(t *testing.T, spider tegenaria.SpiderInterface, w *enginetest.World, opts ...tegenaria.EngineOption) map[string]tegenaria.Callback {
	t.Helper()
	e := enginetest.NewEngine(w, spider, append(opts, tegenaria.EngineWithCallbackTimes(true))...)
	if err := e.Run(t.Context(), spider.GetName()); err != nil {
		t.Fatal(err)
	}
	found := make(map[string]tegenaria.Callback)
	for _, c := range e.Callbacks() {
		key := string(c.Stage) + " " + c.Name
		if _, twice := found[key]; twice {
			t.Errorf("%s is there twice", key)
		}
		found[key] = c
	}
	return found
}

// wantTimes compares calls and times of callbacks; others may be there too.
func wantTimes(t *testing.T, found map[string]tegenaria.Callback, want map[string]tegenaria.Callback) {
	t.Helper()
	for key, w := range want {
		c := found[key]
		if c.Calls != w.Calls || c.Errors != w.Errors || c.Time != w.Time {
			t.Errorf("%s: %d calls, %d errors, %v; want %d, %d, %v", key, c.Calls, c.Errors, c.Time, w.Calls, w.Errors, w.Time)
		}
		if counted := slices.Max(append(c.Counts, 0)); w.Calls == 1 && counted != 1 {
			t.Errorf("%s: the counts are %v", key, c.Counts)
		}
	}
	if t.Failed() {
		for key, c := range found {
			t.Log(key, c.Calls, c.Errors, c.Time)
		}
	}
}

const (
	halfSecond = 500 * time.Millisecond
	ownURL     = "http://a.test/own"
)

// fetchSlowly fetches a page that takes 1.5 s, and takes half a second itself.
func fetchSlowly(ctx *tegenaria.Context) error {
	enginetest.Sleep(halfSecond / 2)
	_, err := ctx.Fetch(tegenaria.NewRequest("http://b.test/", tegenaria.GET, nil))
	enginetest.Sleep(halfSecond / 2)
	return err
}

// fetchingPipeline fetches for each item.
type fetchingPipeline struct{ slowPipeline }

func (fetchingPipeline) ProcessItemContext(ctx *tegenaria.Context, _ *tegenaria.ItemMeta) error {
	return fetchSlowly(ctx)
}

// What a callback waits for in Fetch is not its own time, whoever calls it, several times at once too. The middleware
// of what it fetches has its own time.
func TestCallbackTimesWithoutFetch(t *testing.T) {
	onlyOwn := func(code func(ctx *tegenaria.Context) error) func(ctx *tegenaria.Context) error {
		return func(ctx *tegenaria.Context) error {
			if ctx.Request.Url == ownURL {
				return code(ctx)
			}
			return nil
		}
	}
	nothing := tegenaria.Parser(enginetest.Nothing)
	for _, tt := range []struct {
		name  string
		parse tegenaria.Parser
		opts  []tegenaria.EngineOption
		of    string
	}{
		{"parser", func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			return fetchSlowly(ctx)
		}, nil, "parse Parser"},
		{"parser made by Handle", tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
			return fetchSlowly(r.Context())
		}), nil, "parse Parser"},
		{"two at once", func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			enginetest.Sleep(halfSecond)
			var fetches sync.WaitGroup
			for i := range 2 {
				fetches.Go(func() {
					if _, err := ctx.Fetch(tegenaria.NewRequest(fmt.Sprintf("http://b%d.test/", i), tegenaria.GET, nil)); err != nil {
						t.Error(err)
					}
				})
			}
			fetches.Wait()
			return nil
		}, nil, "parse Parser"},
		{"ProcessRequest", nothing, []tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(
			tegenaria.MiddlewareFuncs{Name: "fetches", Request: onlyOwn(fetchSlowly)})}, "request fetches"},
		{"ProcessResponse", nothing, []tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(
			tegenaria.MiddlewareFuncs{Name: "fetches", Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
				return onlyOwn(fetchSlowly)(ctx)
			}})}, "response fetches"},
		{"pipeline", parseItems(1), []tegenaria.EngineOption{tegenaria.EngineWithPipelines(fetchingPipeline{})},
			"pipeline tegenaria_test.fetchingPipeline"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, slowPage := enginetest.NewWorld().Page(ownURL, enginetest.Text("x")), enginetest.After(3*halfSecond, enginetest.Text("x"))
				w.Page("http://b.test/", slowPage).Page("http://b0.test/", slowPage).Page("http://b1.test/", slowPage)
				spider := enginetest.NewSpider(ownURL)
				spider.Parse = tt.parse
				found := timesOf(t, spider, w, tt.opts...)
				calls := int64(1)
				if strings.HasPrefix(tt.of, "re") { // the middleware sees what it fetches
					calls = 2
				}
				wantTimes(t, found, map[string]tegenaria.Callback{tt.of: {Calls: calls, Time: halfSecond}})
			})
		})
	}
}

// What a parser waits for room for its items is not its own time.
func TestCallbackTimesWithoutFullBuffer(t *testing.T) {
	const items = 1100 // more than the buffer holds
	for name, parse := range map[string]tegenaria.Parser{
		"channels": func(ctx *tegenaria.Context, to chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			enginetest.Sleep(halfSecond)
			return parseItems(items)(ctx, to, nil)
		},
		"Handle": tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[int]) error {
			enginetest.Sleep(halfSecond)
			for i := range items {
				if err := out.Item(i); err != nil {
					return err
				}
			}
			return nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spider := enginetest.NewSpider(ownURL)
				spider.Parse = parse
				found := timesOf(t, spider, enginetest.NewWorld().Page(ownURL, enginetest.Text("x")),
					tegenaria.EngineWithItemConcurrency(1), tegenaria.EngineWithPipelines(slowPipeline{}))
				wantTimes(t, found, map[string]tegenaria.Callback{
					"parse Parser":                         {Calls: 1, Time: halfSecond},
					"pipeline tegenaria_test.slowPipeline": {Calls: items, Time: items * time.Second},
				})
			})
		})
	}
}

// What a parser waits for the store of its requests is not its own time.
func TestCallbackTimesWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spider := enginetest.NewSpider(ownURL)
		spider.Parse = tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[int]) error {
			enginetest.Sleep(halfSecond)
			if r.URL != ownURL {
				return nil
			}
			return out.Request(tegenaria.NewRequest("http://a.test/2", tegenaria.GET, nil))
		})
		w := enginetest.NewWorld().Page(ownURL, enginetest.Text("x")).Page("http://a.test/2", enginetest.Text("x"))
		found := timesOf(t, spider, w,
			tegenaria.EngineWithCache(slowStore{CacheInterface: tegenaria.NewMemoryCache(), accept: time.Minute}))
		wantTimes(t, found, map[string]tegenaria.Callback{"parse Parser": {Calls: 2, Time: 2 * halfSecond}})
	})
}

// What the start waits for room in the queue is not its own time.
func TestCallbackTimesOfStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const seeds = 10
		w, spider := enginetest.NewWorld(), enginetest.NewSpider()
		for i := range seeds {
			w.Page(fmt.Sprintf("http://a.test/%d", i), enginetest.After(time.Minute, enginetest.Text("x")))
		}
		spider.Parse = enginetest.Nothing
		spider.Start = func(req chan<- *tegenaria.Context) {
			enginetest.Sleep(halfSecond)
			for i := range seeds { // which come at once, and wait
				req <- enginetest.Send(fmt.Sprintf("http://a.test/%d", i))
			}
			enginetest.Sleep(halfSecond)
		}
		found := timesOf(t, spider, w, tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithLimits(tegenaria.Limits{Pending: 1}))
		c := found["start test"]
		if c.Calls != 1 || c.Errors != 0 || c.Time < halfSecond || c.Time > 2*halfSecond {
			t.Errorf("the start: %d calls, %d errors, %v; want 1, 0, between 0.5 s and 1 s of more than 8 minutes", c.Calls, c.Errors, c.Time)
		}
	})
}

// bookFeed is a feed that commits.
type bookFeed struct{ slowFeed }

func (bookFeed) CommitKey() string                     { return "books" }
func (bookFeed) Restore(context.Context, []byte) error { return nil }
func (bookFeed) Discard(string)                        {}
func (bookFeed) Prepare(_ context.Context, ids []string) ([]byte, error) {
	if len(ids) > 0 {
		enginetest.Sleep(2 * time.Second)
	}
	return nil, nil
}

// detailParser is a parser that no name was given to.
func detailParser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	enginetest.Sleep(time.Second)
	return nil
}

// Each callback is there under its name, with its calls, its failures and its time. What steers the engine is no failure.
func TestCallbackNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const s = time.Second
		w := enginetest.NewWorld().Page("http://a.test/gone", enginetest.Status(404))
		parsers := map[string]tegenaria.Parser{ // by path
			"list": func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				enginetest.Sleep(s)
				for i := range 3 {
					items <- tegenaria.NewItem(ctx, i)
				}
				return nil
			},
			"broken": func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
				enginetest.Sleep(s)
				panic("broken")
			},
			"again": func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				enginetest.Sleep(s)
				if ctx.Request.Attempt > 0 {
					return nil
				}
				return tegenaria.Retry(s, errBroken)
			},
			"detail": detailParser,
			"handle": tegenaria.Handle(func(context.Context, *tegenaria.Response, *tegenaria.Output[int]) error {
				enginetest.Sleep(s)
				return nil
			}),
		}
		seeds := []*tegenaria.Request{tegenaria.NewRequest("http://a.test/gone", tegenaria.GET, nil)}
		for path, parser := range parsers {
			url := "http://a.test/" + path
			w.Page(url, enginetest.Text("x"))
			seeds = append(seeds, tegenaria.NewRequest(url, tegenaria.GET, parser))
		}
		w.Page("http://a.test/own", enginetest.Text("x")).Page("http://a.test/named", enginetest.Text("x"))
		seeds = append(seeds, tegenaria.NewRequest("http://a.test/own", tegenaria.GET, nil),
			tegenaria.NewRequest("http://a.test/named", tegenaria.GET, nil, tegenaria.RequestWithParserName("list")))
		spider := tegenaria.NewSpiderOf("shop", parseFor(s), seeds...).
			On("list", parsers["list"]).
			OnError(func(*tegenaria.HandleError, func(*tegenaria.Request) error) error { enginetest.Sleep(s); return nil })
		found := timesOf(t, spider, w,
			tegenaria.EngineWithErrorHandler(func(tegenaria.SpiderInterface, *tegenaria.HandleError) { enginetest.Sleep(s) }),
			tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{Name: "language",
				Request:  func(ctx *tegenaria.Context) error { enginetest.Sleep(s); return nil },
				Response: func(*tegenaria.Context, chan<- *tegenaria.Context) error { enginetest.Sleep(2 * s); return nil },
				Error: func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
					enginetest.Sleep(s)
					return err
				},
			}),
			tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, func(_ context.Context, i int) (int, error) {
				enginetest.Sleep(s)
				switch i {
				case 1:
					return 0, tegenaria.DropItem(errBroken)
				case 2:
					return 0, errBroken
				}
				return i, nil
			}), bookFeed{}))
		prepared := found["settle slow"]
		if prepared.Calls < 1 || prepared.Time < 2*s {
			t.Errorf("the feed was made durable in %d calls and %v", prepared.Calls, prepared.Time)
		}
		wantTimes(t, found, map[string]tegenaria.Callback{
			"parse list":                        {Calls: 2, Time: 2 * s},
			"parse Parser":                      {Calls: 1, Time: s},
			"parse tegenaria_test.detailParser": {Calls: 1, Time: s},
			"pipeline slow":                     {Calls: 2, Time: 2 * s},
			"request language":                  {Calls: 9, Time: 9 * s},
			"response language":                 {Calls: 9, Time: 18 * s},
			"error language":                    {Calls: 3, Time: 3 * s}, // gone, broken, again
			"error ErrorHandler":                {Calls: 4, Time: 4 * s}, // gone, broken, two items
			"error EngineWithErrorHandler":      {Calls: 4, Time: 4 * s},
		})
		literals := map[string][2]int64{"parse": {4, 1}, "pipeline": {6, 2}} // of funcs without a name: calls, failures
		for key, c := range found {
			stage, name, _ := strings.Cut(key, " ")
			if strings.HasPrefix(name, "tegenaria_test.TestCallbackNames.func") {
				left := literals[stage]
				literals[stage] = [2]int64{left[0] - c.Calls, left[1] - c.Errors}
				if c.Time != time.Duration(c.Calls)*s {
					t.Errorf("%s: %d calls took %v", key, c.Calls, c.Time)
				}
			}
		}
		if literals["parse"] != [2]int64{} || literals["pipeline"] != [2]int64{} {
			t.Errorf("calls and failures that are missing of funcs without names: %v", literals)
		}
	})
}

// Nothing is measured unasked. The callbacks may be read while the crawl runs, and those of a run stay until the next one.
func TestCallbacksOfRuns(t *testing.T) {
	w := enginetest.NewWorld()
	var seeds []string
	for i := range 200 {
		seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i))
		w.Page(seeds[i], enginetest.Text("x"))
	}
	spider := enginetest.NewSpider(seeds...)
	e := enginetest.NewEngine(w, spider)
	if err := e.Run(t.Context(), "test"); err != nil || len(e.Callbacks()) != 0 {
		t.Fatalf("%v, unasked %v", err, e.Callbacks())
	}
	tegenaria.EngineWithCallbackTimes(true)(e)
	for range 2 {
		over, readers := make(chan struct{}), sync.WaitGroup{}
		readers.Go(func() {
			for {
				for _, c := range e.Callbacks() {
					if c.Calls < 0 || c.Calls > int64(len(seeds)) || c.Time < 0 {
						t.Errorf("%+v", c)
					}
				}
				select {
				case <-over:
					return
				default:
				}
			}
		})
		if err := e.Run(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		close(over)
		readers.Wait()
		at := slices.IndexFunc(e.Callbacks(), func(c tegenaria.Callback) bool { return c.Stage == tegenaria.StageParse })
		if at < 0 || e.Callbacks()[at].Calls != int64(len(seeds)) {
			t.Errorf("after a run: %+v", e.Callbacks())
		}
	}
}

func ExampleSpiderEngine_Callbacks() {
	shop := enginetest.NewWorld().Page("http://shop.example/", enginetest.Text("Dune"))
	parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.Item(r.String())
	})
	engine := enginetest.NewEngine(shop, tegenaria.NewSpider("shop", parser, "http://shop.example/"), tegenaria.EngineWithCallbackTimes(true))
	if err := engine.Run(context.Background(), "shop"); err != nil {
		fmt.Println(err)
	}
	for _, c := range engine.Callbacks() {
		fmt.Println(c.Stage, c.Name, c.Calls, c.Errors) // and c.Time, c.Mean(), c.Quantile(0.95)
	}
	// Unordered output:
	// start shop 1 0
	// parse Parser 1 0
}

func ExampleCallback_Quantile() {
	c := tegenaria.Callback{Calls: 100, Time: 3 * time.Second, Counts: make([]int64, len(tegenaria.CallbackBounds())+1)}
	c.Counts[6], c.Counts[7] = 90, 10 // 90 took 1 to 2 ms, 10 took 2 to 4 ms
	fmt.Println(c.Mean(), c.Quantile(0.5), c.Quantile(0.95))
	// Output: 30ms 1.555556ms 3ms
}

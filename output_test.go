package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/links"
)

// handledSpider starts with one page whose parser is made by Handle: its Output hands over directly.
func handledSpider(h func(ctx context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error) *handledBy {
	return &handledBy{enginetest.NewSpider("http://a.test/"), tegenaria.Handle(h)}
}

type handledBy struct {
	*enginetest.Spider
	parser tegenaria.Parser
}

func (s *handledBy) StartRequest(req chan<- *tegenaria.Context) {
	req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", "GET", s.parser))
}

// ways runs a handler by its three ways: directly, with filters that want to see requests, through channels.
func ways(t *testing.T, f func(t *testing.T, wrap func(p tegenaria.Parser) tegenaria.Parser, opts ...tegenaria.EngineOption)) {
	plain := func(p tegenaria.Parser) tegenaria.Parser { return p }
	t.Run("direct", func(t *testing.T) { f(t, plain) })
	t.Run("seen", func(t *testing.T) {
		f(t, plain, tegenaria.EngineWithMiddlewares(&enginetest.FilterHooks{Accept: func(*tegenaria.Response, *tegenaria.Request) error { return nil }}))
	})
	t.Run("channels", func(t *testing.T) { f(t, func(p tegenaria.Parser) tegenaria.Parser { return tegenaria.Parsers(p) }) })
}

func TestOutput(t *testing.T) {
	ways(t, func(t *testing.T, wrap func(tegenaria.Parser) tegenaria.Parser, opts ...tegenaria.EngineOption) {
		refs := []string{"/1", "1", "http://a.test/1#frag", "/2?b=2&a=1", "/2?a=1&b=2", "//b.test/", "", " ", "ftp://a.test/", "mailto:x@y", "javascript:1", "http://["}
		w := onePage().Page("http://a.test/1", enginetest.Text("x")).Page("http://a.test/2?b=2&a=1", enginetest.Text("x")).Page("http://b.test/", enginetest.Text("x")).Page("http://a.test/r", enginetest.Text("x"))
		s := handledSpider(func(ctx context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
			if ctx != context.Context(r.Context()) {
				t.Error("ctx is not r.Context()")
			}
			for _, ref := range refs {
				if err := out.Follow(ref); err != nil {
					t.Errorf("Follow(%q): %v", ref, err)
				}
			}
			if err := out.Request(tegenaria.NewRequest("http://a.test/r", "GET", nil)); err != nil {
				t.Errorf("Request: %v", err)
			}
			for i := range 3 {
				if err := out.Item(i); err != nil {
					t.Errorf("Item: %v", err)
				}
			}
			return nil
		})
		s.Parse = enginetest.Nothing
		s.parser = wrap(s.parser)
		items := &enginetest.Collector{}
		e := enginetest.NewEngine(w, s, append(opts, tegenaria.EngineWithPipelines(items), tegenaria.EngineWithItemConcurrency(1))...)
		stats := enginetest.MustRun(t, e)
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 5, tegenaria.Duplicate: 3, tegenaria.Filtered: 6})
		for reason, n := range map[string]int64{"filtered: empty": 2, "filtered: scheme": 3, "filtered: url": 1} {
			if stats.Reasons[reason] != n {
				t.Errorf("%d times %q, want %d: %v", stats.Reasons[reason], reason, n, stats.Reasons)
			}
		}
		if !slices.Equal(items.All(), []any{0, 1, 2}) || len(s.Errors()) != 0 {
			t.Errorf("items %v, errors %v", items.All(), s.Errors())
		}
	})
}

// FollowLinks takes the page's links, each once, from the document's base; options choose.
func TestFollowLinks(t *testing.T) {
	body := `<base href="/base/"><a href="1">1</a><a href="1#x">1</a><a href="/2">2</a><a href="http://b.test/3" rel="nofollow">3</a><area href="4">`
	html := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		return tegenaria.NewResponse(ctx.Request, 200, map[string][]string{"Content-Type": {"text/html"}}, []byte(body)), nil
	}
	ways(t, func(t *testing.T, wrap func(tegenaria.Parser) tegenaria.Parser, opts ...tegenaria.EngineOption) {
		w := enginetest.NewWorld().Page("http://a.test/", html)
		var want []string
		for _, u := range []string{"http://a.test/base/1", "http://a.test/2", "http://b.test/3", "http://a.test/base/4"} {
			w.Page(u, enginetest.Text("x"))
			want = append(want, u)
		}
		s := handledSpider(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
			if n := len(r.Links()); n != len(want) {
				t.Errorf("the page has %d links, want %d", n, len(want))
			}
			return out.FollowLinks()
		})
		s.Parse = enginetest.Nothing
		s.parser = wrap(s.parser)
		enginetest.MustRun(t, enginetest.NewEngine(w, s, opts...))
		got := w.Urls()[1:]
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
	})
}

// FollowLinks takes what chooses links and what their requests get, in any order. It fails if a selector of the links
// themselves finds other links, or an option does not reach each request.
func TestFollowLinksOptions(t *testing.T) {
	const list = `<link rel="next" href="/2"><link rel="icon" href="/icon"><nav><a class="next" href="/2">2</a> <a href="/about">about</a></nav>
		<ul><li class="product"><a href="/tea">Tea</a> <a class="buy" href="/buy/tea">buy</a></li>
		<li class="product"><div><a href="/pot">Pot</a></div></li> <li><a href="/news">News</a></li></ul>`
	type followed struct{ method, url, by, note string }
	var named tegenaria.Parser = tegenaria.Handle(func(context.Context, *tegenaria.Response, *tegenaria.Output[any]) error { return nil })
	note := tegenaria.RequestWithRequestMeta(map[string]any{"note": "x"})
	for _, tt := range []struct {
		name string
		opts []tegenaria.FollowOption
		want []followed
	}{
		{"Scrapy's follow_all(css=…, callback=…)", []tegenaria.FollowOption{links.CSS("li.product a"), tegenaria.RequestWithParserName("item")},
			[]followed{{"GET", "/tea", "item", ""}, {"GET", "/buy/tea", "item", ""}, {"GET", "/pot", "item", ""}}},
		{"links that match", []tegenaria.FollowOption{links.CSS("a.next", ".buy")}, []followed{{"GET", "/2", "", ""}, {"GET", "/buy/tea", "", ""}}},
		{"children that match", []tegenaria.FollowOption{links.CSS("li.product > a:first-child")}, []followed{{"GET", "/tea", "", ""}}},
		{"links in what matches", []tegenaria.FollowOption{links.CSS("nav")}, []followed{{"GET", "/2", "", ""}, {"GET", "/about", "", ""}}},
		{"a link of the head", []tegenaria.FollowOption{links.Tags("link"), links.CSS("link[rel=next]")}, []followed{{"GET", "/2", "", ""}}},
		{"XPath of the links", []tegenaria.FollowOption{links.XPath("//li/div/a")}, []followed{{"GET", "/pot", "", ""}}},
		{"options of requests first", []tegenaria.FollowOption{note, links.Allow("/tea$"), links.Deny("buy"), tegenaria.RequestWithParserName("item")},
			[]followed{{"GET", "/tea", "item", "x"}}},
		{"a method", []tegenaria.FollowOption{links.CSS(".next"), tegenaria.RequestWithMethod("HEAD")}, []followed{{"HEAD", "/2", "", ""}}},
		{"a body makes a POST, as in Follow", []tegenaria.FollowOption{links.CSS(".next"), tegenaria.RequestWithForm(url.Values{"a": {"1"}})},
			[]followed{{"POST", "/2", "", ""}}},
		{"nothing matches", []tegenaria.FollowOption{links.CSS("li.none a"), note}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ways(t, func(t *testing.T, wrap func(tegenaria.Parser) tegenaria.Parser, opts ...tegenaria.EngineOption) {
				var mu sync.Mutex
				var got []followed
				s := tegenaria.NewSpiderOf("test", wrap(tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
					return out.FollowLinks(tt.opts...)
				})), tegenaria.NewRequest("http://a.test/", "GET", nil)).On("item", named)
				record := tegenaria.DownloaderFunc(func(_ context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
					if r.Url == "http://a.test/" {
						return tegenaria.NewResponse(r, 200, map[string][]string{"Content-Type": {"text/html"}}, []byte(list)), nil
					}
					mu.Lock()
					defer mu.Unlock()
					note, _ := r.Meta["note"].(string)
					got = append(got, followed{string(r.Method), strings.TrimPrefix(r.Url, "http://a.test"), r.ParserName(), note})
					return tegenaria.NewResponse(r, 200, nil, nil), nil
				})
				e := tegenaria.NewSpiderEngine(append(opts, tegenaria.EngineWithSpiders(s), tegenaria.EngineWithDownloader(record),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), tegenaria.EngineWithQuiet())...)
				enginetest.MustRun(t, e)
				order := func(a, b followed) int { return strings.Compare(a.url, b.url) }
				slices.SortFunc(got, order)
				want := slices.SortedFunc(slices.Values(tt.want), order)
				if !slices.Equal(got, want) {
					t.Errorf("followed %q, want %q", got, want)
				}
			})
		})
	}
}

// 1,000 links, most of them known, go in batches.
func TestFollowLinksInBatches(t *testing.T) {
	ways(t, func(t *testing.T, wrap func(tegenaria.Parser) tegenaria.Parser, opts ...tegenaria.EngineOption) {
		var refs []string
		w := enginetest.NewWorld()
		for i := range 1000 {
			refs = append(refs, fmt.Sprintf("/%d", i))
		}
		for _, ref := range refs {
			w.Page("http://a.test"+ref, enginetest.Page(refs[:100]...))
		}
		w.Page("http://a.test/", enginetest.Page(refs...))
		parser := wrap(tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
			return out.FollowLinks()
		}))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = parser
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, opts...))
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1001, tegenaria.Duplicate: 1000 * 100})
	})
}

// After the handler has returned, and when the crawl is over, nothing is sent any more.
func TestOutputClosed(t *testing.T) {
	ways(t, func(t *testing.T, wrap func(tegenaria.Parser) tegenaria.Parser, opts ...tegenaria.EngineOption) {
		var kept *tegenaria.Output[any]
		s := handledSpider(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
			kept = out
			return nil
		})
		s.parser = wrap(s.parser)
		enginetest.MustRun(t, enginetest.NewEngine(onePage(), s, opts...))
		for name, err := range map[string]error{
			"Item": kept.Item(1), "Request": kept.Request(tegenaria.NewRequest("http://a.test/x", "GET", nil)), "Follow": kept.Follow("/x"), "FollowLinks": kept.FollowLinks(),
		} {
			if !errors.Is(err, tegenaria.ErrOutputClosed) {
				t.Errorf("%s after the end: %v", name, err)
			}
		}
		if _, err := kept.Fetch(tegenaria.NewRequest("http://a.test/x", "GET", nil)); !errors.Is(err, tegenaria.ErrOutputClosed) {
			t.Errorf("Fetch after the end: %v", err)
		}
	})
}

// wantClosed calls the methods of an Output that takes nothing.
func wantClosed(t *testing.T, out *tegenaria.Output[any]) {
	t.Helper()
	for name, err := range map[string]error{
		"Item": out.Item("late"), "Request": out.Request(tegenaria.NewRequest("http://a.test/late", "GET", nil)),
		"Follow": out.Follow("/late"), "FollowLinks": out.FollowLinks(),
	} {
		if !errors.Is(err, tegenaria.ErrOutputClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// While the item of a page is on its way, the page is open, and the Output of its func is not. It fails if the Output is not closed when
// the func returns, or does not look at that.
func TestOutputClosedBeforeItsItems(t *testing.T) {
	ways(t, func(t *testing.T, wrap func(tegenaria.Parser) tegenaria.Parser, opts ...tegenaria.EngineOption) {
		synctest.Test(t, func(t *testing.T) {
			var kept *tegenaria.Output[any]
			s := handledSpider(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
				kept = out
				return out.Item("item")
			})
			s.parser = wrap(s.parser)
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/late")).Page("http://a.test/late", enginetest.Text("x"))
			e := enginetest.NewEngine(w, s, append(opts, tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(item *tegenaria.ItemMeta) error {
				if item.Item != "item" {
					return nil
				}
				enginetest.Sleep(time.Second) // the func has returned
				wantClosed(t, kept)
				if _, err := kept.Fetch(tegenaria.NewRequest("http://a.test/late", "GET", nil)); !errors.Is(err, tegenaria.ErrOutputClosed) {
					t.Errorf("Fetch: %v", err)
				}
				return nil
			}}), tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Minute}))...)
			if stats := enginetest.MustRun(t, e); stats.Discovered != 1 || stats.ItemScraped != 1 {
				t.Errorf("stats %+v", stats)
			}
		})
	})
}

// An Output takes nothing once its crawl is cancelled, though its func has not returned. It fails if the Output does not look at that.
func TestOutputOfACancelledCrawl(t *testing.T) {
	ways(t, func(t *testing.T, wrap func(tegenaria.Parser) tegenaria.Parser, opts ...tegenaria.EngineOption) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := handledSpider(func(ctx context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
				cancel()
				<-ctx.Done()
				wantClosed(t, out)
				return nil
			})
			s.parser = wrap(s.parser)
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/late"))
			e := enginetest.NewEngine(w, s, opts...)
			if err := e.Run(ctx, "test"); !errors.Is(err, context.Canceled) {
				t.Errorf("Run returned %v", err)
			}
			if stats := e.Stats(); stats.Discovered != 1 || stats.Pending != 1 || stats.Items != 0 {
				t.Errorf("stats %+v", stats)
			}
		})
	})
}

// Its methods may be called from many goroutines.
func TestOutputConcurrently(t *testing.T) {
	ways(t, func(t *testing.T, wrap func(tegenaria.Parser) tegenaria.Parser, opts ...tegenaria.EngineOption) {
		w := onePage()
		s := handledSpider(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
			var all sync.WaitGroup
			for i := range 16 {
				all.Go(func() {
					for k := range 20 {
						if err := errors.Join(out.Item(i), out.Follow(fmt.Sprintf("/%d", k)), out.Request(tegenaria.NewRequest("http://a.test/x", "GET", nil))); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			return nil
		})
		s.Parse = enginetest.Nothing
		s.parser = wrap(s.parser)
		opts = append(opts, tegenaria.EngineWithAllowStatusCode([]uint64{404}))
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, opts...))
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 22, tegenaria.Duplicate: 2*16*20 - 21})
		if stats.ItemScraped != 16*20 {
			t.Errorf("%d items", stats.ItemScraped)
		}
	})
}

// Outside of a run an Output writes to the channels that the parser was given.
func TestOutputInAUnitTest(t *testing.T) {
	parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[string]) error {
		return errors.Join(out.Item(r.String()), out.Follow("/x"), out.Follow(""), out.Request(tegenaria.NewRequest("http://b.test/", "GET", nil)))
	})
	r := tegenaria.NewRequest("http://a.test/", "GET", nil)
	ctx := tegenaria.NewContext(r)
	if err := parser(ctx, nil, nil); err == nil {
		t.Error("a Context without a response is no error")
	}
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(r, 200, nil, []byte("body"))}
	items, requests := make(chan *tegenaria.ItemMeta, 5), make(chan *tegenaria.Context, 5)
	if err := parser(ctx, items, requests); err != nil {
		t.Fatal(err)
	}
	if item := <-items; item.Item != "body" || item.CtxId != ctx.CtxId {
		t.Errorf("item %+v", item)
	}
	if a, b := <-requests, <-requests; a.Request.Url != "http://a.test/x" || b.Request.Url != "http://b.test/" || len(requests) != 0 {
		t.Errorf("requests %v, %v", a.Request, b.Request)
	}
}

// Crawl yields the items of its type; leaving the loop stops the crawl.
func TestCrawl(t *testing.T) {
	latency := time.Duration(0)
	spider := func(w *enginetest.World, pages int) tegenaria.SpiderInterface {
		for i := range pages {
			w.Page(fmt.Sprintf("http://a.test/%d", i), enginetest.After(latency, enginetest.Page(fmt.Sprintf("/%d", i+1))))
		}
		return tegenaria.NewSpider("crawl", tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
			return errors.Join(out.Item(r.URL), out.Item(len(r.URL)), out.FollowLinks())
		}), "http://a.test/0")
	}
	opts := func(w *enginetest.World) []tegenaria.EngineOption {
		return []tegenaria.EngineOption{tegenaria.EngineWithDownloader(w), tegenaria.EngineWithLogger(enginetest.Quiet()),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), tegenaria.EngineWithAllowStatusCode([]uint64{404}),
			tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, func(_ context.Context, s string) (string, error) { return strings.ToUpper(s), nil }))}
	}
	t.Run("all", func(t *testing.T) {
		w := enginetest.NewWorld()
		var got []string
		for s, err := range tegenaria.Crawl[string](t.Context(), spider(w, 3), append(opts(w), tegenaria.EngineWithItemConcurrency(1))...) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, s)
		}
		if want := []string{"HTTP://A.TEST/0", "HTTP://A.TEST/1", "HTTP://A.TEST/2", "HTTP://A.TEST/3"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("break", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := enginetest.NewWorld()
			var told []*tegenaria.HandleError
			latency = time.Second // else the pages come faster than their items
			defer func() { latency = 0 }()
			n := 0
			began := time.Now()
			for _, err := range tegenaria.Crawl[string](t.Context(), spider(w, 1000), append(opts(w),
				tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) { told = append(told, err) }))...) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == 3 {
					break
				}
			}
			if asked := len(w.Visits()); asked > 4 || time.Since(began) > 4*time.Second || len(told) != 0 {
				t.Errorf("after the loop was left: %d downloads, %s, told %v", asked, time.Since(began), told)
			}
		})
	})
	for name, spider := range map[string]tegenaria.SpiderInterface{"nil": nil, "nil pointer": (*starting)(nil)} {
		t.Run(name+" spider", func(t *testing.T) {
			n := 0
			for _, err := range tegenaria.Crawl[string](t.Context(), spider) {
				n++
				var wiring *tegenaria.RunError
				if !errors.As(err, &wiring) {
					t.Errorf("got %v, want a *RunError", err)
				}
			}
			if n != 1 {
				t.Errorf("%d errors", n)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		w := enginetest.NewWorld()
		ctx, cancel := context.WithCancel(t.Context())
		var last error
		for _, err := range tegenaria.Crawl[string](ctx, spider(w, 1000), opts(w)...) {
			last = err
			cancel()
		}
		cancel()
		if !errors.Is(last, context.Canceled) {
			t.Errorf("the last error is %v", last)
		}
	})
}

// The smallest spider is a name, a parser and its seeds.
func TestNewSpider(t *testing.T) {
	s := tegenaria.NewSpider("name", enginetest.Nothing, "http://a.test/1", "http://a.test/2")
	req := make(chan *tegenaria.Context, 5)
	s.StartRequest(req)
	if a, b := <-req, <-req; s.GetName() != "name" || a.Request.Url != "http://a.test/1" || b.Request.Url != "http://a.test/2" || a.Request.Method != "GET" || len(req) != 0 {
		t.Errorf("the spider %q sent %v, %v", s.GetName(), a.Request, b.Request)
	}
	s.ErrorHandler(tegenaria.NewError("", errBroken), req)
	if err := s.Parser(nil, nil, nil); err != nil || len(req) != 0 {
		t.Errorf("Parser: %v", err)
	}
}

// Handle of nothing is found before the first page.
func TestHandleNil(t *testing.T) {
	spider := tegenaria.NewSpider("test", tegenaria.Handle[int](nil), "http://a.test/")
	var wrong *tegenaria.RunError
	if err := enginetest.NewEngine(enginetest.NewWorld(), spider).Run(t.Context(), "test"); !errors.As(err, &wrong) || wrong.Op != "wiring" {
		t.Errorf("Run: %v", err)
	}
}

package tegenaria_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

type (
	outAny  = *tegenaria.Output[string]
	handler = func(ctx context.Context, r *tegenaria.Response, out outAny) error
)

// readDetail is a top-level handler.
func readDetail(_ context.Context, r *tegenaria.Response, out outAny) error {
	return out.Item("detail of " + r.URL)
}

// catalogue has handlers that are methods.
type catalogue struct{ prefix string }

func (c *catalogue) detail(_ context.Context, r *tegenaria.Response, out outAny) error {
	return out.Item(c.prefix + r.URL)
}

type namelist struct{ prefix string }

func (n namelist) detail(_ context.Context, r *tegenaria.Response, out outAny) error {
	return out.Item(n.prefix + r.URL)
}

// listOf is a handler that follows one link, with the parser that make returns for each page.
func listOf(make func() tegenaria.Parser) tegenaria.Parser {
	return tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out outAny) error {
		for _, ref := range []string{"/1", "/2", "/3"} {
			if err := out.Follow(ref, tegenaria.RequestWithParser(make())); err != nil {
				return err
			}
		}
		return out.Item("list")
	})
}

// shopWorld has one list, and pages of products.
func shopWorld() *enginetest.World {
	w := enginetest.NewWorld()
	for _, path := range []string{"", "1", "2", "3"} {
		w.Page("http://a.test/"+path, enginetest.Text("x"))
	}
	return w
}

func openJob(t *testing.T, dir string) *disk.Cache {
	t.Helper()
	cache, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return cache
}

// runJob runs a spider with a job on a disk, once, and returns its items in order.
func runJob(t *testing.T, dir string, w *enginetest.World, s tegenaria.SpiderInterface, opts ...tegenaria.EngineOption) ([]string, tegenaria.Stats, error) {
	t.Helper()
	cache, items := openJob(t, dir), &enginetest.Collector{}
	e := enginetest.NewEngine(w, s, append(opts, tegenaria.EngineWithCache(cache), tegenaria.EngineWithPipelines(items))...)
	err := enginetest.Run(t, e)
	if err := cache.Close(); err != nil {
		t.Error(err)
	}
	var got []string
	for _, it := range items.All() {
		got = append(got, fmt.Sprint(it))
	}
	slices.Sort(got)
	return got, e.Stats(), err
}

func first() *tegenaria.Request { return tegenaria.NewRequest("http://a.test/", "GET", nil) }

// Parsers made by Handle again and again are known to a durable cache by the func that they are made of.
func TestHandledParsersAreKnown(t *testing.T) {
	shop, names := &catalogue{"c "}, namelist{"n "}
	other := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out outAny) error { return out.Item("other " + r.URL) })
	literal := func(_ context.Context, r *tegenaria.Response, out outAny) error { return out.Item("literal " + r.URL) }
	captured := "captured "
	kept := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out outAny) error { return out.Item(captured + r.URL) })
	for _, tt := range []struct {
		name, prefix string
		h            handler
	}{
		{"top-level func", "detail of ", readDetail},
		{"method of a pointer", "c ", shop.detail},
		{"method of a value", "n ", names.detail},
		{"literal that is kept", "literal ", literal},
		{"parser that is kept", captured, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parser := func() tegenaria.Parser { return tegenaria.Handle(tt.h) }
			if tt.h == nil {
				parser = func() tegenaria.Parser { return kept }
			}
			spider := tegenaria.NewSpiderOf("test", listOf(parser), first()).
				On("other", other).
				On("detail", parser())
			got, _, err := runJob(t, filepath.Join(t.TempDir(), "job"), shopWorld(), spider)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{tt.prefix + "http://a.test/1", tt.prefix + "http://a.test/2", tt.prefix + "http://a.test/3", "list"}
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Errorf("items %q, want %q", got, want)
			}
		})
	}
}

// The spider's own parser is known by its func too.
func TestHandledOwnParserIsKnown(t *testing.T) {
	var list handler
	list = func(_ context.Context, r *tegenaria.Response, out outAny) error {
		if r.URL != "http://a.test/" {
			return out.Item(r.URL)
		}
		return out.Follow("/1", tegenaria.RequestWithParser(tegenaria.Handle(list)))
	}
	for _, s := range []tegenaria.SpiderInterface{
		tegenaria.NewSpiderOf("test", tegenaria.Handle(list), first()),
		tegenaria.NewSpider("test", tegenaria.Handle(list), "http://a.test/"),
	} {
		got, _, err := runJob(t, filepath.Join(t.TempDir(), "job"), shopWorld(), s)
		if err != nil || !slices.Equal(got, []string{"http://a.test/1"}) {
			t.Errorf("%T: items %q, %v", s, got, err)
		}
	}
}

// The receivers of methods are not compared, so one method with two names is a mistake. In memory a method runs with the
// receiver that it was passed with.
func TestHandledMethodsOfTwoReceivers(t *testing.T) {
	one, two := &catalogue{"one "}, &catalogue{"two "}
	parser := func() tegenaria.Parser { return tegenaria.Handle(two.detail) }
	spider := tegenaria.NewSpiderOf("test", listOf(parser), first()).
		On("one", tegenaria.Handle(one.detail)).
		On("two", tegenaria.Handle(two.detail))
	w := shopWorld()
	_, _, err := runJob(t, filepath.Join(t.TempDir(), "job"), w, spider)
	var run *tegenaria.RunError
	if !errors.As(err, &run) || run.Op != "wiring" || !strings.Contains(err.Error(), `"one" and "two" are the same method`) || len(w.Urls()) != 0 {
		t.Errorf("the run with two names ended with %v after %q", err, w.Urls())
	}
	items := &enginetest.Collector{}
	enginetest.MustRun(t, enginetest.NewEngine(shopWorld(), tegenaria.NewSpiderOf("test", listOf(parser), first()).On("one", tegenaria.Handle(one.detail)),
		tegenaria.EngineWithPipelines(items)))
	if got := fmt.Sprint(items.All()); strings.Count(got, "two ") != 3 {
		t.Errorf("items in memory %s, want those of the method that was passed", got)
	}
}

// parsePlain is a parser that Handle has not made.
func parsePlain(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
	item <- tegenaria.NewItem(ctx, "plain "+ctx.Request.Url)
	return nil
}

func (c *catalogue) parse(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
	return parsePlain(ctx, item, nil)
}

// A parser without a name ends the run at its first request, with the line to write. With that line the same job goes on, and
// nothing is missing and nothing is there twice.
func TestUnnamedParserEndsTheRun(t *testing.T) {
	shop := &catalogue{"c "}
	literal := func(text string) handler {
		return func(_ context.Context, r *tegenaria.Response, out outAny) error { return out.Item(text + r.URL) }
	}
	plain := func(text string) tegenaria.Parser {
		return func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(ctx, text+ctx.Request.Url)
			return nil
		}
	}
	for _, tt := range []struct {
		name      string
		make      func() tegenaria.Parser
		line      string
		named     tegenaria.Parser // nil: another parser has to be passed
		fn        string
		newSpider func(tegenaria.Parser) tegenaria.SpiderInterface
	}{
		{"top-level func", func() tegenaria.Parser { return tegenaria.Handle(readDetail) }, `spider.On("readDetail", tegenaria.Handle(readDetail))`,
			tegenaria.Handle(readDetail), ".readDetail", nil},
		{"method", func() tegenaria.Parser { return tegenaria.Handle(shop.detail) }, `spider.On("detail", tegenaria.Handle(s.detail))`,
			tegenaria.Handle(shop.detail), ".(*catalogue).detail", nil},
		{"closure", func() tegenaria.Parser { return tegenaria.Handle(literal("x")) }, `detail := tegenaria.Handle(…)`, nil, ".func", nil},
		{"plain top-level func", func() tegenaria.Parser { return parsePlain }, `spider.On("parsePlain", parsePlain)`, parsePlain, ".parsePlain", nil},
		{"plain method", func() tegenaria.Parser { return shop.parse }, `spider.On("parse", s.parse)`, shop.parse, ".(*catalogue).parse", nil},
		{"plain closure", func() tegenaria.Parser { return plain("x") }, `detail := … once, before the crawl, then spider.On("detail", detail)`, nil, ".func", nil},
		{"another spider", func() tegenaria.Parser { return tegenaria.Handle(readDetail) }, `engine.RegisterParser("readDetail", tegenaria.Handle(readDetail))`,
			tegenaria.Handle(readDetail), ".readDetail",
			func(list tegenaria.Parser) tegenaria.SpiderInterface {
				return struct{ tegenaria.SpiderInterface }{tegenaria.NewSpider("test", list, "http://a.test/")}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, w := filepath.Join(t.TempDir(), "job"), shopWorld()
			list := listOf(tt.make)
			spider := tegenaria.SpiderInterface(tegenaria.NewSpiderOf("test", list, first()))
			if tt.newSpider != nil {
				spider = tt.newSpider(list)
			}
			_, stats, err := runJob(t, dir, w, spider)
			var run *tegenaria.RunError
			var unnamed *tegenaria.UnnamedParserError
			if !errors.As(err, &run) || run.Op != "wiring" || !errors.As(err, &unnamed) {
				t.Fatalf("Run returned %v", err)
			}
			if unnamed.URL != "http://a.test/1" || !strings.Contains(unnamed.Line, tt.line) || !strings.Contains(unnamed.Func, tt.fn) {
				t.Errorf("%+v, want the line %s", unnamed, tt.line)
			}
			if stats.Outcomes[tegenaria.Failed] != 0 || stats.Outcomes[tegenaria.Fetched] != 0 {
				t.Errorf("outcomes %v, want none", stats.Outcomes)
			}
			if tt.named == nil { // one that is kept takes its place
				tt.named = plain("kept ")
				spider = tegenaria.NewSpiderOf("test", listOf(func() tegenaria.Parser { return tt.named }), first())
			}
			register := func(e *tegenaria.SpiderEngine) {}
			if s, ok := spider.(*tegenaria.Spider); ok {
				s.On("readers", tt.named)
			} else {
				register = func(e *tegenaria.SpiderEngine) { e.RegisterParser("readers", tt.named) }
			}
			got, _, err := runJob(t, dir, w, spider, register)
			if err != nil || len(got) != 4 || len(slices.Compact(got)) != 4 {
				t.Errorf("the same job with the line: items %q, %v", got, err)
			}
			for _, page := range []string{"1", "2", "3"} {
				if n := w.Count("http://a.test/" + page); n != 1 {
					t.Errorf("/%s was asked for %d times", page, n)
				}
			}
		})
	}
}

// What is known before the run is refused before the run.
func TestUnnamedParserOfFirstRequest(t *testing.T) {
	for item, parser := range map[string]tegenaria.Parser{"detail of http://a.test/1": tegenaria.Handle(readDetail), "plain http://a.test/1": parsePlain} {
		w := shopWorld()
		spider := tegenaria.NewSpiderOf("test", listOf(func() tegenaria.Parser { return nil }),
			tegenaria.NewRequest("http://a.test/1", "GET", parser), first()) // in this order: the list follows /1 too
		_, stats, err := runJob(t, filepath.Join(t.TempDir(), "job"), w, spider)
		var unnamed *tegenaria.UnnamedParserError
		if !errors.As(err, &unnamed) || unnamed.URL != "http://a.test/1" || stats.Discovered != 0 || len(w.Urls()) != 0 {
			t.Errorf("Run returned %v after %q", err, w.Urls())
		}
		items := &enginetest.Collector{} // memory keeps the parser itself
		enginetest.MustRun(t, enginetest.NewEngine(shopWorld(), spider, tegenaria.EngineWithPipelines(items)))
		if got := items.All(); !slices.Contains(got, any(item)) {
			t.Errorf("in memory: items %v", got)
		}
	}
}

// A seed, and a request of an ErrorHandler, whose parser has no name end the run too, without a failure of their own. With the parser's
// name the same job has all.
func TestUnnamedParserOfOtherRequests(t *testing.T) {
	for _, failed := range []bool{false, true} {
		w, dir := shopWorld().Page("http://a.test/gone", enginetest.Status(404)), filepath.Join(t.TempDir(), "job")
		n := 7
		count := tegenaria.Parser(func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(ctx, fmt.Sprint(n, " ", ctx.Request.Url))
			return nil
		})
		s := enginetest.NewSpider()
		send := func(req chan<- *tegenaria.Context) {
			for _, page := range []string{"1", "2", "3"} {
				req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/"+page, "GET", count))
			}
		}
		s.Start = send
		if failed {
			s.Start = func(req chan<- *tegenaria.Context) { req <- enginetest.Send("http://a.test/gone") }
			s.Fail = func(_ *tegenaria.HandleError, req chan<- *tegenaria.Context) { send(req) }
		}
		_, stats, err := runJob(t, dir, w, s)
		var unnamed *tegenaria.UnnamedParserError
		if !errors.As(err, &unnamed) || !strings.Contains(err.Error(), `engine.RegisterParser("detail", detail)`) {
			t.Fatalf("Run returned %v", err)
		}
		if len(stats.Outcomes) != 0 {
			t.Errorf("outcomes %v, want none", stats.Outcomes)
		}
		got, _, err := runJob(t, dir, w, s, func(e *tegenaria.SpiderEngine) { e.RegisterParser("count", count) })
		if want := []string{"7 http://a.test/1", "7 http://a.test/2", "7 http://a.test/3"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("the same job with the name: items %q, %v", got, err)
		}
	}
}

// First requests, OnStart, OnError and handlers do without channels what the methods of a spider do with them.
func TestSpiderOf(t *testing.T) {
	w := shopWorld().Page("http://a.test/search", enginetest.Text("found")).Page("http://a.test/gone", enginetest.Status(404))
	var mu sync.Mutex
	var late func(*tegenaria.Request) error
	var seen []string
	spider := tegenaria.NewSpiderOf("test", tegenaria.Handle(readDetail),
		tegenaria.NewRequest("http://a.test/search", "POST", nil, tegenaria.RequestWithBody([]byte("q=1")),
			tegenaria.RequestWithRequestHeader(map[string]string{"X-Key": "k"}), tegenaria.RequestWithPriority(3),
			tegenaria.RequestWithRequestMeta(map[string]any{"page": 1}))).
		On("other", tegenaria.Handle((&catalogue{"other "}).detail)).
		OnStart(func(_ context.Context, emit func(*tegenaria.Request) error) error {
			late = emit
			if err := emit(tegenaria.NewRequest("http://a.test/1", "GET", nil, tegenaria.RequestWithParserName("other"))); err != nil {
				return err
			}
			return emit(tegenaria.NewRequest("http://a.test/gone", "GET", nil))
		}).
		OnError(func(err *tegenaria.HandleError, emit func(*tegenaria.Request) error) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, err.Request.Url)
			return emit(tegenaria.NewRequest("http://a.test/2", "GET", nil))
		})
	for run := range 2 { // the first requests are sent by each run
		items := &enginetest.Collector{}
		enginetest.MustRun(t, enginetest.NewEngine(w, spider, tegenaria.EngineWithPipelines(items)))
		var got []string
		for _, it := range items.All() {
			got = append(got, it.(string))
		}
		slices.Sort(got)
		if want := []string{"detail of http://a.test/2", "detail of http://a.test/search", "other http://a.test/1"}; !slices.Equal(got, want) {
			t.Errorf("run %d: items %q, want %q", run, got, want)
		}
	}
	if !slices.Equal(seen, []string{"http://a.test/gone", "http://a.test/gone"}) {
		t.Errorf("OnError saw %q", seen)
	}
	for _, v := range w.Visits() {
		if r := v.Req; v.Url == "http://a.test/search" && (r.Method != "POST" || string(r.Body) != "q=1" || r.Header["X-Key"] != "k" || r.Priority != 3 || r.Meta["page"] != 1) {
			t.Errorf("the first request was sent as %+v", r)
		}
	}
	if err := late(first()); !errors.Is(err, tegenaria.ErrOutputClosed) {
		t.Errorf("emit after the func has returned: %v", err)
	}
}

// The errors of OnStart and OnError: CloseSpider is obeyed, others are told.
func TestSpiderOfErrors(t *testing.T) {
	broken := errors.New("no file")
	list := tegenaria.Handle(readDetail)
	_, _, err := runJob(t, filepath.Join(t.TempDir(), "job"), shopWorld(), tegenaria.NewSpiderOf("test", list).
		OnStart(func(context.Context, func(*tegenaria.Request) error) error { return broken }))
	var run *tegenaria.RunError
	if !errors.As(err, &run) || run.Op != "start" || !errors.Is(err, broken) {
		t.Errorf("OnStart failed: %v", err)
	}
	gone := tegenaria.NewRequest("http://a.test/gone", "GET", nil)
	closing := tegenaria.NewSpiderOf("test", list, gone).
		OnError(func(*tegenaria.HandleError, func(*tegenaria.Request) error) error {
			return tegenaria.CloseSpider("enough")
		})
	enginetest.WantStopped(t, enginetest.Run(t, enginetest.NewEngine(shopWorld(), closing)), "enough")
	var told []tegenaria.Stage
	failing := tegenaria.NewSpiderOf("test", list, gone).
		OnError(func(*tegenaria.HandleError, func(*tegenaria.Request) error) error { return broken })
	enginetest.MustRun(t, enginetest.NewEngine(shopWorld(), failing, tegenaria.EngineWithEvents(tegenaria.Events{
		Error: func(err *tegenaria.HandleError) { told = append(told, err.Stage) },
	})))
	if !slices.Equal(told, []tegenaria.Stage{tegenaria.StageStatus, tegenaria.StageError}) {
		t.Errorf("stages of the errors that were told: %v", told)
	}
}

// A Spider that was not made by NewSpiderOf is a mistake, and no panic.
func TestSpiderOfNobody(t *testing.T) {
	s := new(tegenaria.Spider).On("a", tegenaria.Handle(readDetail))
	if err := enginetest.Run(t, enginetest.NewEngine(shopWorld(), s)); err == nil {
		t.Error("it ran")
	}
}

// All mistakes of a spider are in one error, before anything is asked for.
func TestSpiderOfMistakes(t *testing.T) {
	w := shopWorld()
	s := tegenaria.NewSpiderOf("test", nil, nil, tegenaria.NewRequest("http://a.test/", "POST", nil, tegenaria.RequestWithData(math.NaN())),
		tegenaria.NewRequest("http://a.test/", "POST", nil, tegenaria.RequestWithData[fmt.Stringer](tegenaria.Fetched)),
		tegenaria.NewRequest("http://a.test/", "POST", nil, tegenaria.RequestWithData([]map[string]struct{ hidden int }{{"a": {1}}}))).
		On("twice", tegenaria.Handle(readDetail)).On("twice", tegenaria.Handle(readDetail)).On("", tegenaria.Handle(readDetail)).On("nil", nil).
		OnStart(nil).OnError(nil)
	err := enginetest.Run(t, enginetest.NewEngine(w, s))
	for _, want := range []string{"the parser is nil", "request 1 is nil", "request 2: ", "float64", "request 3: ", "fmt.Stringer is an interface", "request 4: ", "no exported field", `On("twice") was called twice`, "no name", `"nil" is nil`, "OnStart", "OnError"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
	if len(w.Urls()) != 0 {
		t.Errorf("asked for %q", w.Urls())
	}
}

type price struct {
	Amount float64
	Tags   []string
}

// Data comes through redirects, retries and a job that is resumed in another engine, with every cache.
func TestData(t *testing.T) {
	for _, durable := range []bool{false, true} {
		t.Run(fmt.Sprintf("durable %v", durable), func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).
				Page("http://a.test/1", enginetest.Redirect(302, "/2")).
				Page("http://a.test/2", enginetest.InTurn(enginetest.Text("again"), enginetest.Text("x")))
			sent := price{1.5, []string{"new", "red"}}
			detail := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out outAny) error {
				got, err := tegenaria.Data[price](r)
				if err != nil {
					return err
				}
				if r.String() == "again" {
					return tegenaria.Retry(0, errors.New("again"))
				}
				got.Tags[0] = "changed" // the value is the parser's own
				again, err := tegenaria.Data[price](r)
				if err != nil {
					return err
				}
				return out.Item(fmt.Sprint(r.URL, again, r.Request().Meta["n"]))
			})
			stops := true
			spider := tegenaria.NewSpiderOf("test", tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out outAny) error {
				if err := out.Follow("/1", tegenaria.RequestWithParser(detail), tegenaria.RequestWithData(sent),
					tegenaria.RequestWithRequestMeta(map[string]any{"n": 7})); err != nil {
					return err
				}
				if durable && stops {
					return tegenaria.CloseSpider("for now")
				}
				return nil
			}), first()).On("detail", detail)
			want := []string{"http://a.test/2{1.5 [new red]} 7"}
			if !durable {
				items := &enginetest.Collector{}
				enginetest.MustRun(t, enginetest.NewEngine(w, spider, tegenaria.EngineWithPipelines(items)))
				if got := items.All(); len(got) != 1 || got[0] != any(want[0]) {
					t.Errorf("items %q, want %q", got, want)
				}
				return
			}
			dir := filepath.Join(t.TempDir(), "job")
			got, _, err := runJob(t, dir, w, spider)
			enginetest.WantStopped(t, err, "for now")
			if len(got) != 0 {
				t.Fatalf("items %q before the job is resumed", got)
			}
			if got, _, err = runJob(t, dir, w, spider); err != nil || !slices.Equal(got, want) {
				t.Errorf("items %q, %v; want %q", got, err, want)
			}
		})
	}
}

// A value of another type, none, and one that JSON cannot hold are told with the types and what to do.
func TestDataErrors(t *testing.T) {
	type other price
	respond := func(opts ...tegenaria.RequestOption) *tegenaria.Response {
		return tegenaria.NewResponse(tegenaria.NewRequest("http://u:secret@a.test/", "GET", nil, opts...), 200, nil, nil)
	}
	const pkg = "github.com/tegenaria/tegenaria_test."
	ask := func(resp *tegenaria.Response) error { _, err := tegenaria.Data[price](resp); return err }
	for _, tt := range []struct {
		name         string
		err          error
		sent, wanted string
	}{
		{"none", ask(respond()), "", pkg + "price"},
		{"no response", ask(nil), "", pkg + "price"},
		{"no request", ask(tegenaria.NewResponse(nil, 200, nil, nil)), "", pkg + "price"},
		{"another type", ask(respond(tegenaria.RequestWithData(other{}))), pkg + "other", pkg + "price"},
		{"a pointer", ask(respond(tegenaria.RequestWithData(&price{}))), "*tegenaria_test.price", pkg + "price"},
	} {
		var wrong *tegenaria.DataError
		if !errors.As(tt.err, &wrong) || wrong.Sent != tt.sent || wrong.Wanted != tt.wanted || wrong.Err != nil {
			t.Errorf("%s: %v", tt.name, tt.err)
			continue
		}
		if text := wrong.Error(); strings.Contains(text, "secret") || !strings.Contains(text, tt.sent) || !strings.Contains(text, tt.wanted) {
			t.Errorf("%s: %s", tt.name, text)
		}
	}
	if got, err := tegenaria.Data[*price](respond(tegenaria.RequestWithData("first"), tegenaria.RequestWithData(&price{Amount: 2}))); err != nil || got.Amount != 2 {
		t.Errorf("the second of two values: %v, %v", got, err)
	}

	s := enginetest.NewSpider("http://a.test/")
	s.Parse = tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out outAny) error {
		return out.Follow("/1", tegenaria.RequestWithData(make(chan int)))
	})
	enginetest.MustRun(t, enginetest.NewEngine(shopWorld(), s))
	var wrong *tegenaria.DataError
	if herr := s.OnlyError(t); !errors.As(herr, &wrong) || wrong.Sent != "chan int" || herr.Request.Url != "http://a.test/1" || herr.Stage != tegenaria.StageAccept {
		t.Errorf("a channel as data: %v", herr)
	}
}

// changed decodes what it did not encode.
type changed struct{ text string }

func (c changed) MarshalJSON() ([]byte, error) { return []byte(`"v1"`), nil }
func (c *changed) UnmarshalJSON([]byte) error  { return errors.New("not my version") }

// A type that has changed between two runs is told as such.
func TestDataOfAChangedType(t *testing.T) {
	resp := tegenaria.NewResponse(tegenaria.NewRequest("http://a.test/", "GET", nil, tegenaria.RequestWithData(changed{"x"})), 200, nil, nil)
	_, err := tegenaria.Data[changed](resp)
	var wrong *tegenaria.DataError
	if !errors.As(err, &wrong) || wrong.Err == nil || !strings.Contains(err.Error(), "not my version") || !strings.Contains(err.Error(), "changed since the job began") {
		t.Errorf("%v", err)
	}
}

func ExampleNewSpiderOf() {
	type Product struct{ Name, Price string }
	type Card struct{ Price string }
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/search" && r.PostFormValue("q") == "tea":
			fmt.Fprint(w, `<div class="card"><a href="/gone">Cup</a><b>3 €</b></div><div class="card"><a href="/pot">Pot</a><b>12 €</b></div>`)
		case r.URL.Path == "/pot":
			fmt.Fprint(w, `<h1>Tea pot</h1>`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()

	detail := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[Product]) error {
		card, err := tegenaria.Data[Card](page)
		if err != nil {
			return err
		}
		return out.Item(Product{page.CSS("h1").Text(), card.Price})
	})
	list := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[Product]) error {
		for _, card := range page.CSS("div.card").All() {
			err := out.Follow(card.CSS("a").Attr("href"), tegenaria.RequestWithParser(detail),
				tegenaria.RequestWithData(Card{card.CSS("b").Text()}))
			if err != nil {
				return err
			}
		}
		return nil
	})
	search := tegenaria.NewRequest(site.URL+"/search", "POST", nil, tegenaria.RequestWithForm(url.Values{"q": {"tea"}}))
	spider := tegenaria.NewSpiderOf("shop", list, search).
		On("detail", detail).
		OnError(func(err *tegenaria.HandleError, _ func(*tegenaria.Request) error) error {
			fmt.Println("no", strings.TrimPrefix(err.Request.Url, site.URL))
			return nil
		})
	for product, err := range tegenaria.Crawl[Product](context.Background(), spider, tegenaria.EngineWithQuiet()) {
		fmt.Println(product, err)
	}
	// Unordered output:
	// no /gone
	// {Tea pot 12 €} <nil>
}

// First requests from elsewhere: a file, a database, a queue.
func ExampleSpider_OnStart() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
	defer site.Close()
	file := strings.NewReader("/a\n/b\n")

	spider := tegenaria.NewSpiderOf("list", tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.Item(page.String())
	})).OnStart(func(_ context.Context, emit func(*tegenaria.Request) error) error {
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			if err := emit(tegenaria.NewRequest(site.URL+lines.Text(), "GET", nil)); err != nil {
				return err
			}
		}
		return lines.Err()
	})
	for text, err := range tegenaria.Crawl[string](context.Background(), spider, tegenaria.EngineWithQuiet()) {
		fmt.Println(text, err)
	}
	// Unordered output:
	// /a <nil>
	// /b <nil>
}

func ExampleRequestWithData() {
	type Card struct{ Price string }
	r := tegenaria.NewRequest("https://example.com/pot", "GET", nil, tegenaria.RequestWithData(Card{"12 €"}))
	page := tegenaria.NewResponse(r, 200, nil, nil) // as the parser gets it
	card, err := tegenaria.Data[Card](page)
	fmt.Println(card.Price, err)
	_, err = tegenaria.Data[string](page)
	fmt.Println(err)
	// Output:
	// 12 € <nil>
	// Data of https://example.com/pot: the request has data of the type github.com/tegenaria/tegenaria_test.Card, and string is asked for; ask for the type that was sent, a pointer and its value being two types
}

// A misspelt name of a parser ends the run of a durable job too: its requests must not fail one by one and be lost. With the right name
// the same job has all.
func TestUnknownParserEndsTheRun(t *testing.T) {
	spiderWith := func(name string, seeds ...*tegenaria.Request) tegenaria.SpiderInterface {
		list := tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out outAny) error {
			for _, page := range []string{"1", "2", "3"} {
				if err := out.Follow("/"+page, tegenaria.RequestWithParserName(name)); err != nil {
					return err
				}
			}
			return nil
		})
		return tegenaria.NewSpiderOf("test", list, seeds...).On("detail", tegenaria.Handle(readDetail))
	}
	var run *tegenaria.RunError
	var wrong *tegenaria.RequestError
	w, dir := shopWorld(), filepath.Join(t.TempDir(), "job")
	_, stats, err := runJob(t, dir, w, spiderWith("detial", first()))
	if !errors.As(err, &run) || run.Op != "wiring" || !errors.As(err, &wrong) || wrong.URL != "http://a.test/1" || !strings.Contains(err.Error(), `"detial", there are ["detail"]; name it with spider.On`) {
		t.Errorf("Run returned %v", err)
	}
	if len(stats.Outcomes) != 0 {
		t.Errorf("outcomes %v, want none", stats.Outcomes)
	}
	got, _, err := runJob(t, dir, w, spiderWith("detail", first()))
	if want := []string{"detail of http://a.test/1", "detail of http://a.test/2", "detail of http://a.test/3"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the same job with the right name: items %q, %v", got, err)
	}
	_, _, err = runJob(t, filepath.Join(t.TempDir(), "job"), w, spiderWith("detail", tegenaria.NewRequest("http://a.test/9", "GET", nil, tegenaria.RequestWithParserName("list"))))
	if !errors.As(err, &wrong) || wrong.URL != "http://a.test/9" || w.Count("http://a.test/9") != 0 {
		t.Errorf("Run returned %v for a first request", err)
	}
}

// A second reader of the error channel stole errors, and one that left blocked the senders; bodies stayed open, a
// parser's panic was not recovered, statuses were not looked at. Fails if ErrorChan hands out one channel to all,
// or publish waits.
func TestErrorChanPerReader(t *testing.T) {
	w, s := enginetest.NewWorld(), enginetest.NewSpider()
	const n = 3000
	for i := range n {
		s.FeedUrls = append(s.FeedUrls, fmt.Sprintf("http://a.test/%d", i))
	}
	e := enginetest.NewEngine(w, s)
	reader, second, left := e.ErrorChan(), e.ErrorChan(), e.ErrorChan()
	var readers sync.WaitGroup
	count := func(ch <-chan error) {
		seen, missed := 0, int64(0)
		for err := range ch {
			var m *tegenaria.MissedErrorsError
			var refused *tegenaria.StatusError
			switch {
			case errors.As(err, &m):
				missed += m.Count
			case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
				seen++
			default:
				t.Errorf("unexpected error %v", err)
			}
		}
		if int64(seen)+missed != n {
			t.Errorf("a reader saw %d errors and missed %d, want %d in all", seen, missed, n)
		}
	}
	readers.Go(func() { count(reader) })
	readers.Go(func() { count(second) })
	stats := enginetest.MustRun(t, e)
	readers.Wait()
	if stats.ErrorCount != n {
		t.Errorf("ErrorCount is %d", stats.ErrorCount)
	}
	// Nobody has read this one: 1,024 errors are there, and how many more there were.
	if len(left) != 1025 {
		t.Errorf("a channel that nobody read holds %d errors, want 1,024 and the count of those that were missed", len(left))
	}
	count(left)
}

// A bad URL in StartRequest was a nil pointer, recovered: no handler, no count. Fails if acceptor.refuse settles a
// refusal that has an error without failedEmission.
func TestBadSeedReachesErrorHandler(t *testing.T) {
	for _, bad := range []string{"", "a.test", "http://", "http://[::1", "ftp://a.test/", "http://a.test:x/", "://a"} {
		t.Run(bad, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
			s := enginetest.NewSpider(bad, "http://a.test/")
			s.Parse = enginetest.Nothing
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
			herr := s.OnlyError(t)
			var refused *tegenaria.RequestError
			if !errors.As(herr, &refused) || refused.URL != bad || refused.Field != "Url" || refused.Remedy == "" {
				t.Errorf("error %v, want a *RequestError that names the URL and what to do", herr)
			}
			if herr.Request == nil || herr.Request.Url != bad || herr.Stage != tegenaria.StageAccept {
				t.Errorf("the HandleError does not say which request failed where: %+v", herr)
			}
			enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Filtered: 1, tegenaria.Fetched: 1})
			if stats.ErrorCount != 1 {
				t.Errorf("ErrorCount is %d", stats.ErrorCount)
			}
		})
	}
}

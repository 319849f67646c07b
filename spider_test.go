package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// starting is a spider with Start.
type starting struct {
	*enginetest.Spider
	run func(ctx context.Context, req chan<- *tegenaria.Context) error
}

func (s *starting) Start(ctx context.Context, req chan<- *tegenaria.Context) error {
	return s.run(ctx, req)
}

func TestSpiderMistakes(t *testing.T) {
	a := tegenaria.NewSpider("a", enginetest.Nothing)
	for _, tt := range []struct {
		name    string
		spiders []tegenaria.SpiderInterface
		ask     string
		want    []string
	}{
		{"unknown", []tegenaria.SpiderInterface{a}, "b", []string{`no spider is called "b"`, "RegisterSpiders"}},
		{"duplicate", []tegenaria.SpiderInterface{a, tegenaria.NewSpider("a", enginetest.Nothing)}, "a", []string{`two spiders are called "a"`}},
		{"empty", []tegenaria.SpiderInterface{a, tegenaria.NewSpider("", enginetest.Nothing)}, "a", []string{"spider 2 has no name", "BaseSpider.Name"}},
		{"nil", []tegenaria.SpiderInterface{nil, a}, "a", []string{"argument 1 is nil"}},
		{"nil pointer", []tegenaria.SpiderInterface{a, (*starting)(nil)}, "a", []string{"argument 2 is nil"}},
		{"all at once", []tegenaria.SpiderInterface{nil, a, a, tegenaria.NewSpider("", enginetest.Nothing)}, "c",
			[]string{"argument 1 is nil", `two spiders are called "a"`, "spider 4 has no name", `no spider is called "c"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := tegenaria.NewSpiderEngine(tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithDownloader(enginetest.NewWorld()))
			e.RegisterSpiders(tt.spiders...)
			err := e.Run(t.Context(), tt.ask)
			var wiring *tegenaria.RunError
			if !errors.As(err, &wiring) || wiring.Op != "wiring" {
				t.Fatalf("Run returned %v, want a *RunError of wiring", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}

// An engine runs the spider that is asked for, of several.
func TestSpidersOfOneEngine(t *testing.T) {
	w := enginetest.NewWorld()
	e := tegenaria.NewSpiderEngine(tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithDownloader(w),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
	for _, name := range []string{"a", "b", "c"} {
		u := "http://" + name + ".test/"
		w.Page(u, enginetest.Text("x"))
		e.RegisterSpiders(tegenaria.NewSpider(name, enginetest.Nothing, u))
	}
	for _, name := range []string{"b", "a", "b"} {
		if err := e.Run(t.Context(), name); err != nil || e.Summary().Spider != name {
			t.Errorf("Run(%s): %v, spider %q", name, err, e.Summary().Spider)
		}
	}
	if want := []string{"http://b.test/", "http://a.test/", "http://b.test/"}; !slices.Equal(w.Urls(), want) {
		t.Errorf("asked %q, want %q", w.Urls(), want)
	}
}

func TestStarter(t *testing.T) {
	t.Run("is used instead of StartRequest", func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://start.test/", enginetest.Text("x"))
		s := enginetest.NewSpider("http://feed.test/")
		s.Parse = enginetest.Nothing
		enginetest.MustRun(t, enginetest.NewEngine(w, &starting{s, func(_ context.Context, req chan<- *tegenaria.Context) error {
			req <- enginetest.Send("http://start.test/")
			return nil
		}}))
		if got := w.Urls(); !slices.Equal(got, []string{"http://start.test/"}) {
			t.Errorf("asked %q", got)
		}
	})
	for name, tt := range map[string]struct {
		start func() error
		check func(err error) bool
	}{
		"error": {func() error { return errBroken }, func(err error) bool { return errors.Is(err, errBroken) }},
		"panic": {func() error { panic("start") }, func(err error) bool { var p *tegenaria.PanicError; return errors.As(err, &p) }},
	} {
		t.Run(name+" ends the run", func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
			s := enginetest.NewSpider()
			s.Parse = enginetest.Nothing
			err := enginetest.Run(t, enginetest.NewEngine(w, &starting{s, func(_ context.Context, req chan<- *tegenaria.Context) error {
				req <- enginetest.Send("http://a.test/")
				return tt.start()
			}}))
			var failed *tegenaria.RunError
			if !errors.As(err, &failed) || failed.Op != "start" || !tt.check(err) {
				t.Errorf("Run returned %v, want a *RunError of start", err)
			}
		})
	}
	t.Run("is told when the crawl stops", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := enginetest.NewSpider()
			e := enginetest.NewEngine(enginetest.NewWorld(), &starting{s, func(ctx context.Context, _ chan<- *tegenaria.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}})
			result := make(chan error, 1)
			go func() { result <- enginetest.Run(t, e) }()
			synctest.Wait()
			if err := e.Stop(t.Context()); err != nil {
				t.Errorf("Stop: %v", err)
			}
			enginetest.WantStopped(t, <-result, "stopped")
		})
	})
}

// What StartRequest sends is crawled while it still runs.
func TestStartRequestStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/1", enginetest.Text("x")).Page("http://a.test/2", enginetest.Text("x"))
		parsed := make(chan struct{}, 2)
		s := enginetest.NewSpider()
		s.Parse = parserOf(func(*tegenaria.Context) error { parsed <- struct{}{}; return nil })
		s.Start = func(req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/1")
			<-parsed
			req <- enginetest.Send("http://a.test/2")
		}
		enginetest.MustRun(t, enginetest.NewEngine(w, s))
		if len(w.Visits()) != 2 {
			t.Errorf("asked %q", w.Urls())
		}
	})
}

// StartRequest feels backpressure: at most Limits.Pending requests wait.
func TestStartRequestWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		s := enginetest.NewSpider()
		s.Parse = enginetest.Nothing
		const n, pending = 500, 20
		sent := 0
		s.Start = func(req chan<- *tegenaria.Context) {
			for i := range n {
				u := fmt.Sprintf("http://a.test/%d", i)
				w.Page(u, enginetest.Text("x"))
				req <- enginetest.Send(u)
				sent++
			}
		}
		var e *tegenaria.SpiderEngine
		most := int64(0)
		var mu sync.Mutex
		e = enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Pending: pending}), tegenaria.EngineWithEvents(tegenaria.Events{
			RequestStarted: func(*tegenaria.Request) {
				mu.Lock()
				defer mu.Unlock()
				most = max(most, e.Stats().Pending)
			},
		}))
		enginetest.MustRun(t, e)
		if sent != n || len(w.Visits()) != n || most > pending {
			t.Errorf("sent %d, asked %d, at most %d waited", sent, len(w.Visits()), most)
		}
	})
}

// A nil Context, and one without a request, are failures that are told, and nothing more.
func TestNilRequests(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		req <- nil
		req <- tegenaria.NewContext(nil)
		req <- enginetest.Send("http://a.test/")
	}
	s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		req <- nil
		item <- nil
		return nil
	}
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 3, tegenaria.Fetched: 1})
	if n := len(s.Errors()); n != 4 {
		t.Errorf("ErrorHandler was told %d times: %v", n, s.Errors())
	}
}

// ParserSet and names: the parser of a request is found by value and by name.
func TestNamedParsers(t *testing.T) {
	w := enginetest.NewWorld()
	var mu sync.Mutex
	got := map[string]string{}
	named := func(name string) tegenaria.Parser {
		return parserOf(func(ctx *tegenaria.Context) error {
			mu.Lock()
			defer mu.Unlock()
			got[ctx.Request.Url] = name
			return nil
		})
	}
	detail := named("detail")
	s := enginetest.NewSpider()
	s.Parse = named("spider")
	s.Start = func(req chan<- *tegenaria.Context) {
		for i, opts := range [][]tegenaria.RequestOption{
			nil, {tegenaria.RequestWithParser(detail)}, {tegenaria.RequestWithParserName("detail")}, {tegenaria.RequestWithParserName("")},
			{tegenaria.RequestWithParser(s.Parser)}, {tegenaria.RequestWithParserName("nobody")},
		} {
			u := fmt.Sprintf("http://a.test/%d", i)
			w.Page(u, enginetest.Text("x"))
			req <- enginetest.Send(u, opts...)
		}
	}
	e := enginetest.NewEngine(w, s)
	e.RegisterParser("detail", detail)
	enginetest.MustRun(t, e)
	want := map[string]string{"http://a.test/0": "spider", "http://a.test/1": "detail", "http://a.test/2": "detail",
		"http://a.test/3": "spider", "http://a.test/4": "spider"}
	for u, name := range want {
		if got[u] != name {
			t.Errorf("%s was parsed by %q, want %q", u, got[u], name)
		}
	}
	var refused *tegenaria.RequestError
	if herr := s.OnlyError(t); !errors.As(herr, &refused) || refused.Field != "Parser" || refused.URL != "http://a.test/5" {
		t.Errorf("ErrorHandler got %v", herr)
	}
}

// Each of several parsers sees the whole body, and what they send is merged.
func TestParsers(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("the body")).Page("http://a.test/1", enginetest.Text("x")).Page("http://a.test/2", enginetest.Text("x"))
	one := func(n int, err error) tegenaria.Parser {
		return func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			body := ctx.Response().Buffer.String()
			ctx.Response().Buffer.Next(3) // reading from the view takes nothing from the body
			item <- tegenaria.NewItem(ctx, fmt.Sprint(n, body, ctx.Response().String()))
			req <- enginetest.Send(fmt.Sprintf("http://a.test/%d", n))
			return err
		}
	}
	handled := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.Item("handled " + r.String())
	})
	first, second := errors.New("first"), errors.New("second")
	s := enginetest.NewSpider()
	s.Parse = enginetest.Nothing
	s.Start = func(req chan<- *tegenaria.Context) {
		req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", "GET", tegenaria.Parsers(one(1, first), nil, one(2, second), handled)))
	}
	items := &enginetest.Collector{}
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(items)))
	all := items.All()
	slices.SortFunc(all, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	if want := []any{"1the bodythe body", "2 bodythe body", "handled the body"}; !slices.Equal(all, want) {
		t.Errorf("items %q, want %q", all, want)
	}
	herr := s.OnlyError(t)
	if !errors.Is(herr, first) || !errors.Is(herr, second) || !strings.Contains(herr.Error(), "nil parser") {
		t.Errorf("ErrorHandler got %v, want the errors joined", herr)
	}
	if len(w.Visits()) != 3 || stats.ItemScraped != 3 {
		t.Errorf("asked %q, stats %+v", w.Urls(), stats)
	}
}

type methods struct{ called *sync.Map }

func (m methods) value(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
	m.called.Store(resp.Request.Url, true)
	return nil
}

func (m *methods) pointer(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	return m.value(resp, item, req)
}

// Parsers were found by the name of a method: closures and plain functions failed. Fails if reader.parserOf takes names
// alone.
func TestAnyFuncIsAParser(t *testing.T) {
	called := &sync.Map{}
	m := &methods{called}
	closure := func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		called.Store(resp.Request.Url, true)
		return nil
	}
	parsers := map[string]tegenaria.Parser{
		"http://a.test/closure": closure, "http://a.test/value": m.value, "http://a.test/pointer": m.pointer,
		"http://a.test/expression": func(r *tegenaria.Context, i chan<- *tegenaria.ItemMeta, q chan<- *tegenaria.Context) error {
			return (*methods).pointer(m, r, i, q)
		},
		"http://a.test/parsers": tegenaria.Parsers(enginetest.Nothing, closure),
		"http://a.test/nil":     nil,
	}
	w, s := enginetest.NewWorld(), enginetest.NewSpider()
	s.Parse = parserOf(func(ctx *tegenaria.Context) error { // nil stands for this one alone
		if ctx.Request.Url == "http://a.test/nil" {
			called.Store(ctx.Request.Url, true)
		}
		return nil
	})
	s.Start = func(req chan<- *tegenaria.Context) {
		for u, p := range parsers {
			w.Page(u, enginetest.Text("x"))
			req <- tegenaria.NewContext(tegenaria.NewRequest(u, tegenaria.GET, p))
		}
	}
	enginetest.MustRun(t, enginetest.NewEngine(w, s))
	for u := range parsers {
		if _, ok := called.Load(u); !ok {
			t.Errorf("the parser of %s was not called", u)
		}
	}
}

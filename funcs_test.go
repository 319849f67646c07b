package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// A func is a downloader: what it returns is the response, or the failure, of the request. It fails if statuses are taken otherwise than
// those of the default downloader.
func TestDownloaderFunc(t *testing.T) {
	broken := errors.New("the archive is broken")
	s := enginetest.NewSpider("http://a.test/", "http://a.test/gone", "http://a.test/allowed", "http://a.test/error", "http://a.test/cut", "http://a.test/nothing", "http://a.test/moved")
	bodies := make(map[string]string)
	var mu sync.Mutex
	s.Parse = parserOf(func(ctx *tegenaria.Context) error {
		mu.Lock()
		defer mu.Unlock()
		bodies[ctx.Request.Url] = ctx.Response().String()
		return nil
	})
	d := tegenaria.DownloaderFunc(func(ctx context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
		answer := func(status int, body string) *tegenaria.Response {
			return tegenaria.NewResponse(r, status, map[string][]string{"Location": {"/target"}}, []byte(body))
		}
		switch _, path, _ := strings.Cut(r.Url, ".test"); path {
		case "/gone":
			return answer(404, "gone"), nil
		case "/allowed":
			return answer(418, "tea"), nil
		case "/error":
			return nil, broken
		case "/cut":
			return answer(200, "cu"), broken
		case "/nothing":
			return nil, nil
		case "/moved":
			return answer(301, ""), nil
		case "/target":
			return answer(200, "target"), ctx.Err()
		}
		return answer(200, "home"), nil
	})
	enginetest.MustRun(t, enginetest.NewEngine(nil, s, tegenaria.EngineWithDownloader(d), tegenaria.EngineWithAllowStatusCode([]uint64{418}),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true})))
	want := map[string]string{"http://a.test/": "home", "http://a.test/allowed": "tea", "http://a.test/target": "target"}
	for url, body := range want {
		if bodies[url] != body {
			t.Errorf("%s: the parser read %q, want %q", url, bodies[url], body)
		}
	}
	if len(bodies) != len(want) {
		t.Errorf("the parser read %q", bodies)
	}
	failed := make(map[string]error)
	for _, herr := range s.Errors() {
		failed[strings.TrimPrefix(herr.Request.Url, "http://a.test/")] = herr
	}
	var status *tegenaria.StatusError
	var herr *tegenaria.HandleError
	switch {
	case len(failed) != 4:
		t.Errorf("failed: %v", failed)
	case !errors.As(failed["gone"], &status):
		t.Errorf("gone: %v", failed["gone"])
	case !errors.Is(failed["error"], broken) || !errors.Is(failed["cut"], broken):
		t.Errorf("error: %v, cut: %v", failed["error"], failed["cut"])
	case !errors.As(failed["cut"], &herr) || herr.Response == nil || herr.Response.String() != "cu" || herr.Stage != tegenaria.StageDownload:
		t.Errorf("cut: %v without the response", failed["cut"])
	case !strings.Contains(failed["nothing"].Error(), "neither a response nor an error"):
		t.Errorf("nothing: %v", failed["nothing"])
	}
}

// A nil func is a mistake of wiring, whichever way it is given.
func TestNilFuncs(t *testing.T) {
	for name, tt := range map[string]struct {
		opt  tegenaria.EngineOption
		want string
	}{
		"default":    {tegenaria.EngineWithDownloader(tegenaria.DownloaderFunc(nil)), "EngineWithDownloader: argument 1 is nil"},
		"named":      {func(e *tegenaria.SpiderEngine) { e.RegisterDownloader("x", tegenaria.DownloaderFunc(nil)) }, "RegisterDownloader: argument 1 is nil"},
		"middleware": {tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{Name: "idle"}), `MiddlewareFuncs "idle"`},
		"pointer":    {tegenaria.EngineWithMiddlewares(&tegenaria.MiddlewareFuncs{Name: "idle"}), `MiddlewareFuncs "idle"`},
	} {
		err := enginetest.Run(t, enginetest.NewEngine(nil, enginetest.NewSpider("http://a.test/"), tt.opt))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// outer has an ability of its own beside those of the funcs.
type outer struct {
	tegenaria.MiddlewareFuncs
	opened bool
}

func (o *outer) Open(context.Context, tegenaria.SpiderInterface) error { o.opened = true; return nil }

// Funcs are called as the methods of a middleware are, by priority; those that are nil let everything pass. It fails if an error is lost in
// a middleware without an Error, or if a type that embeds one without funcs is refused.
func TestMiddlewareFuncs(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("home"))
	var calls []string
	var mu sync.Mutex
	call := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, text)
	}
	wrong := errors.New("wrong")
	first := tegenaria.MiddlewareFuncs{Name: "first", Priority: 1,
		Request: func(ctx *tegenaria.Context) error { call("first request"); return nil },
		Error: func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
			call("first error " + errors.Unwrap(err).Error())
			return err
		}}
	second := tegenaria.MiddlewareFuncs{Name: "second", Priority: 2,
		Request:  func(ctx *tegenaria.Context) error { call("second request"); return nil },
		Response: func(*tegenaria.Context, chan<- *tegenaria.Context) error { call("second response"); return wrong }}
	own := &outer{}
	s := enginetest.NewSpider("http://a.test/")
	err := enginetest.Run(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(second, first, own)))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(calls, ", "); got != "first request, second request, second response, first error wrong" {
		t.Errorf("calls: %s", got)
	}
	if errs := s.Errors(); len(errs) != 1 || !errors.Is(errs[0], wrong) {
		t.Errorf("the spider saw %v", errs)
	}
	if !own.opened {
		t.Error("a type that embeds a MiddlewareFuncs was not opened")
	}
}

// Requests ask for pages in a language.
func ExampleMiddlewareFuncs() {
	language := tegenaria.MiddlewareFuncs{
		Name: "language",
		Request: func(ctx *tegenaria.Context) error {
			ctx.Request.Header["Accept-Language"] = "en"
			return nil
		},
	}
	archive := tegenaria.DownloaderFunc(func(ctx context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
		return tegenaria.NewResponse(r, 200, nil, []byte("<h1>"+r.Header["Accept-Language"]+"</h1>")), nil
	})
	spider := tegenaria.NewSpider("titles", tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.Item(page.CSS("h1").Text())
	}), "https://books.example/")
	for title, err := range tegenaria.Crawl[string](context.Background(), spider, tegenaria.EngineWithQuiet(),
		tegenaria.EngineWithDownloader(archive),
		tegenaria.EngineWithMiddlewares(language)) {
		fmt.Println(title, err)
	}
	// Output: en <nil>
}

// Pages are read from memory instead of the web.
func ExampleDownloaderFunc() {
	pages := map[string]string{"https://books.example/": "<h1>Books</h1>"}
	archive := tegenaria.DownloaderFunc(func(ctx context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
		page, ok := pages[r.Url]
		if !ok {
			return tegenaria.NewResponse(r, 404, nil, nil), nil
		}
		return tegenaria.NewResponse(r, 200, nil, []byte(page)), nil
	})
	spider := tegenaria.NewSpider("titles", tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.Item(page.CSS("h1").Text())
	}), "https://books.example/")
	for title, err := range tegenaria.Crawl[string](context.Background(), spider, tegenaria.EngineWithQuiet(), tegenaria.EngineWithDownloader(archive)) {
		fmt.Println(title, err)
	}
	// Output: Books <nil>
}

type namedMiddleware struct {
	tegenaria.MiddlewareFuncs
	name string
}

func (m *namedMiddleware) GetName() string { return m.name }

type emptyPipeline struct{}

func (emptyPipeline) GetPriority() int                                                 { return 1 }
func (emptyPipeline) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error { return nil }

// Middlewares of one name, and a part that is registered twice, are told once, before the crawl. It fails if different parts are taken
// for the same one, or if a part that cannot be compared ends the run.
func TestPartsRegisteredTwice(t *testing.T) {
	named := func(name string) *namedMiddleware { return &namedMiddleware{name: name} }
	own := named("")
	funcs := func(name string) tegenaria.MiddlewareFuncs {
		return tegenaria.MiddlewareFuncs{Name: name, Request: func(*tegenaria.Context) error { return nil }}
	}
	typed := func() tegenaria.PipelinesInterface {
		return tegenaria.PipelineFunc(1, func(_ context.Context, n int) (int, error) { return n, nil })
	}
	once := typed()
	middlewares, pipelines := tegenaria.EngineWithMiddlewares, tegenaria.EngineWithPipelines
	for name, tt := range map[string]struct {
		opts  []tegenaria.EngineOption
		wants []string // of the warning; none: no warning
	}{
		"one name":                {[]tegenaria.EngineOption{middlewares(named("stamp")), middlewares(named("stamp"))}, []string{`"stamp" (*tegenaria_test.namedMiddleware, 2 times)`, "leave one out"}},
		"one name, two types":     {[]tegenaria.EngineOption{middlewares(named("stamp"), funcs("stamp"))}, []string{`"stamp" (*tegenaria_test.namedMiddleware and tegenaria.MiddlewareFuncs)`}},
		"two names":               {[]tegenaria.EngineOption{middlewares(named("a"), named("b"), funcs("c"))}, nil},
		"the same without name":   {[]tegenaria.EngineOption{middlewares(own, own)}, []string{"*tegenaria_test.namedMiddleware, 2 times"}},
		"others without a name":   {[]tegenaria.EngineOption{middlewares(named(""), named(""), funcs(""), funcs(""))}, nil},
		"the same pipeline":       {[]tegenaria.EngineOption{pipelines(once), pipelines(once)}, []string{"the same pipeline", "2 times"}},
		"an empty pipeline":       {[]tegenaria.EngineOption{pipelines(&emptyPipeline{}, &emptyPipeline{})}, []string{"*tegenaria_test.emptyPipeline, 2 times"}},
		"two pipelines of a kind": {[]tegenaria.EngineOption{pipelines(typed(), typed())}, nil},
	} {
		var log bytes.Buffer
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("home"))
		opts := append(tt.opts, logTo(&log), tegenaria.EngineWithQuiet())
		enginetest.MustRun(t, enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), opts...))
		warnings := strings.Count(log.String(), "registered")
		if warnings != min(len(tt.wants), 1) {
			t.Errorf("%s: %d warnings: %s", name, warnings, &log)
		}
		for _, want := range tt.wants {
			if !strings.Contains(strings.ReplaceAll(log.String(), `\"`, `"`), want) {
				t.Errorf("%s: no %q in %s", name, want, &log)
			}
		}
	}
}

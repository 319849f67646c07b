package tegenaria_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

// User code that closes the channel it sends to, against the rules, is told so. The process lives, and so does
// the crawl.
//
// It fails if sendFence does not recover, or nobody reports what it found.
func TestUserClosesTheChannel(t *testing.T) {
	type parts struct {
		world  *world
		spider *testSpider
		hooks  *errorHooks
	}
	for _, tt := range []struct {
		name  string
		set   func(p *parts) tegenaria.SpiderInterface // nil: the spider as it is
		stage tegenaria.Stage
		times int // how often it is told
		want  int64
	}{
		{"parser's items", func(p *parts) tegenaria.SpiderInterface {
			p.spider.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				item <- tegenaria.NewItem(ctx, 1)
				close(item)
				return nil
			}
			return nil
		}, tegenaria.StageParse, 2, 2},
		{"parser's requests", func(p *parts) tegenaria.SpiderInterface {
			p.spider.parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				req <- send("http://a.test/child")
				close(req)
				return nil
			}
			return nil
		}, tegenaria.StageParse, 3, 3},
		{"both of a Handle", func(p *parts) tegenaria.SpiderInterface {
			inner := tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error { return out.Item(1) })
			p.spider.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				defer close(item)
				defer close(req)
				return inner(ctx, item, req)
			}
			return nil
		}, tegenaria.StageParse, 4, 2},
		{"StartRequest", func(p *parts) tegenaria.SpiderInterface {
			p.spider.start = func(req chan<- *tegenaria.Context) {
				req <- send("http://a.test/")
				req <- send("http://b.test/")
				close(req)
			}
			return nil
		}, tegenaria.StageStart, 1, 2},
		{"Start", func(p *parts) tegenaria.SpiderInterface {
			return &starting{p.spider, func(_ context.Context, req chan<- *tegenaria.Context) error {
				defer close(req)
				p.spider.BaseSpider.StartRequest(req)
				return nil
			}}
		}, tegenaria.StageStart, 1, 2},
		{"ProcessResponse", func(p *parts) tegenaria.SpiderInterface {
			p.hooks.response = func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
				if ctx.Request.Depth == 0 {
					req <- send("http://a.test/child")
				}
				close(req)
				return nil
			}
			return nil
		}, tegenaria.StageParse, 3, 3},
		{"ErrorHandler", func(p *parts) tegenaria.SpiderInterface {
			p.world.page("http://b.test/", status(500))
			p.spider.fail = func(_ *tegenaria.HandleError, req chan<- *tegenaria.Context) {
				req <- send("http://a.test/child")
				close(req)
			}
			return nil
		}, tegenaria.StageParse, 1, 2},
		{"ProcessError", func(p *parts) tegenaria.SpiderInterface {
			p.world.page("http://b.test/", status(500))
			p.hooks.failed = func(_ *tegenaria.Context, err error, req chan<- *tegenaria.Context) error {
				req <- send("http://a.test/child")
				close(req)
				return err
			}
			return nil
		}, tegenaria.StageParse, 1, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &parts{
				world:  newWorld().page("http://a.test/", text("x")).page("http://b.test/", text("x")).page("http://a.test/child", text("x")),
				spider: newSpider("http://a.test/", "http://b.test/"),
				hooks:  &errorHooks{failed: func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error { return err }},
			}
			p.spider.parse = nothing
			var spider tegenaria.SpiderInterface = p.spider
			if s := tt.set(p); s != nil {
				spider = s
			}
			var mu sync.Mutex
			var told []*tegenaria.HandleError
			stats := mustRun(t, newEngine(p.world, spider, tegenaria.EngineWithMiddlewares(p.hooks), tegenaria.EngineWithEvents(tegenaria.Events{
				Error: func(err *tegenaria.HandleError) {
					if strings.Contains(err.Error(), "closed the channel") {
						mu.Lock()
						told = append(told, err)
						mu.Unlock()
					}
				},
			})))
			if stats.Outcomes[tegenaria.Fetched] != tt.want {
				t.Errorf("%d pages fetched, want %d: %v", stats.Outcomes[tegenaria.Fetched], tt.want, stats.Reasons)
			}
			if len(told) != tt.times {
				t.Fatalf("it was told %d times, want %d: %v", len(told), tt.times, told)
			}
			for _, err := range told {
				if err.Stage != tt.stage || (err.Request == nil) != (tt.stage == tegenaria.StageStart) {
					t.Errorf("told %+v, want the stage %s", err, tt.stage)
				}
			}
		})
	}
}

// A parser that goes on to send after it has closed its channel panics: that is its failure, and no more.
func TestUserSendsAfterClosing(t *testing.T) {
	w := onePage()
	s := newSpider("http://a.test/")
	s.parse = func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		close(req)
		req <- send("http://a.test/never")
		return nil
	}
	stats := mustRun(t, newEngine(w, s))
	var panicked *tegenaria.PanicError
	if herr := s.onlyError(t); !errors.As(herr, &panicked) || herr.Stage != tegenaria.StageParse || len(herr.Stack) == 0 {
		t.Errorf("ErrorHandler got %v", herr)
	}
	wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1})
}

// A middleware that takes the Context's Request away fails the request, and the handlers still see which one.
//
// It fails if keepRequest does nothing.
func TestMiddlewareTakesTheRequestAway(t *testing.T) {
	for _, tt := range []struct {
		name  string
		set   func(m *errorHooks)
		stage tegenaria.Stage
		is    error // nil: that the Request is missing
	}{
		{"ProcessRequest", func(m *errorHooks) {
			m.request = func(ctx *tegenaria.Context) error { ctx.Request = nil; return nil }
		}, tegenaria.StageRequest, nil},
		{"ProcessRequest with an answer", func(m *errorHooks) {
			m.request = func(ctx *tegenaria.Context) error {
				ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, nil, nil)}
				ctx.Request = nil
				return nil
			}
		}, tegenaria.StageRequest, nil},
		{"ProcessRequest with an error", func(m *errorHooks) {
			m.request = func(ctx *tegenaria.Context) error { ctx.Request = nil; return errBroken }
		}, tegenaria.StageRequest, errBroken},
		{"ProcessResponse", func(m *errorHooks) {
			m.response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { ctx.Request = nil; return nil }
		}, tegenaria.StageResponse, nil},
		{"ProcessResponse with an error", func(m *errorHooks) {
			m.response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { ctx.Request = nil; return errBroken }
		}, tegenaria.StageResponse, errBroken},
	} {
		for _, inline := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/inline %t", tt.name, inline), func(t *testing.T) {
				const url = "http://a.test/x"
				w := onePage().page(url, text("x"))
				s := newSpider("http://a.test/")
				m := &errorHooks{}
				tt.set(m)
				request, response := m.request, m.response
				m.request = func(ctx *tegenaria.Context) error {
					if request == nil || ctx.Request.Url != url {
						return nil
					}
					return request(ctx)
				}
				m.response = func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
					if response == nil || ctx.Request.Url != url {
						return nil
					}
					return response(ctx, req)
				}
				check := func(who string, err error) {
					var herr *tegenaria.HandleError
					switch {
					case !errors.As(err, &herr) || herr.Stage != tt.stage || herr.Request == nil || herr.Request.Url != url:
						t.Errorf("%s got %v", who, err)
					case tt.is != nil && !errors.Is(err, tt.is) || tt.is == nil && !strings.Contains(err.Error(), "took the Context's Request away"):
						t.Errorf("%s got %v", who, err)
					}
				}
				m.failed = func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
					check("ProcessError", err)
					if ctx.Request == nil || ctx.Request.Url != url {
						t.Errorf("ProcessError sees the request %v", ctx.Request)
					}
					return err
				}
				s.parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
					if inline {
						_, err := get(ctx, url)
						check("Fetch", err)
						return nil
					}
					req <- send(url)
					return nil
				}
				stats := mustRun(t, newEngine(w, s, tegenaria.EngineWithMiddlewares(m)))
				wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Failed: 1})
				if !inline {
					check("ErrorHandler", s.onlyError(t))
				}
			})
		}
	}
}

// What a parser or an ErrorMiddleware does to the Context's Request breaks nothing either.
func TestRequestTakenAwayLate(t *testing.T) {
	take := func(ctx *tegenaria.Context) error { ctx.Request = nil; return errBroken }
	t.Run("parser", func(t *testing.T) {
		s := newSpider("http://a.test/")
		s.parse = parserOf(take)
		stats := mustRun(t, newEngine(onePage(), s))
		if herr := s.onlyError(t); !errors.Is(herr, errBroken) || herr.Stage != tegenaria.StageParse {
			t.Errorf("ErrorHandler got %v", herr)
		}
		wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1})
	})
	t.Run("ProcessError", func(t *testing.T) {
		s := newSpider("http://a.test/")
		s.parse = parserOf(func(*tegenaria.Context) error { return errBroken })
		m := &errorHooks{failed: func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
			ctx.Request = nil
			return err
		}}
		stats := mustRun(t, newEngine(onePage(), s, tegenaria.EngineWithMiddlewares(m)))
		if herr := s.onlyError(t); !errors.Is(herr, errBroken) || herr.Request == nil {
			t.Errorf("ErrorHandler got %v", herr)
		}
		wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1})
	})
}

// panickingReader is a BodyReader that goes wrong after a few bytes.
type panickingReader struct{ read bool }

func (r *panickingReader) Read(p []byte) (int, error) {
	if !r.read {
		r.read = true
		return copy(p, "some"), nil
	}
	panic("reader")
}

// A BodyReader whose Read panics fails its request, wherever it is read: for the fingerprint, by the codec where a
// user's filter does not look at it, by the downloader where a middleware has put it there.
//
// It fails if readBody does not call the reader through protect: in a seed's case the process ends.
func TestBodyReaderPanics(t *testing.T) {
	post := func() *tegenaria.Request {
		return tegenaria.NewRequest("http://a.test/post", "POST", nil, tegenaria.RequestWithBodyReader(&panickingReader{}))
	}
	check := func(t *testing.T, who string, err error) {
		t.Helper()
		var bad *tegenaria.RequestError
		var panicked *tegenaria.PanicError
		var herr *tegenaria.HandleError
		if !errors.As(err, &bad) || bad.Field != "BodyReader" || bad.URL != "http://a.test/post" || !errors.As(err, &panicked) ||
			!errors.As(err, &herr) || len(herr.Stack) == 0 {
			t.Errorf("%s got %v", who, err)
		}
	}
	for name, opts := range map[string][]tegenaria.EngineOption{
		"default": nil, "user's filter": {tegenaria.EngineWithDupeFilter(brokenFilter{})},
	} {
		t.Run(name, func(t *testing.T) {
			w := onePage().page("http://a.test/last", text("x"))
			s := newSpider()
			s.start = func(req chan<- *tegenaria.Context) {
				req <- tegenaria.NewContext(post())
				req <- send("http://a.test/")
			}
			s.parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				if ctx.Request.Depth == 0 {
					req <- tegenaria.NewContext(post())
					req <- send("http://a.test/last")
				}
				return nil
			}
			stats := mustRun(t, newEngine(w, s, opts...))
			if got := w.urls(); !slices.Equal(got, []string{"http://a.test/", "http://a.test/last"}) {
				t.Errorf("asked %q", got)
			}
			errs := s.errors()
			if len(errs) != 2 || stats.Outcomes[tegenaria.Fetched] != 2 || stats.Settled != 4 {
				t.Errorf("errors %v, outcomes %v", errs, stats.Outcomes)
			}
			for _, err := range errs {
				check(t, "ErrorHandler", err)
			}
		})
	}
	t.Run("Fetch", func(t *testing.T) {
		s := newSpider("http://a.test/")
		s.parse = parserOf(func(ctx *tegenaria.Context) error {
			_, err := ctx.Fetch(post())
			check(t, "Fetch", err)
			return nil
		})
		stats := mustRun(t, newEngine(onePage(), s))
		if stats.Outcomes[tegenaria.Fetched] != 1 || stats.Settled != 2 {
			t.Errorf("outcomes %v", stats.Outcomes)
		}
	})
	t.Run("downloader", func(t *testing.T) {
		server, log := serve(t, map[string]string{"/": "x"})
		s := newSpider(server + "/")
		s.parse = nothing
		m := &hooks{request: func(ctx *tegenaria.Context) error { ctx.Request.BodyReader = &panickingReader{}; return nil }}
		stats := mustRun(t, newEngine(nil, s, tegenaria.EngineWithMiddlewares(m)))
		var bad *tegenaria.RequestError
		if herr := s.onlyError(t); !errors.As(herr, &bad) || bad.Field != "BodyReader" || herr.Stage != tegenaria.StageDownload || len(herr.Stack) == 0 {
			t.Errorf("ErrorHandler got %v", herr)
		}
		wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1})
		if len(log()) != 0 {
			t.Errorf("the server was asked: %v", log())
		}
	})
}

// A server that switches protocols unasked, and then keeps the connection, costs one request and no time. Its
// body would be the bare connection, which no timeout ends.
//
// It fails if exchange.run takes every status for a response: then the run never ends.
func TestUnexpectedStatus(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const upgrade = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n"
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					if r.URL.Path == "/good" {
						io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
						continue
					}
					io.WriteString(conn, upgrade)
					io.Copy(io.Discard, in) // until the other side has had enough
					return
				}
			})
		}
	})
	defer conns.Wait()
	defer listener.Close()
	base := "http://" + listener.Addr().String()
	s := newSpider(base+"/", base+"/good")
	s.parse = nothing
	stats := mustRun(t, newEngine(nil, s))
	var unexpected *tegenaria.UnexpectedStatusError
	herr := s.onlyError(t)
	if !errors.As(herr, &unexpected) || unexpected.Status != 101 || unexpected.URL != base+"/" || herr.Stage != tegenaria.StageDownload || herr.Response != nil {
		t.Errorf("ErrorHandler got %+v", herr)
	}
	if !strings.Contains(herr.Error(), "101") || !strings.Contains(herr.Error(), base) {
		t.Errorf("the error says %q", herr)
	}
	wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Fetched: 1})
}

// A middleware that fetches for every request, its own among them, comes to an end: the innermost Fetch fails
// with an error that says why. Nothing waits for itself, however few workers there are.
//
// It fails if fetchInline does not look at the nesting: then the workers are gone, or the stack is.
func TestFetchNestsOnlySoDeep(t *testing.T) {
	for _, workers := range []int{1, 16} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				s := newSpider("http://a.test/")
				s.parse = nothing
				w.page("http://a.test/", after(time.Second, text("x")))
				for i := range 20 {
					w.page(fmt.Sprintf("http://a.test/%d", i), after(time.Second, text("x")))
				}
				depth, deepest := 0, 0
				var innermost error
				m := &hooks{request: func(ctx *tegenaria.Context) error {
					depth++
					deepest = max(deepest, depth)
					defer func() { depth-- }()
					if _, err := get(ctx, fmt.Sprintf("http://a.test/%d", depth)); err != nil && innermost == nil {
						innermost = err
					}
					return nil
				}}
				stats := mustRun(t, newEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithConcurrency(workers),
					tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1})))
				var herr *tegenaria.HandleError
				if !errors.As(innermost, &herr) || !strings.Contains(herr.Error(), "nested 8 deep") || herr.Request == nil || herr.Stage != tegenaria.StageAccept {
					t.Errorf("the innermost Fetch got %v", innermost)
				}
				if deepest != 9 || len(w.visits()) != 9 { // the request itself and eight within each other
					t.Errorf("%d deep, asked %q", deepest, w.urls())
				}
				wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 9})
			})
		})
	}
}

// oddFilter answers for some requests as it should not.
type oddFilter struct {
	fingerprint func(r *tegenaria.Request) ([]byte, error)
	known       func(r *tegenaria.Request) (bool, error)
}

func (f oddFilter) Fingerprint(r *tegenaria.Request) ([]byte, error) {
	if f.fingerprint != nil && strings.Contains(r.Url, "/odd") {
		return f.fingerprint(r)
	}
	return []byte(r.Url), nil
}

func (f oddFilter) DoDupeFilter(r *tegenaria.Request) (bool, error) {
	if f.known != nil && strings.Contains(r.Url, "/odd") {
		return f.known(r)
	}
	return false, nil
}

// A user's filter that does not say who a request is fails it, wherever the request comes from; it is neither the
// URL's fault nor a duplicate of the next such request.
//
// It fails if fingerprint takes no bytes for a key, or badFingerprint blames the URL.
func TestOddDupeFilter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		filter oddFilter
		inline bool // a Fetch is refused too
		panics bool
		say    string
	}{
		{"no bytes", oddFilter{fingerprint: func(*tegenaria.Request) ([]byte, error) { return nil, nil }}, true, false, "no bytes"},
		{"empty", oddFilter{fingerprint: func(*tegenaria.Request) ([]byte, error) { return []byte{}, nil }}, true, false, "no bytes"},
		{"error", oddFilter{fingerprint: func(*tegenaria.Request) ([]byte, error) { return []byte("x"), errBroken }}, true, false, errBroken.Error()},
		{"panic", oddFilter{fingerprint: func(*tegenaria.Request) ([]byte, error) { panic("odd") }}, true, true, "panic: odd"},
		{"veto's error", oddFilter{known: func(*tegenaria.Request) (bool, error) { return true, errBroken }}, false, false, errBroken.Error()},
		{"veto's panic", oddFilter{known: func(*tegenaria.Request) (bool, error) { panic("odd") }}, false, true, "panic: odd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := func(who string, err error) {
				var herr *tegenaria.HandleError
				var panicked *tegenaria.PanicError
				var blamed *tegenaria.RequestError
				if !errors.As(err, &herr) || herr.Stage != tegenaria.StageAccept || herr.Request == nil || !strings.Contains(err.Error(), tt.say) ||
					errors.As(err, &panicked) != tt.panics || tt.panics != (len(herr.Stack) > 0) || errors.As(err, &blamed) {
					t.Errorf("%s got %#v", who, err)
				}
			}
			w := onePage().page("http://a.test/oddly", text("x")).page("http://a.test/last", text("x"))
			s := newSpider("http://a.test/odd", "http://a.test/odd2", "http://a.test/")
			s.parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				if ctx.Request.Url != "http://a.test/" {
					return nil
				}
				req <- send("http://a.test/odd3")
				if _, err := get(ctx, "http://a.test/oddly"); tt.inline {
					check("Fetch", err)
				} else if err != nil {
					t.Errorf("Fetch, which is never deduplicated, got %v", err)
				}
				req <- send("http://a.test/last")
				return nil
			}
			stats := mustRun(t, newEngine(w, s, tegenaria.EngineWithDupeFilter(tt.filter)))
			want := map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Failed: 3}
			if tt.inline {
				want[tegenaria.Failed]++
			} else {
				want[tegenaria.Fetched]++
			}
			wantOutcomes(t, stats, want)
			if errs := s.errors(); len(errs) != 3 {
				t.Errorf("ErrorHandler got %v", errs)
			}
			for _, err := range s.errors() {
				check("ErrorHandler", err)
			}
			if w.count("http://a.test/last") != 1 {
				t.Errorf("asked %q", w.urls())
			}
		})
	}
}

package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// get is Fetch of a GET request.
func get(ctx *tegenaria.Context, url string, opts ...tegenaria.RequestOption) (*tegenaria.Response, error) {
	return ctx.Fetch(tegenaria.NewRequest(url, tegenaria.GET, nil, opts...))
}

// parserOf makes a parser of a func that only looks.
func parserOf(f func(ctx *tegenaria.Context) error) tegenaria.Parser {
	return func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		return f(resp)
	}
}

func TestFetch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pages map[string]enginetest.Answer
		opts  []tegenaria.EngineOption
		ask   *tegenaria.Request
		body  string // of the response, if there is one
		fails any    // a pointer to the error that is wanted
		stage tegenaria.Stage
		want  map[tegenaria.Outcome]int64 // the seed among them
	}{
		{
			name: "good", pages: map[string]enginetest.Answer{"/x": enginetest.Text("x")}, ask: tegenaria.NewRequest("http://a.test/x", "GET", nil),
			body: "x", want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 2},
		}, {
			name: "a page that is known", ask: tegenaria.NewRequest("http://a.test/", "GET", nil),
			body: "start", want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 2},
		}, {
			name: "redirects", pages: map[string]enginetest.Answer{"/1": enginetest.Redirect(302, "/2"), "/2": enginetest.Redirect(302, "/3"), "/3": enginetest.Text("3")},
			ask: tegenaria.NewRequest("http://a.test/1", "GET", nil), body: "3",
			want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Redirected: 2},
		}, {
			name: "too many redirects", pages: map[string]enginetest.Answer{"/1": enginetest.Redirect(302, "/2"), "/2": enginetest.Redirect(302, "/3")},
			ask:   tegenaria.NewRequest("http://a.test/1", "GET", nil, tegenaria.RequestWithMaxRedirects(1)),
			fails: new(*tegenaria.TooManyRedirectsError), stage: tegenaria.StageRedirect,
			want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Redirected: 1, tegenaria.Failed: 1},
		}, {
			name: "loop", pages: map[string]enginetest.Answer{"/1": enginetest.Redirect(302, "/2"), "/2": enginetest.Redirect(302, "/1")},
			ask:   tegenaria.NewRequest("http://a.test/1", "GET", nil),
			fails: new(*tegenaria.RedirectLoopError), stage: tegenaria.StageRedirect,
			want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Redirected: 3, tegenaria.Failed: 1},
		}, {
			name: "another spelling", pages: map[string]enginetest.Answer{"/1?": enginetest.Redirect(302, "/1"), "/1": enginetest.Text("the page")},
			ask: tegenaria.NewRequest("http://a.test/1?", "GET", nil), body: "the page",
			want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Redirected: 1},
		}, {
			name: "status", pages: map[string]enginetest.Answer{"/x": enginetest.Status(500)}, ask: tegenaria.NewRequest("http://a.test/x", "GET", nil),
			body: "Internal Server Error", fails: new(*tegenaria.StatusError), stage: tegenaria.StageStatus,
			want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Failed: 1},
		}, {
			name: "status that is allowed", pages: map[string]enginetest.Answer{"/x": enginetest.Status(500)},
			ask:  tegenaria.NewRequest("http://a.test/x", "GET", nil, tegenaria.RequestWithAllowedStatusCode([]uint64{500})),
			body: "Internal Server Error", want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 2},
		}, {
			name: "network error", pages: map[string]enginetest.Answer{"/x": enginetest.Broken(errBroken)}, ask: tegenaria.NewRequest("http://a.test/x", "GET", nil),
			fails: new(*brokenError), stage: tegenaria.StageDownload, want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Failed: 1},
		}, {
			name: "bad URL", ask: tegenaria.NewRequest("://", "GET", nil),
			fails: new(*tegenaria.RequestError), stage: tegenaria.StageAccept, want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Filtered: 1},
		}, {
			name: "nil", ask: nil, stage: tegenaria.StageAccept, fails: new(*tegenaria.HandleError),
			want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Failed: 1},
		}, {
			name: "offsite", ask: tegenaria.NewRequest("http://b.test/", "GET", nil), opts: []tegenaria.EngineOption{tegenaria.EngineWithAllowedDomains("a.test")},
			fails: new(*tegenaria.HandleError), stage: tegenaria.StageAccept, want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Filtered: 1},
		}, {
			name: "POST", pages: map[string]enginetest.Answer{"/x": echoBody}, ask: tegenaria.NewRequest("http://a.test/x", "POST", nil, tegenaria.RequestWithBody([]byte("b"))),
			body: "POST b", want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 2},
		}, {
			name: "BodyReader", pages: map[string]enginetest.Answer{"/x": echoBody},
			ask:  tegenaria.NewRequest("http://a.test/x", "POST", nil, tegenaria.RequestWithBodyReader(strings.NewReader("r"))),
			body: "POST r", want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 2},
		}, {
			name: "of a downloader that is not there", ask: tegenaria.NewRequest("http://a.test/x", "GET", nil, tegenaria.RequestWithDownloader("none")),
			fails: new(*tegenaria.HandleError), stage: tegenaria.StageDownload, want: map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Failed: 1},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("start"))
			for path, a := range tt.pages {
				w.Page("http://a.test"+path, a)
			}
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = parserOf(func(ctx *tegenaria.Context) error {
				resp, err := ctx.Fetch(tt.ask)
				if tt.fails == nil && err != nil || tt.fails != nil && !errors.As(err, tt.fails) {
					t.Errorf("Fetch: %v, want %T", err, tt.fails)
				}
				var herr *tegenaria.HandleError
				if errors.As(err, &herr) && (herr.Stage != tt.stage || tt.body != "" && herr.Response != resp) {
					t.Errorf("the error is of stage %s, want %s: %+v", herr.Stage, tt.stage, herr)
				}
				if tt.body != "" && (resp == nil || resp.String() != tt.body) {
					t.Errorf("Fetch returned %v, want %q", resp, tt.body)
				}
				return nil
			})
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tt.opts...))
			enginetest.WantOutcomes(t, stats, tt.want)
			if errs := s.Errors(); len(errs) != 0 {
				t.Errorf("the caller handles what Fetch returns, ErrorHandler got %v", errs)
			}
		})
	}
}

type brokenError struct{}

func (*brokenError) Error() string { return "broken" }

var errBroken = &brokenError{}

// echoBody answers with method and body.
func echoBody(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	return tegenaria.NewResponse(ctx.Request, 200, nil, []byte(ctx.Request.Method+" "+string(ctx.Request.Body))), nil
}

// Fetch works in every callback, with the slot as narrow as can be.
func TestFetchFromEverywhere(t *testing.T) {
	for _, where := range []string{"parser", "Handle", "ProcessRequest", "ProcessResponse", "ProcessError", "ErrorHandler", "ProcessItem", "twice", "nested"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/", enginetest.After(time.Second, enginetest.Text("x"))).Page("http://a.test/bad", enginetest.After(time.Second, enginetest.Status(500)))
				for i := range 10 {
					w.Page(fmt.Sprintf("http://a.test/f%d", i), enginetest.After(time.Second, enginetest.Text("fetched")))
				}
				var mu sync.Mutex
				fetched := 0
				fetch := func(ctx *tegenaria.Context, n int) {
					if resp, err := get(ctx, fmt.Sprintf("http://a.test/f%d", n)); err != nil || resp.String() != "fetched" {
						t.Errorf("Fetch: %v, %v", resp, err)
					}
					mu.Lock()
					fetched++
					mu.Unlock()
				}
				isPage := func(ctx *tegenaria.Context) bool { return ctx.Request.Url == "http://a.test/" }
				s := enginetest.NewSpider("http://a.test/", "http://a.test/bad")
				s.Parse = enginetest.Nothing
				var last *tegenaria.Context
				m := &enginetest.ErrorHooks{Failed: func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
					last = ctx
					if where == "ProcessError" {
						fetch(ctx, 1)
					}
					return err
				}}
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithItemConcurrency(1),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1}), tegenaria.EngineWithMiddlewares(m))
				want := 1
				switch where {
				case "parser":
					s.Parse = parserOf(func(ctx *tegenaria.Context) error { fetch(ctx, 1); return nil })
				case "Handle":
					s.FeedUrls = s.FeedUrls[1:]
					s.Start = func(req chan<- *tegenaria.Context) {
						req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", "GET",
							tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[int]) error {
								resp, err := out.Fetch(tegenaria.NewRequest("http://a.test/f1", "GET", nil))
								if err != nil || resp.String() != "fetched" {
									t.Errorf("Fetch: %v, %v", resp, err)
								}
								fetched++
								return nil
							})))
					}
				case "ProcessRequest":
					m.Request = func(ctx *tegenaria.Context) error {
						if isPage(ctx) {
							fetch(ctx, 1)
						}
						return nil
					}
				case "ProcessResponse":
					m.Response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
						if isPage(ctx) {
							fetch(ctx, 1)
						}
						return nil
					}
				case "ErrorHandler":
					s.Fail = func(*tegenaria.HandleError, chan<- *tegenaria.Context) { fetch(last, 1) }
				case "ProcessItem":
					s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
						item <- tegenaria.NewItem(ctx, ctx)
						return nil
					}
					e.RegisterPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(item *tegenaria.ItemMeta) error { fetch(item.Item.(*tegenaria.Context), 1); return nil }})
				case "twice":
					want = 8
					s.Parse = parserOf(func(ctx *tegenaria.Context) error {
						var all sync.WaitGroup
						for i := range want {
							all.Go(func() { fetch(ctx, i) })
						}
						all.Wait()
						return nil
					})
				case "nested": // ProcessRequest of what a parser fetches fetches
					want = 2
					m.Request = func(ctx *tegenaria.Context) error {
						if ctx.Request.Url == "http://a.test/f1" {
							fetch(ctx, 2)
						}
						return nil
					}
					s.Parse = parserOf(func(ctx *tegenaria.Context) error { fetch(ctx, 1); return nil })
				}
				enginetest.MustRun(t, e)
				if fetched != want {
					t.Errorf("%d of %d fetched", fetched, want)
				}
				if w.Peak != 1 {
					t.Errorf("%d downloads at once in a slot of one", w.Peak)
				}
			})
		})
	}
}

// While its parser waits in Fetch, another page is parsed.
func TestFetchLendsItsParseWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://slow.test/", enginetest.After(time.Hour, enginetest.Text("x"))).Page("http://a.test/", enginetest.Text("x")).Page("http://b.test/", enginetest.Text("x"))
		began := time.Now()
		var parsed time.Duration
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			if ctx.Request.Url == "http://b.test/" {
				parsed = time.Since(began)
				return nil
			}
			req <- enginetest.Send("http://b.test/")
			_, err := get(ctx, "http://slow.test/", tegenaria.RequestWithTimeout(2*time.Hour))
			return err
		}
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithConcurrency(2)))
		if parsed != 0 {
			t.Errorf("the other page was parsed after %s", parsed)
		}
	})
}

// An inline request lives with its caller: no retry of the page, no verdict on it.
func TestFetchErrorsDoNotSteerTheCaller(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer enginetest.Answer
		hook   func(ctx *tegenaria.Context) error
	}{
		{"broken", enginetest.Broken(errBroken), nil},
		{"gave up", nil, func(*tegenaria.Context) error { return tegenaria.Retry(0, errBroken) }},
		{"status", enginetest.Status(500), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/x", tt.answer)
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = parserOf(func(ctx *tegenaria.Context) error {
				_, err := get(ctx, "http://a.test/x")
				if err == nil {
					t.Error("Fetch did not fail")
				}
				return fmt.Errorf("reading the details: %w", err)
			})
			m := &enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
				if tt.hook != nil && ctx.Request.Url == "http://a.test/x" {
					return tt.hook(ctx)
				}
				return nil
			}}
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m)))
			herr := s.OnlyError(t)
			if herr.Stage != tegenaria.StageParse || herr.Request.Url != "http://a.test/" || !strings.Contains(herr.Error(), "reading the details") {
				t.Errorf("the page failed with %v (%s of %s)", herr, herr.Stage, herr.Request.Url)
			}
			if n := w.Count("http://a.test/"); n != 1 || stats.Reasons["failed: parse"] != 1 {
				t.Errorf("the page was asked %d times, %v", n, stats.Reasons)
			}
		})
	}
}

// Retry waits and tries again within Fetch.
func TestFetchRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/x", enginetest.InTurn(enginetest.Status(503), enginetest.Status(503), enginetest.Text("good")))
		s := enginetest.NewSpider("http://a.test/")
		began := time.Now()
		s.Parse = parserOf(func(ctx *tegenaria.Context) error {
			resp, err := get(ctx, "http://a.test/x")
			if err != nil || resp.String() != "good" || time.Since(began) != 20*time.Second || resp.Request().Attempt != 2 {
				t.Errorf("Fetch after %s: %v, %v", time.Since(began), resp, err)
			}
			return nil
		})
		m := &enginetest.Hooks{Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
			if ctx.Response().Status == 503 {
				return tegenaria.Retry(10*time.Second, errors.New("busy"))
			}
			return nil
		}}
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m)))
		if stats.Retries != 2 || stats.RequestDownloaded != 4 {
			t.Errorf("stats: %+v", stats)
		}
	})
}

// A Fetch that is put off or tried again is asked for as it was given, without what middlewares have put into it.
func TestFetchAgainAsGiven(t *testing.T) {
	var seen []string
	body := tegenaria.RequestWithBody([]byte("x=1"))
	k := &enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
		if r := ctx.Request; strings.HasSuffix(r.Url, "/form") {
			seen = append(seen, fmt.Sprint(r.Header, r.Meta, r.Proxy == nil, string(r.Body)))
			r.Header["Cookie"], r.Meta = "sid=1", map[string]any{"jar": "one"}
			switch len(seen) {
			case 1:
				return tegenaria.NotNow(nil)
			case 2:
				return tegenaria.Retry(0, nil)
			}
		}
		return nil
	}}
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/form", enginetest.Text("y"))
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		_, err := ctx.Fetch(tegenaria.NewRequest("http://a.test/form", tegenaria.POST, nil, body))
		return err
	}
	enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(k)))
	if len(seen) != 3 || seen[1] != seen[0] || seen[2] != seen[0] {
		t.Errorf("%q", seen)
	}
}

// Outside of a run, and after its request has settled, Fetch is an error and not a hang.
func TestFetchAtTheWrongTime(t *testing.T) {
	ctx := tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", "GET", nil))
	if _, err := get(ctx, "http://a.test/"); err == nil {
		t.Error("Fetch outside of a run did not fail")
	}
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://b.test/", enginetest.After(time.Second, enginetest.Text("x")))
	var kept *tegenaria.Context
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = parserOf(func(ctx *tegenaria.Context) error { kept = ctx; return nil })
	enginetest.MustRun(t, enginetest.NewEngine(w, s))
	if _, err := get(kept, "http://b.test/"); !errors.Is(err, tegenaria.ErrOutputClosed) {
		t.Errorf("Fetch after the end: %v", err)
	}
}

// The depth, the parent's and that of the caller, and the middlewares are those of any request.
func TestFetchPassesTheMiddlewares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/x", enginetest.Text("x"))
		l := &trace{}
		m := &enginetest.FilterHooks{Accept: func(parent *tegenaria.Response, r *tegenaria.Request) error {
			if parent != nil {
				l.add("accept %s of %s", r.Url, parent.URL)
			}
			return nil
		}}
		m.Request = func(ctx *tegenaria.Context) error {
			l.add("request %s depth %d", ctx.Request.Url, ctx.Request.Depth)
			return nil
		}
		m.Response = func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
			if ctx.Request.Url == "http://a.test/x" {
				req <- enginetest.Send("http://a.test/child", tegenaria.RequestWithNotBefore(time.Now().Add(time.Second)))
				enginetest.Sleep(2 * time.Millisecond) // it is accepted meanwhile, after a millisecond at the latest
			}
			l.add("response %s", ctx.Request.Url)
			return nil
		}
		w.Page("http://a.test/child", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = parserOf(func(ctx *tegenaria.Context) error {
			if ctx.Request.Depth == 0 {
				get(ctx, "http://a.test/x")
			}
			return nil
		})
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m)))
		l.want(t,
			"request http://a.test/ depth 0", "response http://a.test/",
			"accept http://a.test/x of http://a.test/", "request http://a.test/x depth 0", "accept http://a.test/child of http://a.test/x", "response http://a.test/x",
			"request http://a.test/child depth 1", "response http://a.test/child")
	})
}

// A Fetch that a middleware leaves behind does not take the page's slot again when the page has no use for it any more. It fails
// if Claim.drop does not end the loan of the slot: then nobody releases it.
func TestFetchLeftBehindByAMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/later", enginetest.Text("x"))
		w.Page("http://b.test/slow", enginetest.After(30*time.Second, enginetest.Text("slow")))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			if resp.Request.Depth == 0 {
				req <- enginetest.Send("http://a.test/later", tegenaria.RequestWithNotBefore(time.Now().Add(time.Hour)))
			}
			return nil
		}
		var left sync.WaitGroup
		m := &enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
			if ctx.Request.Url == "http://a.test/" {
				left.Go(func() {
					if resp, err := get(ctx, "http://b.test/slow"); err != nil || resp.String() != "slow" {
						t.Errorf("Fetch: %v, %v", resp, err)
					}
				})
				enginetest.Sleep(time.Second)
			}
			return nil
		}}
		polite := tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithPoliteness(polite))
		if err := e.Run(ctx, "test"); err != nil {
			t.Errorf("Run: %v", err)
		}
		left.Wait()
		enginetest.WantOutcomes(t, e.Stats(), map[tegenaria.Outcome]int64{tegenaria.Fetched: 3})
	})
}

// A spooled body can be read until the caller has settled.
func TestFetchSpool(t *testing.T) {
	body := strings.Repeat("0123456789", 20_000)
	server, _ := enginetest.Serve(t, map[string]string{"/": "x", "/big": body})
	s := enginetest.NewSpider(server + "/")
	s.Parse = parserOf(func(ctx *tegenaria.Context) error {
		resp, err := get(ctx, server+"/big", tegenaria.RequestWithSpool())
		if err != nil {
			return err
		}
		r := resp.Reader()
		defer r.Close()
		got, err := io.ReadAll(r)
		if err != nil || string(got) != body || resp.Buffer != nil {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
		return nil
	})
	enginetest.MustRun(t, enginetest.NewEngine(nil, s, tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1000})))
}

// A middleware that fetches for every request, its own among them, comes to an end: the innermost Fetch fails
// with an error that says why. Nothing waits for itself, however few workers there are.
//
// It fails if fetchInline does not look at the nesting: then the workers are gone, or the stack is.
func TestFetchNestsOnlySoDeep(t *testing.T) {
	for _, workers := range []int{1, 16} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld()
				s := enginetest.NewSpider("http://a.test/")
				s.Parse = enginetest.Nothing
				w.Page("http://a.test/", enginetest.After(time.Second, enginetest.Text("x")))
				for i := range 20 {
					w.Page(fmt.Sprintf("http://a.test/%d", i), enginetest.After(time.Second, enginetest.Text("x")))
				}
				depth, deepest := 0, 0
				var innermost error
				m := &enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
					depth++
					deepest = max(deepest, depth)
					defer func() { depth-- }()
					if _, err := get(ctx, fmt.Sprintf("http://a.test/%d", depth)); err != nil && innermost == nil {
						innermost = err
					}
					return nil
				}}
				stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithConcurrency(workers),
					tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1})))
				var herr *tegenaria.HandleError
				if !errors.As(innermost, &herr) || !strings.Contains(herr.Error(), "nested 8 deep") || herr.Request == nil || herr.Stage != tegenaria.StageAccept {
					t.Errorf("the innermost Fetch got %v", innermost)
				}
				if deepest != 9 || len(w.Visits()) != 9 { // the request itself and eight within each other
					t.Errorf("%d deep, asked %q", deepest, w.Urls())
				}
				enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 9})
			})
		})
	}
}

// While all parsers wait in Fetch, every fetch worker may hold a page that no parser takes. Then a Fetch
// needs a worker that no page can hold, and the pages need a parser.
//
// The first case fails if nothing is reserved for inline requests (Inline is 0 in crawl.frontierConfig), the second if
// a parser does not lend its place while it waits (Parsers.Lend returns false at once).
func TestTrapAllParsersInFetchWhileFetchWorkersFull(t *testing.T) {
	const pages = 20
	crawl := func(t *testing.T, delay time.Duration, inline enginetest.Answer, parsing func(n int)) {
		w := enginetest.NewWorld().Page("http://b.test/inline", inline)
		var urls []string
		for i := range pages {
			urls = append(urls, fmt.Sprintf("http://a.test/%d", i))
			w.Page(urls[i], enginetest.Text("x"))
		}
		s := enginetest.NewSpider(urls...)
		var parsed atomic.Int32
		s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			parsing(int(parsed.Add(1)))
			enginetest.Wait(resp, 100*time.Millisecond) // all workers get a page meanwhile
			got, err := resp.Fetch(tegenaria.NewRequest("http://b.test/inline", tegenaria.GET, nil))
			if err != nil {
				return err
			}
			if got.String() != "inline" {
				return fmt.Errorf("Fetch brought %q", got)
			}
			return nil
		}
		// The delay of the other host keeps a Fetch from taking a worker before the pages have them all.
		polite := tegenaria.Politeness{IgnoreRobots: true, Overrides: map[string]tegenaria.SlotPolicy{"b.test": {Delay: delay}}}
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithConcurrency(2),
			tegenaria.EngineWithPoliteness(polite)))
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2 * pages})
		if errs := s.Errors(); len(errs) > 0 {
			t.Errorf("errors: %v", errs)
		}
	}
	t.Run("no worker is free", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			crawl(t, time.Second, enginetest.Text("inline"), func(int) {})
		})
	})
	t.Run("a Fetch waits for another page to be parsed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			second := make(chan struct{})
			inline := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
				select {
				case <-second:
					return enginetest.Text("inline")(ctx)
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}
			crawl(t, 0, inline, func(n int) {
				if n == 2 {
					close(second)
				}
			})
		})
	})
}

// A middleware can tell the request of a Fetch from the one that a parser gets.
func TestContextIsInline(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("start")).Page("http://a.test/x", enginetest.Text("x"))
	var inline []string
	sees := &enginetest.Hooks{Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
		if ctx.IsInline() {
			inline = append(inline, ctx.Request.Url+ctx.Request.Downloader())
		}
		return nil
	}}
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = parserOf(func(ctx *tegenaria.Context) error {
		_, err := get(ctx, "http://a.test/x", tegenaria.RequestWithDownloader("world"))
		return err
	})
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(sees))
	e.RegisterDownloader("world", w)
	enginetest.MustRun(t, e)
	if len(inline) != 1 || inline[0] != "http://a.test/xworld" {
		t.Errorf("inline are %q", inline)
	}
	if tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", "", nil)).IsInline() {
		t.Error("a Context outside a run is inline")
	}
}

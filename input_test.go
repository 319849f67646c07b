package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tegenaria/tegenaria"
)

// Every mistake of wiring is told at once, before the first request, with what to do.
func TestWiringMistakes(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts []tegenaria.EngineOption
		want []string
	}{
		{"numbers", []tegenaria.EngineOption{
			tegenaria.EngineWithSchedulerNum(0), tegenaria.EngineWithReadCacheNum(0), tegenaria.EngineWithConcurrency(-1), tegenaria.EngineWithItemConcurrency(0),
			tegenaria.EngineWithGrace(-time.Second),
		}, []string{"EngineWithSchedulerNum is 0", "EngineWithReadCacheNum is 0", "EngineWithConcurrency is -1", "EngineWithItemConcurrency is 0", "EngineWithGrace is -1s"}},
		{"limits", []tegenaria.EngineOption{tegenaria.EngineWithLimits(tegenaria.Limits{
			Pages: -1, Items: -2, Errors: -3, Time: -4, Bytes: -5, Callback: -6, Depth: -7,
		})}, []string{"Limits.Pages is -1", "Limits.Items is -2", "Limits.Errors is -3", "Limits.Time is -4", "Limits.Bytes is -5", "Limits.Callback is -6", "Limits.Depth is -7", "OnlySeeds"}},
		{"politeness", []tegenaria.EngineOption{tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			Delay: -1, PerSlot: -2, Overrides: map[string]tegenaria.SlotPolicy{"a.test": {Delay: -1}}, AllowPrivate: []netip.Prefix{{}},
		})}, []string{"Politeness.Delay is -1", "Politeness.PerSlot is -2", `Overrides["a.test"]`, "AllowPrivate", "netip.MustParsePrefix"}},
		{"domains", []tegenaria.EngineOption{tegenaria.EngineWithAllowedDomains("http://a.test/")}, []string{"EngineWithAllowedDomains", "http://a.test/", "example.com"}},
		{"nil parts", []tegenaria.EngineOption{
			tegenaria.EngineWithMiddlewares(&hooks{}, nil), tegenaria.EngineWithPipelines(nil, (*collector)(nil)),
			func(e *tegenaria.SpiderEngine) { e.RegisterDownloader("d", nil); e.RegisterDownloader("", newWorld()) },
		}, []string{"RegisterDownloadMiddlewares: argument 2 is nil", "RegisterPipelines: argument 1 is nil", "RegisterPipelines: argument 2 is nil", "RegisterDownloader: argument 1 is nil", "the name is empty"}},
		{"parsers", []tegenaria.EngineOption{func(e *tegenaria.SpiderEngine) {
			e.RegisterParser("", nothing)
			e.RegisterParser("a", nothing)
			e.RegisterParser("b", nothing)
			e.RegisterParser("a", followAll)
			e.RegisterParser("c", nil)
		}}, []string{"the empty name", `"a" and "b" are the same func`, `two parsers have the name "a"`, `parser "c" is nil`}},
		{"committers", []tegenaria.EngineOption{tegenaria.EngineWithPipelines(&staging{}, &staging{})}, []string{`CommitKey "staging"`}},
		{"across the kinds", []tegenaria.EngineOption{
			tegenaria.EngineWithConcurrency(0), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: -1}), tegenaria.EngineWithSpiders(nil), tegenaria.EngineWithMiddlewares(nil),
		}, []string{"EngineWithConcurrency is 0", "Limits.Pages is -1", "RegisterSpiders: argument 2 is nil", "RegisterDownloadMiddlewares: argument 1 is nil"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			e := newEngine(w, newSpider("http://a.test/"), tt.opts...)
			err := e.Run(t.Context(), "test")
			var wiring *tegenaria.RunError
			if !errors.As(err, &wiring) || wiring.Op != "wiring" {
				t.Fatalf("Run returned %v, want a *RunError of wiring", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in:\n%v", want, err)
				}
			}
			if len(w.visits()) != 0 || e.Status() != tegenaria.StatusUninitialized {
				t.Errorf("asked %q, status %s", w.urls(), e.Status())
			}
		})
	}
}

// After a mistake was corrected the same engine runs.
func TestRunAfterAMistake(t *testing.T) {
	w := onePage()
	s := newSpider("http://a.test/")
	s.parse = nothing
	e := newEngine(w, s, tegenaria.EngineWithConcurrency(0))
	if err := e.Run(t.Context(), "test"); err == nil {
		t.Fatal("no error")
	}
	tegenaria.EngineWithConcurrency(1)(e)
	mustRun(t, e)
}

// What a request option cannot do fails that request, by a typed error or one that says what; the crawl goes on.
func TestBadRequests(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func() *tegenaria.Request
		want string
	}{
		{"JSON that is none", func() *tegenaria.Request {
			return tegenaria.NewRequest("http://a.test/x", "POST", nil, tegenaria.RequestWithJSON(math.NaN()))
		}, "encoding the JSON body of http://a.test/x"},
		{"negative MaxConnsPerHost", func() *tegenaria.Request {
			return tegenaria.NewRequest("http://a.test/x", "GET", nil, tegenaria.RequestWithMaxConnsPerHost(-1))
		}, "MaxConnsPerHost of http://a.test/x is -1"},
		{"reader that fails", func() *tegenaria.Request {
			return tegenaria.NewRequest("http://a.test/x", "POST", nil, tegenaria.RequestWithBodyReader(brokenReader{}))
		}, "BodyReader"},
		{"body over the limit", func() *tegenaria.Request {
			return tegenaria.NewRequest("http://a.test/x", "POST", nil, tegenaria.RequestWithBodyReader(strings.NewReader(strings.Repeat("x", 2000))))
		}, "raise Limits.Body"},
		{"no such parser", func() *tegenaria.Request {
			return tegenaria.NewRequest("http://a.test/x", "GET", nil, tegenaria.RequestWithParserName("none"))
		}, `no parser has the name "none"`},
		{"scheme", func() *tegenaria.Request { return tegenaria.NewRequest("gopher://a.test/x", "GET", nil) }, `scheme "gopher" is not supported; use http or https`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, from := range []string{"seed", "child", "Fetch"} {
				w := onePage()
				s := newSpider()
				s.start = func(req chan<- *tegenaria.Context) {
					if from == "seed" {
						req <- tegenaria.NewContext(tt.make())
					}
					req <- send("http://a.test/")
				}
				var fetched error
				s.parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
					switch from {
					case "child":
						req <- tegenaria.NewContext(tt.make())
					case "Fetch":
						_, fetched = ctx.Fetch(tt.make())
					}
					return nil
				}
				stats := mustRun(t, newEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1000})))
				if from == "Fetch" {
					// A parser is of no use there: it is the caller who reads the response.
					if tt.name != "no such parser" && (fetched == nil || !strings.Contains(fetched.Error(), tt.want)) {
						t.Errorf("Fetch: %v, want %q", fetched, tt.want)
					}
					continue
				}
				if herr := s.onlyError(t); !strings.Contains(herr.Error(), tt.want) || herr.Stage != tegenaria.StageAccept || herr.Request == nil {
					t.Errorf("%s: ErrorHandler got %v, want %q", from, herr, tt.want)
				}
				if stats.Outcomes[tegenaria.Fetched] != 1 || stats.Settled != 2 {
					t.Errorf("%s: %v, %v", from, stats.Outcomes, stats.Reasons)
				}
			}
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

// A page that links to itself, to its permuted query and its fragments is fetched once.
func TestPageThatLinksToItself(t *testing.T) {
	self := "http://a.test/page?b=2&a=1"
	w := newWorld().page(self, page("", "#x", "#", "?a=1&b=2", "?b=2&a=1", "?b=2&a=1#y", "/page?a=1&b=2#z", "http://A.TEST:80/page?b=2&a=1", "//a.test/./page?a=1&b=2",
		"http://a.test/x/../page?a=1&b=2", "/%70age?b=2&a=1"))
	s := newSpider(self)
	stats := mustRun(t, newEngine(w, s))
	if got := w.urls(); !slices.Equal(got, []string{self}) {
		t.Errorf("asked %q", got)
	}
	if stats.Outcomes[tegenaria.Fetched] != 1 || stats.Outcomes[tegenaria.Duplicate] != stats.Settled-1 {
		t.Errorf("outcomes %v", stats.Outcomes)
	}
}

// None of a million distinct URLs is lost with a Bloom filter that is far too small.
func TestExactDedupe(t *testing.T) {
	pages, links := 10, 100_000
	if testing.Short() || tegenaria.RaceEnabled {
		links = 2_000
	}
	hub := func(p int) answer {
		var b strings.Builder
		for i := range links {
			fmt.Fprintf(&b, "<a href=\"http://b.test/%d/%d?q=%d\">", p, i, i%7)
		}
		for i := range 100 { // some are known
			fmt.Fprintf(&b, "<a href=\"http://b.test/%d/%d?q=%d#again\">", p, i, i%7)
		}
		body := []byte(b.String())
		return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			return tegenaria.NewResponse(ctx.Request, 200, map[string][]string{"Content-Type": {"text/html"}}, body), nil
		}
	}
	w := newWorld()
	var seeds []string
	for p := range pages {
		seeds = append(seeds, fmt.Sprintf("http://a.test/%d", p))
		w.page(seeds[p], hub(p))
	}
	asked := make(map[string]int, pages*links) // an independent witness
	d := downloadFunc(func(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
		if strings.HasPrefix(ctx.Request.Url, "http://a.test/") {
			w.Download(ctx, result)
			return
		}
		w.mu.Lock()
		asked[ctx.Request.Url]++
		w.mu.Unlock()
		ctx.DownloadResult = &tegenaria.RequestResult{Response: &tegenaria.Response{Status: 200}}
		result <- ctx
	})
	s := tegenaria.NewSpider("test", tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
		if r.ContentLength == 0 {
			return nil
		}
		return out.FollowLinks()
	}), seeds...)
	stats := mustRun(t, newEngine(d, s, tegenaria.EngineWithConcurrency(2), tegenaria.EngineWithDupeFilter(tegenaria.NewRFPDupeFilter(1024, 1))))
	if len(asked) != pages*links {
		t.Errorf("%d of %d URLs were asked", len(asked), pages*links)
	}
	for u, n := range asked {
		if n != 1 {
			t.Fatalf("%s was asked %d times", u, n)
		}
	}
	if stats.Outcomes[tegenaria.Fetched] != int64(pages*links+pages) {
		t.Errorf("outcomes %v", stats.Outcomes)
	}
}

// A BodyReader that fails is the failure of its request, and no bad URL.
func TestBodyReaderFails(t *testing.T) {
	s := newSpider()
	s.start = func(req chan<- *tegenaria.Context) {
		r := tegenaria.NewRequest("http://a.test/", tegenaria.POST, nil, tegenaria.RequestWithBodyReader(iotest.ErrReader(errors.New("torn"))))
		req <- tegenaria.NewContext(r)
	}
	stats := mustRun(t, newEngine(newWorld(), s))
	if stats.Reasons["failed: accept"] != 1 || !strings.Contains(s.onlyError(t).Error(), "torn") {
		t.Errorf("%v, %v", stats.Reasons, s.errors())
	}
}

// Handle of nothing is found before the first page.
func TestHandleNil(t *testing.T) {
	spider := tegenaria.NewSpider("test", tegenaria.Handle[int](nil), "http://a.test/")
	var wrong *tegenaria.RunError
	if err := newEngine(newWorld(), spider).Run(t.Context(), "test"); !errors.As(err, &wrong) || wrong.Op != "wiring" {
		t.Errorf("Run: %v", err)
	}
}

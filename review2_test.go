package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
)

// baseless is a spider that forgot to set its BaseSpider; deep embeds one.
type baseless struct{ *tegenaria.BaseSpider }

func (*baseless) Parser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

type deep struct{ baseless }

// named has a name of its own, so that only StartRequest would notice.
type named struct{ baseless }

func (*named) GetName() string { return "test" }

// byValue embeds BaseSpider by value.
type byValue struct{ tegenaria.BaseSpider }

func (*byValue) Parser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

// unnameable has a GetName that panics.
type unnameable struct{ *testSpider }

func (unnameable) GetName() string { panic("no name") }

// Mistakes that used to show at the first page, or not at all.
func TestMoreWiringMistakes(t *testing.T) {
	other := tegenaria.EngineWithConcurrency(0) // is told as well
	polite := func(agent string) tegenaria.EngineOption {
		return tegenaria.EngineWithPoliteness(tegenaria.Politeness{UserAgent: agent})
	}
	for _, tt := range []struct {
		name string
		opts []tegenaria.EngineOption
		want []string
	}{
		{"line end in the agent", []tegenaria.EngineOption{polite("spidey\r\nX: y")}, []string{"Politeness.UserAgent", `spidey\r\nX: y`, "control characters"}},
		{"DEL in the agent", []tegenaria.EngineOption{polite("spidey\x7f")}, []string{"Politeness.UserAgent"}},
		{"nil func", []tegenaria.EngineOption{tegenaria.EngineWithPipelines(
			tegenaria.PipelineFunc[string](1, nil), tegenaria.PipelineFunc[*collector](1, nil))},
			[]string{"PipelineFunc[string]: the func is nil", "PipelineFunc[*tegenaria_test.collector]: the func is nil"}},
		{"wildcard", []tegenaria.EngineOption{tegenaria.EngineWithAllowedDomains("*.example.com", "https://b.test", "ok.test")},
			[]string{`"*.example.com" is no host`, `"https://b.test" is no host`, "example.com", "includes its sub-domains"}},
		{"nil BaseSpider", []tegenaria.EngineOption{tegenaria.EngineWithSpiders(&baseless{}, &deep{}, &named{}, baseless2{})},
			[]string{"embedded in *tegenaria_test.baseless is nil", "embedded in *tegenaria_test.deep is nil", "embedded in *tegenaria_test.named is nil",
				"embedded in tegenaria_test.baseless2 is nil", "&tegenaria.BaseSpider{", "by value"}},
		{"GetName that panics", []tegenaria.EngineOption{tegenaria.EngineWithSpiders(unnameable{})}, []string{"GetName of tegenaria_test.unnameable", "no name"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			err := newEngine(w, newSpider("http://a.test/"), append(tt.opts, other)...).Run(t.Context(), "test")
			var wiring *tegenaria.RunError
			if !errors.As(err, &wiring) || wiring.Op != "wiring" {
				t.Fatalf("Run returned %v, want a *RunError of wiring", err)
			}
			for _, want := range append(tt.want, "EngineWithConcurrency is 0") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in:\n%v", want, err)
				}
			}
			if strings.Contains(err.Error(), "nil pointer") || len(w.visits()) != 0 {
				t.Errorf("asked %q: %v", w.urls(), err)
			}
		})
	}
}

// baseless2 is used by value.
type baseless2 struct{ *tegenaria.BaseSpider }

func (baseless2) Parser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

func TestNilParserIsAMistake(t *testing.T) {
	s := tegenaria.NewSpider("test", nil, "http://a.test/")
	check := func(err error) {
		t.Helper()
		var wiring *tegenaria.RunError
		if !errors.As(err, &wiring) || wiring.Op != "wiring" || !strings.Contains(err.Error(), `NewSpider("test"): the parser is nil`) {
			t.Errorf("Run returned %v", err)
		}
	}
	check(newEngine(newWorld(), s).Run(t.Context(), "test"))
	for _, err := range tegenaria.Crawl[int](t.Context(), s) {
		check(err)
	}
}

// What looks similar and is none stays allowed.
func TestNoMistake(t *testing.T) {
	s := &byValue{tegenaria.BaseSpider{Name: "test", FeedUrls: []string{"http://a.test/"}}}
	w := onePage()
	mustRun(t, newEngine(w, s, tegenaria.EngineWithAllowedDomains("a.test", ".b.test", "c.test:80", "[::1]:80", "192.0.2.1"),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{UserAgent: "Spidéy/1.0 (+http://x.test)", IgnoreRobots: true})))
	if w.count("http://a.test/") != 1 {
		t.Errorf("asked %q", w.urls())
	}
}

// A SlotBy that panics is told once, and the host is the slot.
func TestSlotByThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorld(), newSpider()
		for i := range 5 {
			u := fmt.Sprintf("http://a.test/%d", i)
			w.page(u, page())
			s.FeedUrls = append(s.FeedUrls, u)
		}
		w.page("http://a.test/again", page())
		s.fail = func(_ *tegenaria.HandleError, req chan<- *tegenaria.Context) {
			req <- send("http://a.test/again") // SlotBy is asked for it as well
			req <- send("bad:")
		}
		began := time.Now()
		stats := mustRun(t, newEngine(w, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			IgnoreRobots: true, Delay: time.Second, SlotBy: func(*url.URL) string { panic("slot") },
		})))
		var panicked *tegenaria.PanicError
		herr := s.errors()[0]
		if !errors.As(herr, &panicked) || herr.Stage != tegenaria.StageAccept || !strings.Contains(herr.Error(), "SlotBy of http://a.test/0") || herr.Stack == nil {
			t.Errorf("ErrorHandler got %v", herr)
		}
		told := 0
		for _, herr := range s.errors() {
			if errors.As(herr, &panicked) {
				told++
			}
		}
		if took := time.Since(began); told != 1 || took != 5*time.Second || stats.Outcomes[tegenaria.Fetched] != 6 {
			t.Errorf("told %d times, it took %s, stats %+v", told, took, stats)
		}
	})
}

// A start that panics, and whose ErrorHandler sends what cannot be accepted, does not keep the crawl open.
func TestStartThatPanicsWithABadRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpider()
		s.start = func(chan<- *tegenaria.Context) { panic("start") }
		first := true
		s.fail = func(_ *tegenaria.HandleError, req chan<- *tegenaria.Context) {
			if first {
				first = false
				req <- send("bad:")
			}
		}
		e := newEngine(newWorld(), s, tegenaria.EngineWithLimits(tegenaria.Limits{Time: time.Minute}))
		mustRun(t, e)
		if len(s.errors()) != 2 {
			t.Errorf("errors %v", s.errors())
		}
	})
}

// A negative status is the failure of its request, wherever it comes from.
func TestNegativeStatus(t *testing.T) {
	for _, from := range []string{"Downloader", "ProcessRequest", "ProcessResponse", "Fetch", "robots.txt"} {
		t.Run(from, func(t *testing.T) {
			bad := func(ctx *tegenaria.Context) (*tegenaria.Response, error) { return &tegenaria.Response{Status: -7}, nil }
			w := onePage().page("http://a.test/x", bad).page("http://a.test/robots.txt", status(404))
			s := newSpider("http://a.test/")
			m := &hooks{}
			parsed := 0
			s.parse = parserOf(func(*tegenaria.Context) error { parsed++; return nil })
			want, stage := 0, tegenaria.StageStatus
			switch from {
			case "Downloader":
				w.page("http://a.test/", bad)
			case "ProcessRequest":
				m.request = func(ctx *tegenaria.Context) error {
					ctx.DownloadResult = &tegenaria.RequestResult{Response: &tegenaria.Response{Status: -7}}
					return nil
				}
			case "ProcessResponse":
				m.response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
					ctx.Response().Status = -7
					return nil
				}
			case "Fetch":
				want, stage = 1, tegenaria.StageParse
				s.parse = parserOf(func(ctx *tegenaria.Context) error { parsed++; _, err := get(ctx, "http://a.test/x"); return err })
			case "robots.txt":
				stage = tegenaria.StageRobots
				w.page("http://a.test/robots.txt", bad)
			}
			mustRun(t, newEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithPoliteness(tegenaria.Politeness{})))
			var unexpected *tegenaria.UnexpectedStatusError
			herr := s.onlyError(t)
			if !errors.As(herr, &unexpected) || unexpected.Status != -7 || herr.Stage != stage || !strings.Contains(herr.Error(), "status -7") {
				t.Errorf("ErrorHandler got %v (stage %s)", herr, herr.Stage)
			}
			if parsed != want {
				t.Errorf("parsed %d pages", parsed)
			}
		})
	}
}

// A middleware may take a response's Header or Buffer away, or put another one in its place: whoever comes next
// finds a complete one.
func TestResponseOfAMiddlewareIsCompleted(t *testing.T) {
	for name, spoil := range map[string]func(ctx *tegenaria.Context){
		"nil Header":       func(ctx *tegenaria.Context) { ctx.Response().Header = nil },
		"nil Buffer":       func(ctx *tegenaria.Context) { ctx.Response().Buffer = nil },
		"another Response": func(ctx *tegenaria.Context) { ctx.DownloadResult.Response = &tegenaria.Response{Status: 200} },
		"another result": func(ctx *tegenaria.Context) {
			ctx.DownloadResult = &tegenaria.RequestResult{Response: &tegenaria.Response{Status: 200}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := 0
			look := func(ctx *tegenaria.Context) error {
				seen++
				resp := ctx.Response()
				resp.Header["X"] = []string{"y"}
				if resp.Buffer == nil || resp.URL != "http://a.test/" || resp.Request() != ctx.Request || resp.Context() != ctx {
					t.Errorf("incomplete: %+v", resp)
				}
				resp.Buffer.WriteString("z")
				return nil
			}
			s := newSpider("http://a.test/")
			s.parse = parserOf(look)
			// The response passes them from right to left.
			mustRun(t, newEngine(onePage(), s, tegenaria.EngineWithMiddlewares(
				&hooks{priority: 1, response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { spoil(ctx); return nil }},
				&hooks{priority: 2, response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { return look(ctx) }},
				&hooks{priority: 3, response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { spoil(ctx); return nil }})))
			if seen != 2 || len(s.errors()) != 0 {
				t.Errorf("seen %d times, errors %v", seen, s.errors())
			}
		})
	}
}

type quote struct{ Text string }

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
			s := newSpider("http://a.test/")
			s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
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
				mustRun(t, e)
				log.Reset()
				mustRun(t, e) // the second run counts its own items
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

// A dead host is named as such: robots.txt is but what was asked first. Nothing else of it is asked.
func TestRobotsOfADeadHost(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, tt := range []struct {
		name   string
		err    error
		reason string
	}{
		{"refused", dial(syscall.ECONNREFUSED), "robots: connection refused"},
		{"no such host", dial(&net.DNSError{Err: "no such host", Name: "a.test", IsNotFound: true}), "robots: no such host"},
		{"DNS", dial(&net.DNSError{Err: "server misbehaving", Name: "a.test"}), "robots: no answer from DNS"},
		{"timeout", &tegenaria.TimeoutError{URL: "http://a.test/robots.txt"}, "robots: host does not answer"},
		{"no route", dial(syscall.EHOSTUNREACH), "robots: host cannot be reached"},
		{"something else", errBroken, "robots"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := onePage().page(robotsURL, broken(tt.err)).page("http://b.test/", text("x")).page("http://b.test/robots.txt", status(404))
			s := newSpider("http://a.test/", "http://b.test/")
			s.parse = parserOf(func(ctx *tegenaria.Context) error {
				_, err := get(ctx, "http://a.test/")
				var unreachable *tegenaria.RobotsUnreachableError
				if !errors.As(err, &unreachable) {
					t.Errorf("Fetch returned %v", err)
				}
				return nil
			})
			stats := mustRun(t, obeying(w, s, tegenaria.Politeness{}))
			herr := s.onlyError(t)
			var unreachable *tegenaria.RobotsUnreachableError
			if !errors.As(herr, &unreachable) || unreachable.Origin != "http://a.test" || !errors.Is(herr, tt.err) || !strings.Contains(herr.Error(), tt.err.Error()) ||
				herr.Stage != tegenaria.StageRobots {
				t.Errorf("ErrorHandler got %v (stage %s)", herr, herr.Stage)
			}
			if stats.Reasons["failed: "+tt.reason] != 2 || w.count("http://a.test/") != 0 || !slices.Contains(w.urls(), "http://b.test/") {
				t.Errorf("reasons %v, asked %q", stats.Reasons, w.urls())
			}
		})
	}
}

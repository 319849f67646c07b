package tegenaria_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// refuse answers with a status and a Retry-After, none if it is empty.
func refuse(code int, retryAfter func() string) enginetest.Answer {
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		header := map[string][]string{}
		if text := retryAfter(); text != "" {
			header["Retry-After"] = []string{text}
		}
		return tegenaria.NewResponse(ctx.Request, code, header, nil), nil
	}
}

func is(text string) func() string { return func() string { return text } }

// in is the date so far from now, in a form.
func in(d time.Duration, form string) func() string {
	return func() string { return time.Now().UTC().Add(d).Format(form) }
}

// polite makes an engine for links of seeds, with a politeness that does not ask for robots.txt.
func polite(w *enginetest.World, p tegenaria.Politeness, seeds []string, opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	p.IgnoreRobots = true
	s := enginetest.NewSpider(seeds...)
	s.Parse = enginetest.Nothing
	return enginetest.NewEngine(w, s, append([]tegenaria.EngineOption{tegenaria.EngineWithPoliteness(p)}, opts...)...)
}

// After 429 and 503 nothing is asked of the host before Retry-After is over, whatever else waits; other hosts go on.
func TestRetryAfterBlocksSlot(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name     string
		code     int
		header   func() string
		cap      time.Duration
		from, to time.Duration // when the next download begins
	}{
		{"429, seconds", 429, is("120"), 0, 120 * s, 120 * s},
		{"503, seconds", 503, is("120"), 0, 120 * s, 120 * s},
		{"IMF-fixdate", 503, in(90*s, http.TimeFormat), 0, 90 * s, 90 * s},
		{"RFC 850 date", 503, in(90*s, "Monday, 02-Jan-06 15:04:05 GMT"), 0, 90 * s, 90 * s},
		{"asctime date", 429, in(90*s, time.ANSIC), 0, 90 * s, 90 * s},
		{"above the cap", 503, is("86400"), 0, time.Hour, time.Hour},
		{"above a cap of its own", 503, is("86400"), 10 * s, 10 * s, 10 * s},
		{"more than there is time", 503, is("99999999999999999999"), 0, time.Hour, time.Hour},
		{"none", 503, is(""), 0, s, 1500 * time.Millisecond},
		{"none with 429", 429, is(""), 0, s, 1500 * time.Millisecond},
		{"nonsense", 503, is("soon"), 0, s, 1500 * time.Millisecond},
		{"zero", 503, is("0"), 0, s, 1500 * time.Millisecond},
		{"a date that has passed", 503, in(-90*s, http.TimeFormat), 0, s, 1500 * time.Millisecond},
		{"another code", 500, is("120"), 0, 0, 0},
		{"a good answer", 200, is("120"), 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/1", refuse(tt.code, tt.header)).Page("http://b.test/2", enginetest.Text("x"))
				var seeds []string
				for i := 1; i <= 3; i++ {
					w.Page(fmt.Sprintf("http://a.test/%d", i+1), enginetest.Text("x"))
					seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i), fmt.Sprintf("http://b.test/%d", i))
				}
				began := time.Now()
				enginetest.MustRun(t, polite(w, tegenaria.Politeness{PerSlot: 1, MaxRetryAfter: tt.cap}, seeds))
				a := w.StartsOf("a.test", began)
				if len(a) != 3 || a[0] != 0 || a[1] < tt.from || a[1] > tt.to {
					t.Errorf("downloads of a began at %v, want the second from %v to %v", a, tt.from, tt.to)
				}
				if b := w.StartsOf("b.test", began); len(b) != 3 || b[2] != 0 {
					t.Errorf("downloads of b began at %v, want all at once", b)
				}
			})
		})
	}
}

// Without Retry-After the pause doubles with each refusal; when the host is well again the delay that is left shrinks by
// tenths until it is gone.
func TestBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seeds := enginetest.NewWorld(), []string(nil)
		for i := range 60 {
			url := fmt.Sprintf("http://a.test/%d", i)
			seeds = append(seeds, url)
			if w.Page(url, enginetest.Text("x")); i < 8 {
				w.Page(url, enginetest.Status(503))
			}
		}
		began := time.Now()
		enginetest.MustRun(t, polite(w, tegenaria.Politeness{PerSlot: 1}, seeds))
		starts := w.StartsOf("a.test", began)
		if len(starts) != 60 {
			t.Fatalf("%d downloads, want 60", len(starts))
		}
		for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			gap := starts[i+1] - starts[i]
			if want *= time.Second; gap < want || gap > want*3/2 {
				t.Errorf("after refusal %d there are %v, want %v and up to a half more", i+1, gap, want)
			}
		}
		for i := 9; i+1 < len(starts); i++ {
			gap, before := starts[i+1]-starts[i], starts[i]-starts[i-1]
			if gap >= before && gap > 0 {
				t.Errorf("good answer %d: the gap is %v after %v, want it to shrink", i-7, gap, before)
			}
		}
		if first := starts[9] - starts[8]; first < 50*time.Second {
			t.Errorf("after the first good answer the gap is %v, want a slow recovery", first)
		}
	})
}

// A middleware that tries again and the slot that is left alone agree: the request waits for both.
func TestRetryWaitsForSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/1", enginetest.InTurn(refuse(429, is("60")), enginetest.Text("x"))).Page("http://a.test/2", enginetest.Text("x"))
		again := &enginetest.ErrorHooks{Failed: func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
			return tegenaria.Retry(time.Second, err)
		}}
		began := time.Now()
		stats := enginetest.MustRun(t, polite(w, tegenaria.Politeness{PerSlot: 1}, []string{"http://a.test/1", "http://a.test/2"}, tegenaria.EngineWithMiddlewares(again)))
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2})
		if got, want := w.StartsOf("a.test", began), []time.Duration{0, time.Minute, time.Minute}; !slices.Equal(got, want) {
			t.Errorf("downloads began at %v, want %v", got, want)
		}
	})
}

// A robots.txt may ask for a pause too.
func TestRetryAfterOfRobots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/robots.txt", enginetest.InTurn(refuse(503, is("300")), enginetest.Text(""))).Page("http://a.test/1", enginetest.Text("x"))
		began := time.Now()
		enginetest.MustRun(t, enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/1"), tegenaria.EngineWithPoliteness(tegenaria.Politeness{})))
		if got, want := w.StartsOf("a.test", began), []time.Duration{0, 5 * time.Minute, 5 * time.Minute}; !slices.Equal(got, want) {
			t.Errorf("downloads began at %v, want %v", got, want)
		}
	})
}

// AutoThrottle follows what the engine measures; timeouts and broken connections count as refusals, what says nothing
// about the host's load does not.
func TestAutoThrottle(t *testing.T) {
	const s = time.Second
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, tt := range []struct {
		name     string
		throttle *tegenaria.AutoThrottle
		first    enginetest.Answer
		second   time.Duration // between the end of the first download and the start of the second, about
	}{
		{"its defaults", &tegenaria.AutoThrottle{}, enginetest.After(s, enginetest.Text("x")), 2 * s},                                          // (5+1)/2 − 1
		{"a slow answer", &tegenaria.AutoThrottle{Start: s}, enginetest.After(20*s, enginetest.Text("x")), 0},                                  // 20 − 20
		{"the maximum", &tegenaria.AutoThrottle{Start: s, Max: 3 * s}, enginetest.After(2*s, enginetest.Status(500)), 0},                       // 2 − 2
		{"the target", &tegenaria.AutoThrottle{Start: 8 * s, Target: 2}, enginetest.After(2*s, enginetest.Text("x")), 2500 * time.Millisecond}, // (8+1)/2 − 2
		{"an error comes fast", &tegenaria.AutoThrottle{Start: 9 * s}, enginetest.After(s, enginetest.Status(404)), 8 * s},
		{"429", &tegenaria.AutoThrottle{Start: 9 * s}, enginetest.After(s, enginetest.Status(429)), 18 * s},
		{"a connection refused", &tegenaria.AutoThrottle{Start: 9 * s}, enginetest.Broken(refused), 18 * s},
		{"a connection broken", &tegenaria.AutoThrottle{Start: 9 * s}, enginetest.Broken(io.ErrUnexpectedEOF), 18 * s},
		{"a timeout", &tegenaria.AutoThrottle{Start: 9 * s}, enginetest.After(time.Hour, enginetest.Text("x")), 18 * s},
		{"an unknown name", &tegenaria.AutoThrottle{Start: 9 * s}, enginetest.Broken(&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}), 9 * s},
		{"another failure", &tegenaria.AutoThrottle{Start: 9 * s}, enginetest.Broken(errBroken), 9 * s},
		{"none, a connection refused", nil, enginetest.Broken(refused), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/2", enginetest.Text("x"))
				ended := time.Time{}
				w.Page("http://a.test/1", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
					defer func() { ended = time.Now() }()
					return tt.first(ctx)
				})
				enginetest.MustRun(t, polite(w, tegenaria.Politeness{PerSlot: 1, AutoThrottle: tt.throttle}, []string{"http://a.test/1", "http://a.test/2"}))
				if got := w.StartsOf("a.test", ended)[1]; got < tt.second || got > tt.second*3/2 {
					t.Errorf("the second download began %v after the first one's end, want %v, or after a refusal up to a half more", got, tt.second)
				}
			})
		})
	}
}

func TestJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seeds := enginetest.NewWorld(), []string(nil)
		for i := range 200 {
			seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i))
		}
		began := time.Now()
		enginetest.MustRun(t, polite(w, tegenaria.Politeness{Delay: 10 * time.Second, Jitter: 0.5}, seeds))
		starts := w.StartsOf("a.test", began)
		least, most := time.Hour, time.Duration(0)
		for i := range starts[1:] {
			least, most = min(least, starts[i+1]-starts[i]), max(most, starts[i+1]-starts[i])
		}
		// 199 draws leave the outer tenth of either side empty once in a thousand million times.
		if least < 5*time.Second || most > 15*time.Second || least > 6*time.Second || most < 14*time.Second {
			t.Errorf("the gaps are between %v and %v, want between 5s and 15s and near to both", least, most)
		}
	})
}

// The name of a slot goes before the patterns, and the nearest domain before the others.
func TestOverridePatterns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := map[string]time.Duration{
			"a.test": 1, "www.a.test": 2, "x.www.a.test": 4, "b.a.test": 3, "c.b.a.test": 3, "ba.test": 1, "test": 1,
		}
		w, seeds := enginetest.NewWorld(), []string(nil)
		for host := range hosts {
			seeds = append(seeds, "http://"+host+"/1", "http://"+host+"/2")
		}
		began := time.Now()
		enginetest.MustRun(t, polite(w, tegenaria.Politeness{Delay: time.Second, Overrides: map[string]tegenaria.SlotPolicy{
			"www.a.test":   {Delay: 2 * time.Second},
			"*.a.test":     {Delay: 3 * time.Second},
			"*.www.a.test": {Delay: 4 * time.Second},
		}}, seeds))
		for host, want := range hosts {
			if got := w.StartsOf(host, began); len(got) != 2 || got[1] != want*time.Second {
				t.Errorf("%s: downloads began at %v, want the second after %d s", host, got, want)
			}
		}
	})
}

func TestPolitenessMistakes(t *testing.T) {
	p := tegenaria.Politeness{
		Delay: -1, Jitter: 2, PerSlot: -1, PerIP: -1, PerProxy: -1, MaxPages: -1, MaxRetryAfter: -1, MaxCrawlDelay: -1,
		AutoThrottle: &tegenaria.AutoThrottle{Target: -1},
		Overrides:    map[string]tegenaria.SlotPolicy{"*": {}, "a.test": {Jitter: -1}},
	}
	err := enginetest.NewEngine(enginetest.NewWorld(), enginetest.NewSpider(), tegenaria.EngineWithPoliteness(p)).Run(t.Context(), "test")
	for _, words := range []string{"Politeness.Delay", "Politeness.Jitter", "Politeness.PerSlot", "Politeness.PerIP", "Politeness.PerProxy", "Politeness.MaxPages",
		"Politeness.MaxRetryAfter", "Politeness.MaxCrawlDelay", "Politeness.AutoThrottle", `Overrides["*"]`, `Overrides["a.test"].Jitter`} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("Run returned %v, want a word about %s", err, words)
		}
	}
	err = enginetest.NewEngine(enginetest.NewWorld(), enginetest.NewSpider(), tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerIP: 2})).Run(t.Context(), "test")
	if err == nil || !strings.Contains(err.Error(), "Politeness.PerIP") {
		t.Errorf("Run returned %v, want a word about PerIP beside EngineWithDownloader", err)
	}
}

// A request that a slow middleware has in hand while its host asks for a pause waits too, and the middleware sees it once.
func TestRetryAfterWhileInMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/1", enginetest.After(time.Second, refuse(503, is("60")))).Page("http://a.test/2", enginetest.Text("x"))
		seen := 0
		slow := &enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
			if ctx.Request.Url == "http://a.test/2" {
				seen++
				enginetest.Sleep(5 * time.Second)
			}
			return nil
		}}
		began := time.Now()
		enginetest.MustRun(t, polite(w, tegenaria.Politeness{}, []string{"http://a.test/1", "http://a.test/2"}, tegenaria.EngineWithMiddlewares(slow)))
		if got, want := w.StartsOf("a.test", began), []time.Duration{0, 61 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("downloads began at %v, want %v", got, want)
		}
		if seen != 1 {
			t.Errorf("the middleware saw the request %d times", seen)
		}
	})
}

// A job that goes on after a crash knows its page budget, and asks nothing before a delay has passed.
func TestCrashKeepsBudgetAndDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := enginetest.NewCrashStore()
		first := &enginetest.CrashCache{CrashStore: store}
		w, seeds := enginetest.NewWorld(), []string(nil)
		for i := range 9 {
			seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i))
			w.Page(seeds[i], enginetest.Text("x"))
		}
		w.Page(seeds[3], func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			first.Kill()
			return enginetest.Text("x")(ctx)
		})
		p := tegenaria.Politeness{Delay: 10 * time.Second, MaxPages: 6}
		began := time.Now()
		if err := polite(w, p, seeds, tegenaria.EngineWithCache(first)).Run(t.Context(), "test"); !errors.Is(err, enginetest.ErrCrashed) {
			t.Fatalf("the first run returned %v", err)
		}
		enginetest.Sleep(3 * time.Second)
		w.Page(seeds[3], enginetest.Text("x"))
		stats := enginetest.MustRun(t, polite(w, p, seeds, tegenaria.EngineWithCache(&enginetest.CrashCache{CrashStore: store})))
		// Three pages are settled, the fourth is not: three more may begin, and none before 33 s + 10 s.
		const s = time.Second
		if got, want := w.StartsOf("a.test", began), []time.Duration{0, 10 * s, 20 * s, 30 * s, 43 * s, 53 * s, 63 * s}; !slices.Equal(got, want) {
			t.Errorf("downloads began at %v, want %v", got, want)
		}
		if n := stats.Reasons["filtered: page-budget"]; n != 3 {
			t.Errorf("reasons %v, want three of the page budget", stats.Reasons)
		}
	})
}

// A host that has refused is treated as such by a job that goes on soon, and no longer than its refusals count.
func TestCrashKeepsPenalty(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name string
		down time.Duration // between the runs
		slow bool
	}{
		{"soon", 3 * s, true},
		{"much later", time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := enginetest.NewCrashStore()
				first := &enginetest.CrashCache{CrashStore: store}
				w, seeds := enginetest.NewWorld(), []string(nil)
				for i := range 8 {
					seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i))
					w.Page(seeds[i], enginetest.Text("x"))
				}
				for i := range 3 {
					w.Page(seeds[i], refuse(503, is("")))
				}
				w.Page(seeds[3], func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
					first.Kill()
					return enginetest.Text("x")(ctx)
				})
				p := tegenaria.Politeness{PerSlot: 1}
				if err := polite(w, p, seeds, tegenaria.EngineWithCache(first)).Run(t.Context(), "test"); !errors.Is(err, enginetest.ErrCrashed) {
					t.Fatalf("the first run returned %v", err)
				}
				enginetest.Sleep(tt.down)
				w.Page(seeds[3], enginetest.Text("x"))
				again := time.Now()
				enginetest.MustRun(t, polite(w, p, seeds, tegenaria.EngineWithCache(&enginetest.CrashCache{CrashStore: store})))
				var starts []time.Duration
				for _, at := range w.StartsOf("a.test", again) {
					if at >= 0 {
						starts = append(starts, at)
					}
				}
				if len(starts) != 5 {
					t.Fatalf("%d downloads began: %v", len(starts), starts)
				}
				gap := 4 * s // three refusals in a row: 1 s, 2 s, 4 s
				for i := 1; i < len(starts); i++ {
					gap = gap * 9 / 10
					want := time.Duration(0)
					if tt.slow {
						want = gap
					}
					if got := starts[i] - starts[i-1]; (got - want).Abs() > time.Microsecond {
						t.Errorf("download %d began %v after the one before, want %v", i, got, want)
					}
				}
			})
		})
	}
}

// A Retry-After of robots.txt holds for all who want that file, also those of other slots.
func TestRobotsRetryAfterOfOtherSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page(robotsURL, enginetest.InTurn(refuse(503, is("120")), enginetest.Text("")))
		var seeds []*tegenaria.Context
		for _, slot := range []string{"", "own"} {
			url := "http://a.test/" + slot
			w.Page(url, enginetest.Page())
			seeds = append(seeds, enginetest.Send(url, tegenaria.RequestWithSlot(slot)))
		}
		at := paced(t, w, tegenaria.Politeness{}, seeds)
		if got, want := at[robotsURL], []time.Duration{0, 2 * time.Minute}; !slices.Equal(got, want) {
			t.Errorf("robots.txt was asked for at %v, want %v", got, want)
		}
		if len(at) != 3 {
			t.Errorf("asked for %v, want robots.txt and two pages", at)
		}
	})
}

// slowToRead is a value of Meta that takes its time to be read from the cache.
type slowToRead struct{}

func (*slowToRead) UnmarshalJSON([]byte) error {
	enginetest.Sleep(5 * time.Second)
	return nil
}

// A robots.txt whose turn it is waits too if its slot is asked for a pause before it is sent.
func TestRobotsWaitsForPause(t *testing.T) {
	for _, tt := range []struct {
		name  string
		meta  map[string]any // of the request that needs it
		holds *internalHooks
		want  time.Duration
	}{
		{"slow to read", map[string]any{"slow": slowToRead{}}, &internalHooks{sees: true}, 61 * time.Second},
		{"slow middleware", nil, &internalHooks{enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
			if ctx.Request.Url == "http://b.test/robots.txt" {
				enginetest.Sleep(5 * time.Second)
			}
			return nil
		}}, true}, 66 * time.Second}, // it sees the second request too
	} {
		t.Run(tt.name, func(t *testing.T) { robotsWaitsForPause(t, tt.meta, tt.holds, tt.want) })
	}
}

func robotsWaitsForPause(t *testing.T, meta map[string]any, holds *internalHooks, at time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page(robotsURL, enginetest.After(time.Second, enginetest.InTurn(refuse(503, is("60")), enginetest.Text("")))).Page("http://a.test/", enginetest.Page()).
			Page("http://b.test/robots.txt", enginetest.Text("")).Page("http://b.test/", enginetest.Page())
		s := enginetest.NewSpider()
		s.Start = func(req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/", tegenaria.RequestWithSlot("own"))
			req <- enginetest.Send("http://b.test/", tegenaria.RequestWithSlot("own"), tegenaria.RequestWithRequestMeta(meta))
		}
		began := time.Now()
		enginetest.MustRun(t, obeying(w, s, tegenaria.Politeness{PerSlot: 2}, tegenaria.EngineWithMiddlewares(holds),
			tegenaria.EngineWithCache(&enginetest.CrashCache{CrashStore: enginetest.NewCrashStore()}), tegenaria.EngineWithMetaType[slowToRead]("slow")))
		if got, want := w.StartsOf("b.test", began), []time.Duration{at, at}; !slices.Equal(got, want) {
			t.Errorf("requests to b.test began at %v, want %v", got, want)
		}
	})
}

// What AutoThrottle has found goes on where it was in a job that goes on soon, below and above where it starts; after ten
// minutes it is forgotten, as that of a host without work. It fails when restore leaves the level out.
func TestAutoThrottleIsResumed(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name    string
		latency time.Duration
		target  float64
		down    time.Duration // between the runs
		starts  []time.Duration
	}{
		// From 5 s: 3.5, 2.75, 2.375, and then 2.1875. The delay passes once first.
		{"below the start", 2 * s, 1, 3 * s, []time.Duration{2375 * time.Millisecond, 4562500 * time.Microsecond}},
		{"above it", 20 * s, 0.5, 3 * s, []time.Duration{40 * s, 80 * s}},
		{"much later", 2 * s, 1, time.Hour, []time.Duration{5 * s, 8500 * time.Millisecond}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := enginetest.NewCrashStore()
				first := &enginetest.CrashCache{CrashStore: store}
				w, seeds := enginetest.NewWorld(), []string(nil)
				for i := range 5 {
					seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i))
					w.Page(seeds[i], enginetest.After(tt.latency, enginetest.Text("x")))
				}
				w.Page(seeds[3], func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
					first.Kill()
					return enginetest.Text("x")(ctx)
				})
				p := tegenaria.Politeness{PerSlot: 1, AutoThrottle: &tegenaria.AutoThrottle{Target: tt.target}}
				if err := polite(w, p, seeds, tegenaria.EngineWithCache(first)).Run(t.Context(), "test"); !errors.Is(err, enginetest.ErrCrashed) {
					t.Fatalf("the first run returned %v", err)
				}
				enginetest.Sleep(tt.down)
				w.Page(seeds[3], enginetest.After(tt.latency, enginetest.Text("x")))
				again := time.Now()
				enginetest.MustRun(t, polite(w, p, seeds, tegenaria.EngineWithCache(&enginetest.CrashCache{CrashStore: store})))
				starts := w.StartsOf("a.test", again)[4:]
				if !slices.Equal(starts, tt.starts) {
					t.Errorf("downloads began at %v, want %v", starts, tt.starts)
				}
			})
		})
	}
}

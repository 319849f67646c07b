package tegenaria_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/internal/remedy"
)

// Settings see what the options before them have set, and options after them win.
func TestSettingsInOrder(t *testing.T) {
	var seen tegenaria.Settings
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithConcurrency(3), tegenaria.EngineWithSchedulerNum(4), tegenaria.EngineWithItemConcurrency(5),
		tegenaria.EngineWithReadCacheNum(6), tegenaria.EngineWithUniqueReq(false), tegenaria.EngineWithFailFast(false),
		tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithGrace(7*time.Second), tegenaria.EngineWithAllowedDomains("a.example"),
		tegenaria.EngineWithAllowStatusCode([]uint64{404}), tegenaria.EngineWithSecretHeaders("X-Key"),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Second}), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 9}),
		tegenaria.EngineWithSettings(func(s *tegenaria.Settings) {
			seen = *s
			s.Concurrency, s.Grace, s.Limits.Pages, s.Politeness.PerSlot = 30, time.Minute, 90, 2
		}),
		tegenaria.EngineWithGrace(8*time.Second),
	)
	want := tegenaria.Settings{
		Concurrency: 3, SchedulerNum: 4, ItemConcurrency: 5, ReadCacheNum: 6, EmptyOK: true, Grace: 7 * time.Second,
		AllowedDomains: []string{"a.example"}, AllowStatusCode: []uint64{404}, SecretHeaders: []string{"X-Key"},
		Politeness: tegenaria.Politeness{Delay: time.Second}, Limits: tegenaria.Limits{Pages: 9},
	}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("the func saw\n%+v, and not\n%+v", seen, want)
	}
	got := engine.Settings()
	if got.Concurrency != 30 || got.SchedulerNum != 4 || got.Grace != 8*time.Second || got.Limits.Pages != 90 || got.Politeness.Delay != time.Second {
		t.Errorf("in force is %+v", got)
	}
	if got.Politeness.PerSlot != 2 || got.Politeness.UserAgent != "tegenaria/"+tegenaria.Version || got.Limits.Attempts != 10 || got.Limits.Body != 32<<20 {
		t.Errorf("defaults are not filled in: %+v", got)
	}
}

// It fails if a field of Settings does not reach the engine, or does not come back.
func TestSettingsAllFields(t *testing.T) {
	want := tegenaria.Settings{
		Concurrency: 1, SchedulerNum: 2, ItemConcurrency: 3, ReadCacheNum: 4, UniqueReq: false, FailFast: false, EmptyOK: true, Grace: 5,
		AllowedDomains: []string{"a"}, AllowStatusCode: []uint64{500}, SecretHeaders: []string{"b"},
		Politeness: tegenaria.Politeness{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, AutoThrottle: &tegenaria.AutoThrottle{Target: 2},
			Overrides: map[string]tegenaria.SlotPolicy{"a": {Delay: 1}}},
		Limits: tegenaria.Limits{Depth: tegenaria.OnlySeeds, Body: -1},
	}
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSettings(func(s *tegenaria.Settings) { *s = want }),
		tegenaria.EngineWithSettings(func(s *tegenaria.Settings) {
			if !reflect.DeepEqual(*s, want) {
				t.Errorf("the second func saw\n%+v, and not\n%+v", *s, want)
			}
		}))
	got := engine.Settings()
	got.Politeness.Overrides["a"] = tegenaria.SlotPolicy{}
	got.Politeness.AutoThrottle.Target = 3
	got.AllowedDomains[0] = "changed"
	again := engine.Settings()
	if again.Politeness.Overrides["a"].Delay != 1 || again.Politeness.AutoThrottle.Target != 2 || again.AllowedDomains[0] != "a" {
		t.Error("Settings is not a copy")
	}
	if again.Limits.Body != -1 || again.Politeness.AutoThrottle.Max != time.Minute || again.Politeness.Overrides["a"].PerSlot != 8 {
		t.Errorf("the defaults are wrong: %+v", again)
	}
}

// What is set by Settings is what a crawl obeys; a mistake in it is reported as the option's would be.
func TestSettingsInForce(t *testing.T) {
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithQuiet(),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("s", tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, _ *tegenaria.Output[int]) error { return nil }), "http://a.example/", "http://b.example/")),
		tegenaria.EngineWithDownloader(tegenaria.DownloaderFunc(func(_ context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
			return tegenaria.NewResponse(r, 200, nil, nil), nil
		})),
		tegenaria.EngineWithSettings(func(s *tegenaria.Settings) {
			s.AllowedDomains = []string{"a.example"}
			s.Politeness.IgnoreRobots = true
		}))
	if err := engine.Execute("s"); err != nil {
		t.Fatal(err)
	}
	if got := engine.Stats().Reasons["filtered: offsite"]; got != 1 {
		t.Errorf("%d requests were offsite", got)
	}

	engine = tegenaria.NewSpiderEngine(tegenaria.EngineWithSettings(func(s *tegenaria.Settings) { s.Limits.Pages = -1 }), tegenaria.EngineWithSettings(nil))
	err := engine.Execute("s")
	var mistake *tegenaria.RunError
	if !errors.As(err, &mistake) || !strings.Contains(err.Error(), "Limits.Pages") || !strings.Contains(err.Error(), "nil") {
		t.Errorf("the mistakes are told as %v", err)
	}
}

func ExampleEngineWithSettings() {
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Second}),
		tegenaria.EngineWithSettings(func(s *tegenaria.Settings) { s.Politeness.Delay /= 2 }))
	text, err := json.Marshal(engine.Settings())
	var names struct {
		Politeness map[string]any `json:"politeness"`
	}
	fmt.Println(errors.Join(err, json.Unmarshal(text, &names)))
	fmt.Println(names.Politeness["delay"], names.Politeness["slot_by"])
	// Output:
	// <nil>
	// 500ms tegenaria.SlotHost
}

// Options did nothing, or something else; ContentLength was never set. Fails if SetBody leaves ContentLength out,
// if fetcher.ask does not keep the time, or if EngineWithConcurrency sets another field.
func TestOptionsDoWhatTheySay(t *testing.T) {
	t.Run("ContentLength", func(t *testing.T) {
		body := strings.Repeat("x", 12345)
		server, _ := enginetest.Serve(t, map[string]string{"/": body})
		s := enginetest.NewSpider(server + "/")
		s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			if r := resp.Response(); r.ContentLength != len(body) || r.Delay <= 0 {
				t.Errorf("ContentLength is %d, Delay %v", r.ContentLength, r.Delay)
			}
			return nil
		}
		if stats := enginetest.MustRun(t, enginetest.NewEngine(nil, s)); stats.Bytes != int64(len(body)) {
			t.Errorf("Bytes is %d", stats.Bytes)
		}
	})
	t.Run("timeout", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Hang).Page("http://a.test/default", enginetest.Hang)
			s := enginetest.NewSpider()
			s.Start = func(req chan<- *tegenaria.Context) {
				req <- enginetest.Send("http://a.test/", tegenaria.RequestWithTimeout(3*time.Second))
				req <- enginetest.Send("http://a.test/default")
			}
			began := time.Now()
			took := map[string]time.Duration{}
			var mu sync.Mutex
			s.Fail = func(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) {
				mu.Lock()
				defer mu.Unlock()
				var timeout *tegenaria.TimeoutError
				if !errors.As(err, &timeout) || err.Response != nil {
					t.Errorf("error %v, want a *TimeoutError without a response", err)
				}
				took[err.Request.Url] = time.Since(began)
			}
			enginetest.MustRun(t, enginetest.NewEngine(w, s))
			if took["http://a.test/"] != 3*time.Second || took["http://a.test/default"] != time.Minute {
				t.Errorf("timeouts after %v, want 3 s and 1 min", took)
			}
		})
	})
	t.Run("concurrency", func(t *testing.T) {
		for _, n := range []int{1, 3, 10} {
			synctest.Test(t, func(t *testing.T) {
				w, s := enginetest.NewWorld(), enginetest.NewSpider()
				s.Parse = enginetest.Nothing
				for i := range 30 {
					u := fmt.Sprintf("http://a%d.test/", i)
					w.Page(u, enginetest.After(time.Second, enginetest.Text("x")))
					s.FeedUrls = append(s.FeedUrls, u)
				}
				enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(n)))
				if w.Peak != n {
					t.Errorf("at most %d downloads ran at once, want %d", w.Peak, n)
				}
			})
		}
	})
}

// It fails if messages call a setting something else in Go than it is called there.
func TestNamesOfSettings(t *testing.T) {
	check := func(path, want string) {
		if got := remedy.Setting(path).Name(); got != want {
			t.Errorf("%s is called %s, not %s", path, got, want)
		}
	}
	for _, top := range reflect.VisibleFields(reflect.TypeFor[tegenaria.Settings]()) {
		key := top.Tag.Get("json")
		if top.Type.Kind() != reflect.Struct {
			check(key, "EngineWith"+top.Name)
			continue
		}
		for _, field := range reflect.VisibleFields(top.Type) {
			check(key+"."+field.Tag.Get("json"), top.Name+"."+field.Name)
		}
	}
}

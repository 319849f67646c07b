package tegenaria_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// A slot that is blocked for more than a minute says so once, in an event and the log, and no other does. It fails when
// tellBlocks does nothing.
func TestH07BlockedSlotIsTold(t *testing.T) {
	throttle := &tegenaria.AutoThrottle{Target: 0.1, Max: time.Minute}
	for _, tt := range []struct {
		name   string
		answer enginetest.Answer // of the first page
		p      tegenaria.Politeness
		robots enginetest.Answer
		want   []string // event: when, cause, for how long
	}{
		{"a minute", refuse(503, is("60")), tegenaria.Politeness{IgnoreRobots: true}, nil, nil},
		{"more than a minute", refuse(429, is("61")), tegenaria.Politeness{IgnoreRobots: true}, nil, []string{"0s Retry-After 1m1s"}},
		{"capped", refuse(503, is("9999")), tegenaria.Politeness{IgnoreRobots: true}, nil, []string{"0s Retry-After 1h0m0s"}},
		{"twice", enginetest.InTurn(refuse(503, is("120")), refuse(503, is("120"))), tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1}, nil, []string{"0s Retry-After 2m0s"}},
		{"refused once", enginetest.Status(503), tegenaria.Politeness{IgnoreRobots: true}, nil, nil},
		{"its own delay", enginetest.Text("x"), tegenaria.Politeness{IgnoreRobots: true, Delay: time.Hour}, nil, nil},
		{"AutoThrottle at its maximum", enginetest.After(50*time.Second, enginetest.Text("x")), tegenaria.Politeness{IgnoreRobots: true, AutoThrottle: throttle, PerSlot: 1}, nil, []string{"50s AutoThrottle 10s"}},
		{"Crawl-delay", enginetest.Text("x"), tegenaria.Politeness{MaxCrawlDelay: time.Hour}, enginetest.Text("User-agent: *\nCrawl-delay: 300\n"), []string{"0s Crawl-delay 5m0s"}},
		{"a short Crawl-delay", enginetest.Text("x"), tegenaria.Politeness{}, enginetest.Text("User-agent: *\nCrawl-delay: 300\n"), nil},
		{"robots.txt asks for time", enginetest.Text("x"), tegenaria.Politeness{}, enginetest.InTurn(refuse(503, is("300")), enginetest.Text("")), []string{"0s robots.txt 5m0s"}},
		{"robots.txt cannot be had", enginetest.Text("x"), tegenaria.Politeness{}, enginetest.Status(500), []string{"30s robots.txt 24h0m0s"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://b.test/1", enginetest.Text("x")).Page("http://a.test/0", tt.answer)
				if tt.robots != nil {
					w.Page(robotsURL, tt.robots)
				}
				seeds := []string{"http://a.test/0", "http://b.test/1"}
				for i := range 5 {
					seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i+1))
					w.Page(seeds[i+2], enginetest.Text("x"))
				}
				s := enginetest.NewSpider(seeds...)
				s.Parse = enginetest.Nothing
				var log bytes.Buffer
				logger := logrus.New()
				logger.SetOutput(&log)
				began := time.Now()
				var got []string
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithPoliteness(tt.p), tegenaria.EngineWithLogger(logger),
					tegenaria.EngineWithEvents(tegenaria.Events{SlotBlocked: func(b tegenaria.SlotBlock) {
						if b.Slot != "a.test" {
							t.Errorf("told of %q", b.Slot)
						}
						got = append(got, fmt.Sprint(time.Since(began), " ", b.Cause, " ", time.Until(b.Until)))
						panic("it is recovered")
					}}))
				enginetest.MustRun(t, e)
				if !slices.Equal(got, tt.want) {
					t.Errorf("told %q, want %q", got, tt.want)
				}
				if n := strings.Count(log.String(), "nothing is asked of this slot"); n != len(tt.want) {
					t.Errorf("%d lines in the log, want %d", n, len(tt.want))
				}
			})
		})
	}
}

// Several answers that block a slot for about as long are told once, one that blocks it for another minute once more. It
// fails when blocks.add of internal/frontier forgets that a slot was told.
func TestH07RefusalsTogetherAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seeds := enginetest.NewWorld(), []string(nil)
		for i, wait := range []string{"300", "300", "310", "600", "300"} {
			seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i))
			w.Page(seeds[i], enginetest.After(time.Duration(i+1)*time.Second, refuse(503, is(wait))))
		}
		began := time.Now()
		var got []string
		enginetest.MustRun(t, polite(w, tegenaria.Politeness{PerSlot: 5}, seeds,
			tegenaria.EngineWithEvents(tegenaria.Events{SlotBlocked: func(b tegenaria.SlotBlock) {
				got = append(got, fmt.Sprint(time.Since(began), " ", b.Cause, " ", time.Until(b.Until)))
			}})))
		if want := []string{"1s Retry-After 5m0s", "4s Retry-After 10m0s"}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

// A job that goes on says so when an earlier run has stored a long pause. It fails when restore does not look.
func TestH07StoredBlockIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := enginetest.NewCrashStore()
		first := &enginetest.CrashCache{CrashStore: store}
		w := enginetest.NewWorld().Page("http://a.test/0", refuse(503, is("600"))).Page("http://a.test/1", enginetest.Text("x"))
		w.Page("http://b.test/0", enginetest.After(time.Minute, func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			first.Kill()
			return enginetest.Text("x")(ctx)
		}))
		seeds := []string{"http://a.test/0", "http://a.test/1", "http://b.test/0"}
		p := tegenaria.Politeness{PerSlot: 1}
		if err := polite(w, p, seeds, tegenaria.EngineWithCache(first)).Run(t.Context(), "test"); !errors.Is(err, enginetest.ErrCrashed) {
			t.Fatalf("the first run returned %v", err)
		}
		w.Page("http://b.test/0", enginetest.Text("x"))
		var got []string
		enginetest.MustRun(t, polite(w, p, seeds, tegenaria.EngineWithCache(&enginetest.CrashCache{CrashStore: store}),
			tegenaria.EngineWithEvents(tegenaria.Events{SlotBlocked: func(b tegenaria.SlotBlock) {
				got = append(got, fmt.Sprint(b.Slot, " ", b.Cause, " ", time.Until(b.Until)))
			}})))
		if want := []string{"a.test an earlier run 9m0s"}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

// However many slots are blocked, the log has 20 lines a minute, and the event tells all. It fails when all are logged.
func TestH07LogOfBlocksIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seeds := enginetest.NewWorld(), []string(nil)
		for i := range 200 {
			seeds = append(seeds, fmt.Sprintf("http://h%d.test/", i))
			w.Page(seeds[i], refuse(503, is("300")))
		}
		var log bytes.Buffer
		logger := logrus.New()
		logger.SetOutput(&log)
		told := make(chan string, 1000)
		enginetest.MustRun(t, polite(w, tegenaria.Politeness{}, seeds, tegenaria.EngineWithLogger(logger),
			tegenaria.EngineWithEvents(tegenaria.Events{SlotBlocked: func(b tegenaria.SlotBlock) { told <- b.Slot }})))
		if len(told) != 200 {
			t.Errorf("told of %d slots, want 200", len(told))
		}
		if n, more := strings.Count(log.String(), "nothing is asked of this slot"), strings.Count(log.String(), "further blocked slots"); n != 20 || more != 1 {
			t.Errorf("%d lines in the log, %d about further ones", n, more)
		}
	})
}

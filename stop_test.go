package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// hangs are crawls in which something does not return; release lets it go when the test is over.
var hangs = []struct {
	name  string
	stage tegenaria.Stage // of what is abandoned, "" if nothing is
	set   func(w *enginetest.World, s *enginetest.Spider, e *tegenaria.SpiderEngine, release <-chan struct{})
}{
	{"server", "", func(w *enginetest.World, s *enginetest.Spider, _ *tegenaria.SpiderEngine, _ <-chan struct{}) {
		w.Page("http://a.test/", enginetest.Hang)
	}},
	{"downloader that does not listen", tegenaria.StageDownload, func(w *enginetest.World, _ *enginetest.Spider, _ *tegenaria.SpiderEngine, release <-chan struct{}) {
		w.Page("http://a.test/", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			<-release
			return enginetest.Text("late")(ctx)
		})
	}},
	{"parser", tegenaria.StageParse, func(_ *enginetest.World, s *enginetest.Spider, _ *tegenaria.SpiderEngine, release <-chan struct{}) {
		s.Parse = parserOf(func(*tegenaria.Context) error { <-release; return nil })
	}},
	{"parser in Fetch", "", func(w *enginetest.World, s *enginetest.Spider, _ *tegenaria.SpiderEngine, _ <-chan struct{}) {
		w.Page("http://a.test/hang", enginetest.Hang)
		s.Parse = parserOf(func(ctx *tegenaria.Context) error { _, err := get(ctx, "http://a.test/hang"); return err })
	}},
	{"full item buffer", tegenaria.StagePipeline, func(_ *enginetest.World, s *enginetest.Spider, e *tegenaria.SpiderEngine, release <-chan struct{}) {
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			for i := range 5000 {
				item <- tegenaria.NewItem(ctx, i)
			}
			return nil
		}
		e.RegisterPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { <-release; return nil }})
	}},
	{"pipeline", tegenaria.StagePipeline, func(_ *enginetest.World, s *enginetest.Spider, e *tegenaria.SpiderEngine, release <-chan struct{}) {
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(ctx, 1)
			return nil
		}
		e.RegisterPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { <-release; return nil }})
	}},
	{"endless StartRequest", tegenaria.StageStart, func(_ *enginetest.World, s *enginetest.Spider, _ *tegenaria.SpiderEngine, release <-chan struct{}) {
		s.Start = func(req chan<- *tegenaria.Context) {
			for i := 0; ; i++ {
				req <- enginetest.Send(fmt.Sprintf("http://a.test/%d", i))
				timer := time.NewTimer(time.Millisecond)
				select {
				case <-release:
					timer.Stop()
					return
				case <-timer.C:
				}
			}
		}
	}},
	{"StartRequest that says nothing", tegenaria.StageStart, func(_ *enginetest.World, s *enginetest.Spider, _ *tegenaria.SpiderEngine, release <-chan struct{}) {
		s.Start = func(chan<- *tegenaria.Context) { <-release }
	}},
	{"ProcessRequest", tegenaria.StageRequest, func(_ *enginetest.World, _ *enginetest.Spider, e *tegenaria.SpiderEngine, release <-chan struct{}) {
		e.RegisterDownloadMiddlewares(&enginetest.Hooks{Request: func(*tegenaria.Context) error { <-release; return nil }})
	}},
	{"ProcessResponse", tegenaria.StageResponse, func(_ *enginetest.World, _ *enginetest.Spider, e *tegenaria.SpiderEngine, release <-chan struct{}) {
		e.RegisterDownloadMiddlewares(&enginetest.Hooks{Response: func(*tegenaria.Context, chan<- *tegenaria.Context) error { <-release; return nil }})
	}},
	{"ErrorHandler", tegenaria.StageError, func(w *enginetest.World, s *enginetest.Spider, _ *tegenaria.SpiderEngine, release <-chan struct{}) {
		w.Page("http://a.test/", enginetest.Status(500))
		s.Fail = func(*tegenaria.HandleError, chan<- *tegenaria.Context) { <-release }
	}},
	{"ErrorHandler of a seed", tegenaria.StageStart, func(_ *enginetest.World, s *enginetest.Spider, _ *tegenaria.SpiderEngine, release <-chan struct{}) {
		s.FeedUrls = []string{"bad:", "http://a.test/"}
		s.Fail = func(*tegenaria.HandleError, chan<- *tegenaria.Context) { <-release }
	}},
	{"delayed requests", "", func(_ *enginetest.World, s *enginetest.Spider, _ *tegenaria.SpiderEngine, _ <-chan struct{}) {
		s.Start = func(req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/", tegenaria.RequestWithNotBefore(time.Now().Add(time.Hour)))
		}
	}},
	{"slots that wait", "", func(_ *enginetest.World, s *enginetest.Spider, e *tegenaria.SpiderEngine, _ <-chan struct{}) {
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: time.Hour})(e)
		s.FeedUrls = []string{"http://a.test/", "http://a.test/2", "http://a.test/3"}
	}},
}

// Stop returns within the grace whatever hangs, and says what it had to leave behind.
func TestStopWithinTheGrace(t *testing.T) {
	const grace = 10 * time.Second
	for _, tt := range hangs {
		for _, how := range []string{"Stop", "Stop with a deadline", "cancelled", "limit"} {
			t.Run(tt.name+"/"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					release := make(chan struct{})
					defer close(release)
					w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
					s := enginetest.NewSpider("http://a.test/")
					s.Parse = enginetest.Nothing
					limits := tegenaria.Limits{Pending: 50}
					if how == "limit" {
						limits.Time = time.Second
					}
					e := enginetest.NewEngine(w, s, tegenaria.EngineWithGrace(grace), tegenaria.EngineWithLimits(limits))
					tt.set(w, s, e, release)
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					result := make(chan error, 1)
					go func() { result <- e.Run(ctx, "test") }()
					enginetest.Sleep(time.Second)
					synctest.Wait()
					began, bound := time.Now(), grace
					cause := errors.New("enough")
					switch how {
					case "Stop":
						if err := e.Stop(t.Context()); err != nil {
							t.Errorf("Stop: %v", err)
						}
					case "Stop with a deadline":
						bound = 3 * time.Second
						stop, end := context.WithTimeout(t.Context(), bound)
						defer end()
						e.Stop(stop)
					case "cancelled":
						bound = time.Second
						cancel(cause)
					}
					err := <-result
					if took := time.Since(began); took > bound {
						t.Errorf("it took %s, want at most %s", took, bound)
					}
					enginetest.CheckLedger(t, e)
					switch how {
					case "cancelled":
						if !errors.Is(err, cause) {
							t.Errorf("Run returned %v, want the cause", err)
						}
					case "limit":
						enginetest.WantStopped(t, err, "limit: time")
					default:
						enginetest.WantStopped(t, err, "stopped")
					}
					var abandoned *tegenaria.AbandonedError
					if got := errors.As(err, &abandoned); got != (tt.stage != "") || got && abandoned.Stages[tt.stage] == 0 {
						t.Errorf("Run returned %v, want %q abandoned", err, tt.stage)
					}
					if e.Status() != tegenaria.StatusStopped || !e.Idle() {
						t.Errorf("status %s, idle %t", e.Status(), e.Idle())
					}
				})
			})
		}
	}
}

// Work in hand finishes: a graceful stop loses nothing that it has begun.
func TestStopFinishesWorkInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.After(5*time.Second, enginetest.Page("/1", "/2"))).Page("http://b.test/", enginetest.After(time.Second, enginetest.Page("/1")))
		s := enginetest.NewSpider("http://a.test/", "http://b.test/")
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(ctx, ctx.Request.Url)
			return enginetest.FollowAll(ctx, item, req)
		}
		items := &enginetest.Collector{}
		slow := enginetest.PipelineFunc{Priority: 0, Process: func(*tegenaria.ItemMeta) error { enginetest.Sleep(2 * time.Second); return nil }}
		cache := tegenaria.NewMemoryCache()
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(items, slow), tegenaria.EngineWithCache(cache), tegenaria.EngineWithReadCacheNum(2))
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		synctest.Wait()
		began := time.Now()
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("Stop took %s, the work in hand 7 s", took)
		}
		enginetest.WantStopped(t, <-result, "stopped")
		stats := e.Stats()
		if len(items.All()) != 2 || stats.Outcomes[tegenaria.Fetched] != 2 || stats.Pending != 3 || stats.InFlight != 0 {
			t.Errorf("items %v, stats %+v", items.All(), stats)
		}
		if e.Summary().Reason != "stopped" {
			t.Errorf("reason %q", e.Summary().Reason)
		}
	})
}

// Stop may be called by many, at any time, and without a run.
func TestStopAnyNumberOfTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Hang)
		e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithGrace(4*time.Second))
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop before a run: %v", err)
		}
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		synctest.Wait()
		stopped := make(chan error, 10)
		for range 10 {
			go func() { stopped <- e.Stop(t.Context()) }()
		}
		for range 10 {
			if err := <-stopped; err != nil {
				t.Errorf("Stop: %v", err)
			}
		}
		enginetest.WantStopped(t, <-result, "stopped")
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop after a run: %v", err)
		}
	})
}

// Further calls of Stop can end the crawl sooner, and never later. It fails if supervise takes the newest
// moment instead of the earliest.
func TestStopAgainEndsSooner(t *testing.T) {
	const grace = 8 * time.Second // what is cancelled after 7 s has one more
	type stop struct{ at, deadline time.Duration }
	const none = -1
	for name, tt := range map[string]struct {
		stops []stop
		want  time.Duration
	}{
		"once":                              {[]stop{{0, none}}, grace},
		"three times":                       {[]stop{{0, none}, {3 * time.Second, none}, {7500 * time.Millisecond, none}}, grace},
		"when the work is cancelled":        {[]stop{{0, none}, {5 * time.Second, 3500 * time.Millisecond}}, grace},
		"at once, when it is cancelled":     {[]stop{{0, none}, {7500 * time.Millisecond, 0}}, 7500 * time.Millisecond},
		"sooner, then later":                {[]stop{{0, none}, {time.Second, 4 * time.Second}, {2 * time.Second, 3500 * time.Millisecond}}, 5 * time.Second},
		"later, then sooner":                {[]stop{{0, 4 * time.Second}, {3200 * time.Millisecond, 400 * time.Millisecond}}, 3600 * time.Millisecond},
		"soon, then at once":                {[]stop{{0, 4 * time.Second}, {3500 * time.Millisecond, 0}}, 3500 * time.Millisecond},
		"at once, then again and once more": {[]stop{{0, 0}, {0, 0}, {0, time.Second}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				s := enginetest.NewSpider("http://a.test/")
				s.Parse = parserOf(func(*tegenaria.Context) error { <-release; return nil })
				e := enginetest.NewEngine(enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")), s, tegenaria.EngineWithGrace(grace))
				result := make(chan error, 1)
				go func() { result <- enginetest.Run(t, e) }()
				synctest.Wait()
				began := time.Now()
				for _, again := range tt.stops {
					go func() {
						enginetest.Sleep(again.at)
						ctx, cancel := context.WithCancel(context.Background())
						if again.deadline != none {
							ctx, cancel = context.WithTimeout(ctx, again.deadline)
						}
						defer cancel()
						e.Stop(ctx)
					}()
				}
				err := <-result
				if took := time.Since(began); took != tt.want {
					t.Errorf("the crawl ended after %s, want %s", took, tt.want)
				}
				enginetest.WantStopped(t, err, "stopped")
			})
		})
	}
}

// A Stop that cut the work short leaves the parts the grace to close; one that ends while they are closed cuts that short.
// It fails if cancelNow sends its token only the first time.
func TestStopAgainCutsTheClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed []time.Duration
		var stopped time.Time
		part := func() *opening {
			return &opening{close: func(ctx context.Context, _ string) error {
				<-ctx.Done()
				closed = append(closed, time.Since(stopped))
				return nil
			}}
		}
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Hang)
		e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithGrace(30*time.Second), tegenaria.EngineWithMiddlewares(part(), part()))
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		synctest.Wait()
		stopped = time.Now()
		now, cancel := context.WithCancel(context.Background())
		cancel()
		go e.Stop(now)
		enginetest.Sleep(5 * time.Second)
		e.Stop(now)
		enginetest.WantStopped(t, <-result, "stopped")
		if want := []time.Duration{5 * time.Second, 5 * time.Second}; !slices.Equal(closed, want) {
			t.Errorf("the contexts of the parts ended after %v, want %v", closed, want)
		}
	})
}

// An endless StartRequest that never waits cannot hold up the stop either. The clock of a bubble would stand
// still here, so this one uses the real one.
func TestStopWithStartRequestThatNeverPauses(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	s := enginetest.NewSpider()
	release := make(chan struct{})
	returned := make(chan struct{})
	s.Start = func(req chan<- *tegenaria.Context) {
		defer close(returned)
		for {
			select {
			case <-release:
				return
			case req <- enginetest.Send("http://a.test/", tegenaria.RequestWithDoNotFilter(true)):
			}
		}
	}
	seen := make(chan struct{}, 1)
	s.Parse = parserOf(func(*tegenaria.Context) error {
		select {
		case seen <- struct{}{}:
		default:
		}
		return nil
	})
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithGrace(100*time.Millisecond), tegenaria.EngineWithLimits(tegenaria.Limits{Pending: 10}))
	result := make(chan error, 1)
	go func() { result <- enginetest.Run(t, e) }()
	<-seen
	if err := e.Stop(t.Context()); err != nil {
		t.Errorf("Stop: %v", err)
	}
	err := <-result
	enginetest.WantStopped(t, err, "stopped")
	var abandoned *tegenaria.AbandonedError
	if !errors.As(err, &abandoned) || abandoned.Stages[tegenaria.StageStart] != 1 {
		t.Errorf("Run returned %v, want the start abandoned", err)
	}
	close(release)
	<-returned
}

func TestPauseAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.After(time.Second, enginetest.Page("/1", "/2"))).Page("http://a.test/1", enginetest.Page()).Page("http://a.test/2", enginetest.Page())
		var events []string
		e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithEvents(tegenaria.Events{
			Paused:  func() { events = append(events, "paused") },
			Resumed: func() { events = append(events, "resumed") },
		}))
		if err := e.Pause(); err == nil {
			t.Error("Pause without a run is no error")
		}
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		synctest.Wait()
		if err := e.Resume(); err == nil {
			t.Error("Resume of a run that is not paused is no error")
		}
		if err := e.Pause(); err != nil {
			t.Fatalf("Pause: %v", err)
		}
		if err := e.Pause(); err == nil {
			t.Error("a second Pause is no error")
		}
		if e.Status() != tegenaria.StatusPaused {
			t.Errorf("status is %s", e.Status())
		}
		// What waits stays so for as long as nobody resumes.
		enginetest.Sleep(time.Hour)
		if st := e.Stats(); len(w.Visits()) != 1 || st.Pending != 2 || !e.Idle() {
			t.Errorf("while paused: asked %q, %+v", w.Urls(), st)
		}
		if err := e.Resume(); err != nil {
			t.Fatalf("Resume: %v", err)
		}
		if err := <-result; err != nil {
			t.Errorf("Run: %v", err)
		}
		if len(w.Visits()) != 3 || !slices.Equal(events, []string{"paused", "resumed"}) {
			t.Errorf("asked %q, events %q", w.Urls(), events)
		}
	})
}

// A paused crawl can be stopped.
func TestStopWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.After(time.Second, enginetest.Page("/1")))
		e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"))
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		synctest.Wait()
		if err := e.Pause(); err != nil {
			t.Fatal(err)
		}
		enginetest.Sleep(time.Minute)
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		enginetest.WantStopped(t, <-result, "stopped")
	})
}

// CloseSpider stops gracefully, from every callback.
func TestCloseSpider(t *testing.T) {
	for _, where := range []string{"Parser", "ProcessRequest", "ProcessResponse", "ProcessItem", "AcceptRequest", "Start"} {
		t.Run(where, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/1", "/2", "/3"))
			enough := tegenaria.CloseSpider("enough")
			s := enginetest.NewSpider()
			s.Start = func(req chan<- *tegenaria.Context) {
				req <- enginetest.Send("http://a.test/never", tegenaria.RequestWithNotBefore(time.Now().Add(time.Hour)))
				req <- enginetest.Send("http://a.test/")
			}
			m := &enginetest.FilterHooks{Accept: func(*tegenaria.Response, *tegenaria.Request) error { return nil }}
			opts := []tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(m)}
			var spider tegenaria.SpiderInterface = s
			switch where {
			case "Parser":
				s.Parse = parserOf(func(*tegenaria.Context) error { return fmt.Errorf("wrapped: %w", enough) })
			case "ProcessRequest":
				m.Request = func(*tegenaria.Context) error { return enough }
			case "ProcessResponse":
				m.Response = func(*tegenaria.Context, chan<- *tegenaria.Context) error { return enough }
			case "ProcessItem":
				s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					item <- tegenaria.NewItem(ctx, 1)
					return nil
				}
				opts = append(opts, tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { return enough }}))
			case "AcceptRequest":
				m.Accept = func(parent *tegenaria.Response, _ *tegenaria.Request) error {
					if parent != nil {
						return enough
					}
					return nil
				}
			case "Start":
				spider = &starting{s, func(context.Context, chan<- *tegenaria.Context) error { return enough }}
			}
			e := enginetest.NewEngine(w, spider, opts...)
			enginetest.WantStopped(t, enginetest.Run(t, e), "enough")
			if e.Summary().Reason != "enough" || len(w.Visits()) > 1 {
				t.Errorf("reason %q, asked %q", e.Summary().Reason, w.Urls())
			}
			if len(s.Errors()) != 0 {
				t.Errorf("ErrorHandler was told: %v", s.Errors())
			}
		})
	}
}

// Stop in a callback waits for a run that waits for the callback: it is bounded, and says what to do instead.
func TestStopInACallback(t *testing.T) {
	const grace = 10 * time.Second
	for _, tt := range []struct {
		name  string
		bound time.Duration // how long Stop takes at most
		stuck bool          // nobody can abandon that callback: Stop says so
		set   func(s *enginetest.Spider, e *tegenaria.SpiderEngine, stop func())
	}{
		{"Parser", grace, false, func(s *enginetest.Spider, _ *tegenaria.SpiderEngine, stop func()) {
			s.Parse = parserOf(func(*tegenaria.Context) error { stop(); return nil })
		}},
		{"ProcessItem", grace, false, func(s *enginetest.Spider, e *tegenaria.SpiderEngine, stop func()) {
			s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				item <- tegenaria.NewItem(ctx, 1)
				return nil
			}
			e.RegisterPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { stop(); return nil }})
		}},
		{"Open", grace, false, func(_ *enginetest.Spider, e *tegenaria.SpiderEngine, stop func()) {
			e.RegisterDownloadMiddlewares(&opening{open: func(context.Context) error { stop(); return nil }})
		}},
		{"Close", grace + 2*time.Second, false, func(_ *enginetest.Spider, e *tegenaria.SpiderEngine, stop func()) {
			e.RegisterDownloadMiddlewares(&opening{close: func(context.Context, string) error { stop(); return nil }})
		}},
		{"Events.Downloaded", grace + 2*time.Second, true, func(_ *enginetest.Spider, e *tegenaria.SpiderEngine, stop func()) {
			tegenaria.EngineWithEvents(tegenaria.Events{Downloaded: func(*tegenaria.Request, *tegenaria.Response) { stop() }})(e)
		}},
		{"Events.RequestSettled", grace + 2*time.Second, true, func(_ *enginetest.Spider, e *tegenaria.SpiderEngine, stop func()) {
			tegenaria.EngineWithEvents(tegenaria.Events{RequestSettled: func(*tegenaria.Request, tegenaria.Outcome, string) { stop() }})(e)
		}},
		{"Events.Closed", grace + 5*time.Second, true, func(_ *enginetest.Spider, e *tegenaria.SpiderEngine, stop func()) {
			tegenaria.EngineWithEvents(tegenaria.Events{Closed: func(string) { stop() }})(e)
		}},
		{"go Stop in the Parser", 0, false, func(s *enginetest.Spider, _ *tegenaria.SpiderEngine, stop func()) {
			s.Parse = parserOf(func(*tegenaria.Context) error { go stop(); return nil })
		}},
	} {
		for _, deadline := range []time.Duration{0, 2 * time.Second} {
			t.Run(fmt.Sprintf("%s/deadline %s", tt.name, deadline), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := enginetest.NewSpider("http://a.test/")
					s.Parse = enginetest.Nothing
					e := enginetest.NewEngine(onePage(), s, tegenaria.EngineWithGrace(grace))
					stopped := make(chan error, 2)
					var took time.Duration
					tt.set(s, e, func() {
						ctx, cancel := t.Context(), context.CancelFunc(func() {})
						if deadline > 0 {
							ctx, cancel = context.WithTimeout(ctx, deadline)
						}
						defer cancel()
						began := time.Now()
						err := e.Stop(ctx)
						took = time.Since(began)
						stopped <- err
					})
					result := make(chan error, 1)
					go func() { result <- enginetest.Run(t, e) }()
					err := <-stopped
					if took > tt.bound {
						t.Errorf("Stop took %s, want at most %s", took, tt.bound)
					}
					var stuck *tegenaria.StopError
					if errors.As(err, &stuck) != tt.stuck || tt.stuck && (!strings.Contains(err.Error(), "CloseSpider") || !strings.Contains(err.Error(), "go e.Stop(ctx)")) {
						t.Errorf("Stop returned %v", err)
					}
					<-result
					synctest.Wait()
				})
			})
		}
	}
}

// A Closer that hangs is told by its context when the grace is over, or at once by a second signal, and then left
// behind; the others are closed all the same.
func TestCloseThatHangs(t *testing.T) {
	for _, listens := range []bool{true, false} {
		t.Run(fmt.Sprintf("listens %t", listens), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				closed := 0
				fine := func(context.Context, string) error { closed++; return nil }
				hanging := func(ctx context.Context, _ string) error {
					if listens {
						<-ctx.Done()
						return ctx.Err()
					}
					<-release
					return nil
				}
				s := enginetest.NewSpider("http://a.test/")
				s.Parse = enginetest.Nothing
				e := enginetest.NewEngine(onePage(), s, tegenaria.EngineWithGrace(5*time.Second), tegenaria.EngineWithMiddlewares(
					&opening{close: fine}, &opening{close: hanging}, &opening{close: hanging}, &opening{close: fine}))
				began := time.Now()
				err := enginetest.Run(t, e)
				want, lost := 5*time.Second, 0
				if !listens {
					want, lost = 7*time.Second, 2
				}
				if took := time.Since(began); took != want {
					t.Errorf("it took %s, want %s", took, want)
				}
				var abandoned *tegenaria.AbandonedError
				if closed != 2 || !strings.Contains(err.Error(), "closing *tegenaria_test.opening") || errors.As(err, &abandoned) == listens ||
					!listens && abandoned.Stages[tegenaria.StageClose] != lost {
					t.Errorf("Run returned %v, closed %d", err, closed)
				}
				if stats := e.Stats(); stats.Abandoned[tegenaria.StageClose] != lost || stats.ErrorCount != int64(lost) || e.Summary().Reason != "finished" {
					t.Errorf("stats: %+v, reason %q", stats, e.Summary().Reason)
				}
				close(release)
				synctest.Wait()
			})
		})
	}
}

// A deadline of Stop that ends while the parts are closed hurries them.
func TestStopHurriesClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var told error
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = enginetest.Nothing
		e := enginetest.NewEngine(onePage(), s, tegenaria.EngineWithMiddlewares(
			&opening{close: func(context.Context, string) error { <-release; return nil }},
			&opening{close: func(ctx context.Context, _ string) error { <-ctx.Done(); told = ctx.Err(); return nil }}))
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		enginetest.Sleep(time.Second)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		e.Stop(ctx)
		err := <-result
		var abandoned *tegenaria.AbandonedError
		if !errors.As(err, &abandoned) || abandoned.Stages[tegenaria.StageClose] != 1 || told == nil {
			t.Errorf("Run returned %v; the one that listens: %v", err, told)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("it took %s", took)
		}
		close(release)
		synctest.Wait()
	})
}

// The reason that user code gives for closing is that of the run, also if nothing was left to do; without one, it says that the
// spider did it. A durable job can be resumed then: a page that has sent nothing is asked for again, and its job finishes once the
// cause is mended. A job that had finished says so in one line of the log.
func TestCloseSpiderWithNothingLeftToDo(t *testing.T) {
	closing := func(s *enginetest.Spider, reason string) { // in its parser
		s.Parse = parserOf(func(*tegenaria.Context) error { return tegenaria.CloseSpider(reason) })
	}
	for _, tt := range []struct {
		name, reason, want string
		by                 func(s *enginetest.Spider, reason string) []tegenaria.EngineOption
		again              int // pages that the second run asks for
	}{
		{"parser", "the login was refused", "the login was refused", func(s *enginetest.Spider, reason string) []tegenaria.EngineOption {
			closing(s, reason)
			return nil
		}, 1},
		{"parser without a reason", "", "closed by the spider", func(s *enginetest.Spider, reason string) []tegenaria.EngineOption {
			closing(s, reason)
			return nil
		}, 1},
		{"parser that says finished", "finished", "finished", func(s *enginetest.Spider, reason string) []tegenaria.EngineOption {
			closing(s, reason)
			return nil
		}, 1},
		{"parser that has sent an item", "enough", "enough", func(s *enginetest.Spider, reason string) []tegenaria.EngineOption {
			s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				item <- tegenaria.NewItem(ctx, 1)
				return tegenaria.CloseSpider(reason)
			}
			return nil
		}, 0},
		{"middleware before the request", "no key", "no key", func(_ *enginetest.Spider, reason string) []tegenaria.EngineOption {
			return []tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(&enginetest.Hooks{Request: func(*tegenaria.Context) error { return tegenaria.CloseSpider(reason) }})}
		}, 1},
		{"middleware behind the response", "logged out", "logged out", func(_ *enginetest.Spider, reason string) []tegenaria.EngineOption {
			return []tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(&enginetest.Hooks{Response: func(*tegenaria.Context, chan<- *tegenaria.Context) error {
				return tegenaria.CloseSpider(reason)
			}})}
		}, 1},
		{"pipeline", "disk full", "disk full", func(s *enginetest.Spider, reason string) []tegenaria.EngineOption {
			s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				item <- tegenaria.NewItem(ctx, 1)
				return nil
			}
			return []tegenaria.EngineOption{tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Process: func(*tegenaria.ItemMeta) error { return tegenaria.CloseSpider(reason) }})}
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store, err := disk.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = enginetest.Nothing
			e := enginetest.NewEngine(onePage(), s, append(tt.by(s, tt.reason), tegenaria.EngineWithCache(store))...)
			enginetest.WantStopped(t, enginetest.Run(t, e), tt.want)
			if reason := e.Summary().Reason; reason != tt.want {
				t.Errorf("reason %q", reason)
			}
			enginetest.CheckLedger(t, e)

			mended := enginetest.NewSpider("http://a.test/")
			mended.Parse = enginetest.Nothing
			w := onePage()
			e = enginetest.NewEngine(w, mended, tegenaria.EngineWithCache(store))
			if err := enginetest.Run(t, e); err != nil || len(w.Visits()) != tt.again {
				t.Errorf("the second run asked for %q: %v", w.Urls(), err)
			}
			if job := e.Summary().Job; job == nil || job.Discovered != job.Settled || job.Outcomes[tegenaria.Fetched] != 1 {
				t.Errorf("the job: %+v", job)
			}
			var log bytes.Buffer
			logger := logrus.New()
			logger.SetOutput(&log)
			w = onePage()
			if err := enginetest.Run(t, enginetest.NewEngine(w, mended, tegenaria.EngineWithCache(store), tegenaria.EngineWithLogger(logger))); err != nil || len(w.Visits()) != 0 {
				t.Errorf("the third run asked for %q: %v", w.Urls(), err)
			}
			if n := strings.Count(log.String(), "this job was finished before"); n != 1 {
				t.Errorf("the log says it %d times:\n%s", n, log.String())
			}
		})
	}
}

// A limit that was reached before does not take the reason away.
func TestCloseSpiderAfterALimit(t *testing.T) {
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = parserOf(func(*tegenaria.Context) error { return tegenaria.CloseSpider("the login was refused") })
	e := enginetest.NewEngine(onePage(), s, tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 1}))
	enginetest.WantStopped(t, enginetest.Run(t, e), "the login was refused")
}

// A crawl that is told to stop when nothing is left to do has finished.
func TestStopWithNothingLeftToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = enginetest.Nothing
		e := enginetest.NewEngine(enginetest.NewWorld().Page("http://a.test/", enginetest.After(time.Second, enginetest.Text("x"))), s)
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		synctest.Wait()
		if err := errors.Join(e.Stop(t.Context()), <-result); err != nil {
			t.Errorf("Stop and Run: %v", err)
		}
	})
}

// It fails if the log says that the crawl is stopping after it has said how the crawl ended, or the line that says so is lost: nothing
// is in progress, so the run may end as soon as it may.
func TestStoppingIsLoggedBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		logger := enginetest.Quiet()
		logger.SetLevel(logrus.InfoLevel)
		logger.AddHook(holdUp{func(entry *logrus.Entry) {
			if strings.HasPrefix(entry.Message, "stopping (") {
				enginetest.Sleep(time.Second)
				lines = append(lines, "stopping")
			}
			if strings.HasPrefix(entry.Message, "stopped: ") {
				lines = append(lines, "stopped")
			}
		}})
		s := enginetest.NewSpider()
		s.Start = func(req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/", tegenaria.RequestWithNotBefore(time.Now().Add(time.Hour)))
		}
		e := enginetest.NewEngine(enginetest.NewWorld(), s, tegenaria.EngineWithLogger(logger))
		go func() {
			enginetest.Sleep(time.Minute)
			e.Stop(context.Background())
		}()
		enginetest.WantStopped(t, enginetest.Run(t, e), "stopped")
		synctest.Wait()
		if !slices.Equal(lines, []string{"stopping", "stopped"}) {
			t.Errorf("the log says %q", lines)
		}
	})
}

// After a stop nobody received requests: a parser with more than 1,024 of them never returned, and a server
// that hung hung the stop. Fails if requestChannel.receive returns once the crawl is refusing, or if crawl.supervise does
// not cancel the work when the grace is over.
func TestStopReceivesAndCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/hang", enginetest.Hang)
		s := enginetest.NewSpider("http://a.test/", "http://a.test/hang")
		stopping := make(chan struct{})
		sent := 0
		s.Parse = func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			<-stopping
			enginetest.Sleep(time.Second)
			for i := range 10_000 {
				req <- enginetest.Send(fmt.Sprintf("http://a.test/%d", i))
				sent++
			}
			return nil
		}
		e := enginetest.NewEngine(w, s)
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		synctest.Wait()
		close(stopping)
		began := time.Now()
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("Stop took %s, the grace is 20 s", took)
		}
		enginetest.WantStopped(t, <-result, "stopped")
		if stats := e.Stats(); sent != 10_000 || stats.Pending != 10_001 {
			t.Errorf("sent %d requests, stats %+v; want 10,001 pending", sent, stats)
		}
	})
}

// A committer of a complete job may take longer than the grace to close, which is there for the parts after it; one of a job that goes
// on may not, and a stop cuts it short.
func TestCommitterClosesForLong(t *testing.T) {
	for name, test := range map[string]struct {
		stopped, hurried bool
		took             time.Duration
	}{
		"complete":            {false, false, 10 * time.Minute},
		"stopped by a limit":  {true, false, 5 * time.Second},
		"stopped when closed": {false, true, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told, next error
				slow := &longCommitter{opening: opening{close: func(ctx context.Context, _ string) error {
					select {
					case <-ctx.Done():
						told = ctx.Err()
					case <-time.After(10 * time.Minute):
					}
					return told
				}}}
				s := enginetest.NewSpider("http://a.test/")
				s.Parse = enginetest.FollowAll
				options := []tegenaria.EngineOption{tegenaria.EngineWithGrace(5 * time.Second), tegenaria.EngineWithPipelines(slow), tegenaria.EngineWithMiddlewares(
					&opening{close: func(ctx context.Context, _ string) error { next = ctx.Err(); return nil }})}
				if test.stopped {
					options = append(options, tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 1}))
				}
				w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/b")).Page("http://a.test/b", enginetest.Text("b"))
				e := enginetest.NewEngine(w, s, options...)
				result, began := make(chan error, 1), time.Now()
				go func() { result <- enginetest.Run(t, e) }()
				if test.hurried {
					enginetest.Sleep(time.Minute)
					ctx, cancel := context.WithCancel(t.Context())
					cancel()
					_ = e.Stop(ctx)
				}
				err := <-result
				if took := time.Since(began).Round(time.Second); took != test.took {
					t.Errorf("it took %s, want %s", took, test.took)
				}
				if isCut := test.stopped || test.hurried; isCut != (told != nil) || isCut == (err == nil) || isCut != (next != nil) {
					t.Errorf("Run: %v; the committer: %v; the part after it: %v", err, told, next)
				}
			})
		})
	}
}

// longCommitter is a pipeline that commits nothing.
type longCommitter struct{ opening }

func (*longCommitter) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error { return nil }
func (*longCommitter) CommitKey() string                                                { return "slow" }
func (*longCommitter) Restore(context.Context, []byte) error                            { return nil }
func (*longCommitter) Prepare(context.Context, []string) ([]byte, error)                { return nil, nil }
func (*longCommitter) Discard(string)                                                   {}

package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// crashed is a cache after a crash: its next run begins with requests that wait, and others that were in flight.
type crashed struct {
	tegenaria.CacheInterface
	waiting  []string       // URLs
	suspects map[string]int // their crashes, by URL
	unstored map[string]int // of those that Next hands out

	mu      sync.Mutex // guards the fields below
	records map[string]tegenaria.Record
	flights []string
}

// afterCrash makes one. A crawl makes the records.
func afterCrash(t *testing.T, waiting []string, suspects, unstored map[string]int) *crashed {
	t.Helper()
	c := &crashed{CacheInterface: tegenaria.NewMemoryCache(), records: make(map[string]tegenaria.Record)}
	urls := slices.Concat(waiting, slices.Collect(maps.Keys(suspects)))
	e := enginetest.NewEngine(enginetest.NewWorld(), enginetest.NewSpider(urls...), tegenaria.EngineWithCache(c))
	enginetest.MustRun(t, e)
	c.waiting, c.suspects, c.unstored, c.flights = waiting, suspects, unstored, nil
	return c
}

func urlOf(rec tegenaria.Record) string {
	r, err := rec.Request()
	if err != nil {
		panic(err)
	}
	return r.Url
}

func (c *crashed) Begin(ctx context.Context, job tegenaria.Job) (tegenaria.State, error) {
	state, err := c.CacheInterface.Begin(ctx, job)
	if len(c.waiting)+len(c.suspects) == 0 {
		return state, err
	}
	state.Started = true
	for url, crashes := range c.suspects {
		rec := c.records[url]
		_, failed := c.CacheInterface.Accept(ctx, []tegenaria.Record{rec})
		taken, _, err2 := c.CacheInterface.Next(ctx, rec.Slot, 1)
		if err = errors.Join(err, failed, err2); err != nil {
			return state, err
		}
		taken[0].Crashes = crashes
		state.Suspects = append(state.Suspects, taken[0])
	}
	slices.SortFunc(state.Suspects, func(a, b tegenaria.Record) int { return a.Crashes - b.Crashes })
	for _, url := range c.waiting {
		if _, err := c.CacheInterface.Accept(ctx, []tegenaria.Record{c.records[url]}); err != nil {
			return state, err
		}
	}
	return state, err
}

func (c *crashed) Accept(ctx context.Context, records []tegenaria.Record) ([]tegenaria.Verdict, error) {
	c.mu.Lock()
	for _, rec := range records {
		rec.Data = bytes.Clone(rec.Data)
		c.records[urlOf(rec)] = rec
	}
	c.mu.Unlock()
	return c.CacheInterface.Accept(ctx, records)
}

func (c *crashed) Next(ctx context.Context, slot string, n int) ([]tegenaria.Record, tegenaria.SlotState, error) {
	records, left, err := c.CacheInterface.Next(ctx, slot, n)
	for i := range records {
		records[i].Crashes = c.unstored[urlOf(records[i])]
	}
	return records, left, err
}

// Slots lists the slots of suspects too.
func (c *crashed) Slots(ctx context.Context) iter.Seq2[tegenaria.SlotState, error] {
	return func(yield func(tegenaria.SlotState, error) bool) {
		for state, err := range c.CacheInterface.Slots(ctx) {
			if !yield(state, err) {
				return
			}
		}
		for url := range c.suspects {
			if !yield(tegenaria.SlotState{Name: c.records[url].Slot}, nil) {
				return
			}
		}
	}
}

func (c *crashed) RecordFlight(rec *tegenaria.Record, now tegenaria.Flight) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := map[tegenaria.Flight]string{tegenaria.FlightBegun: "begun", tegenaria.FlightPaused: "paused", tegenaria.FlightOver: "over"}
	c.flights = append(c.flights, urlOf(*rec)+" "+names[now])
	return nil
}

// wantFlights checks what was noted of a request.
func (c *crashed) wantFlights(t *testing.T, url string, want ...string) {
	t.Helper()
	var got []string
	for _, flight := range c.flights {
		if now, ok := strings.CutPrefix(flight, url+" "); ok {
			got = append(got, now)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", url, got, want)
	}
}

const flightTime = 1300 * time.Millisecond

// many are pages of a host, each of which takes its time.
func many(w *enginetest.World, host string, n int) (urls []string) {
	for i := range n {
		urls = append(urls, fmt.Sprintf("http://%s/%d", host, i))
		w.Page(urls[i], enginetest.After(flightTime, enginetest.Page()))
	}
	return urls
}

// began returns when the downloads of a URL began.
func began(w *enginetest.World, since time.Time, url string) (at []time.Duration) {
	for _, v := range w.Visits() {
		if v.Url == url {
			at = append(at, v.At.Sub(since))
		}
	}
	return at
}

// wantAlone checks that nothing was downloaded together with a URL.
func wantAlone(t *testing.T, w *enginetest.World, url string) {
	t.Helper()
	for _, v := range w.Visits() {
		for _, other := range w.Visits() {
			if d := other.At.Sub(v.At); v.Url == url && other.Url != url && d > -flightTime && d < flightTime {
				t.Errorf("%s was in flight beside %s: %v apart", other.Url, url, d)
			}
		}
	}
}

// TestSuspectsRunAlone resumes after a crash: a suspect whose slot is ready comes first, one that waits for its slot's
// delay holds nobody up until it is ready, one that the crash has taken back has its turn when it is found again, and each
// of them is alone; one that has had three crashes is given up without user code. It fails when acquire serves the queues
// while a suspect runs or is the next to run, when runAlone does not wait for what is in flight, when restore does not block the
// slots of suspects, or when suspect calls the ErrorHandlers.
func TestSuspectsRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		urls := many(w, "a.test", 80)
		now, slow, dead, lost, buried := "http://a.test/s", "http://b.test/s", "http://user:secret@c.test/dead", urls[30], urls[40]
		for _, url := range []string{now, slow} {
			w.Page(url, enginetest.After(flightTime, enginetest.Page()))
		}
		c := afterCrash(t, urls, map[string]int{now: 2, slow: 1, dead: 3}, map[string]int{lost: 1, buried: 3})
		w.Log = nil
		s := enginetest.NewSpider()
		var mu sync.Mutex
		var told []error
		settled := make(map[string]string)
		var logged bytes.Buffer
		logger := logrus.New()
		logger.SetOutput(&logged)
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(c), tegenaria.EngineWithConcurrency(4), tegenaria.EngineWithLogger(logger),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 4, Overrides: map[string]tegenaria.SlotPolicy{"b.test": {Delay: 10 * time.Second}}}),
			tegenaria.EngineWithEvents(tegenaria.Events{
				Error: func(err *tegenaria.HandleError) { mu.Lock(); told = append(told, err); mu.Unlock() },
				RequestSettled: func(r *tegenaria.Request, o tegenaria.Outcome, reason string) {
					mu.Lock()
					settled[r.Url] = fmt.Sprint(o, " ", reason)
					mu.Unlock()
				},
			}))
		start := time.Now()
		stats := enginetest.MustRun(t, e)
		if n := int64(len(urls) + 3); stats.Outcomes[tegenaria.Failed] != 2 || stats.Settled != n || stats.Outcomes[tegenaria.Fetched] != n-2 {
			t.Errorf("%+v", stats)
		}
		if got := began(w, start, now); !slices.Equal(got, []time.Duration{0}) {
			t.Errorf("the first suspect began at %v", got)
		}
		if got := began(w, start, slow); len(got) != 1 || got[0] < 10*time.Second || got[0] > 10*time.Second+flightTime {
			t.Errorf("the second suspect began at %v", got)
		}
		for _, url := range []string{now, slow, lost} {
			wantAlone(t, w, url)
			c.wantFlights(t, url, "begun", "over")
		}
		meanwhile := 0
		for _, v := range w.Visits() {
			if v.At.Sub(start) < 9*time.Second {
				meanwhile++
			}
		}
		if meanwhile < 20 {
			t.Errorf("%d downloads while a suspect waited for its slot", meanwhile)
		}
		const reason = "the process died 3 times while it was in flight"
		for _, url := range []string{dead, buried} {
			c.wantFlights(t, url)
			if settled[url] != "failed "+reason || w.Count(url) > 0 {
				t.Errorf("%s is settled as %s, downloaded %d times", url, settled[url], w.Count(url))
			}
		}
		for _, err := range told {
			if !enginetest.IsA[*tegenaria.ProcessDiedError](err) {
				t.Error(err)
			}
		}
		if len(told) != 2 || len(s.Errors()) != 0 || stats.Reasons["failed: "+reason] != 2 {
			t.Errorf("told %v, the ErrorHandler %v, reasons %v", told, s.Errors(), stats.Reasons)
		}
		if text := logged.String(); strings.Contains(text, "secret") || strings.Count(text, "it runs alone") != 3 || !strings.Contains(text, "crashes=2") {
			t.Errorf("the log:\n%s", text)
		}
	})
}

// TestSuspectWaitsForRobots has a suspect ask for a robots.txt whose Crawl-delay then has it wait. It is paused
// meanwhile, others run, and then it runs alone. It fails when Frontier.Requeue puts suspects into the queue, or when job.requeue
// does not note the pause.
func TestSuspectWaitsForRobots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		urls := many(w, "b.test", 20)
		suspect, robots := "http://a.test/s", "http://a.test/robots.txt"
		w.Page(suspect, enginetest.After(flightTime, enginetest.Page())).Page(robots, enginetest.After(flightTime, enginetest.Text("User-agent: *\nCrawl-delay: 5\n")))
		c := afterCrash(t, urls, map[string]int{suspect: 1}, nil)
		w.Log = nil
		start := time.Now()
		e := obeying(w, enginetest.NewSpider(), tegenaria.Politeness{PerSlot: 4}, tegenaria.EngineWithCache(c), tegenaria.EngineWithConcurrency(4))
		enginetest.MustRun(t, e)
		if at := began(w, start, robots); len(at) != 1 || at[0] != 0 {
			t.Errorf("robots.txt was asked for at %v", at)
		}
		if at := began(w, start, suspect); len(at) != 1 || at[0] < 5*time.Second || at[0] > 5*time.Second+2*flightTime {
			t.Errorf("the suspect was asked for at %v", at)
		}
		wantAlone(t, w, robots)
		wantAlone(t, w, suspect)
		c.wantFlights(t, suspect, "begun", "paused", "begun", "over")
	})
}

// TestSuspectsStop stops a crawl while a suspect runs: it may end, and of the others nothing is noted. It fails when
// stop does not withdraw the suspects, or endFlights notes those that did not run.
func TestSuspectsStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		suspects := make(map[string]int)
		for _, url := range many(w, "a.test", 5) {
			suspects[url] = 1
		}
		c := afterCrash(t, nil, suspects, nil)
		w.Log = nil
		e := enginetest.NewEngine(w, enginetest.NewSpider(), tegenaria.EngineWithCache(c))
		result := make(chan error)
		go func() { result <- e.Run(t.Context(), "test") }()
		enginetest.Sleep(2 * flightTime)
		enginetest.Sleep(flightTime / 2)
		if err := e.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		enginetest.WantStopped(t, <-result, "stopped")
		enginetest.CheckLedger(t, e)
		if len(w.Visits()) != 3 || len(c.flights) != 6 {
			t.Errorf("visits %v, flights %v", w.Urls(), c.flights)
		}
		if s := e.Stats(); s.Pending != 2 || s.InFlight != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestSuspectWaitsAMinuteToRunAlone has a parser work for an hour. A suspect whose turn comes meanwhile waits a minute for
// it, and the next one not at all. It fails when runAlone waits for ever, or each time.
func TestSuspectWaitsAMinuteToRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		long, first, second := "http://a.test/long", "http://b.test/1", "http://c.test/2"
		for _, url := range []string{long, first, second} {
			w.Page(url, enginetest.Page())
		}
		c := afterCrash(t, []string{long}, map[string]int{first: 1, second: 1}, nil)
		w.Log = nil
		s := enginetest.NewSpider()
		s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			if resp.Request.Url == long {
				enginetest.Sleep(time.Hour)
			}
			return nil
		}
		start := time.Now()
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithCache(c),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Overrides: map[string]tegenaria.SlotPolicy{
				"b.test": {Delay: 10 * time.Second}, "c.test": {Delay: 100 * time.Second},
			}})))
		if at := began(w, start, first); len(at) != 1 || at[0] != 70*time.Second {
			t.Errorf("the first suspect began at %v", at)
		}
		if at := began(w, start, second); len(at) != 1 || at[0] != 100*time.Second {
			t.Errorf("the second suspect began at %v", at)
		}
	})
}

// TestSuspectsObeyLimits pauses a crawl and gives it a limit of pages: suspects obey. It fails when pause
// does not call recall when it is over, or when summon gives a suspect the turn that another one has.
func TestSuspectsObeyLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		suspects := make(map[string]int)
		for _, url := range many(w, "a.test", 6) {
			suspects[url] = 1
		}
		c := afterCrash(t, many(w, "b.test", 3), suspects, nil)
		w.Log = nil
		e := enginetest.NewEngine(w, enginetest.NewSpider(), tegenaria.EngineWithCache(c), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 4}))
		result := make(chan error)
		go func() { result <- e.Run(t.Context(), "test") }()
		enginetest.Sleep(flightTime / 2)
		e.Pause()
		enginetest.Sleep(time.Minute)
		if n := len(w.Visits()); n != 1 {
			t.Errorf("%d downloads before and during the pause", n)
		}
		e.Resume()
		enginetest.WantStopped(t, <-result, "limit: pages")
		enginetest.CheckLedger(t, e)
		for _, v := range w.Visits() {
			wantAlone(t, w, v.Url)
		}
		if n := len(w.Visits()); n != 4 {
			t.Errorf("%d downloads", n)
		}
	})
}

// TestPausedSuspectsLeaveTheirSlot pauses a crawl before the turn of a suspect comes. What a parser asks for meanwhile in
// the suspect's slot is fetched, and the suspect runs after the pause. It fails when summon makes a suspect the next one
// to run during a pause: it would keep its slot.
func TestPausedSuspectsLeaveTheirSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		suspect, inline, parsed := "http://a.test/s", "http://a.test/inline", "http://b.test/1"
		for _, url := range []string{suspect, inline, parsed} {
			w.Page(url, enginetest.Page())
		}
		c := afterCrash(t, []string{parsed}, map[string]int{suspect: 1}, nil)
		w.Log = nil
		s := enginetest.NewSpider()
		s.Parse = parserOf(func(ctx *tegenaria.Context) error {
			if ctx.Request.Url != parsed {
				return nil
			}
			enginetest.Sleep(30 * time.Second)
			_, err := get(ctx, inline)
			return err
		})
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(c), tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			IgnoreRobots: true, PerSlot: 1, Overrides: map[string]tegenaria.SlotPolicy{"a.test": {Delay: 10 * time.Second}},
		}))
		start := time.Now()
		result := make(chan error)
		go func() { result <- e.Run(t.Context(), "test") }()
		enginetest.Sleep(5 * time.Second)
		e.Pause()
		enginetest.Sleep(time.Minute)
		if at := began(w, start, inline); !slices.Equal(at, []time.Duration{30 * time.Second}) {
			t.Errorf("what the parser asked for began at %v", at)
		}
		e.Resume()
		if err := <-result; err != nil {
			t.Error(err)
		}
		if at := began(w, start, suspect); !slices.Equal(at, []time.Duration{65 * time.Second}) {
			t.Errorf("the suspect began at %v", at)
		}
	})
}

// TestAbandonedSuspect has the parser of a suspect never return. When it is given up, the other requests are served, and the next
// suspect is alone as the first one was. It fails when visit.Abandon does not call GotThrough.
func TestAbandonedSuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := enginetest.NewWorld()
		urls := many(w, "b.test", 20)
		stuck, other := "http://a.test/stuck", "http://c.test/other"
		w.Page(stuck, enginetest.After(flightTime, enginetest.Page())).Page(other, enginetest.After(flightTime, enginetest.Page()))
		c := afterCrash(t, urls, map[string]int{stuck: 1, other: 2}, nil)
		w.Log = nil
		s := enginetest.NewSpider()
		s.Parse = parserOf(func(ctx *tegenaria.Context) error {
			if ctx.Request.Url == stuck {
				<-release
			}
			return nil
		})
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(c), tegenaria.EngineWithConcurrency(4),
			tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}))
		timer := time.AfterFunc(time.Hour, func() { e.Stop(context.Background()) })
		start := time.Now()
		enginetest.WantAbandoned(t, enginetest.Run(t, e))
		timer.Stop()
		if at := began(w, start, stuck); len(at) != 1 || at[0] != 0 {
			t.Errorf("the suspect that hangs began at %v", at)
		}
		if at := began(w, start, other); len(at) != 1 || at[0] != flightTime+11*time.Second {
			t.Errorf("the other suspect began at %v", at)
		}
		wantAlone(t, w, other)
		enginetest.WantOutcomes(t, e.Stats(), map[tegenaria.Outcome]int64{tegenaria.Fetched: int64(len(urls)) + 1, tegenaria.Failed: 1})
		close(release)
		synctest.Wait()
	})
}

package tegenaria_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// keeper has the pages below /own/ pass a gate, and counts what it sees of them.
type keeper struct {
	enginetest.Hooks
	gate  *tegenaria.Gate
	apart bool

	mu              sync.Mutex
	asked, released int
	now, most       int // downloads
}

func (k *keeper) GateOf(r *tegenaria.Request) (*tegenaria.Gate, bool) {
	if strings.Contains(r.Url, "/own/") {
		return k.gate, k.apart
	}
	return nil, false
}

func (k *keeper) Released(*tegenaria.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.released++
}

// answer is that of all pages, after a second.
func (k *keeper) answer(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	own := 0
	if strings.Contains(ctx.Request.Url, "/own/") {
		own = 1
	}
	k.mu.Lock()
	k.now += own
	k.most = max(k.most, k.now)
	k.mu.Unlock()
	enginetest.Sleep(time.Second)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now -= own
	return tegenaria.NewResponse(ctx.Request, 200, nil, []byte("x")), nil
}

// engine makes one that asks for so many pages with the gate, and as many without it, of one host.
func (k *keeper) engine(pages int, opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	k.Hooks.Request = func(*tegenaria.Context) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.asked++
		return nil
	}
	w := enginetest.NewWorld()
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		for i := range pages {
			for _, url := range []string{fmt.Sprintf("http://a.test/own/%d", i), fmt.Sprintf("http://a.test/%d", i)} {
				w.Page(url, k.answer)
				req <- enginetest.Send(url)
			}
		}
	}
	return enginetest.NewEngine(w, s, append([]tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(k), tegenaria.EngineWithConcurrency(8),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: 8, IgnoreRobots: true})}, opts...)...)
}

// No more requests are in a gate than its limit says, none is asked about before it may enter, and each is released. Those that wait apart
// hold up no others.
func TestGatekeeper(t *testing.T) {
	for _, apart := range []bool{false, true} {
		for limit := 1; limit < 3; limit++ {
			synctest.Test(t, func(t *testing.T) {
				const pages = 70
				k := &keeper{gate: tegenaria.NewGateOf("own", limit), apart: apart}
				began := time.Now()
				e := k.engine(pages)
				done := make(chan error)
				go func() { done <- e.Run(t.Context(), "test") }()
				enginetest.Sleep(pages * time.Second / time.Duration(8-limit) * 11 / 10)
				if st := e.Stats(); apart && st.Outcomes[tegenaria.Fetched] < pages+pages/8 {
					t.Errorf("limit %d: the others are held up: %+v", limit, st)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				enginetest.WantOutcomes(t, e.Stats(), map[tegenaria.Outcome]int64{tegenaria.Fetched: 2 * pages})
				if k.most != limit || k.asked != 2*pages || k.released != 2*pages {
					t.Errorf("apart %v, limit %d: %d downloads at once, %d calls of ProcessRequest, %d of Released", apart, limit, k.most, k.asked, k.released)
				}
				if took := time.Since(began); apart && took > pages*time.Second/time.Duration(limit)+2*time.Second {
					t.Errorf("limit %d: it took %s", limit, took)
				}
			})
		}
	}
}

// While the gate is closed what waits apart holds up nothing: no others, and no worker. A slot says which gate its last requests wait at.
func TestClosedGateApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 500
		k := &keeper{gate: tegenaria.NewGateOf("own", 1), apart: true}
		e := k.engine(pages)
		put := 0
		k.Hooks.Request = func(ctx *tegenaria.Context) error {
			k.mu.Lock()
			defer k.mu.Unlock()
			if !strings.Contains(ctx.Request.Url, "/own/") || put > 0 && !k.gate.IsClosed() {
				return nil
			}
			if put++; put == 1 {
				k.gate.CloseFor(time.Hour)
			}
			return tegenaria.NotNow(k.gate)
		}
		began := time.Now()
		done := make(chan error)
		go func() { done <- e.Run(t.Context(), "test") }()
		enginetest.Sleep(30 * time.Minute)
		if st := e.Stats(); st.Outcomes[tegenaria.Fetched] != pages || st.Pending != pages || st.InFlight != 0 {
			t.Errorf("while the gate is closed: %+v", st)
		}
		for _, slot := range e.Slots() {
			if slot.Name != "a.test" || slot.Pending < pages || slot.Pending > pages+1 || slot.Gate != "own" {
				t.Errorf("the slot: %+v", slot)
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		enginetest.WantOutcomes(t, e.Stats(), map[tegenaria.Outcome]int64{tegenaria.Fetched: 2 * pages})
		if took := time.Since(began); took < time.Hour+pages*time.Second || took > time.Hour+(pages+10)*time.Second {
			t.Errorf("it took %s", took)
		}
		if put > 8 {
			t.Errorf("the middleware was asked %d times about what it put off", put)
		}
	})
}

// What waits apart in a durable job is found by the next run, each once.
func TestResumeApart(t *testing.T) {
	store, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const pages = 20
	asked := make(map[string]int)
	run := func(closed bool) tegenaria.Stats {
		k := &keeper{gate: tegenaria.NewGateOf("own", 2), apart: true}
		if closed {
			k.gate.Close()
		}
		var mu sync.Mutex
		others := make(chan struct{})
		fetched := 0
		w := enginetest.NewWorld()
		s := enginetest.NewSpider()
		s.Start = func(req chan<- *tegenaria.Context) {
			for i := range pages {
				req <- enginetest.Send(fmt.Sprintf("http://a.test/own/%d", i))
				req <- enginetest.Send(fmt.Sprintf("http://a.test/%d", i))
			}
		}
		for i := range pages {
			for _, url := range []string{fmt.Sprintf("http://a.test/own/%d", i), fmt.Sprintf("http://a.test/%d", i)} {
				w.Page(url, func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
					mu.Lock()
					defer mu.Unlock()
					asked[ctx.Request.Url]++
					if fetched++; fetched == pages {
						close(others)
					}
					return tegenaria.NewResponse(ctx.Request, 200, nil, []byte("x")), nil
				})
			}
		}
		k.Hooks.Request = func(ctx *tegenaria.Context) error {
			if strings.Contains(ctx.Request.Url, "/own/") && k.gate.IsClosed() {
				return tegenaria.NotNow(k.gate)
			}
			return nil
		}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(k), tegenaria.EngineWithCache(store))
		done := make(chan error, 1)
		go func() { done <- e.Run(t.Context(), "test") }()
		if closed {
			<-others
			if err := e.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := <-done; (err != nil) != closed {
			t.Error(err)
		}
		return e.JobStats()
	}
	if st := run(true); st.Pending != pages {
		t.Errorf("when it was stopped: %+v", st)
	}
	if st := run(false); st.Outcomes[tegenaria.Fetched] != 2*pages {
		t.Errorf("in the end: %+v", st)
	}
	for url, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times", url, n)
		}
	}
}

// A Fetch passes the gate, too: before what waits in the queue, and outside of the one that waits for it.
func TestFetchApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{gate: tegenaria.NewGateOf("own", 1), apart: true}
		w := enginetest.NewWorld()
		s := enginetest.NewSpider()
		const pages = 10
		s.Start = func(req chan<- *tegenaria.Context) {
			for i := range pages {
				req <- enginetest.Send(fmt.Sprintf("http://a.test/own/%d", i))
			}
		}
		for i := range pages {
			w.Page(fmt.Sprintf("http://a.test/own/%d", i), k.answer).Page(fmt.Sprintf("http://a.test/own/in/%d", i), k.answer)
		}
		fetch := func(ctx *tegenaria.Context) {
			if !strings.Contains(ctx.Request.Url, "/in/") {
				resp, err := ctx.Fetch(tegenaria.NewRequest(strings.Replace(ctx.Request.Url, "/own/", "/own/in/", 1), tegenaria.GET, nil))
				if err != nil || resp.Status != 200 {
					t.Errorf("%v, %v", resp, err)
				}
			}
		}
		k.Hooks.Request = func(ctx *tegenaria.Context) error { fetch(ctx); return nil }
		k.Hooks.Response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { fetch(ctx); return nil }
		s.Parse = parserOf(func(ctx *tegenaria.Context) error { fetch(ctx); return nil })
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(k)))
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 4 * pages})
		if k.most != 1 || k.released != 4*pages {
			t.Errorf("%d downloads at once, %d calls of Released", k.most, k.released)
		}
	})
}

// A page that waits until its parser may run is outside of the gate: what a parser that runs has asked for by Fetch may wait there.
func TestGateWithoutParser(t *testing.T) {
	for _, apart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const yields, holds, waits = "http://a.test/yields", "http://a.test/holds", "http://a.test/own/waits"
			const slow, fetched = "http://b.test/slow", "http://a.test/own/fetched"
			k := &keeper{gate: tegenaria.NewGateOf("own", 1), apart: apart}
			w := enginetest.NewWorld().Page(yields, k.answer).Page(holds, k.answer).Page(waits, k.answer).Page(fetched, k.answer)
			w.Page(slow, func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
				enginetest.Sleep(time.Minute)
				return k.answer(ctx)
			})
			s := enginetest.NewSpider()
			s.Start = func(req chan<- *tegenaria.Context) {
				for i, url := range []string{yields, holds, waits} {
					req <- tegenaria.NewContext(tegenaria.NewRequest(url, tegenaria.GET, nil, tegenaria.RequestWithPriority(-i)))
				}
			}
			s.Parse = parserOf(func(ctx *tegenaria.Context) (err error) {
				switch ctx.Request.Url {
				case yields: // as many parsers as may let another one run while they wait
					enginetest.Sleep(time.Millisecond) // the worker has the next page
					_, err = ctx.Fetch(tegenaria.NewRequest(slow, tegenaria.GET, nil))
				case holds:
					enginetest.Sleep(10 * time.Second) // the third page comes
					_, err = ctx.Fetch(tegenaria.NewRequest(fetched, tegenaria.GET, nil))
				}
				return err
			})
			e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(k), tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1),
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if err := e.Run(ctx, "test"); err != nil {
				t.Errorf("apart %v: %v", apart, err)
			}
			enginetest.WantOutcomes(t, e.Stats(), map[tegenaria.Outcome]int64{tegenaria.Fetched: 5})
			if k.most != 1 || k.released != 5 {
				t.Errorf("apart %v: %d downloads at once, %d calls of Released", apart, k.most, k.released)
			}
		})
	}
}

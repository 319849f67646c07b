package tegenaria_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// What docs/options.md says about requests written by hand: they work, and follow no redirects.
func TestRequestByHand(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Redirect(302, "/2")).Page("http://a.test/2", enginetest.Text("x"))
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		req <- tegenaria.NewContext(&tegenaria.Request{Url: "http://a.test/"})
	}
	s.Parse = parserOf(func(ctx *tegenaria.Context) error {
		if r := ctx.Request; ctx.Response().Status != 302 || r.Header == nil {
			t.Errorf("the parser got %d, header %v", ctx.Response().Status, r.Header)
		}
		return nil
	})
	enginetest.WantOutcomes(t, enginetest.MustRun(t, enginetest.NewEngine(w, s)), map[tegenaria.Outcome]int64{tegenaria.Fetched: 1})
}

// An entry of Overrides inherits nothing: its zero Delay is no delay, its zero PerSlot is 8.
func TestOverridesInheritNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := enginetest.NewWorld(), enginetest.NewSpider()
		s.Parse = enginetest.Nothing
		for _, host := range []string{"free.test", "slow.test"} {
			for i := range 20 {
				url := fmt.Sprintf("http://%s/%d", host, i)
				s.FeedUrls = append(s.FeedUrls, url)
				w.Page(url, enginetest.After(time.Second, enginetest.Text("x")))
			}
		}
		began := time.Now()
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(100), tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			IgnoreRobots: true, Delay: time.Minute, PerSlot: 1, Overrides: map[string]tegenaria.SlotPolicy{"free.test": {}},
		})))
		at := make(map[time.Duration]int)
		for _, v := range w.Visits() {
			if strings.Contains(v.Url, "free.test") {
				at[v.At.Sub(began)]++
			}
		}
		if at[0] != 8 || at[time.Second] != 8 || at[2*time.Second] != 4 {
			t.Errorf("downloads of the free host by time: %v, want 8, 8 and 4", at)
		}
		if took := time.Since(began); took != 19*time.Minute+time.Second {
			t.Errorf("the slow host took %s", took)
		}
	})
}

// A spooled body can be read until its request is settled, by pipelines too, and not after that.
func TestSpoolLivesAsLongAsTheRequest(t *testing.T) {
	body := strings.Repeat("x", 200<<10)
	server, _ := enginetest.Serve(t, map[string]string{"/": body, "/inline": body})
	var kept []*tegenaria.Response
	read := func(r *tegenaria.Response) (int, error) {
		in := r.Reader()
		defer in.Close()
		all, err := io.ReadAll(in)
		return len(all), err
	}
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) { req <- enginetest.Send(server+"/", tegenaria.RequestWithSpool()) }
	s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		inline, err := get(ctx, server+"/inline", tegenaria.RequestWithSpool())
		if err != nil {
			return err
		}
		kept = append(kept, ctx.Response(), inline)
		for _, r := range kept {
			item <- tegenaria.NewItem(ctx, r)
		}
		return nil
	}
	lengths := enginetest.PipelineFunc{Priority: 1, Process: func(item *tegenaria.ItemMeta) error {
		if n, err := read(item.Item.(*tegenaria.Response)); n != len(body) || err != nil {
			t.Errorf("a pipeline read %d bytes: %v", n, err)
		}
		return nil
	}}
	stats := enginetest.MustRun(t, enginetest.NewEngine(nil, s, tegenaria.EngineWithPipelines(lengths)))
	if stats.ItemScraped != 2 {
		t.Fatalf("stats %+v", stats)
	}
	for _, r := range kept {
		if _, err := read(r); err == nil {
			t.Error("the body can be read after the crawl")
		}
	}
}

// A crawl that is told to stop when nothing is left to do has finished.
func TestStopWithNothingLeftToDo(t *testing.T) {
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = parserOf(func(*tegenaria.Context) error { return tegenaria.CloseSpider("enough") })
	e := enginetest.NewEngine(onePage(), s)
	enginetest.MustRun(t, e)
	if reason := e.Summary().Reason; reason != "finished" {
		t.Errorf("reason %q", reason)
	}
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

// An ErrorHandler that answers every failure with another request comes to an end: Limits.Attempts bounds the same
// request and those that are refused, Limits.Depth the others.
func TestErrorHandlerForEver(t *testing.T) {
	for _, tt := range []struct {
		name  string
		seed  string
		next  func(n int, failed *tegenaria.Request) *tegenaria.Request
		asked int
		told  int
		want  map[tegenaria.Outcome]int64
	}{
		{"same", "http://a.test/", func(_ int, failed *tegenaria.Request) *tegenaria.Request { return failed }, 4, 4,
			map[tegenaria.Outcome]int64{tegenaria.Failed: 4, tegenaria.GaveUp: 1}},
		{"refused", "http://a.test/", func(n int, _ *tegenaria.Request) *tegenaria.Request {
			return tegenaria.NewRequest(fmt.Sprintf("bad%d:", n), "GET", nil)
		}, 1, 4, map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Filtered: 4}},
		{"different", "http://a.test/", func(n int, _ *tegenaria.Request) *tegenaria.Request {
			return tegenaria.NewRequest(fmt.Sprintf("http://a.test/%d", n), "GET", nil)
		}, 7, 7, map[tegenaria.Outcome]int64{tegenaria.Failed: 7, tegenaria.Filtered: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := enginetest.NewWorld() // answers 404
			s := enginetest.NewSpider(tt.seed)
			n := 0
			s.Fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
				n++
				req <- tegenaria.NewContext(tt.next(n, err.Request))
			}
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 4, Depth: 6})))
			if len(w.Visits()) != tt.asked || n != tt.told {
				t.Errorf("%d downloads, ErrorHandler told %d times; want %d and %d", len(w.Visits()), n, tt.asked, tt.told)
			}
			enginetest.WantOutcomes(t, stats, tt.want)
		})
	}
}

// A host in Overrides and SetSlot may be spelled as in URLs; a slot's own name goes before another spelling of it.
func TestSlotSpelling(t *testing.T) {
	const slow = 7 * time.Second
	for _, tt := range []struct {
		name string
		host string
		keys map[string]time.Duration
		set  string // for SetSlot
		slot string // of the requests, "": the host's
		want time.Duration
	}{
		{"upper case", "a.test", map[string]time.Duration{"A.Test": slow}, "", "", slow},
		{"below a domain", "x.a.test", map[string]time.Duration{"*.A.Test": slow}, "", "", slow},
		{"a name in Unicode", "xn--bcher-kva.test", map[string]time.Duration{"Bücher.test": slow}, "", "", slow},
		{"two spellings", "a.test", map[string]time.Duration{"A.Test": time.Second, "a.test": slow}, "", "", slow},
		{"the domain itself", "a.test", map[string]time.Duration{"*.A.Test": slow}, "", "", 0},
		{"SetSlot", "a.test", nil, "A.Test", "", slow},
		{"a slot of another name", "a.test", map[string]time.Duration{"Group A": slow}, "", "Group A", slow},
		{"SetSlot of another name", "a.test", nil, "GroupA", "GroupA", slow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1, Overrides: make(map[string]tegenaria.SlotPolicy)}
				for key, delay := range tt.keys {
					p.Overrides[key] = tegenaria.SlotPolicy{Delay: delay}
				}
				w, s := enginetest.NewWorld(), enginetest.NewSpider()
				var e *tegenaria.SpiderEngine
				s.Start = func(req chan<- *tegenaria.Context) {
					if tt.set != "" {
						if err := e.SetSlot(tt.set, tegenaria.SlotPolicy{Delay: slow}); err != nil {
							t.Error(err)
						}
					}
					for i := range 2 {
						url := fmt.Sprintf("http://%s/%d", tt.host, i)
						w.Page(url, enginetest.Page())
						req <- enginetest.Send(url, tegenaria.RequestWithSlot(tt.slot))
					}
				}
				began := time.Now()
				e = enginetest.NewEngine(w, s, tegenaria.EngineWithPoliteness(p))
				enginetest.MustRun(t, e)
				if got := w.StartsOf(tt.host, began); !slices.Equal(got, []time.Duration{0, tt.want}) {
					t.Errorf("downloads began at %v, want %v apart", got, tt.want)
				}
			})
		})
	}
}

package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// holding runs a spider whose only seed is read by h, in a bubble, with one download at a time. Pages that the world
// does not know are empty. The busy page, http://busy.test/, takes 10 s: while it is being downloaded nothing else
// can begin, so that an Output may hold back what it is given.
func holding(t *testing.T, w *enginetest.World, h func(r *tegenaria.Response, out *tegenaria.Output[any]) error,
	opts ...tegenaria.EngineOption) (s *handledBy, e *tegenaria.SpiderEngine) {
	t.Helper()
	w.Page("http://a.test/", enginetest.Text("x")).Page("http://busy.test/", enginetest.After(10*time.Second, enginetest.Text("x")))
	s = handledSpider(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error { return h(r, out) })
	s.Parse = enginetest.Nothing
	e = enginetest.NewEngine(w, s, append([]tegenaria.EngineOption{
		tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(4), tegenaria.EngineWithAllowStatusCode([]uint64{404}),
	}, opts...)...)
	return s, e
}

// occupy sends the busy page and waits until it is being downloaded, which takes no time.
func occupy(t *testing.T, out *tegenaria.Output[any]) {
	t.Helper()
	if err := out.Request(tegenaria.NewRequest("http://busy.test/", "GET", nil)); err != nil {
		t.Error(err)
	}
	enginetest.Sleep(time.Nanosecond)
}

// A handler that follows a link and then takes its time does not keep the link from being downloaded as soon as
// there is a worker for it.
//
// It fails if Frontier.Take does not have the outputs hand over when it has nothing to do (acceptor.handOver), or if
// output.keep does not look at hungry.
func TestFollowDoesNotWaitForTheHandler(t *testing.T) {
	for _, tt := range []struct {
		name string
		busy bool // another page is being downloaded
		opts []tegenaria.EngineOption
		want time.Duration
	}{
		{"idle", false, nil, 0},
		{"busy for 10 s", true, nil, 10 * time.Second},
		{"several readers", true, []tegenaria.EngineOption{tegenaria.EngineWithReadCacheNum(3)}, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				w := enginetest.NewWorld()
				_, e := holding(t, w, func(_ *tegenaria.Response, out *tegenaria.Output[any]) error {
					if tt.busy {
						occupy(t, out)
					}
					err := out.Follow("/1")
					enginetest.Sleep(30 * time.Minute)
					err = errors.Join(err, out.Follow("/2")) // the engine has long been idle
					enginetest.Sleep(30 * time.Minute)
					return err
				}, tt.opts...)
				enginetest.MustRun(t, e)
				if got := w.When(began, "http://a.test/1"); got != tt.want {
					t.Errorf("the first page was asked after %s, want %s", got, tt.want)
				}
				if got := w.When(began, "http://a.test/2"); got != 30*time.Minute {
					t.Errorf("the second page was asked after %s, want 30 min", got)
				}
			})
		})
	}
}

// References held back do not wait for a slot's delay or for a pause either: what the engine cannot download yet, it
// knows.
func TestFollowWhileNothingMayBegin(t *testing.T) {
	t.Run("delay", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			w := enginetest.NewWorld()
			_, e := holding(t, w, func(_ *tegenaria.Response, out *tegenaria.Output[any]) error {
				err := errors.Join(out.Follow("/1"), out.Follow("/2"), out.Follow("http://b.test/"))
				enginetest.Sleep(time.Hour)
				return err
			}, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: time.Minute}))
			enginetest.MustRun(t, e)
			for url, want := range map[string]time.Duration{"http://b.test/": 0, "http://a.test/1": time.Minute, "http://a.test/2": 2 * time.Minute} {
				if got := w.When(began, url); got != want {
					t.Errorf("%s was asked after %s, want %s", url, got, want)
				}
			}
		})
	})
	t.Run("pause", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			w := enginetest.NewWorld()
			var e *tegenaria.SpiderEngine
			_, e = holding(t, w, func(_ *tegenaria.Response, out *tegenaria.Output[any]) error {
				err := errors.Join(e.Pause(), out.Follow("/1"))
				enginetest.Sleep(time.Minute)
				err = errors.Join(err, e.Resume())
				enginetest.Sleep(time.Hour)
				return err
			})
			enginetest.MustRun(t, e)
			if got := w.When(began, "http://a.test/1"); got != time.Minute {
				t.Errorf("the page was asked after %s, want 1 min", got)
			}
		})
	})
}

// Follow and Request are accepted in the order in which they were sent, whether references are held back or not.
//
// It fails if sendRequest does not hand over first.
func TestFollowKeepsTheOrder(t *testing.T) {
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("busy %t", busy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld()
				_, e := holding(t, w, func(_ *tegenaria.Response, out *tegenaria.Output[any]) error {
					if busy {
						occupy(t, out)
					}
					return errors.Join(
						out.Follow("/1"),
						out.Request(tegenaria.NewRequest("http://a.test/2", "GET", nil)),
						out.Follow("/3"),
						out.Follow("/4", tegenaria.RequestWithRequestMeta(map[string]any{"k": "v"})),
						out.Follow("/5"),
						out.Follow("/1"), // known
						out.Request(tegenaria.NewRequest("http://a.test/5", "GET", nil)),
						out.Follow("/6"),
					)
				}, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1}))
				stats := enginetest.MustRun(t, e)
				got := slices.DeleteFunc(w.Urls(), func(u string) bool { return u == "http://busy.test/" })
				want := []string{"http://a.test/", "http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4", "http://a.test/5", "http://a.test/6"}
				if !slices.Equal(got, want) {
					t.Errorf("asked %q, want %q", got, want)
				}
				if stats.Outcomes[tegenaria.Duplicate] != 2 {
					t.Errorf("outcomes %v", stats.Outcomes)
				}
			})
		})
	}
}

// What was followed before a Fetch is accepted before it, however long it takes.
//
// It fails if Output.Fetch does not hand over first.
func TestFollowThenFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := enginetest.NewWorld().Page("http://b.test/slow", enginetest.After(time.Hour, enginetest.Text("x")))
		_, e := holding(t, w, func(_ *tegenaria.Response, out *tegenaria.Output[any]) error {
			occupy(t, out)
			err := out.Follow("/1")
			_, failed := out.Fetch(tegenaria.NewRequest("http://b.test/slow", "GET", nil))
			return errors.Join(err, failed)
		})
		var pending atomic.Int64
		time.AfterFunc(5*time.Second, func() { pending.Store(e.Stats().Pending) })
		enginetest.MustRun(t, e)
		if n := pending.Load(); n != 1 {
			t.Errorf("%d requests waited during the Fetch, want 1", n)
		}
		if got := w.When(began, "http://a.test/1"); got != 10*time.Second {
			t.Errorf("the page was asked after %s, want 10 s", got)
		}
	})
}

// What a handler has followed is crawled, however the handler ends.
//
// It fails if Output.close is not called when the handler panics, or does not hand over.
func TestFollowThenFail(t *testing.T) {
	for _, tt := range []struct {
		name  string
		end   func() error
		want  map[tegenaria.Outcome]int64
		asked int // how often the seed is
	}{
		{"nil", func() error { return nil }, map[tegenaria.Outcome]int64{tegenaria.Fetched: 4}, 1},
		{"error", func() error { return errBroken }, map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Fetched: 3}, 1},
		{"panic", func() error { panic("handler") }, map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Fetched: 3}, 1},
		{"retry", sync.OnceValue(func() error { return tegenaria.Retry(time.Minute, errBroken) }), nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld()
				first := true
				s, e := holding(t, w, func(_ *tegenaria.Response, out *tegenaria.Output[any]) error {
					if tt.want == nil && !first {
						return nil
					}
					first = false
					occupy(t, out)
					if err := errors.Join(out.Follow("/1"), out.Follow("/2")); err != nil {
						t.Error(err)
					}
					return tt.end()
				})
				stats := enginetest.MustRun(t, e)
				if tt.want == nil { // it runs again, and what it had followed is crawled meanwhile
					tt.want, tt.asked = map[tegenaria.Outcome]int64{tegenaria.Fetched: 4}, 2
				}
				enginetest.WantOutcomes(t, stats, tt.want)
				for url, n := range map[string]int{"http://a.test/": tt.asked, "http://a.test/1": 1, "http://a.test/2": 1} {
					if w.Count(url) != n {
						t.Errorf("%s was asked %d times, want %d", url, w.Count(url), n)
					}
				}
				if tt.want[tegenaria.Failed] == 1 {
					s.OnlyError(t)
				}
			})
		})
	}
}

// What a handler has followed before it overruns Limits.Callback, and until it is given up, is crawled though it never returns.
//
// It fails if guard.Watch does not have the outputs hand over (acceptor.handOverPages), or if acceptor.keep holds back what comes later.
func TestFollowThenOverrun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		began := time.Now()
		w := enginetest.NewWorld()
		_, e := holding(t, w, func(r *tegenaria.Response, out *tegenaria.Output[any]) error {
			occupy(t, out)
			if err := errors.Join(out.Follow("/1"), out.Follow("/2")); err != nil {
				t.Error(err)
			}
			<-r.Context().Done()
			enginetest.Sleep(time.Second / 2) // half of the time until it is given up
			if err := out.Follow("/3"); err != nil {
				t.Error(err)
			}
			<-release
			if err := out.Follow("/late"); !errors.Is(err, tegenaria.ErrOutputClosed) {
				t.Errorf("Follow of an abandoned handler: %v", err)
			}
			return nil
		}, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 2 * time.Second}))
		err := enginetest.Run(t, e)
		var abandoned *tegenaria.AbandonedError
		if !errors.As(err, &abandoned) || abandoned.Stages[tegenaria.StageParse] != 1 {
			t.Errorf("Run returned %v, want the parser abandoned", err)
		}
		for _, url := range []string{"http://a.test/1", "http://a.test/2", "http://a.test/3"} {
			if got := w.When(began, url); got != 10*time.Second {
				t.Errorf("%s was asked after %s, want 10 s", url, got)
			}
		}
		enginetest.WantOutcomes(t, e.Stats(), map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Fetched: 4})
		close(release)
		synctest.Wait()
		if w.Count("http://a.test/late") != 0 {
			t.Error("what an abandoned handler followed was crawled")
		}
	})
}

// What a stopping crawl was given is in its queue when it is over.
func TestFollowThenStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		_, e := holding(t, w, func(_ *tegenaria.Response, out *tegenaria.Output[any]) error {
			occupy(t, out)
			err := out.Follow("/1")
			enginetest.Sleep(2 * time.Second)
			return errors.Join(err, out.Follow("/2"))
		}, tegenaria.EngineWithCache(tegenaria.NewMemoryCache()))
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		enginetest.Sleep(time.Second)
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		enginetest.WantStopped(t, <-result, "stopped")
		if s := e.Stats(); s.Pending != 2 || s.Outcomes[tegenaria.Fetched] != 2 {
			t.Errorf("stats %+v", s)
		}
	})
}

// A handler may follow any number of references; no more than a few are held back at a time.
//
// It fails if keep does not look at how many there are.
func TestFollowMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const refs = 300
		w := enginetest.NewWorld()
		var e *tegenaria.SpiderEngine
		_, e = holding(t, w, func(_ *tegenaria.Response, out *tegenaria.Output[any]) error {
			occupy(t, out)
			for i := range refs {
				if err := errors.Join(out.Follow(fmt.Sprintf("/%d", i)), out.Follow(fmt.Sprintf("/%d", i/2))); err != nil {
					return err
				}
				if s := e.Stats(); s.Pending < int64(i-64) {
					t.Errorf("after %d references %d requests wait", i, s.Pending)
					return nil
				}
			}
			return nil
		})
		stats := enginetest.MustRun(t, e)
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: refs + 2, tegenaria.Duplicate: refs})
		for i := range refs {
			if url := fmt.Sprintf("http://a.test/%d", i); w.Count(url) != 1 {
				t.Errorf("%s was asked %d times", url, w.Count(url))
			}
		}
	})
}

// Many goroutines of one handler, and many handlers, may follow at once; each reference is accepted once, by
// whichever comes first.
//
// It fails, under the race detector, if holdRef does not take o.holding.
func TestFollowConcurrently(t *testing.T) {
	const workers, refs = 8, 60
	for _, concurrency := range []int{1, 16} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			w := enginetest.NewWorld()
			parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
				if depth := r.Request().Depth; depth > 1 || depth == 1 && !strings.HasSuffix(r.URL, "0") {
					return nil // one page in ten follows, and the seed
				}
				var all sync.WaitGroup
				for n := range workers {
					all.Go(func() {
						for i := range refs {
							if err := out.Follow(fmt.Sprintf("/%d/%d", n%4, i)); err != nil {
								t.Error(err)
							}
							if i%20 == n {
								if err := errors.Join(out.FollowLinks(), out.Request(tegenaria.NewRequest(fmt.Sprintf("http://a.test/r/%d/%d", n, i), "GET", nil))); err != nil {
									t.Error(err)
								}
							}
						}
					})
				}
				all.Wait()
				return nil
			})
			w.Page("http://a.test/", enginetest.Page("/l/1", "/l/2", "/l/3"))
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = parser
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(concurrency), tegenaria.EngineWithAllowStatusCode([]uint64{404}),
				tegenaria.EngineWithLimits(tegenaria.Limits{Depth: 2})))
			want := int64(1 + 4*refs + 3 + workers*3)
			if stats.Outcomes[tegenaria.Fetched] != want || int64(len(w.Visits())) != want {
				t.Errorf("%d pages fetched, %d downloads, want %d", stats.Outcomes[tegenaria.Fetched], len(w.Visits()), want)
			}
		})
	}
}

// Repeated links are emissions, whoever listens.
func TestFollowLinksCountsTheSame(t *testing.T) {
	for _, listen := range []bool{false, true} {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/x", "/x", "/x")).Page("http://a.test/x", enginetest.Page())
		opts := []tegenaria.EngineOption{tegenaria.EngineWithDownloader(w), tegenaria.EngineWithLogger(enginetest.Quiet()),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
			tegenaria.EngineWithSpiders(tegenaria.NewSpider("test", enginetest.FollowAll, "http://a.test/"))}
		if listen {
			opts = append(opts, tegenaria.EngineWithEvents(tegenaria.Events{RequestAccepted: func(*tegenaria.Request) {}}))
		}
		st := enginetest.MustRun(t, tegenaria.NewSpiderEngine(opts...))
		if st.Discovered != 4 || st.Outcomes[tegenaria.Duplicate] != 2 {
			t.Errorf("listen %v: discovered %d, %v", listen, st.Discovered, st.Outcomes)
		}
	}
}

// acceptedCache notes the records that are new.
type acceptedCache struct {
	tegenaria.CacheInterface
	mu  sync.Mutex // guards new
	new []string
}

func (c *acceptedCache) Accept(ctx context.Context, records []tegenaria.Record) ([]tegenaria.Verdict, error) {
	verdicts, err := c.CacheInterface.Accept(ctx, records)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, v := range verdicts {
		if r := &records[i]; v == tegenaria.VerdictNew {
			c.new = append(c.new, fmt.Sprintf("%x of %x in %s, depth %d, priority %d, attempt %d", r.Key, r.Parent, r.Slot, r.Depth, r.Priority, r.Attempt))
		}
	}
	return verdicts, err
}

// All forms in which a parser may follow the links of a page send the same requests: with the same keys, in the same order, and
// they arrive with the same URL, depth and parser.
func TestFormsSendTheSameRequests(t *testing.T) {
	const page = `<base href="/b/"><svg><path></path></svg><div class=x><a href="http://a.test:80/1">one</a><a href="/2?b=2&amp;a=1#f">two</a><a href=3>th<b>r</b>ee</a>
		<a href="//b.test:8080/4">four</a><a href="../%7e5/./x/../y%2fz">five</a><a href="HTTP://A.Test/6">six</a><a href="http://127.0.0.1:81/7">seven</a>
		<a href="/2?a=1&b=2" rel="nofollow x">two again</a><a href="http://1.2.3:80/8?'">eight</a><a href="http://a.test">root</a><area href="9"><a href="">none</a></div>`
	links := func(r *tegenaria.Response) (urls []string) {
		r.CSS("div.x").First()
		for _, l := range r.Links() {
			urls = append(urls, l.URL)
		}
		return urls
	}
	handle := func(follow func(r *tegenaria.Response, out *tegenaria.Output[any]) error) tegenaria.Parser {
		return tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
			return follow(r, out)
		})
	}
	each := func(urls func(*tegenaria.Response) []string) tegenaria.Parser {
		return handle(func(r *tegenaria.Response, out *tegenaria.Output[any]) error {
			for _, url := range urls(r) {
				if err := out.Follow(url); err != nil {
					return err
				}
			}
			return nil
		})
	}
	forms := []struct {
		name  string
		parse tegenaria.Parser
	}{
		{"FollowLinks", handle(func(r *tegenaria.Response, out *tegenaria.Output[any]) error { return out.FollowLinks() })},
		{"FollowLinks of a tree", handle(func(r *tegenaria.Response, out *tegenaria.Output[any]) error {
			r.CSS("div.x").First()
			return out.FollowLinks()
		})},
		{"Links", each(links)},
		{"Attrs", each(func(r *tegenaria.Response) []string { return r.CSS("a[href], area").Attrs("href") })},
		{"channel", func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			for _, url := range links(resp.Response()) {
				req <- tegenaria.NewContext(tegenaria.NewRequest(url, tegenaria.GET, nil))
			}
			return nil
		}},
	}
	for _, listen := range []bool{false, true} {
		var want []string
		for _, form := range forms {
			w := enginetest.NewWorld().Page("http://a.test/", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
				return tegenaria.NewResponse(ctx.Request, 200, map[string][]string{"Content-Type": {"text/html"}}, []byte(page)), nil
			})
			cache := &acceptedCache{CacheInterface: tegenaria.NewMemoryCache()}
			var mu sync.Mutex
			var announced, arrived []string
			parser := func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				r := resp.Request
				mu.Lock()
				arrived = append(arrived, fmt.Sprintf("%s %s at %d with %v %v", r.Method, r.Url, r.Depth, r.Meta, r.Header))
				mu.Unlock()
				if resp.CtxId == "" {
					t.Errorf("%s: %s has no CtxId", form.name, r.Url)
				}
				if r.Depth > 0 {
					return nil
				}
				return form.parse(resp, item, req)
			}
			opts := []tegenaria.EngineOption{tegenaria.EngineWithCache(cache), tegenaria.EngineWithAllowStatusCode([]uint64{404})}
			if listen {
				opts = append(opts, tegenaria.EngineWithEvents(tegenaria.Events{RequestAccepted: func(r *tegenaria.Request) {
					mu.Lock()
					defer mu.Unlock()
					announced = append(announced, fmt.Sprintf("%s %s at %d", r.Method, r.Url, r.Depth))
				}}))
			}
			enginetest.MustRun(t, enginetest.NewEngine(w, tegenaria.NewSpider("test", parser, "http://a.test/"), opts...))
			slices.Sort(arrived)
			got := slices.Concat(cache.new, announced, arrived)
			if want == nil {
				want = got
				if len(cache.new) != 10 || len(arrived) != 10 || listen != (len(announced) == 10) {
					t.Fatalf("listen %v: %d records, %d announced, %d arrived", listen, len(cache.new), len(announced), len(arrived))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("listen %v, %s:\ngot  %s\nwant %s", listen, form.name, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
			}
		}
	}
}

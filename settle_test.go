package tegenaria_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"errors"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/spidertest"
)

// countedStaging notes when there was a batch.
type countedStaging struct {
	staging
	at []time.Time // guarded by the staging's mu
}

func (c *countedStaging) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	if len(ids) > 0 {
		c.mu.Lock()
		c.at = append(c.at, time.Now())
		c.mu.Unlock()
	}
	return c.staging.Prepare(ctx, ids)
}

func itemOfItsURL(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
	item <- tegenaria.NewItem(ctx, ctx.Request.Url)
	return nil
}

// While all workers are busy pages are settled together: a batch for each would cost the disk too much. It fails without
// the settler's pause.
func TestPagesAreSettledTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 200
		w := enginetest.NewWorld()
		var seeds []string
		for n := range pages {
			url := fmt.Sprintf("http://a.test/%d", n)
			w.Page(url, enginetest.After(time.Millisecond, enginetest.Text("x")))
			seeds = append(seeds, url)
		}
		s := enginetest.NewSpider(seeds...)
		s.Parse = itemOfItsURL
		c := &countedStaging{}
		began := time.Now()
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(2), tegenaria.EngineWithPipelines(c)))
		took := time.Since(began)
		if most := int(took/(20*time.Millisecond)) + 5; len(c.at) > most || len(c.at) < 3 {
			t.Errorf("%d pages in %s were settled in %d batches, want at most %d", pages, took, len(c.at), most)
		}
		if len(c.committed) != pages {
			t.Errorf("%d items were committed, want %d", len(c.committed), pages)
		}
	})
}

// A page that nobody would settle a batch with is settled at once, though another one is on its way: a worker has nothing
// to do. It fails if the pause does not end then.
func TestAPageIsSettledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/1", enginetest.After(time.Second, enginetest.Text("x"))).
			Page("http://a.test/2", enginetest.After(time.Second+time.Millisecond, enginetest.Text("x"))).
			Page("http://a.test/3", enginetest.After(30*time.Second, enginetest.Text("x")))
		s := enginetest.NewSpider("http://a.test/1", "http://a.test/2", "http://a.test/3")
		s.Parse = itemOfItsURL
		c := &countedStaging{}
		began := time.Now()
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(8), tegenaria.EngineWithPipelines(c)))
		var took []time.Duration
		for _, at := range c.at {
			took = append(took, at.Sub(began))
		}
		if want := []time.Duration{time.Second, time.Second + time.Millisecond, 30 * time.Second}; fmt.Sprint(took) != fmt.Sprint(want) {
			t.Errorf("batches came after %v, want %v", took, want)
		}
	})
}

// A page that ends while all workers are busy is settled as soon as one of them has nothing to do. It fails if a worker that finds
// nothing does not end the settler's pause.
func TestAnIdleWorkerEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		s := enginetest.NewSpider()
		for i, takes := range []time.Duration{time.Second, 30 * time.Second, time.Millisecond, time.Millisecond, 5 * time.Millisecond} {
			url := fmt.Sprintf("http://a.test/%d", i)
			w.Page(url, enginetest.After(takes, enginetest.Text("x")))
			s.FeedUrls = append(s.FeedUrls, url)
		}
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			if ctx.Request.Url == "http://a.test/4" {
				enginetest.Sleep(5 * time.Second) // its worker has nothing to do meanwhile
			}
			return itemOfItsURL(ctx, item, req)
		}
		c := &countedStaging{}
		began := time.Now()
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(2), tegenaria.EngineWithSchedulerNum(2), tegenaria.EngineWithPipelines(c)))
		var took []time.Duration
		for _, at := range c.at {
			took = append(took, at.Sub(began))
		}
		if want := 1007 * time.Millisecond; !slices.Contains(took, want) {
			t.Errorf("batches came after %v, and none after %v", took, want)
		}
	})
}

// Downloads that wait for room do not wait for the settler's pause too. It fails if the pause does not end then.
func TestNoRoomForBodiesEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 500
		web := spidertest.NewWeb(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			<-time.After(time.Millisecond)
			io.WriteString(w, strings.Repeat("x", 100))
		}))
		defer web.Close()
		var seeds []string
		for n := range pages {
			seeds = append(seeds, fmt.Sprintf("http://a.test/%d", n))
		}
		s := enginetest.NewSpider(seeds...)
		s.Parse = itemOfItsURL
		c := &countedStaging{}
		began := time.Now()
		enginetest.MustRun(t, enginetest.NewEngine(nil, s, tegenaria.EngineWithConcurrency(2), tegenaria.EngineWithPipelines(c),
			tegenaria.EngineWithHTTPClient(web.Client()), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
			tegenaria.EngineWithLimits(tegenaria.Limits{BodiesInFlight: 400})))
		if took := time.Since(began); took > pages*time.Millisecond {
			t.Errorf("%d pages took %s in %d batches", pages, took, len(c.at))
		}
	})
}

// A body for which there is still no room after a batch comes as soon as there is some. It fails if a lack of room from
// before a pause does not end it.
func TestLastingLackOfRoomEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := map[string]struct {
			after, parse time.Duration // ms
			bytes        int
		}{
			"/first": {1, 0, 10},
			"/batch": {1, 3, 10},  // ends at 4 ms
			"/large": {1, 6, 300}, // ends at 7 ms
			"/over":  {2, 5, 200}, // so does this, which is more than there is room for
			"/waits": {3, 0, 200},
		}
		web := spidertest.NewWeb(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a, ok := answers[r.URL.Path]
			if !ok {
				a.after, a.bytes = 50, 10 // keeps a worker busy
			}
			<-time.After(a.after * time.Millisecond)
			io.WriteString(w, strings.Repeat("x", a.bytes))
		}))
		defer web.Close()
		var seeds []string
		for path := range answers {
			seeds = append(seeds, "http://a.test"+path)
		}
		for n := range 20 {
			seeds = append(seeds, fmt.Sprintf("http://a.test/%d", n))
		}
		s := enginetest.NewSpider(seeds...)
		began := time.Now()
		var came time.Duration
		s.Parse = func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			if ctx.Request.Url == "http://a.test/waits" {
				came = time.Since(began)
			}
			enginetest.Sleep(answers[strings.TrimPrefix(ctx.Request.Url, "http://a.test")].parse * time.Millisecond)
			items <- tegenaria.NewItem(ctx, ctx.Request.Url)
			return nil
		}
		c := &countedStaging{}
		enginetest.MustRun(t, enginetest.NewEngine(nil, s, tegenaria.EngineWithConcurrency(5), tegenaria.EngineWithPipelines(c),
			tegenaria.EngineWithHTTPClient(web.Client()), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
			tegenaria.EngineWithLimits(tegenaria.Limits{BodiesInFlight: 400})))
		if came != 7*time.Millisecond {
			t.Errorf("the page came after %s", came)
		}
	})
}

// A request is counted before the cache is asked: it may be taken and settled while the one who sent it still hears of the
// verdict. It fails, by a crawl that ends early, if it is counted with the verdict.
func TestTakenBeforeItsSenderKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://c.test/", enginetest.Text("x")).Page("http://c.test/2", enginetest.Text("x"))
		for n := range 3 {
			w.Page(fmt.Sprint("http://b.test/", n), enginetest.After(5*time.Second, enginetest.Text("x")))
		}
		s := enginetest.NewSpider("http://a.test/", "http://b.test/0", "http://b.test/1")
		s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			if ctx.Request.Url == "http://a.test/" {
				req <- enginetest.Send("http://b.test/2")
				enginetest.Sleep(10 * time.Millisecond) // a batch of its own
				req <- enginetest.Send("http://c.test/")
				req <- enginetest.Send("http://c.test/2")
			}
			return nil
		}
		slow := tegenaria.Politeness{PerSlot: 1, Overrides: map[string]tegenaria.SlotPolicy{"c.test": {Delay: 3 * time.Second, PerSlot: 1}}}
		var e *tegenaria.SpiderEngine
		e = enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(4), tegenaria.EngineWithPoliteness(slow),
			tegenaria.EngineWithEvents(tegenaria.Events{RequestAccepted: func(r *tegenaria.Request) {
				if r.Url != "http://b.test/2" {
					return
				}
				enginetest.Sleep(18 * time.Second) // it is taken and settled meanwhile
				if s := e.Stats(); s.Pending < 0 {
					t.Errorf("%d requests are pending", s.Pending)
				}
			}}))
		stats := enginetest.MustRun(t, e)
		if n := w.Count("http://c.test/2"); n != 1 || stats.Pending+stats.InFlight != 0 {
			t.Errorf("the last page was asked for %d times; %+v", n, stats)
		}
	})
}

// slowCommitter is a disk that takes its time: it keeps what is to be settled waiting until it may go on.
type slowCommitter struct {
	staging
	goOn chan struct{}
}

func (c *slowCommitter) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	if len(ids) > 0 {
		<-c.goOn
	}
	return c.staging.Prepare(ctx, ids)
}

// While pages wait to be settled their responses are not kept: a slow disk must not cost memory.
func TestWaitingPagesAreLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 40
		w := enginetest.NewWorld()
		var seeds []string
		for i := range pages {
			url := fmt.Sprintf("http://a.test/%d", i)
			seeds = append(seeds, url)
			w.Page(url, enginetest.Text("x"))
		}
		var responses []weak.Pointer[tegenaria.Response]
		s := enginetest.NewSpider(seeds...)
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			responses = append(responses, weak.Make(ctx.Response()))
			item <- tegenaria.NewItem(ctx, len(responses))
			return nil
		}
		c := &slowCommitter{goOn: make(chan struct{})}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(c), tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithConcurrency(1))
		done := make(chan error, 1)
		go func() { done <- e.Run(t.Context(), s.GetName()) }()
		synctest.Wait()
		if len(responses) != pages || e.Stats().Settled != 0 {
			t.Errorf("%d pages are parsed, %d settled; want %d and 0", len(responses), e.Stats().Settled, pages)
		}
		runtime.GC()
		kept := 0
		for _, resp := range responses {
			if resp.Value() != nil {
				kept++
			}
		}
		if kept > pages/4 { // workers may still know the last of them
			t.Errorf("of %d responses %d are kept", pages, kept)
		}
		close(c.goOn)
		if err := <-done; err != nil || e.Stats().Settled != pages || len(c.committed) != pages {
			t.Errorf("%v; %d settled, %d items committed, want %d", err, e.Stats().Settled, len(c.committed), pages)
		}
	})
}

type wrapCache struct {
	tegenaria.CacheInterface
	durable bool
	settle  func(ctx context.Context, b tegenaria.Batch) error
}

func (c *wrapCache) Begin(ctx context.Context, job tegenaria.Job) (tegenaria.State, error) {
	st, err := c.CacheInterface.Begin(ctx, job)
	st.Durable = st.Durable || c.durable
	return st, err
}

func (c *wrapCache) Settle(ctx context.Context, b tegenaria.Batch) error {
	if c.settle != nil {
		if err := c.settle(ctx, b); err != nil {
			return err
		}
	}
	return c.CacheInterface.Settle(ctx, b)
}

// The last Settle hangs until its context ends, which Stop sees to.
func TestSettleFinishedHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = enginetest.Nothing
		release := make(chan struct{})
		var forced atomic.Bool
		cache := &wrapCache{CacheInterface: tegenaria.NewMemoryCache(), durable: true, settle: func(ctx context.Context, b tegenaria.Batch) error {
			if b.Finished != "" {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-release:
				}
			}
			return nil
		}}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(cache))
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			enginetest.Sleep(time.Minute)
			cancel()
			e.Stop(context.Background())
			enginetest.Sleep(24 * time.Hour)
			select {
			case <-release:
			default:
				forced.Store(true)
				close(release)
			}
		}()
		e.Run(ctx, "test")
		if forced.Load() {
			t.Error("Run did not return within a day of Stop and of the end of its context")
		}
		enginetest.Sleep(48 * time.Hour)
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

// closingCommitter is a Committer whose Close fails at first.
type closingCommitter struct {
	said  *[]string
	fails bool
}

func (c closingCommitter) GetPriority() int  { return 0 }
func (c closingCommitter) CommitKey() string { return "closing" }
func (c closingCommitter) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	return nil
}
func (c closingCommitter) Discard(string) {}
func (c closingCommitter) Prepare(context.Context, []string) ([]byte, error) {
	return []byte("state"), nil
}

func (c closingCommitter) Restore(_ context.Context, checkpoint []byte) error {
	*c.said = append(*c.said, "restore "+string(checkpoint))
	return nil
}

func (c closingCommitter) Close(ctx context.Context, reason string) error {
	*c.said = append(*c.said, "close "+reason)
	if !tegenaria.Complete(ctx) {
		return errors.New("the job is not complete")
	}
	if c.fails {
		return errors.New("the power is gone")
	}
	return nil
}

// A job is complete, but its output was not closed: the next run closes it, and the one after that does nothing.
func TestOutputsOfACompleteJobAreClosed(t *testing.T) {
	dir := t.TempDir()
	var said []string
	run := func(fails bool) error {
		cache, err := disk.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer cache.Close()
		engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithCache(cache), tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithQuiet(),
			tegenaria.EngineWithPipelines(closingCommitter{&said, fails}),
			tegenaria.EngineWithSpiders(tegenaria.NewSpider("shop", enginetest.Nothing)))
		return engine.Run(t.Context(), "shop")
	}
	want := []string{"restore ", "close finished"}
	if err := run(true); err == nil || err.Error() == "the job is not complete" {
		t.Fatalf("first run: %v", err)
	}
	if err := run(false); err != nil {
		t.Fatalf("second run: %v", err)
	}
	want = append(want, "restore state", "close finished")
	if err := run(false); err != nil {
		t.Fatalf("third run: %v", err)
	}
	if len(said) != len(want) {
		t.Fatalf("%q, want %q", said, want)
	}
	for i := range want {
		if said[i] != want[i] {
			t.Errorf("%q, want %q", said, want)
		}
	}
}

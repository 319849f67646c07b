//go:build unix && !race

package tegenaria_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// The bounds of what a crawl takes: goroutines, memory, idle CPU. The web server runs in a process of its own, so
// that what is counted here is the engine's.

var helperServer = flag.Bool("helper-server", false, "be the web server of the tests of bounds (they start it themselves)")

// TestHelperServer is the web server, when it is started as one: it says its address and serves until its input
// ends.
func TestHelperServer(t *testing.T) {
	if !*helperServer {
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/page/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<html><title>A page</title><p>Some text.</html>")
	})
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	server := &http.Server{Handler: mux}
	go func() { // ends with the server, which Close ends
		io.Copy(io.Discard, os.Stdin)
		server.Close()
	}()
	fmt.Printf("serving http://%s\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// otherProcess starts the web server and returns its address.
func otherProcess(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperServer$", "-helper-server")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the web server: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if !ok {
		t.Fatalf("the web server said %q, %v", line, err)
	}
	return url
}

// crowd crawls until 700 pages are parsed with that many requests queued, all kinds of user code in use. It returns
// the largest number of goroutines that a parser saw, and the largest after the first 200 pages: when all connections are
// new, each of them is being dialled by several.
func crowd(t *testing.T, url string, queued int) (largest, steady int) {
	const warm, sampled = 200, 500
	var most, then, samples atomic.Int64
	var sent atomic.Bool
	s := enginetest.NewSpider(url + "/page/0")
	page := tegenaria.Parser(func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		item <- tegenaria.NewItem(resp, 1)
		if !sent.Load() {
			return nil
		}
		<-time.After(2 * time.Millisecond) // all workers are needed then, and each parser has goroutines that receive
		now := int64(runtime.NumGoroutine())
		atLeast(&most, now)
		sample := samples.Add(1)
		if sample > warm {
			atLeast(&then, now)
		}
		if sample >= warm+sampled {
			return tegenaria.CloseSpider("enough")
		}
		return nil
	})
	s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		if resp.Request.Depth > 0 {
			return page(resp, item, req)
		}
		for i := range queued {
			req <- tegenaria.NewContext(tegenaria.NewRequest(fmt.Sprintf("%s/page/%d", url, i+1), tegenaria.GET, nil))
		}
		sent.Store(true)
		return nil
	}
	e := enginetest.NewEngine(nil, s,
		tegenaria.EngineWithConcurrency(crowdConcurrency), tegenaria.EngineWithSchedulerNum(crowdParsers),
		tegenaria.EngineWithItemConcurrency(crowdPipes),
		tegenaria.EngineWithMiddlewares(idleMiddleware{}),
		tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, func(_ context.Context, n int) (int, error) {
			if samples.Load() <= warm {
				<-time.After(time.Millisecond)
			}
			return n, nil
		})),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: crowdConcurrency}),
	)
	err := enginetest.Run(t, e)
	var stopped *tegenaria.StoppedError
	if !errors.As(err, &stopped) || stopped.Reason != "enough" {
		t.Fatalf("Run: %v", err)
	}
	if stats := e.Stats(); stats.ErrorCount > 0 || stats.Discovered != int64(queued)+1 {
		t.Errorf("%d errors, %d discovered: %v", stats.ErrorCount, stats.Discovered, s.Errors())
	}
	return int(most.Load()), int(then.Load())
}

// atLeast raises v to n.
func atLeast(v *atomic.Int64, n int64) {
	for old := v.Load(); n > old && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}

const crowdConcurrency, crowdParsers, crowdPipes, crowdReaders = 16, 4, 8, 1

func TestGoroutinesAreBounded(t *testing.T) {
	url := otherProcess(t)
	ignore := goleak.IgnoreCurrent()
	few, fewLater := crowd(t, url, 1_000)
	crowded := 10_000
	if deep.Checks() {
		crowded = 1_000_000
	}
	many, manyLater := crowd(t, url, crowded)
	enginetest.NoLeaks(t, ignore)
	const bound = 4*crowdConcurrency + 3*(crowdParsers+crowdPipes) + crowdReaders + 20
	t.Logf("%d goroutines with 1,000 requests queued, later %d; %d with %d, later %d; the bound is %d",
		few, fewLater, many, crowded, manyLater, bound)
	// What is being dialled or closed at one moment depends on the machine. A goroutine for each request would be thousands.
	if few == 0 || many > crowded/20 {
		t.Errorf("%d goroutines with 1,000 requests queued, %d with %d", few, many, crowded)
	}
	if deep.Checks() && (few > bound || many > bound) {
		t.Errorf("%d and %d goroutines, want at most %d", few, many, bound)
	}
	if diff := manyLater - fewLater; deep.Checks() && (diff < -8 || diff > 8) {
		t.Errorf("later %d goroutines with 1,000 requests queued, %d with %d", fewLater, manyLater, crowded)
	}
}

// One parser sends many requests (100,000 in a deep check) while nobody else could take one: there is one worker of each kind.
func TestManyRequestsFromOneParser(t *testing.T) {
	n := 5_000
	if deep.Checks() {
		n = 100_000
	}
	for _, tt := range []struct {
		name string
		send func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error
	}{
		{"channel", func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			for i := range n {
				req <- tegenaria.NewContext(tegenaria.NewRequest(fmt.Sprintf("http://h0.example/page/%d", i+1), tegenaria.GET, nil))
			}
			return nil
		}},
		{"Output", tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[int]) error {
			for i := range n {
				if err := out.Follow(fmt.Sprint(i + 1)); err != nil {
					return err
				}
			}
			return nil
		})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen := make([]atomic.Bool, n+1)
			s := enginetest.NewSpider("http://h0.example/page/0")
			s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				_, page := enginetest.PageOf(resp.Request.Url)
				if seen[page].Swap(true) {
					t.Errorf("page %d came twice", page)
				}
				if page == 0 {
					return tt.send(resp, item, req)
				}
				return nil
			}
			e := enginetest.NewEngine(&enginetest.MemoryDownloader{Body: enginetest.PlainPage}, s, tegenaria.EngineWithConcurrency(1),
				tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithItemConcurrency(1))
			if stats := enginetest.MustRun(t, e); stats.Responses != int64(n)+1 {
				t.Errorf("%d responses", stats.Responses)
			}
		})
	}
}

// hangingDownloader holds each request until the crawl gives it up, and says when it has the first.
type hangingDownloader struct{ first chan struct{} }

func (d *hangingDownloader) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	close(d.first)
	<-ctx.Done()
	ctx.DownloadResult = &tegenaria.RequestResult{Error: tegenaria.NewError(ctx.CtxId, context.Cause(ctx))}
	result <- ctx
}

func (d *hangingDownloader) CheckStatus(uint64, []uint64) bool { return true }

// liveHeap is what is reachable.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one's finalizers let go
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestMemoryOfWaitingRequests(t *testing.T) {
	const hosts, limit = 1_000, 200
	n := 20_000
	if deep.Checks() {
		n = 1_000_000
	}
	padding := strings.Repeat("x", 100)
	sent := make(chan struct{})
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		for i := range n {
			url := fmt.Sprintf("https://www%d.example/%d/", i%hosts, i)
			req <- tegenaria.NewContext(tegenaria.NewRequest(url+padding[len(url):], tegenaria.GET, nil))
		}
		close(sent)
	}
	d := &hangingDownloader{first: make(chan struct{})}
	e := enginetest.NewEngine(nil, s, tegenaria.EngineWithDownloader(d), tegenaria.EngineWithConcurrency(1),
		tegenaria.EngineWithGrace(0), tegenaria.EngineWithLimits(tegenaria.Limits{Pending: 2 * n}))
	before := liveHeap()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(t.Context(), "test") }()
	<-sent
	<-d.first
	each := float64(liveHeap()-before) / float64(n)
	t.Logf("%.1f bytes for each of %d waiting requests", each, n)
	if stats := e.Stats(); stats.Pending+stats.InFlight < int64(n)-1 { // the last one may be on its way still
		t.Errorf("only %d requests wait", stats.Pending)
	}
	if deep.Checks() && each > limit {
		t.Errorf("%.1f bytes for each waiting request, want at most %d", each, limit)
	}
	e.Stop(t.Context())
	if err := <-ended; err == nil {
		t.Error("Run returned nil although requests waited")
	}
	enginetest.CheckLedger(t, e)
}

// A crawl that waits for a slot's delay downloads nothing meanwhile. A deep check looks whether it uses CPU, and waits
// in real time for that, because the CPU is real.
func TestIdleCPU(t *testing.T) {
	const wait, limit = 2 * time.Second, 10 * time.Millisecond
	fetched := make(chan struct{}, 2)
	s := enginetest.NewSpider("http://h0.example/page/1", "http://h0.example/page/2")
	s.Parse = func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
		fetched <- struct{}{}
		return nil
	}
	e := enginetest.NewEngine(&enginetest.MemoryDownloader{Body: enginetest.PlainPage}, s,
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: time.Hour}))
	ended := make(chan error, 1)
	go func() { ended <- e.Run(t.Context(), "test") }()
	<-fetched
	for len(fetched) == 0 && e.Stats().Pending != 1 { // the second request may not be there yet
		runtime.Gosched()
	}
	if deep.Checks() {
		debug.FreeOSMemory() // other tests' garbage is not to be collected, nor given back, meanwhile
		timer := time.NewTimer(wait)
		before := enginetest.CPUTime(t)
		<-timer.C
		used := enginetest.CPUTime(t) - before
		t.Logf("%v of CPU in %v", used, wait)
		if used > limit {
			t.Errorf("the waiting crawl used %v of CPU in %v, want at most %v", used, wait, limit)
		}
	}
	if len(fetched) > 0 || e.Stats().Pending != 1 {
		t.Errorf("the crawl does not wait: %+v", e.Stats())
	}
	if err := e.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	var stopped *tegenaria.StoppedError
	if err := <-ended; !errors.As(err, &stopped) {
		t.Errorf("Run: %v", err)
	}
}

// failingCache stops accepting after some requests.
type failingCache struct {
	tegenaria.CacheInterface
	left atomic.Int64
}

var errNoDisk = errors.New("the disk is full")

func (c *failingCache) Accept(ctx context.Context, records []tegenaria.Record) ([]tegenaria.Verdict, error) {
	if c.left.Add(-int64(len(records))) < 0 {
		return nil, errNoDisk
	}
	return c.CacheInterface.Accept(ctx, records)
}

// beginner is a spider whose Start is a func.
type beginner struct {
	*enginetest.Spider
	begin func(ctx context.Context, req chan<- *tegenaria.Context) error
}

func (s *beginner) Start(ctx context.Context, req chan<- *tegenaria.Context) error {
	return s.begin(ctx, req)
}

// However a run ends, nothing of it is left: no goroutine and no connection's.
func TestNothingIsLeftOfARun(t *testing.T) {
	url := otherProcess(t)
	pages := func(n int) *enginetest.Spider {
		s := enginetest.NewSpider()
		for i := range n {
			s.FeedUrls = append(s.FeedUrls, fmt.Sprintf("%s/page/%d", url, i))
		}
		return s
	}
	parsing := func(p tegenaria.Parser) *enginetest.Spider {
		s := pages(20)
		s.Parse = p
		return s
	}
	hanging := func() *enginetest.Spider { return enginetest.NewSpider(url+"/hang", url+"/page/1") }
	stop := func(e *tegenaria.SpiderEngine, _ context.CancelFunc) {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		name   string
		spider tegenaria.SpiderInterface
		opts   []tegenaria.EngineOption
		act    func(e *tegenaria.SpiderEngine, cancel context.CancelFunc) // once a page was parsed or the start is under way
		want   func(err error) bool
	}{
		{name: "finished", spider: pages(50), want: func(err error) bool { return err == nil }},
		{name: "nothing to do", spider: pages(0), want: func(err error) bool { return err == nil }},
		{name: "pages", spider: pages(50), opts: []tegenaria.EngineOption{tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 5})},
			want: enginetest.IsA[*tegenaria.StoppedError]},
		{name: "closed", spider: parsing(func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
			return tegenaria.CloseSpider("enough")
		}), want: enginetest.IsA[*tegenaria.StoppedError]},
		{name: "panics", spider: parsing(func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
			panic("parser")
		}), want: func(err error) bool { return err == nil }},
		{name: "failed start", spider: &beginner{pages(0), func(context.Context, chan<- *tegenaria.Context) error { return errNoDisk }},
			want: enginetest.IsA[*tegenaria.RunError]},
		{name: "failed store", spider: pages(50), opts: []tegenaria.EngineOption{tegenaria.EngineWithCache(newFailingCache(10))},
			want: enginetest.IsA[*tegenaria.RunError]},
		{name: "mistake", spider: pages(1), opts: []tegenaria.EngineOption{tegenaria.EngineWithConcurrency(0)},
			want: enginetest.IsA[*tegenaria.RunError]},
		{name: "stopped", spider: &beginner{pages(0), func(ctx context.Context, req chan<- *tegenaria.Context) error {
			for i := 0; ctx.Err() == nil; i++ {
				req <- tegenaria.NewContext(tegenaria.NewRequest(fmt.Sprintf("%s/page/%d", url, i), tegenaria.GET, nil))
			}
			return nil
		}}, act: stop, want: enginetest.IsA[*tegenaria.StoppedError]},
		{name: "stopped, server hangs", spider: hanging(), opts: []tegenaria.EngineOption{tegenaria.EngineWithGrace(0)},
			act: stop, want: enginetest.IsA[*tegenaria.StoppedError]},
		{name: "cancelled, server hangs", spider: hanging(), act: func(_ *tegenaria.SpiderEngine, cancel context.CancelFunc) { cancel() },
			want: func(err error) bool { return errors.Is(err, context.Canceled) }},
		{name: "stopped, pipeline waits", spider: parsing(func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(resp, 1)
			return nil
		}), opts: []tegenaria.EngineOption{tegenaria.EngineWithGrace(0), tegenaria.EngineWithItemConcurrency(1),
			tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, func(ctx context.Context, n int) (int, error) {
				<-ctx.Done()
				return n, context.Cause(ctx)
			}))}, act: stop, want: enginetest.IsA[*tegenaria.StoppedError]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ignore := goleak.IgnoreCurrent()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			underWay := make(chan struct{}, 1)
			e := enginetest.NewEngine(nil, tt.spider, append(tt.opts, tegenaria.EngineWithEvents(tegenaria.Events{
				Downloaded: func(*tegenaria.Request, *tegenaria.Response) {
					select {
					case underWay <- struct{}{}:
					default:
					}
				},
			}))...)
			ended := make(chan error, 1)
			go func() { ended <- e.Run(ctx, "test") }()
			if tt.act != nil {
				<-underWay
				tt.act(e, cancel)
			}
			if err := <-ended; !tt.want(err) {
				t.Errorf("Run: %v", err)
			}
			enginetest.NoLeaks(t, ignore)
			enginetest.CheckLedger(t, e)
		})
	}
	t.Run("left", func(t *testing.T) {
		ignore := goleak.IgnoreCurrent()
		s := parsing(func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(resp, 1)
			return nil
		})
		for _, err := range tegenaria.Crawl[int](t.Context(), s, tegenaria.EngineWithLogger(enginetest.Quiet())) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		enginetest.NoLeaks(t, ignore)
	})
}

func newFailingCache(left int64) *failingCache {
	c := &failingCache{CacheInterface: tegenaria.NewMemoryCache()}
	c.left.Store(left)
	return c
}

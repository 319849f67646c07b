package tegenaria_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// slowPipeline takes a second for each item.
type slowPipeline struct{}

func (slowPipeline) GetPriority() int { return 1 }

func (slowPipeline) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	enginetest.Sleep(time.Second)
	return nil
}

// slowFeed is one that is a feed.
type slowFeed struct{ slowPipeline }

func (slowFeed) FeedStats() tegenaria.FeedStats { return tegenaria.FeedStats{Name: "slow"} }

// slowStore is a cache that takes its time over some of its work.
type slowStore struct {
	tegenaria.CacheInterface
	next, accept time.Duration
}

func (s slowStore) Next(ctx context.Context, slot string, n int) ([]tegenaria.Record, tegenaria.SlotState, error) {
	enginetest.Sleep(s.next)
	return s.CacheInterface.Next(ctx, slot, n)
}

func (s slowStore) Accept(ctx context.Context, records []tegenaria.Record) ([]tegenaria.Verdict, error) {
	enginetest.Sleep(s.accept)
	return s.CacheInterface.Accept(ctx, records)
}

// slowMiddleware takes a second for each request.
type slowMiddleware struct{ idleMiddleware }

func (slowMiddleware) ProcessRequest(*tegenaria.Context) error {
	enginetest.Sleep(time.Second)
	return nil
}

// slowly answers after the phases of a download.
func slowly(t tegenaria.Transfer) enginetest.Answer {
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		enginetest.Sleep(t.Lookup + t.Connect + t.Handshake + t.FirstByte + t.Body)
		resp, err := enginetest.Text("x")(ctx)
		return tegenaria.WithTransfer(resp, t), err
	}
}

// planted is a crawl with one cause why it is slow.
type planted struct {
	name     string
	hosts    int // 0: one
	pages    int // of each host; 0: 100
	answer   enginetest.Answer
	robots   string
	robotsIn time.Duration // how long it takes
	polite   tegenaria.Politeness
	parse    tegenaria.Parser
	start    func(req chan<- *tegenaria.Context)
	opts     []tegenaria.EngineOption
	cause    tegenaria.PlaceCause
	sentence string // a part of it
	log      io.Writer
}

// parseFor is a parser that takes its time.
func parseFor(d time.Duration) tegenaria.Parser {
	return func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
		enginetest.Sleep(d)
		return nil
	}
}

// parseItems is a parser that sends n items.
func parseItems(n int) tegenaria.Parser {
	return func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		for range n {
			items <- tegenaria.NewItem(ctx, struct{ A int }{})
		}
		return nil
	}
}

func plantedCrawls() []planted {
	const s = time.Second
	many := tegenaria.Politeness{PerSlot: 64}
	parsers := tegenaria.EngineWithSchedulerNum(2)
	return []planted{
		{name: "robots delay", robots: "User-agent: *\nCrawl-delay: 10\n", cause: tegenaria.PlaceCrawlDelay,
			sentence: " % of the time all downloads waited for h0.test: a delay of 10 s by its robots.txt"},
		{name: "own delay", polite: tegenaria.Politeness{Delay: 3 * s}, cause: tegenaria.PlaceDelay,
			sentence: "waited for h0.test: a delay of 3 s of the crawl's own settings"},
		{name: "slow server", polite: many, answer: slowly(tegenaria.Transfer{FirstByte: 5 * s, Body: s}),
			cause: tegenaria.PlaceFirstByte, sentence: "waited for h0.test: the first byte of its answers"},
		{name: "slow body", polite: many, answer: slowly(tegenaria.Transfer{FirstByte: s, Body: 5 * s}),
			cause: tegenaria.PlaceBody, sentence: "waited for h0.test: the bodies of its answers"},
		{name: "slow download by another downloader", polite: many, answer: enginetest.After(s, enginetest.Text("x")),
			cause: tegenaria.PlaceDownload, sentence: "waited for h0.test: its answers"},
		{name: "slow DNS", hosts: 200, pages: 1, answer: slowly(tegenaria.Transfer{Lookup: 5 * s, FirstByte: s}),
			cause: tegenaria.PlaceLookup, sentence: "waited for their hosts: the look-up of their name"},
		{name: "one host", polite: tegenaria.Politeness{PerSlot: 2}, answer: enginetest.After(s, enginetest.Text("x")),
			cause: tegenaria.PlacePerSlot, sentence: "of the downloads waited for h0.test: as many downloads as may ran there at once"},
		{name: "limit per host", hosts: 3, polite: tegenaria.Politeness{PerSlot: 1}, answer: enginetest.After(s, enginetest.Text("x")),
			cause: tegenaria.PlacePerSlot, sentence: "as many downloads as may ran there at once (per_slot)"},
		{name: "empty queue", start: func(req chan<- *tegenaria.Context) {
			for i := range 20 {
				enginetest.Sleep(10 * s)
				req <- tegenaria.NewContext(tegenaria.NewRequest(fmt.Sprintf("http://h0.test/%d", i), tegenaria.GET, nil))
			}
		}, cause: tegenaria.PlaceEmpty, sentence: "of the time all downloads waited for requests: nothing was queued"},
		{name: "robots.txt", robots: "User-agent: *\n", robotsIn: 10 * s, hosts: 40, pages: 2, cause: tegenaria.PlaceRobots,
			sentence: "downloads waited for their hosts: their robots.txt was fetched"},
		{name: "retries", start: func(req chan<- *tegenaria.Context) {
			r := tegenaria.NewRequest("http://h0.test/0", tegenaria.GET, nil, tegenaria.RequestWithNotBefore(time.Now().Add(time.Hour)))
			req <- tegenaria.NewContext(r)
		}, cause: tegenaria.PlaceNotBefore, sentence: "downloads waited until the time of the requests came that are to run later"},
		{name: "proxy", polite: tegenaria.Politeness{PerSlot: 64, PerProxy: 2}, start: func(req chan<- *tegenaria.Context) {
			for i := range 100 {
				r := tegenaria.NewRequest(fmt.Sprintf("http://h0.test/%d", i), tegenaria.GET, nil,
					tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: "http://proxy.test:80"}))
				req <- tegenaria.NewContext(r)
			}
		}, answer: enginetest.After(s, enginetest.Text("x")), cause: tegenaria.PlaceGate,
			sentence: "downloads waited for PerProxy of proxy.test:80, which was at its limit or closed"},
		{name: "slow parser", parse: parseFor(s), opts: []tegenaria.EngineOption{parsers}, cause: tegenaria.PlaceParsers,
			sentence: "downloads waited for parsers"},
		{name: "slow parser that the others depend on", start: func(req chan<- *tegenaria.Context) {
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://h0.test/0", tegenaria.GET, nil))
		}, parse: parseFor(time.Minute), cause: tegenaria.PlaceParsers, sentence: "downloads waited for parsers"},
		{name: "slow pipeline", parse: parseItems(100), opts: []tegenaria.EngineOption{parsers, tegenaria.EngineWithPipelines(slowPipeline{})},
			cause: tegenaria.PlaceItems, sentence: "downloads waited for pipelines"},
		{name: "slow feed", parse: parseItems(100), opts: []tegenaria.EngineOption{parsers, tegenaria.EngineWithPipelines(slowFeed{})},
			cause: tegenaria.PlaceFeeds, sentence: "downloads waited for feeds"},
		{name: "slow disk", polite: many, opts: []tegenaria.EngineOption{
			tegenaria.EngineWithCache(slowStore{CacheInterface: tegenaria.NewMemoryCache(), next: s})},
			cause: tegenaria.PlaceStore, sentence: "downloads waited for the store of the job"},
		{name: "slow disk for new requests", polite: many, pages: 10,
			parse: func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				if len(ctx.Request.Url) > 60 {
					return nil
				}
				req <- tegenaria.NewContext(tegenaria.NewRequest(ctx.Request.Url+"/deeper", tegenaria.GET, nil))
				return nil
			}, opts: []tegenaria.EngineOption{
				parsers, tegenaria.EngineWithCache(slowStore{CacheInterface: tegenaria.NewMemoryCache(), accept: s})},
			cause: tegenaria.PlaceStore, sentence: "downloads waited for the store of the job"},
		{name: "memory", parse: parseFor(s), answer: enginetest.Text(strings.Repeat("<p>text</p>", 100_000)),
			opts: []tegenaria.EngineOption{tegenaria.EngineWithSchedulerNum(16),
				tegenaria.EngineWithLimits(tegenaria.Limits{BodiesInFlight: 1 << 20})},
			cause: tegenaria.PlaceMemory, sentence: "downloads waited for memory (limits.bodies_in_flight)"},
		{name: "429 without Retry-After", answer: enginetest.Status(http.StatusTooManyRequests), cause: tegenaria.PlaceRefusals,
			sentence: "waited for h0.test: pauses after status 429 or 503"},
		{name: "429 with Retry-After", answer: func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			return tegenaria.NewResponse(ctx.Request, 429, map[string][]string{"Retry-After": {"60"}}, nil), nil
		}, cause: tegenaria.PlaceRetryAfter, sentence: "waited for h0.test: pauses that its Retry-After asked for"},
		{name: "middleware", polite: many, opts: []tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(slowMiddleware{})},
			cause: tegenaria.PlaceMiddlewares, sentence: "downloads were in middlewares"},
	}
}

// run makes the crawl with that many places, and returns the engine after it. control, unless nil, runs beside it.
func (p planted) run(t *testing.T, places int, control func(e *tegenaria.SpiderEngine)) *tegenaria.SpiderEngine {
	w, seeds := enginetest.NewWorld(), []string(nil)
	answer := p.answer
	if p.log == nil {
		p.log = io.Discard
	}
	if answer == nil {
		answer = enginetest.After(10*time.Millisecond, enginetest.Text("x"))
	}
	for h := range max(p.hosts, 1) {
		host := fmt.Sprintf("http://h%d.test", h)
		w.Page(host+"/robots.txt", enginetest.After(p.robotsIn, enginetest.Text(p.robots)))
		pages := p.pages
		if pages == 0 {
			pages = 100
		}
		for i := range pages {
			url := fmt.Sprintf("%s/%d", host, i)
			seeds = append(seeds, url)
			for range 8 {
				w.Page(url, answer)
				url += "/deeper"
			}
		}
	}
	spider := enginetest.NewSpider(seeds...)
	spider.Start, spider.Parse = p.start, enginetest.Nothing
	if p.parse != nil {
		spider.Parse = p.parse
	}
	p.polite.IgnoreRobots = p.robots == ""
	logger := logrus.New()
	logger.SetOutput(p.log)
	e := enginetest.NewEngine(w, spider, append([]tegenaria.EngineOption{
		tegenaria.EngineWithLogger(logger),
		tegenaria.EngineWithConcurrency(places), tegenaria.EngineWithPoliteness(p.polite)}, p.opts...)...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if control != nil {
			control(e)
		}
	}()
	_ = enginetest.Run(t, e) // pages may fail
	<-done
	return e
}

// checkSum checks that the causes add up to the time of the places, which is to be about want.
func checkSum(t *testing.T, when string, p tegenaria.Places, want time.Duration) {
	t.Helper()
	var sum time.Duration
	share := 0.0
	for _, c := range p.Causes {
		sum += c.Time
		share += c.Share
	}
	if off := (sum - p.Time).Abs(); off > p.Time/100 || share < 0.99 || share > 1.01 {
		t.Errorf("%s: the causes have %v, a share of %v, the places %v: %+v", when, sum, share, p.Time, p.Causes)
	}
	if off := (p.Time - want).Abs(); off > want/100 {
		t.Errorf("%s: the places have %v, want %v", when, p.Time, want)
	}
}

// The sentence names the one cause why a crawl is slow, and the times of all causes are that of the places.
func TestPlacesCause(t *testing.T) {
	for _, p := range plantedCrawls() {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				p.log = &log
				e := p.run(t, 16, nil)
				places := e.Places()
				if told, long := strings.Contains(log.String(), places.String()), e.Stats().Elapsed >= 10*time.Second; told != long {
					t.Errorf("the log says %q: %v, want %v: %s", places, told, long, &log)
				}
				if len(places.Causes) == 0 {
					t.Fatal("no cause")
				}
				if top := places.Causes[0]; top.Cause != p.cause || !strings.Contains(places.String(), p.sentence) {
					t.Errorf("%s\nwant %s, and a sentence with %q\n%+v", places, p.cause, p.sentence, places.Causes)
				}
				checkSum(t, "after the run", places, 16*e.Stats().Elapsed)
			})
		})
	}
}

// The times of a running crawl are those until now, also of downloads that are under way, and follow SetConcurrency and
// Pause.
func TestPlacesWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := planted{polite: tegenaria.Politeness{PerSlot: 64}, pages: 1000,
			answer: enginetest.After(20*time.Second, enginetest.Text("x"))}
		e := p.run(t, 4, func(e *tegenaria.SpiderEngine) {
			enginetest.Sleep(10*time.Minute + 10*time.Second)
			synctest.Wait()
			checkSum(t, "under way", e.Places(), 40*time.Minute+40*time.Second)
			if got := e.Places().String(); got != "100 % of the time all downloads waited for h0.test: its answers" {
				t.Error(got)
			}
			if err := e.SetConcurrency(10); err != nil {
				t.Error(err)
			}
			enginetest.Sleep(10 * time.Minute)
			synctest.Wait()
			checkSum(t, "more places", e.Places(), 140*time.Minute+40*time.Second)
			if err := e.Pause(); err != nil {
				t.Error(err)
			}
			enginetest.Sleep(100 * time.Hour)
			checkSum(t, "paused", e.Places(), 140*time.Minute+1000*time.Hour)
			if got := e.Places().String(); !strings.HasSuffix(got, "of the time all downloads waited because the crawl was paused") {
				t.Error(got)
			}
			if err := e.Resume(); err != nil {
				t.Error(err)
			}
		})
		last := e.Places()
		enginetest.Sleep(time.Hour)
		if now := e.Places(); now.Time != last.Time {
			t.Errorf("the places go on after the run: %v, then %v", last.Time, now.Time)
		}
	})
}

// A download of the engine's own downloader counts for the phase that it is in, while it is in it, and when it has failed there.
func TestPlacesPhase(t *testing.T) {
	for _, tt := range []struct {
		name    string
		first   bool // the server writes a header before it waits
		timeout time.Duration
		cause   tegenaria.PlaceCause
	}{
		{"first byte", false, 0, tegenaria.PlaceFirstByte},
		{"body", true, 0, tegenaria.PlaceBody},
		{"no first byte", false, time.Second, tegenaria.PlaceFirstByte},
	} {
		t.Run(tt.name, func(t *testing.T) {
			goOn, came := make(chan struct{}), make(chan struct{}, 4)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tt.first {
					w.WriteHeader(http.StatusOK)
					_ = http.NewResponseController(w).Flush()
				}
				came <- struct{}{}
				select {
				case <-goOn:
				case <-r.Context().Done():
				}
			}))
			defer s.Close()
			spider := enginetest.NewSpider(s.URL+"/0", s.URL+"/1", s.URL+"/2", s.URL+"/3")
			spider.Parse = enginetest.Nothing
			opts := []tegenaria.EngineOption{
				tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithSpiders(spider),
				tegenaria.EngineWithConcurrency(4), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
			}
			if tt.timeout > 0 {
				opts = append(opts, tegenaria.EngineWithLimits(tegenaria.Limits{FirstByte: tt.timeout}))
			}
			e := tegenaria.NewSpiderEngine(opts...)
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = e.Run(t.Context(), "test") // pages may fail
			}()
			for range 4 {
				<-came
			}
			if tt.timeout == 0 {
				for before := e.Places().Time; ; runtime.Gosched() { // until what came before is little, however slow the machine is
					if p := e.Places(); p.Time > 10*before+100*time.Millisecond && p.Causes[0].Cause == tt.cause && p.Causes[0].Share > 0.8 {
						break
					}
				}
				close(goOn)
			}
			<-done
			p := e.Places()
			checkSum(t, "after the run", p, p.Time)
			if top := p.Causes[0]; top.Cause != tt.cause || top.Of != "127.0.0.1" {
				t.Errorf("%s: %+v", p, p.Causes)
			}
		})
	}
}

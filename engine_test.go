package tegenaria_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// A full run over real HTTP: 1 request, 1 item, 1 times status 200, no error.
func TestFullRun(t *testing.T) {
	server, log := enginetest.Serve(t, map[string]string{"/": "<p>hello</p>"})
	s := enginetest.NewSpider(server + "/")
	s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		item <- tegenaria.NewItem(ctx, ctx.Response().CSS("p").Text())
		return nil
	}
	items := &enginetest.Collector{}
	e := enginetest.NewEngine(nil, s, tegenaria.EngineWithPipelines(items))
	if e.Status() != tegenaria.StatusUninitialized || !e.Idle() || e.Stats().Discovered != 0 {
		t.Errorf("before the run: %s, %+v", e.Status(), e.Stats())
	}
	stats := enginetest.MustRun(t, e)
	if stats.RequestDownloaded != 1 || stats.Responses != 1 || stats.ItemScraped != 1 || stats.Status[200] != 1 || stats.ErrorCount != 0 ||
		stats.Bytes != 12 || stats.RobotsRequests != 0 || stats.StartTime.IsZero() || stats.Elapsed <= 0 {
		t.Errorf("stats: %+v", stats)
	}
	if !slices.Equal(items.All(), []any{"hello"}) || len(log()) != 1 || log()[0].Agent != "tegenaria/"+tegenaria.Version {
		t.Errorf("items %v, log %+v", items.All(), log())
	}
	if e.Status() != tegenaria.StatusStopped || e.Summary().Reason != "finished" {
		t.Errorf("after the run: %s, %q", e.Status(), e.Summary().Reason)
	}
	if again := e.Stats(); again.Elapsed != stats.Elapsed {
		t.Error("the time of a run that has ended goes on")
	}
}

// A refused connection: 1 request, 1 error, and ErrorHandler knows why.
func TestRefusedConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String() + "/"
	listener.Close()
	s := enginetest.NewSpider(url)
	stats := enginetest.MustRun(t, enginetest.NewEngine(nil, s))
	var op *net.OpError
	if herr := s.OnlyError(t); herr.Stage != tegenaria.StageDownload || !errors.As(herr, &op) || herr.Response != nil {
		t.Errorf("ErrorHandler got %v", herr)
	}
	if stats.RequestDownloaded != 1 || stats.ErrorCount != 1 || stats.Responses != 0 {
		t.Errorf("stats: %+v", stats)
	}
}

// Within a slot the larger priority goes first, and equals in the order they came.
func TestPriorities(t *testing.T) {
	w := onePage()
	s := enginetest.NewSpider("http://a.test/")
	order := rand.New(rand.NewPCG(1, 1)).Perm(30)
	s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		if ctx.Request.Depth > 0 {
			return nil
		}
		for _, i := range order {
			u := fmt.Sprintf("http://b.test/%02d", i)
			w.Page(u, enginetest.Text("x"))
			req <- enginetest.Send(u, tegenaria.RequestWithPriority(i/3-5))
		}
		return nil
	}
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(1))
	// All wait before the first of them is taken.
	e.RegisterDownloadMiddlewares(&enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
		for ctx.Request.Depth == 1 && e.Stats().Discovered < 31 {
			runtime.Gosched()
		}
		return nil
	}})
	enginetest.MustRun(t, e)
	got := w.Urls()[2:] // the first one was alone when it was taken
	if !slices.IsSortedFunc(got, func(a, b string) int {
		return priorityOf(b) - priorityOf(a)
	}) {
		t.Errorf("order of downloads: %q", got)
	}
	for i := 1; i < len(got); i++ {
		if priorityOf(got[i-1]) == priorityOf(got[i]) && slices.Index(order, number(got[i-1])) > slices.Index(order, number(got[i])) {
			t.Errorf("%s came before %s, but is newer", got[i-1], got[i])
		}
	}
}

func number(url string) (n int) {
	fmt.Sscanf(url, "http://b.test/%d", &n)
	return n
}

func priorityOf(url string) int { return number(url) / 3 }

// A slot's delay is kept between the starts of downloads; a fast host is not slowed by it.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		var seeds []string
		for i := range 5 {
			for _, host := range []string{"slow", "fast", "narrow"} {
				u := fmt.Sprintf("http://%s.test/%d", host, i)
				w.Page(u, enginetest.After(300*time.Millisecond, enginetest.Text("x")))
				seeds = append(seeds, u)
			}
		}
		s := enginetest.NewSpider(seeds...)
		s.Parse = enginetest.Nothing
		began := time.Now()
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: time.Second,
			Overrides: map[string]tegenaria.SlotPolicy{"fast.test": {}, "narrow.test": {PerSlot: 1}}})))
		at := map[string][]time.Duration{}
		for _, v := range w.Visits() {
			host := strings.Split(v.Url, "/")[2]
			at[host] = append(at[host], v.At.Sub(began))
		}
		for host, gap := range map[string]time.Duration{"slow.test": time.Second, "fast.test": 0, "narrow.test": 300 * time.Millisecond} {
			for i, got := range at[host] {
				if got != time.Duration(i)*gap {
					t.Errorf("%s: download %d began after %s", host, i, got)
				}
			}
		}
	})
}

// SlotDelay slows a slot from then on; MaxConnsPerHost narrows it; SlotBy and RequestWithSlot name it.
func TestSlots(t *testing.T) {
	t.Run("SlotDelay", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/1", "/2", "/3")).Page("http://a.test/1", enginetest.Page()).Page("http://a.test/2", enginetest.Page()).Page("http://a.test/3", enginetest.Page())
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				ctx.SlotDelay(time.Minute)
				return enginetest.FollowAll(ctx, item, req)
			}
			began := time.Now()
			enginetest.MustRun(t, enginetest.NewEngine(w, s))
			if took := time.Since(began); took != 3*time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	})
	for _, tt := range []struct {
		name string
		p    tegenaria.Politeness
		opt  func(i int) tegenaria.RequestOption
		peak int
	}{
		{"MaxConnsPerHost", tegenaria.Politeness{}, func(int) tegenaria.RequestOption { return tegenaria.RequestWithMaxConnsPerHost(2) }, 2},
		{"RequestWithSlot", tegenaria.Politeness{PerSlot: 1}, func(i int) tegenaria.RequestOption { return tegenaria.RequestWithSlot(fmt.Sprint(i % 3)) }, 3},
		{"SlotRegistrableDomain", tegenaria.Politeness{PerSlot: 1, SlotBy: tegenaria.SlotRegistrableDomain}, nil, 2},
		{"SlotHost", tegenaria.Politeness{PerSlot: 1, SlotBy: tegenaria.SlotHost}, nil, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld()
				s := enginetest.NewSpider()
				s.Parse = enginetest.Nothing
				s.Start = func(req chan<- *tegenaria.Context) {
					for i := range 12 {
						u := fmt.Sprintf("http://%c.site%d.co.uk:80%d/", 'a'+i%3, i/3%2, i)
						if tt.opt != nil {
							u = fmt.Sprintf("http://a.test/%d", i)
						}
						w.Page(u, enginetest.After(time.Second, enginetest.Text("x")))
						if tt.opt != nil {
							req <- enginetest.Send(u, tt.opt(i))
						} else {
							req <- enginetest.Send(u)
						}
					}
				}
				tt.p.IgnoreRobots = true
				enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPoliteness(tt.p)))
				if w.Peak != tt.peak || len(w.Visits()) != 12 {
					t.Errorf("%d downloads at once, want %d", w.Peak, tt.peak)
				}
			})
		})
	}
}

// Which events happen, in which order.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &trace{}
		path := func(r *tegenaria.Request) string { return strings.TrimPrefix(r.Url, "http://a.test") }
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/", "/bad")).Page("http://a.test/bad", enginetest.Status(500))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(ctx, "item")
			enginetest.Sleep(time.Second) // it is scraped meanwhile
			return enginetest.FollowAll(ctx, item, req)
		}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithEvents(tegenaria.Events{
			Started:         func(s tegenaria.SpiderInterface) { l.add("started %s", s.GetName()) },
			Closed:          func(reason string) { l.add("closed %s", reason) },
			RequestAccepted: func(r *tegenaria.Request) { l.add("accepted %s", path(r)) },
			RequestStarted:  func(r *tegenaria.Request) { l.add("started %s", path(r)) },
			Downloaded:      func(r *tegenaria.Request, resp *tegenaria.Response) { l.add("downloaded %s %d", path(r), resp.Status) },
			RequestSettled: func(r *tegenaria.Request, o tegenaria.Outcome, why string) {
				l.add("%s", strings.TrimSpace(fmt.Sprintf("settled %s %s %s", path(r), o, why)))
			},
			ItemScraped: func(item *tegenaria.ItemMeta) { l.add("scraped %v", item.Item) },
			Error:       func(err *tegenaria.HandleError) { l.add("error %s", err.Stage) },
		}))
		enginetest.MustRun(t, e)
		var page, bad, rest []string
		for _, line := range l.list {
			switch {
			case strings.Contains(line, "/bad"):
				bad = append(bad, line)
			case strings.Contains(line, "/"):
				page = append(page, line)
			default:
				rest = append(rest, line)
			}
		}
		(&trace{list: page}).want(t, "accepted /", "started /", "downloaded / 200", "settled / duplicate", "settled / fetched")
		(&trace{list: bad}).want(t, "accepted /bad", "started /bad", "downloaded /bad 500", "settled /bad failed status")
		(&trace{list: rest}).want(t, "started test", "scraped item", "error status", "closed finished")
	})
}

// EngineWithEvents adds: of each event the funcs of both are called, the earlier option's first, and the second also if
// the first panics. It fails if a field of Events is forgotten, or one that is nil in both is not nil any more.
func TestEventsAdd(t *testing.T) {
	events := reflect.TypeFor[tegenaria.Events]()
	for i := range events.NumField() {
		field := events.Field(i)
		var told []string
		with := func(name string, panics bool) (e tegenaria.Events) {
			reflect.ValueOf(&e).Elem().Field(i).Set(reflect.MakeFunc(field.Type, func([]reflect.Value) []reflect.Value {
				if told = append(told, name); panics {
					panic(name)
				}
				return nil
			}))
			return e
		}
		call := func(e tegenaria.Events, want ...string) {
			t.Helper()
			told = nil
			defer func() {
				if recovered := recover(); !slices.Equal(told, want) || (recovered == nil) != (len(want) == 0 || want[0] != "panics") {
					t.Errorf("%s: %q were called, want %q; %v", field.Name, told, want, recovered)
				}
			}()
			v := reflect.ValueOf(e)
			for other := range events.NumField() {
				if v.Field(other).IsNil() != (other != i) {
					t.Errorf("%s and %s", field.Name, events.Field(other).Name)
				}
			}
			var args []reflect.Value
			for n := range field.Type.NumIn() {
				args = append(args, reflect.Zero(field.Type.In(n)))
			}
			v.Field(i).Call(args)
		}
		call(tegenaria.AddEvents(with("first", false), with("second", false)), "first", "second")
		call(tegenaria.AddEvents(with("panics", true), with("second", false)), "panics", "second")
		call(tegenaria.AddEvents(with("first", false), tegenaria.Events{}), "first")
		call(tegenaria.AddEvents(tegenaria.Events{}, with("second", false)), "second")
	}
	var started []string
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = enginetest.Nothing
	option := func(name string) tegenaria.EngineOption {
		return tegenaria.EngineWithEvents(tegenaria.Events{Started: func(tegenaria.SpiderInterface) { started = append(started, name) }})
	}
	enginetest.MustRun(t, enginetest.NewEngine(enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")), s, option("a"), option("b"), option("c")))
	if !slices.Equal(started, []string{"a", "b", "c"}) {
		t.Errorf("started: %q", started)
	}
}

// The status of a run, from outside and inside.
func TestStatusOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.After(time.Second, enginetest.Text("x")))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = enginetest.Nothing
		e := enginetest.NewEngine(w, s)
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		synctest.Wait()
		if e.Status() != tegenaria.StatusStarted || e.Idle() {
			t.Errorf("status %s, idle %t", e.Status(), e.Idle())
		}
		var busy *tegenaria.RunError
		if err := e.Run(t.Context(), "test"); !errors.As(err, &busy) {
			t.Errorf("a second run at the same time: %v", err)
		}
		if err := <-result; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// A cancelled context ends the run with its cause, also before it has begun.
func TestRunContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("cause")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Hang)
		e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"))
		if err := e.Run(ctx, "test"); !errors.Is(err, cause) {
			t.Errorf("Run with a cancelled context: %v", err)
		}
		ctx, end := context.WithTimeout(t.Context(), 30*time.Second)
		defer end()
		began := time.Now()
		if err := e.Run(ctx, "test"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 30*time.Second {
			t.Errorf("Run with a deadline: %v after %s", err, time.Since(began))
		}
		enginetest.CheckLedger(t, e)
		if s := e.Stats(); s.ErrorCount != 0 || s.Pending != 1 {
			t.Errorf("what was cancelled failed: %+v", s)
		}
	})
}

// Several readers of the cache do no work twice.
func TestReaders(t *testing.T) {
	for _, n := range []uint{1, 2, 7} {
		w := enginetest.NewWorld()
		s := enginetest.NewSpider()
		s.Parse = enginetest.Nothing
		for i := range 200 {
			u := fmt.Sprintf("http://a%d.test/%d", i%20, i)
			w.Page(u, enginetest.Text("x"))
			s.FeedUrls = append(s.FeedUrls, u)
		}
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithReadCacheNum(n)))
		if len(w.Visits()) != 200 || stats.Outcomes[tegenaria.Fetched] != 200 {
			t.Errorf("%d readers: %d downloads, %v", n, len(w.Visits()), stats.Outcomes)
		}
	}
}

// Downloaders of one name share the load; a failing one gets less.
func TestDownloadersShareTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, bad := enginetest.NewWorld(), enginetest.NewWorld()
		s := enginetest.NewSpider()
		s.Parse = enginetest.Nothing
		s.Start = func(req chan<- *tegenaria.Context) {
			for i := range 300 {
				u := fmt.Sprintf("http://a%d.test/%d", i%30, i)
				good.Page(u, enginetest.After(10*time.Millisecond, enginetest.Text("x")))
				bad.Page(u, enginetest.Broken(errBroken))
				req <- enginetest.Send(u, tegenaria.RequestWithDownloader("exit"))
			}
		}
		e := enginetest.NewEngine(enginetest.NewWorld(), s)
		e.RegisterDownloader("exit", bad)
		e.RegisterDownloader("exit", good)
		stats := enginetest.MustRun(t, e)
		if g, b := len(good.Visits()), len(bad.Visits()); g+b != 300 || b > 60 || int64(b) != stats.Outcomes[tegenaria.Failed] {
			t.Errorf("good %d, bad %d", g, b)
		}
		d := e.Summary().Downloaders
		if len(d) != 3 || d[0].Called != 0 || d[1].Completed != 0 || d[2].Called != d[2].Completed || d[2].Handling != 0 || d[0].Name != "" || d[1].Name != "exit" || d[2].Name != "exit" {
			t.Errorf("summary: %+v", d)
		}
	})
}

// The summary's JSON has the seed's names and stays the same after the run.
func TestSummary(t *testing.T) {
	w := onePage()
	e := enginetest.NewEngine(w, emitting("x"), tegenaria.EngineWithAllowedDomains("b.test", "a.test"), tegenaria.EngineWithSchedulerNum(3),
		tegenaria.EngineWithPipelines(&enginetest.Collector{}), tegenaria.EngineWithLimits(tegenaria.Limits{Depth: 4}))
	enginetest.MustRun(t, e)
	summary := e.Summary()
	if e.Summary().String() != summary.String() {
		t.Error("two summaries of the same run differ")
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(summary.String()), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"spider": `"test"`, "status": `"finished"`, "reason": `"finished"`, "url_number": "1",
		"request_args":     `{"accepted_primary_domains":["a.test","b.test"],"max_depth":4}`,
		"module_args":      `{"analyzer_list_size":3,"downloader_list_size":1,"pipeline_list_size":1}`,
		"downloaders":      `[{"accepted":1,"called":1,"completed":1,"handling":0,"id":"D1"}]`,
		"item_buffer_pool": `{"buffer_cap":64,"buffer_number":1,"max_buffer_number":16,"total":0}`,
	} {
		text, err := json.Marshal(got[name])
		if err != nil || string(text) != want {
			t.Errorf("%s is %s, want %s", name, text, want)
		}
	}
}

// Durations are texts with units, and seconds; they are read as they were written.
func TestStatsJSON(t *testing.T) {
	stats := tegenaria.Stats{Pending: 3, Elapsed: 80500 * time.Millisecond, Outcomes: map[tegenaria.Outcome]int64{tegenaria.Fetched: 2}}
	text, err := json.Marshal(stats)
	if err != nil || !strings.Contains(string(text), `"elapsed":"1m20.5s","elapsed_seconds":80.5`) || !strings.Contains(string(text), `"outcomes":{"fetched":2}`) {
		t.Fatalf("%s, %v", text, err)
	}
	var got tegenaria.Stats
	if err := json.Unmarshal(text, &got); err != nil || got.Elapsed != stats.Elapsed || got.Pending != 3 || got.Outcomes[tegenaria.Fetched] != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// The totals of a job are those of all its runs; without a durable cache they are those of the run.
func TestJobStats(t *testing.T) {
	store, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/1", "/gone", "http://b.test/")).Page("http://a.test/1", enginetest.Text("x"))
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		item <- tegenaria.NewItem(ctx, 1)
		for _, l := range ctx.Response().Links() {
			req <- enginetest.Send(l.URL)
		}
		return nil
	}
	var log bytes.Buffer
	logger := logrus.New()
	logger.SetOutput(&log)
	run := func(opts ...tegenaria.EngineOption) (*tegenaria.SpiderEngine, error) {
		log.Reset()
		e := enginetest.NewEngine(w, s, append(opts, tegenaria.EngineWithLogger(logger), tegenaria.EngineWithCache(store), tegenaria.EngineWithAllowedDomains("a.test"), tegenaria.EngineWithConcurrency(1))...)
		return e, e.Run(t.Context(), "test")
	}
	_, err = run(tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 1}))
	enginetest.WantStopped(t, err, "limit: pages")
	e, err := run()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		job, own := e.JobStats(), e.Stats()        // the time of the first run counts as far as it was stored
		seeds := job.Outcomes[tegenaria.Duplicate] // a run that stops while its seeds are being sent sends them again
		if seeds > 1 || job.Discovered != 4+seeds || job.Settled != 4+seeds || job.Responses != 3 || job.ItemScraped != 2 || job.Status[200] != 2 || job.Status[404] != 1 ||
			job.Outcomes[tegenaria.Fetched] != 2 || job.Reasons["filtered: offsite"] != 1 || job.Reasons["failed: status"] != 1 || job.ErrorCount != 1 ||
			job.Elapsed < own.Elapsed || job.RequestDownloaded != 3 {
			t.Errorf("the job: %+v", job)
		}
		if !strings.Contains(log.String(), "all runs of the job: 3 pages, 2 items") {
			t.Errorf("the log does not say how much the job is:\n%s", log.String())
		}
		if e, err = run(); err != nil { // it has finished
			t.Fatal(err)
		}
	}
	if e.Stats().Responses != 0 || e.Summary().Job == nil {
		t.Errorf("the last run: %+v", e.Stats())
	}
	memory := enginetest.NewEngine(onePage(), enginetest.NewSpider("http://a.test/"))
	enginetest.MustRun(t, memory)
	if memory.JobStats().Responses != 1 || memory.Summary().Job != nil {
		t.Errorf("without a job: %+v", memory.JobStats())
	}
}

// Damaged pages of earlier runs are among those of the job.
func TestJobStatsOfDamagedPages(t *testing.T) {
	var body bytes.Buffer
	zipped := gzip.NewWriter(&body)
	_, _ = zipped.Write([]byte("x"))
	_ = zipped.Close()
	body.Bytes()[body.Len()-8]++ // the checksum
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(body.Bytes())
	}))
	defer server.Close()
	store, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := enginetest.NewSpider(server.URL+"/1", server.URL+"/2")
	run := func(opts ...tegenaria.EngineOption) (*tegenaria.SpiderEngine, error) {
		polite := tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true})
		e := enginetest.NewEngine(nil, s, append(opts, polite, tegenaria.EngineWithCache(store), tegenaria.EngineWithConcurrency(1))...)
		return e, e.Run(t.Context(), "test")
	}
	_, err = run(tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 1}))
	enginetest.WantStopped(t, err, "limit: pages")
	e, err := run()
	if err != nil {
		t.Fatal(err)
	}
	if job, own := e.JobStats(), e.Stats(); own.Damaged != 1 || job.Damaged != 2 {
		t.Errorf("%d damaged pages in the last run, %d in all; want 1 and 2", own.Damaged, job.Damaged)
	}
}

// 100,000 requests of one page: the parser never waits, and goroutines are few.
func TestOnePageOfManyRequests(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	w := onePage()
	s := enginetest.NewSpider("http://a.test/")
	var most atomic.Int64
	s.Parse = func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		for i := range n {
			req <- enginetest.Send(fmt.Sprintf("http://b%d.test/%d", i%100, i))
			if i%1000 == 0 {
				most.Store(max(most.Load(), int64(runtime.NumGoroutine())))
			}
		}
		return nil
	}
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Depth: 1, Pages: 1}))
	err := enginetest.Run(t, e)
	enginetest.WantStopped(t, err, "limit: pages")
	if stats := e.Stats(); stats.Pending != int64(n) || most.Load() > 150 {
		t.Errorf("%d pending, %d goroutines", stats.Pending, most.Load())
	}
}

// Errors reach every ErrorChan, which ends with the run; a mistake ends it as well.
func TestErrorChanEnds(t *testing.T) {
	e := enginetest.NewEngine(enginetest.NewWorld(), enginetest.NewSpider("http://a.test/"))
	errs := e.ErrorChan()
	if err := e.Run(t.Context(), "nobody"); err == nil {
		t.Error("no error for an unknown spider")
	}
	if _, open := <-errs; open {
		t.Error("the channel is open after a run that did not begin")
	}
	errs = e.ErrorChan()
	enginetest.MustRun(t, e)
	var herr *tegenaria.HandleError
	if err := <-errs; !errors.As(err, &herr) || herr.Stage != tegenaria.StageStatus {
		t.Errorf("ErrorChan got %v", err)
	}
	if _, open := <-errs; open {
		t.Error("the channel is open after the run")
	}
}

// A downloader that sends twice, later, nil, another Context, or nothing.
func TestStrangeDownloaders(t *testing.T) {
	for name, tt := range map[string]struct {
		download func(ctx *tegenaria.Context, result chan<- *tegenaria.Context)
		fetched  bool
		took     time.Duration
		check    func(err error) bool
	}{
		"twice": {func(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
			answerTo(ctx)
			result <- ctx
			result <- ctx
		}, true, 0, nil},
		"later": {func(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
			go func() { enginetest.Sleep(5 * time.Second); answerTo(ctx); result <- ctx }()
		}, true, 5 * time.Second, nil},
		"nil": {func(_ *tegenaria.Context, result chan<- *tegenaria.Context) { result <- nil }, false, 0, func(error) bool { return true }},
		"another Context": {func(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
			other := tegenaria.NewContext(ctx.Request)
			answerTo(other)
			result <- other
		}, true, 0, nil},
		"nothing": {func(*tegenaria.Context, chan<- *tegenaria.Context) {}, false, 61 * time.Second,
			func(err error) bool { var none *tegenaria.NoResultError; return errors.As(err, &none) }},
		"no result in it": {func(ctx *tegenaria.Context, result chan<- *tegenaria.Context) { result <- ctx }, false, 0, func(error) bool { return true }},
		"too late": {func(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
			<-ctx.Done()
			ctx.DownloadResult = &tegenaria.RequestResult{Error: tegenaria.NewError("", context.Cause(ctx))}
			result <- ctx
		}, false, 60 * time.Second, func(err error) bool { var late *tegenaria.TimeoutError; return errors.As(err, &late) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := enginetest.NewSpider("http://a.test/")
				fetched := false
				s.Parse = parserOf(func(ctx *tegenaria.Context) error { fetched = ctx.Response().String() == "x"; return nil })
				began := time.Now()
				enginetest.MustRun(t, enginetest.NewEngine(downloadFunc(tt.download), s))
				if took := time.Since(began); took != tt.took || fetched != tt.fetched {
					t.Errorf("fetched %t after %s", fetched, took)
				}
				if tt.check != nil && !tt.check(s.OnlyError(t)) {
					t.Errorf("ErrorHandler got %v", s.Errors())
				}
			})
		})
	}
}

type downloadFunc func(ctx *tegenaria.Context, result chan<- *tegenaria.Context)

func (f downloadFunc) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	f(ctx, result)
}
func (f downloadFunc) CheckStatus(code uint64, _ []uint64) bool { return code < 400 }

func answerTo(ctx *tegenaria.Context) {
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, nil, []byte("x"))}
}

// A downloader that does not return is given up some time after the request's timeout, and the crawl goes on.
func TestDownloaderThatNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		w := enginetest.NewWorld().Page("http://a.test/stuck", func(*tegenaria.Context) (*tegenaria.Response, error) { <-release; return nil, errBroken }).
			Page("http://a.test/", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/stuck", "http://a.test/")
		s.Parse = enginetest.Nothing
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1}))
		began := time.Now()
		err := enginetest.Run(t, e)
		var abandoned *tegenaria.AbandonedError
		if !errors.As(err, &abandoned) || abandoned.Stages[tegenaria.StageDownload] != 1 {
			t.Errorf("Run returned %v, want an *AbandonedError", err)
		}
		enginetest.WantOutcomes(t, e.Stats(), map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Fetched: 1})
		if took := time.Since(began); took > 70*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// nilErr is an error whose methods panic if it is nil.
type nilErr struct{ err error }

func (e *nilErr) Error() string { return e.err.Error() }
func (e *nilErr) Unwrap() error { return e.err }

// Errors of user code whose methods panic are panics of that code, whoever returns them. It fails if Protect does not try
// them out.
func TestErrorsWhoseMethodsPanic(t *testing.T) {
	var wrong *nilErr
	fails := func(err error) tegenaria.Parser {
		return func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error { return err }
	}
	sends := func(c *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		item <- tegenaria.NewItem(c, 1)
		req <- enginetest.Send("http://a.test/other")
		return nil
	}
	filter := &enginetest.FilterHooks{Accept: func(*tegenaria.Response, *tegenaria.Request) error { return wrong }}
	filter.Name = "f"
	for name, tt := range map[string]struct {
		parse tegenaria.Parser
		with  tegenaria.EngineOption
	}{
		"parser":   {fails(wrong), tegenaria.EngineWithGrace(time.Second)},
		"retry":    {fails(tegenaria.Retry(0, wrong)), tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 1})},
		"filter":   {enginetest.Nothing, tegenaria.EngineWithMiddlewares(filter)},
		"pipeline": {sends, tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { return wrong }})},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/other", enginetest.Text("x"))
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = func(c *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				if c.Request.Url != "http://a.test/" {
					return nil
				}
				return tt.parse(c, item, req)
			}
			enginetest.MustRun(t, enginetest.NewEngine(w, s, tt.with))
			var panicked *tegenaria.PanicError
			if herr := s.OnlyError(t); !errors.As(herr, &panicked) || len(herr.Stack) == 0 {
				t.Errorf("ErrorHandler got %v", herr)
			}
		})
	}
}

// The wait at the end counted handlers, not queued work. Fails if Ledger.check leaves pending or delayed out of
// the sum.
func TestQueuedWorkIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/later", enginetest.Text("x")).Page("http://b.test/", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		began := time.Now()
		s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			if resp.Request.Depth == 0 {
				req <- enginetest.Send("http://a.test/later", tegenaria.RequestWithNotBefore(began.Add(time.Hour)))
				req <- enginetest.Send("http://b.test/")
			}
			return nil
		}
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(1)))
		if took := time.Since(began); took != time.Hour || w.Count("http://a.test/later") != 1 {
			t.Errorf("the run took %s and asked %q", took, w.Urls())
		}
	})
}

// Every run ended 3 s and more after its last work, and waiting was busy. Fails if jobs are settled after a timer;
// a loop that polls would keep the clock of the bubble from moving.
func TestEndsWithTheLastWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.After(2*time.Second, enginetest.Page("/1"))).Page("http://a.test/1", enginetest.After(3*time.Second, enginetest.Text("x")))
		s := enginetest.NewSpider("http://a.test/")
		slow := enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { enginetest.Sleep(4 * time.Second); return nil }}
		s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(resp, 1)
			return enginetest.FollowAll(resp, item, req)
		}
		began := time.Now()
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(slow)))
		if took := time.Since(began); took != 9*time.Second {
			t.Errorf("the run took %s, its work 9 s", took)
		}
	})
}

// A second run saw its seeds as duplicates and kept the first one's counts. Fails if memoryCache.Begin does
// not reset.
func TestRunsTwice(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/1", "/2")).Page("http://a.test/1", enginetest.Page("/")).Page("http://a.test/2", enginetest.Page())
	e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithCache(tegenaria.NewMemoryCache()))
	for i := range 3 {
		stats := enginetest.MustRun(t, e)
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 3, tegenaria.Duplicate: 1})
		if n := w.Count("http://a.test/1"); n != i+1 {
			t.Errorf("after run %d the page was asked %d times", i+1, n)
		}
		if e.Status() != tegenaria.StatusStopped {
			t.Errorf("status is %s", e.Status())
		}
	}
}

// Spiders were registered in a global map. Fails if findSpider keeps the names in a package variable.
func TestEnginesShareNothing(t *testing.T) {
	var running sync.WaitGroup
	for i := range 8 {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page(fmt.Sprint(i))).Page(fmt.Sprintf("http://a.test/%d", i), enginetest.Page())
		e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"))
		running.Go(func() {
			if err := e.Run(t.Context(), "test"); err != nil {
				t.Errorf("Run: %v", err)
			}
			if got, want := w.Urls(), []string{"http://a.test/", fmt.Sprintf("http://a.test/%d", i)}; !slices.Equal(got, want) {
				t.Errorf("engine %d asked %q, want %q", i, got, want)
			}
		})
	}
	running.Wait()
}

// Status, counters and ctx.Error were read and written by several goroutines without a lock. Fails under the
// race detector if, say, Ledger.Counts takes no lock.
func TestReadWhileItRuns(t *testing.T) {
	w := enginetest.NewWorld()
	s := enginetest.NewSpider()
	for i := range 100 {
		u := fmt.Sprintf("http://a%d.test/", i)
		w.Page(u, enginetest.Page("/missing", "/"))
		s.FeedUrls = append(s.FeedUrls, u)
	}
	s.Fail = func(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) { _ = err.Error() }
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithReadCacheNum(3))
	errs := e.ErrorChan()
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				st := e.Stats()
				if st.Discovered != st.Settled+st.Pending+st.Delayed+st.InFlight {
					t.Errorf("a snapshot breaks the law of conservation: %+v", st)
				}
				_, _, _ = e.Status(), e.Idle(), e.Summary().String()
				_, _ = e.Pause(), e.Resume()
			}
		})
	}
	stats := enginetest.MustRun(t, e)
	close(stop)
	readers.Wait()
	n := 0
	for range errs {
		n++
	}
	if n != 100 || stats.Outcomes[tegenaria.Fetched] != 100 {
		t.Errorf("%d errors, outcomes %v", n, stats.Outcomes)
	}
}

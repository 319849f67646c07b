package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/internal/israce"
)

// everywhere is a downloader that has each page, and counts the downloads by URL.
type everywhere struct {
	*enginetest.World
	takes time.Duration

	mu     sync.Mutex // guards counts
	counts map[string]int
}

func (d *everywhere) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	d.mu.Lock()
	if d.counts == nil {
		d.counts = make(map[string]int)
	}
	d.counts[ctx.Request.Url]++
	d.mu.Unlock()
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, http.StatusOK, nil, nil)}
	if err := enginetest.Wait(ctx, d.takes); err != nil {
		ctx.DownloadResult = &tegenaria.RequestResult{Error: tegenaria.NewError(ctx.CtxId, err)}
	}
	result <- ctx
}

func (d *everywhere) count(url string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts[url]
}

func newEverywhere(takes time.Duration) *everywhere {
	return &everywhere{World: enginetest.NewWorld(), takes: takes}
}

// pageRequest is a request for a page.
func pageRequest(url string, opts ...tegenaria.RequestOption) *tegenaria.Request {
	return tegenaria.NewRequest(url, tegenaria.GET, nil, opts...)
}

// wantRefused checks that Add has refused a request for a reason.
func wantRefused(t testing.TB, added bool, err error, reason string) *tegenaria.AddError {
	t.Helper()
	no, ok := errors.AsType[*tegenaria.AddError](err)
	if added || !ok || no.Reason != reason {
		t.Errorf("Add returned %t, %v; want an *AddError with the reason %q", added, err, reason)
		return new(tegenaria.AddError)
	}
	return no
}

// Add says what becomes of each request. One that is accepted or known is counted, one that is refused is not.
func TestAdd(t *testing.T) {
	const seed = "http://a.test/"
	tests := []struct {
		name    string
		request func() *tegenaria.Request
		added   bool
		reason  string // of the refusal; "" for none
		remedy  bool
	}{
		{name: "new", request: func() *tegenaria.Request { return pageRequest("http://a.test/new") }, added: true},
		{name: "a start request", request: func() *tegenaria.Request { return pageRequest(seed) }},
		{name: "unfiltered", request: func() *tegenaria.Request { return pageRequest(seed, tegenaria.RequestWithDoNotFilter(true)) }, added: true},
		{name: "delayed", request: func() *tegenaria.Request {
			return pageRequest("http://a.test/later", tegenaria.RequestWithNotBefore(time.Now().Add(time.Hour)))
		}, added: true},
		{name: "none", request: func() *tegenaria.Request { return nil }, reason: "request", remedy: true},
		{name: "offsite", request: func() *tegenaria.Request { return pageRequest("http://b.test/") }, reason: "offsite"},
		{name: "bad URL", request: func() *tegenaria.Request { return pageRequest("http://") }, reason: "url"},
		{name: "scheme", request: func() *tegenaria.Request { return pageRequest("ftp://a.test/") }, reason: "scheme"},
		{name: "long", request: func() *tegenaria.Request { return pageRequest(seed + strings.Repeat("x", 1<<20)) }, reason: "url-length", remedy: true},
		{name: "method", request: func() *tegenaria.Request {
			return tegenaria.NewRequest(seed, "NO GOOD", nil)
		}, reason: "accept"},
		{name: "a middleware's", request: func() *tegenaria.Request { return pageRequest("http://a.test/private") }, reason: "private"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newEverywhere(time.Second)
				filter := &enginetest.FilterHooks{Accept: func(_ *tegenaria.Response, r *tegenaria.Request) error {
					if strings.HasSuffix(r.Url, "/private") {
						return tegenaria.IgnoreRequest("private")
					}
					return nil
				}}
				spider := enginetest.NewSpider(seed)
				e := enginetest.NewEngine(d, spider, tegenaria.EngineWithAllowedDomains("a.test"),
					tegenaria.EngineWithMiddlewares(filter))
				done := make(chan error, 1)
				go func() { done <- e.Run(t.Context(), "test") }()
				synctest.Wait()
				r := tt.request()
				added, err := e.Add(t.Context(), r)
				want := int64(2)
				switch {
				case tt.reason != "":
					no := wantRefused(t, added, err, tt.reason)
					if r != nil && no.URL != r.Url || !strings.HasPrefix(no.Error(), "tegenaria: ") || tt.remedy && no.Remedy == "" {
						t.Errorf("the error is %q, of %q, remedy %q", no, no.URL, no.Remedy)
					}
					want = 1
				case err != nil || added != tt.added:
					t.Errorf("Add returned %t, %v", added, err)
				}
				if err := <-done; err != nil {
					t.Errorf("Run: %v", err)
				}
				s := e.Stats()
				if s.Discovered != want || s.Settled != want || len(spider.Errors()) > 0 {
					t.Errorf("%d discovered, %d settled, want %d; errors %v", s.Discovered, s.Settled, want, spider.Errors())
				}
				downloads := int64(1)
				if tt.added {
					downloads = 2
				}
				if s.Outcomes[tegenaria.Fetched] != downloads {
					t.Errorf("%d pages, want %d", s.Outcomes[tegenaria.Fetched], downloads)
				}
			})
		})
	}
}

// A crawl that does not take requests says so: before, while it opens its parts or stops, and after.
func TestAddWithoutCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e *tegenaria.SpiderEngine
		var opened, closed error
		part := &opening{
			open: func(ctx context.Context) error { _, opened = e.Add(ctx, pageRequest("http://a.test/")); return nil },
			close: func(ctx context.Context, _ string) error {
				_, closed = e.Add(ctx, pageRequest("http://a.test/"))
				return nil
			},
		}
		var started error
		e = enginetest.NewEngine(newEverywhere(time.Minute), enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithMiddlewares(part),
			tegenaria.EngineWithEvents(tegenaria.Events{Started: func(tegenaria.SpiderInterface) {
				_, started = e.Add(t.Context(), pageRequest("http://a.test/2"))
			}}))
		added, err := e.Add(t.Context(), pageRequest("http://a.test/"))
		wantRefused(t, added, err, "not running")
		done := make(chan error, 1)
		go func() { done <- e.Run(t.Context(), "test") }()
		synctest.Wait()
		wantRefused(t, false, opened, "not running")
		if started != nil {
			t.Errorf("in the event Started: %v", started)
		}
		go e.Stop(context.Background())
		synctest.Wait()
		added, err = e.Add(t.Context(), pageRequest("http://a.test/3"))
		wantRefused(t, added, err, "stopping")
		<-done
		wantRefused(t, false, closed, "stopping")
		added, err = e.Add(t.Context(), pageRequest("http://a.test/4"))
		if no := wantRefused(t, added, err, "ended"); no.URL != "http://a.test/4" || no.Remedy == "" {
			t.Errorf("%+v", no)
		}
	})
}

// Many goroutines add requests while the crawl runs, pauses, is stopped or comes to its end. Each request is refused with
// an error and never downloaded, or accepted: then it is downloaded exactly once, unless the crawl is stopped before.
// It fails if the crawl can end between the look whether it has and the counting of the request.
func TestAddFromManyGoroutines(t *testing.T) {
	const senders = 10
	each := 1000
	if israce.Enabled || testing.Short() {
		each = 50
	}
	for _, how := range []string{"runs", "pauses", "is stopped", "ends"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newEverywhere(time.Millisecond)
				opts := []tegenaria.EngineOption{tegenaria.EngineWithConcurrency(64), tegenaria.EngineWithLimits(tegenaria.Limits{Pending: 50}),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 64})}
				if how == "runs" || how == "pauses" {
					opts = append(opts, tegenaria.EngineWithKeepAlive())
				}
				e := enginetest.NewEngine(d, enginetest.NewSpider("http://a.test/"), opts...)
				done := make(chan error, 1)
				go func() { done <- e.Run(t.Context(), "test") }()
				synctest.Wait()
				var accepted, known, refused sync.Map // by URL
				var news, olds atomic.Int64
				var adding sync.WaitGroup
				for g := range senders {
					adding.Go(func() {
						for i := range each {
							url := fmt.Sprintf("http://h%d.test/%d", i%7, (g*each+i)*9/10) // a tenth comes twice
							added, err := e.Add(t.Context(), pageRequest(url))
							switch {
							case err != nil:
								refused.Store(url, err)
							case added:
								if _, twice := accepted.LoadOrStore(url, true); twice {
									t.Errorf("%s was new twice", url)
								}
								news.Add(1)
							default:
								known.Store(url, true)
								olds.Add(1)
							}
							if how == "ends" && i%5 == g%5 { // the crawl has nothing left to do meanwhile, or nearly so
								enginetest.Sleep(time.Millisecond)
							}
						}
					})
				}
				switch how {
				case "pauses":
					for range 20 {
						enginetest.Sleep(time.Millisecond)
						e.Pause()
						enginetest.Sleep(time.Millisecond)
						e.Resume()
					}
				case "is stopped":
					enginetest.Sleep(3 * time.Millisecond)
					e.Stop(t.Context())
				}
				adding.Wait()
				if how == "runs" || how == "pauses" {
					for !e.Idle() || e.Stats().Pending > 0 {
						enginetest.Sleep(time.Millisecond)
					}
					e.Stop(t.Context())
				}
				err := <-done
				s := e.Stats()
				enginetest.CheckLedger(t, e)
				missing := 0
				accepted.Range(func(url, _ any) bool {
					if n := d.count(url.(string)); n > 1 {
						t.Errorf("%s was downloaded %d times", url, n)
					} else if n == 0 {
						missing++
					}
					return true
				})
				refused.Range(func(url, err any) bool {
					_, isNew := accepted.Load(url)
					if n := d.count(url.(string)); n > 0 && !isNew {
						t.Errorf("%s was refused (%v), and downloaded %d times", url, err, n)
					}
					return true
				})
				known.Range(func(url, _ any) bool {
					if _, ok := accepted.Load(url); !ok {
						t.Errorf("%s was known, and nobody has added it", url)
					}
					return true
				})
				if got, want := s.Discovered, 1+news.Load()+olds.Load(); got != want {
					t.Errorf("%d discovered, want %d", got, want)
				}
				if got := s.Outcomes[tegenaria.Duplicate]; got != olds.Load() {
					t.Errorf("%d duplicates, want %d", got, olds.Load())
				}
				if int64(missing) != s.Pending {
					t.Errorf("%d were not downloaded, and %d wait", missing, s.Pending)
				}
				if how == "is stopped" {
					enginetest.WantStopped(t, err, "stopped")
					if s.Pending == 0 || news.Load() == 0 {
						t.Errorf("%d wait, %d were accepted: the test shows nothing", s.Pending, news.Load())
					}
				} else if err != nil || s.Pending != 0 {
					t.Errorf("Run returned %v, %d wait", err, s.Pending)
				}
			})
		})
	}
}

// The end of a crawl and an Add at the same moment: either the request is crawled, or Add returns an error.
func TestAddAtTheEnd(t *testing.T) {
	var took, lost int
	for range 50 {
		d := newEverywhere(0)
		var e *tegenaria.SpiderEngine
		result := make(chan error, 1)
		e = enginetest.NewEngine(d, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithEvents(tegenaria.Events{
			RequestSettled: func(r *tegenaria.Request, _ tegenaria.Outcome, _ string) {
				if r.Url == "http://a.test/" {
					go func() { _, err := e.Add(context.Background(), pageRequest("http://a.test/last")); result <- err }()
				}
			},
		}))
		enginetest.MustRun(t, e)
		err, downloads := <-result, d.count("http://a.test/last")
		if (err == nil) != (downloads == 1) {
			t.Fatalf("Add returned %v, and there were %d downloads", err, downloads)
		}
		if err == nil {
			took++
		} else {
			lost++
		}
	}
	t.Logf("%d were added, %d refused", took, lost)
}

// An added request never makes a loopback address accessible. A start request does, and then an added one may ask it.
func TestAddOpensNoLoopback(t *testing.T) {
	url, log := enginetest.Serve(t, map[string]string{"/": "hello", "/added": "hello"})
	for _, seeded := range []bool{false, true} {
		t.Run(fmt.Sprintf("named by a start request: %t", seeded), func(t *testing.T) {
			before := len(log())
			settled := make(chan tegenaria.Outcome, 2)
			started := make(chan struct{})
			spider := enginetest.NewSpider()
			if seeded {
				spider = enginetest.NewSpider(url + "/")
			}
			e := enginetest.NewEngine(nil, spider, tegenaria.EngineWithKeepAlive(), tegenaria.EngineWithEvents(tegenaria.Events{
				Started: func(tegenaria.SpiderInterface) { close(started) },
				RequestSettled: func(r *tegenaria.Request, o tegenaria.Outcome, _ string) {
					if r.Url == url+"/added" {
						settled <- o
					}
				},
			}))
			done := make(chan error, 1)
			go func() { done <- e.Run(t.Context(), "test") }()
			<-started
			if added, err := e.Add(t.Context(), pageRequest(url+"/added")); !added || err != nil {
				t.Errorf("Add returned %t, %v", added, err)
			}
			want, asked := tegenaria.Failed, 0
			if seeded {
				want, asked = tegenaria.Fetched, 2
			}
			if got := <-settled; got != want {
				t.Errorf("it ended as %s, want %s", got, want)
			}
			e.Stop(t.Context())
			<-done
			if got := len(log()) - before; got != asked {
				t.Errorf("the server was asked %d times, want %d", got, asked)
			}
			if _, private := errors.AsType[*tegenaria.PrivateAddressError](errors.Join(errorsOf(spider)...)); private == seeded {
				t.Errorf("the errors are %v", spider.Errors())
			}
		})
	}
}

// errorsOf returns the errors of a spider as such.
func errorsOf(s *enginetest.Spider) (errs []error) {
	for _, err := range s.Errors() {
		errs = append(errs, err)
	}
	return errs
}

// Add waits while Limits.Pending requests wait, until there is room or its context ends. A callback does not wait: the
// crawl may be waiting for it.
func TestAddWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newEverywhere(time.Second)
		var e *tegenaria.SpiderEngine
		spider := enginetest.NewSpider("http://a.test/")
		inside := make(chan error, 1)
		spider.Parse = tegenaria.Handle(func(ctx context.Context, r *tegenaria.Response, _ *tegenaria.Output[any]) error {
			if r.URL != "http://a.test/" {
				return nil
			}
			e.Pause()
			for i := range 10 {
				ctx, cancel := context.WithTimeout(ctx, time.Minute)
				added, err := e.Add(ctx, pageRequest(fmt.Sprint("http://a.test/callback/", i)))
				cancel()
				if !added || err != nil {
					t.Errorf("Add in a callback returned %t, %v", added, err)
				}
			}
			inside <- nil
			return nil
		})
		e = enginetest.NewEngine(d, spider, tegenaria.EngineWithLimits(tegenaria.Limits{Pending: 3}), tegenaria.EngineWithSchedulerNum(1))
		done := make(chan error, 1)
		go func() { done <- e.Run(t.Context(), "test") }()
		<-inside
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errors.New("enough"))
		defer cancel()
		began := time.Now()
		added, err := e.Add(ctx, pageRequest("http://a.test/late"))
		no := wantRefused(t, added, err, "cancelled")
		if took := time.Since(began); took != time.Hour || no.Err.Error() != "enough" {
			t.Errorf("it took %s, and the cause is %v", took, no.Err)
		}
		waiting := make(chan error, 2)
		for i := range 2 {
			go func() {
				_, err := e.Add(t.Context(), pageRequest(fmt.Sprint("http://a.test/waits/", i)))
				waiting <- err
			}()
		}
		synctest.Wait()
		if s := e.Stats(); s.Pending != 10 {
			t.Errorf("%d wait, want 10", s.Pending)
		}
		e.Resume()
		for range 2 {
			if err := <-waiting; err != nil {
				t.Errorf("Add: %v", err)
			}
		}
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if s := e.Stats(); s.Outcomes[tegenaria.Fetched] != 13 {
			t.Errorf("%v, want 13 pages", s.Outcomes)
		}
	})
}

// A stop wakes an Add that waits for room.
func TestStopWakesAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.NewEngine(newEverywhere(time.Hour), enginetest.NewSpider("http://a.test/"),
			tegenaria.EngineWithLimits(tegenaria.Limits{Pending: 1}), tegenaria.EngineWithConcurrency(1))
		done := make(chan error, 1)
		go func() { done <- e.Run(t.Context(), "test") }()
		synctest.Wait()
		if added, err := e.Add(t.Context(), pageRequest("http://a.test/1")); !added || err != nil {
			t.Errorf("Add returned %t, %v", added, err)
		}
		result := make(chan error, 1)
		go func() { _, err := e.Add(t.Context(), pageRequest("http://a.test/2")); result <- err }()
		synctest.Wait()
		go e.Stop(context.Background())
		wantRefused(t, false, <-result, "stopping")
		<-done
	})
}

// A full queue refuses what is added, and the crawl goes on.
func TestAddToFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.NewEngine(newEverywhere(time.Second), enginetest.NewSpider("http://a.test/"),
			tegenaria.EngineWithLimits(tegenaria.Limits{QueueBytes: 4000}), tegenaria.EngineWithConcurrency(1))
		done := make(chan error, 1)
		go func() { done <- e.Run(t.Context(), "test") }()
		synctest.Wait()
		accepted := int64(1)
		for i := 0; ; i++ {
			added, err := e.Add(t.Context(), pageRequest(fmt.Sprint("http://a.test/", i)))
			if err != nil {
				if no := wantRefused(t, added, err, "queue full"); !enginetest.IsA[*tegenaria.QueueFullError](no) {
					t.Errorf("the cause is %v", no.Err)
				}
				break
			}
			accepted++
		}
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if s := e.Stats(); s.Outcomes[tegenaria.Fetched] != accepted || s.Discovered != accepted {
			t.Errorf("%d discovered, %v, want %d pages", s.Discovered, s.Outcomes, accepted)
		}
	})
}

// A crawl that is kept alive waits for requests as long as it is let, and ends without an error if all that came is done.
func TestKeepAlive(t *testing.T) {
	tests := []struct {
		name   string
		seeds  []string
		adds   int
		opts   []tegenaria.EngineOption
		end    func(e *tegenaria.SpiderEngine, cancel context.CancelFunc)
		reason string
		err    string // part of Run's error; "" for none
	}{
		{name: "stopped", seeds: []string{"http://a.test/"}, adds: 3, reason: "stopped"},
		{name: "nothing was requested", reason: "stopped"},
		{name: "cancelled", adds: 1, reason: "cancelled",
			end: func(_ *tegenaria.SpiderEngine, cancel context.CancelFunc) { cancel() }},
		{name: "a limit of time", adds: 1, reason: "limit: time", opts: []tegenaria.EngineOption{tegenaria.EngineWithLimits(tegenaria.Limits{Time: 5 * time.Hour})},
			end: func(*tegenaria.SpiderEngine, context.CancelFunc) {}},
		{name: "a limit of pages", adds: 2, reason: "limit: pages",
			opts: []tegenaria.EngineOption{tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 2})},
			end:  func(*tegenaria.SpiderEngine, context.CancelFunc) {}},
		{name: "no page", seeds: []string{"http://none.test/"}, reason: "stopped", err: "got no page",
			opts: []tegenaria.EngineOption{tegenaria.EngineWithAllowedDomains("a.test")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newEverywhere(time.Second)
				e := tegenaria.NewSpiderEngine(append(tt.opts, tegenaria.EngineWithSpiders(enginetest.NewSpider(tt.seeds...)), tegenaria.EngineWithKeepAlive(),
					tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithDownloader(d),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))...)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error, 1)
				go func() { done <- e.Run(ctx, "test") }()
				for i := range tt.adds {
					enginetest.Sleep(time.Hour)
					if !e.Idle() {
						t.Error("it is not idle")
					}
					if added, err := e.Add(t.Context(), pageRequest(fmt.Sprint("http://a.test/", i))); !added || err != nil {
						t.Errorf("Add returned %t, %v", added, err)
					}
				}
				enginetest.Sleep(time.Hour)
				if tt.end == nil {
					select {
					case err := <-done:
						t.Fatalf("it has ended: %v", err)
					default:
					}
					if err := e.Stop(t.Context()); err != nil {
						t.Errorf("Stop: %v", err)
					}
				} else {
					tt.end(e, cancel)
				}
				err := <-done
				if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Errorf("Run returned %v, want %q", err, tt.err)
				}
				if got := e.Summary().Reason; got != tt.reason {
					t.Errorf("the reason is %q, want %q", got, tt.reason)
				}
			})
		})
	}
}

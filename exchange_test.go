package tegenaria_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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

// stuckWriter blocks in its first Write until it is let go, and finds out whether two write at once.
type stuckWriter struct {
	release chan struct{}
	inside  atomic.Int32
	once    sync.Once
	mu      sync.Mutex // guards the fields below
	got     strings.Builder
	twice   bool
}

func newStuckWriter() *stuckWriter { return &stuckWriter{release: make(chan struct{})} }

func (w *stuckWriter) Write(p []byte) (int, error) {
	if w.inside.Add(1) > 1 {
		w.mu.Lock()
		w.twice = true
		w.mu.Unlock()
	}
	defer w.inside.Add(-1)
	w.once.Do(func() { <-w.release })
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.got.Write(p)
}

type cannedAnswer func(r *http.Request) (*http.Response, error)

func (f cannedAnswer) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answers makes a client that answers every request with its path, at once.
func answers() *http.Client {
	return &http.Client{Transport: cannedAnswer(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(r.URL.Path)), ContentLength: int64(len(r.URL.Path)), Request: r}, nil
	})}
}

// writingDownloader is somebody's Downloader that obeys no context.
type writingDownloader struct{}

func (writingDownloader) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	_, err := io.WriteString(ctx.Request.ResponseWriter, strings.TrimPrefix(ctx.Request.Url, "http://a.test"))
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, nil, nil)}
	if err != nil {
		ctx.DownloadResult.Error = tegenaria.NewError(ctx.CtxId, err)
	}
	result <- ctx
}

func (writingDownloader) CheckStatus(status uint64, _ []uint64) bool { return status < 400 }

// A ResponseWriter that does not return costs its request alone, at the request's timeout or at Limits.Callback; it is
// counted and told like any callback that is left behind, and nobody else writes to it while it has not returned.
func TestStuckResponseWriter(t *testing.T) {
	timeout := func(err error) bool {
		var late *tegenaria.TimeoutError
		return errors.As(err, &late) && late.Limit == time.Minute && late.Phase == tegenaria.PhaseAll
	}
	callback := func(err error) bool {
		var late *tegenaria.CallbackTimeoutError
		return errors.As(err, &late) && late.Limit == 5*time.Second && late.Stage == tegenaria.StageDownload
	}
	own, theirs := tegenaria.EngineWithHTTPClient(answers()), tegenaria.EngineWithDownloader(writingDownloader{})
	for _, tt := range []struct {
		name     string
		engine   tegenaria.EngineOption
		timeout  time.Duration
		callback time.Duration
		is       func(error) bool
		after    time.Duration // to the error, the second chance that the context gives included
	}{
		{"timeout", own, time.Minute, 0, timeout, 62 * time.Second},
		{"callback", own, time.Minute, 5 * time.Second, callback, 7 * time.Second},
		{"callback alone", own, -1, 5 * time.Second, callback, 7 * time.Second},
		{"long callback", own, time.Minute, time.Hour, timeout, 62 * time.Second},
		{"somebody's downloader", theirs, time.Minute, 0, timeout, 62 * time.Second},
	} {
		for _, inline := range []bool{false, true} {
			name := tt.name
			if inline {
				if tt.after < time.Minute {
					continue // the parser that waits in Fetch is over Limits.Callback as well
				}
				name += ", Fetch"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newStuckWriter()
					stuck := func() *tegenaria.Request {
						return tegenaria.NewRequest("http://a.test/stuck", "GET", nil, tegenaria.RequestWithTimeout(tt.timeout), tegenaria.RequestWithResponseWriter(w))
					}
					var mu sync.Mutex // guards the fields below
					var failed, again error
					var after time.Duration
					began := time.Now()
					s := enginetest.NewSpider()
					s.Parse = parserOf(func(ctx *tegenaria.Context) error {
						if ctx.Request.Url != "http://a.test/page" || !inline {
							return nil
						}
						_, err := ctx.Fetch(stuck())
						took := time.Since(began)
						_, second := ctx.Fetch(stuck())
						mu.Lock()
						defer mu.Unlock()
						failed, again, after = err, second, took
						return nil
					})
					s.Start = func(req chan<- *tegenaria.Context) {
						if inline {
							req <- enginetest.Send("http://a.test/page", tegenaria.RequestWithResponseWriter(io.Discard))
							return
						}
						req <- tegenaria.NewContext(stuck())
						enginetest.Sleep(tt.after + time.Second)
						second := stuck()
						tegenaria.RequestWithDoNotFilter(true)(second)
						req <- tegenaria.NewContext(second)
					}
					s.Fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
						mu.Lock()
						defer mu.Unlock()
						if !inline {
							again = err
						}
					}
					told := 0
					e := enginetest.NewEngine(nil, s, tt.engine, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: tt.callback, Attempts: 2}),
						tegenaria.EngineWithEvents(tegenaria.Events{Abandoned: func(at tegenaria.Stage, r *tegenaria.Request) {
							if at != tegenaria.StageDownload || r.Url != "http://a.test/stuck" || r.ResponseWriter != io.Writer(w) {
								t.Errorf("abandoned: %s of %+v", at, r)
							}
							if told++; !inline {
								after = time.Since(began)
							}
						}, Error: func(err *tegenaria.HandleError) {
							mu.Lock()
							defer mu.Unlock()
							if !inline && failed == nil {
								failed = err // the second one fails later
							}
						}}))
					err := enginetest.Run(t, e)
					var abandoned *tegenaria.AbandonedError
					if !errors.As(err, &abandoned) || abandoned.Stages[tegenaria.StageDownload] != 1 || told != 1 {
						t.Errorf("Run: %v; told %d times", err, told)
					}
					if failed == nil || !tt.is(failed) || after != tt.after {
						t.Errorf("after %s: %v", after, failed)
					}
					var busy *tegenaria.WriterBusyError
					if !errors.As(again, &busy) || busy.URL != "http://a.test/stuck" {
						t.Errorf("the second request with it: %v", again)
					}
					close(w.release)
					enginetest.Sleep(time.Minute)
					w.mu.Lock()
					defer w.mu.Unlock()
					if w.twice || w.got.String() != "/stuck" {
						t.Errorf("it got %q; two at once: %v", w.got.String(), w.twice)
					}
				})
			})
		}
	}
}

// A Downloader that sends more results than it may hangs nothing of the engine; the first result counts where it
// is not Download itself that blocks.
func TestThirdResult(t *testing.T) {
	for _, tt := range []struct {
		name    string
		timeout time.Duration
	}{{"timeout", 20 * time.Second}, {"no timeout", -1}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				returned := false
				d := downloadFunc(func(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
					answerTo(ctx)
					for range 10 {
						result <- ctx
					}
					returned = true
				})
				s := enginetest.NewSpider()
				s.Start = func(req chan<- *tegenaria.Context) {
					req <- enginetest.Send("http://a.test/", tegenaria.RequestWithTimeout(tt.timeout))
				}
				s.Parse = enginetest.Nothing
				e := enginetest.NewEngine(d, s, tegenaria.EngineWithGrace(4*time.Second), tegenaria.EngineWithLimits(tegenaria.Limits{Time: 30 * time.Second}))
				began := time.Now()
				err := enginetest.Run(t, e)
				var abandoned *tegenaria.AbandonedError
				if tt.timeout > 0 && (!errors.As(err, &abandoned) || abandoned.Stages[tegenaria.StageDownload] != 1) {
					t.Errorf("Run returned %v", err)
				}
				if took := time.Since(began); took > 40*time.Second {
					t.Errorf("it took %s", took)
				}
				synctest.Wait() // a goroutine that is left fails the bubble
				if !returned {
					t.Error("Download is blocked")
				}
			})
		})
	}
}

// A negative status is the failure of its request, wherever it comes from.
func TestNegativeStatus(t *testing.T) {
	for _, from := range []string{"Downloader", "ProcessRequest", "ProcessResponse", "Fetch", "robots.txt"} {
		t.Run(from, func(t *testing.T) {
			bad := func(ctx *tegenaria.Context) (*tegenaria.Response, error) { return &tegenaria.Response{Status: -7}, nil }
			w := onePage().Page("http://a.test/x", bad).Page("http://a.test/robots.txt", enginetest.Status(404))
			s := enginetest.NewSpider("http://a.test/")
			m := &enginetest.Hooks{}
			parsed := 0
			s.Parse = parserOf(func(*tegenaria.Context) error { parsed++; return nil })
			want, stage := 0, tegenaria.StageStatus
			switch from {
			case "Downloader":
				w.Page("http://a.test/", bad)
			case "ProcessRequest":
				m.Request = func(ctx *tegenaria.Context) error {
					ctx.DownloadResult = &tegenaria.RequestResult{Response: &tegenaria.Response{Status: -7}}
					return nil
				}
			case "ProcessResponse":
				m.Response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
					ctx.Response().Status = -7
					return nil
				}
			case "Fetch":
				want, stage = 1, tegenaria.StageParse
				s.Parse = parserOf(func(ctx *tegenaria.Context) error { parsed++; _, err := get(ctx, "http://a.test/x"); return err })
			case "robots.txt":
				stage = tegenaria.StageRobots
				w.Page("http://a.test/robots.txt", bad)
			}
			enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithPoliteness(tegenaria.Politeness{})))
			var unexpected *tegenaria.UnexpectedStatusError
			herr := s.OnlyError(t)
			if !errors.As(herr, &unexpected) || unexpected.Status != -7 || herr.Stage != stage || !strings.Contains(herr.Error(), "status -7") {
				t.Errorf("ErrorHandler got %v (stage %s)", herr, herr.Stage)
			}
			if parsed != want {
				t.Errorf("parsed %d pages", parsed)
			}
		})
	}
}

// A middleware may take a response's Header or Buffer away, or put another one in its place: whoever comes next
// finds a complete one.
func TestResponseOfAMiddlewareIsCompleted(t *testing.T) {
	for name, spoil := range map[string]func(ctx *tegenaria.Context){
		"nil Header":       func(ctx *tegenaria.Context) { ctx.Response().Header = nil },
		"nil Buffer":       func(ctx *tegenaria.Context) { ctx.Response().Buffer = nil },
		"another Response": func(ctx *tegenaria.Context) { ctx.DownloadResult.Response = &tegenaria.Response{Status: 200} },
		"another result": func(ctx *tegenaria.Context) {
			ctx.DownloadResult = &tegenaria.RequestResult{Response: &tegenaria.Response{Status: 200}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := 0
			look := func(ctx *tegenaria.Context) error {
				seen++
				resp := ctx.Response()
				resp.Header["X"] = []string{"y"}
				if resp.Buffer == nil || resp.URL != "http://a.test/" || resp.Request() != ctx.Request || resp.Context() != ctx {
					t.Errorf("incomplete: %+v", resp)
				}
				resp.Buffer.WriteString("z")
				return nil
			}
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = parserOf(look)
			// The response passes them from right to left.
			enginetest.MustRun(t, enginetest.NewEngine(onePage(), s, tegenaria.EngineWithMiddlewares(
				&enginetest.Hooks{Priority: 1, Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { spoil(ctx); return nil }},
				&enginetest.Hooks{Priority: 2, Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { return look(ctx) }},
				&enginetest.Hooks{Priority: 3, Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { spoil(ctx); return nil }})))
			if seen != 2 || len(s.Errors()) != 0 {
				t.Errorf("seen %d times, errors %v", seen, s.Errors())
			}
		})
	}
}

// A server that switches protocols unasked, and then keeps the connection, costs one request and no time. Its
// body would be the bare connection, which no timeout ends.
//
// It fails if exchange.run takes every status for a response: then the run never ends.
func TestUnexpectedStatus(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const upgrade = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n"
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					if r.URL.Path == "/good" {
						io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
						continue
					}
					io.WriteString(conn, upgrade)
					io.Copy(io.Discard, in) // until the other side has had enough
					return
				}
			})
		}
	})
	defer conns.Wait()
	defer listener.Close()
	base := "http://" + listener.Addr().String()
	s := enginetest.NewSpider(base+"/", base+"/good")
	s.Parse = enginetest.Nothing
	stats := enginetest.MustRun(t, enginetest.NewEngine(nil, s))
	var unexpected *tegenaria.UnexpectedStatusError
	herr := s.OnlyError(t)
	if !errors.As(herr, &unexpected) || unexpected.Status != 101 || unexpected.URL != base+"/" || herr.Stage != tegenaria.StageDownload || herr.Response != nil {
		t.Errorf("ErrorHandler got %+v", herr)
	}
	if !strings.Contains(herr.Error(), "101") || !strings.Contains(herr.Error(), base) {
		t.Errorf("the error says %q", herr)
	}
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Fetched: 1})
}

// seeingAll is a middleware that sees all requests and errors, notes both, and sends a request for each response.
type seeingAll struct {
	trace
	enginetest.Hooks
}

func (*seeingAll) SeesInternal() bool { return true }

func (m *seeingAll) ProcessError(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
	m.add("error of %s", ctx.Request.Url)
	return err
}

// What differs between a request of the queue, of Fetch and for a robots.txt stands in the table at exchange. It fails
// if one of them takes another row.
func TestThreeKindsOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().
			Page("http://a.test/robots.txt", enginetest.Redirect(301, "http://b.test/rules")).
			Page("http://b.test/rules", enginetest.Text("User-agent: *\nAllow: /")).
			Page("http://a.test/", enginetest.Redirect(301, "/page")).Page("http://a.test/page", enginetest.Text("x")).
			Page("http://a.test/fetch", enginetest.Redirect(301, "/fetched")).Page("http://a.test/fetched", enginetest.Text("x")).
			Page("http://a.test/broken", enginetest.Status(500)).
			Page("http://a.test/sent?by=page", enginetest.Text("x")).Page("http://a.test/sent?by=fetched", enginetest.Text("x"))
		m := &seeingAll{}
		m.Request = func(ctx *tegenaria.Context) error { m.add("request %s", ctx.Request.Url); return nil }
		m.Response = func(ctx *tegenaria.Context, req chan<- *tegenaria.Context) error {
			if path := strings.TrimPrefix(ctx.Request.Url, "http://a.test/"); path == "robots.txt" || path == "page" || path == "fetched" {
				req <- enginetest.Send("http://a.test/sent?by="+path, tegenaria.RequestWithPriority(-1))
			}
			return nil
		}
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = parserOf(func(ctx *tegenaria.Context) error {
			if ctx.Request.Url == "http://a.test/page" {
				if _, err := get(ctx, "http://a.test/fetch"); err != nil {
					t.Error(err)
				}
				_, _ = get(ctx, "http://a.test/broken")
			}
			return nil
		})
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{MaxPages: 7})))
		slices.Sort(m.list) // the pages that are sent are fetched while the parser waits
		m.want(t, "error of http://a.test/broken",
			"request http://a.test/", "request http://a.test/broken", "request http://a.test/fetch",
			"request http://a.test/fetched", "request http://a.test/page", "request http://a.test/robots.txt",
			"request http://a.test/sent?by=fetched", "request http://a.test/sent?by=page", "request http://b.test/rules")
		if stats.RequestDownloaded != 7 || stats.RobotsRequests != 1 || stats.Outcomes[tegenaria.Redirected] != 2 {
			t.Errorf("%d downloads, %d for robots.txt, %v", stats.RequestDownloaded, stats.RobotsRequests, stats.Outcomes)
		}
	})
}

// Downloads ran one after the other, however many downloaders there were. Fails if runRequests makes the fetch
// stage a FIFO, or if a downloader serves one request at a time.
func TestDownloadsRunAtOnce(t *testing.T) {
	for _, downloaders := range []int{1, 8} {
		t.Run(fmt.Sprint(downloaders), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld()
				var refs []string
				for i := range 20 {
					refs = append(refs, fmt.Sprintf("/%d", i))
					w.Page("http://a.test"+refs[i], enginetest.After(100*time.Millisecond, enginetest.Page()))
				}
				w.Page("http://a.test/", enginetest.After(100*time.Millisecond, enginetest.Page(refs...)))
				s := enginetest.NewSpider()
				s.Start = func(req chan<- *tegenaria.Context) {
					req <- enginetest.Send("http://a.test/", tegenaria.RequestWithDownloader("d"))
				}
				s.Parse = func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
					for _, ref := range refs {
						req <- enginetest.Send("http://a.test"+ref, tegenaria.RequestWithDownloader("d"))
					}
					return nil
				}
				e := enginetest.NewEngine(w, s)
				for range downloaders {
					e.RegisterDownloader("d", w)
				}
				began := time.Now()
				enginetest.MustRun(t, e)
				// 1 page, then 20 pages, 8 at once as PerSlot says.
				if took := time.Since(began); took != 400*time.Millisecond || w.Peak != 8 {
					t.Errorf("21 pages of 100 ms took %s, %d at once", took, w.Peak)
				}
				used := 0
				for _, d := range e.Summary().Downloaders[1:] {
					if d.Called > 0 {
						used++
					}
				}
				if used != downloaders {
					t.Errorf("%d of %d downloaders were used", used, downloaders)
				}
			})
		})
	}
}

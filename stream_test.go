package tegenaria_test

import (
	"errors"
	"io"
	"net/http"
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
	mu      sync.Mutex // guards what follows
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
					var mu sync.Mutex // guards what follows
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
						} else {
							req <- tegenaria.NewContext(stuck())
						}
					}
					s.Fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
						mu.Lock()
						defer mu.Unlock()
						switch {
						case inline:
						case failed == nil:
							failed, after = err, time.Since(began)
							req <- tegenaria.NewContext(stuck())
						default:
							again = err
						}
					}
					told := 0
					e := enginetest.NewEngine(nil, s, tt.engine, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: tt.callback, Attempts: 2}),
						tegenaria.EngineWithEvents(tegenaria.Events{Abandoned: func(at tegenaria.Stage, r *tegenaria.Request) {
							if at != tegenaria.StageDownload || r.Url != "http://a.test/stuck" || r.ResponseWriter != io.Writer(w) {
								t.Errorf("abandoned: %s of %+v", at, r)
							}
							told++
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

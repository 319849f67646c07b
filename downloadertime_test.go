package tegenaria

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
)

// pipeServer serves in memory, so that a whole exchange takes place in the virtual time of a synctest bubble.
type pipeServer struct {
	conns  chan net.Conn
	server http.Server
	client *http.Client
}

func newPipeServer(t *testing.T, h http.HandlerFunc) *pipeServer {
	p := &pipeServer{conns: make(chan net.Conn), server: http.Server{Handler: h}}
	p.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case p.conns <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.server.Serve(p)
	}()
	t.Cleanup(func() {
		p.client.CloseIdleConnections()
		p.server.Close()
		<-done
	})
	return p
}

func (p *pipeServer) Accept() (net.Conn, error) {
	conn, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (p *pipeServer) Close() error   { close(p.conns); return nil }
func (p *pipeServer) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipeServer) downloader(change func(s *downloadSettings)) *httpDownloader {
	s := downloadSettings{limits: Limits{}.withDefaults(), agent: "test", concurrency: 4, client: p.client}
	if change != nil {
		change(&s)
	}
	return newHTTPDownloader(s)
}

// trickle sends a byte each second, for a day.
func trickle(w http.ResponseWriter, r *http.Request) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for range 24 * 3600 {
		if _, err := w.Write([]byte{'x'}); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-second.C:
		case <-r.Context().Done():
		}
	}
}

func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// T06: the timeout spans the body as well as the header. A timeout of the header alone makes it fail.
func TestT06TimeoutSpansTheBody(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
		opts    []RequestOption
		want    time.Duration
	}{
		{"no header", hang, []RequestOption{RequestWithTimeout(3500 * time.Millisecond)}, 3500 * time.Millisecond},
		{"slow body", trickle, []RequestOption{RequestWithTimeout(3500 * time.Millisecond)}, 3500 * time.Millisecond},
		{"default", trickle, nil, DefaultTimeout},
		{"writer", trickle, []RequestOption{RequestWithTimeout(5500 * time.Millisecond), RequestWithResponseWriter(io.Discard)}, 5500 * time.Millisecond},
		{"spool", trickle, []RequestOption{RequestWithTimeout(5500 * time.Millisecond), RequestWithSpool()}, 5500 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newPipeServer(t, test.handler).downloader(nil)
				r := NewRequest("http://u:s3cret@slow.example/", GET, nil, test.opts...)
				start := time.Now()
				result := download(d, r)
				if took := time.Since(start); took != test.want {
					t.Errorf("took %s, want %s", took, test.want)
				}
				err := wantError[*TimeoutError](t, result, r)
				if err.Limit != test.want || !err.Timeout() || result.Response != nil {
					t.Errorf("error %+v, response %v", err, result.Response)
				}
				if strings.Contains(result.Error.Error(), "s3cret") {
					t.Errorf("the message tells a secret: %v", result.Error)
				}
			})
		})
	}
}

func TestNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newPipeServer(t, func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(24 * time.Hour):
			case <-r.Context().Done():
			}
			io.WriteString(w, "at last")
		}).downloader(nil)
		resp := mustDownload(t, d, NewRequest("http://slow.example/", GET, nil, RequestWithTimeout(-1)))
		if resp.String() != "at last" || resp.Delay != (24*time.Hour).Seconds() {
			t.Errorf("%q after %v s", resp, resp.Delay)
		}
	})
}

// The time that a body waits for the budget is not the server's: the clock stands still.
func TestWaitingForTheBudgetIsNotTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipeServer(t, func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(2 * time.Second):
			case <-r.Context().Done():
			}
			w.Write(make([]byte, 40_000))
			w.(http.Flusher).Flush()
			if strings.HasSuffix(r.URL.Path, "hangs") {
				hang(w, r)
			}
		})
		budget := fetch.NewBudget(1<<20, nil)
		var over, full fetch.Hold
		for _, h := range []*fetch.Hold{&full, &over} {
			if err := budget.Grow(t.Context(), h, 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		d := p.downloader(func(s *downloadSettings) { s.bodies = budget })
		get := func(path string) (result *RequestResult, took time.Duration) {
			start := time.Now()
			ctx := NewContext(NewRequest("http://x.example/"+path, GET, nil, RequestWithTimeout(5*time.Second)))
			ctx.job = &job{ctx: ctx}
			out := make(chan *Context, 1)
			d.Download(ctx, out)
			return (<-out).DownloadResult, time.Since(start)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if result, took := get("ends"); result.Error != nil || took != time.Hour {
				t.Errorf("after %s: %v", took, result.Error)
			}
		})
		wg.Go(func() {
			result, took := get("hangs")
			var timeout *TimeoutError
			if !errors.As(result.Error, &timeout) || took != time.Hour+3*time.Second {
				t.Errorf("after %s: %v", took, result.Error)
			}
		})
		time.AfterFunc(time.Hour, func() {
			budget.Release(&full)
			budget.Release(&over)
		})
		wg.Wait()
	})
}

// A request that is given up while it waits for the budget ends at once and gives back what it held.
func TestCancelledWhileWaitingForTheBudget(t *testing.T) {
	for _, announced := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipeServer(t, func(w http.ResponseWriter, r *http.Request) {
				if announced {
					w.Header().Set("Content-Length", "40000")
				}
				w.Write(make([]byte, 40_000))
			})
			budget := fetch.NewBudget(100, nil)
			var over fetch.Hold
			if err := budget.Grow(t.Context(), &over, 101); err != nil {
				t.Fatal(err)
			}
			d := p.downloader(func(s *downloadSettings) { s.bodies = budget })
			ctx, cancel := context.WithCancelCause(t.Context())
			stopped := errors.New("stopped")
			time.AfterFunc(time.Hour, func() { cancel(stopped) })
			start := time.Now()
			x := NewContext(NewRequest("http://x.example/", GET, nil), WithContext(ctx))
			x.job = &job{ctx: x}
			out := make(chan *Context, 1)
			d.Download(x, out)
			if result := (<-out).DownloadResult; !errors.Is(result.Error, stopped) || result.Response != nil || time.Since(start) != time.Hour {
				t.Errorf("announced %v: %v after %s", announced, result.Error, time.Since(start))
			}
			if held := budget.Held(&x.job.hold); held != 0 || budget.Used() != 101 {
				t.Errorf("announced %v: holds %d bytes of %d", announced, held, budget.Used())
			}
		})
	}
}

// A body is kept in memory of its own size, whatever the server said about it.
func TestReadBody(t *testing.T) {
	sizes := []int{0, 1, 511, 512, scratchSize - 1, scratchSize, scratchSize + 1, 3 * scratchSize, trusted - 1, trusted, trusted + 1, 3*trusted + 7}
	for _, size := range sizes {
		page := make([]byte, size)
		for i := range page {
			page[i] = byte(i * 7 / 3)
		}
		for _, announced := range []bool{true, false} {
			for _, tight := range []bool{true, false} {
				name := fmt.Sprintf("%d announced %v tight %v", size, announced, tight)
				var budgeted fetch.Hold
				limits := Limits{}.withDefaults()
				if tight {
					limits.Body = int64(max(size, 1))
				}
				d := newHTTPDownloader(downloadSettings{limits: limits, bodies: fetch.NewBudget(1<<30, nil)})
				x := &exchange{down: d, ctx: &Context{}, r: NewRequest("http://x.example/", GET, nil), hold: &budgeted, most: limits.Body, content: bytes.NewReader(page)}
				x.life = t.Context()
				want := int64(-1)
				if announced {
					want = int64(size)
				}
				body, err := x.readBody(want)
				if err != nil || !bytes.Equal(body, page) {
					t.Errorf("%s: %d bytes, %v", name, len(body), err)
				}
				if d.bodies.Held(&budgeted) != int64(size) {
					t.Errorf("%s: holds %d bytes", name, d.bodies.Held(&budgeted))
				}
				if spare := cap(body) - len(body); announced && size <= trusted && spare != 0 || spare > size/4+16 {
					t.Errorf("%s: %d bytes to spare", name, spare)
				}
				if size > 0 {
					d.limits.Body = int64(size - 1)
					x = &exchange{down: d, ctx: &Context{}, r: x.r, hold: &budgeted, content: bytes.NewReader(page), life: x.life}
					var large *BodyTooLargeError
					if body, err := x.readBody(want); size > 1 && (!errors.As(err, &large) || body != nil) {
						t.Errorf("%s: over the limit: %d bytes, %v", name, len(body), err)
					}
				}
			}
		}
	}
}

// A Content-Length alone, without a body, takes little memory.
func TestBodyThatNeverComes(t *testing.T) {
	d := newHTTPDownloader(downloadSettings{limits: Limits{}.withDefaults()})
	x := &exchange{down: d, ctx: &Context{}, r: NewRequest("", GET, nil), most: 32 << 20, content: strings.NewReader("x"), life: t.Context()}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	body, err := x.readBody(30 << 20)
	runtime.ReadMemStats(&after)
	if string(body) != "x" || err != nil || cap(body) > 64 {
		t.Errorf("%d bytes, room for %d, %v", len(body), cap(body), err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 2*trusted {
		t.Errorf("took %d bytes", took)
	}
}

func BenchmarkDownload(b *testing.B) {
	page := bytes.Repeat([]byte("x"), 8<<10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(page) }))
	defer server.Close()
	b.Run("net/http", func(b *testing.B) {
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		b.ReportAllocs()
		for b.Loop() {
			resp, err := client.Get(server.URL)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadAll(resp.Body); err != nil {
				b.Fatal(err)
			}
			resp.Body.Close()
		}
	})
	b.Run("downloader", func(b *testing.B) {
		d := newTestDownloader(b, func(s *downloadSettings) {
			s.loopback.allow(server.URL)
			s.bodies = fetch.NewBudget(1<<20, nil)
		})
		b.ReportAllocs()
		for b.Loop() {
			mustDownload(b, d, NewRequest(server.URL, GET, nil))
		}
	})
}

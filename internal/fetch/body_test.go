package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
)

// The timeout spans the body as well as the header. A timeout of the header alone makes it fail.
func TestTimeoutSpansTheBody(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
		opts    []option
		want    time.Duration
	}{
		{"no header", hang, []option{withTimeout(3500 * time.Millisecond)}, 3500 * time.Millisecond},
		{"slow body", trickle, []option{withTimeout(3500 * time.Millisecond)}, 3500 * time.Millisecond},
		{"no limit but the default", trickle, nil, time.Minute},
		{"writer", trickle, []option{withTimeout(5500 * time.Millisecond), withWriter(io.Discard)}, 5500 * time.Millisecond},
		{"spool", trickle, []option{withTimeout(5500 * time.Millisecond), withSpool}, 5500 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newPipeServer(t, test.handler).client(nil)
				r := request("http://u:s3cret@slow.example/", http.MethodGet, test.opts...)
				start := time.Now()
				result := download(d, r)
				if took := time.Since(start); took != test.want {
					t.Errorf("took %s, want %s", took, test.want)
				}
				err := wantError[*TimeoutError](t, result)
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
		}).client(nil)
		resp := mustDownload(t, d, request("http://slow.example/", http.MethodGet, withTimeout(0)))
		if string(resp.Body) != "at last" || resp.Took != 24*time.Hour {
			t.Errorf("%q after %s", resp.Body, resp.Took)
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
		budget := NewBudget(1<<20, nil)
		var over, full Hold
		for _, h := range []*Hold{&full, &over} {
			if err := budget.Grow(t.Context(), h, 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		d := p.client(func(s *Config) { s.Bodies = budget })
		get := func(path string) (result, time.Duration) {
			start := time.Now()
			r := request("http://x.example/"+path, http.MethodGet, withTimeout(5*time.Second))
			r.Hold = new(Hold)
			return download(d, r), time.Since(start)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if result, took := get("ends"); result.Error != nil || took != time.Hour {
				t.Errorf("after %s: %v", took, result.Error)
			}
		})
		wg.Go(func() {
			result, took := get("hangs")
			if _, ok := errors.AsType[*TimeoutError](result.Error); !ok || took != time.Hour+3*time.Second {
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
			budget := NewBudget(100, nil)
			var over Hold
			if err := budget.Grow(t.Context(), &over, 101); err != nil {
				t.Fatal(err)
			}
			d := p.client(func(s *Config) { s.Bodies = budget })
			ctx, cancel := context.WithCancelCause(t.Context())
			stopped := errors.New("stopped")
			time.AfterFunc(time.Hour, func() { cancel(stopped) })
			start := time.Now()
			r := request("http://x.example/", http.MethodGet)
			r.Hold = new(Hold)
			if result := downloadIn(ctx, d, r); !errors.Is(result.Error, stopped) || result.Response != nil || time.Since(start) != time.Hour {
				t.Errorf("announced %v: %v after %s", announced, result.Error, time.Since(start))
			}
			if held := budget.Held(r.Hold); held != 0 || budget.Used() != 101 {
				t.Errorf("announced %v: holds %d bytes of %d", announced, held, budget.Used())
			}
		})
	}
}

// bodyOf makes a body of what a reader gives, for the tests that read it without a server.
func bodyOf(t *testing.T, c *Client, hold *Hold, most int64, content io.Reader) *body {
	x := &exchange{client: c, r: Request{URL: "http://x.example/", Hold: hold}, life: t.Context()}
	x.body = body{of: x, most: most, content: content}
	return &x.body
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
				var budgeted Hold
				limits := bounds(Limits{})
				if tight {
					limits.Body = int64(max(size, 1))
				}
				budget := NewBudget(1<<30, nil)
				d := New(Config{Bodies: budget})
				b := bodyOf(t, d, &budgeted, limits.Body, bytes.NewReader(page))
				want := int64(-1)
				if announced {
					want = int64(size)
				}
				body, err := b.readBody(want)
				if err != nil || !bytes.Equal(body, page) {
					t.Errorf("%s: %d bytes, %v", name, len(body), err)
				}
				if budget.Held(&budgeted) != int64(size) {
					t.Errorf("%s: holds %d bytes", name, budget.Held(&budgeted))
				}
				if spare := cap(body) - len(body); announced && size <= trusted && spare != 0 || spare > size/4+16 {
					t.Errorf("%s: %d bytes to spare", name, spare)
				}
				if size > 0 {
					b = bodyOf(t, d, &budgeted, int64(size-1), bytes.NewReader(page))
					var large *BodyTooLargeError
					if body, err := b.readBody(want); size > 1 && (!errors.As(err, &large) || body != nil) {
						t.Errorf("%s: over the limit: %d bytes, %v", name, len(body), err)
					}
				}
			}
		}
	}
}

// A Content-Length alone, without a body, takes little memory.
func TestBodyThatNeverComes(t *testing.T) {
	b := bodyOf(t, New(Config{}), nil, 32<<20, strings.NewReader("x"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	body, err := b.readBody(30 << 20)
	runtime.ReadMemStats(&after)
	if string(body) != "x" || err != nil || cap(body) > 64 {
		t.Errorf("%d bytes, room for %d, %v", len(body), cap(body), err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; deep.Checks() && took > 2*trusted {
		t.Errorf("took %d bytes", took)
	}
}

// A large header counts in the budget like a body until the request's hold is released. It fails if many responses with
// large headers may be in memory at a time.
func TestLargeHeadersCount(t *testing.T) {
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Path[1:])
		w.Header().Set("X-Large", strings.Repeat("a", n))
	})
	budget := NewBudget(1<<30, nil)
	d := newTestClient(t, func(s *Config) { s.Bodies, s.Limits = budget, bounds(Limits{Header: 500 << 10}) }, server)
	for _, test := range []struct {
		size        int
		least, most int64 // bytes of the hold
	}{
		{1_000, 0, 0},
		{300_000, 300_000, 302_000},
		{3_000_000, 0, 0},
	} {
		r := request(fmt.Sprint(server.URL, "/", test.size), http.MethodGet)
		r.Hold = new(Hold)
		result := download(d, r)
		if large := test.size > 500<<10; large != (result.Error != nil) {
			t.Fatalf("%d bytes: %v", test.size, result.Error)
		}
		if held := budget.Held(r.Hold); held < test.least || held > test.most {
			t.Errorf("%d bytes of header: the hold has %d", test.size, held)
		}
		budget.Release(r.Hold)
		if budget.Used() != 0 {
			t.Errorf("%d bytes are left", budget.Used())
		}
	}
}

package middleware_test

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

const someURL = "http://a.example/x"

func status(code int) error { return &tegenaria.StatusError{Status: code, URL: someURL} }

// What is tried again, what is given up and what stays a failure.
func TestRetryDecides(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for _, tt := range []struct {
		name   string
		stage  tegenaria.Stage
		err    error
		method string
		want   string // the reason; "" = it stays a failure
	}{
		{"503", tegenaria.StageStatus, status(503), "", "status 503"},
		{"429", tegenaria.StageStatus, status(429), "", "status 429"},
		{"408", tegenaria.StageStatus, status(408), "", "status 408"},
		{"522", tegenaria.StageStatus, status(522), "", "status 522"},
		{"404", tegenaria.StageStatus, status(404), "", ""},
		{"Retry of somebody else", tegenaria.StageDownload, tegenaria.Retry(time.Hour, dial), "", ""},
		{"403", tegenaria.StageStatus, status(403), "", ""},
		{"POST and 503", tegenaria.StageStatus, status(503), "POST", "status 503"},
		{"POST and 429", tegenaria.StageStatus, status(429), "POST", "status 429"},
		{"POST and 500", tegenaria.StageStatus, status(500), "POST", ""},
		{"PATCH and 504", tegenaria.StageStatus, status(504), "PATCH", ""},
		{"PUT and 500", tegenaria.StageStatus, status(500), "PUT", "status 500"},
		{"HEAD and 500", tegenaria.StageStatus, status(500), "HEAD", "status 500"},
		{"refused", tegenaria.StageDownload, fmt.Errorf("x: %w", dial), "", "connection refused"},
		{"POST refused", tegenaria.StageDownload, dial, "POST", "connection refused"},
		{"no route", tegenaria.StageDownload, &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}, "", "connect"},
		{"no such host", tegenaria.StageDownload, &net.DNSError{Err: "no such host", Name: "a.example", IsNotFound: true}, "", "name lookup"},
		{"timeout", tegenaria.StageDownload, &tegenaria.TimeoutError{URL: someURL, Limit: time.Second}, "", "timeout"},
		{"POST and timeout", tegenaria.StageDownload, &tegenaria.TimeoutError{URL: someURL, Limit: time.Second}, "POST", ""},
		{"too slow", tegenaria.StageDownload, &tegenaria.TooSlowError{URL: someURL}, "", "timeout"},
		{"deadline", tegenaria.StageDownload, context.DeadlineExceeded, "", "timeout"},
		{"no result", tegenaria.StageDownload, &tegenaria.NoResultError{Waited: time.Second}, "", "timeout"},
		{"cut short", tegenaria.StageDownload, &tegenaria.TruncatedBodyError{URL: someURL, Err: io.ErrUnexpectedEOF}, "", "body cut short"},
		{"EOF", tegenaria.StageDownload, io.EOF, "", "connection broken"},
		{"reset", tegenaria.StageDownload, &net.OpError{Op: "read", Err: syscall.ECONNRESET}, "", "connection broken"},
		{"idle connection", tegenaria.StageDownload, errors.New("http: server closed idle connection"), "", "connection broken"},
		{"temporary", tegenaria.StageDownload, temporaryError(true), "", "temporary failure"},
		{"not temporary", tegenaria.StageDownload, temporaryError(false), "", ""},
		{"HTTP/2", tegenaria.StageDownload, errors.New("stream error: stream ID 3; INTERNAL_ERROR"), "", "connection broken"},
		{"HTTP/2, the whole connection", tegenaria.StageDownload, errors.New("connection error: PROTOCOL_ERROR"), "", "connection broken"},
		{"proxy, 503", tegenaria.StageDownload, &tegenaria.ProxyError{Proxy: "http://p", Status: 503, Err: io.EOF}, "POST", "proxy status 503: the proxy http://p failed: EOF"},
		{"proxy, host unreachable", tegenaria.StageDownload, &tegenaria.ProxyError{Proxy: "socks5://p", Reply: 4, Err: io.EOF}, "POST", "proxy reply 4: the proxy socks5://p failed: EOF"},
		{"proxy breaks off", tegenaria.StageDownload, &tegenaria.ProxyError{Proxy: "http://p", Err: io.ErrUnexpectedEOF}, "POST", "connection broken: the proxy http://p failed: unexpected EOF"},
		{"proxy, 407", tegenaria.StageDownload, &tegenaria.ProxyError{Proxy: "http://p", Status: 407, Err: io.EOF}, "", ""},
		{"proxy, not allowed", tegenaria.StageDownload, &tegenaria.ProxyError{Proxy: "http://p", Reply: 2, Err: dial}, "", ""},
		{"robots.txt through a proxy, 502", tegenaria.StageRobots, &tegenaria.RobotsUnreachableError{Origin: "https://a.example", Err: &tegenaria.ProxyError{Proxy: "http://p", Status: 502, Err: io.EOF}}, "", "proxy status 502: the proxy http://p failed: EOF"},
		{"robots.txt of a dead host", tegenaria.StageRobots, &tegenaria.RobotsUnreachableError{Origin: "http://a.example", Err: dial}, "", "connection refused"},
		{"given up by the user", tegenaria.StageDownload, context.Canceled, "", ""},
		{"private address", tegenaria.StageDownload, &net.OpError{Op: "dial", Err: &tegenaria.PrivateAddressError{}}, "", ""},
		{"body too large", tegenaria.StageDownload, &tegenaria.BodyTooLargeError{URL: someURL, Limit: 1}, "", ""},
		{"bad certificate", tegenaria.StageDownload, x509.UnknownAuthorityError{}, "", ""},
		{"bad request", tegenaria.StageDownload, &tegenaria.RequestError{URL: someURL, Field: "Header", Err: errors.New("x")}, "", ""},
		{"parser", tegenaria.StageParse, io.EOF, "", ""},
		{"parser that fetched", tegenaria.StageParse, status(503), "", ""},
		{"of an inline request", tegenaria.StageResponse, fmt.Errorf("login: %w", status(503)), "", ""},
		{"of HTTPErrors", tegenaria.StageResponse, status(503), "", "status 503"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := middleware.NewRetry(middleware.RetryOptions{})
			for attempt, verb := range []string{"retry after", "retry after", "retry after", "gave up"} {
				ctx := asked(someURL)
				ctx.Request.Method, ctx.Request.Attempt = tt.method, attempt
				failure := tegenaria.NewError("", tt.err, tegenaria.ErrorWithStage(tt.stage))
				got := m.ProcessError(ctx, failure, nil)
				if tt.want == "" {
					if got != error(failure) {
						t.Fatalf("attempt %d: became %v", attempt, got)
					}
					continue
				}
				if !strings.HasPrefix(got.Error(), "tegenaria: "+verb) || !strings.HasSuffix(got.Error(), ": "+tt.want) {
					t.Errorf("attempt %d: became %q, want %q because of %q", attempt, got, verb, tt.want)
				}
				if !errors.Is(got, tt.err) {
					t.Errorf("attempt %d: the cause is lost in %v", attempt, got)
				}
			}
		})
	}
}

// temporaryError is one that says whether it is temporary.
type temporaryError bool

func (e temporaryError) Error() string   { return "lost" }
func (e temporaryError) Temporary() bool { return bool(e) }

// A request whose site cannot be connected to is tried again for some minutes, so that an outage loses no page: unless it
// is a start request, whose site may not exist.
func TestRetryUnreachable(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for _, tt := range []struct {
		name    string
		err     error
		depth   int
		options middleware.RetryOptions
		meta    map[string]any
		want    int // further attempts
	}{
		{"a link", dial, 1, middleware.RetryOptions{}, nil, 9},
		{"a start request", dial, 0, middleware.RetryOptions{}, nil, 3},
		{"no route", &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}, 1, middleware.RetryOptions{}, nil, 9},
		{"the name server does not answer", &net.DNSError{Err: "timeout", Name: "a.example", IsTimeout: true}, 1, middleware.RetryOptions{}, nil, 9},
		{"no such name", &net.DNSError{Err: "no such host", Name: "a.example", IsNotFound: true}, 1, middleware.RetryOptions{}, nil, 3},
		{"a broken connection", io.EOF, 1, middleware.RetryOptions{}, nil, 3},
		{"a proxy that is away", &tegenaria.ProxyError{Proxy: "http://p", Err: dial}, 1, middleware.RetryOptions{}, nil, 3},
		{"robots.txt", &tegenaria.RobotsUnreachableError{Origin: "http://a.example", Err: dial}, 1, middleware.RetryOptions{}, nil, 9},
		{"a browser that was lost", temporaryError(true), 1, middleware.RetryOptions{}, nil, 9},
		{"fewer", dial, 1, middleware.RetryOptions{Unreachable: 5}, nil, 5},
		{"as Times", dial, 1, middleware.RetryOptions{Unreachable: -1}, nil, 3},
		{"Times is more", dial, 1, middleware.RetryOptions{Times: 10}, nil, 10},
		{"none", dial, 1, middleware.RetryOptions{Times: -1}, nil, 0},
		{"its own", dial, 1, middleware.RetryOptions{}, map[string]any{middleware.MetaMaxRetryTimes: 2}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := middleware.NewRetry(tt.options)
			again := 0
			for attempt := range 20 {
				ctx := asked(someURL)
				ctx.Request.Attempt, ctx.Request.Depth, ctx.Request.Meta = attempt, tt.depth, tt.meta
				got := m.ProcessError(ctx, tegenaria.NewError("", tt.err, tegenaria.ErrorWithStage(tegenaria.StageDownload)), nil)
				if strings.HasPrefix(got.Error(), "tegenaria: retry after") {
					again++
				}
			}
			if again != tt.want {
				t.Errorf("tried again %d times, want %d", again, tt.want)
			}
		})
	}
}

// A request says by its Meta how often it is tried again.
func TestRetryPerRequest(t *testing.T) {
	for _, tt := range []struct {
		name    string
		value   any
		options middleware.RetryOptions
		attempt int
		method  string
		want    string
	}{
		{"more than the options", 5, middleware.RetryOptions{Times: 1}, 4, "", "tegenaria: retry after"},
		{"as many", 5, middleware.RetryOptions{}, 5, "", "tegenaria: gave up: status 500"},
		{"never", 0, middleware.RetryOptions{}, 0, "", "status 500"},
		{"never, by the options", nil, middleware.RetryOptions{Times: -1}, 0, "", "status 500"},
		{"POST that may be repeated", 1, middleware.RetryOptions{}, 0, "POST", "tegenaria: retry after"},
		{"not an int", "5", middleware.RetryOptions{}, 0, "", `middleware: Meta["max_retry_times"] is a string; it must be an int`},
		{"other codes", nil, middleware.RetryOptions{Codes: []int{418}}, 0, "", "status 500"},
		{"no codes", nil, middleware.RetryOptions{Codes: []int{}}, 0, "", "status 500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := asked(someURL)
			if tt.value != nil {
				ctx.Request.Meta = map[string]any{middleware.MetaMaxRetryTimes: tt.value}
			}
			ctx.Request.Attempt, ctx.Request.Method = tt.attempt, tt.method
			failure := tegenaria.NewError("", status(500), tegenaria.ErrorWithStage(tegenaria.StageStatus))
			got := middleware.NewRetry(tt.options).ProcessError(ctx, failure, nil).Error()
			if !strings.Contains(got, tt.want) {
				t.Errorf("became %q, want %q", got, tt.want)
			}
		})
	}
}

// flaky answers with a code a few times, then 200.
func flaky(code, times int, header map[string][]string) *memory {
	n := 0
	return &memory{answer: func(r *tegenaria.Request) (*tegenaria.Response, error) {
		if n++; n <= times {
			return tegenaria.NewResponse(r, code, header, nil), nil
		}
		return tegenaria.NewResponse(r, 200, nil, []byte("good")), nil
	}}
}

func nothing(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

// The waits of a crawl, in virtual time. After 500 they are the middleware's own; after 429 and 503 the engine leaves the
// host alone too, and the request waits for both.
func TestRetryWaits(t *testing.T) {
	date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, tt := range []struct {
		name       string
		code       int // 0: 500
		failures   int
		options    middleware.RetryOptions
		after      func() string
		min, max   time.Duration // of the whole
		outcome    tegenaria.Outcome
		reason     string
		retries    int64
		downloads  int
		priorities []int
	}{
		{"one", 0, 1, middleware.RetryOptions{}, nil, 500 * time.Millisecond, time.Second, tegenaria.Fetched, "", 1, 2, []int{0, -1}},
		{"exponential", 0, 3, middleware.RetryOptions{}, nil, 3500 * time.Millisecond, 7 * time.Second, tegenaria.Fetched, "", 3, 4, []int{0, -1, -2, -3}},
		{"gives up", 0, 9, middleware.RetryOptions{}, nil, 3500 * time.Millisecond, 7 * time.Second, tegenaria.GaveUp, "gave-up: status 500", 3, 4, nil},
		{"twice, as Scrapy", 0, 9, middleware.RetryOptions{Times: 2}, nil, 1500 * time.Millisecond, 3 * time.Second, tegenaria.GaveUp, "gave-up: status 500", 2, 3, nil},
		{"capped", 0, 4, middleware.RetryOptions{Times: 4, Backoff: time.Minute, MaxBackoff: 2 * time.Minute}, nil,
			210 * time.Second, 420 * time.Second, tegenaria.Fetched, "", 4, 5, nil},
		{"Retry-After seconds", 0, 1, middleware.RetryOptions{}, func() string { return "100" }, 100 * time.Second, 100 * time.Second, tegenaria.Fetched, "", 1, 2, nil},
		{"Retry-After date", 0, 1, middleware.RetryOptions{}, func() string { return date(200 * time.Second) }, 200 * time.Second, 200 * time.Second, tegenaria.Fetched, "", 1, 2, nil},
		{"Retry-After in the past", 0, 1, middleware.RetryOptions{}, func() string { return date(-time.Hour) }, 500 * time.Millisecond, time.Second, tegenaria.Fetched, "", 1, 2, nil},
		{"Retry-After shorter than the back-off", 0, 1, middleware.RetryOptions{Backoff: time.Minute}, func() string { return "1" }, 30 * time.Second, time.Minute, tegenaria.Fetched, "", 1, 2, nil},
		{"Retry-After without sense", 0, 1, middleware.RetryOptions{}, func() string { return "soon" }, 500 * time.Millisecond, time.Second, tegenaria.Fetched, "", 1, 2, nil},
		{"Retry-After too long", 0, 1, middleware.RetryOptions{}, func() string { return "86400" }, 0, 0, tegenaria.GaveUp, "gave-up: status 500, long Retry-After", 0, 1, nil},
		{"Retry-After as long as allowed", 0, 1, middleware.RetryOptions{MaxRetryAfter: 24 * time.Hour}, func() string { return "86400" }, 24 * time.Hour, 24 * time.Hour, tegenaria.Fetched, "", 1, 2, nil},
		{"503, the host's pause is longer", 503, 3, middleware.RetryOptions{}, nil, 7 * time.Second, 10500 * time.Millisecond, tegenaria.Fetched, "", 3, 4, nil},
		{"503, its own is longer", 503, 1, middleware.RetryOptions{Backoff: time.Minute}, nil, 30 * time.Second, time.Minute, tegenaria.Fetched, "", 1, 2, nil},
		{"503 with Retry-After", 503, 1, middleware.RetryOptions{}, func() string { return "100" }, 100 * time.Second, 100 * time.Second, tegenaria.Fetched, "", 1, 2, nil},
		{"429 with Retry-After", 429, 1, middleware.RetryOptions{}, func() string { return "100" }, 100 * time.Second, 100 * time.Second, tegenaria.Fetched, "", 1, 2, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				header := map[string][]string{}
				if tt.after != nil {
					header["Retry-After"] = []string{tt.after()}
				}
				web := flaky(cmp.Or(tt.code, 500), tt.failures, header)
				began := time.Now()
				stats := crawlWith(t, tegenaria.NewSpider("test", nothing, someURL),
					[]tegenaria.MiddlewaresInterface{middleware.NewRetry(tt.options)}, tegenaria.EngineWithDownloader(web))
				if took := time.Since(began); took < tt.min || took > tt.max {
					t.Errorf("took %s, want %s to %s", took, tt.min, tt.max)
				}
				if stats.Outcomes[tt.outcome] != 1 || stats.Retries != tt.retries || tt.reason != "" && stats.Reasons[tt.reason] != 1 {
					t.Errorf("outcomes %v, reasons %v, %d retries", stats.Outcomes, stats.Reasons, stats.Retries)
				}
				log := web.asked()
				if len(log) != tt.downloads {
					t.Fatalf("asked %d times, want %d", len(log), tt.downloads)
				}
				for i, want := range tt.priorities {
					if log[i].Priority != want || log[i].Attempt != i {
						t.Errorf("attempt %d has priority %d, want %d", log[i].Attempt, log[i].Priority, want)
					}
				}
			})
		})
	}
}

// Row 3 of Scrapy's own tests: whatever the failure, there are exactly as many further attempts as asked for, then
// the ErrorHandler may go on.
func TestRetryOnTheNetwork(t *testing.T) {
	down, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down.Close()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/status/"):
			code, _ := strconv.Atoi(r.URL.Path[len("/status/"):])
			w.WriteHeader(code)
		case r.URL.Path == "/drop":
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
		case r.URL.Path == "/cut":
			w.Header().Set("Content-Length", "20")
			io.WriteString(w, "partial")
		case r.URL.Path == "/hang":
			<-r.Context().Done()
		case r.URL.Path == "/raw":
			conn, _, _ := w.(http.Hijacker).Hijack()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nno length")
			conn.Close()
		}
	})
	for _, tt := range []struct {
		name, url string
		visits    int // 0: the server cannot know
		outcome   tegenaria.Outcome
		reason    string
	}{
		{"503", s.URL + "/status/503", 3, tegenaria.GaveUp, "gave-up: status 503"},
		{"429", s.URL + "/status/429", 3, tegenaria.GaveUp, "gave-up: status 429"},
		{"404", s.URL + "/status/404", 1, tegenaria.Failed, "failed: status"},
		{"dropped", s.URL + "/drop", 3, tegenaria.GaveUp, "gave-up: connection broken"},
		{"cut short", s.URL + "/cut", 3, tegenaria.GaveUp, "gave-up: body cut short"},
		{"timeout", s.URL + "/hang", 3, tegenaria.GaveUp, "gave-up: timeout"},
		{"refused", "http://" + down.Addr().String() + "/refused", 0, tegenaria.GaveUp, "gave-up: connection refused"},
		{"no such host", "http://no-such-host.invalid/", 0, tegenaria.GaveUp, "gave-up: name lookup"},
		{"no length", s.URL + "/raw", 1, tegenaria.Fetched, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // a host that refuses is left alone for a while
			soon := tegenaria.NewRequest(tt.url, tegenaria.GET, nil, tegenaria.RequestWithTimeout(300*time.Millisecond))
			spider := &errorSpider{starting: start(nothing, soon)}
			retry := middleware.NewRetry(middleware.RetryOptions{Times: 2, Backoff: time.Millisecond})
			stats := crawlWith(t, spider, []tegenaria.MiddlewaresInterface{retry})
			if stats.Outcomes[tt.outcome] != 1 || tt.reason != "" && stats.Reasons[tt.reason] != 1 {
				t.Errorf("outcomes %v, reasons %v; want %s %q", stats.Outcomes, stats.Reasons, tt.outcome, tt.reason)
			}
			got := 0
			for _, v := range s.visits() {
				if s.URL+v.Path == tt.url {
					got++
				}
			}
			if tt.visits > 0 && got != tt.visits {
				t.Errorf("the server was asked %d times, want %d", got, tt.visits)
			}
			if tt.outcome == tegenaria.GaveUp && stats.Retries != 2 {
				t.Errorf("%d retries, want 2", stats.Retries)
			}
			if told := tt.outcome != tegenaria.Fetched; (spider.told == 1) != told {
				t.Errorf("the ErrorHandler was called %d times", spider.told)
			}
		})
	}
}

// errorSpider counts the calls of its ErrorHandler.
type errorSpider struct {
	*starting
	told int
}

func (s *errorSpider) ErrorHandler(*tegenaria.HandleError, chan<- *tegenaria.Context) { s.told++ }

// Fetch waits for what is tried again.
func TestRetryOfFetch(t *testing.T) {
	for failures, want := range map[int]string{2: "good", 9: ""} {
		synctest.Test(t, func(t *testing.T) {
			web := flaky(500, failures, nil)
			seed := &memory{answer: func(r *tegenaria.Request) (*tegenaria.Response, error) {
				if r.Url == someURL {
					return web.answer(r)
				}
				return tegenaria.NewResponse(r, 200, nil, nil), nil
			}}
			body, failed := "", error(nil)
			parser := func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				got, err := resp.Fetch(tegenaria.NewRequest(someURL, tegenaria.GET, nil))
				if failed = err; err == nil {
					body = got.String()
				}
				return nil
			}
			stats := crawlWith(t, tegenaria.NewSpider("test", parser, "http://a.example/seed"),
				[]tegenaria.MiddlewaresInterface{middleware.NewRetry(middleware.RetryOptions{})}, tegenaria.EngineWithDownloader(seed))
			var status *tegenaria.StatusError
			if body != want || (want == "") != errors.As(failed, &status) || want == "" && stats.Reasons["gave-up: status 500"] != 1 {
				t.Errorf("%d failures: %q, %v, %v", failures, body, failed, stats.Reasons)
			}
		})
	}
}

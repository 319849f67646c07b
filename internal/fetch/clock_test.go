package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// Each part of an exchange has its own limit; none of them counts what belongs to another part.
func TestLimitsOfTheParts(t *testing.T) {
	late := func(w http.ResponseWriter, r *http.Request) { // first byte after 5 s, then 10 pieces 5 s apart
		waitFor(r, 5*time.Second)
		for range 10 {
			fmt.Fprint(w, strings.Repeat("x", 100))
			w.(http.Flusher).Flush()
			waitFor(r, 5*time.Second)
		}
	}
	stalled := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "begun")
		w.(http.Flusher).Flush()
		waitFor(r, time.Hour)
	}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		limits  Limits
		phase   Phase
		after   time.Duration // of the failure; 0: there is none
	}{
		{"first byte in time", late, Limits{FirstByte: 5*time.Second + 1}, "", 0},
		{"first byte late", late, Limits{FirstByte: 5*time.Second - 1}, PhaseFirstByte, 5*time.Second - 1},
		{"never idle", late, Limits{Idle: 5*time.Second + 1}, "", 0},
		{"idle", late, Limits{Idle: 4 * time.Second}, PhaseIdle, 9 * time.Second},
		{"stalled", stalled, Limits{Idle: 20 * time.Second, FirstByte: time.Second}, PhaseIdle, 20 * time.Second},
		{"fast enough", late, Limits{MinRate: 20}, "", 0},
		{"all at once", late, Limits{FirstByte: 6 * time.Second, Idle: 6 * time.Second, MinRate: 1}, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newPipeServer(t, tt.handler).client(func(s *Config) { s.Limits = tt.limits.withDefaults() })
				r := request("http://slow.example/", http.MethodGet)
				began := time.Now()
				result := download(d, r)
				if tt.after == 0 {
					if result.Error != nil || len(result.Response.Body) != 1000 {
						t.Errorf("got %v", result.Error)
					}
					return
				}
				err := wantError[*TimeoutError](t, result)
				if err.Phase != tt.phase || time.Since(began) != tt.after {
					t.Errorf("%v (phase %q) after %s, want %q after %s", err, err.Phase, time.Since(began), tt.phase, tt.after)
				}
				if text := err.Error(); !strings.Contains(text, "Limits.") || !strings.Contains(text, "slow.example") {
					t.Errorf("the message names no remedy: %s", text)
				}
			})
		})
	}
}

// A body that comes too slowly is given up as soon as it can be told, and not in its first 10 s.
func TestMinRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newPipeServer(t, trickle).client(func(s *Config) { s.Limits = bounds(Limits{MinRate: 2}) })
		r := request("http://slow.example/", http.MethodGet)
		began := time.Now()
		err := wantError[*TooSlowError](t, download(d, r))
		if took := time.Since(began); took != rateGrace || err.Got != 10 && err.Got != 11 || err.Limit != 2 {
			t.Errorf("%+v after %s", err, took)
		}
	})
}

// What the clock waits for while bodies wait for room in memory is not the server's fault.
func TestClockStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c clock
		ctx, cancel := context.WithCancelCause(t.Context())
		c.start("http://x.example/", timeLimits{all: 10 * time.Second, firstByte: 10 * time.Second, idle: 3 * time.Second}, time.Now(), cancel)
		defer c.stop()
		c.sent()
		c.answered()
		c.reads()
		<-time.NewTimer(2 * time.Second).C
		c.pause()
		<-time.NewTimer(time.Hour).C
		c.goOn()
		if ctx.Err() != nil {
			t.Fatal(context.Cause(ctx))
		}
		began := time.Now()
		<-ctx.Done()
		var late *TimeoutError
		if err := context.Cause(ctx); !errors.As(err, &late) || late.Phase != PhaseIdle || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// What a ResponseWriter takes its time for is not the server's fault; the timeout counts it all the same.
func TestSlowWriterIsNotTheServer(t *testing.T) {
	for _, tt := range []struct {
		name    string
		limits  Limits
		timeout time.Duration
		fails   bool
	}{
		{"idle", Limits{Idle: 5 * time.Second}, time.Hour, false},
		{"rate", Limits{MinRate: 1000}, time.Hour, false},
		{"both", Limits{Idle: 5 * time.Second, MinRate: 1000}, time.Hour, false},
		{"timeout", Limits{Idle: 5 * time.Second, MinRate: 1000}, 50 * time.Second, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newPipeServer(t, func(w http.ResponseWriter, r *http.Request) {
					for range 3 {
						w.Write(make([]byte, 10_000))
						w.(http.Flusher).Flush()
						waitFor(r, 3*time.Second)
					}
				}).client(func(s *Config) { s.Limits = tt.limits.withDefaults() })
				slow := writerFunc(func(p []byte) (int, error) { <-time.NewTimer(20 * time.Second).C; return len(p), nil })
				result := download(d, request("http://x.example/", http.MethodGet, withWriter(slow), withTimeout(tt.timeout)))
				if tt.fails {
					if err := wantError[*TimeoutError](t, result); err.Phase != PhaseAll {
						t.Errorf("%+v", err)
					}
					return
				}
				if result.Error != nil || result.Response.Length != 30_000 {
					t.Errorf("%v", result.Error)
				}
			})
		})
	}
}

func TestConnectAndHandshakeLimits(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	client := func(limits Limits) *Client {
		return newTestClient(t, func(s *Config) {
			s.Limits, s.AllowPrivate = bounds(limits), []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		})
	}
	d := client(Limits{Connect: time.Minute, Handshake: 30 * time.Millisecond})
	r := request("https://"+silent.Addr().String()+"/", http.MethodGet)
	if err := wantError[*TimeoutError](t, download(d, r)); err.Phase != PhaseHandshake || err.Limit != 30*time.Millisecond {
		t.Errorf("handshake: %+v", err)
	}
	d = client(Limits{Connect: 20 * time.Millisecond, Handshake: time.Minute})
	d.routes.guard.dialer.ControlContext = func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
		<-ctx.Done()
		return ctx.Err()
	}
	if err := wantError[*TimeoutError](t, download(d, request("http://127.0.0.1:1/", http.MethodGet))); err.Phase != PhaseConnect || err.Limit != 20*time.Millisecond {
		t.Errorf("connect: %+v", err)
	}
}

// A header above its limits fails its request, and not the next one. In HTTP/2 one that is far above it ends the connection, of which
// net/http has no more to say than that; the error still names the limit.
func TestHeaderLimits(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/fields":
			for i := range 50 {
				w.Header().Add("X", fmt.Sprint(i))
			}
		case "/bytes":
			for i := range 8 {
				w.Header().Set(fmt.Sprint("X", i), strings.Repeat("x", 1000))
			}
		case "/field":
			w.Header().Set("X", strings.Repeat("x", 8000))
		case "/flood":
			for i := range 39 {
				w.Header().Set(fmt.Sprint("X", i), strings.Repeat("x", 3000))
			}
		}
	}
	plain, secure := newServer(h), httptest.NewUnstartedServer(http.HandlerFunc(h))
	secure.EnableHTTP2 = true
	secure.StartTLS()
	d := newTestClient(t, func(s *Config) {
		s.Limits, s.TLS = bounds(Limits{Header: 4000, HeaderFields: 40}), trust(secure)
	}, plain, secure)
	for _, server := range []*httptest.Server{plain, secure} {
		mustDownload(t, d, request(server.URL+"/", http.MethodGet))
		if err := wantError[*HeaderTooLargeError](t, download(d, request(server.URL+"/fields", http.MethodGet))); err.Fields != 40 || err.Limit != 0 {
			t.Errorf("fields: %+v", err)
		}
		if err := wantError[*HeaderTooLargeError](t, download(d, request(server.URL+"/bytes", http.MethodGet))); err.Limit != 4000 || err.Fields != 0 {
			t.Errorf("bytes: %+v", err)
		}
		for _, path := range []string{"/field", "/flood"} {
			result := download(d, request(server.URL+path, http.MethodGet))
			if server == plain {
				if err := wantError[*HeaderTooLargeError](t, result); err.Limit != 4000 {
					t.Errorf("%s: %+v", path, err)
				}
			} else if !strings.Contains(fmt.Sprint(result.Error), "Limits.Header = 4000") {
				t.Errorf("%s in HTTP/2: %v", path, result.Error)
			}
		}
		mustDownload(t, d, request(server.URL+"/", http.MethodGet))
	}
}

// A response says how it came.
func TestTransfer(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		waitFor(r, time.Millisecond)
		fmt.Fprint(w, "a body")
		w.(http.Flusher).Flush()
		waitFor(r, time.Millisecond)
	}
	plain, secure := newServer(h), httptest.NewUnstartedServer(http.HandlerFunc(h))
	secure.EnableHTTP2 = true
	secure.StartTLS()
	d := newTestClient(t, func(s *Config) { s.TLS = trust(secure) }, plain, secure)
	for _, tt := range []struct {
		server *httptest.Server
		proto  string
	}{{plain, "HTTP/1.1"}, {secure, "HTTP/2.0"}} {
		for _, reused := range []bool{false, true} {
			got := mustDownload(t, d, request(tt.server.URL, http.MethodGet)).Transfer
			if got.Proto != tt.proto || got.Reused != reused || got.RemoteAddr.String() != tt.server.Listener.Addr().String() {
				t.Errorf("%+v", got)
			}
			if (got.TLS != nil) != (tt.server == secure) || got.TLS != nil && len(got.TLS.PeerCertificates) != 1 {
				t.Errorf("TLS: %+v", got.TLS)
			}
			if (got.Connect > 0) == reused || (got.Handshake > 0) != (!reused && tt.server == secure) {
				t.Errorf("reused %v: connect %s, handshake %s", reused, got.Connect, got.Handshake)
			}
			if got.FirstByte <= 0 || got.Body <= 0 || got.WireBytes != 6 || got.BodyBytes != 6 {
				t.Errorf("%+v", got)
			}
		}
	}
}

// timed is a Writer that takes its time, and notes how much of it was left.
type timed struct {
	takesAll
	left []time.Duration
	late []error
}

func (w *timed) WriteWithin(p []byte, left time.Duration, late error) (int, error) {
	w.left, w.late = append(w.left, left), append(w.late, late)
	<-time.NewTimer(time.Second).C
	return len(p), nil
}

// A Writer learns how much of the exchange's time is left, and how it will have failed when that is over. It fails when the
// clock gives the whole time to each piece.
func TestWriterKnowsItsTime(t *testing.T) {
	for _, limit := range []time.Duration{0, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			d := newPipeServer(t, func(w http.ResponseWriter, r *http.Request) {
				for range 2 {
					w.Write([]byte("piece"))
					w.(http.Flusher).Flush()
				}
			}).client(nil)
			writer := &timed{}
			mustDownload(t, d, request("http://x.example/", http.MethodGet, withTimeout(limit), func(r *Request) { r.Writer = writer }))
			want := []time.Duration{0, 0}
			if limit > 0 {
				want = []time.Duration{limit, limit - time.Second}
			}
			if !slices.Equal(writer.left, want) {
				t.Errorf("limit %s: left %v, want %v", limit, writer.left, want)
			}
			for _, late := range writer.late {
				var over *TimeoutError
				if errors.As(late, &over) != (limit > 0) || over != nil && (over.Limit != limit || over.Phase != PhaseAll) {
					t.Errorf("limit %s: late %v", limit, late)
				}
			}
		})
	}
}

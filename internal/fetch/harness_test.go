package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// bounds returns limits whose zeros are those of a crawl.
func bounds(l Limits) Limits {
	or(&l.Body, 32<<20)
	or(&l.Spool, 1<<30)
	or(&l.Header, 1<<20)
	or(&l.HeaderFields, 1000)
	or(&l.Connect, 30*time.Second)
	or(&l.Handshake, 30*time.Second)
	return l
}

func or[N comparable](v *N, def N) {
	var zero N
	if *v == zero {
		*v = def
	}
}

// newTestClient makes a client that may ask the given servers, and checks that it leaves no goroutine behind.
func newTestClient(t testing.TB, change func(c *Config), servers ...*httptest.Server) *Client {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	c := Config{Limits: bounds(Limits{}), Agent: "tegenaria/test", Concurrency: 4, Loopback: new(Loopback)}
	for _, server := range servers {
		if !c.Loopback.Allow(server.URL) {
			t.Fatalf("%s is not on loopback", server.URL)
		}
	}
	if change != nil {
		change(&c)
	}
	client := New(c)
	t.Cleanup(func() {
		client.Close()
		for _, server := range servers {
			server.Close()
		}
		goleak.VerifyNone(t, ignore)
	})
	return client
}

// newServer starts a server on loopback; its owner is the client that it is given to.
func newServer(h http.HandlerFunc) *httptest.Server { return httptest.NewServer(h) }

// request makes a request as a crawl makes them: its redirects will be followed, and its time is bounded.
func request(url, method string, opts ...option) Request {
	r := Request{URL: url, Method: method, Follows: true, Timeout: time.Minute}
	for _, opt := range opts {
		opt(&r)
	}
	return r
}

// option changes a request.
type option func(r *Request)

func withTimeout(d time.Duration) option           { return func(r *Request) { r.Timeout = d } }
func withBody(body []byte) option                  { return func(r *Request) { r.Body = body } }
func withHeader(header map[string]string) option   { return func(r *Request) { r.Header = header } }
func withCookies(cookies map[string]string) option { return func(r *Request) { r.Cookies = cookies } }
func withParams(params map[string]string) option   { return func(r *Request) { r.Params = params } }
func withWriter(w io.Writer) option                { return func(r *Request) { r.Writer = takesAll{w} } }
func withSpool(r *Request)                         { r.Spool = true }
func withPartial(r *Request)                       { r.Partial = true }
func unfollowed(r *Request)                        { r.Follows = false }
func through(proxy string) option                  { return func(r *Request) { r.Proxy = &proxy } }

// takesAll is a Writer that takes all bodies.
type takesAll struct{ io.Writer }

func (takesAll) Takes(int) bool { return true }

func (w takesAll) WriteWithin(p []byte, _ time.Duration, _ error) (int, error) { return w.Write(p) }

// result is what Do has returned.
type result struct {
	Response *Answer
	Error    error
}

func download(c *Client, r Request) result { return downloadIn(context.Background(), c, r) }

func downloadIn(ctx context.Context, c *Client, r Request) result {
	answer, err := c.Do(ctx, r)
	return result{answer, err}
}

func mustDownload(t testing.TB, c *Client, r Request) *Answer {
	t.Helper()
	result := download(c, r)
	if result.Error != nil {
		t.Fatalf("download: %v", result.Error)
	}
	return result.Response
}

// text returns the body.
func (a *Answer) text() string { return string(a.Body) }

// wantError checks the type of a result's error.
func wantError[E error](t *testing.T, result result) E {
	t.Helper()
	var target E
	if !errors.As(result.Error, &target) {
		t.Fatalf("error is %v (%T), want %T", result.Error, result.Error, target)
	}
	return target
}

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Method", r.Method)
	w.Header().Set("X-Target", r.RequestURI)
	w.Header().Set("X-Host", r.Host)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		w.Header()["Got-"+name] = r.Header[name]
	}
	w.Write(body)
}

// hijack takes over the connection of a request, to answer on it as one likes.
func hijack(w http.ResponseWriter) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	return conn
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// pipeServer serves in memory, so that a whole exchange takes place in the virtual time of a synctest bubble.
type pipeServer struct {
	conns  chan net.Conn
	server http.Server
	dialer *http.Client
}

func newPipeServer(t *testing.T, h http.HandlerFunc) *pipeServer {
	p := &pipeServer{conns: make(chan net.Conn), server: http.Server{Handler: h}}
	p.dialer = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
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
		p.dialer.CloseIdleConnections()
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

func (p *pipeServer) client(change func(s *Config)) *Client {
	s := Config{Limits: bounds(Limits{}), Agent: "test", Concurrency: 4, HTTP: p.dialer}
	if change != nil {
		change(&s)
	}
	return New(s)
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

func waitFor(r *http.Request, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// trust is a TLS configuration that trusts a server's certificate.
func trust(server *httptest.Server) *tls.Config {
	return &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func sleepFor(d time.Duration) { <-time.NewTimer(d).C }

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

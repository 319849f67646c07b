package spidertest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// Web is a web without a network: one handler answers for every host, over connections that are pipes in
// memory. The real downloader runs against it inside a testing/synctest bubble, where delays,
// timeouts and retries cost no time:
//
//	synctest.Test(t, func(t *testing.T) {
//		web := spidertest.NewWeb(handler) // told apart by r.Host
//		defer web.Close()
//		engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithHTTPClient(web.Client()), …)
//		…
//	})
//
// A Web may be used concurrently. It speaks HTTP/1.1 without TLS.
type Web struct {
	server    *http.Server
	transport *http.Transport
	conns     chan net.Conn
	closed    chan struct{}
	once      sync.Once
	running   sync.WaitGroup // the server, and the handlers that run
}

// NewWeb starts a web; Close ends it.
func NewWeb(handler http.Handler) *Web {
	w := &Web{conns: make(chan net.Conn), closed: make(chan struct{})}
	w.server = &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.running.Add(1)
		defer w.running.Done()
		handler.ServeHTTP(rw, r)
	})}
	w.transport = &http.Transport{DialContext: w.dial}
	w.running.Go(func() { w.server.Serve(listener{w}) })
	return w
}

// Client returns a client whose every connection leads to the web, whatever host and port are asked for.
func (w *Web) Client() *http.Client { return &http.Client{Transport: w.transport} }

// Close cuts all connections and waits until the handlers have returned.
func (w *Web) Close() error {
	w.once.Do(func() { close(w.closed) })
	err := w.server.Close()
	w.transport.CloseIdleConnections()
	w.running.Wait()
	return err
}

var errWebClosed = errors.New("spidertest: the Web is closed")

func (w *Web) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case w.conns <- far:
		return near, nil
	case <-w.closed:
		return nil, errWebClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// listener is where the server of a Web gets its connections.
type listener struct{ *Web }

func (l listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, http.ErrServerClosed
	}
}

func (l listener) Close() error { return nil }

func (l listener) Addr() net.Addr { return address{} }

// address is that of all ends of all pipes.
type address struct{}

func (address) Network() string { return "pipe" }

func (address) String() string { return "pipe" }

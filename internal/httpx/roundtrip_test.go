//go:build unix

package httpx

import (
	"net"
	"net/http"
	"net/http/httptrace"
)

// RoundTripper makes of a [Transport] what net/http's is.
type RoundTripper struct{ *Transport }

// RoundTrip sends a request by Do.
func (r RoundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	trace := httptrace.ContextClientTrace(req.Context())
	if trace == nil {
		trace = new(httptrace.ClientTrace)
	}
	return r.Do(req.Context(), req, traceTracer{trace})
}

type traceTracer struct{ *httptrace.ClientTrace }

func (t traceTracer) GotConn(conn net.Conn, reused bool) {
	if t.ClientTrace.GotConn != nil {
		t.ClientTrace.GotConn(httptrace.GotConnInfo{Conn: conn, Reused: reused, WasIdle: reused})
	}
}

func (t traceTracer) GotFirstByte() {
	if t.GotFirstResponseByte != nil {
		t.GotFirstResponseByte()
	}
}

//go:build unix

package httpx

import (
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
)

// RoundTripper makes of a [Transport] what net/http's is.
type RoundTripper struct{ *Transport }

// RoundTrip sends a request by Do. Over TLS a URL by http is one by https.
func (r RoundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	trace := httptrace.ContextClientTrace(req.Context())
	if trace == nil {
		trace = new(httptrace.ClientTrace)
	}
	if r.Secure && req.URL.Scheme == "http" {
		secured := *req
		secured.URL = new(url.URL)
		*secured.URL = *req.URL
		secured.URL.Scheme = "https"
		req = &secured
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

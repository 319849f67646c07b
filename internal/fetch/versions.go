package fetch

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// siteSet is a set of sites by https. It may be used concurrently; the zero value is empty.
type siteSet struct {
	mu    sync.Mutex // guards known
	known map[string]struct{}
}

// mostSites is how many sites a set knows. One that was forgotten says again what it speaks.
const mostSites = 10_000

// add enters a site by its host and port.
func (s *siteSet) add(hostport string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= mostSites {
		s.known = make(map[string]struct{})
	}
	s.known[strings.ToLower(hostport)] = struct{}{}
}

// has reports whether a site was entered.
func (s *siteSet) has(hostport string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) == 0 {
		return false
	}
	_, ok := s.known[strings.ToLower(hostport)]
	return ok
}

// byVersion makes a way in HTTP/2 and HTTP/1.1. A site that wants HTTP/1.1 is remembered, and what it has refused is sent again: it
// was not acted on. What own takes goes to sites in HTTP/1.1 through it; nil takes nothing.
func (rs *routes) byVersion(c *connector, own *httpx.Transport) *route {
	newest, oldest := rs.transport(c), rs.transport(c.http1())
	send, sendOld := traced(newest.RoundTrip), traced(oldest.RoundTrip)
	return &route{
		send: func(ctx *tracedContext, req *http.Request) (*http.Response, error) {
			if req.URL.Scheme != "https" {
				return send(ctx, req)
			}
			site := hostport(req.URL)
			if rs.older.has(site) {
				return sendOld(ctx, req)
			}
			if own != nil && own.Takes(req) && !rs.newer.has(site) {
				resp, err := own.Do(ctx, req, ctx.tracer)
				if !errors.Is(err, errHTTP2) {
					return resp, err
				}
				rs.newer.add(site)
			}
			resp, err := send(ctx, req) //nolint:bodyclose // its caller does
			wants, acted := wantsHTTP1(err)
			if wants {
				rs.older.add(site)
			}
			if !wants || acted && !isSafe(req.Method) || ctx.Err() != nil {
				return resp, err
			}
			if req.GetBody != nil {
				if req.Body, err = req.GetBody(); err != nil {
					return nil, err
				}
			}
			return sendOld(ctx, req)
		},
		closeIdle: func() { newest.CloseIdleConnections(); oldest.CloseIdleConnections() },
	}
}

// resetStream is the error of net/http for a stream that was reset: it sets whatever has the same fields.
type resetStream struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

// Error says what has happened.
func (resetStream) Error() string { return "the stream was reset" }

// wantsHTTP1 reports whether a request has failed because the server wants HTTP/1.1, and whether the server may have acted on it.
// A stream that was reset, or that the server has not seen when it ended the connection, was not acted on; of one that it has
// seen that is not certain. net/http has no types for the end of a connection.
func wantsHTTP1(err error) (wants, acted bool) {
	const codeHTTP1Required = 0xd // RFC 9113 §7
	if err == nil {
		return false, false
	}
	var reset resetStream
	text := err.Error()
	switch {
	case errors.As(err, &reset) && reset.Code == codeHTTP1Required,
		strings.HasSuffix(text, "received GOAWAY from server ErrCode:HTTP_1_1_REQUIRED"):
		return true, false
	case strings.Contains(text, "sent GOAWAY") && strings.Contains(text, "ErrCode=HTTP_1_1_REQUIRED"):
		return true, true
	}
	return false, false
}

// isSafe reports whether a request with this method changes nothing (RFC 9110 §9.2.1).
func isSafe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// hostport is what net/http dials for a URL by https.
func hostport(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

package fetch

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// errSlowHandshake is the failure of a handshake that took longer than Limits.Handshake.
var errSlowHandshake = errors.New("the TLS handshake took too long")

// connector makes the connections of a transport, and looks at the bytes that come over those of HTTP/1. For that it makes TLS
// itself, because nothing can be put between net/http's TLS and net/http's HTTP.
type connector struct {
	dial   dialFunc
	config *tls.Config   // never nil
	limit  time.Duration // of a handshake; 0: none
}

// newConnector makes connections by dial, which live knows, with TLS by config; nil is the default one.
func newConnector(dial dialFunc, live *liveConns, config *tls.Config, limit time.Duration) *connector {
	if config == nil {
		config = new(tls.Config)
	}
	if config.NextProtos == nil {
		config = config.Clone()
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	return &connector{dial: tracked(dial, live), config: config, limit: limit}
}

// bare connects without TLS, and looks at nothing.
func (c *connector) bare(ctx context.Context, network, hostport string) (net.Conn, error) {
	if err := countDial(ctx); err != nil {
		return nil, err
	}
	return c.dial(ctx, network, hostport)
}

// plain connects without TLS.
func (c *connector) plain(ctx context.Context, network, hostport string) (net.Conn, error) {
	conn, err := c.bare(ctx, network, hostport)
	if err != nil {
		return nil, err
	}
	return httpx.NewConn(conn), nil
}

// errHTTP2 is the failure of secureHTTP1 at a site that speaks HTTP/2.
var errHTTP2 = errors.New("the site speaks HTTP/2")

// secureHTTP1 connects with TLS. Where HTTP/2 is agreed on it fails with errHTTP2, and keeps the connection for the next secure
// of the exchange.
func (c *connector) secureHTTP1(ctx context.Context, network, hostport string) (net.Conn, error) {
	if err := countDial(ctx); err != nil {
		return nil, err
	}
	secured, err := c.dialTLS(ctx, network, hostport)
	if err != nil {
		return nil, err
	}
	if secured.ConnectionState().NegotiatedProtocol != "h2" {
		return secured, nil
	}
	if t, ok := ctx.Value(tracerKey{}).(*tracer); ok {
		t.http2.Store(secured)
	}
	return nil, errHTTP2
}

// secure connects with TLS. net/http speaks HTTP/2 over a connection that is a *tls.Conn.
func (c *connector) secure(ctx context.Context, network, hostport string) (net.Conn, error) {
	if t, ok := ctx.Value(tracerKey{}).(*tracer); ok && slices.Contains(c.config.NextProtos, "h2") {
		if secured := t.http2.Swap(nil); secured != nil {
			return secured, nil
		}
	}
	if err := countDial(ctx); err != nil {
		return nil, err
	}
	secured, err := c.dialTLS(ctx, network, hostport)
	if err != nil {
		return nil, err
	}
	if secured.ConnectionState().NegotiatedProtocol == "h2" {
		return secured, nil
	}
	return httpx.NewConn(secured), nil
}

// dialTLS connects and makes the handshake.
func (c *connector) dialTLS(ctx context.Context, network, hostport string) (*tls.Conn, error) {
	conn, err := c.dial(ctx, network, hostport)
	if err != nil {
		return nil, err
	}
	secured, err := c.handshake(ctx, conn, hostport)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return secured, nil
}

// handshake puts TLS on a connection.
func (c *connector) handshake(ctx context.Context, conn net.Conn, hostport string) (*tls.Conn, error) {
	config := c.config
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(hostport)
		if err != nil {
			return nil, err
		}
		config = config.Clone()
		config.ServerName = host
	}
	if c.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.limit, errSlowHandshake)
		defer cancel()
	}
	began := time.Now()
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		if errors.Is(context.Cause(ctx), errSlowHandshake) {
			err = errSlowHandshake
		}
		return nil, err
	}
	if made := dialledOf(conn); made != nil {
		state := secured.ConnectionState()
		made.tls, made.handshake = &state, made.handshake+time.Since(began)
	}
	return secured, nil
}

// http1 returns a connector that offers no HTTP/2.
func (c *connector) http1() *connector {
	config := c.config.Clone()
	config.NextProtos = []string{"http/1.1"}
	return &connector{dial: c.dial, config: config, limit: c.limit}
}

// forProxy returns a connector for TLS to a proxy: in HTTP/1, and in the proxy's name.
func (c *connector) forProxy() *connector {
	config := c.config.Clone()
	config.ServerName, config.NextProtos = "", []string{"http/1.1"}
	return &connector{dial: c.dial, config: config, limit: c.limit}
}

// tunnel is an HTTP proxy that leads to where TLS is spoken (RFC 9110 §9.3.6).
type tunnel struct {
	proxy   *url.URL
	toProxy dialFunc
	agent   string // the User-Agent
	limits  Limits
}

// dial connects through the proxy. The error is a *net.OpError with the Op "proxyconnect", as in net/http. A refusal in it is a
// [*ProxyError].
func (t *tunnel) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	if t.limits.Connect > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.limits.Connect)
		defer cancel()
	}
	conn, err := t.toProxy(ctx, network, proxyHostport(t.proxy))
	if err == nil {
		if err = t.ask(ctx, conn, hostport); err == nil {
			return conn, nil
		}
		conn.Close()
	}
	return nil, &net.OpError{Op: opProxy, Net: network, Err: err}
}

// opProxy is the Op of an error of a proxy that gives no tunnel.
const opProxy = "proxyconnect"

// errTunnelSpeaks is the failure of a tunnel that delivered data before any was sent.
var errTunnelSpeaks = errors.New("the proxy sends more than its answer to CONNECT")

// ask asks the proxy for a tunnel.
func (t *tunnel) ask(ctx context.Context, conn net.Conn, hostport string) (err error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() {
			err = context.Cause(ctx)
		}
	}()
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: hostport}, Host: hostport, Header: make(http.Header)}
	req.Header.Set("User-Agent", t.agent)
	if user := t.proxy.User; user != nil {
		req.Header.Set("Proxy-Authorization", basicAuth(user))
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	from := &endReader{in: conn}
	in := bufio.NewReader(io.LimitReader(from, t.limits.Header))
	resp, err := http.ReadResponse(in, req)
	for most := 5; err == nil && resp.StatusCode/100 == 1 && most > 0; most-- { // interim (RFC 9110 §15.2)
		resp, err = http.ReadResponse(in, req)
	}
	switch {
	case err != nil && errors.Is(from.end, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return shortened(cmp.Or(from.end, err))
	case resp.StatusCode/100 != 2:
		return refusedTunnel(t.proxy, resp)
	case in.Buffered() > 0:
		return errTunnelSpeaks
	}
	return nil
}

// endReader notes the first error of a reader. net/http parses half a line that came before it, and calls that
// malformed.
type endReader struct {
	in  io.Reader
	end error
}

// Read reads on.
func (r *endReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if r.end == nil {
		r.end = err // the system reports a reset once
	}
	return n, err
}

// proxyHostport is where a proxy listens.
func proxyHostport(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// basicAuth is the value of an Authorization header (RFC 7617).
func basicAuth(user *url.Userinfo) string {
	password, _ := user.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
}

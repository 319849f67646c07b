package fetch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/proxy"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

const (
	idleTimeout = 90 * time.Second
	pingTimeout = 15 * time.Second
	minIdle     = 1024 // idle connections kept in all, at least
	minPerHost  = 64   // and for one host: there are no more than were used at once
	maxProxies  = 64   // proxies whose connections are kept
)

// route is a way out, with connections of its own: directly, or through one proxy.
type route struct {
	send      func(*tracedContext, *http.Request) (*http.Response, error)
	closeIdle func() // nil if the connections are not ours
	absolute  bool   // plain http is sent to an HTTP proxy: the request line has the whole URL

	key     string // the proxy's URL
	users   int
	used    uint64 // when it was last entered, counted in enters
	evicted bool
}

// routes keeps the ways out of a downloader: the direct one, and those through the proxies used last. It may
// be used concurrently.
type routes struct {
	config Config
	guard  *dialGuard
	direct *route
	live   liveConns
	older  siteSet // that want HTTP/1.1 though they have negotiated HTTP/2 (RFC 9113 §7, HTTP_1_1_REQUIRED)
	newer  siteSet // that have negotiated HTTP/2

	mu      sync.Mutex // guards the fields below, and the routes' counts
	proxied map[string]*route
	enters  uint64
}

func newRoutes(c Config) *routes {
	rs := &routes{config: c, guard: newDialGuard(c.AllowPrivate, c.Loopback, c.Limits.Connect), proxied: make(map[string]*route)}
	if c.HTTP != nil {
		rs.direct = throughOwn(c.HTTP)
		return rs
	}
	rs.direct = rs.toSites()
	return rs
}

// toSites makes the way without a proxy, which most exchanges take.
func (rs *routes) toSites() *route {
	c := rs.connector(rs.guard.dial)
	other := rs.transport(c)
	own := func(dial dialFunc, secure bool) *httpx.Transport {
		return &httpx.Transport{
			Dial:           dial,
			Secure:         secure,
			MaxHeaderBytes: other.MaxResponseHeaderBytes,
			MaxIdle:        other.MaxIdleConns,
			MaxIdlePerHost: other.MaxIdleConnsPerHost,
			IdleTimeout:    other.IdleConnTimeout,
		}
	}
	plain, secure := own(c.bare, false), own(c.secureHTTP1, true)
	byOther := rs.byVersion(c, secure)
	return &route{
		send: func(ctx *tracedContext, req *http.Request) (*http.Response, error) {
			if plain.Takes(req) {
				return plain.Do(ctx, req, ctx.tracer)
			}
			return byOther.send(ctx, req)
		},
		closeIdle: func() { plain.Close(); secure.Close(); byOther.closeIdle() },
	}
}

func (rs *routes) connector(dial dialFunc) *connector {
	return newConnector(dial, &rs.live, rs.config.TLS, rs.config.Limits.Handshake)
}

// transport sets no MaxConnsPerHost: with HTTP/2 requests can then wait for ever (golang/go#34941), and slots
// bound the requests to a host.
func (rs *routes) transport(c *connector) *http.Transport {
	perHost := max(rs.config.Concurrency, minPerHost)
	return &http.Transport{
		DialContext:            c.plain,
		DialTLSContext:         c.secure,
		ForceAttemptHTTP2:      true, // a DialContext switches it off otherwise
		DisableCompression:     true, // the exchange decodes
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingTimeout, PingTimeout: pingTimeout},
		MaxIdleConns:           max(4*perHost, minIdle),
		MaxIdleConnsPerHost:    perHost,
		IdleConnTimeout:        idleTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: rs.config.Limits.Header, // in HTTP/2 of the decoded header
	}
}

// enter returns the way for a request, whose target it judges as far as the dial cannot. The errors are
// [*RequestError] and [*PrivateAddressError].
func (rs *routes) enter(r *Request) (*route, error) {
	if r.Proxy == nil {
		return rs.direct, nil
	}
	if rs.config.HTTP == nil {
		host := urlx.Hostname(r.URL)
		if err := rs.guard.checkLiteral(host, net.JoinHostPort(host, urlx.Port(r.URL))); err != nil {
			return nil, err
		}
	}
	way, idle, err := rs.take(*r.Proxy)
	if err != nil {
		return nil, &RequestError{URL: r.URL, Field: "Proxy", Err: err, Remedy: "write it as " +
			"http://user:password@host:port; https, socks5 and socks5h are known too"}
	}
	if idle != nil {
		idle.closeIdle()
	}
	return way, nil
}

// take returns the way through a proxy, and one that was forgotten for it and has no users any more.
func (rs *routes) take(proxyURL string) (way, idle *route, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	way = rs.proxied[proxyURL]
	if way == nil {
		if way, err = rs.through(proxyURL); err != nil {
			return nil, nil, err
		}
		idle = rs.makeRoom()
		way.key = proxyURL
		rs.proxied[proxyURL] = way
	}
	rs.enters++
	way.used = rs.enters
	way.users++
	return way, idle, nil
}

// leave ends the use of a route that enter began.
func (rs *routes) leave(way *route) {
	if way == rs.direct {
		return
	}
	rs.mu.Lock()
	way.users--
	over := way.evicted && way.users == 0
	rs.mu.Unlock()
	if over {
		way.closeIdle()
	}
}

// makeRoom forgets the proxy that was not used for the longest time, and returns it if no exchange uses it now.
// The caller holds mu.
func (rs *routes) makeRoom() (idle *route) {
	if len(rs.proxied) < maxProxies {
		return nil
	}
	var oldest *route
	for _, way := range rs.proxied {
		if oldest == nil || way.used < oldest.used {
			oldest = way
		}
	}
	delete(rs.proxied, oldest.key)
	oldest.evicted = true
	if oldest.users > 0 {
		return nil // the last one closes it
	}
	return oldest
}

// close closes all connections that were made here.
func (rs *routes) close() {
	defer rs.guard.resolver.Close()
	if rs.direct.closeIdle != nil {
		rs.direct.closeIdle()
	}
	rs.mu.Lock()
	ways := slices.Collect(maps.Values(rs.proxied))
	rs.mu.Unlock()
	for _, way := range ways {
		way.closeIdle()
	}
	rs.live.close()
}

var (
	errProxyScheme = errors.New("no http, https, socks5 or socks5h URL")
	errProxyHost   = errors.New("no host")
	errProxyClient = errors.New("the client of EngineWithHTTPClient has a Transport that is no *http.Transport, which cannot be given a proxy")
)

// through makes the way through a proxy. No error holds its URL, which may have a password.
func (rs *routes) through(proxyURL string) (*route, error) {
	u, err := url.Parse(proxyURL)
	if err != nil {
		return nil, errProxyScheme // its text holds the URL, or parts of it
	}
	switch u.Scheme {
	case "http", "https", "socks5":
	case "socks5h": // others' name for it: the proxy looks names up
		u.Scheme = "socks5"
	default:
		return nil, errProxyScheme
	}
	if u.Hostname() == "" {
		return nil, errProxyHost
	}
	if client := rs.config.HTTP; client != nil {
		return throughClient(client, u, rs.config.Agent)
	}
	dialer := &net.Dialer{Timeout: rs.config.Limits.Connect}
	if u.Scheme == "socks5" {
		dial, err := socksDial(u, dialer)
		if err != nil {
			return nil, err
		}
		return rs.byVersion(rs.connector(dial), nil), nil
	}
	return rs.throughHTTP(u, rs.connector(dialer.DialContext)), nil
}

// throughHTTP makes the way through an HTTP proxy: plain HTTP is sent to it, TLS goes through a tunnel.
func (rs *routes) throughHTTP(u *url.URL, toProxy *connector) *route {
	tunnel := &tunnel{proxy: u, toProxy: toProxy.dial, agent: rs.config.Agent, limits: rs.config.Limits}
	if u.Scheme == "https" {
		toProxy = toProxy.forProxy()
		tunnel.toProxy = func(ctx context.Context, network, hostport string) (net.Conn, error) {
			conn, err := toProxy.dialTLS(ctx, network, hostport)
			if err != nil {
				return nil, err // a nil *tls.Conn is no nil net.Conn
			}
			return conn, nil
		}
	}
	sent, tunnelled := rs.transport(toProxy), rs.byVersion(rs.connector(tunnel.dial), nil)
	sent.Proxy = http.ProxyURL(u)
	toItself := traced(sent.RoundTrip)
	return &route{
		send: func(ctx *tracedContext, req *http.Request) (*http.Response, error) {
			if req.URL.Scheme == "https" {
				return tunnelled.send(ctx, req)
			}
			return toItself(ctx, req)
		},
		closeIdle: func() { sent.CloseIdleConnections(); tunnelled.closeIdle() },
		absolute:  true,
	}
}

// throughOwn makes the way of the user's client. One that has proxies is copied, to learn how they refuse.
func throughOwn(client *http.Client) *route {
	base := client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	t, ok := base.(*http.Transport)
	if !ok || t.Proxy == nil {
		return &route{send: traced(withoutRedirects(client, client.Transport))}
	}
	t = t.Clone()
	tellRefusals(t)
	return &route{send: traced(withoutRedirects(client, t)), closeIdle: t.CloseIdleConnections}
}

// throughClient makes of the user's client one that goes through a proxy, which learns the agent where TLS goes through
// it.
func throughClient(client *http.Client, u *url.URL, agent string) (*route, error) {
	base := client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	t, ok := base.(*http.Transport)
	if !ok {
		return nil, errProxyClient
	}
	t = t.Clone()
	tellRefusals(t)
	t.Proxy = http.ProxyURL(u)
	if t.ProxyConnectHeader.Get("User-Agent") == "" {
		if t.ProxyConnectHeader == nil {
			t.ProxyConnectHeader = make(http.Header)
		}
		t.ProxyConnectHeader.Set("User-Agent", agent)
	}
	return &route{send: traced(withoutRedirects(client, t)), closeIdle: t.CloseIdleConnections, absolute: u.Scheme != "socks5"}, nil
}

// socksDial connects through a SOCKS5 proxy (RFC 1928), which looks names up. net/http could do so too, but it
// would wait without end for a proxy that accepts a connection and then says nothing.
func socksDial(u *url.URL, dialer *net.Dialer) (dialFunc, error) {
	var auth *proxy.Auth
	if u.User != nil {
		password, _ := u.User.Password()
		auth = &proxy.Auth{User: u.User.Username(), Password: password}
	}
	socks, err := proxy.SOCKS5("tcp", proxyHostport(u), auth, dialer)
	if err != nil {
		return nil, fmt.Errorf("socks5: %w", err)
	}
	through, ok := socks.(proxy.ContextDialer)
	if !ok {
		return nil, errProxyScheme
	}
	return func(ctx context.Context, network, hostport string) (net.Conn, error) {
		if dialer.Timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, dialer.Timeout)
			defer cancel()
		}
		return through.DialContext(ctx, network, hostport)
	}, nil
}

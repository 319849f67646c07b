package fetch

import (
	"context"
	"crypto/tls"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Limits bound each exchange of a [Client]. A field that is zero sets no bound; Ratio and Header have defaults.
type Limits struct {
	Body         int64         // largest body in memory, in bytes
	Spool        int64         // largest body in a file, in bytes
	Ratio        int64         // how many times larger decoding may make a body, above its first MiB (0: 1,000; negative: any number)
	Header       int64         // size of a response's header, in bytes (0: 1 MiB)
	HeaderFields int           // number of its fields
	Connect      time.Duration // to connect to one address
	Handshake    time.Duration // of TLS
	FirstByte    time.Duration // from the request, its body included, to the header of the response
	Idle         time.Duration // without another byte of a body
	MinRate      int64         // bytes of a body per second, after its first 10 s
}

const (
	unlimited     = 1 << 62
	defaultHeader = 1 << 20
)

// withDefaults replaces the zeros that have another meaning below.
func (l Limits) withDefaults() Limits {
	for _, size := range []*int64{&l.Body, &l.Spool} {
		if *size == 0 {
			*size = unlimited
		}
	}
	if l.Header == 0 {
		l.Header = defaultHeader
	}
	if l.HeaderFields == 0 {
		l.HeaderFields = math.MaxInt
	}
	return l
}

// Config configures a [Client]. With the zero value it connects to public addresses only.
type Config struct {
	Limits       Limits
	Agent        string         // User-Agent of requests that have none
	AllowPrivate []netip.Prefix // special-purpose addresses that may be dialled
	Loopback     *Loopback      // addresses of this machine that may be dialled; nil: none
	HTTP         *http.Client   // sends the requests, redirects off; nil: the Client makes its own connections
	TLS          *tls.Config    // of the Client's own connections; nil: the default
	Concurrency  int            // how many exchanges run at once; as many idle connections to one host are kept, and 64 at least
	Bodies       *Budget        // of the bodies in memory; nil: no bound
}

// Client makes HTTP exchanges. It follows no redirects, and keeps one set of connections for itself and one for each
// proxy. It may be used concurrently. Make one with [New], and close it.
type Client struct {
	config   Config
	routes   *routes
	decoders httpx.Decoders
}

// New returns a client.
func New(c Config) *Client {
	c.Limits = c.Limits.withDefaults()
	return &Client{config: c, routes: newRoutes(c)}
}

// Close closes all connections, and those that are still being made. An exchange that is running fails.
func (c *Client) Close() { c.routes.close() }

// Do makes one exchange in the caller's goroutine. It ends with ctx, and at the request's timeout: then the error is the
// cause of that, such as a [*TimeoutError].
//
// The answer is not nil if its header has come and was good, even with an error: then a [*TruncatedBodyError] says where its
// body broke off. Any status code of 200 and more is an answer. gzip, deflate, br and zstd are asked for and removed; a request
// with an Accept-Encoding of its own, or with a Range, asks for no others.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	x := &exchange{client: c, r: r}
	defer x.end()
	x.begin(ctx)
	answer, err := x.run()
	if err == nil {
		return answer, nil
	}
	// If the time ran out or the request was given up, net/http's error is only the effect.
	if cause := context.Cause(x.life); cause != nil {
		return nil, cause
	}
	return answer, err
}

// Respond makes an answer of a response that was kept, within the limits of an exchange: the body goes where the request wants it. A
// content coding that the header names is removed. The body, which may be nil, is not closed, and the header is not changed.
func (c *Client) Respond(ctx context.Context, r Request, status int, header http.Header, body io.Reader) (*Answer, error) {
	x := &exchange{client: c, r: r}
	defer x.end()
	x.begin(ctx)
	x.url, _ = urlx.CutFragment(urlx.MergeParams(r.URL, r.Params))
	if body == nil {
		body = http.NoBody
	}
	kept := &http.Response{StatusCode: status, Header: maps.Clone(header), Body: io.NopCloser(body), ContentLength: -1}
	answer, err := x.receive(kept)
	if err == nil {
		return answer, nil
	}
	if cause := context.Cause(x.life); cause != nil {
		return nil, cause
	}
	return answer, err
}

// Dial connects to a host:port as exchanges do: the guard judges the addresses. Close closes the connection.
func (c *Client) Dial(ctx context.Context, hostport string) (net.Conn, error) {
	return tracked(c.routes.guard.dial, &c.routes.live)(ctx, "tcp", hostport)
}

// FirstAddr returns the address of a URL's host that is dialled first, which is where most connections lead. ok is false
// if none can be found, or none may be dialled: Do says why.
func (c *Client) FirstAddr(ctx context.Context, url string) (addr netip.Addr, ok bool) {
	return c.routes.guard.first(ctx, url)
}

// withoutRedirects returns a func that sends requests as the user's client does, by a transport. A redirect is an answer
// like any other.
func withoutRedirects(c *http.Client, t http.RoundTripper) func(*http.Request) (*http.Response, error) {
	if t == nil {
		t = http.DefaultTransport
	}
	plain := *c
	plain.Transport = locationHider{t}
	plain.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(r *http.Request) (*http.Response, error) {
		resp, err := plain.Do(r) //nolint:bodyclose // its caller does
		if err == nil {
			move(resp.Header, hiddenLocation, "Location")
		}
		return resp, err
	}
}

// locationHider hides the Location of a response from an http.Client, which reads it even where it does not follow it:
// a Location that is not a URL would be the end of the response.
type locationHider struct{ http.RoundTripper }

// hiddenLocation is a name that http.Header.Get does not find, and that cannot come over a connection.
const hiddenLocation = "location"

// RoundTrip hides the header's Location.
func (h locationHider) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := h.RoundTripper.RoundTrip(r)
	if err != nil || resp == nil || resp.Header["Location"] == nil {
		return resp, err
	}
	hidden := *resp // the transport may keep its own
	hidden.Header = maps.Clone(resp.Header)
	move(hidden.Header, "Location", hiddenLocation)
	return &hidden, nil
}

// move gives a header field another name.
func move(header map[string][]string, from, to string) {
	if values, ok := header[from]; ok {
		delete(header, from)
		header[to] = values
	}
}

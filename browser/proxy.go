package browser

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria"
)

// proxy is the way of tabs to the network: an HTTP proxy on loopback, which dials by the network of the run. It serves only visits
// that it has admitted, each by a password of its own. Chromium itself is configured with another proxy, which refuses everything: what
// Chromium asks for of its own accord leaves this machine never.
type proxy struct {
	network  tegenaria.Network
	pages    *http.Server
	own      *http.Server
	address  string // of the proxy of pages
	nowhere  string // of the proxy that refuses
	ownCalls *atomic.Int64
	run      context.Context // ends with the run
	end      context.CancelFunc

	serving sync.WaitGroup // of both servers
	mu      sync.Mutex     // guards visits
	visits  map[string]*visit
}

// maxTunnels is how many connections by CONNECT a visit has at a time. Chromium itself has at most 32 to a proxy, and 255 for the
// WebSockets to a host.
const maxTunnels = 64

// proxyUser is the user name of all visits; their passwords differ.
const proxyUser = "tab"

// newProxy starts the two proxies. ownCalls counts the calls that are refused to Chromium itself.
func newProxy(network tegenaria.Network, ownCalls *atomic.Int64) (*proxy, error) {
	pages, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		pages.Close()
		return nil, err
	}
	p := silentProxy(network)
	p.ownCalls, p.address, p.nowhere = ownCalls, pages.Addr().String(), own.Addr().String()
	quiet := log.New(io.Discard, "", 0)
	p.pages = &http.Server{Handler: p, ErrorLog: quiet}
	p.own = &http.Server{Handler: http.HandlerFunc(p.refuse), ErrorLog: quiet}
	p.serving.Go(func() { p.pages.Serve(pages) })
	p.serving.Go(func() { p.own.Serve(own) })
	return p, nil
}

// silentProxy returns a proxy that does not listen, for a Chromium that runs elsewhere.
func silentProxy(network tegenaria.Network) *proxy {
	p := &proxy{network: network, visits: make(map[string]*visit)}
	p.run, p.end = context.WithCancel(context.Background())
	return p
}

// close ends both proxies, if they listen. All visits have ended.
func (p *proxy) close() {
	if p.pages == nil {
		return
	}
	p.pages.Close()
	p.own.Close()
	p.serving.Wait()
}

// refuse is the proxy of Chromium itself.
func (p *proxy) refuse(w http.ResponseWriter, _ *http.Request) {
	p.ownCalls.Add(1)
	w.WriteHeader(http.StatusForbidden)
}

// visit is what one tab does in the network.
type visit struct {
	proxy    *proxy
	password string
	life     context.Context // of the connections
	end      context.CancelFunc
	forward  *httputil.ReverseProxy
	idle     *http.Transport // of forward

	tunnels chan struct{}  // has room for those that are open
	running sync.WaitGroup // of the requests
	mu      sync.Mutex     // guards the fields below
	over    bool
	failed  map[string]error // why a host:port could not be reached
}

// admit begins a visit.
func (p *proxy) admit() *visit {
	v := &visit{proxy: p, password: rand.Text(), failed: make(map[string]error), tunnels: make(chan struct{}, maxTunnels)}
	v.life, v.end = context.WithCancel(context.Background())
	v.idle = &http.Transport{DialContext: v.dial, DisableCompression: true}
	v.forward = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host },
		Transport:     v.idle,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		// To Chromium the connection breaks: any response would be taken for that of the site.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == http.StatusProxyAuthRequired { // the site must not speak as the proxy
				return errNotTheProxy
			}
			return nil
		},
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.visits[v.password] = v
	return v
}

var errNotTheProxy = errors.New("a site answers as if it were a proxy")

// leave ends the visit, and all its connections.
func (v *visit) leave() {
	v.proxy.mu.Lock()
	delete(v.proxy.visits, v.password)
	v.proxy.mu.Unlock()
	v.mu.Lock()
	v.over = true
	v.mu.Unlock()
	v.end()
	v.running.Wait()
	v.idle.CloseIdleConnections()
}

// enter begins a request of the visit, unless it is over.
func (v *visit) enter() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return false
	}
	v.running.Add(1)
	return true
}

// dial connects to a host:port, and notes why it cannot.
func (v *visit) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := v.proxy.network.Dial(ctx, network, address)
	if err != nil {
		v.mu.Lock()
		v.failed[strings.ToLower(address)] = err
		v.mu.Unlock()
	}
	return conn, err
}

// whyNot returns why the host of a URL could not be reached; nil if it could.
func (v *visit) whyNot(rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failed[strings.ToLower(net.JoinHostPort(u.Hostname(), port))]
}

// ServeHTTP serves a request of a tab.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	v := p.visits[passwordOf(r)]
	p.mu.Unlock()
	if v == nil || !v.enter() {
		w.Header().Set("Proxy-Authenticate", `Basic realm="tegenaria"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	defer v.running.Done()
	if r.Method == http.MethodConnect {
		v.tunnel(w, r)
		return
	}
	if r.URL.Scheme != "http" || r.URL.Host == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	tab := http.NewResponseController(w)
	defer context.AfterFunc(v.life, func() {
		cancel()
		tab.SetWriteDeadline(time.Unix(1, 0)) // the tab may read no more
	})()
	v.forward.ServeHTTP(w, r.WithContext(ctx))
}

// passwordOf returns the password that a request to a proxy has (RFC 7617); "" if it has none.
func passwordOf(r *http.Request) string {
	encoded, _ := strings.CutPrefix(r.Header.Get("Proxy-Authorization"), "Basic ")
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return ""
	}
	_, password, _ := strings.Cut(string(decoded), ":")
	return password
}

// tunnel connects the tab with a host:port (RFC 9110 §9.3.6), until one of them closes the connection or the visit ends.
func (v *visit) tunnel(w http.ResponseWriter, r *http.Request) {
	select {
	case v.tunnels <- struct{}{}:
		defer func() { <-v.tunnels }()
	default:
		w.WriteHeader(http.StatusForbidden)
		return
	}
	ctx, cancel := context.WithCancel(v.life)
	defer cancel()
	defer context.AfterFunc(r.Context(), cancel)()
	site, err := v.dial(ctx, "tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	defer site.Close()
	tab, in, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer tab.Close()
	defer context.AfterFunc(v.life, func() { site.Close(); tab.Close() })()
	if _, err := io.WriteString(tab, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		io.Copy(site, in)
		site.Close()
	})
	io.Copy(tab, site)
	tab.Close()
	sending.Wait()
}

package browser_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/spidertest"
)

// witness counts what arrives at a port of this machine, by TCP and by UDP.
type witness struct {
	address     string
	connections atomic.Int64
	datagrams   atomic.Int64
	paths       sync.Map // that were asked for
}

// newWitness opens the same port for both, and for TCP at ::1 too. It answers TCP as a web server does, so that ways
// that need several requests go on.
func newWitness(t *testing.T) *witness {
	t.Helper()
	w := new(witness)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.paths.Store(r.URL.Path, true)
		fmt.Fprint(out, "private")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			w.connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	w.address = server.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(w.address)
	six := httptest.NewUnstartedServer(server.Config.Handler)
	six.Config.ConnState = server.Config.ConnState
	six.Listener.Close()
	var err error
	if six.Listener, err = net.Listen("tcp", net.JoinHostPort("::1", port)); err != nil {
		t.Fatal(err)
	}
	six.Start()
	t.Cleanup(six.Close)
	udp, err := net.ListenPacket("udp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for buf := make([]byte, 2048); ; w.datagrams.Add(1) {
			if _, _, err := udp.ReadFrom(buf); err != nil {
				return
			}
		}
	})
	t.Cleanup(func() { udp.Close(); reading.Wait() })
	return w
}

// ways are those by which a page reaches a server, for its address.
var ways = []struct{ name, html, path string }{ // no path: Chromium opens it to nobody
	{"img", `<img src="http://%[1]s/img">`, "/img"},
	{"css", `<link rel="stylesheet" href="http://%[1]s/css">`, "/css"},
	{"iframe", `<iframe src="http://%[1]s/iframe"></iframe>`, "/iframe"},
	{"object", `<object data="http://%[1]s/object"></object>`, "/object"},
	{"fetch", `<script>fetch("http://%[1]s/fetch", {mode: "no-cors"}).catch(() => 0)</script>`, "/fetch"},
	{"beacon", `<script>navigator.sendBeacon("http://%[1]s/beacon", "x")</script>`, "/beacon"},
	{"websocket", `<script>new WebSocket("ws://%[1]s/websocket")</script>`, "/websocket"},
	{"eventsource", `<script>new EventSource("http://%[1]s/eventsource")</script>`, "/eventsource"},
	{"worker", `<script>new Worker(URL.createObjectURL(new Blob(["fetch('http://%[1]s/worker', {mode: 'no-cors'}).catch(() => 0)"])))</script>`, "/worker"},
	{"shared worker", `<script>new SharedWorker(URL.createObjectURL(new Blob(["fetch('http://%[1]s/shared', {mode: 'no-cors'}).catch(() => 0)"])))</script>`, "/shared"},
	{"prefetch", `<link rel="prefetch" href="http://%[1]s/prefetch"><link rel="preconnect" href="http://%[1]s">`, "/prefetch"},
	{"popup", `<script>open("http://%[1]s/popup")</script>`, ""},
	{"form", `<iframe name="f"></iframe><form action="http://%[1]s/form" method="post" target="f"></form><script>document.forms[0].submit()</script>`, "/form"},
	{"favicon", `<link rel="icon" href="http://%[1]s/favicon">`, ""},
	{"localhost", `<script>fetch("http://localhost:%[2]s/localhost", {mode: "no-cors"}).catch(() => 0)</script>`, "/localhost"},
	{"redirect of a part", `<script>fetch("/redirect?%[1]s", {mode: "no-cors"}).catch(() => 0)</script>`, "/redirect"},
	{"ipv6", `<script>fetch("http://[::ffff:127.0.0.1]:%[2]s/ipv6", {mode: "no-cors"}).catch(() => 0)</script>`, "/ipv6"},
	{"ipv6 loopback", `<script>fetch("http://[::1]:%[2]s/ipv6-loopback", {mode: "no-cors"}).catch(() => 0)</script>`, "/ipv6-loopback"},
	{"zero", `<script>fetch("http://0:%[2]s/zero", {mode: "no-cors"}).catch(() => 0)</script>`, ""},
	{"service worker", `<script>
		const held = new AbortController()
		fetch("/held", {signal: held.signal}).catch(() => 0)
		navigator.serviceWorker.register("/service?%[1]s")
		navigator.serviceWorker.ready.then(() => held.abort())</script>`, "/service"},
	{"worker of a frame", `<iframe srcdoc='<script>new Worker(URL.createObjectURL(new Blob(["fetch(\"http://%[1]s/inner\", {mode: \"no-cors\"}).catch(() => 0)"])))</script>'></iframe>`, "/inner"},
	{"number", `<script>fetch("http://2130706433:%[2]s/number", {mode: "no-cors"}).catch(() => 0)</script>`, "/number"},
	{"webrtc", `<script>
		const peer = new RTCPeerConnection({iceServers: [{urls: "stun:%[1]s"}, {urls: "turn:%[1]s", username: "x", credential: "x"}, {urls: "turn:%[1]s?transport=tcp", username: "x", credential: "x"}]})
		peer.createDataChannel("x"); peer.createOffer().then(o => peer.setLocalDescription(o))</script>`, ""},
}

// guarded is a site with a page for each way to a witness, and redirects to it.
func guarded(t *testing.T, private string) *httptest.Server {
	t.Helper()
	_, port, _ := net.SplitHostPort(private)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch name, _ := strings.CutPrefix(r.URL.Path, "/way/"); {
		case r.URL.Path == "/redirect":
			http.Redirect(w, r, "http://"+r.URL.RawQuery+"/redirect", http.StatusFound)
		case r.URL.Path == "/held":
			<-r.Context().Done()
		case r.URL.Path == "/service":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprintf(w, `addEventListener("install", e => e.waitUntil(fetch("http://%s/service", {mode: "no-cors"}).catch(() => 0)))`, r.URL.RawQuery)
		default:
			for _, way := range ways {
				if way.name == name {
					w.Header().Set("Content-Type", "text/html")
					fmt.Fprintf(w, "<!doctype html><ul><li>"+way.name+"</ul>"+way.html, private, port)
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// It fails if a page reaches an address that the engine does not dial, by any way; and if a permitted one is out of reach.
func TestAddressGuard(t *testing.T) {
	for _, test := range []struct {
		name    string
		allowed []netip.Prefix
	}{{"refused", nil}, {"allowed", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}} {
		t.Run(test.name, func(t *testing.T) {
			b := openBrowser(t, browser.Options{Block: []browser.Resource{}})
			temporary(t)
			w := newWitness(t)
			server := guarded(t, w.address)
			urls := []string{server.URL + "/redirect?" + w.address}
			for _, way := range ways {
				urls = append(urls, server.URL+"/way/"+strings.ReplaceAll(way.name, " ", "%20"))
			}
			pages, failed := crawl(t, b, urls, nil, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, AllowPrivate: test.allowed}))
			for _, way := range ways {
				path := "/way/" + strings.ReplaceAll(way.name, " ", "%20")
				if got := pages[path]; len(got.texts) != 1 || got.texts[0] != way.name {
					t.Errorf("%s: %q, %v", way.name, got.texts, failed[path])
				}
				if _, reached := w.paths.Load(way.path); test.allowed != nil && way.path != "" && !reached {
					t.Errorf("%s leads nowhere, so the test says nothing about it", way.name)
				}
			}
			connections, datagrams := w.connections.Load(), w.datagrams.Load()
			t.Logf("%d connections, %d datagrams, %d calls of Chromium itself were refused", connections, datagrams, b.OwnCalls())
			if test.allowed == nil && connections+datagrams > 0 {
				t.Errorf("the private port got %d connections and %d datagrams", connections, datagrams)
			}
			if test.allowed != nil && (connections == 0 || pages["/redirect"].text != "private") {
				t.Errorf("the permitted port got %d connections, and the redirect led to %v, %v", connections, pages["/redirect"], failed)
			}
			if datagrams > 0 {
				t.Errorf("%d datagrams went past the proxy", datagrams)
			}
		})
	}
}

// It fails if a page whose host name gets a private address at the second look-up reaches that one.
func TestNameThatTurnsPrivate(t *testing.T) {
	for _, test := range []struct {
		name, allowed, want string
		connections         int64
	}{{"refused", "127.0.0.1/32", "refused", 0}, {"allowed", "127.0.0.0/8", "private", 1}} {
		t.Run(test.name, func(t *testing.T) {
			b := openBrowser(t, browser.Options{Tabs: 1})
			temporary(t)
			var connections atomic.Int64
			site := httptest.NewUnstartedServer(nil)
			site.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				site.Listener.Close() // so that the name is looked up again
				w.Header().Set("Connection", "close")
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, `<!doctype html><ul></ul><script>
					const add = text => document.querySelector("ul").innerHTML = "<li>" + text
					const ask = () => fetch("/private").then(r => r.text()).then(add)
					ask().catch(ask).catch(() => add("refused"))</script>`)
			})
			site.Start()
			t.Cleanup(site.Close)
			_, port, _ := net.SplitHostPort(site.Listener.Addr().String())
			private := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "private") }))
			private.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					connections.Add(1)
				}
			}
			private.Listener.Close()
			var err error
			if private.Listener, err = net.Listen("tcp", net.JoinHostPort("127.0.0.2", port)); err != nil {
				t.Fatal(err)
			}
			private.Start()
			t.Cleanup(private.Close)
			names := spidertest.NewHostileResolver(t, []netip.Addr{netip.MustParseAddr("127.0.0.1")}, []netip.Addr{netip.MustParseAddr("127.0.0.2")})
			system := net.DefaultResolver
			net.DefaultResolver = names.Resolver()
			defer func() { net.DefaultResolver = system }()
			pages, failed := crawl(t, b, []string{"http://turning.example:" + port + "/"}, nil, tegenaria.EngineWithPoliteness(tegenaria.Politeness{
				IgnoreRobots: true, AllowPrivate: []netip.Prefix{netip.MustParsePrefix(test.allowed)}}))
			if got := pages["/"].texts; len(got) != 1 || got[0] != test.want {
				t.Errorf("the page has got %q, %v", got, failed)
			}
			if n := connections.Load(); n != test.connections || names.Lookups() < 2 {
				t.Errorf("%d connections after %d look-ups", n, names.Lookups())
			}
		})
	}
}

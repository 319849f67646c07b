package browser_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

var hostile = flag.Int("hostile", 0, "how many random mixtures of hostile scripts TestHostileMixtures tries, after the single ones")

// hostilePages are the scripts of pages that want the browser for themselves.
var hostilePages = []struct{ name, script string }{
	{"alert", `for (;;) alert(1)`},
	{"confirm", `for (;;) confirm(1)`},
	{"prompt", `for (;;) prompt(1)`},
	{"beforeunload", `onbeforeunload = e => { e.preventDefault(); e.returnValue = 1; return 1 }; setInterval(() => location.reload(), 10)`},
	{"loop", `for (;;);`},
	{"loop later", `setTimeout(() => { for (;;); }, 600)`},
	{"worker loop", `for (let i = 0; i < 8; i++) new Worker(URL.createObjectURL(new Blob(["for (;;);"])))`},
	{"unload loop", `onpagehide = onunload = () => { for (;;); }`},
	{"array", `window.a = new Uint8Array(1 << 30).fill(1)`},
	{"nodes", `for (let i = 0; i < 1e6; i++) document.body.append(document.createElement("p"))`},
	{"frames", `for (let i = 0; i < 1e5; i++) document.body.append(document.createElement("iframe"))`},
	{"recursive frames", `for (let i = 0; i < 2; i++) document.body.append(Object.assign(document.createElement("iframe"), {src: location.pathname + "?" + Math.random()}))`},
	{"popups", `setInterval(() => { open("/popup"); document.querySelector("form").submit() }, 1)`},
	{"reload", `setInterval(() => location.reload(), 1)`},
	{"pushState", `setInterval(() => { for (let i = 0; i < 100; i++) history.pushState({}, "", "?" + Math.random()) }, 1)`},
	{"downloads", `setInterval(() => { const a = document.createElement("a"); a.href = "/endless?" + Math.random(); a.download = "x"; a.click() }, 1)`},
	{"fetches", `setInterval(() => { for (let i = 0; i < 100; i++) fetch("/slow?" + Math.random()).catch(() => 0) }, 10)`},
	{"sockets", `setInterval(() => { for (let i = 0; i < 100; i++) new WebSocket("ws://" + location.host + "/socket") }, 10)`},
	{"write", `setInterval(() => { for (let i = 0; i < 1000; i++) document.write("<p>" + "x".repeat(1000)) }, 1)`},
	{"write loop", `for (;;) document.write("<p>x")`},
	{"endless stream", `fetch("/endless").then(async r => { window.all = []; for await (const c of r.body) all.push(c) })`},
	{"print", `for (let i = 0; i < 100; i++) print()`},
	{"permissions", `document.body.requestFullscreen().catch(() => 0); Notification.requestPermission(); navigator.geolocation.getCurrentPosition(() => 0); navigator.mediaDevices?.getUserMedia({video: true}).catch(() => 0)`},
	{"basic auth", `fetch("/auth"); document.body.append(Object.assign(document.createElement("iframe"), {src: "/auth"}))`},
	{"blobs", `window.all = []; setInterval(() => all.push(new Blob(["x".repeat(1 << 24) + Math.random()])), 10)`},
	{"endless page", `location.href = "/stream"`},
	{"cut script", `document.write("<script src=/cut></" + "script>")`},
	{"promises", `(function f() { Promise.resolve().then(f) })()`},
}

// hostileSite serves hostile pages at /page?s=N&s=M, and counts what is asked of it at one time.
type hostileSite struct {
	*httptest.Server
	fetches, sockets most
}

// most counts what is under way, and how much it was at most.
type most struct{ now, most atomic.Int64 }

// enter counts one until the func that it returns is called.
func (m *most) enter() (leave func()) {
	for n := m.now.Add(1); ; {
		if old := m.most.Load(); n <= old || m.most.CompareAndSwap(old, n) {
			return func() { m.now.Add(-1) }
		}
	}
}

func newHostileSite(t *testing.T) *hostileSite {
	t.Helper()
	s := new(hostileSite)
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *hostileSite) serve(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/page":
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<!doctype html><body><form action="/popup" target="_blank"></form>`)
		for _, n := range r.URL.Query()["s"] {
			i, _ := strconv.Atoi(n)
			fmt.Fprintf(w, "<script>%s</script>", hostilePages[i].script)
		}
	case "/right":
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<!doctype html><ul></ul><script>document.querySelector("ul").innerHTML = "<li>right"</script>`)
	case "/slow":
		defer s.fetches.enter()()
		<-r.Context().Done()
	case "/socket":
		defer s.sockets.enter()()
		conn, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		accept := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) // RFC 6455 §1.3
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
			base64.StdEncoding.EncodeToString(accept[:]))
		io.Copy(io.Discard, in)
	case "/auth":
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	case "/cut":
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, "for (;;) {")
	case "/stream":
		w.Header().Set("Content-Type", "text/html")
		fallthrough
	case "/endless":
		for chunk := bytes.Repeat([]byte("<p>x"), 1<<12); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
}

const (
	hostileTime  = 3 * time.Second  // the timeout of a hostile page
	hostileGrace = 30 * time.Second // for its tab, or the whole browser, to be got rid of
	hostileTabs  = 2
	// What one page may have at a time.
	hostFetches = 6  // of a host
	sockets     = 64 // of all hosts
)

// It fails if a page that does harm gets more than its time, if its end is neither a response nor a typed error, if the page after it
// is not right, or if its memory is not given back.
func TestHostilePages(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: hostileTabs, Settle: 2 * time.Second})
	dir := temporary(t)
	site := newHostileSite(t)
	type hostilePage struct{ name, path string }
	var all []hostilePage
	for i, p := range hostilePages {
		all = append(all, hostilePage{p.name, fmt.Sprintf("/page?s=%d", i)})
	}
	for seed := range *hostile {
		random := rand.New(rand.NewPCG(uint64(seed), 0))
		p := hostilePage{fmt.Sprintf("mixture %d", seed), "/page?"}
		for range 2 + random.IntN(3) {
			i := random.IntN(len(hostilePages))
			p.name, p.path = p.name+", "+hostilePages[i].name, p.path+fmt.Sprintf("s=%d&", i)
		}
		all = append(all, p)
	}
	inRun(t, b, site.URL+"/right", func(get getter) {
		mustBeRight(t, get, site.URL)
		base, _ := shareOf(t, dir)
		for some := range slices.Chunk(all, hostileTabs) {
			var making sync.WaitGroup
			for _, p := range some {
				making.Go(func() {
					t.Run(p.name, func(t *testing.T) {
						begin := time.Now()
						resp, err := get(site.URL+p.path, hostileTime)
						took := time.Since(begin)
						if resp == nil && !isTyped(err) {
							t.Errorf("the error is none of ours: %v", err)
						}
						if took > hostileTime+hostileGrace {
							t.Errorf("it took %v", took)
						}
						mustBeRight(t, get, site.URL)
						t.Logf("%t, %v after %v, and %v for the next", resp != nil, err, took.Round(time.Millisecond), (time.Since(begin) - took).Round(time.Millisecond))
					})
				})
			}
			making.Wait()
			until(t, fmt.Sprintf("memory is back after %v", some), func() bool {
				now, _ := shareOf(t, dir)
				return now < base+256<<10
			})
		}
	})
	t.Logf("at a time: %d fetches, %d sockets", site.fetches.most.Load(), site.sockets.most.Load())
	if n := site.fetches.most.Load(); n > hostileTabs*hostFetches {
		t.Errorf("%d fetches of one host at a time", n)
	}
	if n := site.sockets.most.Load(); n > hostileTabs*sockets {
		t.Errorf("%d sockets at a time", n)
	}
}

// isTyped reports whether an error says what has happened to a page.
func isTyped(err error) bool {
	_, lost := errors.AsType[*browser.LostError](err)
	_, gone := errors.AsType[*browser.NavigationError](err)
	_, large := errors.AsType[*tegenaria.BodyTooLargeError](err)
	_, late := errors.AsType[*tegenaria.TimeoutError](err)
	return lost || gone || large || late
}

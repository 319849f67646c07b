package proxy_test

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/proxy"
)

var (
	squid     = flag.String("squid", "", "the program squid, as one of the proxies of TestServers")
	tinyproxy = flag.String("tinyproxy", "", "the program tinyproxy, as another one")
	danted    = flag.String("danted", "", "the program danted, as another one")
)

// Proxies that are good, and some that are bad in each of the ways that are known, with one that comes back: each page is fetched once,
// nothing directly, nothing that robots.txt forbids, and bad ones get little. As a deep check it takes long enough for
// rests to be over, and has the proxies of others beside ours.
func TestServers(t *testing.T) {
	pages, delay := 400, time.Duration(0)
	if deep.Checks() {
		pages, delay = 1500, 25*time.Millisecond
	}
	s := newSite(t, pages)
	slow := newServer(t, 31, func(http.ResponseWriter, *http.Request) bool { sleep(t, 200*time.Millisecond); return false })
	bad := map[string]*server{
		"cuts":          newServer(t, 41, cut),
		"credentials":   newServer(t, 42, wantsCredentials),
		"ban by 403":    newServer(t, 43, answer(http.StatusForbidden, "go away")),
		"ban by a page": newServer(t, 44, answer(http.StatusOK, "Are you a robot?")),
		"ban by redirect": newServer(t, 45, func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "/challenge", http.StatusFound)
			return true
		}),
		"forbids robots.txt": newServer(t, 46, func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/robots.txt" {
				return cut(w, r)
			}
			w.WriteHeader(http.StatusForbidden)
			return true
		}),
		"dead": newServer(t, 47, nil),
	}
	bad["dead"].Close()
	mortal := newServer(t, 51, nil)
	mortal.behave = func(w http.ResponseWriter, r *http.Request) bool {
		if n := mortal.asked.Load(); n < 20 || n > 24 { // it is down for some requests, and then back
			return false
		}
		return cut(w, r)
	}
	list := []string{newServer(t, 21, nil).URL, strings.Replace(guarded(t, 22).URL, "http://", "http://user:pass@", 1), slow.URL, mortal.URL}
	for _, b := range bad {
		list = append(list, b.URL)
	}
	others := servers(t)
	list = append(list, others...)
	pool := proxy.NewPool(proxy.List(list...), proxy.Options{})
	blocks := middleware.NewBlocks(middleware.BlockRules{Status: []int{403}, Text: []string{"are you a robot"}, Redirect: []string{"/challenge"}})
	late := &lateRequests{isBad: make(map[string]bool)}
	for _, b := range bad {
		late.isBad[b.URL] = true
	}
	e, err := crawl(t, pool, s.URL, tegenaria.EngineWithMiddlewares(blocks, late), tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: delay, PerSlot: 8}))
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, pages)
	st := e.Stats()
	if st.Outcomes[tegenaria.Fetched] != int64(pages)+1 || st.Outcomes[tegenaria.Robots] != 1 {
		t.Errorf("outcomes: %v, %v", st.Outcomes, st.Reasons)
	}
	for name, b := range bad {
		t.Logf("%s: %d requests", name, b.asked.Load())
	}
	if n := late.all.Load(); late.bad.Load() > n/20 || n < int64(pages)-100 {
		t.Errorf("after the first hundred requests bad proxies have had %d of %d", late.bad.Load(), n)
	}
	if n := mortal.asked.Load(); deep.Checks() && n < 30 {
		t.Errorf("the proxy that came back has had %d requests", n)
	}
	for _, p := range st.Proxies {
		t.Logf("%+v", p)
		if strings.Contains(p.Name, "pass") || strings.Contains(p.Name, "wonderland") {
			t.Errorf("a name with a password: %s", p.Name)
		}
		isGood := strings.Contains(p.Name, "user@")
		for _, other := range others {
			isGood = isGood || strings.HasSuffix(p.Name, other[strings.LastIndexByte(other, ':'):])
		}
		if isGood && p.Errors > 0 {
			t.Errorf("%s has failed %d times", p.Name, p.Errors)
		}
	}
}

// lateRequests is a middleware that counts which proxies requests after the first hundred go through.
type lateRequests struct {
	isBad           map[string]bool // by URL
	asked, all, bad atomic.Int64    // all requests; those after the first hundred; bad ones of these
}

func (*lateRequests) GetName() string    { return "late requests" }
func (*lateRequests) GetPriority() int   { return 900 }
func (*lateRequests) SeesInternal() bool { return true }

func (l *lateRequests) ProcessRequest(ctx *tegenaria.Context) error {
	if l.asked.Add(1) > 100 {
		l.all.Add(1)
		if l.isBad[ctx.Request.Proxy.ProxyUrl] {
			l.bad.Add(1)
		}
	}
	return nil
}

func (*lateRequests) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error { return nil }

func sleep(t *testing.T, d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// answer makes what a proxy does that answers everything itself.
func answer(status int, text string) func(w http.ResponseWriter, r *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		io.WriteString(w, text)
		return true
	}
}

// guarded starts a proxy that wants user:pass.
func guarded(t *testing.T, number int) *server {
	return newServer(t, number, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Proxy-Authorization") == "Basic "+base64.StdEncoding.EncodeToString([]byte("user:pass")) {
			return false
		}
		return wantsCredentials(w, r)
	})
}

// servers starts the proxies of others that the flags name. Their requests come from addresses of their own.
func servers(t *testing.T) (urls []string) {
	dir, err := os.MkdirTemp("", "proxies") // and not in t.TempDir: some run as another user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if *squid != "" {
		passwords := write("passwords", "alice:"+wonderland+"\n")
		port := free(t)
		conf := write("squid.conf", fmt.Sprintf(`http_port 127.0.0.1:%d
tcp_outgoing_address 127.0.0.61
auth_param basic program /usr/lib/squid/basic_ncsa_auth %s
auth_param basic realm proxy
acl known proxy_auth REQUIRED
http_access allow known
http_access deny all
cache deny all
shutdown_lifetime 0 seconds
pid_filename none
access_log none
cache_log stdio:%s/squid.log
coredump_dir %s
`, port, passwords, dir, dir))
		urls = append(urls, run(t, fmt.Sprintf("http://alice:wonderland@127.0.0.1:%d", port), *squid, "-N", "-f", conf))
	}
	if *tinyproxy != "" {
		port := free(t)
		conf := write("tinyproxy.conf", fmt.Sprintf("Port %d\nListen 127.0.0.1\nBind 127.0.0.62\nTimeout 60\nMaxClients 50\nAllow 127.0.0.1\nLogFile \"%s/tinyproxy.log\"\n", port, dir))
		urls = append(urls, run(t, fmt.Sprintf("http://127.0.0.1:%d", port), *tinyproxy, "-d", "-c", conf))
	}
	if *danted != "" {
		port := free(t)
		conf := write("danted.conf", fmt.Sprintf(`logoutput: %s/danted.log
internal: 127.0.0.1 port = %d
external: 127.0.0.63
socksmethod: none
clientmethod: none
user.unprivileged: nobody
client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }
socks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }
`, dir, port))
		urls = append(urls, run(t, fmt.Sprintf("socks5://127.0.0.1:%d", port), *danted, "-f", conf, "-p", filepath.Join(dir, "danted.pid")))
	}
	return urls
}

// wonderland is that password as htpasswd -m writes it.
const wonderland = "$apr1$EUWrysDf$A/8HStkZXxPOh50Hv1DSF/"

// free returns a port of loopback that nobody listens on.
func free(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// run starts a program, and returns url when something listens at its port.
func run(t *testing.T, url, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, args...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	port := url[strings.LastIndexByte(url, ':'):]
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for range 1000 {
		conn, err := net.Dial("tcp", "127.0.0.1"+port)
		if err == nil {
			conn.Close()
			return url
		}
		select {
		case <-ended:
			t.Fatalf("%s has ended: %s", program, &said)
		case <-again.C:
		}
	}
	t.Fatalf("%s does not listen", program)
	return ""
}

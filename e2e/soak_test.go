package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/middleware"
)

var (
	soakPages = flag.Int("soak", 1500, "`pages` of TestSoakOfCutConnections")
	soakKills = flag.Int("soak-kills", 4, "SIGKILLs of its child")
	soakSeed  = flag.Uint64("soak-seed", 0, "`seed` of its cuts and kills; 0: 1, or a new one with -deep")
	soakChild = flag.String("soak-child", "", "be the crawler of TestSoakOfCutConnections, with this `URL` as seed")
	soakJob   = flag.String("soak-job", "", "`directory` of the child's job and feed")
)

// soakMain is the child: a crawler with a durable job that ends when the site is fetched.
func soakMain() int {
	err := func() (err error) {
		cache, err := disk.Open(filepath.Join(*soakJob, "job"))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, cache.Close()) }()
		parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
			u := resp.Request().Url
			return errors.Join(out.Item(u[strings.LastIndexByte(u, '/')+1:]), out.FollowLinks())
		}
		return tegenaria.NewSpiderEngine(
			tegenaria.EngineWithSpiders(tegenaria.NewSpider("soak", tegenaria.Handle(parse), *soakChild)),
			tegenaria.EngineWithCache(cache),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 16}),
			tegenaria.EngineWithMiddlewares(middleware.NewRetry(middleware.RetryOptions{Times: 9, Backoff: 10 * time.Millisecond, MaxBackoff: 100 * time.Millisecond})),
			tegenaria.EngineWithPipelines(feed.JSONL(filepath.Join(*soakJob, "pages.jsonl"))),
		).Run(context.Background(), "soak")
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// soakSite serves pages 1 to n, each with links to ten others, and counts what it is asked.
func soakSite(t *testing.T, n int, loop *killtest.Loop) (*httptest.Server, *atomic.Int64) {
	asked := new(atomic.Int64)
	filler := strings.Repeat("spiders and webs ", 400)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		loop.Count()
		i, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil || i < 1 || i > n {
			http.NotFound(w, r)
			return
		}
		var b strings.Builder
		fmt.Fprintf(&b, "<!DOCTYPE html><title>page %d</title><p>%s", i, filler[:i%len(filler)])
		for k := 10*i - 8; k <= min(10*i+1, n); k++ {
			fmt.Fprintf(&b, "<a href=/%d>%d</a>", k, k)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if i%2 == 0 {
			w.Header().Set("Content-Length", strconv.Itoa(b.Len())) // the others come in chunks, if they are long
		}
		io.WriteString(w, b.String())
	}))
	t.Cleanup(site.Close)
	return site, asked
}

// cutProxy forwards TCP connections, and closes each after 1 to 400,000 bytes of what the server sends, every fifth after 300 at
// most, and every other one by RST.
type cutProxy struct {
	listener net.Listener
	to       string
	running  sync.WaitGroup
	cuts     atomic.Int64

	mu  sync.Mutex // guards rnd
	rnd *rand.Rand
}

func newCutProxy(t *testing.T, to string, seed uint64) *cutProxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &cutProxy{listener: listener, to: to, rnd: rand.New(rand.NewPCG(seed, 1))}
	p.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.forward(conn.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.running.Wait()
	})
	return p
}

func (p *cutProxy) forward(client *net.TCPConn) {
	p.mu.Lock()
	most, reset := 1+p.rnd.Int64N(400_000), p.rnd.IntN(2) == 0
	if p.rnd.IntN(5) == 0 {
		most = 1 + p.rnd.Int64N(300) // within the first header, or a little more
	}
	p.mu.Unlock()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		client.Close()
		return
	}
	var asking sync.WaitGroup
	asking.Go(func() {
		io.Copy(server, client)
		server.Close() // the client has gone
	})
	if n, _ := io.CopyN(client, server, most); n == most {
		p.cuts.Add(1)
	}
	if reset {
		client.SetLinger(0)
	}
	client.Close()
	server.Close()
	asking.Wait()
}

// soakFetched reads a feed of page numbers: how often each was fetched.
func soakFetched(t *testing.T, dir string) map[string]int {
	text, err := os.ReadFile(filepath.Join(dir, "pages.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	fetched := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		var page string
		if err := json.Unmarshal([]byte(line), &page); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		fetched[page]++
	}
	return fetched
}

// soakCrawl lets children crawl a site until one of them ends by itself; the others are killed when the site has been
// asked so often, or some milliseconds later.
func soakCrawl(t *testing.T, loop *killtest.Loop, url string, asked *atomic.Int64, kills []int64) map[string]int {
	dir := t.TempDir()
	loop.Next = func(start int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
		var faults []killtest.Fault
		if start < len(kills) {
			faults = []killtest.Fault{{Count: int(max(1, kills[start]-asked.Load())), After: time.Duration(random.IntN(5)) * time.Millisecond}}
		}
		return exec.Command(os.Args[0], "-soak-child", url, "-soak-job", dir), faults
	}
	starts, err := loop.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if starts-1 < len(kills) {
		t.Errorf("%d of %d kills", starts-1, len(kills))
	}
	return soakFetched(t, dir)
}

// What a crawl fetches does not depend on what breaks: through a proxy that closes each connection after 1 to 400,000
// bytes, half of them by RST, and with SIGKILLs of the crawler, it is what a calm crawl fetches, each page once in the
// feed. The long run is -soak 100000 -soak-kills 20. It fails when a header that is cut is a final failure, as
// net/http's "malformed" is.
func TestSoakOfCutConnections(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = deep.Seed()
	}
	t.Logf("-soak-seed %d", seed)
	loop := &killtest.Loop{Seed: seed}
	site, asked := soakSite(t, *soakPages, loop)
	began := time.Now()
	calm := soakCrawl(t, loop, site.URL+"/1", asked, nil)
	t.Logf("calm: %d pages, %d requests, %s", len(calm), asked.Load(), time.Since(began).Round(time.Millisecond))
	proxy := newCutProxy(t, site.Listener.Addr().String(), seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	asked.Store(0)
	var kills []int64
	for i := range int64(*soakKills) {
		share := int64(*soakPages) / int64(*soakKills+1)
		kills = append(kills, i*share+1+rnd.Int64N(share))
	}
	began = time.Now()
	rough := soakCrawl(t, loop, "http://"+proxy.listener.Addr().String()+"/1", asked, kills)
	t.Logf("through the proxy: %d pages, %d requests, %d connections cut, %d kills, %s",
		len(rough), asked.Load(), proxy.cuts.Load(), len(kills), time.Since(began).Round(time.Millisecond))
	if len(calm) != *soakPages || len(rough) != len(calm) {
		t.Errorf("seed %d: %d and %d pages of %d", seed, len(calm), len(rough), *soakPages)
	}
	for page, times := range calm {
		if times != 1 || rough[page] != 1 {
			t.Errorf("seed %d: page %s: %d and %d times", seed, page, times, rough[page])
		}
	}
}

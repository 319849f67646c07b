package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/internal/israce"
)

const (
	weekHosts = 10_000
	weekPages = 10 // of most hosts
	weekEvery = 100
	weekLong  = 29 // of every hundredth: with 6 h of delay that is a week
)

// weekHost is what its server knows of a host.
type weekHost struct {
	delay time.Duration
	pages int
	asked int
	last  time.Time
}

// weekWeb serves pages over pipes: each links to the next one of its host. It is leaner than net/http's server, which
// would take most of the time.
type weekWeb struct {
	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	hosts   map[string]*weekHost
	asked   int
	tooSoon []string
}

func newWeekWeb() *weekWeb {
	w := &weekWeb{hosts: make(map[string]*weekHost)}
	r := rand.New(rand.NewPCG(7, 7))
	const least, most = float64(time.Second), float64(6 * time.Hour)
	for i := range weekHosts {
		h := &weekHost{pages: weekPages, delay: time.Duration(least * math.Pow(most/least, r.Float64())).Round(time.Second)}
		if i%weekEvery == 0 {
			h.pages, h.delay = weekLong, 6*time.Hour
		}
		w.hosts[fmt.Sprintf("h%d.test", i)] = h
	}
	return w
}

func (w *weekWeb) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	w.running.Go(func() { w.serve(far) })
	return near, nil
}

// serve answers the requests of a connection until it is closed.
func (w *weekWeb) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 1024)
	for {
		path, host := "", ""
	header:
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return
			}
			line = bytes.TrimRight(line, "\r\n")
			switch {
			case path == "":
				path = string(bytes.Fields(line)[1])
			case bytes.HasPrefix(line, []byte("Host: ")):
				host = string(line[len("Host: "):])
			}
			if len(line) == 0 {
				break header
			}
		}
		body := w.answer(host, path)
		if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
			return
		}
	}
}

// answer notes a request and makes its page.
func (w *weekWeb) answer(host, path string) string {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.hosts[host]
	if gap := now.Sub(h.last); h.asked > 0 && gap < h.delay && len(w.tooSoon) < 10 {
		w.tooSoon = append(w.tooSoon, fmt.Sprintf("%s%s came %v after the one before, want %v", host, path, gap, h.delay))
	}
	h.last = now
	h.asked++
	w.asked++
	if n, _ := strconv.Atoi(path[1:]); n+1 < h.pages {
		return fmt.Sprintf("<a href=/%d>next</a>", n+1)
	}
	return "the end"
}

// A week of ten thousand hosts, whose delays are between a second and six hours, by the real downloader.
func TestWeekInSeconds(t *testing.T) {
	if israce.Enabled || testing.Short() {
		t.Skip("a hundred thousand downloads: too many under the race detector")
	}
	wall := time.Now()
	var took, longest time.Duration
	var w *weekWeb
	synctest.Test(t, func(t *testing.T) {
		w = newWeekWeb()
		transport := &http.Transport{DialContext: w.dial, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, ReadBufferSize: 1024, WriteBufferSize: 1024}
		policies := make(map[string]tegenaria.SlotPolicy, len(w.hosts))
		s := enginetest.NewSpider()
		s.Start = func(req chan<- *tegenaria.Context) {
			for i := range weekHosts {
				req <- enginetest.Send(fmt.Sprintf("http://h%d.test/0", i))
			}
		}
		pages := 0
		for name, h := range w.hosts {
			policies[name] = tegenaria.SlotPolicy{Delay: h.delay}
			longest = max(longest, h.delay*time.Duration(h.pages-1))
			pages += h.pages
		}
		began := time.Now()
		stats := enginetest.MustRun(t, enginetest.NewEngine(nil, s, tegenaria.EngineWithHTTPClient(&http.Client{Transport: transport}),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Overrides: policies})))
		took = time.Since(began)
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: int64(pages)})
		if w.asked != pages {
			t.Errorf("the web was asked %d times, want %d", w.asked, pages)
		}
		transport.CloseIdleConnections()
		w.running.Wait()
	})
	for _, v := range w.tooSoon {
		t.Error(v)
	}
	if took != longest {
		t.Errorf("the crawl took %v, want the %v of the hosts that take longest", took, longest)
	}
	t.Logf("%d hosts, %d downloads, %v in %v", weekHosts, w.asked, took, time.Since(wall).Round(time.Millisecond))
}

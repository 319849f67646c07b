package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/spidertest"
)

// The politeness witness: a web of many hosts that notes when each request was written, and compares it with what it
// has asked for itself and what the user has set. It knows nothing of the engine.
const (
	witnessHosts     = 200
	witnessPages     = 25 // of each host
	witnessTolerance = 10 * time.Millisecond
	witnessSeed      = 20261121
)

// witnessHost is one host, as planned and as seen.
type witnessHost struct {
	name    string
	delay   time.Duration // the user's
	perSlot int
	crawl   time.Duration // Crawl-delay of its robots.txt
	mode    int           // of its robots.txt
	faults  map[int]int   // by page: what goes wrong the first time

	robotsRun   int // the run in which robots.txt was fetched last
	robotsAsked int // in this run
	obeys       time.Duration
	running     int
	last        time.Time // of the last request of any kind
	blocked     time.Time // nothing may be written before
	since       time.Time // when that was said
	got         map[int]int
	asked       int
}

const (
	robotsWithRules = iota
	robotsWithoutRules
	robotsBusyOnce // 503 with Retry-After, then rules
)

const (
	faultWaitSeconds = iota + 1
	faultWaitDate
	faultNoHeader
	faultServer
	faultCut
)

type politeWitness struct {
	t *testing.T

	mu         sync.Mutex // guards the fields below
	hosts      map[string]*witnessHost
	run        int
	pages      int
	violations []string
	random     *rand.Rand // of latencies
	killAt     int        // pages
	kill       func()
}

func newPoliteWitness(t *testing.T) *politeWitness {
	w := &politeWitness{t: t, hosts: make(map[string]*witnessHost), run: 1}
	w.random = rand.New(rand.NewPCG(witnessSeed, 1))
	r := rand.New(rand.NewPCG(witnessSeed, 0))
	for i := range witnessHosts {
		h := &witnessHost{
			name:    fmt.Sprintf("h%d.test", i),
			delay:   []time.Duration{0, 200 * time.Millisecond, time.Second, 3 * time.Second}[r.IntN(4)],
			perSlot: []int{1, 2, 4}[r.IntN(3)],
			crawl:   []time.Duration{0, 0, 2 * time.Second, 5 * time.Second}[r.IntN(4)],
			mode:    r.IntN(3),
			faults:  make(map[int]int), got: make(map[int]int),
		}
		if h.mode == robotsWithoutRules {
			h.crawl = 0
		}
		for page := range witnessPages {
			if r.IntN(4) == 0 {
				h.faults[page] = 1 + r.IntN(faultCut)
			}
		}
		w.hosts[h.name] = h
	}
	return w
}

func (w *politeWitness) violation(format string, args ...any) {
	if len(w.violations) < 20 {
		w.violations = append(w.violations, fmt.Sprintf(format, args...))
	}
}

// began judges a request at the moment it was written.
func (w *politeWitness) began(h *witnessHost, path string) {
	now := time.Now()
	if gap, want := now.Sub(h.last), max(h.delay, h.obeys); !h.last.IsZero() && gap < want-witnessTolerance {
		w.violation("run %d: %s%s was written %v after the one before, want %v (delay %v, Crawl-delay %v)", w.run, h.name, path, gap, want, h.delay, h.obeys)
	}
	if h.running >= h.perSlot {
		w.violation("run %d: %s serves %d at once, want at most %d", w.run, h.name, h.running+1, h.perSlot)
	}
	// What was written before the answer had come could not know of it.
	if now.Before(h.blocked.Add(-witnessTolerance)) && now.After(h.since.Add(witnessTolerance)) {
		w.violation("run %d: %s%s was written %v before Retry-After was over", w.run, h.name, path, h.blocked.Sub(now))
	}
	h.last = now
	h.running++
	h.asked++
}

// waitUntil notes what a Retry-After says.
func (h *witnessHost) waitUntil(at time.Time) {
	if h.since = time.Now(); at.After(h.blocked) {
		h.blocked = at
	}
}

func (w *politeWitness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	h := w.hosts[r.Host]
	w.began(h, r.URL.Path)
	latency := time.Duration(10+w.random.IntN(400)) * time.Millisecond
	w.mu.Unlock()
	alive := enginetest.Wait(r.Context(), latency) == nil // or the process that asked is dead
	w.mu.Lock()
	defer w.mu.Unlock()
	h.running--
	switch {
	case !alive:
	case r.URL.Path == "/robots.txt":
		w.robots(h, rw)
	default:
		w.page(h, rw, r)
	}
}

func (w *politeWitness) robots(h *witnessHost, rw http.ResponseWriter) {
	h.robotsAsked++
	if h.mode == robotsBusyOnce && h.robotsRun == 0 && h.robotsAsked == 1 {
		rw.Header().Set("Retry-After", "20")
		rw.WriteHeader(http.StatusServiceUnavailable)
		h.waitUntil(time.Now().Add(20 * time.Second))
		return
	}
	if h.robotsRun == w.run {
		w.violation("run %d: %s: robots.txt was fetched again", w.run, h.name)
	}
	h.robotsRun, h.obeys = w.run, h.crawl
	if h.mode == robotsWithoutRules {
		rw.WriteHeader(http.StatusNotFound)
		return
	}
	fmt.Fprintf(rw, "User-agent: *\nDisallow: /private\nCrawl-delay: %v\n", h.crawl.Seconds())
}

func (w *politeWitness) page(h *witnessHost, rw http.ResponseWriter, r *http.Request) {
	if h.robotsRun != w.run {
		w.violation("run %d: %s%s was fetched before robots.txt", w.run, h.name, r.URL.Path)
	}
	if strings.HasPrefix(r.URL.Path, "/private") && h.mode != robotsWithoutRules {
		w.violation("run %d: %s%s is disallowed", w.run, h.name, r.URL.Path)
	}
	page, err := strconv.Atoi(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
	if err != nil || page >= witnessPages {
		w.violation("%s%s does not exist", h.name, r.URL.Path)
		return
	}
	fault := h.faults[page]
	delete(h.faults, page)
	switch fault {
	case faultWaitSeconds:
		rw.Header().Set("Retry-After", "30")
		rw.WriteHeader(http.StatusTooManyRequests)
		h.waitUntil(time.Now().Add(30 * time.Second))
		return
	case faultWaitDate:
		at := time.Now().Add(40 * time.Second).UTC().Truncate(time.Second)
		rw.Header().Set("Retry-After", at.Format(http.TimeFormat))
		rw.WriteHeader(http.StatusServiceUnavailable)
		h.waitUntil(at)
		return
	case faultNoHeader:
		rw.WriteHeader(http.StatusServiceUnavailable)
		h.waitUntil(time.Now().Add(time.Second)) // at least
		return
	case faultServer:
		rw.WriteHeader(http.StatusInternalServerError)
		return
	case faultCut:
		if conn, _, err := rw.(http.Hijacker).Hijack(); err == nil {
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nnot all")
			conn.Close()
		}
		return
	}
	h.got[page]++
	rw.Header().Set("Content-Type", "text/html")
	for _, next := range []int{2*page + 1, 2*page + 2} {
		if next < witnessPages {
			fmt.Fprintf(rw, "<a href=/%d>next</a> ", next)
		}
	}
	fmt.Fprintf(rw, "<a href=/private/%d>private</a>", page)
	if w.pages++; w.pages == w.killAt {
		w.kill()
	}
}

// deadTransport is the network of a process: nothing of what was under way survives its end.
type deadTransport struct {
	http.RoundTripper
	life context.Context
}

func (d deadTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.life.Err() != nil {
		return nil, enginetest.ErrCrashed
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(d.life, cancel)
	resp, err := d.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	resp.Body = &enginetest.HarnessBody{ReadCloser: resp.Body, End: func() { stop(); cancel() }}
	return resp, nil
}

// crawlOnce runs one process of the job.
func (w *politeWitness) crawlOnce(web *spidertest.Web, cache *enginetest.CrashCache, life context.Context) error {
	overrides := make(map[string]tegenaria.SlotPolicy)
	var seeds []string
	for name, h := range w.hosts {
		overrides[name] = tegenaria.SlotPolicy{Delay: h.delay, PerSlot: h.perSlot}
		seeds = append(seeds, "http://"+name+"/0")
	}
	spider := enginetest.NewSpider(seeds...)
	return tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithLogger(enginetest.Quiet()),
		tegenaria.EngineWithCache(cache),
		tegenaria.EngineWithConcurrency(64),
		tegenaria.EngineWithMiddlewares(middleware.NewRetry(middleware.RetryOptions{})),
		tegenaria.EngineWithHTTPClient(&http.Client{Transport: deadTransport{web.Client().Transport, life}}),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Overrides: overrides}),
	).Run(w.t.Context(), "test")
}

// No host is ever asked faster than it wants or than the user wants, not even around the death of the crawler.
func TestPolitenessWitness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPoliteWitness(t)
		web := spidertest.NewWeb(w)
		defer web.Close()
		store := enginetest.NewCrashStore()
		life, die := context.WithCancel(t.Context())
		defer die()
		first := &enginetest.CrashCache{CrashStore: store}
		var death time.Time
		w.killAt, w.kill = witnessHosts*witnessPages/3, func() {
			first.Kill()
			die()
			death = time.Now()
		}
		if err := w.crawlOnce(web, first, life); !errors.Is(err, enginetest.ErrCrashed) {
			t.Fatalf("the first run returned %v, want its death", err)
		}
		synctest.Wait() // until the server has noticed that those who asked are gone
		w.mu.Lock()
		w.run, w.killAt = 2, 0
		before := w.pages
		for _, h := range w.hosts {
			h.robotsAsked = 0
			if h.since.Equal(death) {
				h.blocked = time.Time{} // what was said in the instant of the death reached nobody
			}
		}
		w.mu.Unlock()
		if err := w.crawlOnce(web, &enginetest.CrashCache{CrashStore: store}, t.Context()); err != nil {
			t.Fatalf("the second run returned %v", err)
		}
		requests := 0
		for _, h := range w.hosts {
			requests += h.asked
			for page := range witnessPages {
				if h.got[page] == 0 {
					w.violation("%s/%d was never fetched", h.name, page)
				}
			}
		}
		for _, v := range w.violations {
			t.Error(v)
		}
		t.Logf("%d requests for %d pages of %d hosts, killed after %d pages", requests, witnessHosts*witnessPages, witnessHosts, before)
	})
}

// slowHosts crawls a fast host, beside slow ones if there are any, and says when the last page of the fast one was
// answered.
func slowHosts(d tegenaria.Downloader, seeds []string, slow map[string]tegenaria.SlotPolicy, opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	s := enginetest.NewSpider(seeds...)
	s.Parse = enginetest.Nothing
	return enginetest.NewEngine(d, s, append([]tegenaria.EngineOption{
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 2, Overrides: slow}),
	}, opts...)...)
}

// slowSeeds are 50 requests for each of 15 hosts with 3 s of delay, and then 200 for a fast one.
func slowSeeds(hosts int, fast string) (seeds []string, slow map[string]tegenaria.SlotPolicy) {
	slow = make(map[string]tegenaria.SlotPolicy)
	for h := range hosts {
		name := fmt.Sprintf("slow%d.test", h)
		slow[name] = tegenaria.SlotPolicy{Delay: 3 * time.Second}
		for i := range 50 {
			seeds = append(seeds, fmt.Sprintf("http://%s/%d", name, i))
		}
	}
	for i := range 200 {
		seeds = append(seeds, fmt.Sprintf("http://%s/%d", fast, i))
	}
	return seeds, slow
}

// Fifteen slow hosts do not slow a fast one.
func TestSlowHostsBesideFastOne(t *testing.T) {
	last := func(hosts int) (took time.Duration) {
		var mu sync.Mutex // guards took
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			seeds, slow := slowSeeds(hosts, "fast.test")
			w := enginetest.NewWorld()
			for _, url := range seeds {
				w.Page(url, enginetest.After(20*time.Millisecond, func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
					if strings.Contains(ctx.Request.Url, "fast") {
						mu.Lock()
						took = max(took, time.Since(began))
						mu.Unlock()
					}
					return enginetest.Text("x")(ctx)
				}))
			}
			stats := enginetest.MustRun(t, slowHosts(w, seeds, slow))
			enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: int64(len(seeds))})
		})
		return took
	}
	alone, beside := last(0), last(15)
	if alone != 2*time.Second || (beside-alone).Abs() > alone/100 {
		t.Errorf("200 pages took %v alone and %v beside 15 slow hosts, want 2s and that ± 1 %%", alone, beside)
	}
}

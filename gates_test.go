package tegenaria_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// throng counts who is there at the same time.
type throng struct {
	mu        sync.Mutex // guards the fields below
	now, peak map[string]int
	served    map[string]int
}

func newThrong() *throng {
	return &throng{now: make(map[string]int), peak: make(map[string]int), served: make(map[string]int)}
}

// enter counts one more in a place until the func it returns is called.
func (c *throng) enter(place string) (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now[place]++
	c.served[place]++
	c.peak[place] = max(c.peak[place], c.now[place])
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now[place]--
	}
}

// A proxy carries at most PerProxy downloads, of all slots together and of Fetch; each proxy is used as far as that allows,
// and a proxy that a middleware chooses counts like one of the request, which the middlewares see once.
func TestPerProxy(t *testing.T) {
	for _, by := range []string{"request", "middleware", "Fetch"} {
		t.Run(by, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				proxies := newThrong()
				const pages, hosts, perProxy, count = 240, 12, 3, 4
				proxyOf := func(n int) tegenaria.Proxy {
					return tegenaria.Proxy{ProxyUrl: fmt.Sprintf("http://user:secret@proxy%d.test:80", n%count)}
				}
				seen := make(map[string]int)
				var mu sync.Mutex
				m := &enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
					mu.Lock()
					defer mu.Unlock()
					if seen[ctx.Request.Url]++; by == "middleware" {
						p := proxyOf(len(seen))
						ctx.Request.Proxy = &p
					}
					return nil
				}}
				w := enginetest.NewWorld()
				s := enginetest.NewSpider()
				s.Parse = enginetest.Nothing
				s.Start = func(req chan<- *tegenaria.Context) {
					for i := range pages {
						url := fmt.Sprintf("http://h%d.test/%d", i%hosts, i)
						w.Page(url, func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
							defer proxies.enter(ctx.Request.Proxy.ProxyUrl)()
							return enginetest.After(time.Second, enginetest.Text("x"))(ctx)
						})
						switch by {
						case "request":
							req <- enginetest.Send(url, tegenaria.RequestWithRequestProxy(proxyOf(i)))
						case "middleware":
							req <- enginetest.Send(url)
						case "Fetch":
							w.Page(url+"/from", enginetest.Text("x"))
							req <- enginetest.Send(url + "/from")
						}
					}
				}
				if by == "Fetch" {
					s.Parse = parserOf(func(ctx *tegenaria.Context) error {
						url := strings.TrimSuffix(ctx.Request.Url, "/from")
						var n int
						fmt.Sscanf(url[strings.LastIndex(url, "/")+1:], "%d", &n)
						_, err := ctx.Fetch(tegenaria.NewRequest(url, tegenaria.GET, nil, tegenaria.RequestWithRequestProxy(proxyOf(n))))
						return err
					})
				}
				began := time.Now()
				stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithConcurrency(32),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerProxy: perProxy})))
				if by != "Fetch" {
					enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: pages})
				}
				for p, peak := range proxies.peak {
					if peak != perProxy {
						t.Errorf("%s carried up to %d downloads, want %d", p, peak, perProxy)
					}
				}
				if len(proxies.peak) != count {
					t.Errorf("%d proxies were used, want %d", len(proxies.peak), count)
				}
				for url, n := range seen {
					if n != 1 {
						t.Errorf("the middleware saw %s %d times", url, n)
					}
				}
				// All proxies always full would take 20 s; Fetch has but the parsers and what they lend.
				if took := time.Since(began); by != "Fetch" && took > 30*time.Second {
					t.Errorf("it took %v, want the proxies to be busy", took)
				}
			})
		})
	}
}

// An address serves at most PerIP downloads, whatever its names; what is under another one is not held up.
func TestPerIP(t *testing.T) {
	addresses := newThrong()
	crowded := make(chan struct{})
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		defer addresses.enter("127.0.0.1")()
		addresses.mu.Lock()
		if addresses.now["127.0.0.1"] > 2 {
			once.Do(func() { close(crowded) })
		}
		addresses.mu.Unlock()
		wait := time.NewTimer(20 * time.Millisecond) // others have the time to come
		defer wait.Stop()
		select {
		case <-crowded:
		case <-wait.C:
		}
	}))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	var seeds []string
	for i := range 24 {
		host := []string{"http://127.0.0.1", "http://localhost", "http://[::ffff:127.0.0.1]"}[i%3]
		seeds = append(seeds, fmt.Sprint(host, port, "/", i))
	}
	s := enginetest.NewSpider(seeds...)
	s.Parse = enginetest.Nothing
	e := enginetest.NewEngine(nil, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerIP: 2}))
	stats := enginetest.MustRun(t, e)
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 24})
	if peak := addresses.peak["127.0.0.1"]; peak > 2 {
		t.Errorf("the address served %d at once, want at most 2", peak)
	}
}

// A crawl that stops does not wait for a gate.
func TestStopAtClosedGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy := tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: "http://proxy.test:80"})
		w, s := enginetest.NewWorld(), enginetest.NewSpider()
		s.Parse = enginetest.Nothing
		s.Start = func(req chan<- *tegenaria.Context) {
			for i := range 5 {
				url := fmt.Sprintf("http://h%d.test/", i)
				w.Page(url, enginetest.After(10*time.Second, enginetest.Text("x")))
				req <- enginetest.Send(url, proxy)
			}
		}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerProxy: 1}))
		began := time.Now()
		var stopping sync.WaitGroup
		stopping.Go(func() {
			enginetest.Sleep(5 * time.Second)
			gated := 0
			for _, slot := range e.Slots() {
				if slot.Gated {
					gated++
				}
			}
			if gated != 4 {
				t.Errorf("%d slots are gated, want 4: %+v", gated, e.Slots())
			}
			e.Stop(t.Context())
		})
		enginetest.WantStopped(t, enginetest.Run(t, e), "stopped")
		stopping.Wait()
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("it took %v, want the 10 s of the one that was under way", took)
		}
	})
}

// A slot with a page budget begins so many downloads; what is left then is filtered at once, however long the delay.
func TestPageBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seeds := enginetest.NewWorld(), []string(nil)
		for i := range 30 {
			for _, host := range []string{"a", "b", "c"} {
				url := fmt.Sprintf("http://%s.test/%d", host, i)
				seeds = append(seeds, url)
				if w.Page(url, enginetest.Text("x")); i < 2 {
					w.Page(url, enginetest.Status(404)) // they count
				}
			}
		}
		began := time.Now()
		e := polite(w, tegenaria.Politeness{Delay: time.Hour, MaxPages: 5, Overrides: map[string]tegenaria.SlotPolicy{
			"b.test": {MaxPages: 12}, "c.test": {},
		}}, seeds)
		stats := enginetest.MustRun(t, e)
		for host, want := range map[string]int{"a.test": 5, "b.test": 12, "c.test": 30} {
			if got := len(w.StartsOf(host, began)); got != want {
				t.Errorf("%d downloads of %s, want %d", got, host, want)
			}
		}
		if n := stats.Reasons["filtered: page-budget"]; n != 25+18 {
			t.Errorf("reasons are %v, want 43 of filtered: page-budget", stats.Reasons)
		}
		if took := time.Since(began); took != 4*time.Hour {
			t.Errorf("it took %v, want the 4 h of four delays of a", took)
		}
	})
}

// A budget holds for what comes later, and for Fetch.
func TestPageBudgetOfFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/1", "/2"))
		s := enginetest.NewSpider("http://a.test/")
		var failed []error
		s.Parse = parserOf(func(ctx *tegenaria.Context) error {
			for i := range 4 {
				w.Page(fmt.Sprintf("http://a.test/%d", i), enginetest.Text("x"))
				if _, err := ctx.Fetch(tegenaria.NewRequest(fmt.Sprintf("http://a.test/%d", i), tegenaria.GET, nil)); err != nil {
					failed = append(failed, err)
				}
			}
			return nil
		})
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, MaxPages: 3})))
		if len(w.Urls()) != 3 || len(failed) != 2 || stats.Reasons["filtered: page-budget"] != 2 {
			t.Errorf("asked %v, %d failed: %v; reasons %v", w.Urls(), len(failed), failed, stats.Reasons)
		}
	})
}

// Slots tells how slots are doing, SetSlot changes them while they wait.
func TestSlotsAndSetSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seeds := enginetest.NewWorld(), []string(nil)
		for i := range 10 {
			seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i))
			w.Page(seeds[i], enginetest.Text("x"))
		}
		e := polite(w, tegenaria.Politeness{Delay: time.Hour, PerSlot: 2, MaxPages: 6}, seeds)
		if e.Slots() != nil || e.SetSlot("a.test", tegenaria.SlotPolicy{}) == nil {
			t.Error("there are slots before there is a run")
		}
		began := time.Now()
		var control sync.WaitGroup
		control.Go(func() {
			enginetest.Sleep(90 * time.Minute)
			if e.SetSlot("a.test", tegenaria.SlotPolicy{Delay: -1}) == nil {
				t.Error("a negative delay was taken")
			}
			want := tegenaria.SlotStatus{Name: "a.test", Pending: 8, PerSlot: 2, Delay: time.Hour, Next: began.Add(2 * time.Hour), Pages: 2, MaxPages: 6}
			if got := e.Slots(); len(got) != 1 || got[0] != want {
				t.Errorf("slots are %+v,\nwant %+v", got, want)
			}
			if err := e.SetSlot("a.test", tegenaria.SlotPolicy{Delay: 10 * time.Minute, MaxPages: 8}); err != nil {
				t.Error(err)
			}
		})
		enginetest.MustRun(t, e)
		control.Wait()
		const m = time.Minute
		want := []time.Duration{0, 60 * m, 90 * m, 100 * m, 110 * m, 120 * m, 130 * m, 140 * m}
		if got := w.StartsOf("a.test", began); !slices.Equal(got, want) {
			t.Errorf("downloads began at %v, want %v", got, want)
		}
	})
}

// A page budget that was used up may be raised: what was filtered stays so, what comes later is asked.
func TestSetSlotRaisesBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := enginetest.NewWorld(), enginetest.NewSpider()
		s.Parse = enginetest.Nothing
		var e *tegenaria.SpiderEngine
		s.Start = func(req chan<- *tegenaria.Context) {
			for i := range 6 {
				if i == 4 {
					enginetest.Sleep(time.Minute)
					if err := e.SetSlot("a.test", tegenaria.SlotPolicy{MaxPages: 3}); err != nil {
						t.Error(err)
					}
				}
				req <- enginetest.Send(fmt.Sprintf("http://a.test/%d", i))
			}
		}
		for i := range 6 {
			w.Page(fmt.Sprintf("http://a.test/%d", i), enginetest.Text("x"))
		}
		e = enginetest.NewEngine(w, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, MaxPages: 2}))
		stats := enginetest.MustRun(t, e)
		if len(w.Urls()) != 3 || stats.Reasons["filtered: page-budget"] != 3 {
			t.Errorf("asked %v, reasons %v", w.Urls(), stats.Reasons)
		}
	})
}

// A Crawl-delay is the least there is, up to a cap: above it the host is slowed down, not dropped.
func TestCrawlDelayIsFloor(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name   string
		delay  string
		polite tegenaria.Politeness
		want   time.Duration
	}{
		{"alone", "3", tegenaria.Politeness{}, 3 * s},
		{"above the delay", "3.5", tegenaria.Politeness{Delay: s}, 3500 * time.Millisecond},
		{"below the delay", "3", tegenaria.Politeness{Delay: 5 * s}, 5 * s},
		{"jitter does not undercut it", "3", tegenaria.Politeness{Delay: 3 * s, Jitter: 1e-9}, 3 * s},
		{"above the cap", "86400", tegenaria.Politeness{}, 30 * s},
		{"above a cap of its own", "86400", tegenaria.Politeness{MaxCrawlDelay: 45 * s}, 45 * s},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/robots.txt", enginetest.Text("User-agent: *\nCrawl-delay: "+tt.delay+"\n"))
				seeds := []string{"http://a.test/1", "http://a.test/2"}
				began := time.Now()
				sp := enginetest.NewSpider(seeds...)
				sp.Parse = enginetest.Nothing
				enginetest.MustRun(t, enginetest.NewEngine(w, sp, tegenaria.EngineWithPoliteness(tt.polite)))
				got := w.StartsOf("a.test", began)
				if len(got) != 3 || (got[1]-tt.want).Abs() > time.Millisecond || (got[2]-2*tt.want).Abs() > time.Millisecond {
					t.Errorf("downloads began at %v, want %v apart", got, tt.want)
				}
			})
		})
	}
}

package tegenaria_test

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

const robotsURL = "http://a.test/robots.txt"

// obeying makes an engine that obeys robots.txt.
func obeying(w *world, s tegenaria.SpiderInterface, p tegenaria.Politeness, opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	return newEngine(w, s, append([]tegenaria.EngineOption{tegenaria.EngineWithPoliteness(p)}, opts...)...)
}

func TestRobotsAnswers(t *testing.T) {
	rules := "User-agent: *\nDisallow: /private\nAllow: /private/open\n"
	for _, tt := range []struct {
		name   string
		robots answer
		want   []string // of /, /private, /private/open: which are fetched
		reason string   // of those that are not
	}{
		{"rules", text(rules), []string{"/", "/private/open"}, "robots: forbidden"},
		{"empty", text(""), []string{"/", "/private", "/private/open"}, ""},
		{"404 allows", status(404), []string{"/", "/private", "/private/open"}, ""},
		{"401 allows", status(401), []string{"/", "/private", "/private/open"}, ""},
		{"403 allows", status(403), []string{"/", "/private", "/private/open"}, ""},
		{"500 for ever", status(500), nil, "robots: unreachable"},
		{"429 for ever", status(429), nil, "robots: unreachable"},
		{"503 twice", inTurn(status(503), status(503), text(rules)), []string{"/", "/private/open"}, "robots: forbidden"},
		{"429 three times", inTurn(status(429), status(429), status(429), status(404)), []string{"/", "/private", "/private/open"}, ""},
		{"network error", broken(errors.New("no route")), nil, "failed: robots"},
		{"redirect", redirect(301, "http://b.test/r.txt"), []string{"/", "/private/open"}, "robots: forbidden"},
		{"redirect for ever", redirect(301, robotsURL), []string{"/", "/private", "/private/open"}, ""},
		{"for us", text("User-agent: Tegenaria\nDisallow: /private\n\nUser-agent: *\nDisallow: /\n"), []string{"/"}, "robots: forbidden"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, perSlot := range []int{0, 1} {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld().page(robotsURL, tt.robots).page("http://b.test/r.txt", text(rules))
					paths := []string{"/", "/private", "/private/open"}
					var seeds []string
					for _, p := range paths {
						seeds = append(seeds, "http://a.test"+p)
						w.page("http://a.test"+p, page())
					}
					e := obeying(w, newSpider(seeds...), tegenaria.Politeness{PerSlot: perSlot})
					s := mustRun(t, e)
					var got []string
					for _, p := range paths {
						if n := w.count("http://a.test" + p); n == 1 {
							got = append(got, p)
						} else if n > 1 {
							t.Errorf("%s was asked %d times", p, n)
						}
					}
					if !slices.Equal(got, tt.want) {
						t.Errorf("fetched %q, want %q", got, tt.want)
					}
					if n := int64(len(paths) - len(tt.want)); tt.reason != "" && s.Reasons[tt.reason] != n {
						t.Errorf("reasons %v, want %d times %q", s.Reasons, n, tt.reason)
					}
					if s.RequestDownloaded != int64(len(tt.want)) || s.Responses != int64(len(tt.want)) {
						t.Errorf("robots.txt is in the statistics of pages: %+v", s)
					}
					if s.RobotsRequests == 0 {
						t.Error("RobotsRequests is 0")
					}
				})
			}
		})
	}
}

// A server error is tried again after 2, 8 and 20 s: three times within a minute.
func TestRobotsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld().page(robotsURL, status(500))
		var seeds []string
		for i := range 50 {
			seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i))
		}
		began := time.Now()
		mustRun(t, obeying(w, newSpider(seeds...), tegenaria.Politeness{}))
		var at []time.Duration
		for _, v := range w.visits() {
			at = append(at, v.at.Sub(began))
		}
		if want := []time.Duration{0, 2 * time.Second, 10 * time.Second, 30 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("robots.txt was asked at %v, want %v", at, want)
		}
	})
}

// Back-off and redirects must not let two origins of one slot, or two slots of one origin, wait for each other.
func TestRobotsManyOriginsOfOneSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var seeds []*tegenaria.Context
		for i := range 40 {
			for _, origin := range []string{"http://a.test", "https://a.test", "http://a.test:8080"} {
				url := fmt.Sprintf("%s/%d", origin, i)
				w.page(url, after(10*time.Millisecond, page()))
				seeds = append(seeds, send(url))
				url += "?slot"
				w.page(url, page())
				seeds = append(seeds, send(url, tegenaria.RequestWithSlot(fmt.Sprint("slot ", i%3))))
			}
		}
		for _, origin := range []string{"http://a.test", "https://a.test", "http://a.test:8080"} {
			w.page(origin+"/robots.txt", after(50*time.Millisecond, inTurn(status(500), status(500), status(500), status(404))))
		}
		s := newSpider()
		s.start = func(req chan<- *tegenaria.Context) {
			for _, ctx := range seeds {
				req <- ctx
			}
		}
		stats := mustRun(t, obeying(w, s, tegenaria.Politeness{PerSlot: 2}))
		if stats.Outcomes[tegenaria.Fetched] != int64(len(seeds)) {
			t.Errorf("%d of %d fetched: %v", stats.Outcomes[tegenaria.Fetched], len(seeds), stats.Reasons)
		}
		if stats.RobotsRequests != 3*4 {
			t.Errorf("robots.txt was asked %d times, want 12", stats.RobotsRequests)
		}
	})
}

// The slot waits for robots.txt without a worker: other hosts use all of them meanwhile.
func TestRobotsWaitHoldsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld().page(robotsURL, after(10*time.Second, status(404)))
		var seeds []string
		for i := range 20 {
			seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i))
		}
		for i := range 20 {
			url := fmt.Sprintf("http://b%d.test/", i)
			w.page(url, after(time.Second, page()))
			seeds = append(seeds, url)
		}
		began := time.Now()
		mustRun(t, obeying(w, newSpider(seeds...), tegenaria.Politeness{}, tegenaria.EngineWithConcurrency(2)))
		last := time.Duration(0)
		for _, v := range w.visits() {
			if v.url[:8] == "http://b" {
				last = max(last, v.at.Sub(began))
			}
		}
		// One worker asks for robots.txt of a.test for 10 s; the other one has 10 s for 10 hosts.
		if last > 16*time.Second {
			t.Errorf("the last page of the other hosts began after %s", last)
		}
	})
}

// It is asked once for an origin, by any of the two ways, and again after a day.
func TestRobotsIsKeptForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld().page(robotsURL, text("User-agent: *\nDisallow: /no\n"))
		began := time.Now()
		s := newSpider()
		s.start = func(req chan<- *tegenaria.Context) {
			for i, at := range []time.Duration{0, 23 * time.Hour, 25 * time.Hour, 30 * time.Hour} {
				url := fmt.Sprintf("http://a.test/%d", i)
				w.page(url, page())
				req <- send(url, tegenaria.RequestWithNotBefore(began.Add(at)))
			}
		}
		mustRun(t, obeying(w, s, tegenaria.Politeness{}))
		if n := w.count(robotsURL); n != 2 {
			t.Errorf("robots.txt was asked %d times, want 2", n)
		}
	})
}

func TestRobotsDownloadTakesTheTurnOfTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld().page(robotsURL, status(404)).page("http://a.test/", page("/1", "/2")).
			page("http://a.test/1", page()).page("http://a.test/2", page())
		began := time.Now()
		mustRun(t, obeying(w, newSpider("http://a.test/"), tegenaria.Politeness{Delay: time.Second}))
		var at []time.Duration
		for _, v := range w.visits() {
			at = append(at, v.at.Sub(began))
		}
		if want := []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("downloads began at %v, want %v", at, want)
		}
	})
}

// Fetch obeys robots.txt as well, and says so by a typed error.
func TestRobotsFetch(t *testing.T) {
	for _, tt := range []struct {
		name        string
		robots      answer
		fetched     bool
		unreachable bool
	}{
		{"forbidden", text("User-agent: *\nDisallow: /x\n"), false, false},
		{"unreachable", status(500), false, true},
		{"allowed", status(404), true, false},
		{"503 once", inTurn(status(503), text("")), true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld().page("http://b.test/robots.txt", status(404)).page("http://b.test/", page()).
					page(robotsURL, tt.robots).page("http://a.test/x", text("x"))
				// Requests of the queue wait for the same file.
				w.page("http://a.test/1", page()).page("http://a.test/2", page())
				s := newSpider("http://b.test/", "http://a.test/1", "http://a.test/2")
				s.parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					if ctx.Request.Url != "http://b.test/" {
						return nil
					}
					resp, err := ctx.Fetch(tegenaria.NewRequest("http://a.test/x", tegenaria.GET, nil))
					if tt.fetched {
						if err != nil || resp.String() != "x" {
							t.Errorf("Fetch: %v, %v", resp, err)
						}
						return nil
					}
					var refused *tegenaria.RobotsError
					if !errors.As(err, &refused) || refused.Unreachable != tt.unreachable || refused.URL != "http://a.test/x" {
						t.Errorf("Fetch: %v, want a *RobotsError", err)
					}
					return nil
				}
				stats := mustRun(t, obeying(w, s, tegenaria.Politeness{PerSlot: 1}))
				if n := w.count("http://a.test/x"); (n == 1) != tt.fetched {
					t.Errorf("the page was asked %d times", n)
				}
				if !tt.fetched && stats.Outcomes[tegenaria.Robots] == 0 {
					t.Errorf("outcomes: %v", stats.Outcomes)
				}
			})
		})
	}
}

// A dead robots.txt ends after 15 s, and is the failure of the requests that asked.
func TestRobotsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld().page(robotsURL, func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			return after(time.Hour, status(200))(ctx)
		})
		s := newSpider("http://a.test/")
		e := obeying(w, s, tegenaria.Politeness{})
		began := time.Now()
		mustRun(t, e)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %s", took)
		}
		if herr := s.onlyError(t); herr.Stage != tegenaria.StageRobots {
			t.Errorf("stage is %s: %v", herr.Stage, herr)
		}
	})
}

// A stopping crawl does not ask again; it sends back what waits, and the lane still serves Fetch.
func TestRobotsStop(t *testing.T) {
	for _, tt := range []struct {
		name   string
		robots answer
	}{
		{"while it is asked", after(5*time.Second, status(404))},
		{"while it waits to ask again", status(500)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld().page(robotsURL, tt.robots)
				s := newSpider("http://a.test/1", "http://a.test/2", "http://a.test/3")
				e := obeying(w, s, tegenaria.Politeness{})
				result := make(chan error, 1)
				go func() { result <- run(t, e) }()
				sleep(time.Second)
				began := time.Now()
				if err := e.Stop(t.Context()); err != nil {
					t.Errorf("Stop: %v", err)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("Stop took %s", took)
				}
				wantStopped(t, <-result, "stopped")
				if stats := e.Stats(); stats.Pending != 3 && stats.Pending != 2 {
					t.Errorf("the requests are not pending: %+v", stats)
				}
			})
		})
	}
}

// Fetch in a stopping crawl is served although the queue of the host waits for robots.txt.
func TestRobotsStopServesTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld().page("http://b.test/robots.txt", status(404)).page("http://b.test/", page()).
			page(robotsURL, after(5*time.Second, status(404))).page("http://a.test/x", text("x"))
		s := newSpider("http://b.test/", "http://a.test/1", "http://a.test/2", "http://a.test/3")
		stop := make(chan struct{})
		fetched := false
		s.parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			if ctx.Request.Url != "http://b.test/" {
				return nil
			}
			<-stop
			_, err := ctx.Fetch(tegenaria.NewRequest("http://a.test/x", tegenaria.GET, nil))
			fetched = err == nil
			return err
		}
		e := obeying(w, s, tegenaria.Politeness{})
		result := make(chan error, 1)
		go func() { result <- run(t, e) }()
		sleep(time.Second)
		go func() { sleep(time.Second); close(stop) }()
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		wantStopped(t, <-result, "stopped")
		if !fetched {
			t.Error("Fetch was not served")
		}
	})
}

// internalHooks is a middleware that sees the engine's own requests.
type internalHooks struct {
	hooks
	sees bool
}

func (h *internalHooks) SeesInternal() bool { return h.sees }

func TestRobotsMiddlewaresAndProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld().page(robotsURL, status(404)).page("http://a.test/", page())
		seen := map[string][]string{}
		note := func(name string) func(ctx *tegenaria.Context) error {
			return func(ctx *tegenaria.Context) error {
				seen[name] = append(seen[name], ctx.Request.Url)
				return nil
			}
		}
		s := newSpider()
		proxy := tegenaria.Proxy{ProxyUrl: "http://proxy.test:3128"}
		s.start = func(req chan<- *tegenaria.Context) {
			req <- send("http://a.test/", tegenaria.RequestWithRequestProxy(proxy))
		}
		e := obeying(w, s, tegenaria.Politeness{})
		e.RegisterDownloadMiddlewares(
			&hooks{name: "plain", request: note("plain")},
			&internalHooks{hooks{name: "sees", request: note("sees")}, true},
			&internalHooks{hooks{name: "sees not", request: note("sees not")}, false})
		mustRun(t, e)
		for name, want := range map[string][]string{
			"plain": {"http://a.test/"}, "sees not": {"http://a.test/"}, "sees": {robotsURL, "http://a.test/"},
		} {
			if !slices.Equal(seen[name], want) {
				t.Errorf("middleware %q saw %q, want %q", name, seen[name], want)
			}
		}
		if v := w.visits(); v[0].req.Proxy == nil || *v[0].req.Proxy != proxy {
			t.Errorf("robots.txt was asked through %v, want the request's proxy", v[0].req.Proxy)
		}
	})
}

// A real server sees the agent that robots.txt is matched by.
func TestRobotsOverHTTP(t *testing.T) {
	server, log := serve(t, map[string]string{
		"/robots.txt": "User-agent: spidey\nDisallow: /no\n",
		"/":           `<a href="/no">no</a><a href="/yes">yes</a>`,
		"/yes":        "yes",
	})
	e := newEngine(nil, newSpider(server+"/"), tegenaria.EngineWithPoliteness(tegenaria.Politeness{UserAgent: "spidey/1.0 (+http://x)"}))
	s := mustRun(t, e)
	wantOutcomes(t, s, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Robots: 1})
	for _, r := range log() {
		if r.agent != "spidey/1.0 (+http://x)" {
			t.Errorf("%s was asked by %q", r.target, r.agent)
		}
		if r.target == "/no" {
			t.Error("a forbidden page was asked")
		}
	}
}

// A refused connection fails each request by itself, and the crawl goes on.
func TestRobotsRefusedConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + listener.Addr().String()
	listener.Close()
	server, _ := serve(t, map[string]string{"/": "alive"})
	s := newSpider(dead+"/1", dead+"/2", server+"/")
	e := newEngine(nil, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{}))
	stats := mustRun(t, e)
	wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Failed: 2})
	if stats.Reasons["failed: robots: connection refused"] != 2 {
		t.Errorf("reasons: %v", stats.Reasons)
	}
	for _, herr := range s.errors() {
		var op *net.OpError
		if herr.Stage != tegenaria.StageRobots || !errors.As(herr, &op) {
			t.Errorf("error %v (stage %s), want a *net.OpError of stage robots", herr, herr.Stage)
		}
	}
}

func TestRobotsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld().page(robotsURL, text("User-agent: *\nDisallow: /\n")).page("http://a.test/", page())
		mustRun(t, newEngine(w, newSpider("http://a.test/")))
		if w.count(robotsURL) != 0 || w.count("http://a.test/") != 1 {
			t.Errorf("asked: %q", w.urls())
		}
	})
}

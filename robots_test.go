package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

const robotsURL = "http://a.test/robots.txt"

// obeying makes an engine that obeys robots.txt.
func obeying(w *enginetest.World, s tegenaria.SpiderInterface, p tegenaria.Politeness, opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	return enginetest.NewEngine(w, s, append([]tegenaria.EngineOption{tegenaria.EngineWithPoliteness(p)}, opts...)...)
}

func TestRobotsAnswers(t *testing.T) {
	rules := "User-agent: *\nDisallow: /private\nAllow: /private/open\n"
	for _, tt := range []struct {
		name   string
		robots enginetest.Answer
		want   []string // of /, /private, /private/open: which are fetched
		reason string   // of those that are not
	}{
		{"rules", enginetest.Text(rules), []string{"/", "/private/open"}, "robots: forbidden"},
		{"empty", enginetest.Text(""), []string{"/", "/private", "/private/open"}, ""},
		{"404 allows", enginetest.Status(404), []string{"/", "/private", "/private/open"}, ""},
		{"401 allows", enginetest.Status(401), []string{"/", "/private", "/private/open"}, ""},
		{"403 allows", enginetest.Status(403), []string{"/", "/private", "/private/open"}, ""},
		{"500 for ever", enginetest.Status(500), nil, "robots: unreachable"},
		{"429 for ever", enginetest.Status(429), nil, "robots: unreachable"},
		{"503 twice", enginetest.InTurn(enginetest.Status(503), enginetest.Status(503), enginetest.Text(rules)), []string{"/", "/private/open"}, "robots: forbidden"},
		{"429 three times", enginetest.InTurn(enginetest.Status(429), enginetest.Status(429), enginetest.Status(429), enginetest.Status(404)), []string{"/", "/private", "/private/open"}, ""},
		{"network error", enginetest.Broken(errors.New("no route")), nil, "failed: robots"},
		{"redirect", enginetest.Redirect(301, "http://b.test/r.txt"), []string{"/", "/private/open"}, "robots: forbidden"},
		{"redirect for ever", enginetest.Redirect(301, robotsURL), []string{"/", "/private", "/private/open"}, ""},
		{"for us", enginetest.Text("User-agent: Tegenaria\nDisallow: /private\n\nUser-agent: *\nDisallow: /\n"), []string{"/"}, "robots: forbidden"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, perSlot := range []int{0, 1} {
				synctest.Test(t, func(t *testing.T) {
					w := enginetest.NewWorld().Page(robotsURL, tt.robots).Page("http://b.test/r.txt", enginetest.Text(rules))
					paths := []string{"/", "/private", "/private/open"}
					var seeds []string
					for _, p := range paths {
						seeds = append(seeds, "http://a.test"+p)
						w.Page("http://a.test"+p, enginetest.Page())
					}
					e := obeying(w, enginetest.NewSpider(seeds...), tegenaria.Politeness{PerSlot: perSlot})
					s := enginetest.MustRun(t, e)
					var got []string
					for _, p := range paths {
						if n := w.Count("http://a.test" + p); n == 1 {
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
		w := enginetest.NewWorld().Page(robotsURL, enginetest.Status(500))
		var seeds []string
		for i := range 50 {
			seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i))
		}
		began := time.Now()
		enginetest.MustRun(t, obeying(w, enginetest.NewSpider(seeds...), tegenaria.Politeness{}))
		var at []time.Duration
		for _, v := range w.Visits() {
			at = append(at, v.At.Sub(began))
		}
		if want := []time.Duration{0, 2 * time.Second, 10 * time.Second, 30 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("robots.txt was asked at %v, want %v", at, want)
		}
	})
}

// Back-off and redirects must not let two origins of one slot, or two slots of one origin, wait for each other.
func TestRobotsManyOriginsOfOneSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		var seeds []*tegenaria.Context
		for i := range 40 {
			for _, origin := range []string{"http://a.test", "https://a.test", "http://a.test:8080"} {
				url := fmt.Sprintf("%s/%d", origin, i)
				w.Page(url, enginetest.After(10*time.Millisecond, enginetest.Page()))
				seeds = append(seeds, enginetest.Send(url))
				url += "?slot"
				w.Page(url, enginetest.Page())
				seeds = append(seeds, enginetest.Send(url, tegenaria.RequestWithSlot(fmt.Sprint("slot ", i%3))))
			}
		}
		for _, origin := range []string{"http://a.test", "https://a.test", "http://a.test:8080"} {
			w.Page(origin+"/robots.txt", enginetest.After(50*time.Millisecond, enginetest.InTurn(enginetest.Status(500), enginetest.Status(500), enginetest.Status(500), enginetest.Status(404))))
		}
		s := enginetest.NewSpider()
		s.Start = func(req chan<- *tegenaria.Context) {
			for _, ctx := range seeds {
				req <- ctx
			}
		}
		stats := enginetest.MustRun(t, obeying(w, s, tegenaria.Politeness{PerSlot: 2}))
		if stats.Outcomes[tegenaria.Fetched] != int64(len(seeds)) {
			t.Errorf("%d of %d fetched: %v", stats.Outcomes[tegenaria.Fetched], len(seeds), stats.Reasons)
		}
		if stats.RobotsRequests != 3*4 {
			t.Errorf("robots.txt was asked %d times, want 12", stats.RobotsRequests)
		}
	})
}

// A host with a dot at its end has the robots.txt of the host without it, whichever is asked first; ports and schemes stay apart.
func TestRobotsTrailingDot(t *testing.T) {
	const dotted, plain = "http://a.test./x", "http://a.test/y"
	for _, seeds := range [][]string{{dotted, plain}, {plain, dotted}, {"http://A.TEST.:80/x", plain}} {
		synctest.Test(t, func(t *testing.T) {
			seeds = append(seeds, "http://a.test.:8080/z", "https://a.test./z")
			w := enginetest.NewWorld()
			for _, url := range append(seeds, dotted) {
				w.Page(url, enginetest.Page())
			}
			w.Page(robotsURL, enginetest.Text("User-agent: *\nDisallow: /x\n"))
			w.Page("http://a.test:8080/robots.txt", enginetest.Status(404)).Page("https://a.test/robots.txt", enginetest.Text("User-agent: *\nDisallow: /\n"))
			stats := enginetest.MustRun(t, obeying(w, enginetest.NewSpider(seeds...), tegenaria.Politeness{}))
			enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Robots: 2})
			if stats.RobotsRequests != 3 || w.Count(dotted) != 0 || w.Count("http://a.test.:8080/z") != 1 || w.Count("https://a.test./z") != 0 {
				t.Errorf("%q: %d files were asked for, pages by %v", seeds, stats.RobotsRequests, stats.Reasons)
			}
		})
	}
}

// The slot waits for robots.txt without a worker: other hosts use all of them meanwhile.
func TestRobotsWaitHoldsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page(robotsURL, enginetest.After(10*time.Second, enginetest.Status(404)))
		var seeds []string
		for i := range 20 {
			seeds = append(seeds, fmt.Sprintf("http://a.test/%d", i))
		}
		for i := range 20 {
			url := fmt.Sprintf("http://b%d.test/", i)
			w.Page(url, enginetest.After(time.Second, enginetest.Page()))
			seeds = append(seeds, url)
		}
		began := time.Now()
		enginetest.MustRun(t, obeying(w, enginetest.NewSpider(seeds...), tegenaria.Politeness{}, tegenaria.EngineWithConcurrency(2)))
		last := time.Duration(0)
		for _, v := range w.Visits() {
			if v.Url[:8] == "http://b" {
				last = max(last, v.At.Sub(began))
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
		w := enginetest.NewWorld().Page(robotsURL, enginetest.Text("User-agent: *\nDisallow: /no\n"))
		began := time.Now()
		s := enginetest.NewSpider()
		s.Start = func(req chan<- *tegenaria.Context) {
			for i, at := range []time.Duration{0, 23 * time.Hour, 25 * time.Hour, 30 * time.Hour} {
				url := fmt.Sprintf("http://a.test/%d", i)
				w.Page(url, enginetest.Page())
				req <- enginetest.Send(url, tegenaria.RequestWithNotBefore(began.Add(at)))
			}
		}
		enginetest.MustRun(t, obeying(w, s, tegenaria.Politeness{}))
		if n := w.Count(robotsURL); n != 2 {
			t.Errorf("robots.txt was asked %d times, want 2", n)
		}
	})
}

func TestRobotsDownloadTakesTheTurnOfTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page(robotsURL, enginetest.Status(404)).Page("http://a.test/", enginetest.Page("/1", "/2")).
			Page("http://a.test/1", enginetest.Page()).Page("http://a.test/2", enginetest.Page())
		began := time.Now()
		enginetest.MustRun(t, obeying(w, enginetest.NewSpider("http://a.test/"), tegenaria.Politeness{Delay: time.Second}))
		var at []time.Duration
		for _, v := range w.Visits() {
			at = append(at, v.At.Sub(began))
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
		robots      enginetest.Answer
		fetched     bool
		unreachable bool
	}{
		{"forbidden", enginetest.Text("User-agent: *\nDisallow: /x\n"), false, false},
		{"unreachable", enginetest.Status(500), false, true},
		{"allowed", enginetest.Status(404), true, false},
		{"503 once", enginetest.InTurn(enginetest.Status(503), enginetest.Text("")), true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://b.test/robots.txt", enginetest.Status(404)).Page("http://b.test/", enginetest.Page()).
					Page(robotsURL, tt.robots).Page("http://a.test/x", enginetest.Text("x"))
				// Requests of the queue wait for the same file.
				w.Page("http://a.test/1", enginetest.Page()).Page("http://a.test/2", enginetest.Page())
				s := enginetest.NewSpider("http://b.test/", "http://a.test/1", "http://a.test/2")
				s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
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
				stats := enginetest.MustRun(t, obeying(w, s, tegenaria.Politeness{PerSlot: 1}))
				if n := w.Count("http://a.test/x"); (n == 1) != tt.fetched {
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
		w := enginetest.NewWorld().Page(robotsURL, func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			return enginetest.After(time.Hour, enginetest.Status(200))(ctx)
		})
		s := enginetest.NewSpider("http://a.test/")
		e := obeying(w, s, tegenaria.Politeness{})
		began := time.Now()
		enginetest.MustRun(t, e)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %s", took)
		}
		if herr := s.OnlyError(t); herr.Stage != tegenaria.StageRobots {
			t.Errorf("stage is %s: %v", herr.Stage, herr)
		}
	})
}

// A stopping crawl does not ask again; it sends back what waits, and inline requests are still served.
func TestRobotsStop(t *testing.T) {
	for _, tt := range []struct {
		name   string
		robots enginetest.Answer
	}{
		{"while it is asked", enginetest.After(5*time.Second, enginetest.Status(404))},
		{"while it waits to ask again", enginetest.Status(500)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page(robotsURL, tt.robots)
				s := enginetest.NewSpider("http://a.test/1", "http://a.test/2", "http://a.test/3")
				e := obeying(w, s, tegenaria.Politeness{})
				result := make(chan error, 1)
				go func() { result <- enginetest.Run(t, e) }()
				enginetest.Sleep(time.Second)
				began := time.Now()
				if err := e.Stop(t.Context()); err != nil {
					t.Errorf("Stop: %v", err)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("Stop took %s", took)
				}
				enginetest.WantStopped(t, <-result, "stopped")
				if stats := e.Stats(); stats.Pending != 3 && stats.Pending != 2 {
					t.Errorf("the requests are not pending: %+v", stats)
				}
			})
		})
	}
}

// Fetch in a stopping crawl is served although the queue of the host waits for robots.txt.
func TestRobotsStopServesInlineRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://b.test/robots.txt", enginetest.Status(404)).Page("http://b.test/", enginetest.Page()).
			Page(robotsURL, enginetest.After(5*time.Second, enginetest.Status(404))).Page("http://a.test/x", enginetest.Text("x"))
		s := enginetest.NewSpider("http://b.test/", "http://a.test/1", "http://a.test/2", "http://a.test/3")
		stop := make(chan struct{})
		fetched := false
		s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
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
		go func() { result <- enginetest.Run(t, e) }()
		enginetest.Sleep(time.Second)
		go func() { enginetest.Sleep(time.Second); close(stop) }()
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		enginetest.WantStopped(t, <-result, "stopped")
		if !fetched {
			t.Error("Fetch was not served")
		}
	})
}

// internalHooks is a middleware that sees the engine's own requests.
type internalHooks struct {
	enginetest.Hooks
	sees bool
}

func (h *internalHooks) SeesInternal() bool { return h.sees }

func TestRobotsMiddlewaresAndProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page(robotsURL, enginetest.Status(404)).Page("http://a.test/", enginetest.Page())
		seen := map[string][]string{}
		note := func(name string) func(ctx *tegenaria.Context) error {
			return func(ctx *tegenaria.Context) error {
				seen[name] = append(seen[name], ctx.Request.Url)
				return nil
			}
		}
		s := enginetest.NewSpider()
		proxy := tegenaria.Proxy{ProxyUrl: "http://proxy.test:3128"}
		s.Start = func(req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/", tegenaria.RequestWithRequestProxy(proxy))
		}
		e := obeying(w, s, tegenaria.Politeness{})
		e.RegisterDownloadMiddlewares(
			&enginetest.Hooks{Name: "plain", Request: note("plain")},
			&internalHooks{enginetest.Hooks{Name: "sees", Request: note("sees")}, true},
			&internalHooks{enginetest.Hooks{Name: "sees not", Request: note("sees not")}, false})
		enginetest.MustRun(t, e)
		for name, want := range map[string][]string{
			"plain": {"http://a.test/"}, "sees not": {"http://a.test/"}, "sees": {robotsURL, "http://a.test/"},
		} {
			if !slices.Equal(seen[name], want) {
				t.Errorf("middleware %q saw %q, want %q", name, seen[name], want)
			}
		}
		if v := w.Visits(); v[0].Req.Proxy == nil || *v[0].Req.Proxy != proxy {
			t.Errorf("robots.txt was asked through %v, want the request's proxy", v[0].Req.Proxy)
		}
	})
}

// robots.txt is matched by the product token of the agent that a real server sees, or by that of RobotsAgent.
func TestRobotsOverHTTP(t *testing.T) {
	server, log := enginetest.Serve(t, map[string]string{
		"/robots.txt": "User-agent: spidey\nDisallow: /no\n",
		"/":           `<a href="/no">no</a><a href="/yes">yes</a>`,
		"/yes":        "yes",
	})
	for _, p := range []tegenaria.Politeness{
		{UserAgent: "spidey/1.0 (+http://x)"},
		{UserAgent: "Mozilla/5.0 (compatible; Spidey/1.0; +http://x)"},
		{UserAgent: "Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0", RobotsAgent: "spidey"},
	} {
		asked := len(log())
		s := enginetest.MustRun(t, enginetest.NewEngine(nil, enginetest.NewSpider(server+"/"), tegenaria.EngineWithPoliteness(p)))
		enginetest.WantOutcomes(t, s, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Robots: 1})
		for _, r := range log()[asked:] {
			if r.Agent != p.UserAgent {
				t.Errorf("%s was asked by %q, want %q", r.Target, r.Agent, p.UserAgent)
			}
			if r.Target == "/no" {
				t.Errorf("a page that is forbidden to %+v was asked for", p)
			}
		}
	}
	err := enginetest.Run(t, enginetest.NewEngine(nil, enginetest.NewSpider(server+"/"), tegenaria.EngineWithPoliteness(tegenaria.Politeness{RobotsAgent: "spidey/1.0"})))
	if err == nil || !strings.Contains(err.Error(), "Politeness.RobotsAgent") {
		t.Errorf("a RobotsAgent that is no token: %v", err)
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
	server, _ := enginetest.Serve(t, map[string]string{"/": "alive"})
	s := enginetest.NewSpider(dead+"/1", dead+"/2", server+"/")
	e := enginetest.NewEngine(nil, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{}))
	stats := enginetest.MustRun(t, e)
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Failed: 2})
	if stats.Reasons["failed: robots: connection refused"] != 2 {
		t.Errorf("reasons: %v", stats.Reasons)
	}
	for _, herr := range s.Errors() {
		var op *net.OpError
		if herr.Stage != tegenaria.StageRobots || !errors.As(herr, &op) {
			t.Errorf("error %v (stage %s), want a *net.OpError of stage robots", herr, herr.Stage)
		}
	}
}

func TestRobotsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page(robotsURL, enginetest.Text("User-agent: *\nDisallow: /\n")).Page("http://a.test/", enginetest.Page())
		enginetest.MustRun(t, enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/")))
		if w.Count(robotsURL) != 0 || w.Count("http://a.test/") != 1 {
			t.Errorf("asked: %q", w.Urls())
		}
	})
}

// paced crawls pages one after another and returns when each download began.
func paced(t *testing.T, w *enginetest.World, p tegenaria.Politeness, seeds []*tegenaria.Context) map[string][]time.Duration {
	t.Helper()
	began := time.Now()
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		for _, ctx := range seeds {
			req <- ctx
		}
	}
	enginetest.MustRun(t, obeying(w, s, p))
	at := make(map[string][]time.Duration)
	for _, v := range w.Visits() {
		at[v.Url] = append(at[v.Url], v.At.Sub(began))
	}
	return at
}

// The delay in force is the longest of the user's, Crawl-delay and Request-rate, of which 30 s count.
func TestRobotsPace(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name, robots string
		user         time.Duration
		want         time.Duration
	}{
		{"none", "User-agent: *\n", 0, 0},
		{"Crawl-delay", "User-agent: *\nCrawl-delay: 2\n", 0, 2 * s},
		{"a fraction", "User-agent: *\nCrawl-delay: 0.5\n", 0, s / 2},
		{"Request-rate", "User-agent: *\nRequest-rate: 1/3\n", 0, 3 * s},
		{"Request-rate per minute", "User-agent: *\nRequest-rate: 30/1m\n", 0, 2 * s},
		{"the longer one, delay", "User-agent: *\nCrawl-delay: 4\nRequest-rate: 1/3\n", 0, 4 * s},
		{"the longer one, rate", "User-agent: *\nCrawl-delay: 2\nRequest-rate: 1/3\n", 0, 3 * s},
		{"the user's is longer", "User-agent: *\nCrawl-delay: 2\n", 5 * s, 5 * s},
		{"the user's is shorter", "User-agent: *\nCrawl-delay: 2\n", s, 2 * s},
		{"more than counts", "User-agent: *\nCrawl-delay: 3600\n", 0, 30 * s},
		{"a rate of more than counts", "User-agent: *\nRequest-rate: 1/1h\n", 0, 30 * s},
		{"somebody else's", "User-agent: other\nCrawl-delay: 9\n\nUser-agent: *\nDisallow: /x\n", 0, 0},
		{"nonsense", "User-agent: *\nCrawl-delay: soon\nRequest-rate: 1/0\n", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page(robotsURL, enginetest.Text(tt.robots))
				var seeds []*tegenaria.Context
				var want, got []time.Duration
				for i := range 4 {
					url := fmt.Sprintf("http://a.test/%d", i)
					w.Page(url, enginetest.Page())
					seeds = append(seeds, enginetest.Send(url))
					want = append(want, time.Duration(i+1)*tt.want)
				}
				for url, at := range paced(t, w, tegenaria.Politeness{Delay: tt.user}, seeds) {
					if url != robotsURL {
						got = append(got, at...)
					}
				}
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("pages began at %v, want %v", got, want)
				}
			})
		})
	}
}

// A slot keeps the pace of the slowest of its origins; and all slots of an origin keep its pace, whichever of them
// asked for robots.txt.
func TestRobotsPaceOfSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page(robotsURL, enginetest.Text("User-agent: *\nCrawl-delay: 2\n")).Page("https://a.test/robots.txt", enginetest.Text("User-agent: *\nCrawl-delay: 5\n")).
			Page("http://a.test:8080/robots.txt", enginetest.Status(404))
		var seeds []*tegenaria.Context
		for i := range 3 {
			for _, origin := range []string{"http://a.test", "https://a.test", "http://a.test:8080"} {
				url := fmt.Sprintf("%s/%d", origin, i)
				w.Page(url, enginetest.Page())
				seeds = append(seeds, enginetest.Send(url))
			}
			url := fmt.Sprintf("http://a.test/own/%d", i)
			w.Page(url, enginetest.Page())
			seeds = append(seeds, enginetest.Send(url, tegenaria.RequestWithSlot("own")))
		}
		var slow, own []time.Duration
		for url, at := range paced(t, w, tegenaria.Politeness{}, seeds) {
			switch {
			case url == "http://a.test/own/0" || url == "http://a.test/own/1" || url == "http://a.test/own/2":
				own = append(own, at...)
			case url != robotsURL:
				slow = append(slow, at...)
			}
		}
		slices.Sort(own)
		for i := 1; i < len(own); i++ {
			if own[i]-own[i-1] < 2*time.Second {
				t.Errorf("the slot of its own began at %v", own)
			}
		}
		slices.Sort(slow)
		for i := len(slow) - 5; i < len(slow); i++ { // when all files were known
			if slow[i]-slow[i-1] < 5*time.Second {
				t.Errorf("the host's slot began at %v", slow)
			}
		}
	})
}

// With the file its pace and its rules are new after a day.
func TestRobotsRefreshed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		second  []enginetest.Answer
		gap     time.Duration // between the pages of the second day
		fetched int           // of the second day's three
	}{
		{"faster", []enginetest.Answer{enginetest.Text("User-agent: *\nCrawl-delay: 1\n")}, time.Second, 3},
		{"slower", []enginetest.Answer{enginetest.Text("User-agent: *\nCrawl-delay: 20\n")}, 20 * time.Second, 3},
		{"without delay", []enginetest.Answer{enginetest.Text("User-agent: *\n")}, 0, 3},
		{"gone", []enginetest.Answer{enginetest.Status(404)}, 0, 3},
		{"forbids", []enginetest.Answer{enginetest.Text("User-agent: *\nDisallow: /\n")}, 0, 0},
		{"unreachable", []enginetest.Answer{enginetest.Status(500)}, 4 * time.Second, 3}, // the old rules stay
		{"too many requests", []enginetest.Answer{enginetest.Status(429)}, 4 * time.Second, 3},
		{"network error", []enginetest.Answer{enginetest.Broken(errors.New("no route"))}, 4 * time.Second, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := enginetest.Text("User-agent: *\nCrawl-delay: 4\n")
				w := enginetest.NewWorld().Page(robotsURL, enginetest.InTurn(append([]enginetest.Answer{first}, tt.second...)...))
				began := time.Now()
				var seeds []*tegenaria.Context
				for day := range 2 {
					for i := range 3 {
						url := fmt.Sprintf("http://a.test/%d/%d", day, i)
						w.Page(url, enginetest.Page())
						seeds = append(seeds, enginetest.Send(url, tegenaria.RequestWithNotBefore(began.Add(time.Duration(day)*25*time.Hour))))
					}
				}
				var days [2][]time.Duration
				for url, at := range paced(t, w, tegenaria.Politeness{}, seeds) {
					if url != robotsURL {
						day := int(url[len("http://a.test/")] - '0')
						days[day] = append(days[day], at...)
					}
				}
				for day, want := range []int{3, tt.fetched} {
					if len(days[day]) != want {
						t.Fatalf("%d pages on day %d, want %d", len(days[day]), day, want)
					}
					slices.Sort(days[day])
				}
				for day, gap := range []time.Duration{4 * time.Second, tt.gap} {
					for i := 1; i < len(days[day]); i++ {
						if got := days[day][i] - days[day][i-1]; got != gap {
							t.Errorf("day %d: pages %s apart, want %s", day, got, gap)
						}
					}
				}
			})
		})
	}
}

// Rules that cannot be refreshed stay in force, and the file is asked for again after an hour.
func TestRobotsOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page(robotsURL, enginetest.InTurn(enginetest.Text("User-agent: *\nDisallow: /no\n"), enginetest.Status(503), enginetest.Broken(errors.New("no route")), enginetest.Text("User-agent: *\nDisallow: /\n")))
		began := time.Now()
		var seeds []*tegenaria.Context
		for _, minutes := range []int{0, 25 * 60, 25*60 + 59, 25*60 + 61, 25*60 + 120, 25*60 + 122} {
			for _, path := range []string{"yes", "no"} {
				url := fmt.Sprintf("http://a.test/%s/%d", path, minutes)
				w.Page(url, enginetest.Page())
				seeds = append(seeds, enginetest.Send(url, tegenaria.RequestWithNotBefore(began.Add(time.Duration(minutes)*time.Minute))))
			}
		}
		at := paced(t, w, tegenaria.Politeness{}, seeds)
		var files []time.Duration
		for _, d := range at[robotsURL] {
			files = append(files, d.Round(time.Minute))
		}
		if want := []time.Duration{0, 25 * time.Hour, 25*time.Hour + 61*time.Minute, 25*time.Hour + 122*time.Minute}; !slices.Equal(files, want) {
			t.Errorf("robots.txt was asked for at %v, want %v", files, want)
		}
		delete(at, robotsURL)
		for _, minutes := range []int{0, 25 * 60, 25*60 + 59, 25*60 + 61, 25*60 + 120} { // then all is forbidden
			url := fmt.Sprintf("http://a.test/yes/%d", minutes)
			if len(at[url]) != 1 {
				t.Errorf("%s was asked for %d times", url, len(at[url]))
			}
			delete(at, url)
		}
		if len(at) > 0 {
			t.Errorf("asked for what is forbidden: %v", at)
		}
	})
}

// A pace that the new file repeats holds as long as the new file, for a slot too that has no work in between.
func TestRobotsPaceOutlivesTheFirstFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page(robotsURL, enginetest.Text("User-agent: *\nCrawl-delay: 20\n"))
		began := time.Now()
		var seeds []*tegenaria.Context
		last := 30 * time.Hour
		w.Page("http://b.test/", enginetest.Page()) // which makes the table of slots forget what it may
		seeds = append(seeds, enginetest.Send("http://b.test/", tegenaria.RequestWithNotBefore(began.Add(26*time.Hour))))
		for i, at := range []time.Duration{0, 25 * time.Hour, last, last, last} {
			url := fmt.Sprintf("http://a.test/%d", i)
			w.Page(url, enginetest.Page())
			seeds = append(seeds, enginetest.Send(url, tegenaria.RequestWithNotBefore(began.Add(at))))
		}
		var got []time.Duration
		for url, at := range paced(t, w, tegenaria.Politeness{}, seeds) {
			if url == robotsURL && len(at) != 2 {
				t.Errorf("robots.txt was asked for at %v", at)
			}
			if url != robotsURL && at[0] >= last { // none of b.test is
				got = append(got, at...)
			}
		}
		slices.Sort(got)
		if want := []time.Duration{last, last + 20*time.Second, last + 40*time.Second}; !slices.Equal(got, want) {
			t.Errorf("the last pages began at %v, want %v", got, want)
		}
	})
}

// A request that is given up while it asks for robots.txt leaves the asking to another request of its origin. It fails if
// visit.Abandon does not call abortRobots: then the others wait for ever.
func TestAbandonedRequestAsksNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := &robotsHooks{}
		m.Name = "m"
		var asked atomic.Int64
		m.Request = func(ctx *tegenaria.Context) error {
			if ctx.Request.Url != robotsURL {
				return nil
			}
			if asked.Add(1) == 1 {
				<-release
			}
			return nil
		}
		w := enginetest.NewWorld().Page(robotsURL, enginetest.Text("User-agent: *\nDisallow: /no\n"))
		seeds := []string{"http://a.test/0", "http://a.test/1", "http://a.test/2", "http://a.test/no"}
		for _, url := range seeds {
			w.Page(url, enginetest.Page())
		}
		e := obeying(w, enginetest.NewSpider(seeds...), tegenaria.Politeness{}, tegenaria.EngineWithMiddlewares(m),
			tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}))
		timer := time.AfterFunc(time.Hour, func() { e.Stop(context.Background()) })
		began := time.Now()
		enginetest.WantAbandoned(t, enginetest.Run(t, e))
		timer.Stop()
		if took := time.Since(began); took != 11*time.Second || asked.Load() != 2 || w.Count(robotsURL) != 1 {
			t.Errorf("after %s: robots.txt was begun %d times, %q", took, asked.Load(), w.Urls())
		}
		enginetest.WantOutcomes(t, e.Stats(), map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Robots: 1, tegenaria.Failed: 1})
		close(release)
	})
}

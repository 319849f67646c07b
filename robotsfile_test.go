package tegenaria_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/robots"
)

// Redirects of robots.txt: five are followed, and those that lead nowhere count as no file (RFC 9309 §2.3.1.2).
func TestRobotsRedirects(t *testing.T) {
	const forbids = "User-agent: *\nDisallow: /\n"
	chain := func(w *enginetest.World, hops int) {
		url := robotsURL
		for i := range hops {
			next := fmt.Sprintf("http://r%d.test/x", i)
			w.Page(url, enginetest.Redirect([]int{301, 302, 303, 307, 308}[i%5], next))
			url = next
		}
		w.Page(url, enginetest.Text(forbids))
	}
	for _, tt := range []struct {
		name    string
		build   func(w *enginetest.World)
		fetched bool
		asked   int // requests, redirects included
	}{
		{"none", func(w *enginetest.World) { chain(w, 0) }, false, 1},
		{"five", func(w *enginetest.World) { chain(w, 5) }, false, 6},
		{"six", func(w *enginetest.World) { chain(w, 6) }, true, 6},
		{"to itself", func(w *enginetest.World) { w.Page(robotsURL, enginetest.Redirect(301, "/robots.txt")) }, true, 2},
		{"to itself, with a fragment", func(w *enginetest.World) { w.Page(robotsURL, enginetest.Redirect(301, "/robots.txt#a")) }, true, 2},
		{"in a circle", func(w *enginetest.World) {
			w.Page(robotsURL, enginetest.Redirect(301, "/r")).Page("http://a.test/r", enginetest.Redirect(302, robotsURL))
		}, true, 4},
		{"to a gate page that sends back", func(w *enginetest.World) {
			w.Page(robotsURL, enginetest.InTurn(enginetest.Redirect(302, "/gate"), enginetest.Text(forbids))).Page("http://a.test/gate", enginetest.Redirect(302, robotsURL))
		}, false, 3},
		{"relative", func(w *enginetest.World) {
			w.Page(robotsURL, enginetest.Redirect(301, "r.txt")).Page("http://a.test/r.txt", enginetest.Text(forbids))
		}, false, 2},
		{"to https", func(w *enginetest.World) {
			w.Page(robotsURL, enginetest.Redirect(301, "https://a.test/robots.txt")).Page("https://a.test/robots.txt", enginetest.Text(forbids))
		}, false, 2},
		{"to a page that is missing", func(w *enginetest.World) { w.Page(robotsURL, enginetest.Redirect(301, "/nowhere")) }, true, 2},
		{"to another scheme", func(w *enginetest.World) { w.Page(robotsURL, enginetest.Redirect(301, "ftp://a.test/robots.txt")) }, true, 1},
		{"to no URL", func(w *enginetest.World) { w.Page(robotsURL, enginetest.Redirect(301, "http://[/")) }, true, 1},
		{"without a target", func(w *enginetest.World) { w.Page(robotsURL, enginetest.Status(301)) }, true, 1},
		{"300 and what is no redirect", func(w *enginetest.World) { w.Page(robotsURL, enginetest.Status(304)) }, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page())
				tt.build(w)
				stats := enginetest.MustRun(t, obeying(w, enginetest.NewSpider("http://a.test/"), tegenaria.Politeness{}))
				pages := w.Count("http://a.test/")
				if asked := len(w.Visits()) - pages; pages == 1 != tt.fetched || asked != tt.asked || stats.RobotsRequests != 1 {
					t.Errorf("the page was fetched %d times after %d requests for robots.txt, want %t after %d", pages, asked, tt.fetched, tt.asked)
				}
			})
		})
	}
}

// A robots.txt as servers send it: encoded, compressed, too long, with a body behind any 2xx.
func TestRobotsBodies(t *testing.T) {
	const rules = "User-agent: *\nDisallow: /no\n"
	wide := func(s string) string {
		b := []byte("\xFF\xFE")
		for _, unit := range utf16.Encode([]rune(s)) {
			b = append(b, byte(unit), byte(unit>>8))
		}
		return string(b)
	}
	packed := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	filler := func(size int) string { return strings.Repeat("#\n", size/2) }
	for _, tt := range []struct {
		name, body, coding string
		status             int
		obeyed             bool
	}{
		{"plain", rules, "", 200, true},
		{"UTF-8 BOM", "\uFEFF" + rules, "", 200, true},
		{"UTF-16", wide(rules), "", 200, true},
		{"CRLF", strings.ReplaceAll(rules, "\n", "\r\n"), "", 200, true},
		{"gzip", packed(rules), "gzip", 200, true},
		{"203", rules, "", 203, true},
		{"404 with rules", rules, "", 404, false},
		{"the last that counts", filler(robots.MaxBytes-len(rules)) + rules, "", 200, true},
		{"the first that does not", filler(robots.MaxBytes) + rules, "", 200, false},
		{"a long one, packed", packed(filler(robots.MaxBytes-len(rules)) + rules + filler(1<<20)), "gzip", 200, true},
		{"HTML", "<!DOCTYPE html><title>Disallow: /no</title>", "", 200, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, log := enginetest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/robots.txt" {
					return
				}
				if tt.coding != "" {
					w.Header().Set("Content-Encoding", tt.coding)
				}
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			})
			enginetest.MustRun(t, enginetest.NewEngine(nil, enginetest.NewSpider(server+"/no"), tegenaria.EngineWithPoliteness(tegenaria.Politeness{})))
			asked := false
			for _, r := range log() {
				asked = asked || r.Target == "/no"
			}
			if asked == tt.obeyed {
				t.Errorf("the forbidden page was asked for: %t", asked)
			}
		})
	}
}

// A dead host is named as such: robots.txt is only the first file asked for. Nothing else of it is asked.
func TestRobotsOfADeadHost(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, tt := range []struct {
		name   string
		err    error
		reason string
	}{
		{"refused", dial(syscall.ECONNREFUSED), "robots: connection refused"},
		{"no such host", dial(&net.DNSError{Err: "no such host", Name: "a.test", IsNotFound: true}), "robots: no such host"},
		{"DNS", dial(&net.DNSError{Err: "server misbehaving", Name: "a.test"}), "robots: no answer from DNS"},
		{"timeout", &tegenaria.TimeoutError{URL: "http://a.test/robots.txt"}, "robots: host does not answer"},
		{"no route", dial(syscall.EHOSTUNREACH), "robots: host cannot be reached"},
		{"something else", errBroken, "robots"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := onePage().Page(robotsURL, enginetest.Broken(tt.err)).Page("http://b.test/", enginetest.Text("x")).Page("http://b.test/robots.txt", enginetest.Status(404))
			s := enginetest.NewSpider("http://a.test/", "http://b.test/")
			s.Parse = parserOf(func(ctx *tegenaria.Context) error {
				_, err := get(ctx, "http://a.test/")
				var unreachable *tegenaria.RobotsUnreachableError
				if !errors.As(err, &unreachable) {
					t.Errorf("Fetch returned %v", err)
				}
				return nil
			})
			stats := enginetest.MustRun(t, obeying(w, s, tegenaria.Politeness{}))
			herr := s.OnlyError(t)
			var unreachable *tegenaria.RobotsUnreachableError
			if !errors.As(herr, &unreachable) || unreachable.Origin != "http://a.test" || !errors.Is(herr, tt.err) || !strings.Contains(herr.Error(), errtext.Beside(tt.err, robotsURL)) ||
				herr.Stage != tegenaria.StageRobots {
				t.Errorf("ErrorHandler got %v (stage %s)", herr, herr.Stage)
			}
			if stats.Reasons["failed: "+tt.reason] != 2 || w.Count("http://a.test/") != 0 || !slices.Contains(w.Urls(), "http://b.test/") {
				t.Errorf("reasons %v, asked %q", stats.Reasons, w.Urls())
			}
		})
	}
}

// seesAll is a middleware of funcs that sees the engine's own requests too.
type seesAll struct{ enginetest.Hooks }

func (*seesAll) SeesInternal() bool { return true }

// simpleCache is a middleware that stores the body of all it sees, and answers from that. A full one stores status and
// header too.
type simpleCache struct {
	full   bool
	mu     sync.Mutex // guards stored
	stored map[string]*tegenaria.Response
	robots int // bytes of the largest robots.txt
}

func (*simpleCache) GetName() string { return "simple cache" }

func (*simpleCache) GetPriority() int { return 900 }

func (*simpleCache) SeesInternal() bool { return true }

func (c *simpleCache) ProcessRequest(ctx *tegenaria.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.stored[ctx.Request.Url]; r != nil {
		ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, r.Status, maps.Clone(r.Header), r.Bytes())}
	}
	return nil
}

func (c *simpleCache) ProcessResponse(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	resp := ctx.Response()
	r := tegenaria.NewResponse(nil, http.StatusOK, nil, slices.Clone(resp.Bytes()))
	if c.full {
		r.Status, r.Header = resp.Status, maps.Clone(resp.Header)
	}
	if strings.Contains(resp.URL, "robots") {
		c.robots = max(c.robots, len(resp.Bytes()))
	}
	c.stored[ctx.Request.Url] = r
	return nil
}

// A middleware that sees internal requests sees the body of robots.txt, and may answer the next crawl from it without
// making the crawler disobey. It fails when the body goes to a writer of the engine's own again.
func TestStoredRobotsIsObeyed(t *testing.T) {
	const rules = "User-agent: *\nDisallow: /admin/\n"
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	fmt.Fprint(zip, rules)
	zip.Close()
	long := rules + strings.Repeat("# filler\n", robots.MaxBytes/8)
	for _, tt := range []struct {
		name   string
		serve  func(w http.ResponseWriter, r *http.Request)
		full   bool // alone: without status and header the answer is another one
		allows bool
	}{
		{"plain", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, rules) }, false, false},
		{"gzip", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed.Bytes())
		}, false, false},
		{"longer than counts", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, long) }, false, false},
		{"longer, with its length", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(long)))
			fmt.Fprint(w, long)
		}, false, false},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/rules/robots", http.StatusMovedPermanently)
		}, true, false},
		{"404", func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, true, true},
		{"empty", func(http.ResponseWriter, *http.Request) {}, true, true},
	} {
		for _, full := range []bool{true, false} {
			if tt.full && !full {
				continue
			}
			t.Run(fmt.Sprint(tt.name, " full=", full), func(t *testing.T) {
				server, log := enginetest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
					switch r.URL.Path {
					case "/robots.txt":
						tt.serve(w, r)
					case "/rules/robots":
						fmt.Fprint(w, rules)
					default:
						w.Header().Set("Content-Type", "text/html")
						fmt.Fprint(w, `<a href="/admin/">admin</a>`)
					}
				})
				cache := &simpleCache{full: full, stored: map[string]*tegenaria.Response{}}
				for run := 1; run <= 2; run++ {
					enginetest.MustRun(t, enginetest.NewEngine(nil, enginetest.NewSpider(server+"/"), tegenaria.EngineWithPoliteness(tegenaria.Politeness{}),
						tegenaria.EngineWithMiddlewares(cache)))
					asked := slices.ContainsFunc(log(), func(a enginetest.Asked) bool { return a.Target == "/admin/" })
					if asked != tt.allows {
						t.Errorf("/admin/ was asked for in run %d: %t", run, asked)
					}
				}
				fetched := 0
				for _, a := range log() {
					if a.Target == "/robots.txt" {
						fetched++
					}
				}
				if fetched != 1 {
					t.Errorf("the server was asked for robots.txt %d times, want once", fetched)
				}
				if cache.robots > robots.MaxBytes+1 {
					t.Errorf("a middleware saw %d bytes of robots.txt, want no more than count", cache.robots)
				}
			})
		}
	}
}

// An answer by a middleware from which the rules are missing is a failure that names it, and allows nothing. It fails
// when robotsgate.AnsweredBy.Check lets every answer pass.
func TestRobotsAnswerWithoutBody(t *testing.T) {
	of := func(resp *tegenaria.Response) func(ctx *tegenaria.Context) error {
		return func(ctx *tegenaria.Context) error {
			if ctx.Request.Url == robotsURL {
				ctx.DownloadResult = &tegenaria.RequestResult{Response: resp}
			}
			return nil
		}
	}
	header := func(name, value string) map[string][]string { return map[string][]string{name: {value}} }
	for _, tt := range []struct {
		name    string
		resp    *tegenaria.Response
		allowed bool
		missing string
	}{
		{"200, empty", tegenaria.NewResponse(nil, 200, nil, nil), false, "body"},
		{"200 without Buffer", &tegenaria.Response{Status: 200}, false, "body"},
		{"no status", &tegenaria.Response{}, false, "body"},
		{"206, empty", tegenaria.NewResponse(nil, 206, nil, []byte{}), false, "body"},
		{"200 with another length", tegenaria.NewResponse(nil, 200, header("Content-Length", "10"), nil), false, "body"},
		{"301 without Location", tegenaria.NewResponse(nil, 301, nil, nil), false, "Location"},
		{"304", tegenaria.NewResponse(nil, 304, nil, nil), false, "Location"},
		{"200 that says it is empty", tegenaria.NewResponse(nil, 200, header("Content-Length", "0"), nil), true, ""},
		{"204", tegenaria.NewResponse(nil, 204, nil, nil), true, ""},
		{"404", tegenaria.NewResponse(nil, 404, nil, nil), true, ""},
		{"no rules", tegenaria.NewResponse(nil, 200, nil, []byte("# none\n")), true, ""},
		{"rules", tegenaria.NewResponse(nil, 200, nil, []byte("User-agent: *\nDisallow: /\n")), false, ""},
		{"500", tegenaria.NewResponse(nil, 500, nil, nil), false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/admin/", enginetest.Page())
				s := enginetest.NewSpider("http://a.test/admin/")
				enginetest.MustRun(t, obeying(w, s, tegenaria.Politeness{}, tegenaria.EngineWithMiddlewares(
					&seesAll{enginetest.Hooks{Name: "forgetful", Request: of(tt.resp)}},
					&seesAll{enginetest.Hooks{Name: "innocent", Priority: 1}})))
				if asked := w.Count("http://a.test/admin/") == 1; asked != tt.allowed || w.Count(robotsURL) != 0 {
					t.Errorf("asked for %q", w.Urls())
				}
				if tt.missing == "" {
					return
				}
				var wrong *tegenaria.RobotsAnswerError
				herr := s.OnlyError(t)
				if !errors.As(herr, &wrong) || herr.Stage != tegenaria.StageRobots ||
					*wrong != (tegenaria.RobotsAnswerError{URL: robotsURL, Middleware: "forgetful", Missing: tt.missing}) {
					t.Errorf("%v (stage %s), want a *RobotsAnswerError", herr, herr.Stage)
				}
			})
		})
	}
}

// What middlewares make of the request or the response of robots.txt cannot lose its rules unnoticed. It fails when the
// request's own way for the body is taken, or when its AllowRedirects counts.
func TestMiddlewaresChangeRobots(t *testing.T) {
	const rules = "User-agent: *\nDisallow: /admin/\n"
	type mw = func(ctx *tegenaria.Context)
	for _, tt := range []struct {
		name              string
		request, response mw
		want              []string // paths asked for
		fails             bool
	}{
		{"nothing", nil, nil, []string{"/other/"}, false},
		{"another body", nil, func(ctx *tegenaria.Context) {
			ctx.Response().SetBody([]byte("User-agent: *\nDisallow: /other/\n"))
		}, []string{"/admin/"}, false},
		{"another Buffer", nil, func(ctx *tegenaria.Context) {
			ctx.Response().Buffer = bytes.NewBufferString("User-agent: *\nDisallow: /other/\n")
		}, []string{"/admin/"}, false},
		{"it reads the Buffer", nil, func(ctx *tegenaria.Context) { ctx.Response().Buffer.Reset() }, []string{"/other/"}, false},
		{"no body", nil, func(ctx *tegenaria.Context) { ctx.Response().SetBody(nil) }, nil, true},
		{"no Buffer", nil, func(ctx *tegenaria.Context) { ctx.Response().Buffer = nil }, nil, true},
		{"another response", nil, func(ctx *tegenaria.Context) {
			ctx.DownloadResult.Response = tegenaria.NewResponse(ctx.Request, 200, nil, nil)
		}, nil, true},
		{"404", nil, func(ctx *tegenaria.Context) { ctx.Response().Status = 404; ctx.Response().SetBody(nil) }, []string{"/admin/", "/other/"}, false},
		{"spool", func(ctx *tegenaria.Context) { tegenaria.RequestWithSpool()(ctx.Request) }, nil, []string{"/other/"}, false},
		{"a writer", func(ctx *tegenaria.Context) { ctx.Request.ResponseWriter = new(bytes.Buffer) }, nil, []string{"/other/"}, false},
		{"a request of its own", func(ctx *tegenaria.Context) {
			ctx.Request = tegenaria.NewRequest(ctx.Request.Url, tegenaria.GET, nil, tegenaria.RequestWithSpool())
		}, nil, []string{"/other/"}, false},
		{"no redirects", func(ctx *tegenaria.Context) { ctx.Request.AllowRedirects = false }, nil, []string{"/other/"}, false},
		{"no request", func(ctx *tegenaria.Context) { ctx.Request = nil }, nil, nil, true},
		{"no request with the response", nil, func(ctx *tegenaria.Context) { ctx.Request = nil }, nil, true},
		{"a panic", func(*tegenaria.Context) { panic("internal") }, nil, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, log := enginetest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/robots.txt":
					http.Redirect(w, r, "/rules", http.StatusFound)
				case "/rules":
					fmt.Fprint(w, rules)
				}
			})
			of := func(f mw) func(ctx *tegenaria.Context) error {
				return func(ctx *tegenaria.Context) error {
					if f != nil && (strings.HasSuffix(ctx.Request.Url, "/rules") || strings.HasSuffix(ctx.Request.Url, "/robots.txt")) {
						f(ctx)
					}
					return nil
				}
			}
			response := of(tt.response)
			s := enginetest.NewSpider(server+"/admin/", server+"/other/")
			enginetest.MustRun(t, enginetest.NewEngine(nil, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{}),
				tegenaria.EngineWithMiddlewares(&seesAll{enginetest.Hooks{Name: "busy", Request: of(tt.request),
					Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
						if strings.HasSuffix(ctx.Request.Url, "/rules") {
							return response(ctx)
						}
						return nil
					}}})))
			var got []string
			for _, a := range log() {
				if a.Target == "/admin/" || a.Target == "/other/" {
					got = append(got, a.Target)
				}
			}
			if slices.Sort(got); !slices.Equal(got, tt.want) {
				t.Errorf("asked for %q, want %q", got, tt.want)
			}
			if errs := s.Errors(); len(errs) > 0 != tt.fails {
				t.Errorf("errors: %v", errs)
			}
		})
	}
}

// Of a robots.txt without end no more is downloaded than counts.
func TestEndlessRobots(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			return
		}
		line := strings.Repeat("# nothing that counts\n", 1000)
		for sent.Load() < 1<<30 {
			n, err := w.Write([]byte(line))
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	defer server.Close()
	s := enginetest.NewSpider(server.URL + "/")
	s.Parse = enginetest.Nothing
	e := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(s), tegenaria.EngineWithLogger(enginetest.Quiet()))
	if stats := enginetest.MustRun(t, e); stats.Outcomes[tegenaria.Fetched] != 1 {
		t.Errorf("outcomes %v", stats.Outcomes)
	}
	if n := sent.Load(); n > 64<<20 { // what lies in buffers is more than what is read
		t.Errorf("the server sent %d MiB", n>>20)
	}
}

// A robots.txt that is longer than what counts is obeyed as far as it counts, whether it is coded or not. The test fails if
// the decoder has the same limit as the reader, which asks for one byte more to see that there is more.
func TestLongRobotsIsObeyed(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: /no\n" + strings.Repeat("# more\n", 1<<20))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(body); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for coding, body := range map[string][]byte{"identity": body, "gzip": packed.Bytes()} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				w.Header().Set("Content-Encoding", coding)
				_, _ = w.Write(body)
			}
		}))
		s := enginetest.NewSpider(server.URL+"/", server.URL+"/no")
		s.Parse = enginetest.Nothing
		e := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(s), tegenaria.EngineWithLogger(enginetest.Quiet()))
		if stats := enginetest.MustRun(t, e); stats.Outcomes[tegenaria.Fetched] != 1 || stats.Outcomes[tegenaria.Robots] != 1 {
			t.Errorf("%s: outcomes %v, errors %v", coding, stats.Outcomes, s.Errors())
		}
		server.Close()
	}
}

// A request for robots.txt that waits while the engine asks for that file because of another request is answered by what the
// engine got.
func TestRobotsAskedForWhileTheEngineAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page(robotsURL, enginetest.After(time.Second, enginetest.Text("User-agent: *\nDisallow: /no"))).
			Page("http://a.test/", enginetest.Text("x"))
		s := enginetest.NewSpider()
		var read string
		s.Start = func(req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/", tegenaria.RequestWithPriority(1))
			enginetest.Sleep(500 * time.Millisecond) // the engine is asking because of it
			req <- enginetest.Send(robotsURL)
		}
		s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			if resp.Request.Url == robotsURL {
				read = resp.Response().String()
			}
			return nil
		}
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{})))
		if n := w.Count(robotsURL); n != 1 || read != "User-agent: *\nDisallow: /no" || stats.Outcomes[tegenaria.Fetched] != 2 {
			t.Errorf("asked for robots.txt %d times, the spider read %q; %v", n, read, stats.Outcomes)
		}
	})
}

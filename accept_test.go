package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// What a request option cannot do fails that request, by a typed error or one that says what; the crawl goes on.
func TestBadRequests(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func() *tegenaria.Request
		want string
	}{
		{"JSON that is none", func() *tegenaria.Request {
			return tegenaria.NewRequest("http://a.test/x", "POST", nil, tegenaria.RequestWithJSON(math.NaN()))
		}, "encoding the JSON body: json"},
		{"negative MaxConnsPerHost", func() *tegenaria.Request {
			return tegenaria.NewRequest("http://a.test/x", "GET", nil, tegenaria.RequestWithMaxConnsPerHost(-1))
		}, "MaxConnsPerHost is -1"},
		{"reader that fails", func() *tegenaria.Request {
			return tegenaria.NewRequest("http://a.test/x", "POST", nil, tegenaria.RequestWithBodyReader(brokenReader{}))
		}, "BodyReader"},
		{"body over the limit", func() *tegenaria.Request {
			return tegenaria.NewRequest("http://a.test/x", "POST", nil, tegenaria.RequestWithBodyReader(strings.NewReader(strings.Repeat("x", 2000))))
		}, "raise Limits.Body"},
		{"no such parser", func() *tegenaria.Request {
			return tegenaria.NewRequest("http://a.test/x", "GET", nil, tegenaria.RequestWithParserName("none"))
		}, `no parser has the name "none"`},
		{"scheme", func() *tegenaria.Request { return tegenaria.NewRequest("gopher://a.test/x", "GET", nil) }, `scheme "gopher" is not supported; use http or https`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, from := range []string{"seed", "child", "Fetch"} {
				w := onePage()
				s := enginetest.NewSpider()
				s.Start = func(req chan<- *tegenaria.Context) {
					if from == "seed" {
						req <- tegenaria.NewContext(tt.make())
					}
					req <- enginetest.Send("http://a.test/")
				}
				var fetched error
				s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
					switch from {
					case "child":
						req <- tegenaria.NewContext(tt.make())
					case "Fetch":
						_, fetched = ctx.Fetch(tt.make())
					}
					return nil
				}
				stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1000})))
				if from == "Fetch" {
					// A parser is of no use there: it is the caller who reads the response.
					if tt.name != "no such parser" && (fetched == nil || !strings.Contains(fetched.Error(), tt.want)) {
						t.Errorf("Fetch: %v, want %q", fetched, tt.want)
					}
					continue
				}
				if herr := s.OnlyError(t); !strings.Contains(herr.Error(), tt.want) || herr.Stage != tegenaria.StageAccept || herr.Request == nil {
					t.Errorf("%s: ErrorHandler got %v, want %q", from, herr, tt.want)
				}
				if stats.Outcomes[tegenaria.Fetched] != 1 || stats.Settled != 2 {
					t.Errorf("%s: %v, %v", from, stats.Outcomes, stats.Reasons)
				}
			}
		})
	}
}

// A link that several rules refuse has the same reason however it is sent: the order of the checks is one.
func TestFirstReasonOfARefusal(t *testing.T) {
	for name, send := range map[string]func(out *tegenaria.Output[any]) error{
		"Follow":      func(out *tegenaria.Output[any]) error { return out.Follow("http://b.test/deep") },
		"FollowLinks": func(out *tegenaria.Output[any]) error { return out.FollowLinks() },
		"Request": func(out *tegenaria.Output[any]) error {
			return out.Request(tegenaria.NewRequest("http://b.test/deep", "GET", nil))
		},
	} {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/1")).
			Page("http://a.test/1", enginetest.Page("http://b.test/deep"))
		s := tegenaria.NewSpider("test", tegenaria.Handle(func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[any]) error {
			if resp.Request().Depth == 0 {
				return out.Follow("/1")
			}
			return send(out)
		}), "http://a.test/")
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithAllowedDomains("a.test"),
			tegenaria.EngineWithLimits(tegenaria.Limits{Depth: 1})))
		if stats.Reasons["filtered: offsite"] != 1 || stats.Reasons["filtered: depth"] != 0 {
			t.Errorf("%s: %v", name, stats.Reasons)
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

// A page that links to itself, to its permuted query and its fragments is fetched once.
func TestPageThatLinksToItself(t *testing.T) {
	self := "http://a.test/page?b=2&a=1"
	w := enginetest.NewWorld().Page(self, enginetest.Page("", "#x", "#", "?a=1&b=2", "?b=2&a=1", "?b=2&a=1#y", "/page?a=1&b=2#z", "http://A.TEST:80/page?b=2&a=1", "//a.test/./page?a=1&b=2",
		"http://a.test/x/../page?a=1&b=2", "/%70age?b=2&a=1"))
	s := enginetest.NewSpider(self)
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
	if got := w.Urls(); !slices.Equal(got, []string{self}) {
		t.Errorf("asked %q", got)
	}
	if stats.Outcomes[tegenaria.Fetched] != 1 || stats.Outcomes[tegenaria.Duplicate] != stats.Settled-1 {
		t.Errorf("outcomes %v", stats.Outcomes)
	}
}

// None of many distinct URLs, a million as a deep check, is lost with a Bloom filter that is far too small.
func TestExactDedupe(t *testing.T) {
	pages, links := 10, 2_000
	if deep.Checks() {
		links = 100_000
	}
	hub := func(p int) enginetest.Answer {
		var b strings.Builder
		for i := range links {
			fmt.Fprintf(&b, "<a href=\"http://b.test/%d/%d?q=%d\">", p, i, i%7)
		}
		for i := range 100 { // some are known
			fmt.Fprintf(&b, "<a href=\"http://b.test/%d/%d?q=%d#again\">", p, i, i%7)
		}
		body := []byte(b.String())
		return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
			return tegenaria.NewResponse(ctx.Request, 200, map[string][]string{"Content-Type": {"text/html"}}, body), nil
		}
	}
	w := enginetest.NewWorld()
	var seeds []string
	for p := range pages {
		seeds = append(seeds, fmt.Sprintf("http://a.test/%d", p))
		w.Page(seeds[p], hub(p))
	}
	asked := make(map[string]int, pages*links) // an independent witness
	d := downloadFunc(func(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
		if strings.HasPrefix(ctx.Request.Url, "http://a.test/") {
			w.Download(ctx, result)
			return
		}
		w.Mu.Lock()
		asked[ctx.Request.Url]++
		w.Mu.Unlock()
		ctx.DownloadResult = &tegenaria.RequestResult{Response: &tegenaria.Response{Status: 200}}
		result <- ctx
	})
	s := tegenaria.NewSpider("test", tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
		if r.ContentLength == 0 {
			return nil
		}
		return out.FollowLinks()
	}), seeds...)
	stats := enginetest.MustRun(t, enginetest.NewEngine(d, s, tegenaria.EngineWithConcurrency(2), tegenaria.EngineWithDupeFilter(tegenaria.NewRFPDupeFilter(1024, 1))))
	if len(asked) != pages*links {
		t.Errorf("%d of %d URLs were asked", len(asked), pages*links)
	}
	for u, n := range asked {
		if n != 1 {
			t.Fatalf("%s was asked %d times", u, n)
		}
	}
	if stats.Outcomes[tegenaria.Fetched] != int64(pages*links+pages) {
		t.Errorf("outcomes %v", stats.Outcomes)
	}
}

// A BodyReader that fails is the failure of its request, and no bad URL.
func TestBodyReaderFails(t *testing.T) {
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		r := tegenaria.NewRequest("http://a.test/", tegenaria.POST, nil, tegenaria.RequestWithBodyReader(iotest.ErrReader(errors.New("torn"))))
		req <- tegenaria.NewContext(r)
	}
	stats := enginetest.MustRun(t, enginetest.NewEngine(enginetest.NewWorld(), s))
	if stats.Reasons["failed: accept"] != 1 || !strings.Contains(s.OnlyError(t).Error(), "torn") {
		t.Errorf("%v, %v", stats.Reasons, s.Errors())
	}
}

// panickingReader is a BodyReader that goes wrong after a few bytes.
type panickingReader struct{ read bool }

func (r *panickingReader) Read(p []byte) (int, error) {
	if !r.read {
		r.read = true
		return copy(p, "some"), nil
	}
	panic("reader")
}

// A BodyReader whose Read panics fails its request, wherever it is read: for the fingerprint, by the codec where a
// user's filter does not look at it, by the downloader where a middleware has put it there.
//
// It fails if readBody does not call the reader through guard.Protect: in a seed's case the process ends.
func TestBodyReaderPanics(t *testing.T) {
	post := func() *tegenaria.Request {
		return tegenaria.NewRequest("http://a.test/post", "POST", nil, tegenaria.RequestWithBodyReader(&panickingReader{}))
	}
	check := func(t *testing.T, who string, err error) {
		t.Helper()
		var bad *tegenaria.RequestError
		var panicked *tegenaria.PanicError
		var herr *tegenaria.HandleError
		if !errors.As(err, &bad) || bad.Field != "BodyReader" || bad.URL != "http://a.test/post" || !errors.As(err, &panicked) ||
			!errors.As(err, &herr) || len(herr.Stack) == 0 {
			t.Errorf("%s got %v", who, err)
		}
	}
	for name, opts := range map[string][]tegenaria.EngineOption{
		"default": nil, "user's filter": {tegenaria.EngineWithDupeFilter(brokenFilter{})},
	} {
		t.Run(name, func(t *testing.T) {
			w := onePage().Page("http://a.test/last", enginetest.Text("x"))
			s := enginetest.NewSpider()
			s.Start = func(req chan<- *tegenaria.Context) {
				req <- tegenaria.NewContext(post())
				req <- enginetest.Send("http://a.test/")
			}
			s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				if ctx.Request.Depth == 0 {
					req <- tegenaria.NewContext(post())
					req <- enginetest.Send("http://a.test/last")
				}
				return nil
			}
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, opts...))
			if got := w.Urls(); !slices.Equal(got, []string{"http://a.test/", "http://a.test/last"}) {
				t.Errorf("asked %q", got)
			}
			errs := s.Errors()
			if len(errs) != 2 || stats.Outcomes[tegenaria.Fetched] != 2 || stats.Settled != 4 {
				t.Errorf("errors %v, outcomes %v", errs, stats.Outcomes)
			}
			for _, err := range errs {
				check(t, "ErrorHandler", err)
			}
		})
	}
	t.Run("Fetch", func(t *testing.T) {
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = parserOf(func(ctx *tegenaria.Context) error {
			_, err := ctx.Fetch(post())
			check(t, "Fetch", err)
			return nil
		})
		stats := enginetest.MustRun(t, enginetest.NewEngine(onePage(), s))
		if stats.Outcomes[tegenaria.Fetched] != 1 || stats.Settled != 2 {
			t.Errorf("outcomes %v", stats.Outcomes)
		}
	})
	t.Run("downloader", func(t *testing.T) {
		server, log := enginetest.Serve(t, map[string]string{"/": "x"})
		s := enginetest.NewSpider(server + "/")
		s.Parse = enginetest.Nothing
		m := &enginetest.Hooks{Request: func(ctx *tegenaria.Context) error { ctx.Request.BodyReader = &panickingReader{}; return nil }}
		stats := enginetest.MustRun(t, enginetest.NewEngine(nil, s, tegenaria.EngineWithMiddlewares(m)))
		var bad *tegenaria.RequestError
		if herr := s.OnlyError(t); !errors.As(herr, &bad) || bad.Field != "BodyReader" || herr.Stage != tegenaria.StageDownload || len(herr.Stack) == 0 {
			t.Errorf("ErrorHandler got %v", herr)
		}
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1})
		if len(log()) != 0 {
			t.Errorf("the server was asked: %v", log())
		}
	})
}

// oddFilter answers for some requests as it should not.
type oddFilter struct {
	fingerprint func(r *tegenaria.Request) ([]byte, error)
	known       func(r *tegenaria.Request) (bool, error)
}

func (f oddFilter) Fingerprint(r *tegenaria.Request) ([]byte, error) {
	if f.fingerprint != nil && strings.Contains(r.Url, "/odd") {
		return f.fingerprint(r)
	}
	return []byte(r.Url), nil
}

func (f oddFilter) DoDupeFilter(r *tegenaria.Request) (bool, error) {
	if f.known != nil && strings.Contains(r.Url, "/odd") {
		return f.known(r)
	}
	return false, nil
}

// A user's filter that does not say who a request is fails it, wherever the request comes from; it is neither the
// URL's fault nor a duplicate of the next such request.
//
// It fails if duplicates.key takes no bytes for a key, or duplicates.refusal blames the URL.
func TestOddDupeFilter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		filter oddFilter
		inline bool // a Fetch is refused too
		panics bool
		say    string
	}{
		{"no bytes", oddFilter{fingerprint: func(*tegenaria.Request) ([]byte, error) { return nil, nil }}, true, false, "no bytes"},
		{"empty", oddFilter{fingerprint: func(*tegenaria.Request) ([]byte, error) { return []byte{}, nil }}, true, false, "no bytes"},
		{"error", oddFilter{fingerprint: func(*tegenaria.Request) ([]byte, error) { return []byte("x"), errBroken }}, true, false, errBroken.Error()},
		{"panic", oddFilter{fingerprint: func(*tegenaria.Request) ([]byte, error) { panic("odd") }}, true, true, "panic: odd"},
		{"veto's error", oddFilter{known: func(*tegenaria.Request) (bool, error) { return true, errBroken }}, false, false, errBroken.Error()},
		{"veto's panic", oddFilter{known: func(*tegenaria.Request) (bool, error) { panic("odd") }}, false, true, "panic: odd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := func(who string, err error) {
				var herr *tegenaria.HandleError
				var panicked *tegenaria.PanicError
				var blamed *tegenaria.RequestError
				if !errors.As(err, &herr) || herr.Stage != tegenaria.StageAccept || herr.Request == nil || !strings.Contains(err.Error(), tt.say) ||
					errors.As(err, &panicked) != tt.panics || tt.panics != (len(herr.Stack) > 0) || errors.As(err, &blamed) {
					t.Errorf("%s got %#v", who, err)
				}
			}
			w := onePage().Page("http://a.test/oddly", enginetest.Text("x")).Page("http://a.test/last", enginetest.Text("x"))
			s := enginetest.NewSpider("http://a.test/odd", "http://a.test/odd2", "http://a.test/")
			s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				if ctx.Request.Url != "http://a.test/" {
					return nil
				}
				req <- enginetest.Send("http://a.test/odd3")
				if _, err := get(ctx, "http://a.test/oddly"); tt.inline {
					check("Fetch", err)
				} else if err != nil {
					t.Errorf("Fetch, which is never deduplicated, got %v", err)
				}
				req <- enginetest.Send("http://a.test/last")
				return nil
			}
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithDupeFilter(tt.filter)))
			want := map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Failed: 3}
			if tt.inline {
				want[tegenaria.Failed]++
			} else {
				want[tegenaria.Fetched]++
			}
			enginetest.WantOutcomes(t, stats, want)
			if errs := s.Errors(); len(errs) != 3 {
				t.Errorf("ErrorHandler got %v", errs)
			}
			for _, err := range s.Errors() {
				check("ErrorHandler", err)
			}
			if w.Count("http://a.test/last") != 1 {
				t.Errorf("asked %q", w.Urls())
			}
		})
	}
}

// A SlotBy that panics is told once, and the host is the slot.
func TestSlotByThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := enginetest.NewWorld(), enginetest.NewSpider()
		for i := range 5 {
			u := fmt.Sprintf("http://a.test/%d", i)
			w.Page(u, enginetest.Page())
			s.FeedUrls = append(s.FeedUrls, u)
		}
		w.Page("http://a.test/again", enginetest.Page())
		s.Fail = func(_ *tegenaria.HandleError, req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/again") // SlotBy is asked for it as well
			req <- enginetest.Send("bad:")
		}
		began := time.Now()
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			IgnoreRobots: true, Delay: time.Second, SlotBy: func(*url.URL) string { panic("slot") },
		})))
		var panicked *tegenaria.PanicError
		herr := s.Errors()[0]
		if !errors.As(herr, &panicked) || herr.Stage != tegenaria.StageAccept || !strings.Contains(herr.Error(), "SlotBy of http://a.test/0") || herr.Stack == nil {
			t.Errorf("ErrorHandler got %v", herr)
		}
		told := 0
		for _, herr := range s.Errors() {
			if errors.As(herr, &panicked) {
				told++
			}
		}
		if took := time.Since(began); told != 1 || took != 5*time.Second || stats.Outcomes[tegenaria.Fetched] != 6 {
			t.Errorf("told %d times, it took %s, stats %+v", told, took, stats)
		}
	})
}

// afterCache notes requests that come after Run.
type afterCache struct {
	tegenaria.CacheInterface
	over, late atomic.Bool
}

func (c *afterCache) Accept(ctx context.Context, r []tegenaria.Record) ([]tegenaria.Verdict, error) {
	if r[0].Depth > 0 {
		enginetest.Sleep(2500 * time.Millisecond) // slow, and deaf
		if c.over.Load() {
			c.late.Store(true)
		}
	}
	return c.CacheInterface.Accept(ctx, r)
}

// What abandoned code has sent is stored before Run returns, or not at all. It fails if nobody waits for entries.
func TestAcceptOutlivesRun(t *testing.T) {
	for name, parse := range map[string]tegenaria.Parser{
		"requests": func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			req <- enginetest.Send("http://a.test/1")
			enginetest.Sleep(time.Minute)
			return nil
		},
		"references": tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
			enginetest.Sleep(time.Nanosecond) // a worker has nothing to do then, so that the reference is not held back
			out.Follow("/1")
			enginetest.Sleep(time.Minute)
			return nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
				s := enginetest.NewSpider()
				s.Start = func(req chan<- *tegenaria.Context) {
					req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", tegenaria.GET, parse))
				}
				cache := &afterCache{CacheInterface: tegenaria.NewMemoryCache()}
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(cache), tegenaria.EngineWithGrace(0))
				go func() { enginetest.Sleep(time.Second); e.Stop(context.Background()) }()
				e.Run(t.Context(), "test")
				cache.over.Store(true)
				enginetest.Sleep(time.Hour)
				if cache.late.Load() {
					t.Error("the cache stores a request after Run has returned")
				}
			})
		})
	}
}

// A table of endings was taken for the public suffixes. Fails if urlx.HostSet.Has compares the ends of names
// without regard to their labels.
func TestAllowedDomains(t *testing.T) {
	for _, tt := range []struct {
		domain string
		in     []string
		out    []string
	}{
		{"a.b.co.uk", []string{"http://a.b.co.uk/", "http://x.a.b.co.uk/"}, []string{"http://b.co.uk/", "http://c.co.uk/", "http://xa.b.co.uk/"}},
		{"localhost", []string{"http://localhost/", "http://localhost:8080/"}, []string{"http://localhost.test/"}},
		{"a.test:8080", []string{"http://a.test:8080/"}, []string{"http://a.test/", "http://a.test:80/", "http://x.a.test:8080/"}},
		{"go.dev", []string{"http://go.dev/", "http://pkg.go.dev/"}, []string{"http://nogo.dev/", "http://dev/"}},
		{"EXAMPLE.Com", []string{"http://example.com/", "http://WWW.EXAMPLE.COM/"}, []string{"http://example.org/"}},
		{"[::1]", []string{"http://[::1]/", "http://[0:0:0:0:0:0:0:1]:81/"}, []string{"http://[::2]/"}},
		{"1.2.3.4", []string{"http://1.2.3.4/", "http://1.2.3.4:99/"}, []string{"http://1.2.3.4.evil.com/", "http://5.1.2.3.4/", "http://2.3.4/"}},
	} {
		t.Run(tt.domain, func(t *testing.T) {
			s := enginetest.NewSpider(slices.Concat(tt.in, tt.out)...)
			s.Parse = enginetest.Nothing
			w := enginetest.NewWorld()
			for _, u := range tt.in {
				w.Page(u, enginetest.Text("x"))
			}
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithAllowedDomains(tt.domain)))
			if n := stats.Reasons["filtered: offsite"] + stats.Reasons["filtered: url"]; n != int64(len(tt.out)) {
				t.Errorf("%d were offsite, want %d: %v; asked %q", n, len(tt.out), stats.Reasons, w.Urls())
			}
			if len(w.Visits()) != len(tt.in) {
				t.Errorf("asked %q, want %q", w.Urls(), tt.in)
			}
		})
	}
}

// A request without a downloader was sent again, and dropped as seen; the key was the raw URL. Fails if fetcher.download
// drops a request whose downloader is not there, or if the key leaves out the method.
func TestNoWorkIsLost(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/#x", enginetest.Text("x"))
	s := enginetest.NewSpider()
	s.Parse = enginetest.Nothing
	s.Start = func(req chan<- *tegenaria.Context) {
		req <- enginetest.Send("http://a.test/none", tegenaria.RequestWithDownloader("none"))
		req <- enginetest.Send("http://a.test/")
		req <- enginetest.Send("http://a.test/#x")
		for _, body := range []string{"1", "2", "1"} {
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", tegenaria.POST, nil, tegenaria.RequestWithBody([]byte(body))))
		}
		req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", tegenaria.HEAD, nil))
	}
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Fetched: 4, tegenaria.Duplicate: 2})
	if herr := s.OnlyError(t); herr.Request.Url != "http://a.test/none" || !strings.Contains(herr.Error(), `"none"`) {
		t.Errorf("ErrorHandler got %v", herr)
	}
}

// A Bloom filter alone lost 677 of 2,000 pages. Fails if what a Bloom filter says is taken for the truth, as
// when the engine asks an RFPDupeFilter that has no exact set.
func TestNoPageIsLostToBloom(t *testing.T) {
	const n = 2000
	var refs []string
	for i := range n {
		refs = append(refs, fmt.Sprintf("/%d", i))
	}
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page(refs...))
	s := enginetest.NewSpider("http://a.test/")
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithDupeFilter(tegenaria.NewRFPDupeFilter(4096, 8)),
		tegenaria.EngineWithAllowStatusCode([]uint64{404})))
	if len(w.Visits()) != n+1 || stats.Outcomes[tegenaria.Fetched] != n+1 {
		t.Errorf("%d of %d pages fetched", len(w.Visits()), n+1)
	}
}

// brokenFilter cannot say who a request is.
type brokenFilter struct{ err error }

func (f brokenFilter) Fingerprint(r *tegenaria.Request) ([]byte, error) {
	if strings.Contains(r.Url, "bad") {
		return nil, f.err
	}
	return []byte(r.Url), nil
}

func (brokenFilter) DoDupeFilter(*tegenaria.Request) (bool, error) { return false, nil }

// A filter's error was logged, and the request enqueued and freed. Fails if record goes on after an error of
// fingerprint.
func TestFilterErrorFailsTheRequest(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/good", enginetest.Text("x"))
	s := enginetest.NewSpider("http://a.test/bad", "http://a.test/good")
	s.Parse = enginetest.Nothing
	cause := errors.New("no fingerprint")
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithDupeFilter(brokenFilter{cause})))
	if herr := s.OnlyError(t); !errors.Is(herr, cause) || herr.Request.Url != "http://a.test/bad" {
		t.Errorf("ErrorHandler got %v", herr)
	}
	if got := w.Urls(); !slices.Equal(got, []string{"http://a.test/good"}) {
		t.Errorf("asked: %q", got)
	}
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Fetched: 1})
}

// Fingerprints upper-cased header values and joined parts without marks; URLs had many forms. Fails if keyer
// folds values, or if the key is that of the URL as written.
func TestIdentity(t *testing.T) {
	header := func(name, value string) tegenaria.RequestOption {
		return tegenaria.RequestWithRequestHeader(map[string]string{name: value})
	}
	w := enginetest.NewWorld()
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		for _, u := range []string{"http://a.test/x", "HTTP://A.TEST:80/x", "http://a.test/y/../x", "http://a.test/./x#frag",
			"http://a.test", "http://a.test/", "http://a.test/q?b=2&a=1", "http://a.test/q?a=1&b=2", "http://a.test/%7Eu", "http://a.test/~u"} {
			req <- enginetest.Send(u)
		}
		req <- enginetest.Send("http://a.test/h", header("X", "abc"))
		req <- enginetest.Send("http://a.test/h", header("X", "ABC"))
		req <- enginetest.Send("http://a.test/h", header("x", "abc"))
		req <- enginetest.Send("http://a.test/h", header("X", "1;\nY:2"))
		req <- enginetest.Send("http://a.test/h", tegenaria.RequestWithRequestHeader(map[string]string{"X": "1", "Y": "2"}))
		req <- enginetest.Send("http://a.test/h", tegenaria.RequestWithRequestHeader(map[string]string{"y": "2", "X": "1"}))
	}
	filter := tegenaria.NewRFPDupeFilter(1<<20, 5).IncludeHeaders("x", "Y")
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithDupeFilter(filter)))
	// 4 pages by URL; h with abc, ABC, the forged value, 1 and 2.
	if asked := len(w.Visits()); asked != 8 || stats.Outcomes[tegenaria.Duplicate] != 8 {
		t.Errorf("%d requests were made, %d duplicates: %q", asked, stats.Outcomes[tegenaria.Duplicate], w.Urls())
	}
}

// A full queue dropped requests that were marked as seen, and told nobody. Fails if acceptor.store lets the page be
// settled whose request found no room.
func TestFullQueueLosesNothing(t *testing.T) {
	t.Run("seeds wait", func(t *testing.T) {
		w, s := enginetest.NewWorld(), enginetest.NewSpider()
		for i := range 20 {
			u := fmt.Sprintf("http://a.test/%d", i)
			w.Page(u, enginetest.Text("x"))
			s.FeedUrls = append(s.FeedUrls, u)
		}
		s.Parse = enginetest.Nothing
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Pending: 4})))
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 20})
	})
	t.Run("memory is full", func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			for i := range 1000 {
				req <- enginetest.Send(fmt.Sprintf("http://a.test/%d", i))
			}
			return nil
		}
		cache := tegenaria.NewMemoryCache()
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(cache), tegenaria.EngineWithLimits(tegenaria.Limits{QueueBytes: 4096}))
		err := enginetest.Run(t, e)
		enginetest.WantStopped(t, err, "queue full")
		var full *tegenaria.QueueFullError
		if !errors.As(err, &full) || full.Limit != 4096 || !strings.Contains(err.Error(), "cache/disk") {
			t.Errorf("Run returned %v, want a *QueueFullError that names the remedy", err)
		}
		// The page whose links had no room is not settled, and what was marked is waiting.
		waiting := int64(0)
		for slot, err := range cache.Slots(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			waiting += int64(slot.Pending)
		}
		stats := e.Stats()
		if stats.Outcomes[tegenaria.Fetched] != 0 || waiting == 0 || waiting != stats.Pending-1 {
			t.Errorf("%d records wait, stats %+v", waiting, stats)
		}
	})
}

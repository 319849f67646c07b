package tegenaria_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
	"github.com/tegenaria/tegenaria/sitemap"
)

// Every mistake of wiring is told at once, before the first request, with what to do.
func TestWiringMistakes(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts []tegenaria.EngineOption
		want []string
	}{
		{"numbers", []tegenaria.EngineOption{
			tegenaria.EngineWithSchedulerNum(0), tegenaria.EngineWithReadCacheNum(0), tegenaria.EngineWithConcurrency(-1), tegenaria.EngineWithItemConcurrency(0),
			tegenaria.EngineWithGrace(-time.Second),
		}, []string{"EngineWithSchedulerNum is 0", "EngineWithReadCacheNum is 0", "EngineWithConcurrency is -1", "EngineWithItemConcurrency is 0", "EngineWithGrace is -1s"}},
		{"limits", []tegenaria.EngineOption{tegenaria.EngineWithLimits(tegenaria.Limits{
			Pages: -1, Items: -2, Errors: -3, Time: -4, Bytes: -5, Callback: -6, Depth: -7,
		})}, []string{"Limits.Pages is -1", "Limits.Items is -2", "Limits.Errors is -3", "Limits.Time is -4", "Limits.Bytes is -5", "Limits.Callback is -6", "Limits.Depth is -7", "OnlySeeds"}},
		{"politeness", []tegenaria.EngineOption{tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			Delay: -1, PerSlot: -2, Overrides: map[string]tegenaria.SlotPolicy{"a.test": {Delay: -1}}, AllowPrivate: []netip.Prefix{{}},
		})}, []string{"Politeness.Delay is -1", "Politeness.PerSlot is -2", `Overrides["a.test"]`, "AllowPrivate", "netip.MustParsePrefix"}},
		{"domains", []tegenaria.EngineOption{tegenaria.EngineWithAllowedDomains("http://a.test/")}, []string{"EngineWithAllowedDomains", "http://a.test/", "example.com"}},
		{"nil parts", []tegenaria.EngineOption{
			tegenaria.EngineWithMiddlewares(&enginetest.Hooks{}, nil), tegenaria.EngineWithPipelines(nil, (*enginetest.Collector)(nil)),
			func(e *tegenaria.SpiderEngine) {
				e.RegisterDownloader("d", nil)
				e.RegisterDownloader("", enginetest.NewWorld())
			},
		}, []string{"RegisterDownloadMiddlewares: argument 2 is nil", "RegisterPipelines: argument 1 is nil", "RegisterPipelines: argument 2 is nil", "RegisterDownloader: argument 1 is nil", "the name is empty"}},
		{"parsers", []tegenaria.EngineOption{func(e *tegenaria.SpiderEngine) {
			e.RegisterParser("", enginetest.Nothing)
			e.RegisterParser("a", enginetest.Nothing)
			e.RegisterParser("b", enginetest.Nothing)
			e.RegisterParser("a", enginetest.FollowAll)
			e.RegisterParser("c", nil)
		}}, []string{"the empty name", `"a" and "b" are the same func`, `two parsers have the name "a"`, `parser "c" is nil`}},
		{"committers", []tegenaria.EngineOption{tegenaria.EngineWithPipelines(&staging{}, &staging{})}, []string{`CommitKey "staging"`}},
		{"a shared job that is to wait", []tegenaria.EngineOption{
			tegenaria.EngineWithKeepAlive(), tegenaria.EngineWithCache(&sharedCache{CacheInterface: tegenaria.NewMemoryCache()}),
		}, []string{"EngineWithKeepAlive is for a cache of one program", "remove the option"}},
		{"across the kinds", []tegenaria.EngineOption{
			tegenaria.EngineWithConcurrency(0), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: -1}), tegenaria.EngineWithSpiders(nil), tegenaria.EngineWithMiddlewares(nil),
		}, []string{"EngineWithConcurrency is 0", "Limits.Pages is -1", "RegisterSpiders: argument 2 is nil", "RegisterDownloadMiddlewares: argument 1 is nil"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := enginetest.NewWorld()
			e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tt.opts...)
			err := e.Run(t.Context(), "test")
			var wiring *tegenaria.RunError
			if !errors.As(err, &wiring) || wiring.Op != "wiring" {
				t.Fatalf("Run returned %v, want a *RunError of wiring", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in:\n%v", want, err)
				}
			}
			if len(w.Visits()) != 0 || e.Status() != tegenaria.StatusUninitialized {
				t.Errorf("asked %q, status %s", w.Urls(), e.Status())
			}
		})
	}
}

// After a mistake was corrected the same engine runs.
func TestRunAfterAMistake(t *testing.T) {
	w := onePage()
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = enginetest.Nothing
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(0))
	if err := e.Run(t.Context(), "test"); err == nil {
		t.Fatal("no error")
	}
	tegenaria.EngineWithConcurrency(1)(e)
	enginetest.MustRun(t, e)
}

// baseless is a spider that forgot to set its BaseSpider; derived embeds one.
type baseless struct{ *tegenaria.BaseSpider }

func (*baseless) Parser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

type derived struct{ baseless }

// named has a name of its own, so that only StartRequest would notice.
type named struct{ baseless }

func (*named) GetName() string { return "test" }

// byValue embeds BaseSpider by value.
type byValue struct{ tegenaria.BaseSpider }

func (*byValue) Parser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

// unnameable has a GetName that panics.
type unnameable struct{ *enginetest.Spider }

func (unnameable) GetName() string { panic("no name") }

// Mistakes that used to show at the first page, or not at all.
func TestMoreWiringMistakes(t *testing.T) {
	other := tegenaria.EngineWithConcurrency(0) // is told as well
	polite := func(agent string) tegenaria.EngineOption {
		return tegenaria.EngineWithPoliteness(tegenaria.Politeness{UserAgent: agent})
	}
	for _, tt := range []struct {
		name string
		opts []tegenaria.EngineOption
		want []string
	}{
		{"line end in the agent", []tegenaria.EngineOption{polite("spidey\r\nX: y")}, []string{"Politeness.UserAgent", `spidey\r\nX: y`, "control characters"}},
		{"DEL in the agent", []tegenaria.EngineOption{polite("spidey\x7f")}, []string{"Politeness.UserAgent"}},
		{"nil func", []tegenaria.EngineOption{tegenaria.EngineWithPipelines(
			tegenaria.PipelineFunc[string](1, nil), tegenaria.PipelineFunc[*enginetest.Collector](1, nil))},
			[]string{"PipelineFunc[string]: the func is nil", "PipelineFunc[*enginetest.Collector]: the func is nil"}},
		{"wildcard", []tegenaria.EngineOption{tegenaria.EngineWithAllowedDomains("*.example.com", "https://b.test", "ok.test")},
			[]string{`"*.example.com" is no host`, `"https://b.test" is no host`, "example.com", "includes its sub-domains"}},
		{"nil BaseSpider", []tegenaria.EngineOption{tegenaria.EngineWithSpiders(&baseless{}, &derived{}, &named{}, baseless2{})},
			[]string{"embedded in *tegenaria_test.baseless is nil", "embedded in *tegenaria_test.derived is nil", "embedded in *tegenaria_test.named is nil",
				"embedded in tegenaria_test.baseless2 is nil", "&tegenaria.BaseSpider{", "by value"}},
		{"GetName that panics", []tegenaria.EngineOption{tegenaria.EngineWithSpiders(unnameable{})}, []string{"GetName of tegenaria_test.unnameable", "no name"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := enginetest.NewWorld()
			err := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), append(tt.opts, other)...).Run(t.Context(), "test")
			var wiring *tegenaria.RunError
			if !errors.As(err, &wiring) || wiring.Op != "wiring" {
				t.Fatalf("Run returned %v, want a *RunError of wiring", err)
			}
			for _, want := range append(tt.want, "EngineWithConcurrency is 0") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in:\n%v", want, err)
				}
			}
			if strings.Contains(err.Error(), "nil pointer") || len(w.Visits()) != 0 {
				t.Errorf("asked %q: %v", w.Urls(), err)
			}
		})
	}
}

// baseless2 is used by value.
type baseless2 struct{ *tegenaria.BaseSpider }

func (baseless2) Parser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

func TestNilParserIsAMistake(t *testing.T) {
	s := tegenaria.NewSpider("test", nil, "http://a.test/")
	check := func(err error) {
		t.Helper()
		var wiring *tegenaria.RunError
		if !errors.As(err, &wiring) || wiring.Op != "wiring" || !strings.Contains(err.Error(), `NewSpider("test"): the parser is nil`) {
			t.Errorf("Run returned %v", err)
		}
	}
	check(enginetest.NewEngine(enginetest.NewWorld(), s).Run(t.Context(), "test"))
	for _, err := range tegenaria.Crawl[int](t.Context(), s) {
		check(err)
	}
}

// What looks similar and is none stays allowed.
func TestNoMistake(t *testing.T) {
	s := &byValue{tegenaria.BaseSpider{Name: "test", FeedUrls: []string{"http://a.test/"}}}
	w := onePage()
	enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithAllowedDomains("a.test", ".b.test", "c.test:80", "[::1]:80", "192.0.2.1"),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{UserAgent: "Spidéy/1.0 (+http://x.test)", IgnoreRobots: true})))
	if w.Count("http://a.test/") != 1 {
		t.Errorf("asked %q", w.Urls())
	}
}

type quote struct{ Text string }

// A nil option of an engine, a crawl or a feed is a mistake that ends the run before its first request, with an error that names the
// option. It fails if NewSpiderEngine or newFeed calls an option without a look at it.
func TestNilEngineAndFeedOptions(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	out := filepath.Join(t.TempDir(), "out.jsonl")
	for name, tt := range map[string]struct {
		run  func() error
		says []string
	}{
		"engine": {func() error {
			return enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), nil, tegenaria.EngineWithConcurrency(2), nil).Run(t.Context(), "test")
		}, []string{"engine option 5 is nil", "engine option 7 is nil"}},
		"engine alone": {func() error { return tegenaria.NewSpiderEngine(nil).Run(t.Context(), "test") }, []string{"engine option 1 is nil"}},
		"Crawl": {func() (last error) {
			for _, err := range tegenaria.Crawl[string](t.Context(), enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithDownloader(w), nil) {
				last = err
			}
			return last
		}, []string{"engine option 2 is nil"}},
		"feed": {func() error {
			return enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithPipelines(feed.JSONL(out, feed.Overwrite(), nil))).Run(t.Context(), "test")
		}, []string{"out.jsonl: option 2 is nil"}},
		"feed to stdout": {func() error {
			return enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithPipelines(feed.JSONL("-", nil))).Run(t.Context(), "test")
		}, []string{"feed: standard output: option 1 is nil"}},
		"feed to a writer": {func() error {
			return enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithPipelines(feed.JSONLTo(&strings.Builder{}, nil))).Run(t.Context(), "test")
		}, []string{"feed: a writer: option 1 is nil"}},
	} {
		err := tt.run()
		var wrong *tegenaria.RunError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, text := range tt.says {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want it to say %q", name, err, text)
			}
		}
	}
	if n := w.Count("http://a.test/"); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	if _, err := disk.Open(filepath.Join(t.TempDir(), "job"), disk.Fresh(), nil); err == nil || !strings.Contains(err.Error(), "option 2 is nil") {
		t.Errorf("disk.Open: %v", err)
	}
}

// A request with a nil option, or whose Context has one, is refused by a RequestError that names the option, however it is
// sent; nothing else of the page is lost. A nil option of links is the failure of its page. It fails if NewRequest or
// NewContext calls an option without a look at it.
func TestNilRequestOptions(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/good", enginetest.Text("x"))
	var fetched error
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/seed", tegenaria.GET, nil, tegenaria.RequestWithDoNotFilter(true), nil))
		req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/context", tegenaria.GET, nil), nil)
		req <- tegenaria.NewContext(nil, nil)
		req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", tegenaria.GET, nil))
	}
	s.Parse = tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
		if r.URL != "http://a.test/" {
			return nil
		}
		_, fetched = out.Fetch(tegenaria.NewRequest("http://a.test/fetched", tegenaria.GET, nil, nil))
		return errors.Join(out.Follow("/followed", nil), out.Request(tegenaria.NewRequest("http://a.test/sent", tegenaria.GET, nil, nil)),
			out.Follow("/good"), out.FollowLinks(nil))
	})
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
	refused := make(map[string]string)
	for _, herr := range s.Errors() {
		var wrong *tegenaria.RequestError
		var panicked *tegenaria.PanicError
		switch {
		case errors.As(herr, &wrong):
			refused[strings.TrimPrefix(wrong.URL, "http://a.test/")] = wrong.Field
		case errors.As(herr, &panicked):
			refused["links"] = panicked.Error()
		}
	}
	var inline *tegenaria.RequestError
	if !errors.As(fetched, &inline) || inline.Field != "RequestOption 1" {
		t.Errorf("Fetch: %v", fetched)
	}
	for url, want := range map[string]string{
		"seed": "RequestOption 2", "context": "ContextOption 1", "followed": "RequestOption 1", "sent": "RequestOption 1",
		"links": "panic: FollowLinks: option 1 is nil; leave it out",
	} {
		if refused[url] != want {
			t.Errorf("%s: refused as %q, want %q", url, refused[url], want)
		}
	}
	if stats.Outcomes[tegenaria.Fetched] != 1 || w.Count("http://a.test/good") != 1 || w.Count("http://a.test/seed") != 0 {
		t.Errorf("outcomes %v", stats.Outcomes)
	}
	cause := errors.New("cause")
	if err := tegenaria.NewError("1", cause, nil, tegenaria.ErrorWithStage(tegenaria.StageParse)); !errors.Is(err, cause) ||
		err.Stage != tegenaria.StageParse || !strings.Contains(err.Error(), "ErrorOption 1 is nil") {
		t.Errorf("NewError: %v", err)
	}
	for _, opts := range [][]links.Option{{nil}, {links.SkipNoFollow(), nil}} {
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(v.(string), "is nil") {
					t.Errorf("links: %v", v)
				}
			}()
			links.Extract([]byte("<a href=x>"), "http://a.test/", opts...)
		}()
	}
}

// A nil option of what can be used alone is an error that names it. It fails if html.Parse, selector.Parse or sitemap.Parse
// calls an option without a look at it.
func TestNilParserOptions(t *testing.T) {
	source := []byte("<p>x</p>")
	for name, f := range map[string]func() error{
		"html.Parse":    func() error { _, err := html.Parse(source, html.MaxNodes(9), nil); return err },
		"html.ParseXML": func() error { _, err := html.ParseXML(source, html.MaxNodes(9), nil); return err },
		"html.ParseFragment": func() error {
			_, err := html.ParseFragment(source, html.Context{Name: "div"}, html.MaxNodes(9), nil)
			return err
		},
		"html.NewComposer": func() error { _, err := html.NewComposer(html.MaxNodes(9), nil).Document(); return err },
		"selector.Parse":   func() error { return selector.Parse(source, selector.XML(), nil).Err() },
		"selector.Bounds":  func() error { return selector.Parse(source, selector.Bounds(html.MaxNodes(9), nil)).Err() },
		"sitemap.Parse": func() (err error) {
			for _, err = range sitemap.Parse(strings.NewReader("<urlset/>"), "", sitemap.MaxURLs(1), nil) {
			}
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "option 2 is nil") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := selector.Parse(source, nil).Err(); !errors.As(err, new(*selector.ParseError)) {
		t.Errorf("selector.Parse: %v is no ParseError", err)
	}
}

// A private authority and a client's certificate are all that a server may ask for; the protocols are the user's choice.
func TestTLSConfig(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Proto, " ", len(r.TLS.PeerCertificates))
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	for _, tt := range []struct {
		name   string
		config *tls.Config
		want   string // "": no page
	}{
		{"none", nil, ""},
		{"no roots", &tls.Config{}, ""},
		{"roots", &tls.Config{RootCAs: roots}, "HTTP/2.0 0"},
		{"HTTP/1 alone", &tls.Config{RootCAs: roots, NextProtos: []string{"http/1.1"}}, "HTTP/1.1 0"},
		{"nothing offered", &tls.Config{RootCAs: roots, NextProtos: []string{}}, "HTTP/1.1 0"},
		{"client certificate", &tls.Config{RootCAs: roots, Certificates: server.TLS.Certificates}, "HTTP/2.0 1"},
		{"not verified", &tls.Config{InsecureSkipVerify: true}, "HTTP/2.0 0"},
		{"server name", &tls.Config{RootCAs: roots, ServerName: "example.com"}, "HTTP/2.0 0"},
		{"other server name", &tls.Config{RootCAs: roots, ServerName: "other.test"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var page string
			var failed *tegenaria.HandleError
			s := enginetest.NewSpider(server.URL)
			s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				page = resp.Response().String()
				if got := resp.Response().Transfer(); got.TLS == nil || len(got.TLS.PeerCertificates) != 1 || got.Handshake <= 0 && !got.Reused {
					t.Errorf("transfer %+v", got)
				}
				return nil
			}
			option := tegenaria.EngineWithTLSConfig(tt.config)
			if tt.config != nil {
				tt.config.InsecureSkipVerify, tt.config.RootCAs = !tt.config.InsecureSkipVerify, nil // the option has a copy
			}
			enginetest.MustRun(t, enginetest.NewEngine(nil, s, option, tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) { failed = err })))
			var untrusted *tls.CertificateVerificationError
			if page != tt.want || (failed == nil) == (tt.want == "") || failed != nil && !errors.As(failed, &untrusted) {
				t.Errorf("page %q, want %q; %v", page, tt.want, failed)
			}
		})
	}
}

// A server that knows RSA key exchange alone is reached by the option that the guide shows, and not without it.
func TestRSAKeyExchange(t *testing.T) {
	suites := []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA}
	for _, suite := range tls.CipherSuites() {
		suites = append(suites, suite.ID)
	}
	config := &tls.Config{CipherSuites: suites}
	for i, old := range suites[:4] {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "page") }))
		server.TLS = &tls.Config{CipherSuites: []uint16{old}, MaxVersion: tls.VersionTLS12}
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		defer server.Close()
		pages := func(config *tls.Config) int64 {
			config.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
			s := enginetest.NewSpider(server.URL)
			s.Parse = enginetest.Nothing
			e := enginetest.NewEngine(nil, s, tegenaria.EngineWithTLSConfig(config))
			_ = enginetest.Run(t, e) // without a page it says why
			return e.Stats().Outcomes[tegenaria.Fetched]
		}
		if without, with := pages(&tls.Config{}), pages(config); without != 0 || with != 1 {
			t.Errorf("suite %d: %d pages without the option, %d with it", i, without, with)
		}
	}
}

// A TLS configuration that nobody would use is a mistake.
func TestTLSConfigMistakes(t *testing.T) {
	config := tegenaria.EngineWithTLSConfig(&tls.Config{RootCAs: x509.NewCertPool()})
	for _, tt := range []struct {
		name string
		opts []tegenaria.EngineOption
		want string
	}{
		{"with a client", []tegenaria.EngineOption{config, tegenaria.EngineWithHTTPClient(http.DefaultClient)}, "EngineWithHTTPClient replaces"},
		{"with a downloader", []tegenaria.EngineOption{config, tegenaria.EngineWithDownloader(enginetest.NewWorld())}, "EngineWithDownloader replaces"},
		{"a client with a downloader", []tegenaria.EngineOption{tegenaria.EngineWithHTTPClient(http.DefaultClient), tegenaria.EngineWithDownloader(enginetest.NewWorld())}, "EngineWithDownloader replaces"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := enginetest.NewEngine(nil, enginetest.NewSpider("http://a.test/"), tt.opts...).Run(t.Context(), "test")
			var wiring *tegenaria.RunError
			if !errors.As(err, &wiring) || wiring.Op != "wiring" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Run returned %v, want %q", err, tt.want)
			}
		})
	}
}

// Mistakes of configuration panicked, and a run had neither a context nor an error. Fails if wire lets a panic
// through, or Run ignores ctx.
func TestMistakesAreErrors(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	var run *tegenaria.RunError
	if err := tegenaria.NewSpiderEngine(tegenaria.EngineWithLogger(enginetest.Quiet())).Execute("nobody"); !errors.As(err, &run) || run.Op != "wiring" {
		t.Errorf("Execute of an unknown spider: %v", err)
	}
	e := enginetest.NewEngine(enginetest.NewWorld(), enginetest.NewSpider(), tegenaria.EngineWithMiddlewares(&panicking{}))
	if err := e.Run(t.Context(), "test"); !errors.As(err, &run) || run.Op != "wiring" {
		t.Errorf("Run with a part whose GetPriority panics: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("cause")
		ctx, cancel := context.WithCancelCause(t.Context())
		e := enginetest.NewEngine(enginetest.NewWorld().Page("http://a.test/", enginetest.Hang), enginetest.NewSpider("http://a.test/"))
		time.AfterFunc(time.Second, func() { cancel(cause) })
		began := time.Now()
		if err := e.Run(ctx, "test"); !errors.Is(err, cause) || time.Since(began) != time.Second {
			t.Errorf("Run returned %v after %s", err, time.Since(began))
		}
	})
	if runtime.GOMAXPROCS(0) != procs {
		t.Error("GOMAXPROCS was changed")
	}
	for _, method := range []string{"Execute", "Run"} {
		m, ok := reflect.TypeFor[*tegenaria.SpiderEngine]().MethodByName(method)
		if !ok || m.Type.NumOut() != 1 || m.Type.Out(0) != reflect.TypeFor[error]() {
			t.Errorf("%s does not return an error", method)
		}
	}
}

// panicking is a middleware that panics before any request: as it is sorted, with another one.
type panicking struct{ enginetest.Hooks }

func (*panicking) GetPriority() int { panic("priority") }

func (*panicking) SeesInternal() bool { panic("internal") }

// Values that are allowed and hardly meant are warned of when the crawl begins.
func TestOptionsThatAreHardlyMeant(t *testing.T) {
	var log bytes.Buffer
	engine := enginetest.NewEngine(enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")), enginetest.NewSpider("http://a.test/"), logTo(&log),
		tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 2, Items: 5}), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 3}),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Second, Jitter: 0.5}), tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: 2}))
	if err := engine.Run(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Politeness.Delay is 2ns: was 2 * time.Second or 2 * time.Millisecond meant?",
		"EngineWithPoliteness: Jitter was set, and a later option", "EngineWithLimits: Items was set"} {
		if !strings.Contains(log.String(), text) {
			t.Errorf("the log does not say %q:\n%s", text, &log)
		}
	}
}

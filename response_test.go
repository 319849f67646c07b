package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
)

func responseOf(contentType, body string) *tegenaria.Response {
	return tegenaria.NewResponse(tegenaria.NewRequest("http://a.test/dir/page", "GET", nil), 200,
		map[string][]string{"Content-Type": {contentType}}, []byte(body))
}

func TestResponseJson(t *testing.T) {
	for _, tt := range []struct {
		body string
		json bool   // it is an object
		err  string // of Decode into any
	}{
		{`{"a":{"b":[1]}}`, true, ""}, {" {} \n", true, ""}, {`[1]`, false, ""}, {`"x"`, false, ""}, {"", false, "EOF"}, {"{", false, "unexpected EOF"},
		{"<html>", false, "invalid character"}, {`{} {}`, false, "more than one value"}, {`{"a":1}x`, false, "more than one value"},
	} {
		r := responseOf("application/json", tt.body)
		if got := r.Json(); (got != nil) != tt.json {
			t.Errorf("Json of %q is %v", tt.body, got)
		}
		var v any
		err := r.Decode(&v)
		if (err == nil) != (tt.err == "") || err != nil && (!strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), "http://a.test/dir/page")) {
			t.Errorf("Decode of %q: %v, want %q", tt.body, err, tt.err)
		}
	}
	var wrong struct{ A int }
	if err := responseOf("", `{"a":"x"}`).Decode(&wrong); err == nil {
		t.Error("Decode of a string into an int is no error")
	}
}

// Buffer is a view: reading it takes nothing away, another one is the body.
func TestResponseBuffer(t *testing.T) {
	r := responseOf("text/html", "<p>one</p>")
	if got, err := io.ReadAll(r.Buffer); err != nil || string(got) != "<p>one</p>" {
		t.Fatalf("Buffer: %q, %v", got, err)
	}
	if r.String() != "<p>one</p>" || r.CSS("p").Text() != "one" || r.ContentLength != 10 {
		t.Errorf("after reading Buffer the body is %q", r.String())
	}
	r.Buffer = bytes.NewBufferString("<p>two</p>")
	if text, err := r.Text(); err != nil || text != "<p>two</p>" || r.CSS("p").Text() != "two" || r.String() != text {
		t.Errorf("after setting Buffer the body is %q, %v", text, err)
	}
	r.SetBody([]byte("<p>three</p>"))
	if r.CSS("p").Text() != "three" || r.ContentLength != 12 || r.Buffer.String() != "<p>three</p>" {
		t.Errorf("after SetBody the body is %q", r.String())
	}
	r.Buffer.WriteString("more")
	if r.String() != "<p>three</p>" {
		t.Error("writing to the view changed the body")
	}
	r.Buffer = nil
	if r.Bytes() != nil || r.String() != "" {
		t.Errorf("without a Buffer the body is %q", r.String())
	}
}

// Readers are independent, and may be used at once.
func TestResponseReaders(t *testing.T) {
	r := responseOf("text/html", strings.Repeat("<a href='x'>x</a>", 100))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			body := r.Reader()
			defer body.Close()
			if got, err := io.ReadAll(body); err != nil || string(got) != r.String() {
				t.Errorf("read %d bytes, %v", len(got), err)
			}
			if r.CSS("a").Len() != 100 || len(r.Links()) != 1 {
				t.Error("the page changed")
			}
		})
	}
	all.Wait()
	empty := tegenaria.NewResponse(nil, 204, nil, nil)
	if got, err := io.ReadAll(empty.Reader()); err != nil || len(got) != 0 || empty.Header == nil || empty.Request() != nil || empty.Context() != nil {
		t.Errorf("an empty response has %q, %v", got, err)
	}
}

// References are resolved as browsers do.
func TestResponseFollow(t *testing.T) {
	page := responseOf("text/html", `<base href="/base/"><a href=x>`)
	plain := responseOf("text/plain", `<base href="/base/">`)
	for _, tt := range []struct {
		r         *tegenaria.Response
		ref, want string
	}{
		{page, "x", "http://a.test/base/x"}, {plain, "x", "http://a.test/dir/x"}, {page, "//b.test/", "http://b.test/"}, {page, "?q", "http://a.test/base/?q"},
		{page, " https://c.test/ ", "https://c.test/"}, {page, "../y", "http://a.test/y"}, {page, "", ""}, {page, "  ", ""}, {page, "http://[", ""},
	} {
		got, err := tt.r.Follow(tt.ref, tegenaria.RequestWithPriority(2))
		var refused *tegenaria.RequestError
		if tt.want == "" {
			if !errors.As(err, &refused) || refused.Field != "Url" {
				t.Errorf("Follow(%q): %v, %v", tt.ref, got, err)
			}
			continue
		}
		if err != nil || got.Url != tt.want || got.Priority != 2 || got.Method != "GET" {
			t.Errorf("Follow(%q): %+v, %v", tt.ref, got, err)
		}
	}
}

// A page is read as the response says that it is, at the moment: by its header, whatever the case of the names, and by its URL.
// It fails if the response does not tell its page what users have set.
func TestResponseTellsItsPage(t *testing.T) {
	r := tegenaria.NewResponse(nil, 200, map[string][]string{"content-type": {"text/xml; charset=iso-8859-1"}, "link": {"</next>; rel=next"}},
		[]byte("<r><link>/caf\xe9</link></r>"))
	r.URL = "http://a.test/"
	if got := r.XPath("//link/text()"); got.Get() != "/café" || got.URL() != "http://a.test/caf%C3%A9" {
		t.Errorf("%q, %s", got.Get(), got.URL())
	}
	if found := r.Links(links.Everything()); len(found) == 0 || found[0].URL != "http://a.test/next" {
		t.Errorf("links: %v", found)
	}
	r.Header = map[string][]string{"CONTENT-TYPE": {"text/html; charset=utf-8"}}
	r.URL = "http://b.test/"
	r.SetBody([]byte("<link>/café</link><a href=/é>x</a>"))
	if r.CSS("link::text").Get() != "" || r.CSS("a").URL() != "http://b.test/%C3%A9" || r.Links()[0].URL != "http://b.test/%C3%A9" {
		t.Errorf("as HTML: %q, %s, %v", r.CSS("link::text").Get(), r.CSS("a").URL(), r.Links())
	}
}

// A wrong selector panics by itself; in a parser that is a HandleError.
func TestWrongSelector(t *testing.T) {
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = parserOf(func(ctx *tegenaria.Context) error { ctx.Response().CSS("p["); return nil })
	enginetest.MustRun(t, enginetest.NewEngine(onePage(), s))
	herr := s.OnlyError(t)
	var wrong *selector.SyntaxError
	if !errors.As(herr, &wrong) || herr.Stage != tegenaria.StageParse || len(herr.Stack) == 0 {
		t.Errorf("ErrorHandler got %v, want a *selector.SyntaxError", herr)
	}
}

// Bodies over the limit, and those that break off, are typed errors; the crawl goes on.
func TestBadBodies(t *testing.T) {
	server, _ := enginetest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			io.WriteString(w, strings.Repeat("x", 2000))
		case "/broken":
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "only this")
		default:
			io.WriteString(w, "good")
		}
	})
	s := enginetest.NewSpider(server+"/large", server+"/broken", server+"/good")
	parsed := ""
	s.Parse = parserOf(func(ctx *tegenaria.Context) error { parsed += ctx.Response().String(); return nil })
	stats := enginetest.MustRun(t, enginetest.NewEngine(nil, s, tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1000})))
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Failed: 2})
	if parsed != "good" {
		t.Errorf("parsed %q", parsed)
	}
	for _, herr := range s.Errors() {
		var large *tegenaria.BodyTooLargeError
		var cut *tegenaria.TruncatedBodyError
		switch {
		case strings.HasSuffix(herr.Request.Url, "large"):
			if !errors.As(herr, &large) || large.Limit != 1000 || !strings.Contains(herr.Error(), "RequestWithSpool") {
				t.Errorf("ErrorHandler got %v, want a *BodyTooLargeError with the remedy", herr)
			}
		case !errors.As(herr, &cut) || cut.Got != 9 || cut.Want != 1000 || herr.Response == nil || herr.Response.String() != "only this":
			t.Errorf("ErrorHandler got %v, want a *TruncatedBodyError with what there is", herr)
		}
	}
}

// Credentials in links do not make another host or another page of theirs: neither for the accepted domains nor for the slots,
// by whatever way a link is sent. They are asked for without the credentials, unless the program itself makes the request. It
// fails if the host of a link ends at the first colon, or if the user name counts.
func TestCredentialsInLinks(t *testing.T) {
	ways := map[string]func(out *tegenaria.Output[any], refs []string) error{
		"FollowLinks": func(out *tegenaria.Output[any], _ []string) error { return out.FollowLinks() },
		"Follow": func(out *tegenaria.Output[any], refs []string) error {
			for _, ref := range refs {
				if err := out.Follow(ref); err != nil {
					return err
				}
			}
			return nil
		},
		"Request": func(out *tegenaria.Output[any], refs []string) error {
			for _, ref := range refs {
				if err := out.Request(tegenaria.NewRequest(ref, tegenaria.GET, nil)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	crawl := func(t *testing.T, refs []string, send func(*tegenaria.Output[any], []string) error, opts ...tegenaria.EngineOption) (*enginetest.World, tegenaria.Stats) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page(refs...))
		for _, ref := range refs {
			w.Page(ref, enginetest.Text("x")).Page(urlx.WithoutUserinfo(ref), enginetest.Text("x"))
		}
		s := handledSpider(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
			if r.URL != "http://a.test/" {
				return nil
			}
			return send(out, refs)
		})
		return w, enginetest.MustRun(t, enginetest.NewEngine(w, s, opts...))
	}
	for name, send := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _ := crawl(t, []string{"http://a.test:x@evil.test/", "http://u:p@a.test/in"}, send, tegenaria.EngineWithAllowedDomains("a.test"))
				in := "http://a.test/in"
				if name == "Request" {
					in = "http://u:p@a.test/in"
				}
				if asked := w.Urls(); !slices.Equal(asked, []string{"http://a.test/", in}) {
					t.Errorf("asked for %q", asked)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				refs := []string{"http://:x@b.test/"}
				for n := range 10 {
					refs = append(refs, fmt.Sprintf("http://u%d:x@b.test/%d", n, n), fmt.Sprintf("http://v%d@b.test/%d", n, n))
				}
				began := time.Now()
				crawl(t, refs, send, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1, Delay: time.Second}))
				if took := time.Since(began); took != 10*time.Second {
					t.Errorf("11 pages of a host took %s with a second between them", took)
				}
			})
		})
	}
}

// What a page or a redirect writes of credentials is dropped, what a reference inherits from its own page's URL stays: a crawl
// that began logged in stays so. It fails if Resolve keeps or drops both.
func TestCredentialsStayWithTheirPage(t *testing.T) {
	based := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		return tegenaria.NewResponse(ctx.Request, 200, map[string][]string{"Content-Type": {"text/html"}}, []byte(`<base href="http://info@b.test/dir/"><a href="e">x</a>`)), nil
	}
	w := enginetest.NewWorld().Page("http://u:p@a.test/", enginetest.Page("/in", "moved", "//v:q@a.test/out", "http://a.test/in"))
	w.Page("http://u:p@a.test/in", enginetest.Page("?q=1")).Page("http://u:p@a.test/in?q=1", enginetest.Text("x"))
	w.Page("http://u:p@a.test/moved", enginetest.Redirect(302, "/to")).Page("http://u:p@a.test/to", enginetest.Redirect(302, "http://w@b.test/based"))
	w.Page("http://a.test/out", enginetest.Text("x")).Page("http://b.test/based", based).Page("http://b.test/dir/e", enginetest.Text("x"))
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, enginetest.NewSpider("http://u:p@a.test/")))
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 6, tegenaria.Redirected: 2, tegenaria.Duplicate: 1})
	want := []string{"http://a.test/out", "http://b.test/based", "http://b.test/dir/e", "http://u:p@a.test/", "http://u:p@a.test/in", "http://u:p@a.test/in?q=1", "http://u:p@a.test/moved", "http://u:p@a.test/to"}
	if got := slices.Sorted(slices.Values(w.Urls())); !slices.Equal(got, want) {
		t.Errorf("asked for %q, want %q", got, want)
	}
}

// A JSON text of 8 MB that is 200 MB of Go values is refused before they are made; a text that is long by its strings is not.
func TestJSONBombIsRefused(t *testing.T) {
	pages := map[string]string{
		"/bomb": "[" + strings.Repeat("{},", 8<<20/3) + "{}]",
		"/long": `{"text":"` + strings.Repeat("a", 8<<20) + `","number":7}`,
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(pages[r.URL.Path]))
	}))
	defer site.Close()
	looked := 0
	parse := func(_ context.Context, resp *tegenaria.Response, _ *tegenaria.Output[string]) error {
		looked++
		var limit *html.LimitError
		if strings.HasSuffix(resp.URL, "/bomb") {
			var all any
			if err := resp.Decode(&all); !errors.As(err, &limit) || all != nil {
				t.Errorf("a bomb: %v", err)
			}
			if resp.Json() != nil {
				t.Error("a bomb is an object")
			}
			return nil
		}
		if v := resp.Json(); v["number"] != 7.0 {
			t.Errorf("a long text: %v", resp.Decode(new(any)))
		}
		return nil
	}
	spider := tegenaria.NewSpider("test", tegenaria.Handle(parse), site.URL+"/bomb", site.URL+"/long")
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1))
	if err := engine.Execute("test"); err != nil || looked != 2 {
		t.Errorf("%d pages, %v", looked, err)
	}
}

// valuing leaves its parsers a value beside the body.
type valuing struct{ size int64 }

func (d valuing) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	resp, err := ctx.Respond(200, nil, strings.NewReader("body"))
	if err == nil {
		err = resp.SetValue("key", "value", d.size)
	}
	ctx.DownloadResult = &tegenaria.RequestResult{Response: resp}
	if err != nil {
		ctx.DownloadResult.Error = tegenaria.NewError(ctx.CtxId, err)
	}
	result <- ctx
}

func (valuing) CheckStatus(uint64, []uint64) bool { return true }

// A value of a downloader reaches the parser, unless it is larger than a body may be.
func TestResponseValue(t *testing.T) {
	for size, want := range map[int64]any{1000: "value", 1001: nil} {
		var got any
		var failed error
		parse := func(_ context.Context, resp *tegenaria.Response, _ *tegenaria.Output[any]) error {
			got = resp.Value("key")
			return nil
		}
		e := enginetest.NewEngine(nil, tegenaria.NewSpider("test", tegenaria.Handle(parse), "http://a.test/"), tegenaria.EngineWithDownloader(valuing{size}),
			tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1000}),
			tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) { failed = err }))
		enginetest.MustRun(t, e)
		large, isLarge := errors.AsType[*tegenaria.BodyTooLargeError](failed)
		if got != want || isLarge == (want != nil) || isLarge && (large.Limit != 1000 || large.URL != "http://a.test/") {
			t.Errorf("%d bytes: %v, %v", size, got, failed)
		}
	}
	resp := responseOf("text/plain", "")
	if err := resp.SetValue("key", 1, 1<<40); err != nil || resp.Value("key") != 1 || resp.Value("other") != nil {
		t.Errorf("outside of a run: %v, %v", err, resp.Value("key"))
	}
}

// A status that was not foreseen made the worker panic. Fails if Counters.Response indexes a table of known codes.
func TestAnyStatusThroughTheEngine(t *testing.T) {
	codes := []int{204, 226, 299, 308, 399, 418, 422, 429, 451, 499, 511, 522, 599, 600, 999}
	for _, allowed := range []bool{false, true} {
		t.Run(fmt.Sprintf("allowed=%t", allowed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld()
				var parsed sync.Map
				s := enginetest.NewSpider()
				s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					parsed.Store(resp.Response().Status, true)
					return nil
				}
				var allow []uint64
				for _, code := range codes {
					u := fmt.Sprintf("http://a.test/%d", code)
					w.Page(u, enginetest.Status(code))
					s.FeedUrls = append(s.FeedUrls, u)
					if allowed {
						allow = append(allow, uint64(code))
					}
				}
				stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithAllowStatusCode(allow)))
				failed := map[int]*tegenaria.HandleError{}
				for _, herr := range s.Errors() {
					failed[herr.Response.Status] = herr
				}
				for _, code := range codes {
					_, ok := parsed.Load(code)
					if want := allowed || code < 400; ok != want || (failed[code] != nil) == want {
						t.Errorf("%d: parsed %t, failed with %v", code, ok, failed[code])
					}
					if stats.Status[code] != 1 {
						t.Errorf("%d was counted %d times", code, stats.Status[code])
					}
				}
			})
		})
	}
}

// Responses were recycled after the parser. Fails if settler.release empties the response's Buffer.
func TestKeptResponsesStay(t *testing.T) {
	w := enginetest.NewWorld()
	s := enginetest.NewSpider()
	var mu sync.Mutex
	kept := map[string]*tegenaria.Context{}
	s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		mu.Lock()
		defer mu.Unlock()
		kept[resp.Request.Url] = resp
		return nil
	}
	const n = 200
	for i := range n {
		u := fmt.Sprintf("http://a.test/%d", i)
		w.Page(u, enginetest.Text("body of "+u))
		s.FeedUrls = append(s.FeedUrls, u)
	}
	enginetest.MustRun(t, enginetest.NewEngine(w, s))
	if len(kept) != n {
		t.Fatalf("%d responses kept", len(kept))
	}
	for u, ctx := range kept {
		resp := ctx.Response()
		body, err := io.ReadAll(resp.Reader())
		if err != nil || string(body) != "body of "+u || resp.String() != "body of "+u || resp.Buffer.String() != "body of "+u ||
			resp.Status != 200 || resp.URL != u || resp.Request().Url != u || resp.Context() != ctx {
			t.Fatalf("the response of %s is another one now: %+v, %v", u, resp, err)
		}
	}
}

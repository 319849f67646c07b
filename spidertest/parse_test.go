package spidertest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/spidertest"
)

const listURL = "https://books.example/list/"

const listPage = `<h1>Books</h1>
<h2>Moby-Dick</h2> <a href="moby">more</a>
<h2>Middlemarch</h2> <a href="/middlemarch?a=1&amp;b=2">more</a>
<a href="moby">again</a> <a href="mailto:shop@books.example">write</a>`

type title struct{ Text string }

// titles reads the list with an Output.
func titles(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[title]) error {
	for _, h := range page.CSS("h2").All() {
		if err := out.Item(title{h.Text()}); err != nil {
			return err
		}
	}
	return out.FollowLinks()
}

// shop reads the list with channels. Its method is a Parser.
type shop struct{ *tegenaria.BaseSpider }

func (s *shop) Parser(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	for _, h := range resp.Response().CSS("h2").All() {
		item <- tegenaria.NewItem(resp, title{h.Text()})
	}
	for _, href := range resp.Response().CSS("a:not([href^=mailto])").Attrs("href") {
		r, err := resp.Response().Follow(href)
		if err != nil {
			return err
		}
		req <- tegenaria.NewContext(r)
	}
	return nil
}

func urls(requests []*tegenaria.Request) (all []string) {
	for _, r := range requests {
		all = append(all, r.Method+" "+r.Url)
	}
	return all
}

// Each form of a parser has the same result, outside and inside a bubble.
func TestParse(t *testing.T) {
	spider := &shop{&tegenaria.BaseSpider{Name: "shop"}}
	file := filepath.Join(t.TempDir(), "list.html")
	if err := os.WriteFile(file, []byte(listPage), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, parser := range map[string]tegenaria.Parser{
		"output": tegenaria.Handle(titles), "method": spider.Parser, "combined": tegenaria.Parsers(tegenaria.Handle(titles)),
	} {
		for kind, page := range map[string]spidertest.Page{"markup": spidertest.HTML(listPage), "file": spidertest.File(file)} {
			check := func(t *testing.T) {
				items, requests := spidertest.Parse[title](t, parser, page, listURL)
				if want := []title{{"Moby-Dick"}, {"Middlemarch"}}; !slices.Equal(items, want) {
					t.Errorf("items %v, want %v", items, want)
				}
				want := []string{"GET https://books.example/list/moby", "GET https://books.example/middlemarch?a=1&b=2", "GET https://books.example/list/moby"}
				if got := urls(requests); !slices.Equal(got, want) {
					t.Errorf("requests %q, want %q", got, want)
				}
				for _, r := range requests {
					if r.Depth != 1 {
						t.Errorf("the depth of %s is %d", r.Url, r.Depth)
					}
				}
			}
			t.Run(name+"/"+kind, check)
			t.Run(name+"/"+kind+"/bubble", func(t *testing.T) { synctest.Test(t, check) })
		}
	}
}

// What a request carries is there; a form is encoded and JSON is a body.
func TestParseRequests(t *testing.T) {
	detail := tegenaria.Handle(titles)
	parser := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
		form, err := page.Follow("search", tegenaria.RequestWithForm(url.Values{"q": {"whale"}}))
		if err != nil {
			return err
		}
		form.Method = tegenaria.POST
		read := tegenaria.NewRequest("https://other.example/", tegenaria.PUT, detail, tegenaria.RequestWithBodyReader(strings.NewReader("all of it")))
		return errors.Join(out.Request(form), out.Request(read),
			out.Follow("next", tegenaria.RequestWithRequestMeta(map[string]any{"page": 2}), tegenaria.RequestWithPriority(3), tegenaria.RequestWithParserName("detail")),
			out.Follow(""), out.Follow("javascript:void(0)"))
	})
	_, requests := spidertest.Parse[any](t, parser, spidertest.HTML(""), listURL)
	want := []string{"POST https://books.example/list/search", "PUT https://other.example/", "GET https://books.example/list/next"}
	if got := urls(requests); !slices.Equal(got, want) {
		t.Fatalf("requests %q, want %q", got, want)
	}
	for i, body := range []string{"q=whale", "all of it", ""} {
		if got := string(requests[i].Body); got != body {
			t.Errorf("the body of %s is %q, want %q", requests[i].Url, got, body)
		}
	}
	if r := requests[2]; r.Meta["page"] != 2 || r.Priority != 3 || r.ParserName() != "detail" || requests[1].ParserName() != "" {
		t.Errorf("meta %v, priority %d, parsers %q and %q", r.Meta, r.Priority, r.ParserName(), requests[1].ParserName())
	}
}

// The parser sees the response of a crawl: its request, its Context, status, header and charset.
func TestParsePage(t *testing.T) {
	latin := filepath.Join(t.TempDir(), "latin.html")
	if err := os.WriteFile(latin, []byte("<meta charset=iso-8859-1><p>caf\xe9"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		page spidertest.Page
		want string // status, Content-Type, text
	}{
		{"markup", spidertest.HTML("<p>café"), "200 text/html; charset=utf-8 café"},
		{"file", spidertest.File(latin), "200 text/html café"},
		{"JSON", spidertest.JSON(`{"p":1}`), "200 application/json "},
		{"not found", spidertest.Page{Status: 404, Body: "<p>gone"}, "404 text/html gone"},
		{"redirect", spidertest.Redirect("/elsewhere"), "302  "},
		{"empty", spidertest.Page{}, "200  "},
		{"a type of its own", spidertest.Page{Body: "<p>x</p>", Header: map[string]string{"content-type": "application/xml"}}, "200 application/xml x"},
		{"text", spidertest.Page{Body: "plain words"}, "200 text/plain; charset=utf-8 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			parser := tegenaria.Handle(func(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
				page.Context().SlotDelay(0)
				typ := strings.Join(page.Header["Content-Type"], "")
				return out.Item(fmt.Sprintf("%d %s %s", page.Status, typ, page.CSS("p").Text()))
			})
			items, _ := spidertest.Parse[string](t, parser, c.page, "https://books.example")
			if len(items) != 1 || items[0] != c.want {
				t.Errorf("got %q, want %q", items, c.want)
			}
		})
	}
}

func TestParseWithRequest(t *testing.T) {
	parser := func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		r := resp.Response().Request()
		item <- tegenaria.NewItem(resp, fmt.Sprint(r.Method, r.Meta["shelf"]))
		return nil
	}
	post := func(r *tegenaria.Request) { r.Method = tegenaria.POST }
	items, _ := spidertest.Parse[string](t, parser, spidertest.HTML(""), listURL,
		spidertest.ParseWithRequest(post, tegenaria.RequestWithRequestMeta(map[string]any{"shelf": 7})))
	if !slices.Equal(items, []string{"POST7"}) {
		t.Errorf("got %q", items)
	}
}

// A parser may fetch the pages that the test gives. What it fetches is no request that it sent.
func TestParseWithPage(t *testing.T) {
	var missing error
	parser := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		author, err := page.Follow("/author/1")
		if err != nil {
			return err
		}
		resp, err := out.Fetch(author)
		if err != nil {
			return err
		}
		_, missing = out.Fetch(tegenaria.NewRequest("https://books.example/author/2", tegenaria.GET, nil))
		return errors.Join(out.Item(resp.CSS("h1").Text()), out.Follow("/author/1"))
	})
	items, requests := spidertest.Parse[string](t, parser, spidertest.HTML(""), listURL,
		spidertest.ParseWithPage("https://books.example/author/1", spidertest.HTML("<h1>Melville</h1>")))
	if !slices.Equal(items, []string{"Melville"}) || len(requests) != 1 {
		t.Errorf("items %q, requests %q", items, urls(requests))
	}
	if missing == nil || !strings.Contains(missing.Error(), "https://books.example/author/2 to fetch; add it with ParseWithPage") {
		t.Errorf("error %v", missing)
	}
}

// More than any channel holds, sent by several goroutines.
func TestParseMuch(t *testing.T) {
	const n = 2000
	parser := func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		var sending sync.WaitGroup
		sending.Go(func() {
			for i := range n {
				item <- tegenaria.NewItem(resp, i)
			}
		})
		sending.Go(func() {
			for i := range n {
				req <- tegenaria.NewContext(tegenaria.NewRequest(fmt.Sprintf("https://books.example/%d", i), tegenaria.GET, nil))
			}
		})
		sending.Wait()
		return nil
	}
	items, requests := spidertest.Parse[int](t, parser, spidertest.HTML(""), listURL)
	if len(items) != n || !slices.IsSorted(items) || len(requests) != n || requests[n-1].Url != fmt.Sprintf("https://books.example/%d", n-1) {
		t.Errorf("%d items, %d requests, want %d of each in order", len(items), len(requests), n)
	}
}

var errPage = errors.New("the page makes no sense")

func TestParseWithError(t *testing.T) {
	failing := func(with error) tegenaria.Parser {
		return tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[int]) error {
			return errors.Join(out.Item(1), out.Follow("x"), with)
		})
	}
	err := errPage
	items, requests := spidertest.Parse[int](t, failing(errPage), spidertest.HTML(""), listURL, spidertest.ParseWithError(&err))
	if !errors.Is(err, errPage) || len(items) != 1 || len(requests) != 1 {
		t.Errorf("error %v, items %v, requests %q", err, items, urls(requests))
	}
	if spidertest.Parse[int](t, failing(nil), spidertest.HTML(""), listURL, spidertest.ParseWithError(&err)); err != nil {
		t.Errorf("error %v of a parser that did not fail", err)
	}
	spidertest.Parse[int](t, failing(tegenaria.Retry(0, errPage)), spidertest.HTML(""), listURL, spidertest.ParseWithError(&err))
	var retry *tegenaria.RetryError
	if !errors.As(err, &retry) {
		t.Errorf("error %v, want that of Retry", err)
	}
	panics := func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error { panic(errPage) }
	spidertest.Parse[int](t, panics, spidertest.HTML(""), listURL, spidertest.ParseWithError(&err))
	var panicked *tegenaria.PanicError
	if !errors.As(err, &panicked) || !errors.Is(err, errPage) {
		t.Errorf("error %v, want a panic", err)
	}
}

// mock is a testing.TB that notes how the test ends.
type mock struct {
	testing.TB
	mu       sync.Mutex // guards the fields below
	messages []string
	cleanups []func()
	output   bytes.Buffer
}

func (m *mock) Helper()                  {}
func (m *mock) Context() context.Context { return context.Background() }
func (m *mock) Output() io.Writer        { return &m.output }
func (m *mock) Cleanup(f func())         { m.cleanups = append(m.cleanups, f) }

func (m *mock) Errorf(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.messages = append(m.messages, fmt.Sprintf(format, args...))
}

func (m *mock) Fatalf(format string, args ...any) {
	m.Errorf("fatal: "+format, args...)
	runtime.Goexit()
}

func (m *mock) Fatal(args ...any) { m.Fatalf("%s", fmt.Sprint(args...)) }

// fails runs a test with a mock, and returns what it said.
func fails(test func(m *mock)) string {
	m := &mock{}
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() {
			for _, f := range slices.Backward(m.cleanups) {
				f()
			}
		}()
		test(m)
	}()
	<-over
	return strings.Join(m.messages, "\n")
}

// Each mistake fails the test, with words that say which it is.
func TestParseFails(t *testing.T) {
	send := func(r *tegenaria.Request) tegenaria.Parser {
		return func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			req <- tegenaria.NewContext(r)
			return nil
		}
	}
	get := func(url string, opts ...tegenaria.RequestOption) tegenaria.Parser {
		return send(tegenaria.NewRequest(url, tegenaria.GET, nil, opts...))
	}
	item := func(v any) tegenaria.Parser {
		return func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(resp, v)
			return nil
		}
	}
	nothing := func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error { return nil }
	page := spidertest.HTML("")
	for _, c := range []struct {
		name   string
		parser tegenaria.Parser
		page   spidertest.Page
		url    string
		opts   []spidertest.ParseOption
		want   []string
	}{
		{"nil parser", nil, page, listURL, nil, []string{"fatal: spidertest: Parse: the parser is nil"}},
		{"nil option", nothing, page, listURL, []spidertest.ParseOption{nil}, []string{"fatal:", "ParseOption 1 is nil"}},
		{"no file", nothing, spidertest.File("testdata/none.html"), listURL, nil, []string{"fatal:", "testdata/none.html"}},
		{"file and body", nothing, spidertest.Page{File: "x", Body: "y"}, listURL, nil, []string{"fatal:", "leave one of them out"}},
		{"relative page", nothing, page, "/list/", nil, []string{"fatal:", "the parser was not called", "/list/"}},
		{"an error", func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error { return errPage }, page, listURL, nil,
			[]string{"fatal: spidertest: Parse: the parser failed: the page makes no sense"}},
		{"a panic", func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error { panic("ouch") }, page, listURL, nil,
			[]string{"fatal:", "the parser failed", "ouch\n\tgithub.com/tegenaria/tegenaria/spidertest_test.TestParseFails.func", "parse_test.go"}},
		{"Goexit", func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
			runtime.Goexit()
			return nil
		}, page, listURL, nil, []string{"fatal:", "the parser failed: it ended its goroutine"}},
		{"another type", item("a string"), page, listURL, nil, []string{"an item of type string, not spidertest_test.title: a string"}},
		{"a pointer", item(&title{}), page, listURL, nil, []string{"an item of type *spidertest_test.title, not spidertest_test.title"}},
		{"a nil item", item(nil), page, listURL, nil, []string{"an item of type <nil>"}},
		{"a relative request", get("next"), page, listURL, nil, []string{"a request that a crawl refuses", "next"}},
		{"another scheme", get("mailto:me@books.example"), page, listURL, nil, []string{"a request that a crawl refuses", "mailto"}},
		{"a long URL", get(listURL + strings.Repeat("x", 70_000)), page, listURL, nil, []string{"a request that a crawl refuses", "filtered: url-length"}},
		{"an option's error", get(listURL, tegenaria.RequestWithJSON(func() {})), page, listURL, nil, []string{"a request that a crawl refuses", "JSON"}},
		{"no request", send(nil), page, listURL, nil, []string{"a request that a crawl refuses", "the Context has no Request"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := fails(func(m *mock) { spidertest.Parse[title](m, c.parser, c.page, c.url, c.opts...) })
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("it says %q, not %q", got, want)
				}
			}
			if !strings.HasPrefix(c.want[0], "fatal:") && strings.Contains(got, "\n") {
				t.Errorf("it says more than one thing: %s", got)
			}
		})
	}
	t.Run("nil context", func(t *testing.T) {
		got := fails(func(m *mock) {
			spidertest.Parse[title](m, func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				req <- nil
				return nil
			}, page, listURL)
		})
		if !strings.Contains(got, "a request that a crawl refuses") {
			t.Errorf("it says %q", got)
		}
	})
}

// A goroutine that the parser leaves behind is told of, and is not left hanging.
func TestParseAfterReturn(t *testing.T) {
	sent := make(chan struct{})
	leave := make(chan struct{})
	got := fails(func(m *mock) {
		spidertest.Parse[int](m, func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			go func() {
				defer close(sent)
				<-leave
				item <- tegenaria.NewItem(resp, 1)
				req <- tegenaria.NewContext(tegenaria.NewRequest(listURL, tegenaria.GET, nil))
			}()
			return nil
		}, spidertest.HTML(""), listURL)
		close(leave)
		<-sent
	})
	if !strings.Contains(got, "sent an item after it had returned") || !strings.Contains(got, "sent a request after it had returned") {
		t.Errorf("it says %q", got)
	}
}

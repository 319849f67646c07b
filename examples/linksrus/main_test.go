package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/examples/linksrus/web"
	"github.com/tegenaria/tegenaria/selector"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) // the import of bleve starts workers that stay
}

// lockedBuffer is the log of a service that still runs.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// serveArgs runs the command and returns the address of its page, and how to end it.
func serveArgs(t *testing.T, log io.Writer, args ...string) (address string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, args, in, log)
		in.Close()
		ended <- err
	}()
	line := make([]byte, 200)
	n, _ := out.Read(line)
	found := regexp.MustCompile(`http://[^/]+`).FindString(string(line[:n]))
	if found == "" {
		cancel()
		t.Fatalf("it said %q, %v", line[:n], <-ended)
	}
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { stop() })
	return found, stop
}

// client does not keep connections, which would hold up the end of a server.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func get(t *testing.T, address string) *selector.Document {
	t.Helper()
	resp, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Parse(body)
}

// eventually asks the page until a query has that many results; if it never has, the test's timeout says where.
func eventually(t *testing.T, address, query string, want int) *selector.Document {
	t.Helper()
	for {
		page := get(t, address+"/?q="+url.QueryEscape(query))
		if page.CSS("li").Len() == want {
			return page
		}
	}
}

// The whole way: the demo site is crawled, ranked and searched, by both crawlers.
func TestDemo(t *testing.T) {
	for _, way := range [][]string{{"-pipeline"}, {"-c", "16"}} {
		var out, log bytes.Buffer
		if err := run(t.Context(), append(way, "-q", `"all the world's a stage"`), &out, &log); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "Quotes about life") || !strings.Contains(out.String(), "/quotes/tag/life/") ||
			!regexp.MustCompile(`^[1-9] pages found\n`).MatchString(out.String()) {
			t.Errorf("%q prints %s", way, &out)
		}
		robots := strings.Contains(log.String(), "/private/: robots: forbidden")
		if wanted := way[0] != "-pipeline"; robots != wanted || !strings.Contains(log.String(), "ranked") {
			t.Errorf("%q logs %s", way, &log)
		}
	}
}

// A served site is searched, a link is submitted and found, and everything ends when it is told to. The stores are
// there again in the next run.
func TestServe(t *testing.T) {
	var edition atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			fmt.Fprintf(w, `<title>Home</title><p>welcome to edition number%d</p><a href="/about">about</a>`, edition.Load())
		case "/about":
			fmt.Fprint(w, `<title>About</title><p>welcome about</p><a href="/">home</a>`)
		case "/hidden":
			fmt.Fprint(w, `<title>Hidden</title><p>welcome, nobody links here</p><a href="/">home</a>`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	var log lockedBuffer
	db := filepath.Join(t.TempDir(), "db")
	args := []string{"-url", site.URL, "-db", db}
	address, stop := serveArgs(t, &log, args...)

	page := eventually(t, address, "welcome", 2)
	if got := page.CSS("li h2").Texts(); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"About", "Home"}) {
		t.Errorf("found %q", got)
	}
	submit := func(link string) *http.Response {
		resp, err := client.PostForm(address+"/submit", url.Values{"url": {link}})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	if resp := submit(site.URL + "/hidden#part"); resp.StatusCode != 200 || resp.Request.URL.Path != "/submit" || !resp.Request.URL.Query().Has("taken") {
		t.Errorf("submitting ended at %s with %s", resp.Request.URL, resp.Status)
	}
	eventually(t, address, "welcome hidden", 1)
	for _, private := range []string{address + "/", "http://10.0.0.1/", "http://localhost:1/", "file:///etc/passwd", "nonsense", "http://2130706433/"} {
		if resp := submit(private); resp.StatusCode != 422 {
			t.Errorf("%s: %s", private, resp.Status)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := client.Get(address); err == nil {
		t.Error("the page is still served")
	}

	edition.Store(2)
	address, stop = serveArgs(t, &log, args...)
	eventually(t, address, "number2", 1)
	eventually(t, address, "number0", 0)
	eventually(t, address, "hidden", 1)
	if err := stop(); err != nil {
		t.Error(err)
	}
	g, err := graph.OpenSQLite(filepath.Join(db, "graph.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	links := 0
	for link, err := range g.Links(t.Context(), graph.All, time.Now().Add(time.Hour)) {
		if err != nil || link.RetrievedAt.IsZero() || link.Submitted != strings.HasSuffix(link.URL, "/hidden") {
			t.Errorf("%+v, %v", link, err)
		}
		links++
	}
	if links != 3 {
		t.Errorf("%d links, want 3", links)
	}
	if strings.Contains(log.String(), "dropped http") {
		t.Errorf("the log says %s", log.String())
	}
}

// With -recrawl changed pages replace what was known.
func TestRecrawl(t *testing.T) {
	var edition atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<title>Edition %d</title>", edition.Add(1))
	}))
	defer site.Close()
	address, stop := serveArgs(t, io.Discard, "-url", site.URL, "-recrawl", "1ms", "-pipeline")
	for seen := range 3 {
		for {
			page := get(t, address+"/?q=edition")
			if n := page.CSS("li").Len(); n > 1 {
				t.Fatalf("%d documents of one page", n)
			} else if n == 1 && page.CSS("li h2").Text() > fmt.Sprintf("Edition %d", seen) {
				break
			}
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestSubmitRefusals(t *testing.T) {
	s, err := open(t.Context(), &options{urls: []string{"http://127.0.0.1:8080/"}, workers: 1}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for link, want := range map[string]string{
		"example.com":                "write it as",
		"http://127.0.0.1:8081/":     "private address",
		"http://169.254.169.254/":    "private address",
		"http://u:secret@a.example/": "leave out",
		"http://u@a.example/":        "leave out",
	} {
		if err := s.submit(t.Context(), link); !errors.Is(err, web.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", link, err)
		}
	}
	// Submitted twice before the crawler wakes up: nobody waits.
	for range 2 {
		if err := s.submit(t.Context(), "HTTP://Example.com#x"); err != nil {
			t.Error(err)
		}
	}
	link, err := s.graph.Link(t.Context(), graph.LinkID("http://example.com/"))
	if err != nil || !link.Submitted {
		t.Errorf("got %+v, %v", link, err)
	}
}

func TestBadFlags(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"-url example.com", "example.com"}, {"-url ftp://example.com/", "ftp://example.com/"},
		{"-url http://10.0.0.1/", "private address"}, {"-c 0", "-c is 0"},
		{"-recrawl -1s", "-recrawl is -1s"}, {"-db x", "-db needs a -url"}, {"-speed 3", "-speed"}, {"http://example.com/", "belongs to no flag"},
		{"-url http://127.0.0.1:1/ -listen nowhere:x", "listen tcp"}, {"-url http://127.0.0.1:1/ -db /dev/null/x", "/dev/null"},
	} {
		var out bytes.Buffer
		if err := run(t.Context(), strings.Fields(c.args), &out, io.Discard); err == nil || !strings.Contains(err.Error(), c.says) || out.Len() > 0 {
			t.Errorf("%s: %v, %q", c.args, err, &out)
		}
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, &out, io.Discard); err != nil || !strings.Contains(out.String(), "-recrawl") {
		t.Errorf("the help: %v, %q", err, &out)
	}
}

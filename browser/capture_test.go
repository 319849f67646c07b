package browser_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

// It fails if an exchange of a page is not captured as it was, if one that does not match is, or if one that is not complete does not
// say so.
func TestCapture(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 1})
	temporary(t)
	var log asked
	over := make(chan struct{})
	site := asSite(t, "127.0.0.1", &log, "User-agent: *\nDisallow: /api/forbidden\n", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><a href="/next">next</a><ul></ul><iframe src="/frame"></iframe><script src="/api/script"></script><script>(async () => {
				const xhr = (method, url, body) => new Promise(done => {
					const x = new XMLHttpRequest(); x.open(method, url); x.onloadend = done; x.send(body)
				})
				await xhr("POST", "/api/echo", "an \u00e4 in a body")
				await fetch("/api/none").then(r => r.text())
				await fetch("/api/moved").then(r => r.text())
				await fetch("/api/binary").then(r => r.arrayBuffer())
				await fetch("/api/latin").then(r => r.text())
				await fetch("/api/cached").then(r => r.text())
				await fetch("/api/cached").then(r => r.text())
				await fetch("/api/large").then(r => r.text())
				await fetch("/api/cut").then(r => r.text()).catch(() => 0)
				await fetch("/api/forbidden").catch(() => 0)
				await fetch("/other").then(r => r.text())
				await fetch("/api/end").then(r => r.text())
				fetch("/api/endless")
				document.querySelector("ul").innerHTML = "<li>done"
			})()</script>`)
		case "/frame":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><script>fetch("/api/frame")</script>`)
		case "/next":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><ol></ol><script>fetch("/api/next").then(() => document.querySelector("ol").innerHTML = "<li>next")</script>`)
		case "/api/echo":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Test", "yes")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"names": ["one", "zw\u00f6lf"], "length": %d}`, r.ContentLength)
		case "/api/none":
			w.WriteHeader(http.StatusNoContent)
		case "/api/moved":
			http.Redirect(w, r, "/api/target", http.StatusFound)
		case "/api/binary":
			w.Write([]byte{0, 1, 0xff, 0xfe})
		case "/api/latin":
			w.Header().Set("Content-Type", "application/json; charset=iso-8859-1")
			w.Write([]byte("\"\xe4\""))
		case "/api/cached":
			w.Header().Set("Cache-Control", "max-age=3600")
			fmt.Fprint(w, "kept")
		case "/api/large":
			w.Write(make([]byte, 2<<20))
		case "/api/cut":
			w.Header().Set("Content-Length", "10")
			fmt.Fprint(w, "short")
		case "/api/endless":
			fmt.Fprint(w, "begin")
			w.(http.Flusher).Flush()
			select {
			case <-over:
			case <-r.Context().Done():
			}
		default:
			fmt.Fprint(w, r.URL.Path)
		}
	})
	t.Cleanup(func() { close(over) })
	pages, failed := crawl(t, b, []string{site + "/page"},
		[]tegenaria.RequestOption{browser.Capture("*/api/*"), browser.ReadyWhen("ul li"), browser.Do(browser.Click("a"), browser.WaitFor("ol li"))},
		tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1 << 20}), tegenaria.EngineWithPoliteness(tegenaria.Politeness{}))
	page, ok := pages["/page"]
	if !ok {
		t.Fatal(failed)
	}
	got := make(map[string]browser.Exchange)
	var order []string
	for _, x := range browser.Captured(page.from) {
		name := strings.TrimPrefix(x.URL, site+"/api/")
		if got[name] = x; name != "frame" { // which is asked for at the same time
			order = append(order, name)
		}
	}
	if want := "echo none target binary latin cached cached large cut forbidden end endless next"; strings.Join(order, " ") != want {
		t.Errorf("captured %q, want %s", order, want)
	}
	echo := got["echo"]
	var answer struct {
		Names  []string
		Length int
	}
	if err := echo.Decode(&answer); err != nil || len(answer.Names) != 2 || answer.Names[1] != "zwölf" || answer.Length != len(echo.RequestBody) {
		t.Errorf("%+v, %v, %s", answer, err, echo.Body)
	}
	if echo.Method != http.MethodPost || string(echo.RequestBody) != "an ä in a body" || echo.Status != http.StatusCreated || echo.Header.Get("X-Test") != "yes" {
		t.Errorf("%+v", echo)
	}
	for name, want := range map[string]struct {
		status int
		body   string
	}{
		"none": {204, ""}, "target": {200, "/api/target"}, "binary": {200, "\x00\x01\xff\xfe"}, "latin": {200, `"ä"`}, "cached": {200, "kept"},
		"end": {200, "/api/end"}, "frame": {200, "/api/frame"}, "next": {200, "/api/next"},
	} {
		if x := got[name]; x.Err != nil || x.Status != want.status || string(x.Body) != want.body {
			t.Errorf("%s: %d, %q, %v", name, x.Status, x.Body, x.Err)
		}
	}
	var text string
	if x := got["latin"]; x.Decode(&text) != nil || text != "ä" {
		t.Errorf("decoded %q", text)
	}
	for name, status := range map[string]int{"cut": 200, "forbidden": 0, "endless": 200} {
		x := got[name]
		if wrong, ok := errors.AsType[*browser.CaptureError](x.Err); !ok || wrong.URL != x.URL || x.Status != status || x.Body != nil || x.Decode(new(any)) != x.Err {
			t.Errorf("%s: %+v", name, x)
		}
	}
	large := got["large"]
	if wrong, ok := errors.AsType[*tegenaria.BodyTooLargeError](large.Err); !ok || wrong.Limit != 1<<20 || large.Status != 200 || large.Body != nil {
		t.Errorf("large: %d, %d bytes, %v", large.Status, len(large.Body), large.Err)
	}
}

// It fails if what is captured is not part of the key of a request. Needs no browser.
func TestCaptureIsStored(t *testing.T) {
	variant := func(options ...tegenaria.RequestOption) string {
		return tegenaria.NewRequest("http://a.example/", "", nil, options...).Variant()
	}
	one, both := variant(browser.Capture("*/api/*")), variant(browser.Do(browser.Scroll()), browser.Capture("*/api/*"))
	if none := variant(browser.Do(browser.Scroll())); one == both || both == none || one == "" {
		t.Errorf("%q, %q, %q", one, both, none)
	}
}

// It fails if a response without exchanges has some. Needs no browser.
func TestCapturedNothing(t *testing.T) {
	if got := browser.Captured(tegenaria.NewResponse(tegenaria.NewRequest("http://a.example/", "", nil), 200, nil, nil)); got != nil {
		t.Error(got)
	}
}

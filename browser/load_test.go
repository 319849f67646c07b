package browser_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

// lists are pages whose list is complete, and that never fire their load event.
var lists = map[string]struct {
	script string // "after" stands behind it
	texts  []string
}{
	"/stopped":        {`<script>window.stop()</script>`, []string{"list"}}, // as browsers do, which read no further
	"/stopped-late":   {`<script src="/never" async></script><script>addEventListener("DOMContentLoaded", () => window.stop())</script>`, []string{"list", "after"}},
	"/mail":           {`<script>location = "mailto:ann@a.example"</script>`, nil},
	"/mail-late":      {`<script>addEventListener("DOMContentLoaded", () => location = "mailto:ann@a.example")</script>`, []string{"list", "after"}},
	"/telephone":      {`<meta http-equiv="refresh" content="0; url=tel:123">`, []string{"list", "after"}},
	"/hangs":          {`<script src="/never" async></script>`, []string{"list", "after"}},
	"/hanging-frame":  {`<iframe src="/never"></iframe>`, []string{"list", "after"}},
	"/opened-again":   {`<script>addEventListener("DOMContentLoaded", () => setTimeout(() => { document.open(); document.write("<li>written") }))</script><script src="/never" async></script>`, []string{"written"}},
	"/keeps-its-form": {`<form method="post" action="/home"><button>go on</button></form><script>1</script>`, []string{"list", "after"}},
}

// hasNoEnd are those that a browser would load for ever: they are taken as they are after Options.Settle.
var hasNoEnd = []string{"/hangs", "/hanging-frame", "/opened-again", "/keeps-its-form"}

// It fails if a page that has all it gets is awaited for its load event.
func TestPagesThatNeverLoad(t *testing.T) {
	for _, settle := range []time.Duration{time.Second, time.Hour} {
		t.Run(settle.String(), func(t *testing.T) {
			temporary(t)
			b := openBrowser(t, browser.Options{Tabs: 4, Settle: settle})
			over := make(chan struct{})
			site := asSite(t, "127.0.0.1", new(asked), "", func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/never" {
					select {
					case <-over:
					case <-r.Context().Done():
					}
					return
				}
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, "<!doctype html><ul><li>list</ul>%s<ul><li>after</ul>", lists[r.URL.Path].script)
			})
			t.Cleanup(func() { close(over) })
			var urls []string
			for path := range lists {
				if settle < time.Hour || !slices.Contains(hasNoEnd, path) {
					urls = append(urls, site+path)
				}
			}
			pages, failed := crawl(t, b, urls, nil)
			for _, url := range urls {
				path := pathOf(url)
				got, ok := pages[path]
				if want := lists[path].texts; !ok || want != nil && !slices.Equal(got.texts, want) {
					t.Errorf("%s: %q, %v; want %q", path, got.texts, failed[path], want)
				}
			}
		})
	}
}

// It fails if a document that the server gives no type, or the wrong one, is lost or taken for HTML.
func TestUntypedDocuments(t *testing.T) {
	temporary(t)
	b := openBrowser(t, browser.Options{Tabs: 2})
	const html = `<!doctype html><ul></ul><script>document.querySelector("ul").innerHTML = "<li>" + document.cookie</script>`
	binary := pdf + "\xf6\x00<script>"
	documents := map[string]struct {
		kind, body string
		asItIs     bool
	}{
		"/pdf": {"", binary, true}, "/picture": {"", "\x89PNG\x0d\x0a\x1a\x0a\x00", true}, "/archive": {"", "PK\x03\x04\x00", true},
		"/unreadable": {"pdf; ;", binary, true}, "/print.PDF?n=1": {"text/html", binary, true},
		"/page": {"", html, false}, "/viewer.pdf": {"text/html", html, false}, "/large": {"", html + strings.Repeat("<p>", 1<<19), false},
		"/wrong": {"text/html; charset=utf-8", binary, false}, "/none": {"", "", true},
	}
	log := new(asked)
	site := asSite(t, "127.0.0.1", log, "", func(w http.ResponseWriter, r *http.Request) {
		document := documents[r.URL.RequestURI()]
		w.Header()["Content-Type"] = nil
		if document.kind != "" {
			w.Header().Set("Content-Type", document.kind)
		}
		w.Header().Set("Set-Cookie", "a=1")
		fmt.Fprint(w, document.body)
	})
	var urls []string
	for path := range documents {
		urls = append(urls, site+path)
	}
	pages, failed := crawl(t, b, urls, nil, tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1 << 20}))
	for path, document := range documents {
		got, ok := pages[path]
		switch {
		case path == "/wrong":
			if err := failed[path]; err == nil || !strings.Contains(err.Error(), "PDF") || !strings.Contains(err.Error(), site+path) {
				t.Errorf("%s: %v, %q", path, err, got.text)
			}
		case path == "/large":
			if err := failed[path]; err == nil || !strings.Contains(err.Error(), "Limits.Body") {
				t.Errorf("%s: %v", path, err)
			}
		case !ok || got.header.Get("Set-Cookie") == "":
			t.Errorf("%s: %v, %v", path, failed[path], got.header)
		case document.asItIs && string(got.from.Bytes()) != document.body:
			t.Errorf("%s: %q", path, got.from.Bytes())
		case !document.asItIs && !slices.Equal(got.texts, []string{"a=1"}):
			t.Errorf("%s: %q", path, got.text)
		}
	}
	for path := range documents {
		before, _, _ := strings.Cut(path, "?")
		if n := len(log.of(before)); n != 1 && failed[path] == nil {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
}

package browser_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

// It fails if a page is not ready when its request says so, if it is awaited for longer, or if the failure does not name condition
// and page. Each page of the site has a script that never comes, so that it does not load by itself, and one that makes its list.
func TestReadyWhen(t *testing.T) {
	b := openBrowser(t, browser.Options{Settle: time.Second, Tabs: 4})
	temporary(t)
	var log asked
	over := make(chan struct{})
	site := asSite(t, "127.0.0.1", &log, "", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch {
		case r.URL.Path == "/never":
			select {
			case <-over:
			case <-r.Context().Done():
			}
		case r.URL.Path == "/data":
			fmt.Fprint(w, "<li>one<li>two")
		default:
			if strings.HasPrefix(r.URL.Path, "/hangs") {
				fmt.Fprint(w, `<!doctype html><script src="/never" async></script>`)
			}
			fmt.Fprint(w, `<!doctype html><ul></ul><script>fetch("/data").then(r => r.text()).then(text => {
				document.querySelector("ul").innerHTML = text
				window.state = {names: ["one", "two"]}
			})</script>`)
		}
	})
	t.Cleanup(func() { close(over) })
	tests := []struct {
		path  string
		ready tegenaria.RequestOption
		does  tegenaria.RequestOption
		says  string // of the failure; "": the page is ready
	}{
		{"/hangs/css", browser.ReadyWhen("ul > li"), nil, ""},
		{"/hangs/js", browser.ReadyWhenTrue("state.names.length // is 2"), nil, ""},
		{"/acts", browser.Do(browser.WaitFor("li"), browser.Evaluate("state.names.length", "n")), browser.ReadyWhenTrue("document.body"), ""},
		{"/absent", browser.ReadyWhen(`p[title="x"]`), nil, "no element matches"},
		{"/false", browser.ReadyWhenTrue("1 > 2"), nil, "the expression is false"},
		{"/throws", browser.ReadyWhenTrue("missing()"), nil, "missing is not defined"},
		{"/hangs/selector", browser.ReadyWhen("p:::"), nil, "not a valid selector"},
	}
	var requests []*tegenaria.Request
	for _, test := range tests {
		options := []tegenaria.RequestOption{tegenaria.RequestWithDownloader("browser"), test.ready}
		if test.does != nil {
			options = append(options, test.does)
		}
		requests = append(requests, tegenaria.NewRequest(site+test.path, "", nil, options...))
	}
	pages, failed := crawlRequests(t, b, requests)
	for _, test := range tests {
		got, err := pages[test.path], failed[test.path]
		if test.says == "" {
			if err != nil || len(got.texts) != 2 {
				t.Errorf("%s: %q, %v", test.path, got.texts, err)
			}
			continue
		}
		late, ok := errors.AsType[*browser.NotReadyError](err)
		if !ok || late.URL != site+test.path || late.Condition == "" || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", test.path, err)
		}
	}
	if page, ok := pages["/acts"]; ok {
		if n, err := browser.Result[int](page.from, "n"); n != 2 || err != nil {
			t.Errorf("the action has kept %d, %v", n, err)
		}
	}
}

// It fails if the script of a worker is awaited as others are, whose end is told.
func TestWorkersAreNotAwaited(t *testing.T) {
	b := openBrowser(t, browser.Options{Settle: time.Hour})
	temporary(t)
	var log asked
	site := asSite(t, "127.0.0.1", &log, "", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/worker" {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, `postMessage("right")`)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><ul></ul><script>new Worker("/worker").onmessage = e => document.querySelector("ul").innerHTML = "<li>" + e.data</script>`)
	})
	pages, failed := crawl(t, b, []string{site + "/page"}, nil)
	if got := pages["/page"].texts; len(got) != 1 {
		t.Errorf("the page is %q, %v", got, failed)
	}
}

// It fails if what a request says about its page is not part of its key, or if one option loses what another one has said. Needs
// no browser.
func TestPlansAreStored(t *testing.T) {
	variant := func(options ...tegenaria.RequestOption) string {
		return tegenaria.NewRequest("http://a.example/", "", nil, options...).Variant()
	}
	ready, other, acts := browser.ReadyWhen("#a"), browser.ReadyWhenTrue("#a"), browser.Do(browser.Click("a"))
	seen := map[string]int{"": -1}
	for i, v := range []string{variant(ready), variant(other), variant(acts), variant(ready, acts), variant(other, acts)} {
		if first, known := seen[v]; known {
			t.Errorf("%d and %d have the variant %q", first, i, v)
		}
		seen[v] = i
	}
	if a, b := variant(ready, acts), variant(acts, other, ready); a != b {
		t.Errorf("the order of options makes a difference: %q, %q", a, b)
	}
}

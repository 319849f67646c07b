package browser_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

// A page that sends a form by itself, as those of sign-ons and "please wait" do, is delivered as the page behind the form.
func TestPagesThatSendForms(t *testing.T) {
	temporary(t)
	const settle = 3 * time.Second
	b := openBrowser(t, browser.Options{Tabs: 4, Settle: settle})
	var log asked
	other := asSite(t, "127.0.0.1", new(asked), "", http.NotFound)
	site := asSite(t, "127.0.0.1", &log, "User-agent: *\nDisallow: /private", func(w http.ResponseWriter, r *http.Request) {
		form := func(action, script string) {
			fmt.Fprintf(w, `<!doctype html><ul><li>please wait</ul><form method="post" action="%s"><input type="hidden" name="ticket" value="t1"></form>%s`, action, script)
		}
		const send = "document.forms[0].submit()"
		if r.URL.Path != "/file" {
			w.Header().Set("Content-Type", "text/html")
		}
		switch r.URL.Path {
		case "/loaded", "/stays":
			form("/home", `<script>onload = () => `+send+`</script>`)
		case "/later":
			form("/home", `<script>onload = () => setTimeout(() => `+send+`, 50)</script>`)
		case "/parsing":
			form("/home", `<script>`+send+`</script><p>more`)
		case "/twice":
			form("/parsing-again", `<script>`+send+`</script>`)
		case "/parsing-again":
			form("/home", `<script>`+send+`</script>`)
		case "/moved":
			form("/moves", `<script>`+send+`</script>`)
		case "/moves":
			http.Redirect(w, r, "/home?ticket=t1", http.StatusSeeOther)
		case "/downloads":
			form("/file", `<script>`+send+`</script>`)
		case "/file":
			w.Header().Set("Content-Type", "text/csv")
			fmt.Fprint(w, r.FormValue("ticket"))
		case "/much-later":
			form("/home", `<script>onload = () => setTimeout(() => `+send+`, 1500)</script>`)
		case "/slow":
			form("/home?slow", `<script>onload = () => `+send+`</script>`)
		case "/window":
			form("/home", `<script>document.forms[0].target = "_blank"; onload = () => `+send+`</script>`)
		case "/window-parsing":
			form("/home", `<base target="other"><script>`+send+`</script><p>more`)
		case "/window-get":
			fmt.Fprint(w, `<ul><li>please wait</ul><form action="/home" target="_blank"><input type="hidden" name="ticket" value="t1"></form><script>`+send+`</script>`)
		case "/advertisement": // which browsers do not open
			fmt.Fprint(w, `<!doctype html><ul><li>page</ul><form method="post" action="/home"><input name="ticket"></form><script>window.open("/home")</script>`)
		case "/forbidden-window":
			form("/private/home", `<script>document.forms[0].target = "_blank"; `+send+`</script>`)
		case "/forbidden":
			form("/private/home", `<script>`+send+`</script>`)
		case "/abroad":
			form(strings.Replace(other, "127.0.0.1", "localhost", 1)+"/home", `<script>onload = () => `+send+`</script>`)
		case "/home":
			if r.URL.RawQuery == "slow" { // longer than Options.Settle
				select {
				case <-time.After(2 * settle):
				case <-r.Context().Done():
				}
			}
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, "<ul><li>%s %s</ul>", r.Method, r.FormValue("ticket"))
		default:
			http.NotFound(w, r)
		}
	})
	tests := []struct {
		path string
		url  string // of the page
		want string
	}{
		{"/loaded", "/home", "POST t1"}, {"/later", "/home", "POST t1"}, {"/parsing", "/home", "POST t1"}, {"/twice", "/home", "POST t1"},
		{"/moved", "/home?ticket=t1", "GET t1"}, {"/downloads", "/file", "t1"}, {"/stays", "/stays", "please wait"},
		{"/much-later", "/home", "POST t1"}, {"/slow", "/home?slow", "POST t1"}, {"/window", "/home", "POST t1"},
		{"/window-parsing", "/home", "POST t1"}, {"/advertisement", "/advertisement", "page"},
	}
	var requests []*tegenaria.Request
	send := func(path string) {
		requests = append(requests, tegenaria.NewRequest(site+path, "", nil, tegenaria.RequestWithDownloader("browser"),
			tegenaria.RequestWithAllowRedirects(path != "/stays")))
	}
	for _, test := range tests {
		send(test.path)
	}
	send("/window-get") // which a redirect can follow
	send("/forbidden")
	send("/forbidden-window")
	send("/abroad")
	pages, failed := crawlRequests(t, b, requests, tegenaria.EngineWithPoliteness(tegenaria.Politeness{}),
		tegenaria.EngineWithAllowedDomains("127.0.0.1"))
	for _, test := range tests {
		got := pages[test.path]
		if text := strings.Join(append(slices.Clone(got.texts), got.text), "|"); got.url != site+test.url || !strings.Contains(text, test.want) {
			t.Errorf("%s: %q from %s, %v; want %q from %s", test.path, text, got.url, failed[test.path], test.want, test.url)
		}
	}
	if got := pages["/home?ticket=t1"]; !slices.Equal(got.texts, []string{"GET t1"}) {
		t.Errorf("/window-get: %v, %v", got, failed["/window-get"])
	}
	for path, says := range map[string]string{"/forbidden": "robots.txt", "/forbidden-window": "robots.txt", "/abroad": "allowed domains"} {
		_, refused := errors.AsType[*browser.NavigationRefusedError](failed[path])
		if err := failed[path]; !refused || !strings.Contains(err.Error(), site+path) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v", path, err, pages[path].texts)
		}
	}
}

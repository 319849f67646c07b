package browser_test

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/middleware"
)

// pdf is the beginning of a document that Chromium would show, and that must come as it is.
const pdf = "%PDF-1.4\n1 0 obj <<>> endobj"

// actingSite has pages that want to be acted on.
func actingSite(t *testing.T, log *asked) string {
	return asSite(t, "127.0.0.1", log, "User-agent: *\nDisallow: /secret\n", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/endless-list": // it grows by 10 until it has 35
			fmt.Fprint(w, `<!doctype html><div style="height: 3000px"></div><ul></ul><script>
				const list = document.querySelector("ul")
				const more = () => { for (let i = 0; i < 10 && list.children.length < 35; i++) list.append(Object.assign(document.createElement("li"), {textContent: list.children.length, style: "height: 200px"})) }
				more()
				addEventListener("scroll", () => fetch("/data").then(more))</script>`)
		case "/form":
			fmt.Fprint(w, `<!doctype html><form action="/found"><input name=q><select name=s><option value=a>First<option value=b>Second</select></form>
				<a id=secret href="/secret">x</a> <a id=away href="http://localhost:1/">x</a> <a id=popup target=_blank href="/popup">x</a> <a id=moved href="/moved">x</a>
				<a id=filtered href="/filtered">x</a> <a id=chain href="/chain?n=1">x</a> <a id=print href="/print">x</a>`)
		case "/panel": // in which a list scrolls that grows by 10 until it has 35
			fmt.Fprintf(w, `<!doctype html><div id=a style="height: 300px; overflow: auto"><ul></ul></div><p style="height: 3000px">x<script>
				const panel = document.querySelector("#a"), list = document.querySelector("ul")
				const more = () => { for (let i = 0; i < 10 && list.children.length < 35; i++) list.append(Object.assign(document.createElement("li"), {textContent: list.children.length, style: "height: 200px"})) }
				const grow = () => fetch("/data").then(more)
				more()
				%s</script>`, map[string]string{
				"seen": `list.after(Object.assign(document.createElement("p"), {textContent: "x"})); new IntersectionObserver(([e]) => e.isIntersecting && grow()).observe(list.nextSibling)`,
				"shadow": `const root = panel.appendChild(document.createElement("x-list")).attachShadow({mode: "open"}); panel.style.overflow = "visible"
					root.innerHTML = '<div style="height: 300px; overflow: auto"><slot></slot></div>'; root.host.append(list); root.firstChild.onscroll = grow`,
				"page": `panel.style.overflow = "auto"; addEventListener("scroll", grow)`,
			}[r.FormValue("how")]+`
				if (!location.search.includes("how=")) panel.onscroll = grow`)
		case "/windows":
			fmt.Fprint(w, `<!doctype html><base target=_blank><ul><li>first</ul><iframe name=frame hidden></iframe><a id=base href="/target?q=base">x</a>
				<a id=named target=frame href="/target?q=named">x</a><a id=mail href="mailto:ann@a.example">x</a>
				<a id=mail-here target=_self href="mailto:ann@a.example">x</a><a id=secret href="/secret">x</a>
				<a id=script target=_self href="javascript:document.querySelector('li').textContent = 'changed'; void 0">x</a>
				<button id=open onclick="window.open('/target?q=open', 'w', 'width=100')">x</button>
				<button id=later onclick="fetch('/data').then(() => window.open('/target?q=later'))">x</button>
				<button id=blank onclick="window.open('')">x</button>
				<button id=blob onclick="window.open(window.URL.createObjectURL(new Blob(['x'])))">x</button>
				<form method=post action="/target"><input name=q value=form><input name=action><button name=s value=button id=send>x</button></form>
				<form method=post action="/target"><input name=q value=second><button id=second formaction="/found" name=s value=2>x</button></form>
				<form action="/target"><input name=q value=got><button id=get>x</button></form>`)
		case "/chain":
			n, _ := strconv.Atoi(r.FormValue("n"))
			http.Redirect(w, r, fmt.Sprint("/chain?n=", n+1), http.StatusFound)
		case "/print":
			w.Header().Set("Content-Type", "application/pdf")
			fmt.Fprint(w, pdf)
		case "/found", "/target":
			fmt.Fprintf(w, `<!doctype html><ul><li>%s %s</ul>`, r.FormValue("q"), r.FormValue("s"))
		case "/moved":
			http.Redirect(w, r, "/target?q=moved", http.StatusFound)
		case "/more":
			fmt.Fprint(w, `<!doctype html><ul></ul><button hidden id=hidden>x</button><button onclick="fetch('/data').then(r => r.text()).then(t => document.querySelector('ul').innerHTML = t)">more</button>`)
		case "/data":
			fmt.Fprint(w, `<li>loaded`)
		default:
			fmt.Fprint(w, `<!doctype html><ul><li>plain</ul><h1 style="width: 120px; height: 50px; margin: 0">x</h1>`)
		}
	})
}

// It fails if an action does not do what a user does, if the response is not the page after it, or if a failure does not name its action.
func TestActions(t *testing.T) {
	b := openBrowser(t, browser.Options{})
	temporary(t)
	var log asked
	site := actingSite(t, &log)
	tests := []struct {
		name, path string
		actions    []browser.Action
		at         string // the path of the response; "": the action fails
		texts      []string
		number     int
		says       string // of the failure
	}{
		{"scroll until enough", "/endless-list", []browser.Action{browser.ScrollUntil("li", 20).Within(time.Minute)}, "/endless-list", nil, 20, ""},
		{"scroll until the end", "/endless-list", []browser.Action{browser.ScrollUntil("li", 0).Within(time.Minute)}, "/endless-list", nil, 35, ""},
		{"scroll a panel", "/panel", []browser.Action{browser.ScrollUntil("li", 30).Within(time.Minute)}, "/panel", nil, 30, ""},
		{"scroll a panel to its end", "/panel?how=seen", []browser.Action{browser.ScrollUntil("li", 0).Within(time.Minute)}, "/panel", nil, 35, ""},
		{"scroll a panel in a shadow root", "/panel?how=shadow", []browser.Action{browser.ScrollUntil("li", 0).Within(time.Minute)}, "/panel", nil, 35, ""},
		{"scroll the page of a panel", "/panel?how=page", []browser.Action{browser.ScrollUntil("li", 15).Within(time.Minute)}, "/panel", nil, 20, ""},
		{"form", "/form", []browser.Action{browser.WaitFor("form"), browser.Select("select", "Second"), browser.Fill("input", "q\"1"), browser.Press("Enter"), browser.WaitFor("li")}, "/found?q=q%221&s=b", []string{`q"1 b`}, 0, ""},
		{"xhr", "/more", []browser.Action{browser.Click("button:not([hidden])")}, "/more", []string{"loaded"}, 0, ""},
		{"redirect", "/form", []browser.Action{browser.Click("#moved")}, "/target?q=moved", []string{"moved"}, 0, ""},
		{"link of a window", "/form", []browser.Action{browser.Click("#popup")}, "/popup", []string{"plain"}, 0, ""},
		{"window by base", "/windows", []browser.Action{browser.Click("#base")}, "/target?q=base", []string{"base"}, 0, ""},
		{"window by script", "/windows", []browser.Action{browser.Click("#open")}, "/target?q=open", []string{"open"}, 0, ""},
		{"window after data", "/windows", []browser.Action{browser.Click("#later")}, "/target?q=later", []string{"later"}, 0, ""},
		{"window of a form", "/windows", []browser.Action{browser.Click("#send")}, "/target", []string{"form button"}, 0, ""},
		{"window of a button", "/windows", []browser.Action{browser.Click("#second")}, "/found", []string{"second 2"}, 0, ""},
		{"window of a query", "/windows", []browser.Action{browser.Click("#get")}, "/target?q=got", []string{"got"}, 0, ""},
		{"window that is evaluated", "/windows", []browser.Action{browser.Evaluate("void window.open('/target?q=js')", "x"), browser.WaitFor("ul")}, "/target?q=js", []string{"js"}, 0, ""},
		{"frame", "/windows", []browser.Action{browser.Click("#named")}, "/windows", []string{"first"}, 0, ""},
		{"mail in a window", "/windows", []browser.Action{browser.Click("#mail")}, "/windows", []string{"first"}, 0, ""},
		{"mail", "/windows", []browser.Action{browser.Click("#mail-here")}, "/windows", []string{"first"}, 0, ""},
		{"link of a script", "/windows", []browser.Action{browser.Click("#script")}, "/windows", []string{"changed"}, 0, ""},
		{"window by robots", "/windows", []browser.Action{browser.Click("#secret")}, "", nil, 1, "robots.txt"},
		{"empty window", "/windows", []browser.Action{browser.Click("#blank")}, "", nil, 1, "no windows are opened"},
		{"window of a blob", "/windows", []browser.Action{browser.Click("#blob")}, "", nil, 1, "no windows are opened"},
		{"absent", "/more", []browser.Action{browser.Scroll(), browser.Click("#absent").Within(300 * time.Millisecond)}, "", nil, 2, `Click("#absent")`},
		{"not a selector", "/more", []browser.Action{browser.WaitFor("p:::")}, "", nil, 1, "not a valid selector"},
		{"hidden", "/more", []browser.Action{browser.Click("#hidden")}, "", nil, 1, "hidden"},
		{"no option", "/form", []browser.Action{browser.Select("select", "c")}, "", nil, 1, "option"},
		{"no key", "/form", []browser.Action{browser.Press("Entre")}, "", nil, 1, "no such key"},
		{"robots", "/form", []browser.Action{browser.Click("#secret")}, "", nil, 1, "robots.txt"},
		{"scope", "/form", []browser.Action{browser.Click("#away")}, "", nil, 1, "allowed domains"},
		{"filter", "/form", []browser.Action{browser.Click("#filtered")}, "", nil, 1, "RequestFilter"},
		{"too many moves", "/form", []browser.Action{browser.Click("#chain")}, "", nil, 1, "led to 10 documents"},
		{"no page", "/form", []browser.Action{browser.Click("#print")}, "/print", nil, 0, ""},
		{"throws", "/plain", []browser.Action{browser.Evaluate("missing()", "x")}, "", nil, 1, "missing is not defined"},
		{"endless", "/plain", []browser.Action{browser.Evaluate("for (;;);", "x").Within(300 * time.Millisecond)}, "", nil, 1, "deadline"},
		{"after the endless one", "/plain", []browser.Action{browser.Wait(time.Millisecond)}, "/plain", []string{"plain"}, 0, ""},
	}
	var requests []*tegenaria.Request
	for i, test := range tests {
		requests = append(requests, tegenaria.NewRequest(site+numbered(test.path, i), "", nil,
			browser.Do(test.actions...), tegenaria.RequestWithDownloader("browser")))
	}
	filter, err := middleware.NewScope(middleware.ScopeOptions{DenyPaths: []string{"/filtered"}})
	if err != nil {
		t.Fatal(err)
	}
	pages, failed := crawlRequests(t, b, requests, tegenaria.EngineWithPoliteness(tegenaria.Politeness{}), tegenaria.EngineWithAllowedDomains("127.0.0.1"),
		tegenaria.EngineWithMiddlewares(filter))
	for i, test := range tests {
		asked := numbered(test.path, i)
		got, err := pages[asked], failed[asked]
		if test.at == "" {
			wrong, ok := errors.AsType[*browser.ActionError](err)
			if !ok || wrong.Number != test.number || wrong.URL != site+asked || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if path, _, _ := strings.Cut(test.path, "?"); test.at == path {
			test.at = asked
		}
		if test.at == "/print" && got.text != pdf {
			t.Errorf("of a PDF to which an action has led came %.20q", got.text)
		}
		if err != nil || pathOf(got.url) != test.at || test.texts != nil && !slices.Equal(got.texts, test.texts) || test.number > 0 && len(got.texts) != test.number {
			t.Errorf("%s: %v, %s, %d: %q", test.name, err, got.url, len(got.texts), got.texts)
		}
	}
	for path, want := range map[string]int{"/secret": 0, "/filtered": 0, "/chain": 10} {
		if n := len(log.of(path)); n != want {
			t.Errorf("%s was asked for %d times, want %d", path, n, want)
		}
	}
}

// It fails if what actions keep is not what they promise.
func TestResults(t *testing.T) {
	b := openBrowser(t, browser.Options{})
	temporary(t)
	var log asked
	site := actingSite(t, &log)
	pages, failed := crawl(t, b, []string{site + "/plain"}, []tegenaria.RequestOption{browser.Do(
		browser.Evaluate(`fetch("/data").then(r => ({status: r.status, at: document.URL}))`, "object"), browser.Evaluate("undefined", "nothing"),
		browser.Screenshot("heading", "h1"), browser.Screenshot("page", ""), browser.PDF("print"),
	)})
	page, ok := pages["/plain"]
	if !ok {
		t.Fatal(failed)
	}
	type object struct {
		Status int
		At     string
	}
	if got, err := browser.Result[object](page.from, "object"); err != nil || got != (object{200, site + "/plain"}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := browser.Result[*int](page.from, "nothing"); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	for name, width := range map[string]int{"heading": 120, "page": 0} {
		data, err := browser.Result[[]byte](page.from, name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || width > 0 && (got.Width != width || got.Height != 50) || got.Width == 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, err := browser.Result[[]byte](page.from, "print"); err != nil || !bytes.HasPrefix(got, []byte("%PDF")) {
		t.Errorf("%.10q, %v", got, err)
	}
	for name, wrong := range map[string]func() error{
		"absent": func() error { _, err := browser.Result[int](page.from, "absent"); return err },
		"print":  func() error { _, err := browser.Result[string](page.from, "print"); return err },
		"object": func() error { _, err := browser.Result[int](page.from, "object"); return err },
	} {
		if err, ok := errors.AsType[*browser.ResultError](wrong()); !ok || err.Name != name || err.URL != page.url {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// numbered returns the path of the page for a test.
func numbered(path string, test int) string {
	mark := "?"
	if strings.Contains(path, mark) {
		mark = "&"
	}
	return fmt.Sprint(path, mark, "test=", test)
}

// It fails if a result is kept that is larger than a body may be.
func TestLargeResult(t *testing.T) {
	b := openBrowser(t, browser.Options{})
	temporary(t)
	var log asked
	site := actingSite(t, &log)
	_, failed := crawl(t, b, []string{site + "/plain"}, []tegenaria.RequestOption{browser.Do(browser.Evaluate(`"x".repeat(1 << 21)`, "x"))},
		tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1 << 20}))
	if large, ok := errors.AsType[*tegenaria.BodyTooLargeError](failed["/plain"]); !ok || large.Limit != 1<<20 {
		t.Error(failed)
	}
}

// Actions are stored, and part of what makes a request another one. Needs no browser.
func TestActionsAreStored(t *testing.T) {
	with := func(actions ...browser.Action) *tegenaria.Request {
		return tegenaria.NewRequest("http://a.example/", "", nil, browser.Do(actions...))
	}
	filter := tegenaria.NewRFPDupeFilter(64, 3)
	for i, r := range []*tegenaria.Request{
		tegenaria.NewRequest("http://a.example/", "", nil), with(browser.Click("a")), with(browser.Click("b")), with(browser.Click("a").Within(time.Second)),
		with(browser.Click("a"), browser.Scroll()), with(browser.Fill("a", "x")), with(browser.Fill("a", "y")), with(browser.Wait(1)), with(browser.ScrollUntil("a", 3)),
	} {
		if known, err := filter.DoDupeFilter(r); known || err != nil {
			t.Errorf("%d: %t, %v", i, known, err)
		}
	}
	if known, err := filter.DoDupeFilter(with(browser.Click("a"))); !known || err != nil {
		t.Errorf("equal actions: %t, %v", known, err)
	}
}

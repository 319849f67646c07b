package browser_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/middleware"
)

var (
	scripted = flag.String("scripted", "", "the site that TestScriptedVictim crawls until it is killed")
	job      = flag.String("job", "", "the folder of its job")
)

// part is a part of the scripted site. Its items are called after it: "list 0", "list 1" and so on.
type part struct {
	name  string
	items int
}

// scriptedParts are the parts of the site, with what each of them asks of a crawler.
var scriptedParts = []part{
	{"list", 30},      // three pages, made of JSON
	{"router", 9},     // one shell for all paths, and history.pushState
	{"scroll", 35},    // grows when its end is seen
	{"private", 5},    // behind a login by XHR with an HttpOnly cookie
	{"shadow", 4},     // in a shadow root
	{"frame", 2},      // told by frames of two sites
	{"worker", 3},     // told by a dedicated, a shared and a service worker
	{"refresh", 3},    // where a meta refresh leads
	{"gone", 2},       // on a page with the status 404
	{"charset ö", 1},  // in windows-1252, by header
	{"charset é", 1},  // in windows-1252, by meta
	{"charset 日本", 1}, // in Shift_JIS, by header
	{"charset 本日", 1}, // in Shift_JIS, by meta
	{"charset 😀", 1},  // in UTF-8, by header
}

// scriptedItems are the items of the site as lines of JSON, sorted.
func scriptedItems() (lines []string) {
	for _, p := range scriptedParts {
		for i := range p.items {
			line, _ := json.Marshal(fmt.Sprint(p.name, " ", i))
			lines = append(lines, string(line))
		}
	}
	slices.Sort(lines)
	return lines
}

// helpers is a script that all pages begin with.
const helpers = `
	const list = document.body.appendChild(document.createElement("ul"))
	const add = text => list.append(Object.assign(document.createElement("li"), {textContent: text}))
	const link = (href, kind) => document.body.append(Object.assign(document.createElement("a"), {href, className: kind ?? "", textContent: href}))
	const load = (part, from, to) => fetch("/api/items?part=" + part + "&from=" + from + "&to=" + to).then(r => r.json()).then(all => { all.forEach(add); return all.length })
`

// scriptedPages are the scripts of the pages by their paths. {other} is the other site.
var scriptedPages = map[string]string{
	"/":     `fetch("/api/sections").then(r => r.json()).then(all => all.forEach(([href, kind]) => link(href, kind)))`,
	"/list": `const n = +new URLSearchParams(location.search).get("page"); load("list", n * 10, n * 10 + 10).then(() => { if (n < 2) link("/list?page=" + (n + 1)) })`,
	"/router": `
		if (location.pathname === "/router") history.pushState({}, "", "/router/0")
		const n = +location.pathname.split("/")[2]
		load("router", n * 3, n * 3 + 3).then(() => { if (n < 2) link("" + (n + 1)) })`,
	"/scroll": `
		let n = 0, end = document.body.appendChild(document.createElement("p"))
		list.style.lineHeight = "100px"
		new IntersectionObserver(async ([seen], o) => {
			if (!seen.isIntersecting) return
			o.unobserve(end)
			const got = await load("scroll", n, n + 10)
			n += got
			if (got) o.observe(end)
		}).observe(end)`,
	"/login": `
		document.body.insertAdjacentHTML("beforeend", "<input name=user><input name=password type=password><button>log in</button>")
		document.querySelector("button").onclick = () => {
			const x = new XMLHttpRequest()
			x.open("POST", "/api/login")
			x.onload = () => { if (x.status === 200) link("/private") }
			x.send(document.querySelector("[name=user]").value + ":" + document.querySelector("[name=password]").value)
		}`,
	"/private": `load("private", 0, 5)`,
	"/shadow": `
		const root = document.body.appendChild(document.createElement("x-list")).attachShadow({mode: "open"})
		fetch("/api/items?part=shadow&from=0&to=4").then(r => r.json()).then(all => { root.innerHTML = all.map(text => "<b>" + text + "</b>").join("") })`,
	"/frames": `
		onmessage = e => add(e.data)
		for (const src of ["/inner?0", "{other}/inner?1"]) document.body.append(Object.assign(document.createElement("iframe"), {src}))`,
	"/inner": `parent.postMessage("frame " + location.search.slice(1), "*")`,
	"/workers": `
		new Worker("/worker.js?dedicated").onmessage = e => add(e.data)
		new SharedWorker("/worker.js?shared").port.onmessage = e => add(e.data)
		navigator.serviceWorker.onmessage = e => add(e.data)
		navigator.serviceWorker.register("/worker.js?service").then(() => navigator.serviceWorker.ready).then(r => r.active.postMessage("begin"))`,
	"/refreshed": `load("refresh", 0, 3)`,
	"/gone":      `load("gone", 0, 2)`,
}

// workerScript is that of all three workers: each gets its item from the server.
const workerScript = `
	const item = n => fetch("/api/items?part=worker&from=" + n + "&to=" + (n + 1)).then(r => r.json()).then(all => all[0])
	const kind = location.search.slice(1)
	if (kind === "dedicated") item(0).then(text => postMessage(text))
	onconnect = e => item(1).then(text => e.ports[0].postMessage(text))
	onmessage = e => { if (kind === "service") e.waitUntil(item(2).then(text => e.source.postMessage(text))) }`

// scriptedSections are what the first page links to: path, and how its page is to be treated.
var scriptedSections = [][2]string{
	{"/list?page=0"}, {"/router"}, {"/scroll", "scroll"}, {"/login", "login"}, {"/shadow", "shadow"}, {"/frames"}, {"/workers", "workers"}, {"/refresh"},
	{"/gone", "render"}, {"/charset/0"}, {"/charset/1"}, {"/charset/2"}, {"/charset/3"}, {"/charset/4"},
}

// scriptedSite is a site of which no page has an item or a link before its scripts have run.
type scriptedSite struct {
	url, other string
	loop       killtest.Loop
}

func newScriptedSite(t *testing.T) *scriptedSite {
	s := new(scriptedSite)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	other := httptest.NewServer(s)
	t.Cleanup(other.Close)
	s.url, s.other = server.URL, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	return s
}

func (s *scriptedSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case path == "/robots.txt":
		http.NotFound(w, r)
		return
	case path == "/worker.js":
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, workerScript)
		return
	case strings.HasPrefix(path, "/api/"):
		s.serveData(w, r)
		return
	}
	s.loop.Count()
	if n, ok := strings.CutPrefix(path, "/charset/"); ok {
		serveCharset(w, n)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if path == "/refresh" {
		fmt.Fprint(w, `<!doctype html><meta http-equiv="refresh" content="0; url=/refreshed">`)
		return
	}
	if strings.HasPrefix(path, "/router/") {
		path = "/router"
	}
	script, ok := scriptedPages[path]
	if !ok || path == "/gone" {
		w.WriteHeader(http.StatusNotFound)
	}
	fmt.Fprintf(w, "<!doctype html><title>x</title><body><script>%s%s</script>", helpers, strings.ReplaceAll(script, "{other}", s.other))
}

// serveData answers what scripts ask for.
func (s *scriptedSite) serveData(w http.ResponseWriter, r *http.Request) {
	var answer any
	switch r.URL.Path {
	case "/api/sections":
		answer = scriptedSections
	case "/api/login":
		if body := r.FormValue("none"); body != "" || r.Method != http.MethodPost || r.ContentLength != int64(len("ann:secret")) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "ann", Path: "/", HttpOnly: true, MaxAge: 3600})
	case "/api/items":
		name := r.FormValue("part")
		if c, err := r.Cookie("session"); name == "private" && (err != nil || c.Value != "ann") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		at := slices.IndexFunc(scriptedParts, func(p part) bool { return p.name == name })
		from, _ := strconv.Atoi(r.FormValue("from"))
		to, _ := strconv.Atoi(r.FormValue("to"))
		texts := []string{}
		for i := from; i < min(to, scriptedParts[at].items); i++ {
			texts = append(texts, fmt.Sprint(name, " ", i))
		}
		answer = texts
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer)
}

// serveCharset serves a page whose script has letters in one of the charsets.
func serveCharset(w http.ResponseWriter, n string) {
	kind, meta, letters := "", "", ""
	switch n {
	case "0":
		kind, letters = "; charset=windows-1252", "\xf6"
	case "1":
		meta, letters = "windows-1252", "\xe9"
	case "2":
		kind, letters = "; charset=shift_jis", "\x93\xfa\x96\x7b"
	case "3":
		meta, letters = "shift_jis", "\x96\x7b\x93\xfa"
	case "4":
		kind, letters = "; charset=utf-8", "😀"
	}
	w.Header().Set("Content-Type", "text/html"+kind)
	fmt.Fprintf(w, `<!doctype html><meta charset="%s"><title>x</title><body><script>%s add("charset %s 0")</script>`, meta, helpers, letters)
}

// scriptedRequest returns the options of a request for a page, by the class of the link that leads to it.
func scriptedRequest(kind string, everywhere bool) []tegenaria.RequestOption {
	byBrowser := tegenaria.RequestWithDownloader("browser")
	switch kind {
	case "scroll":
		return []tegenaria.RequestOption{byBrowser, browser.Do(browser.ScrollUntil("li", 35).Within(time.Minute))}
	case "login":
		return []tegenaria.RequestOption{byBrowser, browser.Do(browser.Fill("[name=user]", "ann"), browser.Fill("[name=password]", "secret"),
			browser.Click("button"), browser.WaitFor("a"))}
	case "shadow":
		return []tegenaria.RequestOption{byBrowser, browser.Do(
			browser.Evaluate(`[...document.querySelector("x-list").shadowRoot.querySelectorAll("b")].map(e => e.textContent)`, "texts"))}
	case "workers":
		return []tegenaria.RequestOption{byBrowser, browser.Do(browser.WaitFor("li:nth-child(3)").Within(time.Minute))}
	}
	if everywhere || kind == "render" {
		return []tegenaria.RequestOption{byBrowser}
	}
	return nil
}

// crawlScripted crawls the site into a file of items. If dir is not empty the job is durable, and goes on.
func crawlScripted(ctx context.Context, b *browser.Browser, url, items, dir string, adaptive bool) (err error) {
	parser := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		texts := page.CSS("li").Texts()
		if hidden, err := browser.Result[[]string](page, "texts"); err == nil {
			texts = append(texts, hidden...)
		}
		for _, text := range texts {
			if err := out.Item(text); err != nil {
				return err
			}
		}
		for _, a := range page.CSS("a").All() {
			if err := out.Follow(a.Attr("href"), scriptedRequest(a.Attr("class"), !adaptive)...); err != nil {
				return err
			}
		}
		return nil
	})
	options := []tegenaria.EngineOption{
		tegenaria.EngineWithQuiet(), tegenaria.EngineWithAllowedDomains("127.0.0.1"), tegenaria.EngineWithAllowStatusCode([]uint64{404}),
		tegenaria.EngineWithMiddlewares(middleware.Standard()...), tegenaria.EngineWithPipelines(feed.JSONL(items)),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}),
	}
	if adaptive {
		options = append(options, tegenaria.EngineWithMiddlewares(browser.Adaptive(browser.AdaptiveOptions{})))
	}
	if dir != "" {
		cache, err := disk.Open(dir)
		if err != nil {
			return err
		}
		defer cache.Close()
		options = append(options, tegenaria.EngineWithCache(cache))
	}
	e := tegenaria.NewSpiderEngine(options...)
	e.RegisterDownloader("browser", b)
	e.RegisterSpiders(tegenaria.NewSpiderOf("scripted", parser, tegenaria.NewRequest(url+"/", "", nil, scriptedRequest("", !adaptive)...)))
	return e.Run(ctx, "scripted")
}

// It fails if a crawl of a site that scripts make finds anything but its items, each of them once.
func TestScriptedSite(t *testing.T) {
	for name, adaptive := range map[string]bool{"browser": false, "adaptive": true} {
		t.Run(name, func(t *testing.T) {
			b := openBrowser(t, browser.Options{})
			items := filepath.Join(t.TempDir(), "items.jsonl") // before the folder for temporary files is another one
			temporary(t)
			s := newScriptedSite(t)
			if err := crawlScripted(t.Context(), b, s.url, items, "", adaptive); err != nil {
				t.Errorf("Run: %v", err)
			}
			compareItems(t, items)
		})
	}
}

// compareItems demands that a file has each item of the scripted site, once, and nothing else.
func compareItems(t *testing.T, items string) {
	t.Helper()
	got, count := linesOf(t, items), make(map[string]int)
	for _, line := range got {
		count[line]++
	}
	for _, line := range scriptedItems() {
		if count[line]--; count[line] == 0 {
			delete(count, line)
		}
	}
	for line, n := range count {
		t.Errorf("%s was found %d times more often than it is there", line, n)
	}
}

// It is no test: TestScriptedSiteSurvivesKills starts it as a program of its own, and kills it.
func TestScriptedVictim(t *testing.T) {
	if *scripted == "" {
		return
	}
	err := crawlScripted(t.Context(), openBrowser(t, browser.Options{}), *scripted, filepath.Join(*job, "items.jsonl"), filepath.Join(*job, "cache"), false)
	if err != nil {
		t.Fatal(err)
	}
}

// It fails if a durable crawl of the scripted site that is killed twice loses or repeats an item, or if a killed program leaves a
// Chromium or a folder.
func TestScriptedSiteSurvivesKills(t *testing.T) {
	openBrowser(t, browser.Options{}) // without Chromium there is nothing to test
	folder := t.TempDir()
	dir := temporary(t)
	s := newScriptedSite(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.loop.Next = func(start int, _ *rand.Rand) (*exec.Cmd, []killtest.Fault) {
		var faults []killtest.Fault
		if start < 2 {
			faults = []killtest.Fault{{Count: 6}} // documents
		}
		return exec.Command(self, "-test.run=^TestScriptedVictim$", "-browser="+*program, "-scripted="+s.url, "-job="+folder), faults
	}
	s.loop.Judge = func(e killtest.Exit) (again bool, err error) {
		if again, err = killtest.Finished(e); again {
			until(t, "processes of a killed program are gone", func() bool { return len(processes(t, dir)) == 0 })
		}
		return again, err
	}
	if starts, err := s.loop.Run(t.Context()); starts != 3 || err != nil {
		t.Fatalf("%d starts, want 3: %v", starts, err)
	}
	compareItems(t, filepath.Join(folder, "items.jsonl"))
}

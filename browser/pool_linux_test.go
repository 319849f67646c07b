package browser_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/middleware"
)

// It fails if a Chromium is kept for ever, or if the page in hand is lost when another takes its place.
func TestReplacement(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 2})
	b.SetMaxPages(1)
	dir := temporary(t)
	next, folders := make(chan bool), make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/first":
			io.WriteString(w, `<!doctype html><ul></ul><script>fetch("/late").then(() => document.querySelector("ul").innerHTML = "<li>right")</script>`)
			return
		case "/late":
			<-next
		case "/next":
			found, _ := os.ReadDir(dir)
			folders <- len(found)
			close(next)
		}
		io.WriteString(w, "<!doctype html><ul><li>right</ul>")
	}))
	t.Cleanup(server.Close)
	pages, failed := crawl(t, b, []string{server.URL + "/first", server.URL + "/next"}, nil)
	for _, path := range []string{"/first", "/next"} {
		if got := pages[path]; len(got.texts) != 1 {
			t.Errorf("%s: %v, %v", path, got, failed[path])
		}
	}
	if n := <-folders; n != 2 {
		t.Errorf("%d browsers make a page each", n)
	}
}

// It fails if a run is over while a process of its browser has not ended. One that has ended and that its parent has not asked for yet
// is a zombie: it takes nothing, and stays for good in a container whose first process asks for none.
func TestCloseLeavesNoProcess(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 4})
	dir := temporary(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		// memory, which the system takes back before the process has ended
		io.WriteString(w, `<!doctype html><ul><li>right</ul><script>window.all = new Uint8Array(100 << 20).fill(1)</script>`)
	}))
	t.Cleanup(server.Close)
	group, running := 0, 0
	inRun(t, b, server.URL, func(get getter) {
		var making sync.WaitGroup
		for range 4 {
			making.Go(func() { mustBeRight(t, get, server.URL) })
		}
		making.Wait()
		var err error
		if group, err = syscall.Getpgid(mainProcess(t, dir)); err != nil { // a script that starts it may lead the group
			t.Error(err)
		}
		running = len(membersOf(t, group))
	})
	if left := membersOf(t, group); running < 2 || len(left) > 0 {
		t.Errorf("of %d processes are left: %v", running, left)
	}
}

// It fails if the end of a group is awaited no longer than until it is killed, or if a zombie counts.
func TestEndOfAGroup(t *testing.T) {
	ends := exec.Command("sleep", "0.3")
	ends.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := ends.Start(); err != nil {
		t.Fatal(err)
	}
	group := ends.Process.Pid
	if got := browser.MembersOf(group); len(got) != 1 {
		t.Errorf("a group of one process has %v", got)
	}
	browser.AwaitEnd(group)
	if left := membersOf(t, group); len(left) > 0 {
		t.Errorf("awaited, and there: %v", left)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", group)); err != nil {
		t.Errorf("there is no zombie to be tried: %v", err)
	}
	if got := browser.MembersOf(group); len(got) != 0 {
		t.Errorf("the zombie counts: %v", got)
	}
	if err := ends.Wait(); err != nil {
		t.Error(err)
	}
}

// membersOf returns the processes of a group that have not ended, with their states.
func membersOf(t *testing.T, group int) (found []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); fields[2] == strconv.Itoa(group) && fields[0] != "Z" && fields[0] != "X" {
			found = append(found, string(stat))
		}
	}
	return found
}

// It fails if a page that takes too much memory costs more than itself.
func TestMaxMemory(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 1, MaxMemory: 1 << 30})
	dir := temporary(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/large":
			io.WriteString(w, `<!doctype html><script src="/never"></script>`)
		case "/never":
			w.Header().Set("Content-Type", "text/javascript")
			io.WriteString(w, `window.all = []; setInterval(() => all.push(new Uint8Array(1 << 26).fill(1)), 10); fetch("/hangs")`)
		case "/hangs":
			<-r.Context().Done()
		default:
			io.WriteString(w, "<!doctype html><ul><li>right</ul>")
		}
	}))
	t.Cleanup(server.Close)
	inRun(t, b, server.URL, func(get getter) {
		mustBeRight(t, get, server.URL)
		first := mainProcess(t, dir)
		_, err := get(server.URL+"/large", time.Minute)
		if _, lost := errors.AsType[*browser.LostError](err); !lost {
			t.Errorf("the large page: %v", err)
		}
		mustBeRight(t, get, server.URL)
		if now := mainProcess(t, dir); now != first {
			t.Errorf("the large page has cost the browser %d, not the page: there is %d", first, now)
		}
	})
}

// It fails if pages that take too much memory together, but none of them by itself, do not have another browser make the next page, or if
// they are not made themselves.
func TestMemoryOfManyPages(t *testing.T) {
	const large = 3
	b := openBrowser(t, browser.Options{Tabs: large + 1, MaxMemory: 1 << 30, Settle: time.Minute})
	dir := temporary(t)
	replaced := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/large":
			io.WriteString(w, `<!doctype html><ul></ul><script>
				window.all = new Uint8Array(350 << 20).fill(1)
				fetch("/replaced").then(() => document.querySelector("ul").innerHTML = "<li>right")</script>`)
		case "/replaced":
			select {
			case <-replaced:
			case <-r.Context().Done():
			}
		default:
			io.WriteString(w, "<!doctype html><ul><li>right</ul>")
		}
	}))
	t.Cleanup(server.Close)
	inRun(t, b, server.URL, func(get getter) {
		var making sync.WaitGroup
		for n := range large {
			making.Go(func() {
				resp, err := get(fmt.Sprint(server.URL, "/large?", n), time.Minute)
				if err != nil || resp.CSS("li").Text() != "right" {
					t.Errorf("large page %d: %v, %v", n, resp, err)
				}
			})
		}
		for begin, folders := time.Now(), 0; folders < 2; {
			mustBeRight(t, get, server.URL)
			found, _ := os.ReadDir(dir)
			if folders = len(found); time.Since(begin) > time.Minute {
				t.Error("no other browser makes pages")
				break
			}
		}
		close(replaced)
		making.Wait()
	})
}

// renderers returns the processes that make pages.
func renderers(t *testing.T, dir string) (pids []int) {
	t.Helper()
	for _, pid := range processes(t, dir) {
		line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		if n, err := strconv.Atoi(pid); err == nil && strings.Contains(string(line), "--type=renderer") {
			pids = append(pids, n)
		}
	}
	return pids
}

// It fails if a browser that has stopped, or a page whose process is killed, costs more than the page in hand.
func TestSignals(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 1})
	dir := temporary(t)
	server, asked := hanging(t)
	inRun(t, b, server.URL, func(get getter) {
		for name, harm := range map[string]func(){
			"stopped browser": func() { signal(t, mainProcess(t, dir), syscall.SIGSTOP) },
			"killed page": func() {
				for _, pid := range renderers(t, dir) {
					signal(t, pid, os.Kill)
				}
			},
			"killed browser": func() { signal(t, mainProcess(t, dir), os.Kill) },
		} {
			mustBeRight(t, get, server.URL)
			done := make(chan error, 1)
			begin := time.Now()
			go func() {
				_, err := get(server.URL+"/hangs", 2*time.Minute)
				done <- err
			}()
			<-asked
			harm()
			err := <-done
			lost, ok := errors.AsType[*browser.LostError](err)
			if !ok || lost.Reason == "" || browser.IsKilled(err) != strings.HasPrefix(name, "killed") {
				t.Errorf("%s: %v", name, err)
			}
			t.Logf("%s: %v after %v", name, err, time.Since(begin))
		}
		mustBeRight(t, get, server.URL)
	})
}

// It fails if a page whose tab does not open is not made by another browser, if its document is asked for more than once, or if the
// browser that does not answer stays.
func TestTabThatDoesNotOpen(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 1})
	dir := temporary(t)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/right" {
			asked.Add(1)
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><ul><li>right</ul>")
	}))
	t.Cleanup(server.Close)
	inRun(t, b, server.URL, func(get getter) {
		mustBeRight(t, get, server.URL)
		first := mainProcess(t, dir)
		signal(t, first, syscall.SIGSTOP)
		mustBeRight(t, get, server.URL)
		until(t, "the browser that does not answer is gone", func() bool {
			now := mainProcess(t, dir)
			return now != 0 && now != first
		})
	})
	if n := asked.Load(); n != 2 {
		t.Errorf("2 pages were asked for %d times", n)
	}
}

// It fails if a page whose requests wait for many a robots.txt delays those of another page.
func TestGreedyPage(t *testing.T) {
	b := openBrowser(t, browser.Options{Tabs: 2, Settle: 3 * time.Second})
	temporary(t)
	var greedy []string
	waiting := make(chan bool, 64)
	over := make(chan struct{})
	hangs := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		waiting <- true
		select {
		case <-r.Context().Done():
		case <-over:
		}
	})
	for range cap(waiting) {
		server := httptest.NewServer(hangs)
		t.Cleanup(server.Close)
		greedy = append(greedy, strconv.Quote(server.URL))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/greedy":
			fmt.Fprintf(w, `<!doctype html><script>for (const site of [%s]) fetch(site + "/data").catch(() => 0)</script><script src="/hangs"></script>`, strings.Join(greedy, ","))
		case "/hangs":
			<-over
		case "/next":
			for range 32 {
				<-waiting
			}
			io.WriteString(w, `<!doctype html><ul></ul><script>fetch("/data").then(() => document.querySelector("ul").innerHTML = "<li>right")</script>`)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	pages, failed := crawlRequests(t, b, []*tegenaria.Request{
		tegenaria.NewRequest(server.URL+"/greedy", "", nil, tegenaria.RequestWithDownloader("browser"), tegenaria.RequestWithTimeout(30*time.Second)),
		tegenaria.NewRequest(server.URL+"/next", "", nil, tegenaria.RequestWithDownloader("browser"), tegenaria.RequestWithTimeout(2*time.Minute)),
	}, tegenaria.EngineWithPoliteness(tegenaria.Politeness{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}))
	if got := pages["/next"]; len(got.texts) != 1 {
		t.Errorf("the page beside it: %v, %v", got, failed["/next"])
	}
}

// mustBeRight gets a page that does no harm.
func mustBeRight(t *testing.T, get getter, site string) {
	t.Helper()
	resp, err := get(site+"/right", time.Minute)
	if err != nil || resp.CSS("li").Text() != "right" {
		t.Errorf("a page that does no harm: %v, %v", resp, err)
	}
}

// mainProcess returns the process of the one browser that has a folder for temporary files; 0 if there is none.
func mainProcess(t *testing.T, dir string) int {
	t.Helper()
	for _, pid := range processes(t, dir) {
		line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		other := func(part string) bool { return strings.Contains(string(line), part) } // a script that starts it, its helpers
		if n, err := strconv.Atoi(pid); err == nil && strings.Contains(string(line), dir) && !other("/bin/sh") && !other("--type=") && !other("crashpad_handler") {
			return n
		}
	}
	return 0
}

// signal sends a signal to a process.
func signal(t *testing.T, pid int, s os.Signal) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Signal(s)
	}
	if err != nil {
		t.Error(fmt.Errorf("process %d: %w", pid, err))
	}
}

// A Chromium that ends as soon as it is started is no fault of the pages: the crawl is closed, with the reason, before all of them have
// failed. It fails if download does not count what could not be run.
func TestChromiumCannotBeRun(t *testing.T) {
	program := filepath.Join(t.TempDir(), "chromium")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := browser.Open(browser.Options{Path: program, Tabs: 1, DangerouslyWithoutSandbox: true})
	if err != nil {
		t.Fatal(err)
	}
	var seeds []*tegenaria.Request
	for i := range 20 {
		seeds = append(seeds, tegenaria.NewRequest(fmt.Sprintf("http://127.0.0.1:1/%d", i), "", nil, tegenaria.RequestWithDownloader("browser")))
	}
	e := tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet(), tegenaria.EngineWithConcurrency(1),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
	e.RegisterDownloader("browser", b)
	e.RegisterSpiders(tegenaria.NewSpiderOf("s", func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error { return nil }, seeds...))
	err = e.Run(t.Context(), "s")
	stopped, ok := errors.AsType[*tegenaria.StoppedError](err)
	if !ok || !strings.HasPrefix(stopped.Reason, "Chromium is lost page after page: browser: ") {
		t.Errorf("Run: %v", err)
	}
	if failed := e.Stats().Outcomes[tegenaria.Failed]; failed != 3 {
		t.Errorf("%d pages have failed", failed)
	}
}

// It fails if a machine on which the process of each page is killed, as a kernel without memory does, costs a durable
// crawl its pages, or if the pages of the next run are not made.
func TestPagesAreKilled(t *testing.T) {
	for name, pages := range map[string]int{"many": 12, "one": 1} {
		t.Run(name, func(t *testing.T) { killPages(t, pages) })
	}
}

// killPages kills the process of each of so many pages until the crawl is closed, and begins it again.
func killPages(t *testing.T, pages int) {
	b := openBrowser(t, browser.Options{Tabs: 2})
	dir := temporary(t)
	var killing atomic.Bool
	killing.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if killing.Load() {
			for _, pid := range renderers(t, dir) {
				syscall.Kill(pid, syscall.SIGKILL) // which another request may have done
			}
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><ul><li>right</ul>")
	}))
	t.Cleanup(server.Close)
	var seeds []*tegenaria.Request
	for i := range pages {
		seeds = append(seeds, tegenaria.NewRequest(fmt.Sprintf("%s/%d", server.URL, i), "", nil, tegenaria.RequestWithDownloader("browser")))
	}
	var made atomic.Int64
	parser := func(c *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		made.Add(1)
		return nil
	}
	job := filepath.Join(t.TempDir(), "job")
	run := func() error {
		cache, err := disk.Open(job)
		if err != nil {
			t.Fatal(err)
		}
		defer cache.Close()
		e := tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet(), tegenaria.EngineWithCache(cache),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
		e.RegisterDownloadMiddlewares(middleware.NewRetry(middleware.RetryOptions{Backoff: time.Millisecond}))
		e.RegisterDownloader("browser", b)
		e.RegisterSpiders(tegenaria.NewSpiderOf("s", parser, seeds...))
		return e.Run(t.Context(), "s")
	}
	err := run()
	if stopped, ok := errors.AsType[*tegenaria.StoppedError](err); !ok || !strings.HasPrefix(stopped.Reason, "Chromium is lost page after page: browser: ") {
		t.Errorf("the first run: %v", err)
	}
	killing.Store(false)
	if err := run(); err != nil || made.Load() != int64(pages) {
		t.Errorf("the second run: %v, %d of %d pages", err, made.Load(), pages)
	}
}

// inRun calls a func in a run, with one that gets pages by a browser.
func inRun(t *testing.T, b *browser.Browser, seed string, f func(get getter)) {
	t.Helper()
	parser := func(c *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		f(func(url string, timeout time.Duration) (*tegenaria.Response, error) {
			return c.Fetch(tegenaria.NewRequest(url, "", nil, tegenaria.RequestWithDownloader("browser"), tegenaria.RequestWithTimeout(timeout)))
		})
		return nil
	}
	e := tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
	e.RegisterDownloader("browser", b)
	e.RegisterSpiders(tegenaria.NewSpiderOf("s", parser, tegenaria.NewRequest(seed, "", nil)))
	if err := e.Run(t.Context(), "s"); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// getter gets a page within a time.
type getter = func(url string, timeout time.Duration) (*tegenaria.Response, error)

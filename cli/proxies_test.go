package cli_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tegenaria/tegenaria/cli"
)

// forward starts an HTTP proxy for user and password, and counts what it forwards.
func forward(t *testing.T, user, password string) (server *httptest.Server, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user != "" && r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)) {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		asked.Add(1)
		out := r.Clone(r.Context())
		out.RequestURI = ""
		out.Header.Set("Via", "1.1 forward")
		resp, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		io.Copy(w, resp.Body)
	}))
	t.Cleanup(server.Close)
	return server, asked
}

// guardedSite starts a site whose pages, but for the first one, are what it sends to those that it does not want to serve. It counts the
// requests that come without a proxy.
func guardedSite(t *testing.T) (server *httptest.Server, direct *atomic.Int64) {
	direct = new(atomic.Int64)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Via") == "" {
			direct.Add(1)
		}
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<a href="/status">1</a><a href="/text">2</a><a href="/header">3</a><a href="/redirect">4</a>`)
		case "/status":
			w.WriteHeader(http.StatusForbidden)
		case "/text":
			fmt.Fprint(w, "Are you a Robot?")
		case "/header":
			w.Header().Set("X-Guard", "on")
		case "/redirect":
			http.Redirect(w, r, "/challenge", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server, direct
}

// Settings and the flag name proxies, in each of the ways that are documented, and nothing goes past them.
func TestProxies(t *testing.T) {
	for name, tt := range map[string]struct {
		settings string
		flags    []string
		direct   bool
	}{
		"file":        {"proxies: '@proxies.txt'", nil, false},
		"list":        {"proxies: [PROXY, PROXY/]", nil, false},
		"options":     {"proxies: {file: proxies.txt, choose: in turn, reload: 1h, robots: true}", nil, false},
		"file option": {"", []string{"-s", "proxies=@DIR/proxies.txt"}, false},
		"flag":        {"proxies: ['http://127.0.0.1:1']", []string{"--proxies", "DIR/proxies.txt"}, false},
		"left out":    {"proxies: {list: ['http://127.0.0.1:1'], choose: least used}", []string{"--proxies", ""}, true},
		"fallback":    {"proxies: {list: ['http://127.0.0.1:1'], direct: true}", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, asked := forward(t, "", "")
			site, direct := guardedSite(t)
			settings := noSettings(t)
			dir := filepath.Dir(settings)
			write(t, filepath.Join(dir, "proxies.txt"), "# mine\n"+server.URL+"\n")
			write(t, settings, strings.ReplaceAll(tt.settings, "PROXY", server.URL)+"\n")
			args := []string{"crawl", site.URL + "/", "--config", settings, "-O", filepath.Join(dir, "pages.jsonl")}
			for _, flag := range tt.flags {
				args = append(args, strings.ReplaceAll(flag, "DIR", dir))
			}
			var stderr bytes.Buffer
			if code := cli.New().Run(t.Context(), args, nil, io.Discard, &stderr); code != 0 {
				t.Fatalf("exit code %d: %s", code, &stderr)
			}
			if (asked.Load() > 0) == tt.direct || (direct.Load() > 0) != tt.direct {
				t.Errorf("%d requests through the proxy, %d without: %s", asked.Load(), direct.Load(), &stderr)
			}
		})
	}
}

// Commands that look at one page go through the proxies of the settings or of the flag, too.
func TestLookThroughProxies(t *testing.T) {
	t.Parallel()
	server, asked := forward(t, "user", "password")
	site, direct := guardedSite(t)
	settings := noSettings(t)
	withPassword := strings.Replace(server.URL, "://", "://user:password@", 1)
	list := filepath.Join(filepath.Dir(settings), "proxies.txt")
	write(t, list, withPassword+"\n")
	for _, args := range [][]string{
		{"fetch", site.URL + "/", "-s", "proxies=" + withPassword},
		{"fetch", site.URL + "/", "--proxies", list},
		{"view", site.URL + "/", "--proxies", list},
	} {
		before := asked.Load()
		var stdout, stderr bytes.Buffer
		if code := cli.New().Run(t.Context(), append(args, "--config", settings), nil, &stdout, &stderr); code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, &stderr)
		}
		if direct.Load() > 0 || asked.Load() == before {
			t.Errorf("%q: %d requests through the proxy, %d without: %s", args, asked.Load()-before, direct.Load(), &stdout)
		}
		if args[0] == "view" {
			os.Remove(strings.TrimSpace(stdout.String()))
		}
	}
}

// A command that looks at a page says that it waits for a proxy.
func TestLookWaitsForProxy(t *testing.T) {
	t.Parallel()
	settings := noSettings(t)
	write(t, settings, "proxies: ['http://127.0.0.1:1']\n")
	ctx, cancel := context.WithCancel(t.Context())
	stderr := &until{text: "tegenaria: requests wait for a proxy: none can be used", then: cancel}
	if code := cli.New().Run(ctx, []string{"fetch", "http://127.0.0.1:1/", "--config", settings}, nil, io.Discard, stderr); code == 0 || ctx.Err() == nil {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

// until calls a func when a text is written.
type until struct {
	text string
	then func()

	mu sync.Mutex
	strings.Builder
}

func (u *until) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.Builder.Write(p)
	if strings.Contains(u.Builder.String(), u.text) {
		u.then()
	}
	return len(p), nil
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Settings say which answers are blocks: each kind of rule finds its page.
func TestBlockSettings(t *testing.T) {
	t.Parallel()
	site, _ := guardedSite(t)
	settings := noSettings(t)
	write(t, settings, "blocks:\n  status: [403]\n  text: [are you a robot]\n  header: {X-Guard: ''}\n  redirect: [/challenge]\nlimits: {attempts: 1}\n")
	var stderr bytes.Buffer
	args := []string{"crawl", site.URL + "/", "--config", settings, "-O", filepath.Join(filepath.Dir(settings), "pages.jsonl")}
	if code := cli.New().Run(t.Context(), args, nil, io.Discard, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	for _, rule := range []string{"status 403", "text: are you a robot", "header X-Guard", "redirect to /challenge"} {
		if !strings.Contains(stderr.String(), "blocked: "+rule) {
			t.Errorf("no page is blocked by the rule %q: %s", rule, &stderr)
		}
	}
	var shown bytes.Buffer
	if code := cli.New().Run(t.Context(), []string{"settings", "--config", settings}, nil, &shown, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	matches(t, shown.String(), `(?m)^blocks\.header\.X-Guard +.*tegenaria\.yaml:4$`, `(?m)^blocks\.status +403 +.*tegenaria\.yaml:2$`, `(?m)^proxies\.choose +fastest +default$`)
}

// A site that gives each visitor a cookie and bans those with too many pages sees as many visitors as it takes.
func TestSessionSettings(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	visits := make(map[string]int) // by cookie
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		cookie, err := r.Cookie("visitor")
		if err != nil {
			cookie = &http.Cookie{Name: "visitor", Value: fmt.Sprint(len(visits))}
			http.SetCookie(w, cookie)
		}
		if visits[cookie.Value]++; visits[cookie.Value] > 3 {
			http.Error(w, "you have seen enough", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for i := range 20 {
			fmt.Fprintf(w, "<a href=/%d>%d</a>", i, i)
		}
	}))
	defer site.Close()
	settings := noSettings(t)
	write(t, settings, "sessions: {size: 4}\nblocks: {status: [403]}\nlimits: {attempts: 10}\n")
	pages := filepath.Join(filepath.Dir(settings), "pages.jsonl")
	var stderr bytes.Buffer
	args := []string{"crawl", site.URL + "/", "--config", settings, "-O", pages}
	if code := cli.New().Run(t.Context(), args, nil, io.Discard, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	matches(t, stderr.String(), `sessions: 0 with a name, \d+ without; \d+ retired`)
	written, err := os.ReadFile(pages)
	if err != nil {
		t.Fatal(err)
	}
	if items := bytes.Count(written, []byte("\n")); items != 21 || len(visits) < 7 {
		t.Errorf("%d pages, %d visitors: %s", items, len(visits), &stderr)
	}
}

// Mistakes name the place of the setting, and no password.
func TestProxyMistakes(t *testing.T) {
	for _, tt := range []struct{ settings, want string }{
		{"proxies: '@none.txt'", `yaml:1:1: proxy: open .*none\.txt: `},
		{"\nproxies: '@bad.txt'", `yaml:2:1: proxy: .*bad\.txt, line 2: http://user@b\.test:80: no proxy; write http://host:port`},
		{"proxies: ['http://a.test:80', 'ftp://user:secret@b.test']", `yaml:1:1: proxy: entry 2 of the list: unknown scheme "ftp"`},
		{"proxies: {file: bad.txt, choose: best}", `yaml:1:26: proxies\.choose: "best" .*"sticky by host"`},
		{"proxies: {choose: in turn}", `yaml:1:11: there are no proxies: name them by proxies\.file or proxies\.list, or by --proxies FILE`},
		{"proxies: {files: bad.txt}", `yaml:1:11: there is no setting "proxies\.files"; did you mean "proxies\.file"\?`},
		{"blocks: {status: [often]}", `yaml:1:10: blocks\.status: "often" is no whole number`},
		{"blocks: {header: {Server: {a: b}}}", `yaml:1:28: .*blocks\.header\.Server\.a`},
		{"blocks: {header: Server}", `yaml:1:10: .*blocks\.header`},
		{"blocks: true", `yaml:1:1: blocks is a group of settings; name one of them, such as blocks\.`},
	} {
		settings := noSettings(t)
		write(t, settings, tt.settings+"\n")
		write(t, filepath.Join(filepath.Dir(settings), "bad.txt"), "http://a.test:80\nhttp://user:secret@b.test:80/path\n")
		var stderr bytes.Buffer
		if code := cli.New().Run(t.Context(), []string{"crawl", "http://127.0.0.1:1/", "--config", settings}, nil, io.Discard, &stderr); code != 2 {
			t.Errorf("%s: exit code %d", tt.settings, code)
		}
		matches(t, stderr.String(), tt.want)
		if strings.Contains(stderr.String(), "secret") {
			t.Errorf("%s: %s", tt.settings, &stderr)
		}
	}
}

// No password of a proxy is in what a crawl writes or says, whether the proxy works, wants other credentials, is dead or does not answer:
// its log, job, run, cache, web archive and statistics are searched.
func TestProxyPasswords(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(dir, list string) (settings string, flags []string){
		"file": func(_, list string) (string, []string) { return "proxies: '@proxies.txt'", nil },
		"list": func(_, list string) (string, []string) {
			return "proxies: ['" + strings.ReplaceAll(list, "\n", "', '") + "']", nil
		},
		"option": func(_, list string) (string, []string) {
			return "", []string{"-s", "proxies=" + strings.ReplaceAll(list, "\n", ",")}
		},
	} {
		for _, pages := range []string{"pages=2", "pages=100"} { // it is stopped before its end, or not
			t.Run(name+" "+pages, func(t *testing.T) {
				t.Parallel()
				good, asked := forward(t, "user", "plantedGood")
				other, _ := forward(t, "user", "another")
				dead, _ := forward(t, "", "")
				dead.Close()
				silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts connections, and never says anything
				if err != nil {
					t.Fatal(err)
				}
				defer silent.Close()
				site, _ := guardedSite(t)
				settings := noSettings(t)
				dir := filepath.Dir(settings)
				var list []string
				for password, url := range map[string]string{
					"plantedGood": good.URL, "plantedOther": other.URL, "plantedDead": dead.URL, "plantedSilent": "https://" + silent.Addr().String(),
				} {
					list = append(list, strings.Replace(url, "://", "://user:"+password+"@", 1))
				}
				text, flags := plant(dir, strings.Join(list, "\n"))
				write(t, settings, text+"\nlimits: {attempts: 4}\n")
				write(t, filepath.Join(dir, "proxies.txt"), strings.Join(list, "\n"))
				in := func(name string) string { return filepath.Join(dir, "out", name) }
				args := append([]string{"crawl", site.URL + "/", "--config", settings, "-s", "limits.handshake=300ms", "-s", "limits.connect=300ms", "--limit", pages, "--job", in("job"),
					"--cache", in("cache"), "-O", in("pages.jsonl"), "-o", in("pages.warc"), "--log-level", "debug", "--result", in("result")}, flags...)
				if err := os.Mkdir(in(""), 0o700); err != nil {
					t.Fatal(err)
				}
				var said bytes.Buffer
				want := 0
				if pages == "pages=2" {
					want = 3
				}
				if code := cli.New().Run(t.Context(), args, nil, &said, &said); code != want {
					t.Fatalf("exit code %d: %s", code, &said)
				}
				if asked.Load() < 2 || !strings.Contains(said.String(), "user@") {
					t.Errorf("the good proxy was asked %d times: %s", asked.Load(), &said)
				}
				for _, args := range [][]string{
					{"settings", "--config", settings}, {"settings", "--json", "--config", settings}, {"jobs", "status", in("job")}, {"jobs", "list", in("job")},
					{"jobs", "failed", in("job")}, {"jobs", "explain", in("job"), site.URL + "/status"}, {"runs", "--config", settings}, {"cache", "list", in("cache")},
				} {
					if args[0] == "settings" {
						args = append(args, flags...)
					}
					cli.New().Run(t.Context(), args, nil, &said, &said)
				}
				if strings.Contains(said.String(), "planted") {
					t.Errorf("a password is told: %s", &said)
				}
				files := 0
				err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
					if err != nil || entry.IsDir() || path == settings || entry.Name() == "proxies.txt" {
						return err
					}
					files++
					text, err := os.ReadFile(path)
					for _, password := range []string{"plantedGood", "plantedOther", "plantedDead", "plantedSilent"} {
						encoded := strings.TrimRight(base64.StdEncoding.EncodeToString([]byte("user:"+password)), "=")
						if bytes.Contains(text, []byte(password)) || bytes.Contains(text, []byte(encoded)) {
							t.Errorf("%s has %s", path, password)
						}
					}
					return err
				})
				if err != nil || files < 6 {
					t.Errorf("%d files: %v", files, err)
				}
			})
		}
	}
}

// The section of a spider has proxies of its own, relative to the settings file. A settings file that was found names none elsewhere.
func TestProxiesOfSpider(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "p.txt"), "http://a.test:80\n")
	settings := filepath.Join(dir, "tegenaria.yaml")
	write(t, settings, "proxies: {list: ['http://user:planted@b.test:80'], choose: in turn}\nspiders:\n  shop:\n    proxies: '@p.txt'\n")
	t.Chdir(filepath.Join(dir, "below"))
	run := func(code int, args ...string) string {
		t.Helper()
		var said bytes.Buffer
		if got := cli.New(titles("shop", 1), titles("other", 1)).Run(t.Context(), args, nil, &said, &said); got != code {
			t.Fatalf("exit code %d: %s", got, &said)
		}
		return said.String()
	}
	matches(t, run(0, "settings", "shop"), `(?m)^proxies\.file +\S*p\.txt +tegenaria\.yaml:4$`, `(?m)^proxies\.list +tegenaria\.yaml:1$`,
		`(?m)^proxies\.choose +in turn +tegenaria\.yaml:1$`)
	other := run(0, "settings", "other")
	matches(t, other, `(?m)^proxies\.list +•+ +tegenaria\.yaml:1$`)
	if strings.Contains(other, "planted") {
		t.Errorf("a password is told: %s", other)
	}
	write(t, settings, "proxies: '@../p.txt'\n")
	matches(t, run(2, "settings", "shop"), `tegenaria\.yaml:1:1: proxies\.file: .*names files and folders below its own alone: give --proxies`)
}

package live_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
	"github.com/tegenaria/tegenaria/cli/live"
	"github.com/tegenaria/tegenaria/dashboard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is a writer that hands out the address which the command prints.
type lines struct {
	mu      sync.Mutex
	text    strings.Builder
	address chan string
}

var addresses = regexp.MustCompile(`(?m)^\S+\?token=[A-Za-z0-9_-]+$`)

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := addresses.MatchString(l.text.String())
	l.text.Write(p)
	if found := addresses.FindString(l.text.String()); found != "" && !before && strings.HasSuffix(l.text.String(), "\n") {
		l.address <- found
	}
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// endless is a spider of a site that has one link more on each page.
func endless(t *testing.T) (tegenaria.SpiderInterface, *httptest.Server) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<a href="`+r.URL.Path+`x">next</a>`)
	}))
	t.Cleanup(site.Close)
	parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[int]) error {
		return out.FollowLinks()
	})
	return tegenaria.NewSpider("endless", parser, site.URL+"/"), site
}

// crawl begins a crawl with these arguments, and returns its address, and a func that waits for its exit code and what it has printed.
func crawl(t *testing.T, args ...string) (app *cli.App, address string, end func() (code int, stderr string)) {
	t.Helper()
	spider, _ := endless(t)
	setup := func(*cli.Run) ([]tegenaria.EngineOption, error) { return nil, nil } // without a guard against traps
	return crawlOf(t, spider, setup, append([]string{"-s", "politeness.ignore_robots=true"}, args...)...)
}

// crawlOf is crawl with a spider and the options of its engine.
func crawlOf(t *testing.T, spider tegenaria.SpiderInterface, setup func(*cli.Run) ([]tegenaria.EngineOption, error), args ...string) (app *cli.App, address string, end func() (code int, stderr string)) {
	t.Helper()
	t.Chdir(t.TempDir())
	app = cli.New(spider)
	app.With(live.Part())
	app.Engine(setup)
	other := cli.New(spider) // one App runs one command at a time
	stderr := &lines{address: make(chan string, 1)}
	var running sync.WaitGroup
	var code int
	running.Go(func() {
		code = app.Run(t.Context(), append([]string{"crawl", spider.GetName()}, args...), nil, io.Discard, stderr)
		close(stderr.address)
	})
	address, ok := <-stderr.address
	if !ok {
		t.Fatalf("no address: %s", stderr)
	}
	return other, address, func() (int, string) { running.Wait(); return code, stderr.String() }
}

// A crawl prints its address, whatever is logged, obeys the command ctl, and its server ends with it.
func TestControl(t *testing.T) {
	for name, args := range map[string][]string{
		"loopback":  {"--listen", "127.0.0.1:0"},
		"quiet":     {"--listen", "localhost:0", "--quiet", "--log-file", "crawl.log"},
		"socket":    {"--listen", "unix:s"},
		"container": {"--listen", "0.0.0.0:0", "--listen-insecure"},
	} {
		t.Run(name, func(t *testing.T) {
			app, address, end := crawl(t, args...)
			ctl := func(want int, args ...string) string {
				t.Helper()
				var out, stderr strings.Builder
				if code := app.Run(t.Context(), append([]string{"ctl", address}, args...), nil, &out, &stderr); code != want {
					t.Errorf("ctl %q: exit code %d, %s%s", args, code, &out, &stderr)
				}
				return out.String() + stderr.String()
			}
			ctl(0, "pause")
			if said := ctl(1, "pause"); said != "tegenaria: the crawl is paused already\n" {
				t.Errorf("a second pause: %s", said)
			}
			ctl(0, "set", "concurrency", "3")
			ctl(1, "set", "concurrency", "0")
			ctl(0, "host", "127.0.0.1", "delay", "1ms")
			if said := ctl(0, "changes"); said != "concurrency 3\nhost 127.0.0.1: delay 1ms, jitter 0, per_slot 8, max_pages 0\n" {
				t.Errorf("changes: %s", said)
			}
			ctl(0, "set", "concurrency", "reset")
			ctl(2, "host", "127.0.0.1", "delays", "1ms")
			ctl(0, "host", "127.0.0.1", "reset")
			if said := ctl(0, "changes"); said != "nothing was changed\n" {
				t.Errorf("changes: %s", said)
			}
			if said := ctl(1, "host", "127.0.0.1", "forgive"); !strings.Contains(said, "127.0.0.1 has no penalty") {
				t.Errorf("forgiving what there is not: %s", said)
			}
			ctl(0, "resume")
			ctl(0, "pause")
			viewer := strings.TrimSpace(ctl(0, "view"))
			var out, stderr strings.Builder
			if code := app.Run(t.Context(), []string{"top", viewer}, nil, &out, &stderr); code != 0 || !strings.HasPrefix(out.String(), "endless: paused, for ") {
				t.Errorf("top: exit code %d, %s%s", code, &out, &stderr)
			}
			if said := ctl(0, "slow"); !strings.Contains(said, " of the ") || !strings.Contains(said, " %  paused") {
				t.Errorf("slow: %s", said)
			}
			ctl(2, "slow", "host")
			ctl(2, "explain")
			if said := ctl(0, "explain", "http://127.0.0.1:1/none"); !strings.HasPrefix(said, "No request of this URL has ended in this run.\n") ||
				!strings.Contains(said, "\nAt 127.0.0.1 ") || !strings.HasSuffix(said, "; the crawl is paused.\n") {
				t.Errorf("explain: %s", said)
			}
			if lines := strings.Split(out.String(), "\n"); len(lines) < 4 || !strings.Contains(lines[3], " % of the ") {
				t.Errorf("top has no sentence: %s", &out)
			}
			if code := app.Run(t.Context(), []string{"ctl", viewer, "resume"}, nil, io.Discard, io.Discard); code != 1 {
				t.Errorf("a viewer resumes: exit code %d", code)
			}
			if said := ctl(1, "add", "http://new.example/", "http://new.example/", "ftp://new.example/"); !strings.HasPrefix(said, "http://new.example/: new\nhttp://new.example/: known\nftp://new.example/: ") {
				t.Errorf("added: %s", said)
			}
			ctl(1, "add", "--parser", "none", "http://new.example/2")
			ctl(2, "pause", "--parser", "none")
			ctl(0, "stop")
			if code, stderr := end(); code != 3 {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			ctl(1, "pause")
		})
	}
}

// A durable job is asked what became of a URL while the crawl runs.
func TestExplainJob(t *testing.T) {
	spider, site := endless(t)
	setup := func(*cli.Run) ([]tegenaria.EngineOption, error) { return nil, nil }
	app, address, end := crawlOf(t, spider, setup, "-s", "politeness.ignore_robots=true", "-s", "politeness.delay=1h", "--job", "job", "--listen", "127.0.0.1:0")
	explain := func(url string) string {
		t.Helper()
		var out, stderr strings.Builder
		if code := app.Run(t.Context(), []string{"ctl", address, "explain", url}, nil, &out, &stderr); code != 0 {
			t.Errorf("ctl explain: exit code %d, %s%s", code, &out, &stderr)
		}
		return out.String()
	}
	settled := time.Now().Add(time.Minute)
	for !strings.HasPrefix(explain(site.URL+"/"), "fetched, status 200, depth 0, at ") {
		if time.Now().After(settled) {
			t.Fatalf("the seed: %s", explain(site.URL+"/"))
		}
		runtime.Gosched()
	}
	lines := strings.Split(explain(site.URL+"/x"), "\n")
	if len(lines) != 4 || lines[0] != "waiting in the queue, or in flight, depth 1." || !strings.HasPrefix(lines[1], "Found by "+site.URL+"/: fetched, status 200, depth 0, at ") ||
		!strings.HasPrefix(lines[2], "At 127.0.0.1 1 request waits, in an order that is not known here, and 0 of 8 downloads are in flight; "+
			"between two of them is a delay of 1h0m0s (settings); the next may start in ") {
		t.Errorf("a page that waits: %q", lines)
	}
	if said := explain(site.URL + "/none"); !strings.HasPrefix(said, "disk: the job does not know this request.\nAt 127.0.0.1 ") {
		t.Errorf("a page that nobody has found: %s", said)
	}
	if code := app.Run(t.Context(), []string{"ctl", address, "stop"}, nil, io.Discard, io.Discard); code != 0 {
		t.Errorf("ctl stop: exit code %d", code)
	}
	end()
}

// The runs that the command keeps are in the API of the next one, and its settings without what is secret.
func TestPastRuns(t *testing.T) {
	spider, _ := endless(t)
	setup := func(*cli.Run) ([]tegenaria.EngineOption, error) { return nil, nil }
	t.Chdir(t.TempDir())
	config, err := filepath.Abs("tegenaria.yaml")
	if err == nil {
		err = os.WriteFile(config, nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	first := cli.New(spider)
	first.Engine(setup)
	if code := first.Run(t.Context(), []string{"crawl", "endless", "--config", config, "-s", "limits.pages=3", "-s", "politeness.ignore_robots=true"}, nil, io.Discard, io.Discard); code != 3 {
		t.Fatalf("the first run: exit code %d", code)
	}
	app, address, end := crawlOf(t, spider, setup, "--config", config, "-s", "politeness.ignore_robots=true", "-s", "politeness.overrides.secret.test.delay=5s", "--listen", "127.0.0.1:0")
	base, token, _ := strings.Cut(address, "?token=")
	defer http.DefaultClient.CloseIdleConnections()
	ask := func(what string, to any) {
		t.Helper()
		resp, err := http.Get(base + "api/v1/" + what + "?token=" + token)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(to); err != nil {
			t.Fatal(err)
		}
	}
	var settings dashboard.Settings
	ask("settings", &settings)
	values := make(map[string]string)
	for _, s := range settings.Settings {
		values[s.Name] = s.Value
	}
	if values["politeness.overrides.secret.test.delay"] != "••••••" || values["politeness.ignore_robots"] != "true" {
		t.Errorf("the settings are %v", values)
	}
	var past dashboard.PastRuns
	if ask("runs", &past); len(past.Runs) != 1 || past.Error != "" {
		t.Fatalf("the past runs are %+v", past)
	}
	if run := past.Runs[0]; run.Spider != "endless" || run.Reason != "limit: pages" || run.Code != 3 || run.Pages < 3 || run.Finished {
		t.Errorf("the first run is %+v", run)
	}
	if code := app.Run(t.Context(), []string{"ctl", address, "stop"}, nil, io.Discard, io.Discard); code != 0 {
		t.Errorf("ctl stop: exit code %d", code)
	}
	end()
}

// The token is kept in a file that its owner alone can read, and is the same in the next crawl.
func TestTokenFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	var tokens []string
	for range 2 {
		app, address, end := crawl(t, "--listen", "127.0.0.1:0", "--listen-token", file)
		_, token, _ := strings.Cut(address, "?token=")
		tokens = append(tokens, token)
		if code := app.Run(t.Context(), []string{"ctl", address, "stop"}, nil, io.Discard, io.Discard); code != 0 {
			t.Errorf("ctl stop: exit code %d", code)
		}
		end()
	}
	text, err := os.ReadFile(file)
	info, statErr := os.Stat(file)
	if err != nil || statErr != nil || string(text) != tokens[0]+"\n" || tokens[0] != tokens[1] || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: the file has %q, mode %v; tokens %q", err, statErr, text, info.Mode(), tokens)
	}
}

// The metrics of the crawl, of Go and of the process are at /metrics, for those who have the token.
func TestMetrics(t *testing.T) {
	app, address, end := crawl(t, "--listen", "127.0.0.1:0")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	root, token, _ := strings.Cut(address, "?token=")
	for _, test := range []struct {
		token string
		want  int
	}{{token, 200}, {"wrong", 401}} {
		r, err := http.NewRequest("GET", root+"metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+test.token)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != test.want {
			t.Errorf("with the token %q: %d, %v", test.token, resp.StatusCode, err)
		}
		for _, line := range []string{`tegenaria_run_info{spider="endless"} 1`, "go_goroutines ", "process_start_time_seconds "} {
			if has := strings.Contains(string(text), "\n"+line); has != (test.want == 200) {
				t.Errorf("with the token %q: that it has %s is %t", test.token, line, has)
			}
		}
	}
	if code := app.Run(t.Context(), []string{"ctl", address, "stop"}, nil, io.Discard, io.Discard); code != 0 {
		t.Errorf("ctl stop: exit code %d", code)
	}
	end()
}

// With a certificate the address is one of https.
func TestTLS(t *testing.T) {
	other := httptest.NewTLSServer(nil) // for its certificate
	defer other.Close()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	der, err := x509.MarshalPKCS8PrivateKey(other.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: other.Certificate().Raw}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, address, end := crawl(t, "--listen", "127.0.0.1:0", "--listen-tls", cert+","+key)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := client.Post(strings.Replace(address, "/?", "/api/v1/stop?", 1), "", nil)
	if err != nil || resp.StatusCode != 200 || !strings.HasPrefix(address, "https://") {
		t.Errorf("%s: %v, %v", address, resp, err)
	} else {
		resp.Body.Close()
	}
	end()
}

// What cannot be listened at is refused before the crawl, with what to do.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	wrong := filepath.Join(dir, "wrong")
	if err := os.WriteFile(wrong, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	spider, _ := endless(t)
	for _, test := range []struct {
		args, want string
		code       int
	}{
		{"--listen 0.0.0.0:0", "--listen-insecure", 2},
		{"--listen :0", "--listen-insecure", 2},
		{"--listen example.com", "HOST:PORT", 2},
		{"--listen 127.0.0.1:0 --listen-tls " + wrong, "CERT,KEY", 2},
		{"--listen 127.0.0.1:0 --listen-token " + wrong, "no token", 2},
		{"--listen-token " + wrong, "--listen ADDRESS", 2},
		{"--listen unix:" + dir + "/none/s", "--listen: ", 1},
		{"--listen 192.0.2.1:1 --listen-insecure", "--listen: ", 1},
	} {
		t.Chdir(t.TempDir())
		app := cli.New(spider)
		app.With(live.Part())
		var stderr strings.Builder
		code := app.Run(t.Context(), append([]string{"crawl", "endless"}, strings.Fields(test.args)...), nil, io.Discard, &stderr)
		if code != test.code || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%s: exit code %d: %s", test.args, code, &stderr)
		}
	}
	var stderr strings.Builder
	if code := cli.New(spider).Run(t.Context(), []string{"crawl", "endless", "--listen", "127.0.0.1:0"}, nil, io.Discard, &stderr); code != 2 ||
		!strings.Contains(stderr.String(), "app.With(live.Part())") {
		t.Errorf("without the part: exit code %d: %s", code, &stderr)
	}
}

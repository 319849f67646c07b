package live_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
)

// No password of a proxy is in what a running crawl shows: neither those of the pool, nor that of a request's own proxy.
func TestProxyPasswords(t *testing.T) {
	forward := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("user:plantedGood")) {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<a href="`+r.URL.Path+`x">next</a>`)
	}))
	defer forward.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	with := func(password, address string) string {
		return "http://user:" + password + "@" + strings.TrimPrefix(address, "http://")
	}
	good, other, dead := with("plantedGood", forward.URL), with("plantedOther", forward.URL), with("plantedDead", "http://"+listener.Addr().String())
	own := func(url, proxy string) *tegenaria.Request {
		return tegenaria.NewRequest(url, tegenaria.GET, nil, tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: proxy}))
	}
	parser := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		if err := out.Item(page.URL); err != nil || page.Request().Depth > 20 {
			return err
		}
		return out.FollowLinks() // links have no proxy of their own
	})
	for name, tt := range map[string]struct {
		requests []*tegenaria.Request
		flags    []string
	}{
		"pool": {[]*tegenaria.Request{tegenaria.NewRequest("http://site.test/", tegenaria.GET, nil)}, []string{"-s", "proxies=" + strings.Join([]string{good, other, dead}, ",")}},
		"own":  {[]*tegenaria.Request{own("http://site.test/", good), own("http://site.test/other", other), own("http://site.test/dead", dead)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			waiting := own("http://later.test/", good) // it keeps the crawl running
			tegenaria.RequestWithNotBefore(time.Now().Add(time.Hour))(waiting)
			spider := tegenaria.NewSpiderOf("site", parser, append(tt.requests, waiting)...)
			setup := func(*cli.Run) ([]tegenaria.EngineOption, error) { return nil, nil }
			app, address, end := crawlOf(t, spider, setup, append([]string{"-s", "politeness.ignore_robots=true", "--listen", "127.0.0.1:0", "--log-level", "debug", "--quiet",
				"--log-file", "crawl.log"}, tt.flags...)...)
			at, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			get := func(path string) string {
				t.Helper()
				request, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+at.Host+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Authorization", "Bearer "+at.Query().Get("token"))
				resp, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if resp.StatusCode != 200 {
					t.Fatalf("%s: %s", path, resp.Status)
				}
				if strings.HasSuffix(path, "/events") {
					line, err := bufio.NewReader(resp.Body).ReadString('}')
					if err != nil {
						t.Fatal(err)
					}
					return line
				}
				text, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			defer http.DefaultClient.CloseIdleConnections()
			for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
				text := get("/api/v1/run")
				// The dead proxy has been tried: its address is among the proxies, or in the error of its request.
				if strings.Contains(text+get("/api/v1/failures"), listener.Addr().String()) && itemScraped(t, text) > 0 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal(text)
				}
			}
			var shown strings.Builder
			for _, path := range []string{"run", "hosts?n=100", "failures", "url?u=http://site.test/", "url?u=http://site.test/dead", "url?u=http://later.test/", "items", "callbacks",
				"log?level=debug", "settings", "runs", "changes", "events"} {
				shown.WriteString(get("/api/v1/" + path))
			}
			shown.WriteString(get("/metrics"))
			shown.WriteString(get("/"))
			for _, args := range [][]string{{"slow"}, {"explain", "http://site.test/"}, {"changes"}, {"stop"}} {
				if code := app.Run(t.Context(), append([]string{"ctl", address}, args...), nil, &shown, &shown); code != 0 {
					t.Errorf("ctl %q: exit code %d", args, code)
				}
			}
			if code, stderr := end(); code != 3 || strings.Contains(stderr, "planted") {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			encoded := strings.TrimRight(base64.StdEncoding.EncodeToString([]byte("user:planted")), "=")
			if text := shown.String(); strings.Contains(text, "planted") || strings.Contains(text, encoded[:len(encoded)-1]) || !strings.Contains(text, listener.Addr().String()) {
				for line := range strings.Lines(text) {
					if strings.Contains(line, "planted") {
						t.Errorf("%.2000s", line)
					}
				}
				t.Errorf("%d bytes are shown", len(text))
			}
		})
	}
}

// itemScraped is Stats.ItemScraped in what /api/v1/run shows.
func itemScraped(t *testing.T, text string) int64 {
	t.Helper()
	var run struct {
		Stats tegenaria.Stats `json:"stats"`
	}
	if err := json.Unmarshal([]byte(text), &run); err != nil {
		t.Fatal(err)
	}
	return run.Stats.ItemScraped
}

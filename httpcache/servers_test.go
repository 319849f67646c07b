package httpcache_test

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/enginetest"

	"github.com/tegenaria/tegenaria"
)

var (
	pythonDocs = flag.String("pythondoc", "", "the folder of Debian's python3.11-doc, /usr/share/doc/python3.11/html")
	nginx      = flag.String("nginx", "", "the program nginx")
)

// A manual of some hundred pages at a delay of a second, in virtual time; and again from the cache: the site is asked for nothing,
// nothing is waited for, and the items are equal.
func TestPythonDocs(t *testing.T) {
	if *pythonDocs == "" {
		t.Skip("no documentation to crawl: run this test with -args -pythondoc DIR")
	}
	folder := t.TempDir()
	files := http.FileServer(http.Dir(*pythonDocs))
	synctest.Test(t, func(t *testing.T) {
		site := newSite(files.ServeHTTP)
		cache := opened(t, folder, httpcache.Options{})
		obey := tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Second})
		var first string
		for run := range 2 {
			s := crawler(func(s *spider, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
				if !strings.HasPrefix(resp.Header["Content-Type"][0], "text/html") {
					return nil
				}
				s.note("%s %q", resp.URL, resp.CSS("title").Text())
				return out.FollowLinks()
			}, "http://docs.test/index.html")
			began := time.Now()
			stats := crawl(t, site, cache, s, obey, tegenaria.EngineWithAllowedDomains("docs.test"))
			took, asked := time.Since(began), site.take()
			if run == 0 {
				first = s.items()
				if pages := strings.Count(first, "\n") + 1; pages < 400 || took < time.Duration(pages)*time.Second {
					t.Errorf("%d pages in %s", pages, took)
				}
				t.Logf("%d requests, %s", len(asked), took)
				continue
			}
			if len(asked) != 0 || took > time.Second || s.items() != first {
				t.Errorf("from the cache: %d requests, %s, equal %v", len(asked), took, s.items() == first)
			}
			t.Logf("%d hits, %d bytes saved, %s", stats.Cache.Hits, stats.Cache.BytesSaved, took)
		}
	})
}

// nginx serves files with ETag and Last-Modified, a part of them fresh for an hour, and one by the language that is asked for. Its log
// says what a second and a third crawl ask for.
func TestNginx(t *testing.T) {
	if *nginx == "" {
		t.Skip("no server: run this test with -args -nginx FILE")
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"index.html": "<a href=/fresh/1.html>1</a> <a href=/2.html>2</a> <a href=/language>3</a>",
		"fresh/1.html": "one", "2.html": "two", "en.html": "hello", "de.html": "hallo"} {
		path := filepath.Join(folder, "www", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		long := time.Now().Add(-time.Minute) // heuristically fresh for six seconds, but for what has no-cache
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	url := startNginx(t, folder)
	read := func() string {
		log, err := os.ReadFile(filepath.Join(folder, "access.log"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(folder, "access.log"), 0); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(log)), "\n")
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	cache := opened(t, filepath.Join(folder, "cache"), standard)
	ask := func(language string) string {
		s := crawler(func(s *spider, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
			s.note("%s %s", resp.Cached().State, resp.String())
			return out.FollowLinks()
		}, url+"/index.html")
		if err := enginetest.NewEngine(nil, s, tegenaria.EngineWithDownloaderLayers(cache.Layer), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
			tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{Name: "language", Request: func(ctx *tegenaria.Context) error {
				ctx.Request.Header["Accept-Language"] = language
				return nil
			}})).Run(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		return s.items() + "\n" + read()
	}
	first := ask("en")
	if !strings.Contains(first, "miss hello") || strings.Count(first, " 200 ") != 4 {
		t.Errorf("the first crawl:\n%s", first)
	}
	want := "hit one\nrevalidated <a href=/fresh/1.html>1</a> <a href=/2.html>2</a> <a href=/language>3</a>\nrevalidated hello\nrevalidated two\n" +
		"/2.html 304 0\n/index.html 304 0\n/language 304 0"
	if second := ask("en"); second != want {
		t.Errorf("the second crawl:\n%s\nwant\n%s", second, want)
	}
	if third := ask("de"); !strings.Contains(third, "miss hallo") || !strings.Contains(third, "/language 200 5") || strings.Contains(third, "hello") {
		t.Errorf("in another language:\n%s", third)
	}
	if again := ask("en"); again != want {
		t.Errorf("in the first language:\n%s\nwant\n%s", again, want)
	}
}

// startNginx starts nginx for a folder, whose www it serves, and returns its address.
func startNginx(t *testing.T, folder string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close() // nginx takes the port
	config := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log;
events {}
http {
	log_format short '$request_uri $status $body_bytes_sent';
	access_log %[1]s/access.log short;
	types { text/html html; } default_type text/html;
	client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
	map $http_accept_language $language { default en; ~^de de; }
	server {
		listen %[2]s;
		root %[1]s/www;
		add_header Cache-Control no-cache;
		location /fresh/ { add_header Cache-Control max-age=3600; }
		location = /language { add_header Vary Accept-Language; add_header Cache-Control no-cache; try_files /$language.html =404; }
	}
}`, folder, address)
	file := filepath.Join(folder, "nginx.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), *nginx, "-p", folder, "-e", filepath.Join(folder, "error.log"), "-c", file)
	var said strings.Builder
	server.Stderr = &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // the end of the test's context has killed it
	for t.Context().Err() == nil {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return "http://" + address
		}
		if server.ProcessState != nil {
			break
		}
		enginetest.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("nginx did not begin: %s", &said)
	return ""
}

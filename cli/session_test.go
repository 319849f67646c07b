package cli_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
	"github.com/tegenaria/tegenaria/middleware"
)

// It fails if the pages of a shell do not share cookies, the delay of their host and its robots.txt, if a redirect or a page that
// is asked for twice is none, or if a page that cannot be had ends more than its line.
func TestShellSession(t *testing.T) {
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		begin := time.Now()
		site := tegenaria.DownloaderFunc(func(_ context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
			path := strings.TrimPrefix(r.Url, "https://shop.example")
			asked = append(asked, fmt.Sprint(path, " ", time.Since(begin)))
			header := map[string][]string{"Content-Type": {"text/html"}}
			switch path {
			case "/robots.txt":
				return tegenaria.NewResponse(r, 200, nil, []byte("User-agent: *\nDisallow: /private\n")), nil
			case "/in":
				header["Set-Cookie"] = []string{"user=me"}
			case "/old":
				header["Location"] = []string{"/new"}
				return tegenaria.NewResponse(r, 302, header, nil), nil
			}
			return tegenaria.NewResponse(r, 200, header, []byte("<p>"+r.Header["Cookie"]+"</p>")), nil
		})
		app := cli.New()
		app.Engine(func(*cli.Run) ([]tegenaria.EngineOption, error) {
			return []tegenaria.EngineOption{tegenaria.EngineWithDownloader(site), tegenaria.EngineWithMiddlewares(middleware.NewCookies(middleware.CookieOptions{}))}, nil
		})
		shell := func(lines ...string) (code int, out, err string) {
			asked, begin = nil, time.Now()
			var stdout, stderr strings.Builder
			code = app.Run(t.Context(), []string{"shell", "https://shop.example/in", "-s", "politeness.delay=1m", "-s", "limits.pages=1"},
				strings.NewReader(strings.Join(lines, "\n")), &stdout, &stderr)
			return code, stdout.String(), stderr.String()
		}
		code, out, text := shell("fetch /a", "css p::text", "fetch /old", "css p::text", "fetch /a")
		if code != 0 || out != "user=me\nuser=me\n" {
			t.Errorf("code %d, %q, %s", code, out, text)
		}
		want := "/robots.txt 0s, /in 1m0s, /a 2m0s, /old 3m0s, /new 4m0s, /a 5m0s"
		if got := strings.Join(asked, ", "); got != want {
			t.Errorf("asked %s, and not %s", got, want)
		}
		code, _, text = shell("fetch /a", "fetch /private")
		if code != 1 || !strings.Contains(text, "line 2: https://shop.example/private: robots (forbidden): robots.txt of the site forbids it") {
			t.Errorf("code %d, %s", code, text)
		}
	})
}

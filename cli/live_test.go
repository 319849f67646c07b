package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
)

// It fails if check --live does not keep the delay between two pages, which are crawls of their own.
func TestLiveIsPolite(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a", "b"} {
		dir := filepath.Join("testdata", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{
			"request.json":  `{"spider": "shop", "url": "http://shop.example/` + name + `"}`,
			"response.http": "HTTP/1.1 200 OK\r\n\r\npage",
		} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Time
		app := cli.New(titles("shop", 1))
		app.Engine(func(*cli.Run) ([]tegenaria.EngineOption, error) {
			return []tegenaria.EngineOption{tegenaria.EngineWithDownloader(tegenaria.DownloaderFunc(func(_ context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
				asked = append(asked, time.Now())
				return tegenaria.NewResponse(r, 200, nil, nil), nil
			}))}, nil
		})
		var out, stderr strings.Builder
		code := app.Run(t.Context(), []string{"check", "--live", "-s", "politeness.delay=1h", "-s", "politeness.ignore_robots=true"}, nil, &out, &stderr)
		if code != 0 || len(asked) != 2 || asked[1].Sub(asked[0]) < time.Hour {
			t.Errorf("code %d, asked at %v: %s%s", code, asked, out.String(), stderr.String())
		}
	})
}

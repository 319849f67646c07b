package disk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
)

// sorted returns the lines of a text in order: that of items of different pages is not promised.
func sorted(text string) []string { return slices.Sorted(strings.Lines(text)) }

// TestFeedsChange runs a job several times, each time with other feeds. Each has the items once that came while it was
// there, and what a crash has left behind its last line is cut off.
func TestFeedsChange(t *testing.T) {
	const pages, perRun = 12, 3
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, _ = fmt.Sscanf(r.URL.Path, "/%d", &n); n < pages-1 {
			fmt.Fprintf(w, `<a href="/%d">next</a>`, n+1)
		}
	}))
	defer site.Close()
	parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
		return errors.Join(out.Item(resp.URL[len(site.URL)+1:]), out.FollowLinks())
	}
	dir := t.TempDir()
	want := make(map[string]string)
	for i, run := range []struct {
		name  string
		feeds []string
	}{
		{"two", []string{"a", "b"}},
		{"reordered, and one more", []string{"c", "b", "a"}},
		{"two removed", []string{"b"}},
		{"all again", []string{"a", "b", "c"}},
	} {
		c := open(t, filepath.Join(dir, "job"))
		options := []tegenaria.EngineOption{
			tegenaria.EngineWithCache(c), tegenaria.EngineWithConcurrency(1),
			tegenaria.EngineWithLimits(tegenaria.Limits{Pages: perRun}),
			tegenaria.EngineWithSpiders(tegenaria.NewSpider("chain", tegenaria.Handle(parse), site.URL+"/0")),
		}
		for _, name := range run.feeds {
			options = append(options, tegenaria.EngineWithPipelines(feed.JSONL(filepath.Join(dir, name))))
			for page := i * perRun; page < (i+1)*perRun; page++ {
				want[name] += fmt.Sprintf("\"%d\"\n", page)
			}
		}
		err := tegenaria.NewSpiderEngine(options...).Run(t.Context(), "chain")
		var stopped *tegenaria.StoppedError
		if err != nil && !errors.As(err, &stopped) {
			t.Fatalf("%s: %v", run.name, err)
		}
		closed(t, c)
		for name, lines := range want {
			path := filepath.Join(dir, name)
			got, err := os.ReadFile(path)
			got = bytes.TrimSuffix(got, []byte("lost"))
			if err != nil || !slices.Equal(sorted(string(got)), sorted(lines)) {
				t.Fatalf("%s: %s holds %q, %v; want %q in any order", run.name, name, got, err, lines)
			}
			if err := os.WriteFile(path, append(got, "lost"...), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

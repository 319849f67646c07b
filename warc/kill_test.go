package warc_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/warc"
)

var (
	killedJob = flag.String("killed.job", "", "folder of the job that TestKills runs in another process")
	killedURL = flag.String("killed.url", "", "the site that it crawls")
)

// runKilled is the job that is killed.
func runKilled(ctx context.Context) error {
	cache, err := disk.Open(filepath.Join(*killedJob, "job"))
	if err != nil {
		return err
	}
	archive, err := warc.Create(filepath.Join(*killedJob, "archive", "{spider}-{start}-{part}.warc.gz"), warc.Options{Size: 20_000, Memory: 1000})
	if err != nil {
		return err
	}
	parse := func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		if _, err := out.Fetch(tegenaria.NewRequest(page.URL+"/part", "GET", nil)); err != nil {
			return err
		}
		return out.FollowLinks()
	}
	err = tegenaria.NewSpiderEngine(
		tegenaria.EngineWithCache(cache), tegenaria.EngineWithDownloaderLayers(archive.Layer), tegenaria.EngineWithSlog(slog.New(slog.DiscardHandler)), tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("killed", tegenaria.Handle(parse), *killedURL+"/0")),
	).Run(ctx, "killed")
	return errors.Join(err, cache.Close())
}

// A crawl with a durable cache is killed again and again. Each page, and what it fetched, is in the archive once.
func TestKills(t *testing.T) {
	if *killedJob != "" {
		if err := runKilled(t.Context()); err != nil {
			t.Fatal(err)
		}
		return
	}
	const pages = 150
	folder := t.TempDir()
	loop := &killtest.Loop{Seed: deep.Seed(), Log: t.Logf}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil {
			http.NotFound(w, r)
			return
		}
		loop.Count()
		if strings.HasSuffix(r.URL.Path, "/part") {
			fmt.Fprint(w, "a part of ", n)
			return
		}
		for child := 3*n + 1; child <= 3*n+3 && child < pages; child++ {
			fmt.Fprintf(w, `<a href="/%d">next</a>`, child)
		}
	}))
	defer site.Close()
	loop.Next = func(_ int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
		return exec.Command(os.Args[0], "-test.run=^TestKills$", "-killed.job="+folder, "-killed.url="+site.URL), []killtest.Fault{{Count: 20 + random.IntN(pages/3)}}
	}
	starts, err := loop.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if starts < 4 {
		t.Error("too few kills")
	}
	names, _ := filepath.Glob(filepath.Join(folder, "archive", "*"))
	counts := make(map[string]int)
	for _, name := range names {
		for _, record := range readRecords(t, name) {
			counts[strings.Replace(record, site.URL, "", 1)]++
		}
	}
	for n := range pages {
		for _, path := range []string{fmt.Sprint("/", n), fmt.Sprint("/", n, "/part")} {
			for _, kind := range []string{"request ", "response ", "metadata "} {
				if counts[kind+path] != 1 {
					t.Errorf("%s%s: %d times", kind, path, counts[kind+path])
				}
			}
		}
	}
	if counts["response /robots.txt"] == 0 || len(names) < 2 {
		t.Errorf("%d of robots.txt, %d files", counts["response /robots.txt"], len(names))
	}
	if hidden, _ := filepath.Glob(filepath.Join(folder, "archive", ".*")); len(hidden) > 0 || strings.Contains(strings.Join(names, " "), ".open") {
		t.Errorf("files: %q, %q", names, hidden)
	}
	t.Log(check(t, names...))
}

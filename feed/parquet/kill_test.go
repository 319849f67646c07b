package parquet_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/parquet"
	"github.com/tegenaria/tegenaria/internal/deep"
)

var (
	killedJob = flag.String("killed.job", "", "folder of the job that TestKills runs in another process")
	killedURL = flag.String("killed.url", "", "the site that it crawls")
)

// A crawl with a durable cache is killed again and again. Each item is in the files once.
func TestKills(t *testing.T) {
	if *killedJob != "" {
		cache, err := disk.Open(filepath.Join(*killedJob, "job"))
		if err != nil {
			t.Fatal(err)
		}
		defer cache.Close()
		books := parquet.New[feedtest.Book](filepath.Join(*killedJob, "lake", "{spider}-{part}.parquet"), parquet.Rotate(feed.Rotation{Items: 100}))
		if err := feedtest.Crawl(t.Context(), cache, *killedURL, books); err != nil {
			t.Fatal(err)
		}
		return
	}
	pages := deep.Rounds(120, 400)
	folder := plainDir(t)
	feedtest.Kills(t, pages, deep.Seed(), func(url string) []string {
		return []string{"-test.run=^TestKills$", "-killed.job=" + folder, "-killed.url=" + url}
	})
	rows := readAll[book](t, filepath.Join(folder, "lake"))
	seen := make(map[string]bool)
	for _, b := range rows {
		seen[b.SKU] = true
	}
	if want := pages * feedtest.ItemsPerPage; len(rows) != want || len(seen) != want {
		t.Errorf("%d rows, %d different ones, want %d", len(rows), len(seen), want)
	}
}

package sqlite_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/sqlite"
	"github.com/tegenaria/tegenaria/internal/deep"
)

var (
	killedJob = flag.String("killed.job", "", "folder of the job that TestKills runs in another process")
	killedURL = flag.String("killed.url", "", "the site that it crawls")
)

// A crawl with a durable cache is killed again and again. Each item is in the table once.
func TestKills(t *testing.T) {
	if *killedJob != "" {
		cache, err := disk.Open(filepath.Join(*killedJob, "job"))
		if err != nil {
			t.Fatal(err)
		}
		defer cache.Close()
		if err := feedtest.Crawl(t.Context(), cache, *killedURL, sqlite.New[feedtest.Book](filepath.Join(*killedJob, "books.db"))); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Parallel()
	pages := deep.Rounds(120, 400)
	folder := t.TempDir()
	feedtest.Kills(t, pages, deep.Seed(), func(url string) []string {
		return []string{"-test.run=^TestKills$", "-killed.job=" + folder, "-killed.url=" + url}
	})
	want := fmt.Sprintln(feedtest.ItemsPerPage*pages, feedtest.ItemsPerPage*pages, pages)
	if got := read(t, filepath.Join(folder, "books.db"), "SELECT count(*) || ' ' || count(DISTINCT sku) || ' ' || count(DISTINCT substr(sku, 1, instr(sku, '.'))) FROM book"); got[0]+"\n" != want {
		t.Errorf("%q, want %q", got, want)
	}
}

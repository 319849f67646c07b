package postgres_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/postgres"
	"github.com/tegenaria/tegenaria/internal/deep"
)

var (
	killedJob = flag.String("killed.job", "", "folder of the job that TestKills runs in another process")
	killedURL = flag.String("killed.url", "", "the site that it crawls")
	killedDSN = flag.String("killed.dsn", "", "the database that it writes to")
	killedKey = flag.Bool("killed.key", false, "whether its table has a key")
)

// A crawl with a durable cache is killed again and again. Each item is in the table once.
func TestKills(t *testing.T) {
	if *killedJob != "" {
		killed(t)
		return
	}
	pages := deep.Rounds(120, 400)
	for _, key := range []bool{false, true} {
		t.Run(fmt.Sprint("key ", key), func(t *testing.T) {
			dsn, folder := newDatabase(t), t.TempDir()
			feedtest.Kills(t, pages, deep.Seed(), func(url string) []string {
				return []string{"-test.run=^TestKills$", "-killed.job=" + folder, "-killed.url=" + url, "-killed.dsn=" + dsn, fmt.Sprint("-killed.key=", key)}
			})
			got := read(t, connect(t, dsn), "SELECT count(*) || ' ' || count(DISTINCT sku) || ' ' || count(DISTINCT split_part(sku, '.', 1)) FROM book")
			if want := fmt.Sprintln(feedtest.ItemsPerPage*pages, feedtest.ItemsPerPage*pages, pages); got[0]+"\n" != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// killed is the process that is killed.
func killed(t *testing.T) {
	cache, err := disk.Open(filepath.Join(*killedJob, "job"))
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	opts := []postgres.Option{postgres.Rejects(filepath.Join(*killedJob, "rejects"))}
	if *killedKey {
		opts = append(opts, postgres.Upsert("sku"))
	}
	if err := feedtest.Crawl(t.Context(), cache, *killedURL, postgres.New[feedtest.Book](connect(t, *killedDSN), opts...)); err != nil {
		t.Fatal(err)
	}
}

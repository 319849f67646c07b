//go:build unix

package outputs_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/parquet"
	"github.com/tegenaria/tegenaria/feed/s3"
	"github.com/tegenaria/tegenaria/feed/sqlite"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/media"
	"github.com/tegenaria/tegenaria/warc"
)

// output is one thing that a crawl delivers to, in a folder of its own.
type output struct {
	name    string
	options func(t *testing.T, o *lonely) []tegenaria.EngineOption
	check   func(t *testing.T, o *lonely) // when the job is done: each item is there once
}

// lonely is a job with one output.
type lonely struct {
	output
	folder  string // of the output
	cache   string // folder of the job
	site    *httptest.Server
	objects *s3mem.Backend
	bucket  *httptest.Server
	seen    atomic.Int64 // pages that were asked for
	at      int64        // page at which the run is cancelled; 0: none
	cancel  context.CancelFunc
}

func newLonely(t *testing.T, o output, folder string) *lonely {
	t.Helper()
	l := &lonely{output: o, folder: folder, cache: filepath.Join(t.TempDir(), "job"), objects: s3mem.New()}
	if err := l.objects.CreateBucket("wares"); err != nil {
		t.Fatal(err)
	}
	k := new(killer)
	k.loop.Store(new(killtest.Loop)) // which kills nothing
	k.seen.Store(new(sync.Map))
	l.site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/image/") && l.seen.Add(1) == l.at {
			l.cancel()
		}
		k.serve(w, r)
	}))
	t.Cleanup(l.site.Close)
	l.bucket = httptest.NewServer(gofakes3.New(l.objects).Server())
	t.Cleanup(l.bucket.Close)
	return l
}

// run runs the job, or goes on with it.
func (l *lonely) run(t *testing.T) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l.cancel = cancel
	cache, err := disk.Open(l.cache)
	if err != nil {
		t.Fatal(err)
	}
	err = tegenaria.NewSpiderEngine(append([]tegenaria.EngineOption{
		tegenaria.EngineWithCache(cache), tegenaria.EngineWithSlog(slog.New(slog.DiscardHandler)),
		tegenaria.EngineWithSpiders(waresSpider(l.site.URL)),
		tegenaria.EngineWithConcurrency(width), tegenaria.EngineWithItemConcurrency(width),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: width}),
	}, l.options(t, l)...)...).Run(ctx, "wares")
	return errors.Join(err, cache.Close())
}

// path returns a file of the output.
func (l *lonely) path(name string) string { return filepath.Join(l.folder, name) }

// pipeline returns the options of an output that is one pipeline.
func pipeline(make func(l *lonely) tegenaria.PipelinesInterface) func(*testing.T, *lonely) []tegenaria.EngineOption {
	return func(_ *testing.T, l *lonely) []tegenaria.EngineOption {
		return []tegenaria.EngineOption{tegenaria.EngineWithPipelines(make(l))}
	}
}

// checkRows returns the check of an output of rows.
func checkRows(read func(t *testing.T, l *lonely) []row) func(*testing.T, *lonely) {
	return func(t *testing.T, l *lonely) {
		t.Helper()
		once(t, l.name, read(t, l))
	}
}

// readEach reads the files that a pattern matches, and refuses to find none.
func readEach(t *testing.T, l *lonely, pattern string, read func(name string) []row) (list []row) {
	t.Helper()
	names, err := filepath.Glob(l.path(pattern))
	if err != nil || len(names) == 0 {
		t.Errorf("no files %s: %v", pattern, err)
	}
	for _, name := range names {
		list = append(list, read(name)...)
	}
	return list
}

// allOutputs are the outputs that write to a folder.
func allOutputs() []output {
	return []output{
		{"JSON Lines", pipeline(func(l *lonely) tegenaria.PipelinesInterface { return feed.JSONL(l.path("wares.jsonl")) }), checkRows(func(t *testing.T, l *lonely) []row {
			return rowsOf(fromLines(t, open(t, l.path("wares.jsonl"))))
		})},
		{"CSV, packed", pipeline(func(l *lonely) tegenaria.PipelinesInterface { return feed.CSV(l.path("wares.csv.gz")) }), checkRows(func(t *testing.T, l *lonely) []row {
			return fromCSV(t, ungzip(t, open(t, l.path("wares.csv.gz"))))
		})},
		{"CSV, items of one key", pipeline(func(l *lonely) tegenaria.PipelinesInterface {
			return feed.CSV(l.path("wares.csv"), feed.Unique(func(item any) string { return item.(ware).SKU }))
		}), checkRows(func(t *testing.T, l *lonely) []row { return fromCSV(t, open(t, l.path("wares.csv"))) })},
		{"JSON", pipeline(func(l *lonely) tegenaria.PipelinesInterface { return feed.JSON(l.path("wares.json")) }), checkRows(func(t *testing.T, l *lonely) (list []row) {
			if err := json.NewDecoder(open(t, l.path("wares.json"))).Decode(&list); err != nil {
				t.Error(err)
			}
			return list
		})},
		{"XML, parts", pipeline(func(l *lonely) tegenaria.PipelinesInterface {
			return feed.XML(l.path("wares-{part}.xml.zst"), feed.Rotate(feed.Rotation{Items: 150}))
		}), checkRows(func(t *testing.T, l *lonely) []row {
			return readEach(t, l, "*.zst", func(name string) []row { return fromXML(t, name) })
		})},
		{"bucket", pipeline(func(l *lonely) tegenaria.PipelinesInterface {
			target, err := s3.New(s3.Options{Endpoint: l.bucket.URL, Bucket: "wares", PathStyle: true, Key: "key", Secret: "secret", Region: "here"})
			if err != nil {
				panic(err) // the options are constant
			}
			return feed.JSONL(l.path("wares-{part}.jsonl.gz"), feed.Rotate(feed.Rotation{Items: 160}), feed.To(target))
		}), checkRows(func(t *testing.T, l *lonely) []row { return fromBucket(t, l.objects) })},
		{"Parquet", pipeline(func(l *lonely) tegenaria.PipelinesInterface {
			return parquet.New[ware](l.path("wares-{part}.parquet"), parquet.Rotate(feed.Rotation{Items: 200}))
		}), checkRows(func(t *testing.T, l *lonely) []row {
			return readEach(t, l, "*.parquet", func(name string) []row { return fromParquet(t, name) })
		})},
		{"SQLite", pipeline(func(l *lonely) tegenaria.PipelinesInterface {
			return sqlite.New[ware](l.path("wares.db"), sqlite.Table("wares"))
		}), checkRows(func(t *testing.T, l *lonely) []row { return fromSQLite(t, l.path("wares.db")) })},
		{"media", func(t *testing.T, l *lonely) []tegenaria.EngineOption {
			return []tegenaria.EngineOption{tegenaria.EngineWithPipelines(media.New(media.Options{Dir: l.path("media"), Images: true}), feed.JSONL(filepath.Join(filepath.Dir(l.cache), "wares.jsonl")))}
		}, func(t *testing.T, l *lonely) {
			t.Helper()
			list := fromLines(t, open(t, filepath.Join(filepath.Dir(l.cache), "wares.jsonl")))
			once(t, l.name, rowsOf(list))
			checkPictures(t, l.path("media"), list)
		}},
		{"WARC", func(t *testing.T, l *lonely) []tegenaria.EngineOption {
			archive, err := warc.Create(l.path("{spider}-{part}.warc.gz"), warc.Options{Size: 40_000})
			if err != nil {
				t.Fatal(err)
			}
			return []tegenaria.EngineOption{tegenaria.EngineWithDownloaderLayers(archive.Layer)}
		}, func(t *testing.T, l *lonely) {
			t.Helper()
			checkResponses(t, l.folder, l.site.URL)
		}},
	}
}

// size returns how many bytes the files of a folder have.
func size(t *testing.T, folder string) (n int64) {
	t.Helper()
	if err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		n += info.Size()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// waresSpider reads the pages of the site.
func waresSpider(site string) tegenaria.SpiderInterface {
	parse := func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[ware]) error {
		var number int
		if _, err := fmt.Sscanf(page.URL[len(site):], "/%d", &number); err != nil {
			return err
		}
		for n := range itemsPerPage {
			if err := out.Item(wareOf(number, n)); err != nil {
				return err
			}
		}
		return out.FollowLinks()
	}
	return tegenaria.NewSpider("wares", tegenaria.Handle(parse), site+"/0")
}

func fromSQLite(t *testing.T, name string) (list []row) {
	t.Helper()
	db, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SELECT sku, page, text, price FROM wares")
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.SKU, &r.Page, &r.Text, &r.Price); err != nil {
			t.Error(err)
		}
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
	return list
}

//go:build unix

package outputs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/parquet"
	"github.com/tegenaria/tegenaria/feed/postgres"
	"github.com/tegenaria/tegenaria/feed/s3"
	"github.com/tegenaria/tegenaria/feed/sqlite"
	"github.com/tegenaria/tegenaria/media"
	"github.com/tegenaria/tegenaria/warc"
)

// job is what the program that is killed is told.
type job struct {
	Folder, Site, Bucket string
	Database             string // "": there is none
	Point                string // where it kills itself
	Nth                  int64  // the how manieth time it comes there
}

// ware is an item of the job. Its text depends on the SKU alone.
type ware struct {
	SKU      string    `json:"sku"`
	Page     int       `json:"page"`
	Text     string    `json:"text"`
	Price    float64   `json:"price"`
	Seen     time.Time `json:"seen"`
	Tags     []string  `json:"tags"`
	Image    string    `json:"image" media:"image,into=Picture"`
	Picture  media.Result
	Optional *int `json:"optional"`
}

const (
	itemsPerPage = 3
	width        = 4 // requests and items at a time
)

func wareOf(page, n int) ware {
	w := ware{
		SKU: fmt.Sprintf("%d.%d", page, n), Page: page, Text: strings.Repeat(fmt.Sprintf("„%d,\"\n<&> ", page), 1+page%5), Price: float64(page) / 4,
		Seen: time.Date(2026, 1, 1, 0, 0, page, 0, time.UTC), Tags: []string{fmt.Sprint(n), "тег"},
		Image: fmt.Sprintf("/image/%d", (page*itemsPerPage+n)/2), // each is wanted twice
	}
	if n == 1 {
		w.Optional = &page
	}
	return w
}

// points kills the process at a named point of what the outputs do.
type points struct {
	name string
	left atomic.Int64
}

func (p *points) hit(name string) {
	if name == p.name && p.left.Add(-1) == 0 {
		die()
	}
}

// die kills the process as no code can prevent.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// run is the job that is killed.
func (j *job) run(ctx context.Context) error {
	p := &points{name: j.Point}
	p.left.Store(j.Nth)
	cache, err := disk.Open(filepath.Join(j.Folder, "job"))
	if err != nil {
		return err
	}
	bucket, err := s3.New(s3.Options{Endpoint: j.Bucket, Bucket: "wares", PathStyle: true, Key: "key", Secret: "secret", Region: "here"})
	if err != nil {
		return err
	}
	archive, err := warc.Create(filepath.Join(j.Folder, "archive", "{spider}-{part}.warc.gz"), warc.Options{Size: 40_000})
	if err != nil {
		return err
	}
	at := func(name string) string { return filepath.Join(j.Folder, name) }
	fs := feed.WithFS(mortalFS{feed.SystemFS().(feed.MoverFS), p})
	pipelines := []tegenaria.PipelinesInterface{
		media.New(media.Options{Dir: at("media"), Images: true}),
		feed.JSONL(at("wares.jsonl"), fs),
		feed.CSV(at("wares.csv.gz"), fs),
		feed.JSON(at("json/wares-{part}.json"), fs, feed.Rotate(feed.Rotation{Items: 100})),
		feed.XML(at("xml/wares-{part}.xml.zst"), fs, feed.Rotate(feed.Rotation{Items: 150})),
		feed.JSONL(at("sent/wares-{part}.jsonl.gz"), fs, feed.Rotate(feed.Rotation{Items: 80}), feed.To(mortalTarget{bucket, p})),
		mortalParquet{parquet.New[ware](at("lake/wares-{part}.parquet"), parquet.Rotate(feed.Rotation{Items: 200}), parquet.WithFS(mortalFS{feed.SystemFS().(feed.MoverFS), p})), p},
		mortalSQLite{sqlite.New[ware](at("wares.db"), sqlite.Table("wares")), p},
	}
	if j.Database != "" {
		pool, err := pgxpool.New(ctx, j.Database)
		if err != nil {
			return err
		}
		defer pool.Close()
		pipelines = append(pipelines,
			mortalPostgres{postgres.New[ware](pool, postgres.Table("inserted"), postgres.Rejects(at("inserted.rejects"))), p},
			mortalPostgres{postgres.New[ware](pool, postgres.Table("upserted"), postgres.Key("sku"), postgres.Rejects(at("upserted.rejects"))), p})
	}
	err = tegenaria.NewSpiderEngine(
		tegenaria.EngineWithCache(cache),
		tegenaria.EngineWithSpiders(waresSpider(j.Site)),
		tegenaria.EngineWithDownloaderLayers(archive.Layer),
		tegenaria.EngineWithPipelines(pipelines...),
		tegenaria.EngineWithConcurrency(width), tegenaria.EngineWithItemConcurrency(width),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: width}),
	).Run(ctx, "wares")
	return errors.Join(err, cache.Close())
}

// mortalFS kills the process in and after what files go through.
type mortalFS struct {
	feed.MoverFS
	points *points
}

func (m mortalFS) Open(name string) (feed.File, error) {
	f, err := m.MoverFS.Open(name)
	if err != nil {
		return nil, err
	}
	return mortalFile{f, m.points}, nil
}

func (m mortalFS) Rename(from, to string) error {
	m.points.hit("before rename")
	err := m.MoverFS.Rename(from, to)
	m.points.hit("after rename")
	return err
}

type mortalFile struct {
	feed.File
	points *points
}

func (f mortalFile) WriteAt(b []byte, at int64) (int, error) {
	if f.points.name == "in append" && f.points.left.Add(-1) == 0 {
		_, _ = f.File.WriteAt(b[:len(b)/2], at)
		die()
	}
	return f.File.WriteAt(b, at)
}

func (f mortalFile) Sync() error {
	err := f.File.Sync()
	f.points.hit("after sync")
	return err
}

func (f mortalFile) Truncate(size int64) error {
	err := f.File.Truncate(size)
	f.points.hit("after truncate")
	return err
}

// mortalTarget kills the process before and after an upload.
type mortalTarget struct {
	feed.Target
	points *points
}

func (m mortalTarget) Send(ctx context.Context, name string, file io.ReadSeeker, size int64) error {
	m.points.hit("after seal")
	err := m.Target.Send(ctx, name, file, size)
	m.points.hit("after upload")
	return err
}

// mortalSQLite and those below kill the process between what the engine asks of a database or a file.
type mortalSQLite struct {
	*sqlite.Feed
	points *points
}

func (m mortalSQLite) ProcessItem(s tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	err := m.Feed.ProcessItem(s, item)
	m.points.hit("after stage")
	return err
}

func (m mortalSQLite) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	checkpoint, err := m.Feed.Prepare(ctx, ids)
	m.points.hit("after sqlite's commit")
	return checkpoint, err
}

func (m mortalSQLite) Restore(ctx context.Context, checkpoint []byte) error {
	m.points.hit("before Restore")
	err := m.Feed.Restore(ctx, checkpoint)
	m.points.hit("after Restore")
	return err
}

func (m mortalSQLite) Close(ctx context.Context, reason string) error {
	m.points.hit("in Close")
	err := m.Feed.Close(ctx, reason)
	m.points.hit("in Close")
	return err
}

type mortalPostgres struct {
	*postgres.Feed
	points *points
}

func (m mortalPostgres) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	checkpoint, err := m.Feed.Prepare(ctx, ids)
	m.points.hit("after PostgreSQL's commit")
	return checkpoint, err
}

func (m mortalPostgres) Restore(ctx context.Context, checkpoint []byte) error {
	err := m.Feed.Restore(ctx, checkpoint)
	m.points.hit("after Restore")
	return err
}

func (m mortalPostgres) Close(ctx context.Context, reason string) error {
	m.points.hit("in Close")
	return m.Feed.Close(ctx, reason)
}

type mortalParquet struct {
	*parquet.Feed
	points *points
}

func (m mortalParquet) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	checkpoint, err := m.Feed.Prepare(ctx, ids)
	m.points.hit("after parquet's spool")
	return checkpoint, err
}

func (m mortalParquet) Restore(ctx context.Context, checkpoint []byte) error {
	err := m.Feed.Restore(ctx, checkpoint)
	m.points.hit("after Restore")
	return err
}

func (m mortalParquet) Close(ctx context.Context, reason string) error {
	m.points.hit("in Close")
	err := m.Feed.Close(ctx, reason)
	m.points.hit("in Close")
	return err
}

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
	Files                bool   // it has the feeds of files alone
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
	at := func(name string) string { return filepath.Join(j.Folder, name) }
	fs := feed.WithFS(mortalFS{feed.SystemFS().(feed.MoverFS), p})
	options := []tegenaria.EngineOption{
		tegenaria.EngineWithCache(cache),
		tegenaria.EngineWithSpiders(waresSpider(j.Site)),
		tegenaria.EngineWithPipelines(
			feed.JSONL(at("wares.jsonl"), fs),
			mortal{feed.CSV(at("wares.csv.gz"), fs), p, "after a file's commit"},
			feed.JSON(at("wares.json"), fs),
			feed.XML(at("wares.xml"), fs),
			feed.JSONL(at("lines/wares-{part}.jsonl.zst"), fs, feed.Rotate(feed.Rotation{Items: 80}))),
		tegenaria.EngineWithConcurrency(width), tegenaria.EngineWithItemConcurrency(width),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: width}),
	}
	if !j.Files {
		others, end, err := j.others(ctx, p)
		if err != nil {
			return errors.Join(err, cache.Close())
		}
		defer end()
		options = append(options, others...)
	}
	err = tegenaria.NewSpiderEngine(options...).Run(ctx, "wares")
	return errors.Join(err, cache.Close())
}

// others returns the outputs that are no plain files: buckets, Parquet, databases, pictures and web archives.
func (j *job) others(ctx context.Context, p *points) (options []tegenaria.EngineOption, end func(), err error) {
	bucket, err := s3.New(s3.Options{Endpoint: j.Bucket, Bucket: "wares", PathStyle: true, Key: "key", Secret: "secret", Region: "here"})
	if err != nil {
		return nil, nil, err
	}
	at := func(name string) string { return filepath.Join(j.Folder, name) }
	archive, err := warc.Create(at("archive/{spider}-{part}.warc.gz"), warc.Options{Size: 40_000})
	if err != nil {
		return nil, nil, err
	}
	end = func() {}
	disk := mortalFS{feed.SystemFS().(feed.MoverFS), p}
	fs := feed.WithFS(disk)
	pipelines := []tegenaria.PipelinesInterface{
		media.New(media.Options{Dir: at("media"), Images: true}),
		feed.JSON(at("json/wares-{part}.json"), fs, feed.Rotate(feed.Rotation{Items: 100})),
		feed.XML(at("xml/wares-{part}.xml.zst"), fs, feed.Rotate(feed.Rotation{Items: 150})),
		feed.JSONL(at("sent/wares-{part}.jsonl.gz"), fs, feed.Rotate(feed.Rotation{Items: 80}), feed.To(mortalTarget{bucket, p})),
		mortal{parquet.New[ware](at("lake/wares-{part}.parquet"), parquet.Rotate(feed.Rotation{Items: 200}), parquet.WithFS(disk)), p, "after parquet's spool"},
		mortal{sqlite.New[ware](at("wares.db"), sqlite.Table("wares")), p, "after sqlite's commit"},
	}
	if j.Database != "" {
		pool, err := pgxpool.New(ctx, j.Database)
		if err != nil {
			return nil, nil, err
		}
		end = pool.Close
		pipelines = append(pipelines,
			mortal{postgres.New[ware](pool, postgres.Table("inserted"), postgres.Rejects(at("inserted.rejects"))), p, "after PostgreSQL's commit"},
			mortal{postgres.New[ware](pool, postgres.Table("upserted"), postgres.Upsert("sku"), postgres.Rejects(at("upserted.rejects"))), p, "after PostgreSQL's commit"})
	}
	return []tegenaria.EngineOption{tegenaria.EngineWithDownloaderLayers(archive.Layer), tegenaria.EngineWithPipelines(pipelines...)}, end, nil
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

// sink is a feed, of whatever kind.
type sink interface {
	tegenaria.PipelinesInterface
	tegenaria.Committer
	tegenaria.Closer
	FeedStats() tegenaria.FeedStats
	Mistake() error
}

// mortal kills the process between what the engine asks of a feed.
type mortal struct {
	sink
	points *points
	commit string // the point behind Prepare
}

func (m mortal) ProcessItem(s tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	err := m.sink.ProcessItem(s, item)
	m.points.hit("after stage")
	return err
}

func (m mortal) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	checkpoint, err := m.sink.Prepare(ctx, ids)
	m.points.hit(m.commit)
	return checkpoint, err
}

func (m mortal) Restore(ctx context.Context, checkpoint []byte) error {
	m.points.hit("before Restore")
	err := m.sink.Restore(ctx, checkpoint)
	m.points.hit("after Restore")
	return err
}

func (m mortal) Close(ctx context.Context, reason string) error {
	m.points.hit("in Close")
	err := m.sink.Close(ctx, reason)
	m.points.hit("in Close")
	return err
}

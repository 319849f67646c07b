package parquet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/filename"
	"github.com/tegenaria/tegenaria/internal/outfile"
	"github.com/tegenaria/tegenaria/internal/staging"
)

// Feed is a pipeline that writes items of one type to Parquet files. It comes after all other pipelines, whatever its priority. One feed
// serves one run at a time.
type Feed struct {
	path      string
	template  filename.Template
	key       string
	priority  int
	wanted    func(item tegenaria.ItemInterface) bool
	existing  existing
	rotation  feed.Rotation
	rotates   bool
	keepEmpty bool
	bound     int
	itemType  reflect.Type
	mistake   error // in the options
	builder   builder

	staged  staging.Items
	stage   feed.File // for rows that wait; claimed as long as the feed is open
	parts   *parts    // nil: it is not open
	pool    sync.Pool
	written atomic.Int64
	failed  atomic.Int64 // items
	others  atomic.Int64 // items
	files   atomic.Int64
}

var (
	_ tegenaria.PipelinesInterface = (*Feed)(nil)
	_ tegenaria.Committer          = (*Feed)(nil)
	_ tegenaria.Closer             = (*Feed)(nil)
)

// existing says what becomes of files that are there when a new job begins.
type existing uint8

const (
	refuse existing = iota
	keep
	drop
)

// Of a file, unless Rotate says otherwise.
const (
	defaultRows       = 1_000_000
	defaultBytes      = 128 << 20
	defaultStageBytes = 16 << 20
)

// wrong notes a mistake in the options.
func (f *Feed) wrong(format string, args ...any) {
	f.mistake = errors.Join(f.mistake, fmt.Errorf("parquet: %s: %w", f.path, fmt.Errorf(format, args...)))
}

// New makes a feed that writes items of type T, or pointers to them, to Parquet files. Items of other types are not for it. T is a struct.
// The path may have the fields {spider}, {start} (of the job), {time} (when the file began) and {part} (its number, from 1). One without
// {part} is a single file, which is written when the job is over. A new job refuses a file that is there with a [*feed.NotEmptyError],
// unless it has the option [Append] or [Overwrite].
func New[T any](path string, opts ...Option) *Feed {
	f := &Feed{path: path, key: "parquet:" + filepath.ToSlash(path), bound: defaultStageBytes, itemType: reflect.TypeFor[T](),
		rotation: feed.Rotation{Items: defaultRows, Bytes: defaultBytes}}
	f.builder.fs, _ = feed.SystemFS().(feed.MoverFS)
	for i, opt := range opts {
		if opt == nil {
			f.wrong("option %d is nil; leave it out", i+1)
			continue
		}
		opt(f)
	}
	var err error
	if f.template, err = filename.Parse(path); err != nil {
		f.mistake = errors.Join(f.mistake, fmt.Errorf("parquet: %w", err))
	}
	switch {
	case path == "" || path == "-":
		f.wrong("%q is no path of a file: name one, since Parquet cannot be written to a stream", path)
	case len(f.template.ItemFields()) > 0:
		f.wrong("the path has a field of items: there are {spider}, {start}, {time} and {part}")
	case !f.isSet() && (f.rotates || f.existing == keep):
		f.wrong("Rotate and Append need the field {part} in the path")
	}
	if f.builder.fs == nil {
		f.wrong("WithFS(nil); leave it out")
	}
	if f.builder.schema, err = schemaOf(f.itemType); err != nil {
		f.wrong("%w", err)
		return f
	}
	f.pool.New = func() any { return newRow(f.builder.schema) }
	return f
}

// isSet reports whether the feed may have several files.
func (f *Feed) isSet() bool { return f.template.Has(outfile.Part) }

// beside returns a file for the feed's own use, beside its files.
func (f *Feed) beside(ending string) string {
	if f.template.IsPlain() {
		return f.path + ending
	}
	name, _ := filename.Clean(f.key)
	return filepath.Join(f.template.Root(), "."+name+ending)
}

// ExactlyOnce reports whether each item is written once, provided that the cache is durable.
func (f *Feed) ExactlyOnce() bool { return true }

// FeedStats returns what the feed has done in its run: rows that are in a spool or a file, and finished files with
// their bytes. It is called for [tegenaria.Summary], at any time.
func (f *Feed) FeedStats() tegenaria.FeedStats {
	return tegenaria.FeedStats{Name: f.path, Written: f.written.Load(), Failed: f.failed.Load(), Others: f.others.Load(), Bytes: f.builder.bytes.Load(), Parts: f.files.Load()}
}

// Mistake returns what is wrong with the options, nil if nothing is. It is part of tegenaria.PipelinesInterface: the mistakes of all
// outputs are reported before the first request.
func (f *Feed) Mistake() error { return f.mistake }

// GetPriority is part of tegenaria.PipelinesInterface.
func (f *Feed) GetPriority() int { return f.priority }

// CommitKey is part of tegenaria.Committer.
func (f *Feed) CommitKey() string { return f.key }

// ProcessItem makes an item a row, and keeps it until its request is settled. The error is a [*ValueError] for a value that its column
// cannot hold.
func (f *Feed) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	v := reflect.ValueOf(item.Item)
	for v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() || v.Type() != f.itemType || f.wanted != nil && !f.wanted(item.Item) {
		f.others.Add(1)
		return nil
	}
	if f.builder.schema == nil {
		return f.mistake
	}
	r := f.pool.Get().(*row)
	defer f.pool.Put(r)
	r.reset()
	if err := f.builder.schema.root.shred(r, v, 0, 0); err != nil {
		f.failed.Add(1)
		var value *ValueError
		if errors.As(err, &value) {
			value.Type = f.itemType.String()
		}
		return err
	}
	r.text = r.encode(r.text[:0])
	return f.staged.Add(item.CtxId, r.text)
}

// Restore opens the spools, and cuts them to what the checkpoint says. Its error is a [*feed.InUseError] if another
// process is writing these files.
func (f *Feed) Restore(ctx context.Context, checkpoint []byte) error {
	if f.mistake != nil {
		return f.mistake
	}
	f.written.Store(0)
	f.failed.Store(0)
	f.others.Store(0)
	f.files.Store(0)
	f.builder.bytes.Store(0)
	if err := f.openStage(); err != nil {
		return err
	}
	p, err := openParts(ctx, f, checkpoint)
	if err != nil {
		return errors.Join(err, f.closeStage())
	}
	f.parts = p
	f.staged.Reset(staging.Options{Bound: f.bound, Open: func() (staging.File, error) { return heldFile{f.stage}, nil }})
	return nil
}

// heldFile is a file that stays open, and so claimed, when its user closes it.
type heldFile struct{ feed.File }

// Close does nothing.
func (heldFile) Close() error { return nil }

func (f *Feed) stagePath() string { return f.beside(".stage") }

// openStage opens the file for rows that wait before anything of another process could be touched: who has claimed it
// has all files of the feed.
func (f *Feed) openStage() error {
	if err := f.builder.fs.MakeFolder(f.template.Root()); err != nil {
		return fmt.Errorf("parquet: %w", filename.Unmade(f.template.Root(), err))
	}
	file, err := openClaimed(f.builder.fs, f.stagePath())
	if used := (*feed.InUseError)(nil); errors.As(err, &used) {
		return &feed.InUseError{Path: f.path}
	} else if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil { // of a crash
		return errors.Join(failed("emptying", f.stagePath(), err), file.Close())
	}
	f.stage = file
	return nil
}

// closeStage removes the file for rows that wait.
func (f *Feed) closeStage() error {
	err := f.builder.fs.Remove(f.stagePath()) // while it is claimed, so that it is not another process's
	closing := f.stage.Close()
	if err != nil { // where open files cannot be removed
		err = f.builder.fs.Remove(f.stagePath())
	}
	return errors.Join(failed("closing", f.stagePath(), closing), failed("removing", f.stagePath(), err))
}

var errClosed = errors.New("parquet: the feed is not open")

// Prepare appends the rows of these requests to the spool, and makes them durable. It has a part built when that is full, and waits for
// that only if the next one is full too.
func (f *Feed) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	p := f.parts
	if p == nil {
		return nil, errClosed
	}
	if err := p.look(); err != nil {
		return nil, err
	}
	rows := int64(0)
	err := f.staged.Take(ids, func(row []byte) error {
		rows++
		return p.add(row)
	})
	if err != nil {
		return nil, err
	}
	if err := p.commit(ctx); err != nil {
		return nil, err
	}
	f.written.Add(rows)
	if p.lazy {
		return nil, nil
	}
	return json.Marshal(p.state())
}

// Discard forgets what a request has staged.
func (f *Feed) Discard(id string) { f.staged.Discard(id) }

// Close finishes all files if the job is over. Otherwise their rows stay in the spools, and the job goes on there. Items of requests that
// were not settled are forgotten: they will be fetched again.
func (f *Feed) Close(ctx context.Context, _ string) error {
	if f.parts == nil {
		return nil
	}
	p := f.parts
	f.parts = nil
	_, err := f.staged.Close()
	err = errors.Join(err, p.end(ctx, tegenaria.Complete(ctx) || p.lazy))
	return errors.Join(err, f.closeStage())
}

// spoolPath returns the path of one of the two spools.
func (f *Feed) spoolPath(slot int) string { return f.beside(fmt.Sprintf(".%d.spool", slot)) }

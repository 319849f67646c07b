package feed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/tegenaria/tegenaria"
)

// Feed is a pipeline that writes items. It comes after all other pipelines, whatever its priority. One feed serves one
// run at a time.
type Feed struct {
	path     string // "" for a writer that was given
	key      string
	priority int
	fs       FS
	wanted   func(item tegenaria.ItemInterface) bool
	existing existing
	given    io.Writer
	bound    int
	mistake  error // in the options

	output output
	staged staging
}

var (
	_ tegenaria.PipelinesInterface = (*Feed)(nil)
	_ tegenaria.Committer          = (*Feed)(nil)
	_ tegenaria.Closer             = (*Feed)(nil)
)

// existing says what becomes of what is in the file when a new job begins.
type existing uint8

const (
	refuse existing = iota
	keep
	drop
)

// Option changes a feed. A nil one is a mistake that ends the run before its first request.
type Option func(f *Feed)

// Append lets a new job add to a file that is not empty. A job that is resumed goes on where it was in any case.
func Append() Option { return func(f *Feed) { f.existing = keep } }

// Overwrite lets a new job empty its file. A job that is resumed goes on where it was in any case.
func Overwrite() Option { return func(f *Feed) { f.existing = drop } }

// Key sets the name under which the job remembers this feed: by default "feed:" and the path as it was given. Set
// it where the path may be spelled in another way when the job is resumed.
func Key(key string) Option { return func(f *Feed) { f.key = key } }

// Priority sets the feed's place among those pipelines that are tegenaria.Committers (default 0).
func Priority(priority int) Option { return func(f *Feed) { f.priority = priority } }

// Select takes those items alone for which wanted is true. It is called concurrently.
func Select(wanted func(item tegenaria.ItemInterface) bool) Option {
	return func(f *Feed) { f.wanted = wanted }
}

// StageBytes sets how much memory the items of requests that are not settled yet may take (default 16 MiB). Beyond
// that they go to a temporary file beside the feed's, called after it with ".spool" added, which its owner alone
// can read; where there is no file, they stay in memory.
func StageBytes(n int) Option { return func(f *Feed) { f.bound = n } }

// WithFS keeps the files in another file system.
func WithFS(fs FS) Option { return func(f *Feed) { f.fs = fs } }

const defaultStageBytes = 16 << 20

// JSONL makes a feed that writes each item as one line of JSON to a file. "-" is standard output. A new job refuses a
// file that is not empty with a [*NotEmptyError], unless it is told to [Append] or to [Overwrite].
func JSONL(path string, opts ...Option) *Feed {
	if path == "-" {
		return newFeed(&Feed{given: os.Stdout, key: "feed:-"}, opts)
	}
	return newFeed(&Feed{path: path, key: "feed:" + filepath.ToSlash(path)}, opts)
}

// JSONLTo makes a feed that writes each item as one line of JSON to w, which it never closes. Its lines come in
// batches, whole, from one goroutine at a time. They are at least once. Where there are several such
// feeds, give each its own [Key].
func JSONLTo(w io.Writer, opts ...Option) *Feed {
	return newFeed(&Feed{given: w, key: "feed:writer"}, opts)
}

func newFeed(f *Feed, opts []Option) *Feed {
	f.fs, f.bound = SystemFS(), defaultStageBytes
	for i, opt := range opts {
		if opt == nil {
			f.mistake = errors.Join(f.mistake, fmt.Errorf("feed: option %d is nil; leave it out", i+1))
			continue
		}
		opt(f)
	}
	f.staged.chunks = make(map[string][]chunk)
	return f
}

// ExactlyOnce reports whether each item is written once, provided that the cache is durable. If not, lines may come
// again after a crash.
func (f *Feed) ExactlyOnce() bool { return !f.streams() }

func (f *Feed) streams() bool {
	if f.given != nil {
		return true
	}
	return f.fs == SystemFS() && isStream(f.path)
}

// GetPriority is part of tegenaria.PipelinesInterface.
func (f *Feed) GetPriority() int { return f.priority }

// CommitKey is part of tegenaria.Committer.
func (f *Feed) CommitKey() string { return f.key }

// encoders are used again: what they have encoded is copied.
var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.buf)
	e.json.SetEscapeHTML(false)
	return e
}}

type encoder struct {
	buf  bytes.Buffer
	json *json.Encoder
}

// ProcessItem encodes an item and keeps it until its request is settled.
func (f *Feed) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	if f.wanted != nil && !f.wanted(item.Item) {
		return nil
	}
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.buf.Reset()
	if err := e.json.Encode(item.Item); err != nil {
		e.json = json.NewEncoder(&e.buf)
		e.json.SetEscapeHTML(false)
		return fmt.Errorf("feed: encoding an item of type %T: %w", item.Item, err)
	}
	return f.staged.add(item.CtxId, bytes.Clone(e.buf.Bytes()))
}

// Restore opens the file, and cuts it to what the checkpoint says.
func (f *Feed) Restore(ctx context.Context, checkpoint []byte) (err error) {
	if f.mistake != nil {
		return f.mistake
	}
	f.staged.reset(f.bound)
	if f.streams() {
		return f.openStream()
	}
	file, err := f.fs.Open(f.path)
	if err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	out := &fileOutput{path: f.path, file: file, lazy: !tegenaria.Resumable(ctx)}
	if checkpoint == nil {
		err = out.begin(f.existing)
	} else {
		err = out.resume(checkpoint)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.output = out
	f.staged.spool.open = f.openSpool
	return nil
}

func (f *Feed) spoolPath() string { return f.path + ".spool" }

// openSpool makes a new spool. Nobody else can read it, whatever mode the feed has; one that a crash has left behind goes.
func (f *Feed) openSpool() (File, error) {
	if f.fs != SystemFS() {
		return f.fs.Open(f.spoolPath())
	}
	if err := f.fs.Remove(f.spoolPath()); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(f.spoolPath(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return systemFile{file}, nil
}

func (f *Feed) openStream() error {
	if f.given != nil {
		f.output = streamOutput{f.given}
		return nil
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	f.output = streamOutput{file}
	return nil
}

// Prepare appends the items of these requests and makes them durable; in a run that cannot be resumed Close does
// that for all of them.
func (f *Feed) Prepare(_ context.Context, ids []string) (checkpoint []byte, err error) {
	if f.output == nil {
		return nil, errClosed
	}
	if err := f.staged.take(ids, f.output); err != nil {
		return nil, err
	}
	return f.output.commit()
}

// Discard forgets what a request has staged.
func (f *Feed) Discard(id string) { f.staged.discard(id) }

// Close closes the file. Items of requests that were not settled are forgotten: they will be fetched again.
func (f *Feed) Close(context.Context, string) error {
	if f.output == nil {
		return nil
	}
	out := f.output
	f.output = nil
	spooled, err := f.staged.close()
	if spooled {
		err = errors.Join(err, f.fs.Remove(f.spoolPath()))
	}
	if f.given == nil {
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return fmt.Errorf("feed: closing %s: %w", f.path, err)
	}
	return nil
}

var errClosed = errors.New("feed: it is not open")

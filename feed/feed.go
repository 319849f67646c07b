package feed

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/feed/internal/filename"
	"github.com/tegenaria/tegenaria/internal/outfile"
	"github.com/tegenaria/tegenaria/internal/staging"

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
	format   format
	packing  compression
	csv      csvFormat // of CSV
	ofCSV    []string  // options that are for CSV alone

	template  template
	rotation  *Rotation // nil: none
	keepEmpty bool
	mover     MoverFS // fs, if it is one
	uniqueKey func(item any) string
	mostKeys  int
	mostFiles int
	unique    *unique // nil: without Unique
	target    Target
	delivery  Delivery
	mistake   error // in the options
	asJSON    bool  // its format writes what JSON shows of an item
	visible   visible
	tally     tally

	output output
	staged staging.Items
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

const defaultStageBytes = 16 << 20

// JSONL makes a feed that writes each item as one line of JSON to a file. "-" is standard output. A file whose name ends in .gz or .zst is
// packed, see [Gzip] and [Zstd]. A new job refuses a file that is not empty with a [*NotEmptyError], unless it has the option [Append] or
// [Overwrite].
func JSONL(path string, opts ...Option) *Feed { return New(path, jsonLines, opts...).ofJSON() }

// JSON makes a feed that writes a list of all items to a file. Its other rules are those of [JSONL]. The file is whole after each batch of
// items: the bracket that ends the list is overwritten by the next batch.
func JSON(path string, opts ...Option) *Feed { return New(path, jsonArray, opts...).ofJSON() }

// XML makes a feed that writes an element "item" for each item to a file, within one called "items": with a child for each field, by the
// names of its JSON; the elements of a list are children called "value". Its other rules are those of [JSON]. An item with a character or
// a name that XML 1.0 cannot hold fails with an [*XMLError]; the other items do not.
func XML(path string, opts ...Option) *Feed { return New(path, xmlItems, opts...).ofJSON() }

// CSV makes a feed that writes each item as a row to a file, after RFC 4180. The columns are those of [Columns], or else the fields of
// the first item, by the names of its JSON; fields that come later are added as further columns, for which the file is written anew
// when it is finished, or end the run with a [*LateColumnError] if [LateFails] is given. Keys of maps make at most 1,000 columns;
// the others go into [RestColumn]. Lists and objects are written as JSON. An item
// without fields fails with a [*NoColumnsError]. Its other rules are those of [JSONL].
func CSV(path string, opts ...Option) *Feed {
	f := newFeed(path, os.Stdout, opts)
	f.format = &f.csv
	if f.csv.headless && f.csv.fixed == nil {
		f.wrong("NoHeader without Columns: name the columns with feed.Columns, or leave NoHeader out")
	}
	return f.ofJSON()
}

// New makes a feed that writes items in a format of your own to a file. Its other rules are those of [JSONL].
func New(path string, e Encoder, opts ...Option) *Feed {
	f := newFeed(path, os.Stdout, opts)
	if e == nil {
		f.wrong("New without an Encoder: give it one, or use JSONL, JSON, CSV or XML")
		return f
	}
	f.format = newFramed(e)
	if len(f.ofCSV) > 0 {
		f.wrong("only a CSV file can have %s: leave it out, or use feed.CSV", strings.Join(f.ofCSV, ", "))
	}
	return f
}

// JSONLTo makes a feed that writes each item as one line of JSON to w, which it never closes. Whole lines are written in
// batches, by one goroutine at a time. After a crash, some lines may be written again. If there are several such
// feeds, give each its own [Key].
func JSONLTo(w io.Writer, opts ...Option) *Feed {
	f := newFeed("-", w, opts)
	f.format = newFramed(jsonLines)
	return f.ofJSON()
}

// newFeed makes a feed without a format; w is what it writes to if the path is "-".
func newFeed(path string, w io.Writer, opts []Option) *Feed {
	f := &Feed{path: path, key: "feed:" + filepath.ToSlash(path), fs: SystemFS(), bound: defaultStageBytes, mostKeys: defaultMostKeys, mostFiles: defaultMostFiles, packing: packingOf(path)}
	if path == "-" {
		if f.path, f.given = "", w; w != io.Writer(os.Stdout) {
			f.key = "feed:writer"
		}
	}
	for i, opt := range opts {
		if opt == nil {
			f.wrong("option %d is nil; leave it out", i+1)
			continue
		}
		opt(f)
	}
	f.mover, _ = f.fs.(MoverFS)
	if f.given == nil {
		if f.path == "" || strings.Contains(f.path, "\x00") {
			f.mistake = errors.Join(f.mistake, fmt.Errorf("feed: the path is %q: name a file, or \"-\" for standard output", f.path))
		}
		t, err := filename.Parse(f.path)
		f.template = template{t}
		if err != nil {
			err = fmt.Errorf("feed: %w", err)
		} else {
			err = f.template.mistakes(f.path, f.rotation != nil, f.target != nil)
		}
		f.mistake = errors.Join(f.mistake, err)
	} else if f.rotation != nil {
		f.wrong("Rotate needs a path with {part}: name a file, or leave it out")
	} else if f.target != nil {
		f.wrong("To needs a path: name a file, or leave it out")
	}
	return f
}

// wrong notes a mistake in the options.
func (f *Feed) wrong(format string, args ...any) {
	name := f.path
	if f.given != nil {
		name = "a writer"
		if f.given == io.Writer(os.Stdout) {
			name = "standard output"
		}
	}
	f.mistake = errors.Join(f.mistake, fmt.Errorf("feed: %s: %w", name, fmt.Errorf(format, args...)))
}

// Mistake returns what is wrong with the options, nil if nothing is. It is part of tegenaria.PipelinesInterface: the mistakes of all
// outputs are reported before the first request.
func (f *Feed) Mistake() error { return f.mistake }

// packingOf returns the compression that a file's name says.
func packingOf(path string) compression {
	switch {
	case strings.HasSuffix(path, ".gz"):
		return gzipped
	case strings.HasSuffix(path, ".zst"):
		return zstandard
	}
	return uncompressed
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

// stagedItems are used again: what they hold is copied.
var stagedItems = sync.Pool{New: func() any { return new([]byte) }}

// ProcessItem encodes an item and keeps it until its request is settled.
func (f *Feed) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) (err error) {
	defer func() {
		if err != nil {
			f.tally.failed.Add(1)
		}
	}()
	if f.wanted != nil && !f.wanted(item.Item) {
		f.tally.others.Add(1)
		return nil
	}
	if f.asJSON {
		if err := f.visible.check(item.Item); err != nil {
			return err
		}
	}
	buf := stagedItems.Get().(*[]byte)
	defer stagedItems.Put(buf)
	head, err := f.head((*buf)[:0], item.Item)
	if err != nil {
		return err
	}
	if *buf, err = f.format.stage(head, item.Item); err != nil {
		return fmt.Errorf("feed: encoding an item of type %T: %w", item.Item, err)
	}
	return f.staged.Add(item.CtxId, *buf)
}

// head appends the key of an item, and which file it belongs to.
func (f *Feed) head(dst []byte, item any) ([]byte, error) {
	if f.uniqueKey != nil {
		if key := f.uniqueKey(item); key == "" {
			dst = append(dst, 0)
		} else {
			sum := keyOf(key)
			dst = append(append(dst, 1), sum[:]...)
		}
	}
	if !f.isSet() {
		return dst, nil
	}
	values, err := f.template.valuesOf(f.path, item)
	if err != nil {
		return dst, err
	}
	key := strings.Join(values, "\x00")
	return append(binary.AppendUvarint(dst, uint64(len(key))), key...), nil
}

// Restore opens the file, and cuts it to what the checkpoint says.
func (f *Feed) Restore(ctx context.Context, checkpoint []byte) (err error) {
	if f.mistake != nil {
		return f.mistake
	}
	f.tally.reset()
	stage := staging.Options{Bound: f.bound}
	if !f.streams() {
		stage.Open = f.openSpool
	}
	f.staged.Reset(stage)
	if f.streams() {
		if f.uniqueKey != nil {
			return fmt.Errorf("feed: Unique needs a file, and %q is none: name a file, or leave it out", cmp.Or(f.path, "-"))
		}
		return f.openStream()
	}
	if f.uniqueKey == nil {
		return f.openFiles(ctx, checkpoint)
	}
	var state uniqueState
	if checkpoint != nil {
		if err := json.Unmarshal(checkpoint, &state); err != nil || state.Output == nil {
			return &CorruptError{f.path, fmt.Errorf("its checkpoint is %q", checkpoint)}
		}
	}
	if err := f.openFiles(ctx, state.Output); err != nil {
		return err
	}
	if f.unique, err = openUnique(f, state.Keys, !tegenaria.Resumable(ctx)); err != nil {
		return errors.Join(err, f.output.Close())
	}
	return nil
}

// openFiles opens the files, and cuts them to what the checkpoint says.
func (f *Feed) openFiles(ctx context.Context, checkpoint []byte) error {
	lazy := !tegenaria.Resumable(ctx)
	if f.isSet() {
		return f.openSet(ctx, checkpoint, lazy)
	}
	file, err := f.fs.Open(f.path)
	if err != nil {
		return fmt.Errorf("feed: %w", filename.Unopened(f.path, err))
	}
	if err := claim(file); err != nil {
		return errors.Join(err, file.Close())
	}
	f.tally.parts.Store(1)
	out := &fileOutput{part{path: f.path, file: file, stream: newStream(f.packing), lazy: lazy, tally: &f.tally}, f}
	if err := out.restore(checkpoint); err != nil {
		return errors.Join(err, file.Close())
	}
	f.output = out
	return nil
}

// isSet reports whether the feed has files whose names are made as it goes on.
func (f *Feed) isSet() bool {
	return f.given == nil && (f.rotation != nil || f.target != nil || !f.template.IsPlain())
}

func (f *Feed) openSet(ctx context.Context, checkpoint []byte, lazy bool) error {
	if f.mover == nil {
		return fmt.Errorf("feed: the path %s has fields, and its file system cannot rename files: give WithFS a "+
			"feed.MoverFS, or leave it out", f.path)
	}
	if err := f.mover.MakeFolder(f.template.Root()); err != nil {
		return fmt.Errorf("feed: %w", filename.Unmade(f.template.Root(), err))
	}
	spider, _ := filename.Clean(tegenaria.SpiderName(ctx))
	set := &fileSet{feed: f, lazy: lazy, spider: spider, open: make(map[string]*open), clock: time.Now}
	set.journal = journal{of: f.path, fs: f.fs, path: f.beside(".names")}
	if err := set.restore(checkpoint); err != nil {
		return errors.Join(err, set.Close())
	}
	f.output = set
	return nil
}

// beside returns a file for the feed's own use, beside its files.
func (f *Feed) beside(ending string) string {
	if !f.isSet() {
		return f.path + ending
	}
	name, _ := filename.Clean(f.key)
	return filepath.Join(f.template.Root(), "."+name+ending)
}

func (f *Feed) spoolPath() string { return f.beside(".spool") }

// openSpool makes a new spool. Nobody else can read it, whatever mode the feed has; one that a crash has left behind goes.
func (f *Feed) openSpool() (staging.File, error) {
	if f.fs != SystemFS() {
		file, err := f.fs.Open(f.spoolPath())
		if err == nil {
			err = file.Truncate(0) // of a crash
		}
		return file, err
	}
	if err := f.fs.Remove(f.spoolPath()); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(f.spoolPath(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return systemFile{outfile.File{File: file}}, nil
}

func (f *Feed) openStream() error {
	if f.given != nil {
		return f.streamTo(f.given)
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("feed: %w", filename.Unopened(f.path, err))
	}
	return f.streamTo(file)
}

func (f *Feed) streamTo(w io.Writer) error {
	doc, err := f.format.open(nil)
	if err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	f.output = newStreamOutput(countingWriter{w, &f.tally.bytes}, doc, newStream(f.packing))
	return nil
}

// Prepare appends the items of these requests and makes them durable. In a run that cannot be resumed, Close makes
// all items durable.
func (f *Feed) Prepare(ctx context.Context, ids []string) (checkpoint []byte, err error) {
	if f.output == nil {
		return nil, errClosed
	}
	if err := f.output.prepare(ctx); err != nil {
		return nil, err
	}
	if err := f.staged.Take(ids, f.write); err != nil {
		return nil, err
	}
	checkpoint, err = f.output.commit()
	if err != nil || f.unique == nil {
		return checkpoint, err
	}
	if err := f.unique.commit(); err != nil || checkpoint == nil {
		return nil, err
	}
	return json.Marshal(uniqueState{f.unique.stored, checkpoint})
}

// write writes an item that was staged, unless another one of its key was written.
func (f *Feed) write(staged []byte) error {
	if f.unique == nil {
		return f.add(staged)
	}
	hasKey, staged := staged[0] == 1, staged[1:]
	if hasKey {
		isNew, err := f.unique.take([keySize]byte(staged))
		if err != nil {
			return err
		}
		if !isNew {
			f.tally.duplicate.Add(1)
			return nil
		}
		staged = staged[keySize:]
	}
	return f.add(staged)
}

func (f *Feed) add(staged []byte) error {
	f.tally.written.Add(1)
	return f.output.add(staged)
}

// Discard drops the staged items of a request.
func (f *Feed) Discard(id string) { f.staged.Discard(id) }

// Close closes the file. Items of requests that were not settled are forgotten: they will be fetched again.
func (f *Feed) Close(ctx context.Context, _ string) error {
	if f.output == nil {
		return nil
	}
	out := f.output
	f.output = nil
	spooled, err := f.staged.Close()
	if spooled {
		err = errors.Join(err, f.fs.Remove(f.spoolPath()))
	}
	if f.unique != nil {
		err = errors.Join(err, f.unique.file.Close())
		f.unique = nil
	}
	err = errors.Join(err, out.end(ctx, tegenaria.Complete(ctx)))
	if f.given == nil {
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return fmt.Errorf("feed: closing %s: %w", f.path, err)
	}
	return nil
}

var errClosed = errors.New("feed: it is not open")

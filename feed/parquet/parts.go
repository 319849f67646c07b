package parquet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/filename"
)

// state is the checkpoint of a feed. It is stored: a field keeps its meaning.
type state struct {
	Job    string     `json:"job"`
	Start  time.Time  `json:"start"`
	Number int        `json:"number"` // of the newest part
	Sealed *partState `json:"sealed,omitempty"`
	Open   *partState `json:"open,omitempty"`
}

// parts are the files of a run: at most one whose rows come in, and at most one that is full.
type parts struct {
	feed   *Feed
	lazy   bool // the job cannot be resumed
	spider string
	start  time.Time
	number int
	open   *part
	sealed *part
	build  *build // of sealed; nil: not begun
}

// build is the goroutine that builds a part. Code that needs its result waits for done; Close waits for all builds.
type build struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup
	done   chan struct{}
	err    error // when done is closed
}

// openParts begins a job, or goes on where it was.
func openParts(ctx context.Context, f *Feed, checkpoint []byte) (*parts, error) {
	spider, _ := filename.Clean(tegenaria.SpiderName(ctx))
	p := &parts{feed: f, lazy: !tegenaria.Resumable(ctx), spider: spider}
	var err error
	if checkpoint == nil {
		err = p.begin()
	} else {
		err = p.resume(checkpoint)
	}
	if err != nil {
		return nil, errors.Join(err, p.closeSpools())
	}
	return p, nil
}

// begin begins a new job.
func (p *parts) begin() error {
	f := p.feed
	p.start, f.builder.job = time.Now(), rand.Text()
	for slot := 1; slot <= 2; slot++ {
		path := f.spoolPath(slot)
		if err := p.dropSpool(path, f.existing == drop); err != nil {
			return err
		}
	}
	if f.existing != refuse {
		return nil
	}
	name := p.name(1, p.start)
	taken, err := f.builder.fs.Exists(name)
	if taken {
		return &feed.NotEmptyError{Path: name}
	}
	return failed("opening", name, err)
}

// dropSpool removes a spool that no checkpoint knows. One with rows in it may belong to another job.
func (p *parts) dropSpool(path string, full bool) error {
	fs := p.feed.builder.fs
	there, err := fs.Exists(path)
	if err != nil || !there {
		return failed("opening", path, err)
	}
	file, err := openClaimed(fs, path)
	if err != nil {
		return err
	}
	size, err := file.Size()
	if err = errors.Join(err, file.Close()); err != nil {
		return failed("opening", path, err)
	}
	if size > 0 && !full {
		return &feed.NotEmptyError{Path: path}
	}
	return failed("removing", path, fs.Remove(path))
}

// resume goes on where a job was.
func (p *parts) resume(checkpoint []byte) error {
	f := p.feed
	var s state
	if err := json.Unmarshal(checkpoint, &s); err != nil || s.Job == "" {
		return &feed.CorruptError{Path: f.path, Err: fmt.Errorf("its checkpoint is %q", checkpoint)}
	}
	p.start, p.number, f.builder.job = s.Start, s.Number, s.Job
	used := make(map[int]bool)
	var err error
	if p.sealed, err = p.reopen(s.Sealed, used); err != nil {
		return err
	}
	if p.open, err = p.reopen(s.Open, used); err != nil {
		return err
	}
	for slot := 1; slot <= 2; slot++ {
		if !used[slot] {
			if err := p.dropSpool(f.spoolPath(slot), true); err != nil {
				return err
			}
		}
	}
	return nil
}

// reopen opens the spool of a part, unless its file is there.
func (p *parts) reopen(s *partState, used map[int]bool) (*part, error) {
	if s == nil {
		return nil, nil
	}
	f := p.feed
	fs := f.builder.fs
	if err := fs.Remove(s.Name + partEnding); err != nil {
		return nil, failed("removing", s.Name+partEnding, err)
	}
	there, ours, err := p.find(s)
	if err != nil || ours {
		return nil, err
	}
	if there {
		if f.existing != drop {
			return nil, &feed.NotEmptyError{Path: s.Name}
		}
		if err := fs.Remove(s.Name); err != nil {
			return nil, failed("removing", s.Name, err)
		}
	}
	used[s.Slot] = true
	spool, err := openSpool(fs, f.spoolPath(s.Slot), f.builder.job, s.Number, s.End)
	if err != nil {
		return nil, err
	}
	return &part{partState: *s, spool: spool}, nil
}

// find reports whether there is a file of the name of a part, and whether it is that part.
func (p *parts) find(s *partState) (there, ours bool, err error) {
	fs := p.feed.builder.fs
	if there, err = fs.Exists(s.Name); err != nil || !there {
		return false, false, failed("opening", s.Name, err)
	}
	file, err := fs.Open(s.Name)
	if err != nil {
		return true, false, failed("opening", s.Name, err)
	}
	size, err := file.Size()
	if err == nil {
		in := &reading{file: file}
		if f, no := parquet.OpenFile(in, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true)); no == nil {
			ours = p.feed.builder.isOurs(f, s) && f.NumRows() == s.Rows
		}
		err = in.err
	}
	return true, ours, failed("opening", s.Name, errors.Join(err, file.Close()))
}

// reading keeps the error of a file that cannot be read, which is not that of a file that is no Parquet.
type reading struct {
	file feed.File
	err  error
}

// ReadAt is part of io.ReaderAt.
func (r *reading) ReadAt(data []byte, at int64) (int, error) {
	n, err := r.file.ReadAt(data, at)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = errors.Join(r.err, err)
	}
	return n, err
}

// name makes the name of a file.
func (p *parts) name(number int, begun time.Time) string {
	return p.feed.template.Name(filename.About{Spider: p.spider, Start: p.start, Time: begun, Part: number})
}

// look finds out whether a part is built that was being built, and has one built that is full. It is called when the checkpoint of the
// last batch is stored.
func (p *parts) look() error {
	if p.build != nil {
		select {
		case <-p.build.done:
			return p.built()
		default:
		}
		return nil
	}
	p.buildSealed()
	return nil
}

// buildSealed begins to build the part that is full.
func (p *parts) buildSealed() {
	if p.sealed == nil || p.build != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	b, sealed := &build{cancel: cancel, done: make(chan struct{})}, p.sealed
	p.build = b
	b.ended.Go(func() {
		defer close(b.done)
		b.err = p.feed.builder.finish(ctx, sealed)
	})
}

// built is called when the build is done.
func (p *parts) built() error {
	if p.build.err != nil {
		return p.build.err
	}
	p.build.cancel()
	p.build, p.sealed = nil, nil
	p.feed.files.Add(1)
	return nil
}

// wait waits until the part that is full is built.
func (p *parts) wait(ctx context.Context) error {
	p.buildSealed()
	if p.build == nil {
		return nil
	}
	select {
	case <-p.build.done:
		return p.built()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// add appends a row.
func (p *parts) add(row []byte) error {
	if p.open == nil {
		if err := p.next(time.Now()); err != nil {
			return err
		}
	}
	p.open.Rows++
	return p.open.spool.add(row)
}

// free returns the number and the name of the next part. If there is a file of this name, the next number is taken, or the file goes.
func (p *parts) free(begun time.Time) (number int, name string, err error) {
	fs := p.feed.builder.fs
	for number = p.number + 1; ; number++ {
		name = p.name(number, begun)
		taken, err := fs.Exists(name)
		switch {
		case err != nil:
			return 0, "", failed("opening", name, err)
		case !taken:
			return number, name, nil
		case p.feed.existing == drop:
			return number, name, failed("removing", name, fs.Remove(name))
		case p.feed.existing == refuse:
			return 0, "", &feed.NotEmptyError{Path: name}
		}
	}
}

// next begins a part.
func (p *parts) next(begun time.Time) error {
	f := p.feed
	fs := f.builder.fs
	number, name, err := p.free(begun)
	if err != nil {
		return err
	}
	if err := fs.MakeFolder(filepath.Dir(name)); err != nil {
		return failed("making the folder", filepath.Dir(name), err)
	}
	slot := 1
	if p.sealed != nil && p.sealed.Slot == slot {
		slot = 2
	}
	spool, err := newSpool(fs, f.spoolPath(slot), f.builder.job, number)
	if err != nil {
		return err
	}
	p.number = number
	p.open = &part{partState: partState{Name: name, Number: number, Slot: slot, Begun: begun.Unix()}, spool: spool}
	return nil
}

// commit makes the rows durable, and takes a part that is full for finished.
func (p *parts) commit(ctx context.Context) error {
	if p.open == nil {
		return nil
	}
	var err error
	if p.lazy {
		err = p.open.spool.flush()
	} else {
		err = p.open.spool.sync()
	}
	if err != nil || !p.isFull() {
		return err
	}
	if err := p.wait(ctx); err != nil {
		return err
	}
	p.open.End = p.open.spool.end
	p.sealed, p.open = p.open, nil
	return nil
}

func (p *parts) isFull() bool {
	if !p.feed.isSet() {
		return false
	}
	o, r := p.open, p.feed.rotation
	return r.Items > 0 && o.Rows >= r.Items || r.Bytes > 0 && o.spool.end-o.spool.head >= r.Bytes ||
		r.Every > 0 && time.Since(time.Unix(o.Begun, 0)) >= r.Every
}

// state returns the checkpoint.
func (p *parts) state() state {
	s := state{Job: p.feed.builder.job, Start: p.start, Number: p.number}
	if p.sealed != nil {
		s.Sealed = &p.sealed.partState
	}
	if p.open != nil {
		p.open.End = p.open.spool.end
		s.Open = &p.open.partState
	}
	return s
}

// end finishes all files, or leaves their rows in the spools.
func (p *parts) end(ctx context.Context, finish bool) error {
	var err error
	if finish {
		err = p.finish(ctx)
	}
	if b := p.build; b != nil {
		b.cancel()
		b.ended.Wait()
		if b.err != nil && !errors.Is(b.err, context.Canceled) && !errors.Is(err, b.err) {
			err = errors.Join(err, b.err)
		}
		if b.err == nil {
			p.sealed = nil
			p.feed.files.Add(1)
		}
		p.build = nil
	}
	return errors.Join(err, p.closeSpools())
}

// finish finishes all files.
func (p *parts) finish(ctx context.Context) error {
	if err := p.wait(ctx); err != nil {
		return err
	}
	f := p.feed
	if p.number == 0 && (f.keepEmpty || !f.isSet()) {
		_, ours, err := p.find(&partState{Name: p.name(1, p.start), Number: 1})
		if err != nil || ours { // the end of the job was not stored
			return err
		}
		if err := p.next(p.start); err != nil {
			return err
		}
	}
	if p.open == nil {
		return nil
	}
	if err := p.open.spool.flush(); err != nil {
		return err
	}
	if err := f.builder.finish(ctx, p.open); err != nil {
		return err
	}
	p.open = nil
	f.files.Add(1)
	return nil
}

// closeSpools closes the files of spools that are left.
func (p *parts) closeSpools() (err error) {
	for _, q := range []*part{p.sealed, p.open} {
		if q != nil && q.spool.file != nil {
			err = errors.Join(err, failed("closing", q.spool.path, q.spool.file.Close()))
		}
	}
	p.sealed, p.open = nil, nil
	return err
}

package main

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"github.com/tegenaria/tegenaria/stage"
)

// Sum is the digest of one file.
type Sum struct {
	Path string // slash-separated, from the root of the tree
	MD5  [md5.Size]byte
}

// A Mode puts a processor into a stage.
type Mode func(stage.Processor[Sum]) stage.Runner[Sum]

// The modes, by the name they have on the command line.
var modes = map[string]Mode{"serial": Serial, "parallel": Parallel, "bounded": Bounded}

// Serial reads one file at a time.
func Serial(p stage.Processor[Sum]) stage.Runner[Sum] { return stage.FIFO(p) }

// Parallel reads every file as soon as it is found, up to 256 at a time: a limit must be, as the
// system has one for open files.
func Parallel(p stage.Processor[Sum]) stage.Runner[Sum] { return stage.DynamicWorkerPool(p, 256) }

// Bounded reads up to 20 files at a time.
func Bounded(p stage.Processor[Sum]) stage.Runner[Sum] { return stage.FixedWorkerPool(p, 20) }

// Digest calls each, from one goroutine at a time and in any order, with the sum of every regular
// file of the tree. It returns when nothing of it runs any more.
//
// The first file that can not be read, an error of each, and the end of ctx stop it. A directory
// that can not be read ends the walk only: what was found before is digested, then the error is
// returned.
func Digest(ctx context.Context, tree fs.FS, mode Mode, each func(Sum) error) error {
	next, stop := iter.Pull2(files(tree))
	defer stop()
	walk := &walk{next: next}
	digest := stage.ProcessorFunc[Sum](func(ctx context.Context, s Sum) (Sum, error) {
		err := s.read(ctx, tree)
		return s, err
	})
	err := stage.New(mode(digest)).Process(ctx, walk, sink(each))
	return errors.Join(err, walk.err)
}

// read digests the file in pieces: a file of any size takes the same memory.
func (s *Sum) read(ctx context.Context, tree fs.FS) error {
	file, err := tree.Open(s.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	hash := md5.New()
	if _, err := io.Copy(hash, &reader{ctx, file}); err != nil {
		return fmt.Errorf("read %s: %w", s.Path, err)
	}
	hash.Sum(s.MD5[:0])
	return nil
}

// reader ends a read between two pieces when ctx is done.
type reader struct {
	ctx  context.Context
	file io.Reader
}

func (r *reader) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.file.Read(b)
}

// files are the regular files of a tree, in lexical order. An error is the last of them.
func files(tree fs.FS) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.Type().IsRegular() && !yield(path, nil):
				return errStopped
			}
			return nil
		})
		if err != nil && err != errStopped {
			yield("", err)
		}
	}
}

var errStopped = errors.New("walk stopped")

// walk is the source. It keeps its error, which would cancel what was found before.
type walk struct {
	next func() (string, error, bool)
	path string
	err  error
}

func (w *walk) Next(context.Context) bool {
	path, err, ok := w.next()
	w.path, w.err = path, err
	return ok && err == nil
}

func (w *walk) Payload() Sum { return Sum{Path: w.path} }

func (w *walk) Error() error { return nil }

// sink is a function as a [stage.Sink].
type sink func(Sum) error

func (s sink) Consume(_ context.Context, sum Sum) error { return s(sum) }

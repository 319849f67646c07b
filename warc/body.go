package warc

import (
	"bytes"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// mostInMemory is how large a body is kept in memory until its record is made, if there is room; a larger one goes to a temporary file.
const mostInMemory = 256 << 10

// wireBody takes the body of a response as it comes. The downloader that writes to it may be given up, and write on: after close that
// has no effect.
type wireBody struct {
	folder string // for the temporary file
	share  *share // of the memory of all bodies

	mu     sync.Mutex // guards the fields below
	closed bool
	sum    hash.Hash
	size   int64
	memory []byte
	file   *temporary // has the whole body; nil: memory has
	err    error      // the body is not whole because of it
}

// reset makes the value ready for another body.
func (b *wireBody) reset(sum hash.Hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sum.Reset()
	b.closed, b.sum, b.size, b.memory, b.file, b.err = false, sum, 0, b.memory[:0], nil, nil
}

// Write takes a piece. It never fails the download: what is wrong with the disk ends the run, see [Archive], and is no failure of the page.
func (b *wireBody) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.err != nil {
		return len(p), nil
	}
	b.sum.Write(p)
	b.size += int64(len(p))
	if b.file == nil && len(b.memory)+len(p) <= mostInMemory && b.share.take(len(p)) {
		b.memory = append(b.memory, p...)
		return len(p), nil
	}
	if b.file == nil {
		b.err = b.spill()
	}
	if b.err == nil {
		_, b.err = b.file.Write(p)
	}
	return len(p), nil
}

// spill moves the body to a file.
func (b *wireBody) spill() error {
	file, err := createTemporary(b.folder)
	if err != nil {
		return err
	}
	b.file = &file
	_, err = file.Write(b.memory)
	b.empty()
	return err
}

// empty gives back the memory.
func (b *wireBody) empty() {
	b.share.give(len(b.memory))
	b.memory = b.memory[:0]
}

// share is how much memory all bodies may take.
type share struct {
	bound int64
	taken atomic.Int64
}

// take takes some bytes, if there are so many.
func (s *share) take(n int) bool {
	if s.taken.Add(int64(n)) <= s.bound {
		return true
	}
	s.give(n)
	return false
}

func (s *share) give(n int) { s.taken.Add(-int64(n)) }

// open returns a reader of the whole body, which is valid until close. It is called once the download has ended.
func (b *wireBody) open() io.Reader {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file != nil {
		return io.NewSectionReader(b.file, 0, b.size)
	}
	return bytes.NewReader(b.memory)
}

// stop ends the writing, and returns how many bytes there are.
func (b *wireBody) stop() (size int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.size, b.err
}

// close removes the file.
func (b *wireBody) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.empty()
	if b.file == nil {
		return nil
	}
	file := b.file
	b.file = nil
	return file.Close()
}

// temporary is a file that is removed when it is closed.
type temporary struct{ *os.File }

// temporaryName is the pattern of the names of temporary files.
const temporaryName = ".tegenaria-warc-*.tmp"

// createTemporary makes a file that nobody else can read. Its name is removed at once where the system allows that: then a crash leaves it
// behind only if it comes just between.
func createTemporary(folder string) (temporary, error) {
	file, err := os.CreateTemp(folder, temporaryName)
	if err != nil {
		return temporary{}, err
	}
	_ = os.Remove(file.Name()) // Close does it where this fails
	return temporary{file}, nil
}

// removeTemporary removes what crashes have left behind. It does no harm to another archive in the same folder, which
// removes these names itself, or has the files open where open files cannot be removed.
func removeTemporary(folder string) {
	names, _ := filepath.Glob(filepath.Join(folder, temporaryName)) // a folder whose name is a pattern keeps them
	for _, name := range names {
		_ = os.Remove(name)
	}
}

// Close closes and removes the file.
func (t temporary) Close() error {
	err := t.File.Close()
	if gone := os.Remove(t.Name()); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

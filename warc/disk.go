package warc

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/tegenaria/tegenaria/internal/filelock"
	"github.com/tegenaria/tegenaria/internal/outfile"
)

// fileSystem is where an archive keeps its files. It is small so that a test can give one that fails.
type fileSystem interface {
	// Create makes a new file and claims it until it is closed; its name is durable. An empty file that nobody has claimed is taken over. The
	// error is an [*InUseError] if somebody has, and os.ErrExist if there is something in the file.
	Create(name string) (file, error)
	// Open opens a file that exists, to read and write, and claims it until it is closed. The error is an [*InUseError] if somebody has.
	Open(name string) (file, error)
	// Rename gives a file another name. It is durable when it returns.
	Rename(from, to string) error
	// Remove removes a file. One that does not exist is no error.
	Remove(name string) error
	Exists(name string) (bool, error)
	// MakeFolder makes a folder and those above it, unless they are there.
	MakeFolder(name string) error
}

// file is an open file.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	Sync() error
}

// fileMode keeps archives from other users: the headers of requests are in them, with cookies and credentials.
const fileMode = 0o600

// disk is the operating system's file system.
type disk struct{ outfile.Disk }

func (disk) Create(name string) (file, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, os.ErrExist) {
		return takeOver(name)
	} else if err != nil {
		return nil, err
	}
	if _, err = claim(f); err == nil {
		err = outfile.SyncFolder(filepath.Dir(name))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return outfile.File{File: f}, nil
}

// takeOver opens an empty file that a crash has left behind. Where there are no locks, nobody knows that it was one.
func takeOver(name string) (file, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) { // whoever had it has just removed it
		return nil, &InUseError{name}
	} else if err != nil {
		return nil, os.ErrExist
	}
	claimed, err := claim(f)
	if err == nil {
		var size int64
		if size, err = (outfile.File{File: f}).Size(); err == nil && (size > 0 || !claimed) {
			err = os.ErrExist
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return outfile.File{File: f}, nil
}

// claim locks a file until it is closed. A file system that knows no locks is trusted.
func claim(f *os.File) (claimed bool, err error) {
	err = filelock.Lock(f)
	if errors.Is(err, filelock.ErrHeld) {
		return false, &InUseError{f.Name()}
	}
	return err == nil, nil
}

func (disk) Open(name string) (file, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if _, err := claim(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return outfile.File{File: f}, nil
}

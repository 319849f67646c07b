package feed

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/tegenaria/tegenaria/internal/filelock"
	"github.com/tegenaria/tegenaria/internal/outfile"
)

// FS is where a feed keeps its file. It is small, so that a test can provide one that simulates a power cut. The default is the
// operating system's.
type FS interface {
	// Open opens a file to read and write, and makes it if it does not exist; then its name is durable.
	Open(name string) (File, error)
	// Remove removes a file. If it does not exist, that is not an error.
	Remove(name string) error
}

// MoverFS is an [FS] whose files can get other names. A feed whose path has fields, or one of [CSV] whose columns are not named, needs
// one; the default is one.
type MoverFS interface {
	FS
	// Rename gives a file another name, in the place of a file that has it. It is durable when it returns.
	Rename(from, to string) error
	// Exists reports whether there is a file of this name.
	Exists(name string) (bool, error)
	// MakeFolder makes a folder and those above it, unless they are there.
	MakeFolder(name string) error
}

// File is an open file of an [FS]. WriteAt and ReadAt may be called concurrently.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	// Truncate cuts the file. It is durable after Sync.
	Truncate(size int64) error
	// Sync makes durable what was written.
	Sync() error
}

// SystemFS returns the operating system's file system.
func SystemFS() FS { return systemFS{} }

type systemFS struct{ outfile.Disk }

func (systemFS) Open(name string) (File, error) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err == nil {
		return systemFile{outfile.File{File: file}}, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := outfile.SyncFolder(filepath.Dir(name)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return systemFile{outfile.File{File: file}}, nil
}

// claim claims a file for this process, if its file system can.
func claim(file File) error {
	if l, ok := file.(interface{ Lock() error }); ok {
		return l.Lock()
	}
	return nil
}

type systemFile struct{ outfile.File }

// Lock claims the file for this process until it is closed. Its error is an [*InUseError] if another process has it. A file system that
// knows no locks is trusted. The process can open a feed again where an earlier one was left behind.
func (f systemFile) Lock() error {
	if errors.Is(filelock.LockForProcess(f.File.File), filelock.ErrHeld) {
		return &InUseError{f.Name()}
	}
	return nil
}

// isStream reports whether a name is something that cannot be cut: a pipe, a terminal, a device.
func isStream(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

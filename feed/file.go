package feed

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// FS is where a feed keeps its file. It is small so that a test can give one that loses power. The default is the
// operating system's.
type FS interface {
	// Open opens a file to read and write, and makes it if it does not exist; then its name is durable.
	Open(name string) (File, error)
	// Remove removes a file. One that does not exist is no error.
	Remove(name string) error
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

type systemFS struct{}

func (systemFS) Open(name string) (File, error) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err == nil {
		return systemFile{file}, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syncDir(filepath.Dir(name)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return systemFile{file}, nil
}

func (systemFS) Remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func syncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

type systemFile struct{ *os.File }

func (f systemFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// isStream reports whether a name is something that cannot be cut: a pipe, a terminal, a device.
func isStream(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

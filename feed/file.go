package feed

import (
	"errors"
	"io"
	"os"
	"path/filepath"
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

func (systemFS) Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(to)); err != nil || filepath.Dir(from) == filepath.Dir(to) {
		return err
	}
	return syncDir(filepath.Dir(from))
}

func (systemFS) Exists(name string) (bool, error) {
	_, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (systemFS) MakeFolder(name string) error { return os.MkdirAll(name, 0o777) }

// claim claims a file for this process, if its file system can.
func claim(file File) error {
	if l, ok := file.(interface{ Lock() error }); ok {
		return l.Lock()
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

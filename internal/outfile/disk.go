package outfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Disk is the operating system's file system, as far as all outputs use it in the same way: it is the part of their own file systems
// that opens no files.
type Disk struct{}

// Rename gives a file another name, in the place of a file that has it. It is durable when it returns.
func (Disk) Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	if err := SyncFolder(filepath.Dir(to)); err != nil || filepath.Dir(from) == filepath.Dir(to) {
		return err
	}
	return SyncFolder(filepath.Dir(from))
}

// Remove removes a file. If it does not exist, that is not an error.
func (Disk) Remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Exists reports whether there is a file of this name.
func (Disk) Exists(name string) (bool, error) {
	_, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// MakeFolder makes a folder and those above it, unless they are there.
func (Disk) MakeFolder(name string) error { return os.MkdirAll(name, 0o777) }

// SyncFolder makes the names in a folder durable.
func SyncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// File is an open file that knows its size.
type File struct{ *os.File }

// Size returns how many bytes the file has.
func (f File) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Replace writes a file in one step: others see the old file, or all of the new one.
func Replace(path string, text []byte, mode os.FileMode) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Chmod(mode), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

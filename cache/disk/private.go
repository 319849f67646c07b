package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The modes of a job, whatever the umask. Records hold URLs with passwords, Authorization headers and cookies.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// private is the operating system's file system, where a job's directory and files belong to their owner alone. The store
// asks for no modes; so a file is made with the right one first, and then opened as usual.
type private struct {
	vfs.FS
	dir string // of the job; directories above it have the usual mode
}

var _ vfs.FS = private{}

// systemFS returns the file system for a job in a directory.
func systemFS(dir string) vfs.FS {
	if abs, err := filepath.Abs(dir); err == nil { // lockJob reports the error
		dir = abs
	}
	return private{vfs.Default, dir}
}

// make makes an empty file if there is none. It opens no file that exists: closing that would give up the lock that this
// process may have on it.
func (p private) make(name string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// Create makes a file, in place of an older one.
func (p private) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return p.OpenReadWrite(name, category)
}

// OpenReadWrite opens a file, and makes it if there is none.
func (p private) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := p.make(name); err != nil {
		return nil, err
	}
	return p.FS.OpenReadWrite(name, category, opts...)
}

// Lock makes a file and locks it.
func (p private) Lock(name string) (io.Closer, error) {
	if err := p.make(name); err != nil {
		return nil, err
	}
	return p.FS.Lock(name)
}

// MkdirAll makes a directory.
func (p private) MkdirAll(name string, mode os.FileMode) error {
	if name == p.dir || strings.HasPrefix(name, p.dir+string(filepath.Separator)) {
		mode = dirMode
	}
	return p.FS.MkdirAll(name, mode)
}

// narrow takes from everybody else what they may do with a job, which an older version or a user has made with wider modes.
// The modes stay as they are where the file system has none, or where they are not the user's to change. Symbolic links
// below the directory are not followed: a job that others could write to may hold one that leads anywhere.
func narrow(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	return narrowTo(dir, info)
}

// narrowTo narrows one file, or a directory with everything in it.
func narrowTo(name string, info fs.FileInfo) error {
	mode := fileMode
	if info.IsDir() {
		mode = dirMode
	}
	if has := info.Mode().Perm(); has&^mode != 0 {
		err := os.Chmod(name, has&mode)
		if err != nil && !errors.Is(err, os.ErrPermission) && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	if !info.IsDir() {
		return nil
	}
	entries, err := os.ReadDir(name)
	for _, entry := range entries {
		below, infoErr := entry.Info()
		switch {
		case errors.Is(infoErr, os.ErrNotExist): // it is gone
		case infoErr != nil:
			err = errors.Join(err, infoErr)
		case below.IsDir() || below.Mode().IsRegular():
			err = errors.Join(err, narrowTo(filepath.Join(name, entry.Name()), below))
		}
	}
	return err
}

// Package privatefs is the operating system's file system for a Pebble store that belongs to its owner alone: directories have the
// mode 0700 and files 0600, whatever the umask.
//
//	New(dir) → the file system of a store in dir
//	Narrow   → what is there already loses wider modes
//
// A short example:
//
//	fs := privatefs.New(dir)
//	if err := privatefs.Narrow(dir); err != nil {
//		return err
//	}
//	db, err := pebble.Open(dir, &pebble.Options{FS: fs})
package privatefs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The modes, whatever the umask. Stored requests hold URLs with passwords, Authorization headers and cookies.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// private is the operating system's file system, where one directory and all in it belong to their owner alone. Pebble
// asks for no modes; so a file is made with the right one first, and then opened as usual.
type private struct {
	vfs.FS
	dir string // directories above it have the usual mode
}

var _ vfs.FS = private{}

// New returns the file system for what is in a directory. The directories above it get the usual modes.
func New(dir string) vfs.FS {
	if abs, err := filepath.Abs(dir); err == nil { // whoever opens the directory gets the error
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

// Is reports whether a file system is one that New has made.
func Is(fs vfs.FS) bool {
	_, ok := fs.(private)
	return ok
}

// Narrow takes from everybody else what they may do with a directory, which an older version or a user has made with wider modes.
// The modes stay as they are where the file system has none, or where they are not the user's to change. Symbolic links
// below the directory are not followed: a directory that others could write to may hold one that leads anywhere.
func Narrow(dir string) error {
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

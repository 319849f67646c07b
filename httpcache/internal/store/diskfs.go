package store

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// diskFS stands between Pebble and the disk. Pebble takes a failing write for the end of the process: it panics. So it never learns
// of one: after the first failure nothing reaches the disk any more, and what is there stays as a crash at that moment would leave it.
// The store then opens it again, for reading alone.
type diskFS struct {
	vfs.FS
	err atomic.Pointer[error]
}

var _ vfs.FS = (*diskFS)(nil)

// fail stops all writing.
func (d *diskFS) fail(err error) { d.err.CompareAndSwap(nil, &err) }

// failed returns the first failure.
func (d *diskFS) failed() error {
	if err := d.err.Load(); err != nil {
		return *err
	}
	return nil
}

// do writes something, unless something has failed before.
func (d *diskFS) do(f func() error) {
	if d.failed() != nil {
		return
	}
	if err := f(); err != nil {
		d.fail(err)
	}
}

func (d *diskFS) file(open func() (vfs.File, error)) (vfs.File, error) {
	var file vfs.File
	d.do(func() (err error) {
		file, err = open()
		return err
	})
	return &diskFile{file, d}, nil
}

func (d *diskFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.file(func() (vfs.File, error) { return d.FS.Create(name, category) })
}

func (d *diskFS) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.file(func() (vfs.File, error) { return d.FS.ReuseForWrite(old, name, category) })
}

func (d *diskFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return d.file(func() (vfs.File, error) { return d.FS.OpenReadWrite(name, category, opts...) })
}

func (d *diskFS) OpenDir(name string) (vfs.File, error) {
	return d.file(func() (vfs.File, error) { return d.FS.OpenDir(name) })
}

func (d *diskFS) Link(old, name string) error {
	d.do(func() error { return d.FS.Link(old, name) })
	return nil
}

func (d *diskFS) Rename(old, name string) error {
	d.do(func() error { return d.FS.Rename(old, name) })
	return nil
}

func (d *diskFS) MkdirAll(name string, mode os.FileMode) error {
	d.do(func() error { return d.FS.MkdirAll(name, mode) })
	return nil
}

// Remove may fail: Pebble copes with that.
func (d *diskFS) Remove(name string) error {
	if d.failed() != nil {
		return nil
	}
	return d.FS.Remove(name)
}

func (d *diskFS) Unwrap() vfs.FS { return d.FS }

// diskFile is a file that Pebble writes; File is nil if it could not be opened.
type diskFile struct {
	vfs.File
	fs *diskFS
}

func (f *diskFile) Write(p []byte) (int, error) {
	f.fs.do(func() error { _, err := f.File.Write(p); return err })
	return len(p), nil
}

func (f *diskFile) WriteAt(p []byte, offset int64) (int, error) {
	f.fs.do(func() error { _, err := f.File.WriteAt(p, offset); return err })
	return len(p), nil
}

// Preallocate may fail: a file system need not know it, and a write may still find room.
func (f *diskFile) Preallocate(offset, length int64) error {
	if f.fs.failed() == nil {
		_ = f.File.Preallocate(offset, length)
	}
	return nil
}

func (f *diskFile) Sync() error {
	f.fs.do(func() error { return f.File.Sync() })
	return nil
}

func (f *diskFile) SyncData() error {
	f.fs.do(func() error { return f.File.SyncData() })
	return nil
}

func (f *diskFile) SyncTo(length int64) (full bool, err error) {
	f.fs.do(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, nil
}

func (f *diskFile) Close() error {
	if f.File == nil {
		return nil
	}
	err := f.File.Close()
	f.fs.do(func() error { return err })
	return nil
}

func (f *diskFile) Read(p []byte) (int, error) {
	if f.File == nil {
		return 0, io.EOF
	}
	return f.File.Read(p)
}

func (f *diskFile) ReadAt(p []byte, offset int64) (int, error) {
	if f.File == nil {
		return 0, io.EOF
	}
	return f.File.ReadAt(p, offset)
}

func (f *diskFile) Stat() (vfs.FileInfo, error) {
	if f.File == nil {
		return noFile{}, nil
	}
	return f.File.Stat()
}

func (f *diskFile) Prefetch(offset, length int64) error {
	if f.File == nil {
		return nil
	}
	return f.File.Prefetch(offset, length)
}

func (f *diskFile) Fd() uintptr {
	if f.File == nil {
		return vfs.InvalidFd
	}
	return f.File.Fd()
}

// noFile describes a file that was never made, as an empty one.
type noFile struct{}

func (noFile) Name() string           { return "" }
func (noFile) Size() int64            { return 0 }
func (noFile) Mode() os.FileMode      { return 0o600 }
func (noFile) ModTime() time.Time     { return time.Time{} }
func (noFile) IsDir() bool            { return false }
func (noFile) Sys() any               { return nil }
func (noFile) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }

// diskLogger hears of what Pebble cannot cope with, which must not end the process.
type diskLogger struct{ fs *diskFS }

var _ pebble.Logger = diskLogger{}

func (diskLogger) Infof(string, ...any)  {}
func (diskLogger) Errorf(string, ...any) {}

func (l diskLogger) Fatalf(format string, args ...any) { l.fs.fail(fmt.Errorf(format, args...)) }

package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// guard stands between the store and the disk. The store takes a failing write for the end of the process: it
// panics, or asks the logger to exit. So it never learns of one. The guard remembers the first failure and
// lets nothing reach the disk from then on; what is there stays as a crash at that moment would leave it. Whoever
// has written must ask failed before telling anybody that it is durable.
//
// It also holds removals back until a commit is durable that has the witness of what replaces the removed files. Should
// that be damaged before, what it was made of is still there.
//
// Reading goes through: its errors are returned to the reader.
type guard struct {
	vfs.FS
	logs *closedLogs

	mu      sync.Mutex // guards the fields below
	err     error
	removed []string // held back
	newest  witness  // of the manifest
	ending  bool     // no space is taken in advance any more
}

// synced notes what a manifest holds for certain. The manifest is the file in which the store notes which tables it
// consists of. The store takes one that ends too early, or from which a bit has gone, for one that was cut off by a crash:
// then tables are missing, unnoticed. So each commit says how long the manifest is at least, and what it holds.
func (g *guard) synced(manifest witness) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.newest = manifest
}

// manifest returns the witness, if a manifest was written since the store was opened.
func (g *guard) manifest() (w witness, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.newest, g.newest.name != ""
}

// currentManifest names the manifest that a store is going to be opened with, "" if there is none yet.
func currentManifest(fs vfs.FS, dir string) (string, error) {
	store, err := pebble.Peek(dir, fs)
	switch {
	case os.IsNotExist(err):
		return "", nil
	case err != nil || !store.Exists:
		return "", err
	}
	return fs.PathBase(store.ManifestFilename), nil
}

// checkManifest compares the manifest that the last commit knew with its witness. The store may have been opened with a
// newer one, which was made of that and not witnessed yet; so the older one is still there.
func checkManifest(w witness, fs vfs.FS, dir, opened string) error {
	if len(opened) < len(w.name) || len(opened) == len(w.name) && opened < w.name {
		return fmt.Errorf("it is not in use, but %q", opened)
	}
	return w.check(fs, dir)
}

func isManifest(name string) bool { return strings.HasPrefix(name, "MANIFEST-") }

func isLog(name string) bool { return filepath.Ext(name) == ".log" }

var _ vfs.FS = (*guard)(nil)

// fail stops all writing.
func (g *guard) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
	}
}

// failed returns the first failure.
func (g *guard) failed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// do does something to the disk, unless something has failed before.
func (g *guard) do(what, name string, f func() error) {
	if g.failed() != nil {
		return
	}
	err := f()
	var path *os.PathError // which says what and where
	switch {
	case err == nil:
	case errors.As(err, &path):
		g.fail(fmt.Errorf("disk: %w", err))
	default:
		g.fail(fmt.Errorf("disk: %s %s: %w", what, name, err))
	}
}

// end says that not much will be written any more.
func (g *guard) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ending = true
}

func (g *guard) isEnding() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ending
}

// held returns how many removals are held back.
func (g *guard) held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.removed)
}

// release makes the first n of the removals held back happen.
func (g *guard) release(n int) {
	g.mu.Lock()
	removed := g.removed[:n]
	g.removed = g.removed[n:]
	g.mu.Unlock()
	g.remove(removed)
}

// remove removes files at once.
func (g *guard) remove(paths []string) {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = g.PathBase(path)
	}
	g.do("writing", logsFile, func() error { return g.logs.forget(names) })
	for _, path := range paths {
		g.do("removing", path, func() error {
			if err := g.FS.Remove(path); !os.IsNotExist(err) {
				return err
			}
			return nil
		})
	}
}

// Remove removes a file, but not yet.
func (g *guard) Remove(name string) error {
	if _, err := g.Stat(name); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.removed = append(g.removed, name)
	return nil
}

// RemoveAll is not used by the store.
func (g *guard) RemoveAll(name string) error {
	g.do("removing", name, func() error { return g.FS.RemoveAll(name) })
	return nil
}

// Link gives a file another name.
func (g *guard) Link(old, name string) error {
	g.do("creating", name, func() error { return g.FS.Link(old, name) })
	return nil
}

// Rename renames a file.
func (g *guard) Rename(old, name string) error {
	g.do("renaming to", name, func() error { return g.FS.Rename(old, name) })
	return nil
}

// Unwrap is part of vfs.FS.
func (g *guard) Unwrap() vfs.FS { return g.FS }

// MkdirAll makes a directory.
func (g *guard) MkdirAll(name string, perm os.FileMode) error {
	g.do("creating", name, func() error { return g.FS.MkdirAll(name, perm) })
	return nil
}

// Create makes a file. The name of a manifest is made durable at once: the store makes it so together with that of
// the marker that names it, and a file system may keep the second and lose the first.
func (g *guard) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := g.file("creating", name, func() (vfs.File, error) { return g.FS.Create(name, category) })
	base := g.PathBase(name)
	if isManifest(base) || isLog(base) {
		file.written = &witness{name: base}
	}
	if isManifest(base) {
		dir := g.PathDir(name)
		g.do("syncing", dir, func() error { return syncDir(g.FS, dir) })
	}
	return file, err
}

// ReuseForWrite makes a new file all the same, for the old one is still needed, and removes that.
func (g *guard) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := g.Remove(old); err != nil {
		return nil, err
	}
	return g.Create(name, category)
}

// OpenReadWrite opens a file to change it.
func (g *guard) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return g.file("opening", name, func() (vfs.File, error) { return g.FS.OpenReadWrite(name, category, opts...) })
}

// OpenDir opens a directory, to sync it.
func (g *guard) OpenDir(name string) (vfs.File, error) {
	return g.file("opening", name, func() (vfs.File, error) { return g.FS.OpenDir(name) })
}

// file opens a file to write to. Once something has failed it is one that goes nowhere.
func (g *guard) file(what, name string, open func() (vfs.File, error)) (*guardedFile, error) {
	var file vfs.File
	g.do(what, name, func() (err error) {
		file, err = open()
		return err
	})
	return &guardedFile{File: file, guard: g, name: name}, nil
}

// guardedFile is a file under guard; its File is nil if it could not be opened.
type guardedFile struct {
	vfs.File
	guard   *guard
	name    string
	written *witness // if it is a manifest or a log
}

func (f *guardedFile) write(p []byte, write func() error) (int, error) {
	f.guard.do("writing", f.name, write)
	return len(p), nil
}

func (f *guardedFile) Write(p []byte) (int, error) {
	if f.written != nil {
		f.written.wrote(p)
	}
	return f.write(p, func() error { _, err := f.File.Write(p); return err })
}

func (f *guardedFile) WriteAt(p []byte, offset int64) (int, error) {
	return f.write(p, func() error { _, err := f.File.WriteAt(p, offset); return err })
}

// Preallocate may fail: a file system need not know it, and a write may still find room.
func (f *guardedFile) Preallocate(offset, length int64) error {
	if f.guard.failed() != nil || f.guard.isEnding() {
		return nil
	}
	return f.File.Preallocate(offset, length)
}

func (f *guardedFile) Sync() error {
	f.guard.do("syncing", f.name, func() error { return f.File.Sync() })
	if f.written != nil && isManifest(f.written.name) && f.guard.failed() == nil {
		f.guard.synced(*f.written)
	}
	return nil
}

func (f *guardedFile) SyncData() error {
	f.guard.do("syncing", f.name, func() error { return f.File.SyncData() })
	return nil
}

func (f *guardedFile) SyncTo(length int64) (full bool, err error) {
	f.guard.do("syncing", f.name, func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, nil
}

func (f *guardedFile) Close() error {
	if f.File == nil {
		return nil
	}
	err := f.File.Close()
	f.guard.do("closing", f.name, func() error { return err })
	if f.written != nil && isLog(f.written.name) { // it is synced before
		f.guard.do("writing", logsFile, func() error { return f.guard.logs.add(*f.written) })
	}
	return nil
}

func (f *guardedFile) Read(p []byte) (int, error) {
	if f.File == nil {
		return 0, io.EOF
	}
	return f.File.Read(p)
}

func (f *guardedFile) ReadAt(p []byte, offset int64) (int, error) {
	if f.File == nil {
		return 0, io.EOF
	}
	return f.File.ReadAt(p, offset)
}

func (f *guardedFile) Stat() (vfs.FileInfo, error) {
	if f.File == nil {
		return noFile(f.name), nil
	}
	return f.File.Stat()
}

// noFile describes a file that was never made, as an empty one.
type noFile string

func (f noFile) Name() string         { return filepath.Base(string(f)) }
func (noFile) Size() int64            { return 0 }
func (noFile) Mode() os.FileMode      { return 0o600 }
func (noFile) ModTime() time.Time     { return time.Time{} }
func (noFile) IsDir() bool            { return false }
func (noFile) Sys() any               { return nil }
func (noFile) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }

func (f *guardedFile) Prefetch(offset, length int64) error {
	if f.File == nil {
		return nil
	}
	return f.File.Prefetch(offset, length)
}

func (f *guardedFile) Fd() uintptr {
	if f.File == nil {
		return vfs.InvalidFd
	}
	return f.File.Fd()
}

// guardLogger hears of what the store cannot cope with.
type guardLogger struct{ guard *guard }

var _ pebble.Logger = guardLogger{}

func (guardLogger) Infof(string, ...any) {}

func (guardLogger) Errorf(string, ...any) {}

// Fatalf must not end the process: nothing reaches the disk any more, and the crawl ends with the error.
func (l guardLogger) Fatalf(format string, args ...any) {
	l.guard.fail(fmt.Errorf(format, args...))
}

//go:build unix

package outputs_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
)

var mounts = flag.Bool("mounts", false, "this process may mount file systems: disks that are full or may not be written to are tried")

// smallDisk is a small file system of its own.
type smallDisk struct {
	t      *testing.T
	folder string
}

func newDisk(t *testing.T, size int64, access string) smallDisk {
	t.Helper()
	d := smallDisk{t, t.TempDir()}
	d.do("mount", "-t", "tmpfs", "-o", fmt.Sprintf("%s,size=%d", access, size), "tegenaria", d.folder)
	t.Cleanup(func() { d.do("umount", "-l", d.folder) })
	return d
}

func (d smallDisk) do(program string, args ...string) {
	d.t.Helper()
	if out, err := exec.CommandContext(context.WithoutCancel(d.t.Context()), program, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
}

// change mounts it anew with other options.
func (d smallDisk) change(options string) {
	d.t.Helper()
	d.do("mount", "-o", "remount,"+options, d.folder)
}

// whole returns how many bytes each output has when its job is done.
func whole(t *testing.T, o output) int64 {
	t.Helper()
	l := newLonely(t, o, t.TempDir())
	if err := l.run(t); err != nil {
		t.Fatal(err)
	}
	l.check(t, l)
	return size(t, l.folder)
}

// The disk of each output is full after a part of it. The run ends with an error that names the file; when there is
// room again, the same job is completed, and each item is there once.
func TestDiskFull(t *testing.T) {
	if !*mounts {
		t.Skip("it needs -mounts, and root")
	}
	for _, o := range allOutputs() {
		t.Run(o.name, func(t *testing.T) {
			bytes := max(whole(t, o), 8<<10)
			for _, tenths := range []int64{1, 5, 9} {
				d := newDisk(t, max(4096, bytes*tenths/10&^4095), "rw")
				l := newLonely(t, o, d.folder)
				err := l.run(t)
				if err == nil { // what is sent or packed leaves
					t.Logf("%d tenths of %d bytes were enough", tenths, bytes)
				} else if !isFull(err) || !strings.Contains(err.Error(), d.folder) {
					t.Errorf("%d tenths of %d bytes: %v", tenths, bytes, err)
				}
				d.change("size=64m")
				if err := l.run(t); err != nil {
					t.Errorf("with room: %v", err)
				}
				l.check(t, l)
			}
		})
	}
}

// isFull reports whether an error says that the disk is full. SQLite calls it an I/O error where it cannot make the
// memory that it shares larger.
func isFull(err error) bool {
	return slices.ContainsFunc([]string{"no space left on device", "database or disk is full", "disk I/O error (4874)"}, func(text string) bool {
		return strings.Contains(err.Error(), text)
	})
}

// An output whose folder may not be written to ends the run at once; when it may be, the same job is done.
func TestReadOnly(t *testing.T) {
	if !*mounts {
		t.Skip("it needs -mounts, and root")
	}
	for _, o := range allOutputs() {
		t.Run(o.name, func(t *testing.T) {
			d := newDisk(t, 64<<20, "ro")
			l := newLonely(t, o, d.folder)
			if err := l.run(t); err == nil || !strings.Contains(err.Error(), d.folder) {
				t.Errorf("%v", err)
			}
			if n := l.seen.Load(); n > width { // an archive begins with its first page
				t.Errorf("%d pages were fetched", n)
			}
			d.change("rw")
			if err := l.run(t); err != nil {
				t.Errorf("when it may be written to: %v", err)
			}
			l.check(t, l)
		})
	}
}

// The files of a job are damaged between two runs. The second one says so, with the path, unless it does not need what
// is missing; when the files are as they were, the job is completed.
func TestDamage(t *testing.T) {
	for _, o := range allOutputs() {
		if o.name == "media" { // its files are found by their content: TestIndex in media
			continue
		}
		for _, damage := range []string{"removed", "cut", "changed"} {
			t.Run(o.name+", "+damage, func(t *testing.T) {
				t.Parallel()
				l := newLonely(t, o, t.TempDir())
				l.at = int64(wholePages() / 2)
				if err := l.run(t); !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				before := []string{copied(t, l.folder), copied(t, l.cache)}
				path := spoil(t, l.folder, damage)
				if err := l.run(t); err == nil {
					l.check(t, l) // it had what was damaged in its checkpoint
				} else if t.Log(err); !strings.Contains(err.Error(), strings.TrimSuffix(path, ".part")) && !strings.Contains(err.Error(), strings.TrimSuffix(path, ".open")) {
					t.Errorf("%s: %v", path, err)
				}
				restored(t, l.folder, before[0])
				restored(t, l.cache, before[1])
				if err := l.run(t); err != nil {
					t.Errorf("when the files are as they were: %v", err)
				}
				l.check(t, l)
			})
		}
	}
}

// copied returns a copy of a folder.
func copied(t *testing.T, folder string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	return to
}

func restored(t *testing.T, folder, from string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(folder), os.CopyFS(folder, os.DirFS(from))); err != nil {
		t.Fatal(err)
	}
}

// spoil damages the largest file that is being written, and returns its path; "" if there is none yet.
func spoil(t *testing.T, folder, how string) (path string) {
	t.Helper()
	largest := int64(-1)
	if err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "-shm") || strings.HasSuffix(name, "-wal") {
			return err
		}
		info, err := d.Info()
		open := strings.HasSuffix(name, ".part") || strings.HasSuffix(name, ".open")
		if n := info.Size(); n > largest || open {
			largest, path = n, name
			if open {
				return fs.SkipAll
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if path == "" && !deep.Checks() { // of a small crawl nothing may be written yet
		return ""
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch how {
	case "removed":
		err = os.Remove(path)
	case "cut":
		err = os.Truncate(path, int64(len(content)/2))
	case "changed":
		where := content[max(0, len(content)-2000):max(0, len(content)-1000)]
		if strings.HasSuffix(path, ".db") { // SQLite has no checksums: of changed rows it says nothing
			where = content[:100]
		}
		for i := range where {
			where[i] ^= 0x20
		}
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

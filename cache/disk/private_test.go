//go:build unix

package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
)

// wantPrivate fails unless all of a directory is its owner's alone. It returns how many files there are.
func wantPrivate(t *testing.T, when, dir string) (files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: %s has the mode %o, want %o", when, strings.TrimPrefix(path, dir), got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// withUmask runs f under an umask, which is the process's: tests beside it must not run.
func withUmask(t *testing.T, mask int, f func(t *testing.T)) {
	t.Helper()
	old := syscall.Umask(mask)
	defer syscall.Umask(old)
	f(t)
}

// The whole of a job is its owner's alone, under any umask, while it is open, closed, killed, resumed, repaired and started
// over; the directories above it have the usual modes. It fails if Open takes vfs.Default for its file system.
func TestJobIsPrivate(t *testing.T) {
	for _, mask := range []int{0, 0o022} {
		withUmask(t, mask, func(t *testing.T) {
			above := filepath.Join(t.TempDir(), "jobs")
			dir := filepath.Join(above, "job")
			c, _ := begun(t, dir, disk.WithMemTable(64<<10))
			for i := range 10 {
				accept(t, c, nodes(i*100, i*100+100)...)
				settle(t, c, "host1", 1, tegenaria.Failed, "status 500")
			}
			if n := wantPrivate(t, "open", dir); n < 5 {
				t.Errorf("there are %d files", n)
			}
			killed := filepath.Join(t.TempDir(), "job")
			if err := os.CopyFS(killed, os.DirFS(dir)); err != nil { // with the umask's modes
				t.Fatal(err)
			}
			closed(t, c)
			wantPrivate(t, "closed", dir)
			if info, err := os.Stat(above); err != nil || info.Mode().Perm() != 0o755&^fs.FileMode(mask) {
				t.Errorf("the directory above: %v, %v", info.Mode(), err)
			}
			c, _ = begun(t, killed)
			accept(t, c, nodes(9000, 9100)...)
			settle(t, c, "host1", 1, tegenaria.Fetched, "")
			wantPrivate(t, "resumed after a kill", killed)
			closed(t, c)

			tables, err := filepath.Glob(filepath.Join(dir, "store", "*.sst"))
			if err != nil || len(tables) == 0 {
				t.Fatalf("there are no tables: %v", err)
			}
			data, err := os.ReadFile(tables[0])
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)/2] ^= 1
			if err := os.WriteFile(tables[0], data, 0o600); err != nil {
				t.Fatal(err)
			}
			if report, err := disk.Repair(t.Context(), dir); err != nil || len(report.Damaged) == 0 {
				t.Fatalf("repaired: %v, %v", report, err)
			}
			wantPrivate(t, "repaired", dir)
			closed(t, open(t, dir, disk.Fresh()))
			wantPrivate(t, "started over", dir)
		})
	}
}

// A job that an older version has made, with modes for everybody, is private once it is opened or repaired, and so is a
// directory that the user has made. It fails if lockJob does not call privatefs.Narrow.
func TestOldJobBecomesPrivate(t *testing.T) {
	widen := func(dir string) {
		t.Helper()
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				return os.Chmod(path, 0o755)
			}
			return errors.Join(err, os.Chmod(path, 0o644))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	widen(dir)
	c, _ := begun(t, dir)
	accept(t, c, nodes(0, 10)...)
	closed(t, c)
	wantPrivate(t, "made in a directory of the user's", dir)
	for when, open := range map[string]func() error{
		"resumed": func() error { closed(t, open(t, dir, disk.Existing())); return nil },
		"looked at by Repair": func() error {
			_, err := disk.Repair(t.Context(), dir)
			return err
		},
	} {
		widen(dir)
		if err := open(); err != nil {
			t.Fatal(err)
		}
		wantPrivate(t, when, dir)
	}
}

// A symbolic link in a job leads Open nowhere: what lies behind it keeps its modes, and one that leads to the job itself
// is no circle. It fails if privatefs.Narrow asks os.Stat for what is below the directory.
func TestSymlinksAreNotFollowed(t *testing.T) {
	dir, beside := filepath.Join(t.TempDir(), "job"), filepath.Join(t.TempDir(), "program")
	c, _ := begun(t, dir)
	closed(t, c)
	if err := os.WriteFile(beside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(os.Chmod(beside, 0o755),
		os.Symlink(beside, filepath.Join(dir, "store", "beside")), os.Symlink("..", filepath.Join(dir, "store", "above")))
	if err != nil {
		t.Fatal(err)
	}
	closed(t, open(t, dir, disk.Existing()))
	if info, err := os.Stat(beside); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the file behind the link: %v, %v", info.Mode(), err)
	}
}

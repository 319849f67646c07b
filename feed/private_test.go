//go:build unix

package feed_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tegenaria/tegenaria/feed"
)

// The spool is its owner's alone, also in place of one that was left behind for everybody to read. The feed itself has the mode
// that the umask gives it. It fails if the spool is opened as the feed is.
func TestSpoolIsPrivate(t *testing.T) {
	for _, mask := range []int{0, 0o022} {
		func() {
			defer syscall.Umask(syscall.Umask(mask))
			path := filepath.Join(t.TempDir(), "out.jsonl")
			if err := os.WriteFile(path+".spool", []byte("of a crash"), 0o666); err != nil {
				t.Fatal(err)
			}
			f := feed.JSONL(path, feed.StageBytes(0))
			restore(t, f, nil)
			put(t, f, "a", "secret")
			for name, want := range map[string]fs.FileMode{path: 0o666 &^ fs.FileMode(mask), path + ".spool": 0o600} {
				if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
					t.Errorf("umask %03o: %s has the mode %v, want %v: %v", mask, filepath.Base(name), info.Mode(), want, err)
				}
			}
			prepare(t, f, "a")
			end(t, f)
			wantFile(t, path, "\"secret\"\n")
			if _, err := os.Stat(path + ".spool"); err == nil {
				t.Error("the spool is still there")
			}
		}()
	}
}

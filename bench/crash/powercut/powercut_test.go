//go:build linux

package powercut_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/bench/crash/powercut"
)

// What was synced is there after the power was cut; what was not is there or not, and each of both happens.
func TestCut(t *testing.T) {
	folder := t.TempDir()
	disk, err := powercut.Mount(folder)
	if err != nil {
		t.Skip("it takes root and /dev/fuse:", err)
	}
	t.Cleanup(func() {
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	random := rand.New(rand.NewPCG(1, 1))
	path := func(name string) string { return filepath.Join(folder, name) }
	write := func(name, text string, sync bool) {
		t.Helper()
		f, err := os.OpenFile(path(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err == nil && sync {
			err = f.Sync()
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	seen := make(map[string]int)
	for range 50 {
		if err := os.MkdirAll(path("a/b"), 0o700); err != nil {
			t.Fatal(err)
		}
		write("a/b/synced", "one ", true)
		write("a/b/synced", "two", false)
		write("unsynced", "text", false)
		write("old", "before", true)
		write("new", "after", true)
		if err := os.Rename(path("new"), path("old")); err != nil {
			t.Fatal(err)
		}
		if err := disk.Cut(random); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a/b/synced", "unsynced", "old"} {
			text, err := os.ReadFile(path(name))
			if errors.Is(err, fs.ErrNotExist) {
				text, err = []byte("none"), nil
			}
			if err != nil {
				t.Fatal(err)
			}
			seen[name+": "+string(text)]++
		}
		for _, name := range []string{"a", "unsynced", "old", "new"} {
			if err := os.RemoveAll(path(name)); err != nil {
				t.Fatal(err)
			}
		}
		root, err := os.Open(folder)
		if err == nil {
			err = errors.Join(root.Sync(), root.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"a/b/synced: one ", "a/b/synced: one two", "unsynced: none", "unsynced: text", "unsynced: ", "old: before", "old: after"} {
		if seen[want] == 0 {
			t.Errorf("%q has not happened", want)
		}
		delete(seen, want)
	}
	if len(seen) > 0 {
		t.Errorf("it happened: %v", seen)
	}
}

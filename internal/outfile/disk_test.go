package outfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/internal/outfile"
)

func TestReplace(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "report.json")
	for _, text := range []string{"old and longer", "new"} {
		if err := outfile.Replace(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != text {
			t.Errorf("the file has %q, want %q (%v)", got, text, err)
		}
	}
	// A folder has the name: the file cannot be replaced, and nothing is left beside it.
	if err := outfile.Replace(folder, nil, 0o640); err == nil {
		t.Error("a folder was replaced")
	}
	for _, where := range []string{folder, filepath.Dir(folder)} {
		if left, _ := filepath.Glob(filepath.Join(where, ".*-*")); len(left) > 0 {
			t.Errorf("%q is left", left)
		}
	}
}

func TestDisk(t *testing.T) {
	folder := t.TempDir()
	from, to := filepath.Join(folder, "a", "file"), filepath.Join(folder, "b", "c", "file")
	var disk outfile.Disk
	for _, name := range []string{from, to} {
		if err := disk.MakeFolder(filepath.Dir(name)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	there := func(name string, want bool) {
		t.Helper()
		if got, err := disk.Exists(name); err != nil || got != want {
			t.Errorf("%s exists: %t, %v", name, got, err)
		}
	}
	if err := disk.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	there(from, false)
	there(to, true)
	if text, err := os.ReadFile(to); err != nil || string(text) != from {
		t.Errorf("%s has %q, %v", to, text, err)
	}
	if err := disk.Rename(from, to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there was renamed: %v", err)
	}
	if err := errors.Join(disk.Remove(to), disk.Remove(to)); err != nil {
		t.Error(err)
	}
	there(to, false)
}

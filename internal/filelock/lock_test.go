//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/internal/filelock"
)

func open(t *testing.T, name string) *os.File {
	t.Helper()
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// A file has one holder at a time, until that one closes it.
func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	first, second := open(t, name), open(t, name)
	if err := filelock.Lock(first); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Lock(second); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("the second one: %v", err)
	}
	first.Close()
	if err := filelock.Lock(second); err != nil {
		t.Errorf("after the first one has closed it: %v", err)
	}
}

// Who opened a file that its holder then removed has no lock of what is there under its name.
func TestLockOfRemovedFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	late := open(t, name)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Lock(late); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("there is no file of this name: %v", err)
	}
	other := open(t, name)
	if err := filelock.Lock(late); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("another file has the name: %v", err)
	}
	if err := filelock.Lock(other); err != nil {
		t.Error(err)
	}
}

// A process may claim a file that it has. It fails if the two opens exclude each other, as with Lock.
func TestLockForProcess(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	first, second := open(t, name), open(t, name)
	if err := errors.Join(filelock.LockForProcess(first), filelock.LockForProcess(second)); err != nil {
		t.Error(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := filelock.LockForProcess(first); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("there is no file of this name: %v", err)
	}
}

// The first one that shares a file is alone, and so is the next one after all have closed it.
func TestShare(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	alone := 0
	share := func(want int) *os.File {
		t.Helper()
		file, err := filelock.Share(name, func() error { alone++; return nil })
		if err != nil || alone != want {
			t.Fatalf("%v; %d were alone, want %d", err, alone, want)
		}
		return file
	}
	first, second := share(1), share(1)
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	third := share(2)
	third.Close()
	failure := errors.New("no")
	if _, err := filelock.Share(name, func() error { return failure }); !errors.Is(err, failure) {
		t.Errorf("alone has failed, and Share says %v", err)
	}
}

package multiread_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tegenaria/tegenaria/internal/multiread"
)

// filesOpenIn counts the open files of this process that lie in dir, also those whose name is gone.
func filesOpenIn(t *testing.T, dir string) int {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) == 0 {
		t.Skip("this system does not list open files in /proc/self/fd")
	}
	n := 0
	for _, link := range links {
		if path, err := os.Readlink(link); err == nil && strings.HasPrefix(path, dir+string(filepath.Separator)) {
			n++
		}
	}
	return n
}

// A body that is closed or was never finished holds no file. Fails when Close leaves the file
// open, when a failure on the way does, or when each reader opens a file of its own.
func TestNoFileStaysOpen(t *testing.T) {
	dir := t.TempDir()
	var bodies []*multiread.Body
	for range 20 {
		b, err := multiread.NewSpool(bytes.NewReader(pattern(5000)), 100, 0, dir)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, b)
		for range 5 {
			// Read in part and not closed.
			if _, err := io.CopyN(io.Discard, b.Reader(), 300); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := filesOpenIn(t, dir); n != 20 {
		t.Errorf("%d files are open for 20 bodies", n)
	}
	for range 20 {
		if _, err := multiread.NewSpool(bytes.NewReader(pattern(5000)), 100, 4999, dir); err == nil {
			t.Fatal("no error above the limit")
		}
		broken := io.MultiReader(bytes.NewReader(pattern(5000)), iotest.ErrReader(errors.New("broken")))
		if _, err := multiread.NewSpool(broken, 100, 0, dir); err == nil {
			t.Fatal("no error of a broken source")
		}
	}
	if n := filesOpenIn(t, dir); n != 20 {
		t.Errorf("%d files are open after failures, want the 20 of before", n)
	}
	for _, b := range bodies {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := filesOpenIn(t, dir); n != 0 {
		t.Errorf("%d files are open after Close", n)
	}
	isEmpty(t, dir)
}

//go:build linux

package multiread_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tegenaria/tegenaria/internal/multiread"
)

// The file of a body is its owner's alone, whatever the umask. It fails if the file is made with os.Create.
func TestBodyFileIsPrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := t.TempDir()
	body, err := multiread.NewSpool(bytes.NewReader(pattern(5000)), 100, 0, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, link := range links {
		if path, err := os.Readlink(link); err != nil || !strings.HasPrefix(path, dir) {
			continue
		}
		found++
		if info, err := os.Stat(link); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file has the mode %v, %v", info.Mode(), err)
		}
	}
	if found != 1 {
		t.Errorf("%d files are open", found)
	}
}

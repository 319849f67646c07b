package cli_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var mounts = flag.Bool("mounts", false, "this process may mount file systems: a disk that is full is tried")

// A disk becomes full under -o: the exit code is 1, and the message names the file and what helps. That helps: the same command then
// completes the file. The job lies on another disk.
func TestDiskFull(t *testing.T) {
	if !*mounts {
		t.Skip("it needs -mounts, and root")
	}
	disk := t.TempDir()
	do := func(program string, args ...string) {
		if text, err := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", program, args, err, text)
		}
	}
	do("mount", "-t", "tmpfs", "-o", "size=4k", "tegenaria", disk)
	t.Cleanup(func() { do("umount", "-l", disk) })
	const pages = 500
	path, job := filepath.Join(disk, "pages.jsonl"), filepath.Join(t.TempDir(), "job")
	args := []string{"crawl", "shop", "--quiet", "--job", job, "-o", path}
	code, _, stderr := run(t, offline(titles("shop", pages)), args...)
	if code != 1 || !strings.Contains(stderr, path+": no space left on device") || !strings.Contains(stderr, "a disk is full: make room; the same command then goes on") {
		t.Errorf("code %d: %s", code, stderr)
	}
	do("mount", "-o", "remount,size=1m", disk)
	code, _, stderr = run(t, offline(titles("shop", pages)), args...)
	text, err := os.ReadFile(path)
	if code != 0 || err != nil || strings.Count(string(text), "\n") != pages {
		t.Errorf("code %d, %d lines: %v, %s", code, strings.Count(string(text), "\n"), err, stderr)
	}
}

package warc_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// check has the checker, which is written on Python's standard library, read an archive.
func check(t *testing.T, files ...string) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed, which the checker needs")
	}
	out, err := exec.Command("python3", append([]string{filepath.Join("testdata", "check.py")}, files...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

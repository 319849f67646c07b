// Package conformance hands other people's test cases to our tests. The cases are data that does
// not ship with the project: a test that asks for them is skipped, with the reason, unless the
// folder is named on the command line:
//
//	go test ./internal/urlx -conformance /path/to/conformance
package conformance

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var dir = flag.String("conformance", "", "folder that holds the conformance data")

// Path returns the path of a file or folder of the conformance data. It skips the test when no
// data was named, and fails it when the named data does not hold the file.
func Path(t testing.TB, elem ...string) string {
	t.Helper()
	if *dir == "" {
		t.Skip("conformance data is not part of the project; name its folder with -conformance DIR")
	}
	path := filepath.Join(append([]string{*dir}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("conformance: %v", err)
	}
	return path
}

// Read returns the bytes of a file of the conformance data, with the skip rule of [Path].
func Read(t testing.TB, elem ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(Path(t, elem...))
	if err != nil {
		t.Fatalf("conformance: %v", err)
	}
	return data
}

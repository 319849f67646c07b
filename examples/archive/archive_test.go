package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/warc"
)

var update = flag.Bool("update", false, "write the golden file anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The example prints what the better parser changes, and keeps the package that it is told to make.
func TestArchive(t *testing.T) {
	name := filepath.Join(t.TempDir(), "kept.wacz")
	var got bytes.Buffer
	if err := run(t.Context(), []string{name}, &got); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "archive.golden")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	if err := warc.Verify(name); err != nil {
		t.Error(err)
	}
}

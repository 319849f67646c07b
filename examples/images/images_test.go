package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write the golden file anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The example prints books with their pictures, keeps the pictures in the folder that it is given, and asks for none of them twice.
func TestImages(t *testing.T) {
	folder := t.TempDir()
	var got bytes.Buffer
	if err := run(t.Context(), []string{folder}, &got); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "images.golden")
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
	if names, err := filepath.Glob(filepath.Join(folder, "full", "*", "*.png")); len(names) != 12 {
		t.Errorf("%q, %v", names, err)
	}
}

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package parquet_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/parquet"
)

var heldPath = flag.String("held.path", "", "path that TestSecondWriterIsRefused opens in another process")

// A second process is refused when it opens, before the first one has written a row, and takes nothing away from it. It
// fails if the feed is claimed with its first row.
func TestSecondWriterIsRefused(t *testing.T) {
	if *heldPath != "" {
		err := parquet.New[feedtest.Book](*heldPath).Restore(t.Context(), nil)
		var used *feed.InUseError
		if !errors.As(err, &used) || used.Path != *heldPath {
			t.Errorf("the error is %v, want an InUseError of %s", err, *heldPath)
		}
		return
	}
	for _, name := range []string{"books.parquet", "{part}.parquet"} {
		path := filepath.Join(plainDir(t), name)
		second := func() ([]byte, error) {
			return exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSecondWriterIsRefused$", "-held.path="+path).CombinedOutput()
		}
		f := parquet.New[feedtest.Book](path, parquet.StageBytes(1))
		feedtest.Restore(t, f, nil)
		if out, err := second(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if err := process(f, "1", feedtest.Book{SKU: "1", Title: "in the file for rows that wait"}); err != nil {
			t.Fatal(err)
		}
		if out, err := second(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if _, err := f.Prepare(t.Context(), []string{"1"}); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(t.Context(), "finished"); err != nil {
			t.Fatal(err)
		}
		if all, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(all) != 1 {
			t.Errorf("the files are %q", all)
		}
		if rows := readAll[book](t, filepath.Dir(path)); len(rows) != 1 {
			t.Errorf("the rows are %v", rows)
		}
		if _, err := second(); err == nil {
			t.Error("the feed is in use after its end")
		}
	}
}

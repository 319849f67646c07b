//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package warc_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/warc"
)

// A second crawl that would write the same files is refused when it opens, before either has a record. It fails if the
// first file is made with the first record.
func TestSecondCrawlIsRefused(t *testing.T) {
	restore := func(path string, checkpoint []byte) (layer, error) {
		l := create(t, path, warc.Options{}).Layer(answers{}).(layer)
		return l, l.Restore(t.Context(), checkpoint)
	}
	for about, name := range map[string]string{"one file": "a.warc.gz", "parts": "{part}.warc", "folders": "{spider}/{part}.warc.zst"} {
		t.Run(about, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, name)
			first, err := restore(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			none := prepare(t, first) // of a job that has no record yet
			refused := func(checkpoint []byte) {
				t.Helper()
				second, err := restore(path, checkpoint)
				var used *warc.InUseError
				if !errors.As(err, &used) || filepath.Ext(used.Path) != ".open" {
					t.Errorf("the error is %v, want an InUseError", err)
				}
				second.Close(t.Context(), "failed")
			}
			refused(nil)
			refused(none)
			download(first, "1", "http://a.test/1")
			some := prepare(t, first, "1")
			refused(nil)
			refused(none)
			refused(some)
			end(t, first)
			if names := allFiles(t, folder); len(names) != 1 || filepath.Ext(names[0]) == ".open" {
				t.Errorf("the files are %q", names)
			}
			var exists *warc.ExistsError
			for _, checkpoint := range [][]byte{nil, none} {
				if _, err := restore(path, checkpoint); !errors.As(err, &exists) {
					t.Errorf("after the end the error is %v, want an ExistsError", err)
				}
			}
		})
	}
}

// A crawl without a record leaves no file, and a crash before the first record does not keep the next crawl from its file.
func TestEmptyFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.warc.gz")
	end(t, restored(t, path, answers{}, warc.Options{}))
	if names := allFiles(t, folder); len(names) > 0 {
		t.Errorf("a crawl without a record has left %q", names)
	}
	if err := os.WriteFile(path+".open", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := restored(t, path, answers{}, warc.Options{})
	download(l, "1", "http://a.test/1")
	end(t, l, "1")
	if got := readRecords(t, path); len(got) != 3 {
		t.Errorf("the records are %q", got)
	}
}

// allFiles returns all files below a folder.
func allFiles(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

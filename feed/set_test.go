package feed_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/feed"
)

// finishedFiles returns the items of all files that are finished, and checks that none of them was ever changed.
func finishedFiles(t *testing.T, dir string, sums map[string][32]byte) (list []record, open int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") || strings.HasSuffix(path, ".keys") {
			return err
		}
		if strings.HasSuffix(path, ".part") {
			open++
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		if before, known := sums[path]; known && before != sum {
			t.Errorf("%s was changed after it was finished", path)
		}
		sums[path] = sum
		list = append(list, parse(t, path)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list, open
}

// plainDir is TempDir for tests whose names have braces.
func plainDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "feed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// More files than may be open at a time are written in turns, and each item is in one of them.
func TestMoreFilesThanMayBeOpen(t *testing.T) {
	dir := plainDir(t)
	f := feed.JSONL(filepath.Join(dir, "{item.ID}-{part}.jsonl"), feed.Rotate(feed.Rotation{Items: 3}))
	restore(t, f, nil)
	want := make(map[string]bool)
	for n := range 1500 {
		r := record{ID: n % 300, Text: fmt.Sprint(n)}
		put(t, f, "a", r)
		if want[r.Text] = true; n%100 == 99 {
			prepare(t, f, "a")
		}
	}
	end(t, f)
	list, open := finishedFiles(t, dir, make(map[string][32]byte))
	for _, r := range list {
		delete(want, r.Text)
	}
	if len(list) != 1500 || len(want) > 0 || open > 0 {
		t.Errorf("%d items, %d are missing, %d files are not finished", len(list), len(want), open)
	}
}

// A feed begins as many files as it may and no more, in all runs of a job. What was stored stays, and the job goes on with a higher bound.
func TestMostFiles(t *testing.T) {
	path := filepath.Join(plainDir(t), "{item.ID}-{part}.jsonl")
	f := feed.JSONL(path, feed.MostFiles(3))
	restore(t, f, nil)
	for _, id := range []int{1, 2, 1, 2} {
		put(t, f, "a", record{ID: id})
	}
	checkpoint := prepare(t, f, "a")
	if err := f.Close(t.Context(), "stopped"); err != nil {
		t.Fatal(err)
	}

	f = feed.JSONL(path, feed.MostFiles(3))
	restore(t, f, checkpoint)
	put(t, f, "b", record{ID: 3})
	checkpoint = prepare(t, f, "b")
	put(t, f, "c", record{ID: 4})
	var many *feed.ManyFilesError
	if _, err := f.Prepare(t.Context(), []string{"c"}); !errors.As(err, &many) || many.Most != 3 || many.Path != path {
		t.Fatalf("the fourth file: %v", err)
	}
	_ = f.Close(t.Context(), "failed")

	f = feed.JSONL(path, feed.MostFiles(4))
	restore(t, f, checkpoint)
	put(t, f, "c", record{ID: 4})
	prepare(t, f, "c")
	end(t, f)
	list, open := finishedFiles(t, filepath.Dir(path), make(map[string][32]byte))
	if len(list) != 6 || open > 0 {
		t.Errorf("%d items, %d files are not finished", len(list), open)
	}
}

// Values cannot lead out of the folder.
func TestValuesInNames(t *testing.T) {
	dir := t.TempDir()
	f := feed.JSONL(filepath.Join(dir, "{item.text}-{part}.jsonl"))
	restore(t, f, nil)
	bad := []string{"", ".", "..", "...", "a\x00b", "CON", "nul.txt", "Com7", "\xff", strings.Repeat("x", 101), " "}
	for _, text := range bad {
		var name *feed.NameError
		if err := process(f, "bad", record{Text: text}); !errors.As(err, &name) || name.Value != text {
			t.Errorf("%q: %v", text, err)
		}
	}
	good := map[string]string{"../../etc/passwd": "..%2F..%2Fetc%2Fpasswd-0001.jsonl", `a\b:c`: "a%5Cb%3Ac-0002.jsonl", "100%": "100%25-0003.jsonl", "日本": "日本-0004.jsonl"}
	for _, text := range []string{"../../etc/passwd", `a\b:c`, "100%", "日本"} {
		put(t, f, "good", record{Text: text})
	}
	prepare(t, f, "good")
	end(t, f)
	for text, name := range good {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

package feed_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
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

// A job whose files rotate is killed again and again. At the end each item is once in a finished file, each file was whole and never
// changed from the moment when it got its name, no file has more items than it may, and nothing is left beside them.
func TestRotationOverCrashes(t *testing.T) {
	seed := deep.Seed()
	for _, name := range []string{"{start}-{part}", "by-tag/{item.tags}/{part}", "by-id/{item.ID}-{part}"} {
		for _, ending := range []string{".jsonl", ".json.gz", ".csv", ".csv.zst", ".xml"} {
			t.Run(name+ending, func(t *testing.T) {
				t.Parallel()
				t.Logf("seed %d", seed)
				random := rand.New(rand.NewPCG(seed, 1))
				dir := plainDir(t)
				path := filepath.Join(dir, name+ending)
				const most = 7
				sums := make(map[string][32]byte)
				f := makeFeed(path, feed.Rotate(feed.Rotation{Items: most}))
				checkpoint := restore(t, f, nil)
				var want []int
				next := 0
				rounds := deep.Rounds(8, 20)
				if name+ending == "by-id/{item.ID}-{part}.jsonl" {
					rounds = 50 // more files than may be open
				}
				for range rounds {
					batch := random.IntN(25)
					var ids []string
					first := next
					for range batch {
						r := record{next, fmt.Sprint("text ", next), []string{string(rune('a' + random.IntN(6)))}}
						if strings.Contains(name, "item.ID") {
							r.ID = next % 300
						}
						id := fmt.Sprint("r", next)
						put(t, f, id, r)
						ids, next = append(ids, id), next+1
						r.ID = next
					}
					stored := prepare(t, f, ids...)
					if random.IntN(3) == 0 {
						f = makeFeed(path, feed.Rotate(feed.Rotation{Items: most}))
						restore(t, f, checkpoint)
						next = first
						continue
					}
					for i := first; i < next; i++ {
						want = append(want, i)
					}
					checkpoint = stored
					finishedFiles(t, dir, sums)
				}
				end(t, f)
				list, open := finishedFiles(t, dir, sums)
				var got []int
				for _, r := range list {
					var n int
					fmt.Sscanf(r.Text, "text %d", &n)
					got = append(got, n)
				}
				slices.Sort(got)
				if !slices.Equal(got, want) || open > 0 {
					t.Errorf("%d items in finished files, want %d; %d files are not finished", len(got), len(want), open)
				}
				for file := range sums {
					if n := len(parse(t, file)); n > most || n == 0 {
						t.Errorf("%s has %d items", file, n)
					}
				}
				if left, err := filepath.Glob(filepath.Join(dir, "*", ".*")); err != nil || len(left) > 0 {
					t.Errorf("left: %q, %v", left, err)
				}
			})
		}
	}
}

func TestBadTemplates(t *testing.T) {
	for path, says := range map[string]string{
		"{who}.jsonl":       "{who}",
		"a{.jsonl":          "written twice",
		"a}.jsonl":          "written twice",
		"{item.}.jsonl":     "{item.}",
		"{item.tag}.jsonl":  "{part}",
		"{part}{spider":     "written twice",
		"plain/{time.jsonl": "written twice",
	} {
		if err := feed.JSONL(path).Restore(t.Context(), nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := feed.JSONL("x.jsonl", feed.Rotate(feed.Rotation{Items: 1})).Restore(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "{part}") {
		t.Errorf("Rotate without a field: %v", err)
	}
	if err := feed.JSONL("{part}.jsonl", feed.Rotate(feed.Rotation{})).Restore(t.Context(), nil); err == nil {
		t.Error("Rotate without a bound")
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

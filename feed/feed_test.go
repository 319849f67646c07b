package feed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
)

// restore begins a run, or fails the test.
func restore(t *testing.T, f *feed.Feed, checkpoint []byte) []byte {
	t.Helper()
	if err := f.Restore(t.Context(), checkpoint); err != nil {
		t.Fatal(err)
	}
	if checkpoint != nil {
		return checkpoint
	}
	return prepare(t, f)
}

func prepare(t *testing.T, f *feed.Feed, ids ...string) []byte {
	t.Helper()
	checkpoint, err := f.Prepare(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	return checkpoint
}

func put(t *testing.T, f *feed.Feed, id string, item any) {
	t.Helper()
	if err := f.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: id, Item: item}); err != nil {
		t.Fatal(err)
	}
}

func end(t *testing.T, f *feed.Feed) {
	t.Helper()
	if err := f.Close(t.Context(), "finished"); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || string(text) != want {
		t.Errorf("%s holds %q, %v; want %q", filepath.Base(path), text, err, want)
	}
}

func TestStaging(t *testing.T) {
	for _, bound := range []int{1 << 20, 6, 0} { // in memory, some of it, all in the spool
		t.Run(fmt.Sprint("bound ", bound), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out.jsonl")
			f := feed.JSONL(path, feed.StageBytes(bound))
			if !f.ExactlyOnce() {
				t.Error("a file is not exactly once")
			}
			restore(t, f, nil)
			put(t, f, "a", "a1")
			put(t, f, "b", "<b&>")
			put(t, f, "a", map[string]int{"n": 2})
			put(t, f, "c", "c1")
			wantFile(t, path, "")
			prepare(t, f, "c", "unknown")
			wantFile(t, path, "\"c1\"\n")
			f.Discard("b")
			f.Discard("unknown")
			put(t, f, "b", "again")
			put(t, f, "left", "over")
			prepare(t, f, "a", "b")
			want := "\"c1\"\n\"a1\"\n{\"n\":2}\n\"again\"\n"
			wantFile(t, path, want)
			prepare(t, f, "a", "b", "c")
			wantFile(t, path, want)
			end(t, f)
			end(t, f) // once more does nothing
			wantFile(t, path, want)
			if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
				t.Errorf("left behind: %q", left)
			}
			if _, err := f.Prepare(t.Context(), nil); err == nil {
				t.Error("a closed feed prepares")
			}
		})
	}
}

func TestSpoolIsEmptied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	f := feed.JSONL(path, feed.StageBytes(0))
	restore(t, f, nil)
	defer end(t, f)
	for i := range 5 {
		put(t, f, "a", strings.Repeat("x", 1000))
		put(t, f, "b", "b")
		info, err := os.Stat(path + ".spool")
		if err != nil || info.Size() != 1002+3 {
			t.Fatalf("round %d: %v, %v", i, info.Size(), err)
		}
		prepare(t, f, "a")
		f.Discard("b")
		if info, err := os.Stat(path + ".spool"); err != nil || info.Size() != 0 {
			t.Fatalf("round %d: %v, %v", i, info.Size(), err)
		}
	}
}

func TestLargeBatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	f := feed.JSONL(path, feed.StageBytes(1<<20))
	restore(t, f, nil)
	var want strings.Builder
	var ids []string
	for i := range 40 {
		id := fmt.Sprint(i)
		ids = append(ids, id)
		item := strings.Repeat(id, 100_000/len(id))
		put(t, f, id, item)
		want.WriteString("\"" + item + "\"\n")
	}
	checkpoint := prepare(t, f, ids...)
	end(t, f)
	wantFile(t, path, want.String())
	restore(t, f, checkpoint)
	end(t, f)
}

func TestConcurrentItems(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	f := feed.JSONL(path, feed.StageBytes(1000))
	restore(t, f, nil)
	var wg sync.WaitGroup
	var ids []string
	for w := range 8 {
		id := fmt.Sprint("id", w)
		ids = append(ids, id)
		wg.Go(func() {
			for i := range 100 {
				if err := f.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: id, Item: w*1000 + i}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	prepare(t, f, ids...)
	end(t, f)
	var want strings.Builder
	for w := range 8 {
		for i := range 100 {
			fmt.Fprintln(&want, w*1000+i)
		}
	}
	wantFile(t, path, want.String())
}

func TestNewJob(t *testing.T) {
	for _, test := range []struct {
		name, before string
		opts         []feed.Option
		want         string // "": refused
	}{
		{"empty", "", nil, "1\n"},
		{"append to an empty one", "", []feed.Option{feed.Append()}, "1\n"},
		{"refused", "old\n", nil, ""},
		{"append", "\"old\"\n", []feed.Option{feed.Append()}, "\"old\"\n1\n"},
		{"append to a line that has no end", "\"old\"", []feed.Option{feed.Append()}, "\"old\"\n1\n"},
		{"overwrite", "old\n", []feed.Option{feed.Overwrite()}, "1\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out.jsonl")
			write(t, path, test.before)
			f := feed.JSONL(path, test.opts...)
			if test.want == "" {
				var full *feed.NotEmptyError
				if err := f.Restore(t.Context(), nil); !errors.As(err, &full) || full.Path != path || !strings.Contains(err.Error(), "choose Append or Overwrite") {
					t.Errorf("error %v", err)
				}
				wantFile(t, path, test.before)
				end(t, f)
				return
			}
			// A crash before the first checkpoint is stored changes nothing.
			for range 2 {
				if err := f.Restore(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
			checkpoint := prepare(t, f)
			put(t, f, "a", 1)
			prepare(t, f, "a")
			wantFile(t, path, test.want)
			end(t, f)
			restore(t, f, checkpoint) // what was not settled is cut off
			put(t, f, "a", 1)
			prepare(t, f, "a")
			end(t, f)
			wantFile(t, path, test.want)
		})
	}
}

func TestResume(t *testing.T) {
	long := strings.Repeat("\"abcdefg\"\n", 1000)
	for _, test := range []struct {
		name   string
		change func(text string) string
		want   string // of the error; "" = none
	}{
		{"as it was", func(s string) string { return s }, ""},
		{"longer", func(s string) string { return s + "not settled\nnor ended" }, ""},
		{"shorter", func(s string) string { return s[:len(s)-1] }, "bytes, there were"},
		{"empty", func(string) string { return "" }, "it has 0 bytes"},
		{"changed at the end", func(s string) string { return s[:len(s)-2] + "#\n" }, "have changed"},
		{"another, longer one", func(s string) string { return strings.Repeat("#", 2*len(s)) }, "have changed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out.jsonl")
			write(t, path, long)
			f := feed.JSONL(path, feed.Append())
			restore(t, f, nil)
			put(t, f, "a", "item")
			checkpoint := prepare(t, f, "a")
			end(t, f)
			whole := long + "\"item\"\n"
			write(t, path, test.change(whole))
			err := f.Restore(t.Context(), checkpoint)
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				end(t, f)
				wantFile(t, path, whole)
				return
			}
			var corrupt *feed.CorruptError
			if !errors.As(err, &corrupt) || corrupt.Path != path || corrupt.Err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want it to say %q", err, test.want)
			}
			wantFile(t, path, test.change(whole)) // it was not touched
		})
	}
	t.Run("bad checkpoint", func(t *testing.T) {
		for _, checkpoint := range []string{"", "x", `{"offset":-1}`, `{"offset":"1"}`} {
			f := feed.JSONL(filepath.Join(t.TempDir(), "out"))
			var corrupt *feed.CorruptError
			if err := f.Restore(t.Context(), []byte(checkpoint)); !errors.As(err, &corrupt) {
				t.Errorf("of %q: %v", checkpoint, err)
			}
		}
	})
}

func TestSelectAndKeys(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "strings.jsonl")
	f := feed.JSONL(path, feed.Priority(7), feed.Select(func(item tegenaria.ItemInterface) bool {
		_, ok := item.(string)
		return ok
	}))
	if f.CommitKey() != "feed:"+filepath.ToSlash(path) || f.GetPriority() != 7 {
		t.Errorf("key %q, priority %d", f.CommitKey(), f.GetPriority())
	}
	if key := feed.JSONL("x", feed.Key("mine")).CommitKey(); key != "mine" {
		t.Errorf("key %q", key)
	}
	written(t, f, []any{1, "one"})
	wantFile(t, path, "\"one\"\n")
}

func TestBadItem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	f := feed.JSONL(path)
	restore(t, f, nil)
	err := f.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: "a", Item: math.NaN()})
	if err == nil || !strings.Contains(err.Error(), "float64") {
		t.Errorf("error %v", err)
	}
	put(t, f, "a", "good")
	prepare(t, f, "a")
	end(t, f)
	wantFile(t, path, "\"good\"\n")
}

func TestStreams(t *testing.T) {
	t.Run("writer", func(t *testing.T) {
		var out bytes.Buffer
		f := feed.JSONLTo(&out)
		if f.ExactlyOnce() {
			t.Error("a writer is exactly once")
		}
		checkpoint := restore(t, f, nil)
		put(t, f, "a", 1)
		prepare(t, f, "a")
		end(t, f)
		restore(t, f, append(checkpoint, "{}"...)) // whatever it is: there is nothing to cut
		put(t, f, "b", 2)
		prepare(t, f, "b")
		end(t, f)
		if out.String() != "1\n2\n" {
			t.Errorf("got %q", &out)
		}
	})
	t.Run("device", func(t *testing.T) {
		f := feed.JSONL(os.DevNull)
		if f.ExactlyOnce() {
			t.Errorf("%s is exactly once", os.DevNull)
		}
		written(t, f, []any{1})
	})
	t.Run("standard output", func(t *testing.T) {
		if f := feed.JSONL("-"); f.ExactlyOnce() || f.CommitKey() != "feed:-" {
			t.Errorf("%v, %q", f.ExactlyOnce(), f.CommitKey())
		}
	})
}

// brokenFS fails at what is not nil.
type brokenFS struct{ open, write, sync, truncate error }

func (b *brokenFS) Open(name string) (feed.File, error) {
	return &brokenFile{broken: b, spool: strings.HasSuffix(name, ".spool")}, b.open
}

func (b *brokenFS) Remove(string) error { return nil }

type brokenFile struct {
	broken *brokenFS
	data   []byte
	spool  bool
}

func (f *brokenFile) ReadAt(p []byte, at int64) (int, error) { return copy(p, f.data[at:]), nil }

func (f *brokenFile) WriteAt(p []byte, at int64) (int, error) {
	if f.broken.write != nil {
		return 0, f.broken.write
	}
	f.data = append(f.data[:at], p...)
	return len(p), nil
}

func (f *brokenFile) Size() (int64, error) { return int64(len(f.data)), nil }
func (f *brokenFile) Truncate(int64) error { return f.broken.truncate }
func (f *brokenFile) Sync() error          { return f.broken.sync }
func (f *brokenFile) Close() error         { return nil }

// An error of the disk ends the run: nothing is settled whose items are not stored.
func TestDiskErrors(t *testing.T) {
	full := errors.New("no space left")
	for _, test := range []struct {
		name  string
		bound int
		fail  func(fs *brokenFS)
	}{
		{"write", 1000, func(fs *brokenFS) { fs.write = full }},
		{"sync", 1000, func(fs *brokenFS) { fs.sync = full }},
		{"open of the spool", 0, func(fs *brokenFS) { fs.open = full }},
		{"write of the spool", 0, func(fs *brokenFS) { fs.write = full }},
		{"truncation of the spool", 0, func(fs *brokenFS) { fs.truncate = full }},
	} {
		t.Run(test.name, func(t *testing.T) {
			fs := &brokenFS{}
			f := feed.JSONL("out", feed.WithFS(fs), feed.StageBytes(test.bound))
			restore(t, f, nil)
			test.fail(fs)
			item := &tegenaria.ItemMeta{CtxId: "a", Item: 1}
			if err := f.ProcessItem(nil, item); err != nil && !errors.Is(err, full) {
				t.Error(err)
			}
			if checkpoint, err := f.Prepare(t.Context(), []string{"a"}); !errors.Is(err, full) {
				t.Errorf("Prepare: %q, %v", checkpoint, err)
			}
			*fs = brokenFS{}
			end(t, f)
		})
	}
	t.Run("open", func(t *testing.T) {
		if err := feed.JSONL("out", feed.WithFS(&brokenFS{open: full})).Restore(t.Context(), nil); !errors.Is(err, full) {
			t.Error(err)
		}
		if err := feed.JSONL(filepath.Join(t.TempDir(), "no", "such")).Restore(t.Context(), nil); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	})
}

func BenchmarkFeed(b *testing.B) {
	type product struct {
		Name, Description string
		Price             float64
		Tags              []string
	}
	f := feed.JSONL(filepath.Join(b.TempDir(), "out.jsonl"))
	if err := f.Restore(context.Background(), nil); err != nil {
		b.Fatal(err)
	}
	item := &tegenaria.ItemMeta{CtxId: "a", Item: product{"A product", strings.Repeat("text ", 30), 12.5, []string{"new", "red"}}}
	ids := []string{"a"}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := f.ProcessItem(nil, item); err != nil {
			b.Fatal(err)
		}
		if i%100 == 99 { // a batch, with its synced write
			if _, err := f.Prepare(context.Background(), ids); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := f.Close(context.Background(), ""); err != nil {
		b.Fatal(err)
	}
}

// A feed counts what it has written, left out and refused. It fails if items of requests that run again are counted.
func TestFeedStats(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out-{part}.jsonl")
	sku := func(item any) string {
		if r, ok := item.(record); ok {
			return idOf(r)
		}
		return ""
	}
	f := feed.JSONL(path, feed.Unique(sku), feed.Rotate(feed.Rotation{Items: 2}))
	restore(t, f, nil)
	for i, id := range []int{1, 2, 1, 3} {
		put(t, f, fmt.Sprint(i), record{ID: id})
	}
	if err := process(f, "x", math.NaN()); err == nil {
		t.Error("NaN was taken")
	}
	f.Discard("3")
	prepare(t, f, "0", "1", "2", "x")
	end(t, f)
	line := int64(len(`{"id":1,"text":"","tags":null}` + "\n"))
	if got, want := f.FeedStats(), (tegenaria.FeedStats{Name: path, Written: 2, Duplicate: 1, Failed: 1, Bytes: 2 * line, Parts: 1}); got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// An item whose fields nobody can see fails, in each format; it fails if it is written as {}.
func TestInvisibleFields(t *testing.T) {
	type hidden struct{ title string }
	for _, ending := range formatEndings {
		f := makeFeed(filepath.Join(t.TempDir(), "out"+ending))
		restore(t, f, nil)
		var none *feed.NoFieldsError
		for _, item := range []any{hidden{"a"}, &hidden{"a"}} {
			if err := process(f, "a", item); !errors.As(err, &none) || !strings.Contains(err.Error(), "capital letter") {
				t.Errorf("%s: %T: %v", ending, item, err)
			}
		}
		put(t, f, "a", record{ID: 1})
		prepare(t, f, "a")
		end(t, f)
	}
	_ = hidden{}.title
}

// A feed with many files that appends takes the next names that are free, and changes no file of another job.
func TestAppendToFiles(t *testing.T) {
	dir := plainDir(t)
	write(t, filepath.Join(dir, "0001.jsonl"), "mine\n")
	write(t, filepath.Join(dir, "0003.jsonl"), "mine too\n")
	f := feed.JSONL(filepath.Join(dir, "{part}.jsonl"), feed.Append(), feed.Rotate(feed.Rotation{Items: 1}))
	restore(t, f, nil)
	for i := range 2 {
		put(t, f, fmt.Sprint(i), i)
		prepare(t, f, fmt.Sprint(i))
	}
	end(t, f)
	for name, want := range map[string]string{"0001": "mine\n", "0002": "0\n", "0003": "mine too\n", "0004": "1\n"} {
		wantFile(t, filepath.Join(dir, name+".jsonl"), want)
	}
}

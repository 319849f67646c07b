package disk_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// unclosed is a feed whose process is killed before it is closed.
type unclosed struct{ *feed.Feed }

func (unclosed) Close(context.Context, string) error { return errors.New("killed") }

// The process of a job is killed between its end and the closing of the file: the next run cuts what was not settled,
// and completes the file. A run after that touches nothing, whatever somebody has done with the file.
func TestOutputsOfAFinishedJob(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "items.jsonl")
	const items, rest, users = "\"http://a.test/\"\n", "\"not settled\"\n", "\"added by hand\"\n"
	run := func(output tegenaria.PipelinesInterface) error {
		store, err := disk.Open(filepath.Join(folder, "job"))
		if err != nil {
			t.Fatal(err)
		}
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			items <- tegenaria.NewItem(ctx, ctx.Request.Url)
			return nil
		}
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
		return errors.Join(enginetest.NewEngine(w, s, tegenaria.EngineWithCache(store), tegenaria.EngineWithPipelines(output)).Run(t.Context(), s.GetName()), store.Close())
	}
	add := func(text string) {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when, text string) {
		t.Helper()
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("%s the file is %q, want %q: %v", when, got, text, err)
		}
	}
	killed := unclosed{feed.JSONL(file)}
	if err := run(killed); err == nil {
		t.Fatal("the first run has closed its file")
	}
	_ = killed.Feed.Close(t.Context(), "") // which gives its lock up, as the death of a process does
	add(rest)
	if err := run(feed.JSONL(file)); err != nil {
		t.Fatal(err)
	}
	want("when the next run has completed it", items)
	add(users)
	if err := run(feed.JSONL(file)); err != nil {
		t.Fatal(err)
	}
	want("after one more run", items+users)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := run(feed.JSONL(file)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a run has made the file again that somebody has removed")
	}
}

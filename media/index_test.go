package media_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed/s3"
	"github.com/tegenaria/tegenaria/media"
)

var _ media.Store = (*s3.Bucket)(nil)

// once crawls one page with one file, days after the first time, and returns what became of the file.
func once(t *testing.T, g *gallery, dir, path string, days int) media.Result {
	t.Helper()
	p := media.New(media.Options{Dir: dir})
	p.SetClock(func() time.Time { return time.Date(2026, 1, 1+days, 0, 0, 0, 0, time.UTC) })
	items, _, err := crawl(t, g.URL, 1, func(int) []any { return []any{product{File: path}} }, tegenaria.EngineWithPipelines(p))
	if err != nil || len(items) != 1 {
		t.Fatal(err, items)
	}
	return items[0].(product).Document
}

// Other runs ask for a file again when it is old, and whether it has changed. It fails if a fresh file is asked for, or one that is
// gone is not.
func TestIndex(t *testing.T) {
	g, dir := newGallery(t), t.TempDir()
	g.files["/a.txt"] = []byte("one text")
	step := func(days int, want media.Status, asked, sent int) media.Result {
		t.Helper()
		r := once(t, g, dir, "/a.txt", days)
		if r.Status != want || g.times("/a.txt") != asked || g.sent["/a.txt"] != sent {
			t.Errorf("day %d: %+v, asked for %d times, sent %d times", days, r, g.times("/a.txt"), g.sent["/a.txt"])
		}
		if want != media.Failed {
			stored(t, dir, r)
		}
		return r
	}
	first := step(0, media.Downloaded, 1, 1)
	step(89, media.Kept, 1, 1)
	step(91, media.Unchanged, 2, 1)
	step(180, media.Kept, 2, 1) // the answer of day 91 counts
	g.files["/a.txt"] = []byte("another text")
	step(182, media.Downloaded, 3, 2)
	if err := os.Remove(filepath.Join(dir, once(t, g, dir, "/a.txt", 183).Path)); err != nil {
		t.Fatal(err)
	}
	step(184, media.Downloaded, 4, 3)
	stored(t, dir, first) // a file that no URL has any more stays
	entries, err := filepath.Glob(filepath.Join(dir, ".index", "*", "*.json"))
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	for i, damage := range []string{"", "{", "[]", "\x00\x00\x00\x00", `{"Result":{"URL":"http://other.test/"}}`, `{"Result":{"Path":"../../x"}}`} {
		if err := os.WriteFile(entries[0], []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		step(185, media.Downloaded, 5+i, 4+i)
	}
	delete(g.files, "/a.txt")
	if err := os.Remove(entries[0]); err != nil {
		t.Fatal(err)
	}
	step(186, media.Failed, 11, 9)
	step(186, media.Failed, 12, 9) // another run tries again
}

// Items that want the same file at the same time wait for one download, also when the page of the first one is given up.
func TestOneDownload(t *testing.T) {
	g, dir := newGallery(t), t.TempDir()
	g.serve["/a.txt"] = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "a text")
	}
	items, _, err := crawl(t, g.URL, 20, func(n int) []any {
		many := make([]any, 20)
		for i := range many {
			many[i] = &product{File: "/a.txt", Name: fmt.Sprint(n, i)}
		}
		return many
	}, tegenaria.EngineWithPipelines(media.New(media.Options{Dir: dir})), tegenaria.EngineWithItemConcurrency(32))
	if err != nil || len(items) != 400 || g.times("/a.txt") != 1 {
		t.Fatalf("%d items, asked for %d times, %v", len(items), g.times("/a.txt"), err)
	}
	kept := 0
	for _, item := range items {
		if item.(*product).Document.Status == media.Kept {
			kept++
		}
		stored(t, dir, item.(*product).Document)
	}
	if kept != 399 {
		t.Errorf("%d of 400 were kept", kept)
	}
}

// store is a Store that fails as often as it is told.
type store struct {
	mu    sync.Mutex
	fails int
	files map[string]string
}

func (s *store) Send(ctx context.Context, name string, file io.ReadSeeker, size int64) error {
	text, err := io.ReadAll(file)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil || int64(len(text)) != size:
		return fmt.Errorf("%d of %d bytes: %w", len(text), size, err)
	case s.fails > 0:
		s.fails--
		return errors.New("the store is away")
	case ctx.Err() != nil:
		return ctx.Err()
	}
	s.files[name] = string(text)
	return nil
}

// A Store that fails is tried again, and ends the run when patience is over.
func TestStore(t *testing.T) {
	for _, test := range []struct {
		fails int
		gives bool
	}{{0, false}, {3, false}, {1000, true}} {
		synctest.Test(t, func(t *testing.T) {
			s, dir := &store{fails: test.fails, files: make(map[string]string)}, t.TempDir()
			site := tegenaria.EngineWithDownloader(answers{})
			items, _, err := crawl(t, "http://shop.test", 1, func(int) []any { return []any{product{File: "/a.txt"}} },
				tegenaria.EngineWithPipelines(media.New(media.Options{Dir: dir, Store: s, Patience: time.Minute})), site)
			var failed *media.StoreError
			if test.gives {
				if !errors.As(err, &failed) || len(items) > 0 || !strings.Contains(err.Error(), "the store is away") {
					t.Errorf("%v, %v", items, err)
				}
				return
			}
			if err != nil || len(items) != 1 {
				t.Fatal(items, err)
			}
			r := items[0].(product).Document
			if s.files[r.Path] != "the text" || len(s.files) != 1 || r.Checksum == "" {
				t.Errorf("%+v, %q", r, s.files)
			}
			noDrafts(t, dir)
		})
	}
}

// answers answers all requests, with bodies in memory.
type answers struct{}

func (answers) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, http.StatusOK, nil, []byte("the text"))}
	result <- ctx
}

func (answers) CheckStatus(status uint64, _ []uint64) bool { return status < 400 }

// A disk that refuses files ends the run with nothing settled. After the cure the same job goes on, and has each item once.
func TestDiskFails(t *testing.T) {
	g, dir := newGallery(t), t.TempDir()
	g.files["/a.txt"] = []byte("a text")
	files := filepath.Join(dir, "files")
	run := func() ([]any, error) {
		cache, err := disk.Open(filepath.Join(dir, "job"))
		if err != nil {
			t.Fatal(err)
		}
		items, _, err := crawl(t, g.URL, 3, func(n int) []any { return []any{product{File: "/a.txt", Name: fmt.Sprint(n)}} },
			tegenaria.EngineWithCache(cache), tegenaria.EngineWithPipelines(media.New(media.Options{Dir: files})))
		return items, errors.Join(err, cache.Close())
	}
	if err := os.MkdirAll(files, 0o700); err != nil {
		t.Fatal(err)
	}
	block := filepath.Join(files, "full")
	if err := os.WriteFile(block, nil, 0o600); err != nil { // where a folder should be
		t.Fatal(err)
	}
	items, err := run()
	var failed *media.StoreError
	if !errors.As(err, &failed) || !strings.HasPrefix(failed.Path, block) || len(items) > 0 {
		t.Fatalf("%v, %v", items, err)
	}
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	items, err = run()
	if err != nil || len(items) != 3 {
		t.Fatalf("%v, %v", items, err)
	}
	for _, item := range items {
		stored(t, files, item.(product).Document)
	}
	noDrafts(t, files)
}

package media_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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
	for i, damage := range []string{"", "{", "[]", "\x00\x00\x00\x00", `{"result":{"url":"http://other.test/"}}`, `{"result":{"path":"../../x"}}`} {
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
			noTempFiles(t, dir)
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
	noTempFiles(t, files)
}

// A run with other bounds than those of an earlier one keeps no file that breaks them, and asks for none again: neither for those that
// it refuses, nor for those that a run after it allows again.
func TestOtherBounds(t *testing.T) {
	g, dir := newGallery(t), t.TempDir()
	g.files["/wide.jpg"] = jpegOf(paint(300, 100, 1))
	g.files["/high.png"] = withEXIFofPNG(pngOf(paint(200, 80, 2)), 6) // is shown as 80 × 200
	g.files["/a.pdf"] = []byte("%PDF-1.7 and so on")
	images := []string{"/wide.jpg", "/high.png"}
	open := media.Options{Images: true}
	converts := media.Options{Images: true, Convert: media.PNG}
	tests := []struct {
		name    string
		first   media.Options
		second  func(*media.Options)
		refused string // Result.Error by picture or file; "" is kept
		which   []int  // of wide.jpg, high.png, a.pdf
	}{
		{"the same", open, func(*media.Options) {}, "", nil},
		{"Min width", open, func(o *media.Options) { o.Min.X = 100 }, "80 pixels wide, less than 100, see Options.Min", []int{1}},
		{"Min height", open, func(o *media.Options) { o.Min.Y = 150 }, "100 pixels high, less than 150, see Options.Min", []int{0}},
		{"Max width", open, func(o *media.Options) { o.Max.X = 299 }, "300 pixels wide, more than 299, see Options.Max", []int{0}},
		{"Max height", open, func(o *media.Options) { o.Max.Y = 199 }, "200 pixels high, more than 199, see Options.Max", []int{1}},
		{"Pixels", open, func(o *media.Options) { o.Pixels = 29_999 }, "30000 pixels, more than 29999, see Options.Pixels", []int{0}},
		{"Types", open, func(o *media.Options) { o.Types = []string{"text/"} }, "the content is application/pdf, which Options.Types does not allow", []int{2}},
		{"Size", open, func(o *media.Options) { o.Size = 20 }, " bytes, more than 20, see Options.Size", []int{0, 1}},
		{"Size of what came, not of what was made of it", converts, func(o *media.Options) { o.Size = int64(len(g.files["/wide.jpg"])) }, "", nil},
		{"Size of what came, smaller", converts, func(o *media.Options) { o.Size = int64(len(g.files["/wide.jpg"])) - 1 }, " bytes, more than ", []int{0}},
	}
	for _, fresh := range []bool{true, false} {
		for i, test := range tests {
			if !fresh && i%3 != 0 { // enough of them to see that a file which has not changed is judged, too
				continue
			}
			name := fmt.Sprintf("%s, fresh %t", test.name, fresh)
			run := func(days int, o media.Options) []media.Result {
				t.Helper()
				o.Dir = filepath.Join(dir, fmt.Sprint(i, fresh))
				p := media.New(o)
				p.SetClock(func() time.Time { return time.Date(2026, 1, 1+days, 0, 0, 0, 0, time.UTC) })
				items, _, err := crawl(t, g.URL, 1, func(int) []any { return []any{product{Images: images, File: "/a.pdf"}} }, tegenaria.EngineWithPipelines(p))
				if err != nil || len(items) != 1 {
					t.Fatal(name, items, err)
				}
				got := items[0].(product)
				return append(got.Pictures, got.Document)
			}
			first := run(0, test.first)
			sent := g.sent["/wide.jpg"] + g.sent["/high.png"] + g.sent["/a.pdf"]
			second, days, want := test.first, 1, media.Kept
			if !fresh {
				days, want = 100, media.Unchanged
			}
			test.second(&second)
			for n, r := range run(days, second) {
				if slices.Contains(test.which, n) {
					if r.Status != media.Failed || !strings.Contains(r.Error, test.refused) || r.Path != "" || r.URL != first[n].URL {
						t.Errorf("%s: %+v, want %q", name, r, test.refused)
					}
				} else if r.Status != want || r.Path != first[n].Path {
					t.Errorf("%s: %+v, want that of %+v", name, r, first[n])
				}
			}
			for n, r := range run(days+1, test.first) {
				if r.Status != media.Kept || r.Path != first[n].Path {
					t.Errorf("%s, allowed again: %+v", name, r)
				}
			}
			if now := g.sent["/wide.jpg"] + g.sent["/high.png"] + g.sent["/a.pdf"]; now != sent {
				t.Errorf("%s: %d files were sent again", name, now-sent)
			}
		}
	}
}

// A file that an earlier run has kept in its folder is not taken for one of a Store.
func TestStoreIsAnotherPlace(t *testing.T) {
	g, dir := newGallery(t), t.TempDir()
	g.files["/a.txt"] = []byte("a text")
	s := &store{files: make(map[string]string)}
	for _, o := range []media.Options{{Dir: dir}, {Dir: dir, Store: s}, {Dir: dir, Store: s}} {
		if _, _, err := crawl(t, g.URL, 1, func(int) []any { return []any{product{File: "/a.txt"}} }, tegenaria.EngineWithPipelines(media.New(o))); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.files) != 1 || g.sent["/a.txt"] != 2 {
		t.Errorf("the store has %q, the file was sent %d times", s.files, g.sent["/a.txt"])
	}
}

//go:build unix

package media_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/israce"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/media"
)

var manyFiles = flag.Int("many", 60, "files of TestMany")

// manyPlan is the crawl of TestMany.
type manyPlan struct {
	Folder, Site string
	Files        int
}

const manyPerPage = 20

// manyItems are the items of a page: each of its files is wanted by two of them.
func manyItems(page int) []any {
	var p product
	for i := range manyPerPage {
		p.Images = append(p.Images, fmt.Sprintf("/file/%d.jpg", page*manyPerPage+i))
	}
	q := p
	p.Name, q.Name = fmt.Sprint(page, "a"), fmt.Sprint(page, "b")
	return []any{p, q}
}

// many crawls in a process of its own, with the default bounds.
var many = killtest.NewProgram("many", func(plan manyPlan) error {
	p := media.New(media.Options{Dir: filepath.Join(plan.Folder, "files"), Images: true, Thumbs: map[string]image.Point{"small": {X: 120, Y: 120}}})
	return newEngine(plan.Site, plan.Files/manyPerPage, manyItems,
		tegenaria.EngineWithPipelines(p, feed.JSONL(filepath.Join(plan.Folder, "items.jsonl")))).Run(context.Background(), "gallery")
})

// A site has many files of all kinds, good and bad. Each is asked for once, all results are right, and in a deep check
// memory stays within a bound.
func TestMany(t *testing.T) {
	g, dir := newGallery(t), t.TempDir()
	const w, h = 1600, 1200
	kinds := []struct {
		file   []byte
		width  int
		ending string // "" fails
		wrong  string
	}{
		{jpegOf(paint(w, h, 1)), w, ".jpg", ""},
		{withEXIF(jpegOf(paint(w, h, 2)), 8), h, ".jpg", ""},
		{pngOf(paint(w/2, h/2, 3)), w / 2, ".png", ""},
		{gifOf(w/2, h/2), w / 2, ".gif", ""},
		{cmykJPEG(t), 32, ".jpg", ""},
		{jpegOf(paint(w, h, 4))[:60_000], 0, "", "is damaged"},
		{[]byte("<!doctype html><title>not found</title>"), 0, "", "the content is text/html"},
		{hugePNG(30_000, 30_000), 0, "", "Options.Pixels"},
		{jpegOf(paint(w, h, 5)), 0, "", "broke off"},
		{jpegOf(paint(w, h, 6)), 0, "", "404"},
	}
	number := func(path string) (n int) {
		_, _ = fmt.Sscanf(path, "/file/%d.jpg", &n)
		return n
	}
	serve := func(w http.ResponseWriter, r *http.Request) {
		n := number(r.URL.Path)
		tail := fmt.Appendf(nil, "number %d", n) // behind the picture, so that each file is another one
		file := kinds[n%len(kinds)].file
		w.Header().Set("Content-Type", "image/jpeg")
		switch n % len(kinds) {
		case 8:
			w.Header().Set("Content-Length", fmt.Sprint(len(file)+100))
		case 9:
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(file)
		_, _ = w.Write(tail)
	}
	g.mu.Lock()
	for n := range *manyFiles {
		g.serve[fmt.Sprintf("/file/%d.jpg", n)] = serve
	}
	g.mu.Unlock()
	program := many.Command(manyPlan{dir, g.URL, *manyFiles})
	began := time.Now()
	if out, err := program.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	took := time.Since(began)
	usage, _ := program.ProcessState.SysUsage().(*syscall.Rusage)
	rss := int64(usage.Maxrss)
	if runtime.GOOS != "darwin" {
		rss <<= 10
	}
	t.Logf("%d files, largest resident set %d MiB, %s of CPU, took %s", *manyFiles, rss>>20, program.ProcessState.UserTime()+program.ProcessState.SystemTime(), took)
	if deep.Checks() && rss > 128<<20 && !israce.Enabled {
		t.Errorf("the resident set was %d MiB", rss>>20)
	}
	for n := range *manyFiles {
		if path := fmt.Sprintf("/file/%d.jpg", n); g.times(path) != 1 {
			t.Errorf("%s was asked for %d times", path, g.times(path))
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "items.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	items := 0
	for line := range bytes.Lines(text) {
		var p product
		if err := json.Unmarshal(line, &p); err != nil || len(p.Pictures) != manyPerPage {
			t.Fatalf("%s: %v", line, err)
		}
		items++
		for _, r := range p.Pictures {
			kind := kinds[number(strings.TrimPrefix(r.URL, g.URL))%len(kinds)]
			switch {
			case kind.ending == "" && (r.Status != media.Failed || !strings.Contains(r.Error, kind.wrong)):
				t.Errorf("%+v, want %q", r, kind.wrong)
			case kind.ending == "":
			case r.Width != kind.width || filepath.Ext(r.Path) != kind.ending:
				t.Errorf("%+v", r)
			default:
				if file := stored(t, filepath.Join(dir, "files"), r); !bytes.HasPrefix(file, kind.file) {
					t.Errorf("%+v is not what was sent", r)
				}
			}
		}
	}
	if items != *manyFiles/manyPerPage*2 {
		t.Errorf("%d items", items)
	}
	noTempFiles(t, filepath.Join(dir, "files"))
}

func TestMain(m *testing.M) { killtest.Main(m) }

package content_test

import (
	"flag"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/yardstick"
)

var (
	pandoc    = flag.String("pandoc", "", "the program pandoc, which reads our Markdown")
	documents = flag.String("documents", "", "folders of HTML pages, separated by commas, whose articles are written as Markdown")
	most      = flag.Int("pages", 0, "so many pages of the folders and of Mozilla's suite are written as Markdown, 0 for all")
)

// markdownPages returns the paths of pages, the fixed ones that -pages asks for.
func markdownPages(t testing.TB) []string {
	if *pandoc == "" {
		t.Skip("pandoc reads the Markdown: run this with -args -pandoc FILE -readability DIR -documents DIR,DIR")
	}
	var paths []string
	suite, _ := filepath.Glob(filepath.Join(*readability, "test-pages", "*", "source.html"))
	paths = append(paths, suite...)
	for _, dir := range strings.Split(*documents, ",") {
		if dir == "" {
			continue
		}
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(path, ".html") {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	hash := func(s string) uint32 {
		h := fnv.New32a()
		io.WriteString(h, filepath.Join(filepath.Base(filepath.Dir(s)), filepath.Base(s)))
		return h.Sum32()
	}
	if *most > 0 && len(paths) > *most {
		slices.SortStableFunc(paths, func(a, b string) int { return int(int64(hash(a)) - int64(hash(b))) })
		paths = paths[:*most]
	}
	if len(paths) == 0 {
		t.Fatal("there are no pages")
	}
	return paths
}

// TestPandoc has pandoc read our Markdown: the words in their order, headings, links, tables, the depth of lists and code must be those
// of the article. It fails if escaping lets a word become markup, or if markup is not read as it was meant.
func TestPandoc(t *testing.T) {
	paths := markdownPages(t)
	jobs := make(chan string)
	var mu sync.Mutex
	bad := 0
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for path := range jobs {
				body, err := os.ReadFile(path)
				if err != nil {
					t.Error(err)
					continue
				}
				text, _, _ := charset.Decode(body, "text/html; charset=utf-8")
				doc, err := html.Parse(text)
				if err != nil {
					t.Error(err)
					continue
				}
				a, err := content.Extract(doc, "https://example.org/dir/page.html")
				if err != nil {
					continue
				}
				markdown := a.Markdown(content.WithoutImages())
				rendered, err := yardstick.Pandoc(*pandoc, markdown)
				if err != nil {
					t.Error(path, err)
					continue
				}
				if d := yardstick.RoundTrip(a.HTML(), rendered); len(d) > 0 {
					mu.Lock()
					bad++
					mu.Unlock()
					t.Errorf("%s:\n  %v", path, d)
				}
			}
		})
	}
	for _, path := range paths {
		jobs <- path
	}
	close(jobs)
	group.Wait()
	t.Logf("%d of %d articles are the same after pandoc", len(paths)-bad, len(paths))
}

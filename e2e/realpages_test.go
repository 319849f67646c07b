package e2e_test

import (
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
)

var realPages = flag.String("realpages", "", "`folders` with pages of real sites, separated by commas")

// pageFile is a page on disk. Some are packed.
type pageFile string

// read returns the page.
func (p pageFile) read() ([]byte, error) {
	file, err := os.Open(string(p))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if !strings.HasSuffix(string(p), ".gz") {
		return io.ReadAll(file)
	}
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unpacked)
}

// isPage reports whether a file is a page by its name: page.html, page.html.gz, page.html.en, page.html.ja.utf8.
func isPage(name string) bool {
	return strings.HasSuffix(name, ".html") || strings.Contains(name, ".html.")
}

// TestRealPages has the pages of real sites read in all ways by a crawler with default Limits: none of them meets a
// limit. It prints the largest tree. It fails if Limits.Nodes, Limits.Attributes or another bound refuses a
// real one.
func TestRealPages(t *testing.T) {
	if *realPages == "" {
		t.Skip("-realpages names no folders")
	}
	var files []pageFile
	for dir := range strings.SplitSeq(*realPages, ",") {
		root, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		before := len(files)
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && isPage(d.Name()) {
				files = append(files, pageFile(path))
			}
			return err
		})
		if err != nil || len(files) == before {
			t.Fatalf("%s has no pages: %v", dir, err)
		}
		t.Logf("%s: %d pages", dir, len(files)-before)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		text, err := files[n].read()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(text)
	}))
	defer site.Close()
	reader := &realReader{BaseSpider: &tegenaria.BaseSpider{Name: "reader"}, files: files}
	for n := range files {
		reader.FeedUrls = append(reader.FeedUrls, fmt.Sprintf("%s/%d", site.URL, n))
	}
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(reader),
		tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
			t.Errorf("%s: %v", reader.file(err.Request), err)
		}))
	if err := engine.Execute("reader"); err != nil {
		t.Error(err)
	}
	if reader.read != len(files) {
		t.Errorf("%d of %d pages were read", reader.read, len(files))
	}
	t.Logf("%d pages; most elements: %d, %s; most attributes: %d, %s", reader.read,
		reader.elements, reader.mostElements, reader.attributes, reader.mostAttributes)
}

// realReader is a spider that reads pages in all ways and remembers the largest.
type realReader struct {
	*tegenaria.BaseSpider
	files []pageFile

	mu                           sync.Mutex // guards the fields below
	read, elements, attributes   int
	mostElements, mostAttributes pageFile
}

// file returns the file that a request is about.
func (r *realReader) file(request *tegenaria.Request) pageFile {
	n, _ := strconv.Atoi(request.Url[strings.LastIndexByte(request.Url, '/')+1:])
	return r.files[n]
}

// Parser reads a page.
func (r *realReader) Parser(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	resp := ctx.Response()
	if err := tegenaria.Handle(func(ctx context.Context, resp *tegenaria.Response, out *tegenaria.Output[reading]) error {
		return readAll(ctx, resp, out)
	})(ctx, item, req); err != nil {
		return err
	}
	elements, attributes := resp.CSS("*").Len(), resp.XPath("//@*").Len()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read++
	if elements > r.elements {
		r.elements, r.mostElements = elements, r.file(ctx.Request)
	}
	if attributes > r.attributes {
		r.attributes, r.mostAttributes = attributes, r.file(ctx.Request)
	}
	return nil
}

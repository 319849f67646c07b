package feed_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
)

// countingFS counts how often a file is synced.
type countingFS struct {
	brokenFS
	syncs atomic.Int64
	files []*countingFile
}

func (c *countingFS) Open(name string) (feed.File, error) {
	f := &countingFile{brokenFile{broken: &c.brokenFS}, c}
	c.files = append(c.files, f)
	return f, nil
}

type countingFile struct {
	brokenFile
	fs *countingFS
}

func (f *countingFile) Sync() error {
	f.fs.syncs.Add(1)
	return f.brokenFile.Sync()
}

// A run that cannot be resumed waits for the disk once, at its end, and tells what that says.
func TestSyncAtTheEnd(t *testing.T) {
	const pages = 200
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if n < pages-1 {
			_, _ = w.Write([]byte("<a href=/" + strconv.Itoa(n+1) + ">next</a>"))
		}
	}))
	defer site.Close()
	parse := func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[string]) error {
		return errors.Join(out.Item(r.URL), out.FollowLinks())
	}
	for _, broken := range []error{nil, errors.New("no space left")} {
		fs := &countingFS{brokenFS: brokenFS{sync: broken}}
		engine := tegenaria.NewSpiderEngine(
			tegenaria.EngineWithSpiders(tegenaria.NewSpider("chain", tegenaria.Handle(parse), site.URL+"/0")),
			tegenaria.EngineWithPipelines(feed.JSONL("out", feed.WithFS(fs))))
		if err := engine.Run(t.Context(), "chain"); !errors.Is(err, broken) {
			t.Errorf("Run: %v, want %v", err, broken)
		}
		if lines := strings.Count(string(fs.files[0].data), "\n"); lines != pages {
			t.Errorf("%d lines, want %d", lines, pages)
		}
		if n := fs.syncs.Load(); n != 1 {
			t.Errorf("synced %d times, want once", n)
		}
	}
}

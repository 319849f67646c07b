package warc_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/warc"
)

// Two layers that ask for the body as it came both get it. Bodies of requests are told apart, whatever their size.
func TestTwoLayers(t *testing.T) {
	text := strings.Repeat("a line of text\n", 10_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintln(z, n)
		io.WriteString(z, text)
		z.Close()
	}))
	defer server.Close()
	var archives []*warc.Archive
	folder := t.TempDir()
	for _, name := range []string{"outer.warc.gz", "inner.warc.gz"} {
		archive := create(t, filepath.Join(folder, name), warc.Options{})
		archives = append(archives, archive)
	}
	run := func(opts ...tegenaria.EngineOption) (texts []string) {
		engine := tegenaria.NewSpiderEngine(append(opts, tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))...)
		var requests []*tegenaria.Request
		for _, n := range []int{0, 1, 100_000, 100_001} {
			requests = append(requests, tegenaria.NewRequest(server.URL, "POST", nil, tegenaria.RequestWithBody(make([]byte, n))))
		}
		var mu sync.Mutex
		parse := func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			body := ctx.Response().String()
			if !strings.HasSuffix(body, text) {
				t.Errorf("%d bytes", len(body))
			}
			first, _, _ := strings.Cut(body, "\n")
			mu.Lock()
			defer mu.Unlock()
			texts = append(texts, fmt.Sprint(len(ctx.Request.Body), " ", first))
			return nil
		}
		engine.RegisterSpiders(tegenaria.NewSpiderOf("two", parse, requests...))
		if err := engine.Run(t.Context(), "two"); err != nil {
			t.Fatal(err)
		}
		slices.Sort(texts) // pages are parsed concurrently
		return texts
	}
	live := run(tegenaria.EngineWithDownloaderLayers(archives[0].Layer, archives[1].Layer))
	for _, name := range []string{"outer.warc.gz", "inner.warc.gz"} {
		path := filepath.Join(folder, name)
		check(t, path)
		replay := open(t, path)
		same(t, name, run(tegenaria.EngineWithDownloader(replay)), live)
		_, block := recordOf(t, path, "response")
		if !strings.Contains(block, "Content-Encoding: gzip") {
			t.Errorf("%s: the body is not as it came", name)
		}
	}
}

// half is a downloader whose bodies break off.
type half struct{ given }

func (half) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	ctx.DownloadResult = &tegenaria.RequestResult{
		Response: tegenaria.NewResponse(ctx.Request, 200, nil, []byte("half")),
		Error:    tegenaria.NewError(ctx.CtxId, errors.New("it broke off")),
	}
	result <- ctx
}

// A body that broke off, for whatever reason, breaks off in a replay, and the response has what came.
func TestHalfABody(t *testing.T) {
	l, path := begin(t, half{}, warc.Options{})
	download(l, "1", "http://a.test/")
	end(t, l, "1")
	replay := open(t, path)
	ctx := tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", "GET", nil))
	if resp, err := replay.Answer(ctx); resp != nil || err != nil {
		t.Errorf("%v, %v", resp, err)
	}
	result := make(chan *tegenaria.Context, 1)
	replay.Download(ctx, result)
	got := (<-result).DownloadResult
	if cut := (*tegenaria.TruncatedBodyError)(nil); !errors.As(got.Error, &cut) || got.Response.String() != "half" {
		t.Errorf("%v, %v", got.Error, got.Response)
	}
}

// A file that is finished gets its name with the next batch, or in the next run; if it is gone the run does not begin.
func TestFinishedFiles(t *testing.T) {
	folder := t.TempDir()
	restore := func(checkpoint []byte) (layer, error) {
		archive := create(t, filepath.Join(folder, "{part}.warc.gz"), warc.Options{Size: 1})
		l := archive.Layer(answers{}).(layer)
		return l, l.Restore(t.Context(), checkpoint)
	}
	l, err := restore(nil)
	if err != nil {
		t.Fatal(err)
	}
	download(l, "1", "http://a.test/1")
	download(l, "1", "http://a.test/2")
	checkpoint := prepare(t, l, "1")
	l.Close(incomplete(t), "")
	names := func() string {
		all, _ := filepath.Glob(filepath.Join(folder, "*"))
		for i, name := range all {
			all[i] = filepath.Base(name)
		}
		return strings.Join(all, " ")
	}
	if got := names(); got != "00001.warc.gz.open 00002.warc.gz.open" {
		t.Error(got)
	}
	if l, err = restore(checkpoint); err != nil {
		t.Error(err)
	}
	l.Close(incomplete(t), "")
	if got := names(); got != "00001.warc.gz 00002.warc.gz.open" {
		t.Error(got)
	}
	os.Remove(filepath.Join(folder, "00001.warc.gz"))
	var corrupt *warc.CorruptError
	if _, err = restore(checkpoint); !errors.As(err, &corrupt) || !strings.HasSuffix(corrupt.Path, "00001.warc.gz") {
		t.Error(err)
	}
}

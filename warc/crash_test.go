package warc_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/commit"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/spidertest"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/warc"
)

// answers is a downloader that answers each URL with its text.
type answers struct{}

func (answers) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	ctx.DownloadResult = &tegenaria.RequestResult{}
	if strings.Contains(ctx.Request.Url, "/dead") {
		ctx.DownloadResult.Error = tegenaria.NewError(ctx.CtxId, io.ErrUnexpectedEOF)
	} else {
		body := strings.Repeat(ctx.Request.Url+"\n", 1+len(ctx.Request.Url)%7*20)
		header := map[string][]string{"Content-Type": {"text/plain"}, "Transfer-Encoding": {"chunked"}}
		ctx.DownloadResult.Response = tegenaria.NewResponse(ctx.Request, http.StatusOK, header, []byte(body))
	}
	result <- ctx
}

func (answers) CheckStatus(uint64, []uint64) bool { return true }

// layer is what an archive puts around a downloader.
type layer interface {
	tegenaria.Downloader
	tegenaria.Committer
	tegenaria.Closer
}

func download(l layer, id, url string) {
	ctx := tegenaria.NewContext(tegenaria.NewRequest(url, "GET", nil))
	ctx.CtxId = id
	result := make(chan *tegenaria.Context, 1)
	l.Download(ctx, result)
	<-result
}

// readRecords returns "TYPE URL" of each record of a file, read with the standard library alone.
func readRecords(t *testing.T, name string) (list []string) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	from := bufio.NewReader(file)
	z, err := gzip.NewReader(from)
	for ; err == nil; err = z.Reset(from) {
		z.Multistream(false)
		text := bufio.NewReader(z)
		header := textproto.NewReader(text)
		if version, err := header.ReadLine(); err != nil || version != "WARC/1.1" {
			t.Fatalf("%s: %v, %q", name, err, version)
		}
		fields, err := header.ReadMIMEHeader()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		size, _ := strconv.Atoi(fields.Get("Content-Length"))
		rest, err := io.ReadAll(text)
		if err != nil || len(rest) != size+4 || string(rest[size:]) != "\r\n\r\n" {
			t.Fatalf("%s: %v, %d bytes of %d", name, err, len(rest), size)
		}
		list = append(list, fields.Get("WARC-Type")+" "+fields.Get("WARC-Target-URI"))
	}
	if !errors.Is(err, io.EOF) {
		t.Fatalf("%s: %v", name, err)
	}
	return list
}

// crashing is a job that is killed again and again.
type crashing struct {
	t       *testing.T
	random  *rand.Rand
	path    string
	layer   layer
	stopped func() bool
	stored  []byte     // the newest checkpoint that was stored
	waiting [][]string // id, and URLs, of requests that are not settled
	want    []string   // URLs of those that are
	made    int
}

// start begins a run, however often it is killed in that.
func (c *crashing) start() {
	for {
		archive, err := warc.Create(c.path, warc.Options{Size: 3000, Memory: 500})
		if err != nil {
			c.t.Fatal(err)
		}
		c.stopped = archive.StopAfter(1+c.random.IntN(60), c.random)
		c.layer = archive.Layer(answers{}).(layer)
		err = c.layer.Restore(c.t.Context(), c.stored)
		if err == nil && c.stored == nil {
			c.stored, err = c.layer.Prepare(c.t.Context(), nil)
		}
		if err == nil {
			break
		}
		c.failed(err)
	}
	for _, w := range c.waiting {
		c.download(w)
	}
}

// failed ends a run that was killed.
func (c *crashing) failed(err error) {
	c.t.Helper()
	if write := (*warc.WriteError)(nil); !errors.Is(err, warc.ErrPower) || !errors.As(err, &write) || !c.stopped() {
		c.t.Fatal(err)
	}
	c.layer.Close(incomplete(c.t), "")
}

func (c *crashing) download(w []string) {
	for _, url := range w[1:] {
		download(c.layer, w[0], url)
	}
}

func (c *crashing) settle(n int) {
	var ids []string
	for _, w := range c.waiting[:n] {
		ids = append(ids, w[0])
	}
	checkpoint, err := c.layer.Prepare(c.t.Context(), ids)
	if err == nil && c.random.IntN(4) > 0 {
		c.stored = checkpoint
		for _, w := range c.waiting[:n] {
			c.want = append(c.want, w[1:]...)
		}
		c.waiting = c.waiting[n:]
		return
	}
	if err != nil {
		c.failed(err)
	} else {
		c.layer.Close(incomplete(c.t), "")
	}
	c.start() // it was not stored
}

// incomplete is the context of Close of a run that is to go on.
func incomplete(t *testing.T) context.Context { return commit.OfClose(t.Context(), false) }

// A job that is killed in any operation of the disk, between any two calls, or before its checkpoint is stored has the records of each
// settled request once when it is resumed. It fails if a batch that is not stored is kept, or one that is stored is lost.
func TestCrashes(t *testing.T) {
	for round := range 12 {
		seed := deep.Seed() + uint64(round)
		c := &crashing{t: t, random: rand.New(rand.NewPCG(seed, 1))}
		folder := filepath.Join(t.TempDir(), fmt.Sprint(round))
		c.path = filepath.Join(folder, "{start}-{part}.warc.gz")
		t.Logf("seed %d", seed)
		c.start()
		for range 60 {
			switch c.random.IntN(6) {
			case 0, 1, 2:
				c.made++
				w := []string{fmt.Sprint("request ", c.made)}
				for n := range 1 + c.random.IntN(3) {
					w = append(w, fmt.Sprintf("http://%s.test/%d/%d", []string{"a", "dead"}[c.random.IntN(2)], c.made, n))
				}
				if c.random.IntN(4) == 0 { // an attempt that runs again
					c.download(w)
					c.layer.Discard(w[0])
				}
				c.download(w)
				c.waiting = append(c.waiting, w)
			case 3, 4:
				c.settle(c.random.IntN(len(c.waiting) + 1))
			case 5: // killed between two calls
				c.layer.Close(incomplete(t), "")
				c.start()
			}
		}
		for len(c.waiting) > 0 {
			c.settle(len(c.waiting))
		}
		for {
			err := c.layer.Close(t.Context(), "finished")
			if err == nil {
				break
			}
			c.failed(err)
			c.start()
		}
		names, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		hidden, _ := filepath.Glob(filepath.Join(folder, ".*"))
		var got []string
		for i, name := range names {
			if !strings.HasSuffix(name, fmt.Sprintf("-%05d.warc.gz", i+1)) || len(hidden) > 0 {
				t.Errorf("seed %d: files %q, %q", seed, names, hidden)
			}
			list := readRecords(t, name)
			if list[0] != "warcinfo " {
				t.Errorf("seed %d: %s begins with %q", seed, name, list[0])
			}
			for _, r := range list[1:] {
				if kind, url, _ := strings.Cut(r, " "); kind == "metadata" {
					got = append(got, url)
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Fatalf("seed %d: in %d files %q\nwant %q", seed, len(names), got, c.want)
		}
		if len(names) < 2 && len(c.want) > 20 {
			t.Errorf("seed %d: %d requests in %d files", seed, len(c.want), len(names))
		}
	}
}

func TestConformance(t *testing.T) {
	folder := t.TempDir()
	spidertest.TestCommitter(t, spidertest.CommitterHarness{
		Open: func(t testing.TB) tegenaria.Committer {
			archive := create(t, filepath.Join(folder, "{part}.warc.gz"), warc.Options{Size: 2000, Memory: 500})
			return archive.Layer(answers{}).(layer)
		},
		Stage: func(_ testing.TB, c tegenaria.Committer, id string, result int) {
			download(c.(layer), id, fmt.Sprint("http://a.test/", result))
		},
		Read: func(testing.TB) (results []int) {
			names, _ := filepath.Glob(filepath.Join(folder, "*.warc.gz"))
			for _, name := range names {
				for _, r := range readRecords(t, name) {
					if path, ok := strings.CutPrefix(r, "metadata http://a.test/"); ok {
						result, _ := strconv.Atoi(path)
						results = append(results, result)
					}
				}
			}
			return results
		},
		Kill: func(_ testing.TB, c tegenaria.Committer) { c.(layer).Close(incomplete(t), "") },
	})
}

//go:build unix

package warc_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	klauspost "github.com/klauspost/compress/gzip"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/warc"
)

// pageOf makes a page of HTML that nobody else has.
func pageOf(n, size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "<div class=\"product\" id=\"p%d-%d\"><a href=\"/item/%d\">Item number %d</a> costs %d.%02d &euro;</div>\n", n, i, n*7919+i*104729, i*n, i%97, (n+i)%100)
	}
	return b.Bytes()[:size]
}

type benchAnswers struct{ pages [][]byte }

func (a *benchAnswers) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	resp := tegenaria.NewResponse(ctx.Request, http.StatusOK, map[string][]string{"Content-Type": {"text/html"}}, a.pages[ctx.Request.Depth%len(a.pages)])
	ctx.DownloadResult = &tegenaria.RequestResult{Response: resp}
	result <- ctx
}

func (a *benchAnswers) CheckStatus(uint64, []uint64) bool { return true }

// BenchmarkWrite compares what an archive takes for a page of 20 KB, with its request, metadata and both digests, with the bare work: the
// same body packed and hashed. The bar is 1.25 times that of package compress/gzip.
func BenchmarkWrite(b *testing.B) {
	pages := make([][]byte, 500)
	for i := range pages {
		pages[i] = pageOf(i, 20<<10)
	}
	bare := func(z interface {
		io.WriteCloser
		Reset(io.Writer)
	}) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(20 << 10)
			var out bytes.Buffer
			sum := sha1.New()
			began := cpu(b)
			for i := range b.N {
				out.Reset()
				z.Reset(&out)
				z.Write(pages[i%len(pages)])
				z.Close()
				sum.Reset()
				sum.Write(pages[i%len(pages)])
				sum.Sum(nil)
			}
			b.ReportMetric(float64(cpu(b)-began)/float64(b.N)/1000, "µs-cpu/page")
		}
	}
	b.Run("bare=compress/gzip", bare(gzip.NewWriter(nil)))
	b.Run("bare=klauspost", bare(klauspost.NewWriter(nil)))
	for _, ending := range []string{".gz", ".zst", ""} {
		b.Run("warc"+ending, func(b *testing.B) {
			l := restored(b, filepath.Join(b.TempDir(), "{part}.warc"+ending), &benchAnswers{pages}, warc.Options{Revisits: -1})
			b.ReportAllocs()
			b.SetBytes(20 << 10)
			var ids []string
			began := cpu(b)
			result := make(chan *tegenaria.Context, 1)
			for i := range b.N {
				ctx := tegenaria.NewContext(tegenaria.NewRequest(fmt.Sprint("http://shop.test/", i), "GET", nil))
				ctx.Request.Depth = i
				l.Download(ctx, result)
				<-result
				if ids = append(ids, ctx.CtxId); len(ids) == 200 || i == b.N-1 {
					prepare(b, l, ids...)
					ids = ids[:0]
				}
			}
			b.ReportMetric(float64(cpu(b)-began)/float64(b.N)/1000, "µs-cpu/page")
			b.StopTimer()
			if err := l.Close(b.Context(), ""); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkReplay compares what a page of 20 KB takes in a crawl on loopback, without the archive, with it, and in the
// replay. The bar is that a replay takes no more than the live crawl and the unpacking of a record. In the live crawls
// the server is another process.
func BenchmarkReplay(b *testing.B) {
	const pages = 300
	server := exec.Command(os.Args[0], "-test.run=^TestServePages$", "-serve.pages="+fmt.Sprint(pages))
	stdin, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer server.Wait()
	defer stdin.Close() // which ends the server
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	url = strings.TrimSpace(url)
	run := func(b *testing.B, opts ...tegenaria.EngineOption) {
		parse := func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
			return out.FollowLinks()
		}
		engine := tegenaria.NewSpiderEngine(append(opts, tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK())...)
		engine.RegisterSpiders(tegenaria.NewSpider("pages", tegenaria.Handle(parse), url+"/0"))
		if err := engine.Run(b.Context(), "pages"); err != nil {
			b.Fatal(err)
		}
		if got := engine.Stats().Responses; got < pages {
			b.Fatalf("%d pages", got)
		}
	}
	measure := func(name string, opts func(b *testing.B) tegenaria.EngineOption) {
		b.Run(name, func(b *testing.B) {
			opt := opts(b)
			began := cpu(b)
			for b.Loop() {
				run(b, opt)
			}
			b.ReportMetric(float64(cpu(b)-began)/float64(b.N*pages)/1000, "µs-cpu/page")
		})
	}
	folder := b.TempDir()
	number := 0
	measure("live", func(*testing.B) tegenaria.EngineOption { return tegenaria.EngineWithDownloaderLayers() })
	measure("recorded", func(b *testing.B) tegenaria.EngineOption {
		return tegenaria.EngineWithDownloaderLayers(func(next tegenaria.Downloader) tegenaria.Downloader {
			number++
			archive := create(b, filepath.Join(folder, fmt.Sprint(number), "{part}.warc.gz"), warc.Options{})
			return archive.Layer(next)
		})
	})
	measure("replayed", func(b *testing.B) tegenaria.EngineOption {
		replay := open(b, filepath.Join(folder, "1"))
		return tegenaria.EngineWithDownloader(replay)
	})
	b.Run("unpacking", func(b *testing.B) {
		for b.Loop() {
			names, _ := filepath.Glob(filepath.Join(folder, "1", "*"))
			began := cpu(b)
			for _, name := range names {
				file, err := os.Open(name)
				if err != nil {
					b.Fatal(err)
				}
				for r, err := range warc.Read(file) {
					if err != nil {
						b.Fatal(err)
					}
					io.Copy(io.Discard, r.Block)
				}
				file.Close()
			}
			b.ReportMetric(float64(cpu(b)-began)/pages/1000, "µs-cpu/page")
		}
	})
}

// cpu returns the processor time that the process has taken, in nanoseconds.
func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

var servePages = flag.Int("serve.pages", 0, "pages that TestServePages serves until its standard input ends")

// TestServePages is the server of BenchmarkReplay.
func TestServePages(t *testing.T) {
	if *servePages == 0 {
		return
	}
	texts := make([][]byte, *servePages)
	for i := range texts {
		var b bytes.Buffer
		for child := 3*i + 1; child <= 3*i+3 && child < len(texts); child++ {
			fmt.Fprintf(&b, `<a href="/%d">next</a>`, child)
		}
		texts[i] = append(b.Bytes(), bytes.ReplaceAll(pageOf(i, 20<<10), []byte("href"), []byte("name"))...)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil || n >= len(texts) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(texts[n])
	}))
	defer server.Close()
	fmt.Println(server.URL)
	io.Copy(io.Discard, os.Stdin)
}

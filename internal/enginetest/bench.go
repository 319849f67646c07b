//go:build unix

package enginetest

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
)

// PageOf returns host and number of a page: http://h3.example/page/123.
func PageOf(url string) (host string, page int) {
	slash := strings.LastIndexByte(url, '/')
	page, err := strconv.Atoi(url[slash+1:])
	if err != nil {
		panic(err)
	}
	return url[:slash-len("/page")], page
}

// MemoryDownloader answers from memory.
type MemoryDownloader struct {
	Header map[string][]string
	Body   func(page int) []byte
}

// Download implements Downloader.
func (d *MemoryDownloader) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	_, page := PageOf(ctx.Request.Url)
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, d.Header, d.Body(page))}
	result <- ctx
}

// CheckStatus implements Downloader.
func (d *MemoryDownloader) CheckStatus(status uint64, _ []uint64) bool { return status < 400 }

var benchBody = []byte("<!DOCTYPE html><html><head><title>A page</title></head><body><p>Nobody reads this.</p></body></html>")

// PlainPage is the body of each page that has nothing in it.
func PlainPage(int) []byte { return benchBody }

// CPUTime is the CPU time of this process so far, user and system.
func CPUTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

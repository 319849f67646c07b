//go:build unix

// Command memory is our contestant without a network: its downloader answers from memory, so that what remains is the
// engine and the parsing of pages. Nor does it wait for a disk: a pipeline writes the items, without syncing them. It
// clocks the crawl, without the making of the pages. These lie outside of Go's heap, which is as large as it is in a crawl
// that gets them from elsewhere.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/ours"
	"github.com/tegenaria/tegenaria/bench/site"
)

func main() {
	pages := flag.Int("pages", 20_000, "`pages` of the site")
	bytes := flag.Int("bytes", 2_000, "`bytes` of a page")
	links := flag.Int("links", 13, "`links` of a page")
	job.Timed(func(j job.Job) (float64, error) {
		return run(j, site.Plan{Pages: *pages, Bytes: *bytes, Links: *links})
	})
}

// downloader answers with pages that were made before.
type downloader struct {
	bodies [][]byte
	header map[string][]string
}

func (d *downloader) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	page := 0
	if _, number, found := strings.Cut(ctx.Request.Url, "/p/"); found {
		page, _ = strconv.Atoi(number) // a wrong one is the start page, which the judge sees
	}
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, d.header, d.bodies[page])}
	result <- ctx
}

func (d *downloader) CheckStatus(status uint64, _ []uint64) bool { return status < 400 }

// outside keeps bytes outside of Go's heap, for as long as the process runs.
type outside struct{ free []byte }

// keep returns a copy of body there.
func (o *outside) keep(body []byte) (_ []byte, err error) {
	const chunk = 1 << 20
	if len(body) > len(o.free) {
		o.free, err = syscall.Mmap(-1, 0, max(chunk, len(body)), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			return nil, fmt.Errorf("memory for the pages: %w", err)
		}
	}
	n := copy(o.free, body)
	kept := o.free[:n:n]
	o.free = o.free[n:]
	return kept, nil
}

func run(j job.Job, plan site.Plan) (seconds float64, err error) {
	if err := plan.Check(); err != nil {
		return 0, err
	}
	d := &downloader{header: map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}}
	var memory outside
	for page := range plan.Pages {
		body, err := memory.keep(plan.Body(page, ""))
		if err != nil {
			return 0, err
		}
		d.bodies = append(d.bodies, body)
	}
	options, err := ours.Options(j)
	if err != nil {
		return 0, err
	}
	items, err := j.Items()
	if err != nil {
		return 0, err
	}
	write := tegenaria.PipelineFunc(1, func(_ context.Context, it site.Item) (site.Item, error) {
		items.Add(it)
		return it, nil
	})
	begin := time.Now()
	engine := tegenaria.NewSpiderEngine(append(options, tegenaria.EngineWithDownloader(d))...)
	engine.RegisterSpiders(ours.Spider(j))
	engine.RegisterPipelines(write)
	err = engine.Run(context.Background(), "race")
	return time.Since(begin).Seconds(), errors.Join(err, items.Close())
}

//go:build unix

package transcripts_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/middleware"
)

// ownSite leaves out the links to other sites.
var ownSite = tegenaria.EngineWithAllowedDomains("127.0.0.1")

// TestGoodCrawl fails if the log of a crawl that goes well differs from its golden file.
func TestGoodCrawl(t *testing.T) {
	w := newSites(t)
	record(t, "good", w.names(), func(t *testing.T, r recording) {
		if err := run(r.log, books(w.shop), tegenaria.EngineWithMiddlewares(middleware.Standard()...), ownSite); err != nil {
			t.Error(err)
		}
	})
}

// TestQuiet fails if a crawl that goes well says something with EngineWithQuiet, or says more than what failed otherwise.
func TestQuiet(t *testing.T) {
	w := newSites(t)
	for name, url := range map[string]string{"quiet": w.shop + "/books/1", "quiet-status-404": w.shop + "/links"} {
		record(t, name, w.names(), func(t *testing.T, r recording) {
			if err := run(r.log, books(url), tegenaria.EngineWithQuiet()); err != nil {
				t.Error(err)
			}
		})
	}
}

// emptyOK is for crawls that are stopped before they have items: which page the warning would name is not certain.
var emptyOK = tegenaria.EngineWithEmptyOK()

// durably runs a job with a queue on disk.
func durably(r recording, spider tegenaria.SpiderInterface, opts ...tegenaria.EngineOption) (err error) {
	store, err := disk.Open(filepath.Join(r.dir, "job"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return run(r.log, spider, append(opts, emptyOK, tegenaria.EngineWithCache(store))...)
}

// TestJob fails if the log of a job that stops at a limit, goes on and is started once more differs from its golden file.
func TestJob(t *testing.T) {
	w := newSites(t)
	record(t, "job", w.names(), func(t *testing.T, r recording) {
		var stopped *tegenaria.StoppedError
		if err := durably(r, books(w.shop), ownSite, tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 1})); !errors.As(err, &stopped) {
			t.Errorf("the first run ended with %v", err)
		}
		for range 2 {
			if err := durably(r, books(w.shop), ownSite); err != nil {
				t.Error(err)
			}
		}
	})
}

// interrupting is a spider that interrupts the process while it parses one page and another one is being downloaded.
func interrupting(t *testing.T, r recording, w *sites) tegenaria.SpiderInterface {
	return tegenaria.NewSpider("books", tegenaria.Handle(func(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
		if page.URL == w.shop+"/" {
			<-w.arrived
			if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
				t.Error(err)
			}
			<-r.stopping
			w.release <- struct{}{}
		}
		return parse(ctx, page, out)
	}), w.shop+"/", w.strict+"/slow")
}

// TestInterrupted fails if the log of a crawl that Ctrl-C has stopped, and of the run that goes on, differs from its golden file.
func TestInterrupted(t *testing.T) {
	w := newSites(t)
	two := tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: 2})
	record(t, "interrupted", w.names(), func(t *testing.T, r recording) {
		told(t, run(r.log, interrupting(t, r, w), ownSite, two, emptyOK, tegenaria.EngineWithSignals()))
	})
	record(t, "interrupted-job", w.names(), func(t *testing.T, r recording) {
		told(t, durably(r, interrupting(t, r, w), ownSite, two, tegenaria.EngineWithSignals()))
		if err := durably(r, books(w.shop), ownSite); err != nil {
			t.Error(err)
		}
	})
}

// told fails unless the error is that of a crawl which Ctrl-C has stopped.
func told(t *testing.T, err error) {
	t.Helper()
	var interrupted *tegenaria.InterruptedError
	if !errors.As(err, &interrupted) {
		t.Errorf("the crawl ended with %v", err)
	}
}

// TestProgress fails if the lines that come once a minute differ from their golden file: those of a crawl of two hosts, one of which
// asks for patience, with more failures of a kind than have a line each.
func TestProgress(t *testing.T) {
	record(t, "progress", strings.NewReplacer(), func(t *testing.T, r recording) {
		synctest.Test(t, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://fast.example/", enginetest.After(time.Second, enginetest.Text("list")))
			for i := range 150 {
				page := enginetest.Text("x")
				if i%10 == 9 {
					page = status(http.StatusNotFound)
				}
				w.Page(fmt.Sprintf("http://fast.example/%d", i), enginetest.After(700*time.Millisecond, page))
			}
			for i := range 8 {
				w.Page(fmt.Sprintf("http://slow.example/%d", i), enginetest.Text("x"))
			}
			s := enginetest.NewSpider("http://fast.example/")
			s.Name = "books"
			s.Parse = func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				items <- tegenaria.NewItem(ctx, ctx.Request.Url)
				if ctx.Request.Url == "http://fast.example/" {
					for i := range 8 { // in one batch: one that is taken while others are still added may be counted twice for a while
						req <- enginetest.Send(fmt.Sprintf("http://slow.example/%d", i))
					}
					for i := range 150 {
						req <- enginetest.Send(fmt.Sprintf("http://fast.example/%d", i))
					}
				}
				return nil
			}
			opts := []tegenaria.EngineOption{r.log, tegenaria.EngineWithDownloader(w), tegenaria.EngineWithSpiders(s), tegenaria.EngineWithPoliteness(tegenaria.Politeness{
				IgnoreRobots: true, PerSlot: 1, Overrides: map[string]tegenaria.SlotPolicy{"slow.example": {Delay: 35 * time.Second, PerSlot: 1}}})}
			if err := tegenaria.NewSpiderEngine(opts...).Run(t.Context(), "books"); err != nil {
				t.Error(err)
			}
		})
	})
}

// status is a page that answers with this status.
func status(code int) func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	return func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		return tegenaria.NewResponse(ctx.Request, code, nil, nil), nil
	}
}

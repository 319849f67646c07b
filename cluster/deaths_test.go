//go:build unix

package cluster_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/killtest"
)

var deaths = flag.Int("deaths", 1, "kills of TestWorkersDie, and so many SIGSTOP and SIGINT")

// One of three workers is killed, stands still for longer than its TTL and goes on, or is asked to stop. The others go
// on with its hosts. Of the worker that stood still nothing is written afterwards, and it starts nothing. What was
// asked twice was in flight or not yet settled.
func TestWorkersDie(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	const pages, hosts, inFlight = 400, 24, 3 * 8
	for range *deaths {
		for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGINT} {
			t.Run(signal.String(), func(t *testing.T) {
				web, dsn, job := newWeb(t, hosts, pages), database(t), newJob()
				crawls, programs := make([]*crawl, 3), make([]*killtest.Process, 3)
				victim := random.IntN(3)
				var struck time.Time
				web.left, web.do = 1+random.IntN(pages/2), func() {
					struck = time.Now()
					programs[victim].Signal(signal)
				}
				web.mu.Lock()
				folder := t.TempDir()
				for i := range crawls {
					name := fmt.Sprint("w", i)
					crawls[i] = &crawl{
						DSN: dsn, Job: job, URL: strings.TrimSuffix(web.url(0), "/0"), Worker: name, File: filepath.Join(folder, name+".jsonl"),
						Delay: 40 * time.Millisecond, Options: cluster.Options{TTL: 5 * shortTTL, Dir: filepath.Join(folder, name+".state")},
					}
					programs[i] = crawls[i].begin(t)
				}
				web.mu.Unlock()
				for i := range programs {
					if i == victim {
						continue
					}
					if exit := programs[i].Wait(); exit.Err != nil {
						t.Errorf("%s: %v\n%s", crawls[i].Worker, exit.Err, exit.Output)
					}
				}
				before := web.by(crawls[victim].Worker)
				if signal == syscall.SIGSTOP {
					programs[victim].Signal(syscall.SIGCONT)
				}
				exit := programs[victim].Wait()
				switch {
				case signal == syscall.SIGINT:
				case exit.Err == nil:
					t.Error("the victim has ended without an error")
				case signal == syscall.SIGSTOP && !strings.Contains(exit.Output, "another one has begun") &&
					!strings.Contains(exit.Output, "another worker may take it over"): // whichever it sees first
					t.Errorf("the victim says:\n%s", exit.Output)
				}
				after := web.by(crawls[victim].Worker)
				if after-before > inFlight {
					t.Errorf("%d requests of the victim after its burial", after-before)
				}
				extra := web.missed(t)
				// What had come and was not stored yet is asked for again too.
				if extra > 2*inFlight || signal == syscall.SIGINT && extra > 0 {
					t.Errorf("%d requests too many", extra)
				}
				got := read(t, connect(t, dsn), fmt.Sprintf(`SELECT count(*) || ' ' || count(DISTINCT key) || ' ' || count(DISTINCT url) FROM %q.outcome WHERE outcome = 'fetched'`, job))
				if want := fmt.Sprintf("%d %[1]d %[1]d", pages); got != want {
					t.Errorf("outcomes, keys, URLs %s, want %s", got, want)
				}
				checkItems(t, crawls, victim, after, pages)
				t.Logf("%s at the %d-th request: %d requests of the victim, %d after it was expired, %d too many; all done %v later",
					crawls[victim].Worker, web.left, after, after-before, extra, time.Since(struck).Round(time.Millisecond))
			})
		}
	}
}

// checkItems trims the file of a worker that has died, and that had asked for so many pages. Then the files of all
// workers together have each item once, and so has the collected one.
func checkItems(t *testing.T, crawls []*crawl, victim, asked, pages int) {
	t.Helper()
	v := crawls[victim]
	err := cluster.Trim(t.Context(), dial(t, v.DSN, v.Job), v.Options.Dir, feed.JSONL(v.File))
	var missing *cluster.CheckpointError
	early := asked == 0 && (errors.As(err, &missing) || errors.Is(err, fs.ErrNotExist)) // struck before it began
	if err != nil && !early {
		t.Fatal(err)
	}
	var files []string
	for i, c := range crawls {
		if i == victim && early {
			if info, err := os.Stat(v.File); err == nil && info.Size() > 0 {
				t.Errorf("a worker that has not begun has written %d bytes", info.Size())
			}
			continue
		}
		files = append(files, c.File)
	}
	items := itemsOf(t, files...)
	if collected := collect(t, v.DSN, v.Job); len(items) != pages || !maps.Equal(collected, items) {
		t.Errorf("%d items are in the files, and %d were collected, want %d", len(items), len(collected), pages)
	}
}

// by returns how many requests a worker has made.
func (w *web) by(worker string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, log := range w.log {
		for _, a := range log {
			if a.by == worker {
				n++
			}
		}
	}
	return n
}

// missed reports pages that were not asked for, and returns how many requests there were beyond those that had to be.
func (w *web) missed(t *testing.T) (extra int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := make(map[string]int)
	for _, log := range w.log {
		for _, a := range log {
			asked[a.path]++
		}
	}
	for i := range w.pages {
		n := asked[fmt.Sprint("/", i)]
		if n == 0 {
			t.Errorf("the page %d was not asked for", i)
		}
		if extra += n - 1; i%10 == 7 { // tried twice
			extra--
		}
	}
	return extra
}

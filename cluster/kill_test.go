//go:build unix

package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/parquet"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/killtest"
)

var (
	kills  = flag.Int("kills", 10, "kills of TestKills")
	killed = flag.String("killed", "", "crawl as this JSON says, and do nothing else: what TestKills kills")
)

// crawl is what is killed.
type crawl struct {
	DSN, Job, URL, File string
	Worker              string // which is the user agent, too
	Options             cluster.Options
	Delay               time.Duration // between two downloads
	Folder              string        // in it are a rotated and a Parquet file of the worker too; "": there are none
}

// pathRow is an item that a Parquet file can hold.
type pathRow struct {
	Path string `json:"path"`
}

// rotated returns the output of a worker that has many files.
func (c *crawl) rotated() *feed.Feed {
	return feed.JSONL(filepath.Join(c.Folder, c.Worker+"-{part}.jsonl.gz"), feed.Rotate(feed.Rotation{Items: 25}))
}

// parquet returns the output of a worker that has a file once the job has finished.
func (c *crawl) parquet() *parquet.Feed {
	return parquet.New[pathRow](filepath.Join(c.Folder, c.Worker+".parquet"))
}

// run crawls, or resumes.
func (c *crawl) run(ctx context.Context) (err error) {
	c.Options.Worker = c.Worker
	cache, err := cluster.Open(ctx, c.DSN, c.Job, c.Options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[any]) error {
		path := resp.URL[strings.LastIndexByte(resp.URL, '/'):]
		if strings.HasSuffix(path, "7") && resp.Request().Attempt == 0 {
			return tegenaria.Retry(10*time.Millisecond, errors.New("once more, by way of the due list"))
		}
		var item any = path
		if c.Folder != "" {
			item = pathRow{path}
		}
		return errors.Join(out.Item(item), out.FollowLinks())
	}
	outputs := []tegenaria.PipelinesInterface{feed.JSONL(c.File), cluster.Items()}
	if c.Folder != "" {
		outputs = append(outputs, c.rotated(), c.parquet())
	}
	return tegenaria.NewSpiderEngine(
		tegenaria.EngineWithCache(cache),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("killed", tegenaria.Handle(parse), c.URL+"/0")),
		tegenaria.EngineWithConcurrency(8),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			PerSlot: 8, Delay: c.Delay, UserAgent: c.Worker, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		}),
		tegenaria.EngineWithSignals(),
		tegenaria.EngineWithPipelines(outputs...),
	).Run(ctx, "killed")
}

// A crawl is killed at random moments, again and again. Each page is asked for, as the site says itself, its item is
// written once, and each request has one outcome.
func TestKills(t *testing.T) {
	if *killed != "" {
		var c crawl
		if err := json.Unmarshal([]byte(*killed), &c); err != nil {
			t.Fatal(err)
		}
		if err := c.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return
	}
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	dsn := database(t)
	const pages = 600
	done, asked := 0, 0
	for job := uint64(0); done < *kills; job++ {
		c := &crawl{DSN: dsn, Job: newJob(), Worker: "one", File: filepath.Join(t.TempDir(), "items.jsonl")}
		c.Options.Dir = t.TempDir()
		loop := &killtest.Loop{Seed: seed + job}
		site := newSite(pages, loop)
		c.URL = site.URL
		loop.Next = func(start int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
			var faults []killtest.Fault
			if done+start < *kills {
				faults = []killtest.Fault{{Count: 1 + random.IntN(pages/4)}} // requests
			}
			return c.command(t), faults
		}
		starts, err := loop.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done += starts - 1
		site.Close()
		asked += c.check(t, site, pages)
	}
	t.Logf("%d kills, %d requests too many", done, asked)
}

// command returns the command of a crawl in another process.
func (c *crawl) command(t *testing.T) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(os.Args[0], "-test.run", "^TestKills$", "-killed", string(text))
}

// begin begins a crawl in another process.
func (c *crawl) begin(t *testing.T) *killtest.Process {
	t.Helper()
	program, err := killtest.Start(c.command(t))
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// check compares what a crawl has left with what it had to do, and returns how many requests it made beyond that.
func (c *crawl) check(t *testing.T, site *site, pages int) (extra int) {
	t.Helper()
	for i := range pages {
		path := fmt.Sprint("/", i)
		extra += site.asked[path] - 1
		if site.asked[path] == 0 {
			t.Errorf("%s was not asked for", path)
		}
	}
	items := itemsOf(t, c.File)
	if collected := collect(t, c.DSN, c.Job); !maps.Equal(collected, items) {
		t.Errorf("%d items were collected, %d are in the file", len(collected), len(items))
	}
	admin := connect(t, c.DSN)
	schema := `"` + c.Job + `"`
	got := read(t, admin, `SELECT count(*) || ' ' || count(DISTINCT key) || ' ' || count(DISTINCT url) FROM `+schema+`.outcome WHERE outcome = 'fetched'`)
	left := read(t, admin, `SELECT (SELECT count(*) FROM `+schema+`.queue) || ' ' || (SELECT count(*) FROM `+schema+`.due)`)
	if want := fmt.Sprintf("%d %[1]d %[1]d", pages); got != want || left != "0 0" || len(items) != pages {
		t.Errorf("outcomes, keys, URLs %s, want %s; %s are left; %d items, want %d", got, want, left, len(items), pages)
	}
	return extra
}

// itemsOf returns the items of some files, each of which may be there once.
func itemsOf(t *testing.T, files ...string) map[string]bool {
	t.Helper()
	items := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if items[line] {
				t.Errorf("the item %s is there twice", line)
			}
			items[line] = true
		}
	}
	return items
}

// collect returns the items that were collected of a job that has finished, each of which may be there once.
func collect(t *testing.T, dsn, job string) map[string]bool {
	t.Helper()
	file := filepath.Join(t.TempDir(), "collected.jsonl")
	got, err := cluster.Collect(t.Context(), dial(t, dsn, job), file)
	if err != nil {
		t.Fatal(err)
	}
	items := itemsOf(t, file)
	if !got.Finished || got.Items != int64(len(items)) {
		t.Errorf("%d items are in the file, and Collect says %+v", len(items), got)
	}
	return items
}

// site is a tree of pages, which counts what is asked of it.
type site struct {
	*httptest.Server
	pages int
	loop  *killtest.Loop

	mu    sync.Mutex // guards asked
	asked map[string]int
}

func newSite(pages int, loop *killtest.Loop) *site {
	s := &site{pages: pages, loop: loop, asked: make(map[string]int)}
	s.Server = httptest.NewServer(s)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var i int
	if _, err := fmt.Sscanf(r.URL.Path, "/%d", &i); err != nil {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.asked[r.URL.Path]++
	s.mu.Unlock()
	s.loop.Count()
	w.Header().Set("Content-Type", "text/html")
	for child := 3*i + 1; child <= 3*i+3 && child < s.pages; child++ {
		fmt.Fprintf(w, `<a href="/%d">next</a> <a href="/%d">across</a>`, child, child*7%s.pages)
	}
}

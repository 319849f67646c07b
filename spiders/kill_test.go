package spiders_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/records"
	"github.com/tegenaria/tegenaria/spiders"
)

var killSeed = flag.Uint64("kill.seed", 0, "of the moments at which TestKill kills; 0: 1, or another one each time with -deep")

// killPlan is a crawl of the program that TestKill kills.
type killPlan struct{ Folder, Site, Spider string }

// What the site of TestKill has.
const (
	killLists, killEach = 8, 4 // pages of products, and products on each
	killEntries         = 40   // that come into the feed one after the other
	killRows            = 3000 // of the file
)

// thing is the item.
type thing struct{ Name string }

// killedSpider makes the spider of that name.
func killedSpider(name, site string) tegenaria.SpiderInterface {
	switch name {
	case "crawl":
		s := spiders.NewCrawl("test", nil, site+"/list/0")
		s.Rules = []spiders.LinkRule{
			{Match: regexp.MustCompile("/list/"), Follow: true},
			{Match: regexp.MustCompile("/product/"), Parser: tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[thing]) error {
				return out.Item(thing{page.URL})
			})},
		}
		return s
	case "feed":
		s := spiders.NewFeed("test", func(_ context.Context, entry *records.Entry, out *tegenaria.Output[thing]) error {
			return out.Item(thing{entry.Title})
		}, site+"/feed")
		s.Every = time.Millisecond
		return s
	}
	return spiders.NewRecords("test", records.CSV(records.Dialect{}), func(_ context.Context, row records.Row, out *tegenaria.Output[thing]) error {
		return out.Item(thing{row.Get("n")})
	}, site+"/file")
}

// killed is the program that is killed.
var killed = killtest.NewProgram("killed", func(p killPlan) error {
	cache, err := disk.Open(filepath.Join(p.Folder, "job"))
	if err != nil {
		return err
	}
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(killedSpider(p.Spider, p.Site)), tegenaria.EngineWithCache(cache), silent,
		tegenaria.EngineWithPipelines(feed.JSONL(filepath.Join(p.Folder, "items.jsonl"))))
	last := fmt.Sprint(killEntries - 1)
	tegenaria.EngineWithEvents(tegenaria.Events{ItemScraped: func(item *tegenaria.ItemMeta) {
		if p.Spider == "feed" && item.Item == (thing{last}) { // or else the feed is asked for again and again
			go engine.Stop(context.Background())
		}
	}})(engine)
	err = engine.Execute("test")
	if stopped := (*tegenaria.StoppedError)(nil); errors.As(err, &stopped) {
		err = nil
	}
	return errors.Join(err, cache.Close())
})

// killingSite is the site. It kills the program at some of its requests, before it answers or a moment after.
type killingSite struct {
	loop    killtest.Loop
	mu      sync.Mutex // guards all below
	random  *rand.Rand
	in      int // requests until it kills
	kills   int
	edition int             // of the feed
	feeds   map[string]bool // the conditions that the feed was asked with
}

func (s *killingSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	var n int
	if s.in--; s.in <= 0 && s.kills < 8 && s.edition < killEntries-2 && (r.URL.Path != "/file" || s.kills < 2) {
		s.kills++
		s.in = 4 + s.random.IntN(5) // three kills in a row at one request would end it
		program := s.loop.Process()
		time.AfterFunc(time.Duration(s.random.IntN(30))*time.Millisecond, func() { program.Signal(syscall.SIGKILL) })
	}
	switch r.URL.Path {
	case "/feed":
		s.feeds[r.Header.Get("If-None-Match")] = true
		tag := fmt.Sprintf(`"%d"`, s.edition)
		if s.random.IntN(3) == 0 && r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		s.edition = min(s.edition+1, killEntries)
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, s.edition))
		var titles []string
		for i := range s.edition {
			titles = append(titles, fmt.Sprint(i))
		}
		slices.Reverse(titles)
		io.WriteString(w, rssOf(titles[:min(len(titles), 10+s.kills)]...)+"</channel></rss>")
	case "/file":
		b := bufio.NewWriter(w)
		defer b.Flush()
		b.WriteString("n\n")
		for i := range killRows {
			fmt.Fprintln(b, i)
		}
	default:
		if _, err := fmt.Sscanf(r.URL.Path, "/list/%d", &n); err != nil {
			return
		}
		var refs []string
		for i := range killEach {
			refs = append(refs, fmt.Sprintf("/product/%d-%d", n, i))
		}
		if n+1 < killLists {
			refs = append(refs, fmt.Sprintf("/list/%d", n+1))
		}
		io.WriteString(w, anchors(refs...))
	}
}

// A program whose process is killed at any moment, and started anew, has each item in its output once: those of pages
// behind rules, of entries of a feed that changes meanwhile, of the rows of a file.
func TestKill(t *testing.T) {
	seed := *killSeed
	if seed == 0 {
		seed = deep.Seed()
	}
	t.Logf("-kill.seed %d", seed)
	for _, tt := range []struct {
		spider string
		items  int
	}{{"crawl", killLists * killEach}, {"feed", killEntries}, {"records", killRows}} {
		t.Run(tt.spider, func(t *testing.T) {
			site := &killingSite{random: rand.New(rand.NewPCG(seed, 0)), in: 1 + int(seed%4), feeds: make(map[string]bool)}
			if tt.spider == "records" {
				site.in = 1
			}
			server := httptest.NewServer(site)
			defer server.Close()
			folder := t.TempDir()
			site.loop.Next = func(int, *rand.Rand) (*exec.Cmd, []killtest.Fault) {
				return killed.Command(killPlan{folder, server.URL, tt.spider}), nil
			}
			starts, err := site.loop.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			counts := make(map[string]int)
			text, err := os.Open(filepath.Join(folder, "items.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			defer text.Close()
			for lines := bufio.NewScanner(text); lines.Scan(); {
				var item thing
				if err := json.Unmarshal(lines.Bytes(), &item); err != nil {
					t.Fatal(err)
				}
				if counts[item.Name]++; counts[item.Name] > 1 {
					t.Errorf("%s is there %d times", item.Name, counts[item.Name])
				}
			}
			if len(counts) != tt.items {
				t.Errorf("%d items, want %d", len(counts), tt.items)
			}
			site.mu.Lock()
			defer site.mu.Unlock()
			if site.kills == 0 || tt.spider == "feed" && len(site.feeds) < 5 {
				t.Errorf("%d kills, %d conditions", site.kills, len(site.feeds))
			}
			t.Logf("%d kills, %d starts", site.kills, starts)
		})
	}
}

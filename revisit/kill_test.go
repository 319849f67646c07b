package revisit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/revisit"
)

// plan is a crawl of a process that is killed.
type plan struct {
	Site, Folder string
	Job          string // the folder of a durable job; "": there is none
}

// closingSpider says when the end of the run begins: of all parts, the spider is closed first.
type closingSpider struct{ tegenaria.SpiderInterface }

func (closingSpider) Close(context.Context, string) error {
	fmt.Println("closing")
	return nil
}

// runChild makes this process crawl as a plan says.
func runChild(text string) error {
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	h, err := revisit.Open(p.Folder, revisit.Options{MaxRemoved: 1})
	if err != nil {
		return err
	}
	options := []tegenaria.EngineOption{tegenaria.EngineWithLogger(enginetest.Quiet()),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithPipelines(h.Changes(feed.JSONL(filepath.Join(p.Folder, "changes.jsonl"))))}
	if p.Job != "" {
		queue, err := disk.Open(p.Job)
		if err != nil {
			return errors.Join(err, h.Close())
		}
		defer queue.Close()
		options = append(options, tegenaria.EngineWithCache(queue))
	}
	e := tegenaria.NewSpiderEngine(options...)
	e.RegisterSpiders(closingSpider{tegenaria.NewSpiderOf("shop", parserOf[product](), tegenaria.NewRequest(p.Site+"/", tegenaria.GET, nil))})
	return errors.Join(e.Run(context.Background(), "shop"), h.Close())
}

// truth is what a shop has on the pages to which something leads.
func (s *shop) truth() map[string]string {
	table, seen := make(map[string]string), map[string]bool{"/": true}
	for waiting := []string{"/"}; len(waiting) > 0; waiting = waiting[1:] {
		page := s.pages[waiting[0]]
		if page == nil {
			continue
		}
		for _, one := range page.Items {
			table[one.SKU] = fmt.Sprintf(`{"price":%d,"sku":%q}`, one.Price, one.SKU)
		}
		for _, link := range page.Links {
			if !seen[link] {
				seen[link] = true
				waiting = append(waiting, link)
			}
		}
	}
	return table
}

// TestKills: a process that crawls a shop on several days is killed again and again, at a request and while it finds out what is
// removed. At the end of each day its table is what the shop has, and the lines of the feed make the table of before into it.
func TestKills(t *testing.T) {
	for _, durable := range []bool{true, false} {
		t.Run(fmt.Sprintf("durable %t", durable), func(t *testing.T) { killDays(t, durable) })
	}
}

func killDays(t *testing.T, durable bool) {
	loop := &killtest.Loop{Seed: deep.Seed(), Log: t.Logf, Limit: time.Minute}
	random := rand.New(rand.NewPCG(loop.Seed, 54))
	s := newShop(random)
	for range 40 {
		s.addPage()
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		loop.Count()
		page := s.pages[r.URL.Path]
		if page == nil {
			http.NotFound(w, r)
			return
		}
		body, _ := json.Marshal(page)
		w.Write(body)
	}))
	defer server.Close()
	folder := t.TempDir()
	table, lines, late := make(map[string]string), 0, 0
	defer func() { t.Logf("%d kills while a run was closed", late) }()
	for day := range deep.Rounds(2, 10) {
		p := plan{Site: server.URL, Folder: folder}
		if durable {
			p.Job = filepath.Join(t.TempDir(), fmt.Sprint("job", day))
		}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		kills := deep.Rounds(2, 5)
		loop.Next = func(start int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
			cmd := exec.Command(os.Args[0], "-child", string(text))
			switch {
			case start >= 2*kills:
				return cmd, nil
			case start%2 == 0:
				return cmd, []killtest.Fault{{Count: 1 + random.IntN(12)}}
			}
			return cmd, []killtest.Fault{{Line: "closing", After: time.Duration(random.IntN(5_000)) * time.Microsecond}}
		}
		loop.Judge = func(e killtest.Exit) (again bool, err error) {
			if e.Killed() && e.Start%2 == 1 {
				late++
			}
			return killtest.Finished(e)
		}
		if _, err := loop.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		h, err := revisit.Open(folder, revisit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := tableOf(t, h)
		runs, err := h.Runs()
		if err = errors.Join(err, h.Close()); err != nil {
			t.Fatal(err)
		}
		lines = replay(t, filepath.Join(folder, "changes.jsonl"), lines, table)
		if want := s.truth(); !maps.Equal(got, want) {
			t.Errorf("day %d: %s", day, difference(got, want))
		}
		if !maps.Equal(table, got) {
			t.Errorf("day %d: the lines of the feed and the table: %s", day, difference(table, got))
		}
		if last := runs[len(runs)-1]; !last.Complete || durable && last.Number != day+1 {
			t.Errorf("day %d: %+v", day, last)
		}
		if t.Failed() {
			return
		}
		loop.Seed++
		for range 5 {
			s.edit()
		}
		for path, page := range s.pages {
			if len(page.Items) == 0 { // a page that gave items, and gives none, keeps them
				s.addItem(path)
			}
		}
	}
}

// difference says how two tables differ.
func difference(got, want map[string]string) string {
	var lines []string
	for key, value := range got {
		if want[key] != value {
			lines = append(lines, fmt.Sprintf("%s is %s, not %q", key, value, want[key]))
		}
	}
	for key, value := range want {
		if _, has := got[key]; !has {
			lines = append(lines, fmt.Sprintf("%s is not there, and should be %s", key, value))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

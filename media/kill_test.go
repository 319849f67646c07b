//go:build unix

package media_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/media"
)

// killPlan is a job that is killed.
type killPlan struct {
	Folder, Site string
	Point        string // where it kills itself
	Nth          int    // the how manieth time it comes there
}

const (
	killedPages = 240
	killedWidth = 4 // downloads and items at a time
	perPage     = 3
)

// killedItems are the items of a page. Each file is wanted by two pages.
func killedItems(page int) []any {
	item := product{Name: fmt.Sprint(page), File: fmt.Sprintf("/%d.txt", page/2)}
	for i := range perPage {
		item.Images = append(item.Images, fmt.Sprintf("/%d.jpg", (page*perPage+i)/2))
	}
	return []any{item}
}

// killed is the job that is killed.
var killed = killtest.NewProgram("killed", func(plan killPlan) error {
	cache, err := disk.Open(filepath.Join(plan.Folder, "job"))
	if err != nil {
		return err
	}
	p := media.New(media.Options{Dir: filepath.Join(plan.Folder, "files"), Images: true, Thumbs: map[string]image.Point{"s": {X: 10, Y: 10}}})
	var count atomic.Int32
	p.SetHit(func(point string) {
		if point == plan.Point && count.Add(1) == int32(plan.Nth) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	inWork := make(chan struct{}, killedWidth) // else all pages wait for their pictures, and are in flight when the job is killed
	items := func(page int) []any {
		inWork <- struct{}{}
		return killedItems(page)
	}
	err = newEngine(plan.Site, killedPages, items, tegenaria.EngineWithCache(cache),
		tegenaria.EngineWithConcurrency(killedWidth), tegenaria.EngineWithItemConcurrency(killedWidth), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: killedWidth}),
		tegenaria.EngineWithPipelines(p, feed.JSONL(filepath.Join(plan.Folder, "items.jsonl")), last(func() { <-inWork }))).Run(context.Background(), "gallery")
	return errors.Join(err, cache.Close())
})

// last is a pipeline that calls a func for each item that has come to it.
type last func()

func (last) GetPriority() int { return math.MaxInt }

func (f last) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	f()
	return nil
}

// A job is killed at each point of the protocol, three times unless it is over before. Then each item is there once,
// and each file is whole.
func TestKills(t *testing.T) {
	g, dir := newGallery(t), t.TempDir()
	g.mu.Lock()
	for i := range killedPages * perPage {
		g.files[fmt.Sprintf("/%d.jpg", i)] = jpegOf(paint(40, 30, i))
		g.files[fmt.Sprintf("/%d.txt", i)] = fmt.Appendf(nil, "text %d", i)
	}
	g.mu.Unlock()
	kills := make(map[string]int)
	points := []string{"written", "synced", "renamed", "noted"}
	total, point := 0, ""
	loop := &killtest.Loop{Seed: deep.Seed(), Log: t.Logf, Starts: 3*len(points) + 1}
	loop.Next = func(start int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
		nth := 0
		if point = ""; start < 3*len(points) {
			point, nth = points[start%len(points)], 1+random.IntN(8)
			if suspects, most := crashes(t, filepath.Join(dir, "job")); most > 1 { // a third one would be the end of that page: all suspects get through first
				nth += suspects * (perPage + 1)
				if point != "noted" {
					nth += suspects * perPage // thumbnails
				}
			}
		}
		return killed.Command(killPlan{dir, g.URL, point, nth}), nil
	}
	loop.Judge = func(e killtest.Exit) (bool, error) {
		if e.Killed() {
			total++
			kills[point]++
		}
		return killtest.Finished(e)
	}
	_, err := loop.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, point := range points { // how many pages crash, and are kept for last, depends on the moment
		if kills[point] == 0 || deep.Checks() && kills[point] < 2 {
			t.Errorf("killed %d times at %s", kills[point], point)
		}
	}
	files := filepath.Join(dir, "files")
	text, err := os.ReadFile(filepath.Join(dir, "items.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for line := range bytes.Lines(text) {
		var p product
		if err := json.Unmarshal(line, &p); err != nil || seen[p.Name] || len(p.Pictures) != perPage {
			t.Fatalf("%s: %v", line, err)
		}
		seen[p.Name] = true
		if want := string(g.files[p.File]); string(stored(t, files, p.Document)) != want {
			t.Errorf("%+v is not %q", p.Document, want)
		}
		for i, r := range p.Pictures {
			if !bytes.Equal(stored(t, files, r), g.files[p.Images[i]]) || r.Width != 40 {
				t.Errorf("%+v is not %s", r, p.Images[i])
			}
			if _, _, err := image.Decode(bytes.NewReader(read(t, files, r.Thumbs["s"]))); err != nil {
				t.Errorf("%+v: %v", r, err)
			}
		}
	}
	if len(seen) != killedPages {
		t.Errorf("%d items", len(seen))
	}
	noTempFiles(t, files)
	sent := 0
	for _, n := range g.sent {
		sent += n
	}
	wanted := killedPages/2 + killedPages*perPage/2
	t.Logf("%v kills, %d files, sent %d times", kills, wanted, sent)
	if most := wanted + total*killedWidth; sent < wanted || sent > most { // as many items are in the pipelines at a time
		t.Errorf("sent %d times, want %d to %d", sent, wanted, most)
	}
}

// crashes returns how many pages were in flight when the job was killed, and how many crashes in a row the worst of them has.
func crashes(t *testing.T, job string) (suspects, most int) {
	t.Helper()
	if _, err := os.Stat(job); err != nil {
		return 0, 0
	}
	cache, err := disk.Open(job)
	if err != nil {
		t.Fatal(err)
	}
	status, err := cache.Status(t.Context())
	if err := errors.Join(err, cache.Close()); err != nil {
		t.Fatal(err)
	}
	for _, info := range status.Suspects {
		most = max(most, info.Record.Crashes)
	}
	return len(status.Suspects), most
}

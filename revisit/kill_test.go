package revisit_test

import (
	"bytes"
	"context"
	"crypto/sha256"
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
	"sync/atomic"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/revisit"
)

// plan is a crawl of a process that is killed.
type plan struct {
	Site, Folder string
	Job          string // the folder of a durable job; "": there is none
	Stores       string // what stores the pages; "": nothing does, otherwise unchanged ones are skipped
}

// What stores the pages of a plan.
const (
	inFiles = "files" // pageFiles
	inCache = "cache" // an HTTP cache, which asks by validators
)

// pageFiles is a folder with the body of the last good answer of each page, which a kill cannot take away.
type pageFiles string

func (f pageFiles) path(url string) string { return filepath.Join(string(f), fmt.Sprintf("%x", url)) }

// Stored is part of revisit.Pages.
func (f pageFiles) Stored(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	body, err := os.ReadFile(f.path(ctx.Request.Url))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return ctx.Respond(http.StatusOK, nil, bytes.NewReader(body))
}

// parser returns a parser that stores each page before another one reads it.
func (f pageFiles) parser(next tegenaria.Parser) tegenaria.Parser {
	return func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		path := f.path(ctx.Request.Url)
		err := os.WriteFile(path+".new", ctx.Response().Bytes(), 0o600)
		if err = errors.Join(err, os.Rename(path+".new", path)); err != nil {
			return err
		}
		return next(ctx, items, req)
	}
}

// closingSpider says when the end of the run begins: of all parts, the spider is closed first.
type closingSpider struct{ tegenaria.SpiderInterface }

func (closingSpider) Close(context.Context, string) error {
	fmt.Println("closing")
	return nil
}

func TestMain(m *testing.M) { killtest.Main(m) }

// shopping crawls as a plan says.
var shopping = killtest.NewProgram("shopping", func(p plan) (err error) {
	o := revisit.Options{MaxRemoved: 1, SkipUnchanged: p.Stores != ""}
	options := []tegenaria.EngineOption{tegenaria.EngineWithLogger(enginetest.Quiet()),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true})}
	parser := parserOf[product]()
	stored := filepath.Join(p.Folder, "pages")
	switch p.Stores {
	case inFiles:
		if err := os.MkdirAll(stored, 0o700); err != nil {
			return err
		}
		o.Pages, parser = pageFiles(stored), pageFiles(stored).parser(parser)
	case inCache:
		cache, failed := httpcache.Open(stored, httpcache.Options{Policy: httpcache.Refresh})
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, cache.Close()) }()
		o.Pages, options = cache, append(options, tegenaria.EngineWithDownloaderLayers(cache.Layer))
	}
	h, err := revisit.Open(p.Folder, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	options = append(options, tegenaria.EngineWithPipelines(h.Changes(feed.JSONL(filepath.Join(p.Folder, "changes.jsonl")))))
	if p.Job != "" {
		queue, failed := disk.Open(p.Job)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, queue.Close()) }()
		options = append(options, tegenaria.EngineWithCache(queue))
	}
	e := tegenaria.NewSpiderEngine(options...)
	e.RegisterSpiders(closingSpider{tegenaria.NewSpiderOf("shop", parser, tegenaria.NewRequest(p.Site+"/", tegenaria.GET, nil))})
	return e.Run(context.Background(), "shop")
})

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

// settled is how the pages of a shop settle on a day on which some fail. stored are the links of the pages that were read before; those
// of the day are entered.
func (s *shop) settled(failing map[string]bool, stored map[string][]string) (list []tegenaria.Settlement) {
	seen := map[string]bool{"/": true}
	for waiting := []string{"/"}; len(waiting) > 0; waiting = waiting[1:] {
		path := waiting[0]
		one := tegenaria.Settlement{URL: site + path, Seed: path == "/", Outcome: tegenaria.Fetched, Status: 200}
		switch page := s.pages[path]; {
		case page == nil:
			one.Outcome, one.Status = tegenaria.Failed, 404
			delete(stored, path)
		case failing[path]:
			one.Outcome, one.Status = tegenaria.Failed, 500
		default:
			stored[path] = slices.Clone(page.Links)
		}
		list = append(list, one)
		for _, link := range stored[path] {
			if !seen[link] {
				seen[link] = true
				waiting = append(waiting, link)
			}
		}
	}
	return list
}

// TestKills: a process that crawls a shop on several days is killed again and again, at a request and while it finds out what is
// removed. At the end of each day its table is what the shop has, and the lines of the feed make the table of before into it.
//
// Where pages are stored, unchanged ones are skipped. Where they are stored in files, some pages fail for a day, and the table is what a
// model says. From an HTTP cache a kill may take the newest pages, and with them the links that would be followed on such a day.
func TestKills(t *testing.T) {
	for _, durable := range []bool{true, false} {
		for _, stores := range []string{"", inFiles, inCache} {
			t.Run(fmt.Sprintf("durable %t, pages %q", durable, stores), func(t *testing.T) { killDays(t, durable, stores) })
		}
	}
}

func killDays(t *testing.T, durable bool, stores string) {
	loop := &killtest.Loop{Seed: deep.Seed(), Log: t.Logf, Limit: time.Minute}
	random := rand.New(rand.NewPCG(loop.Seed, 54))
	s := newShop(random)
	for range 40 {
		s.addPage()
	}
	failing := make(map[string]bool) // it changes between days
	var unmodified atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		loop.Count()
		page := s.pages[r.URL.Path]
		if page == nil {
			http.NotFound(w, r)
			return
		}
		if failing[r.URL.Path] {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		body, _ := json.Marshal(page)
		tag := fmt.Sprintf(`"%x"`, sha256.Sum256(body))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			unmodified.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Write(body)
	}))
	defer server.Close()
	folder := t.TempDir()
	table, lines, late := make(map[string]string), 0, 0
	m := &model{pages: make(map[string]*known), items: make(map[string]*row)}
	stored := make(map[string][]string)
	var all []revisit.Run
	for day := range deep.Rounds(3, 10) {
		p := plan{Site: server.URL, Folder: folder, Stores: stores}
		if durable {
			p.Job = filepath.Join(t.TempDir(), fmt.Sprint("job", day))
		}
		kills := deep.Rounds(2, 5)
		loop.Next = func(start int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
			cmd := shopping.Command(p)
			switch {
			case start >= 2*kills, start%2 == 1 && day%2 == 1: // a process that ends leaves the HTTP cache whole for the next day
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
		all, err = h.Runs()
		if err = errors.Join(err, h.Close()); err != nil {
			t.Fatal(err)
		}
		for _, page := range m.pages {
			page.lost = false
		}
		m.settle(day+1, s, s.settled(failing, stored), nil)
		m.finish(day + 1)
		if want := m.table(); !maps.Equal(got, want) {
			t.Errorf("day %d, on which %d pages fail: by the model, %s", day, len(failing), difference(got, want))
		}
		if want := s.truth(); len(failing) == 0 && !maps.Equal(got, want) {
			t.Errorf("day %d: %s", day, difference(got, want))
		}
		if lines = replay(t, filepath.Join(folder, "changes.jsonl"), lines, table); !maps.Equal(table, got) {
			t.Errorf("day %d: the lines of the feed and the table: %s", day, difference(table, got))
		}
		if last := all[len(all)-1]; !last.Complete || durable && last.Number != day+1 {
			t.Errorf("day %d: %+v", day, last)
		}
		if t.Failed() {
			return
		}
		loop.Seed++
		tokens := make(map[string]int)
		for path, page := range s.pages {
			tokens[path] = page.Token
		}
		for range 5 {
			s.edit()
		}
		clear(failing)
		for _, path := range s.paths() {
			page := s.pages[path]
			if len(page.Items) == 0 { // a page that gave items, and gives none, keeps them
				s.addItem(path)
			}
			if random.IntN(3) > 0 {
				page.Token = tokens[path]
			}
			if stores == inFiles && day%2 == 0 && random.IntN(4) == 0 {
				failing[path] = true
			}
		}
	}
	var skipped, followed int64
	for _, run := range all {
		skipped, followed = skipped+run.Skipped, followed+run.Followed
	}
	t.Logf("%d kills while a run was closed; %d pages skipped, %d answers 304; the links of %d stored pages followed",
		late, skipped, unmodified.Load(), followed)
	enough := (skipped > 0) == (stores != "") && (followed > 0) == (stores == inFiles) && (unmodified.Load() > 0) == (stores == inCache)
	if !enough && !deep.Checks() { // with another seed a shop may shrink to a page or two
		t.Error("what this test is for has not happened, or something else has")
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

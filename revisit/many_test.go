package revisit_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/commit"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/wire"
	"github.com/tegenaria/tegenaria/revisit"
)

// keyOfPage is the key of the n-th page: as in a crawl, keys are spread evenly.
func keyOfPage(n int) (k tegenaria.Key) {
	binary.BigEndian.PutUint64(k[:], uint64(n+1)*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(k[8:], uint64(n))
	return k
}

func urlOfPage(n int) string { return fmt.Sprintf("https://shop.example/products/article-%d.html", n) }

// TestManyPages: two runs over many pages, each of which leads to others and gives nothing. It measures what a page takes on disk beside
// its links, and in memory, what it costs the processor to ask the history about a page of 20 KB, and how long the end of a run takes.
func TestManyPages(t *testing.T) {
	for name, test := range map[string]struct {
		pages int // in a deep check
		links int // of a page
		skip  bool
	}{
		"3 links":                 {1_000_000, 3, false},
		"10 links":                {200_000, 10, false},
		"10 links, SkipUnchanged": {200_000, 10, true},
	} {
		t.Run(name, func(t *testing.T) { manyPages(t, deep.Rounds(5_000, test.pages), test.links, test.skip) })
	}
}

func manyPages(t *testing.T, pages, links int, skip bool) {
	folder := t.TempDir()
	h, err := revisit.Open(folder, revisit.Options{MaxRemoved: 1, SkipUnchanged: skip})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	const batch = 512
	var before, after runtime.MemStats
	bodies := make([][]byte, batch)
	for i := range bodies {
		bodies[i] = bytes.Repeat([]byte("word "), 4_000)
	}
	runtime.GC()
	runtime.ReadMemStats(&before)
	for run := range 2 {
		to := h.Changes(feed.JSONL(filepath.Join(folder, "changes.jsonl"))).(interface {
			tegenaria.Committer
			tegenaria.Closer
			tegenaria.UnchangedPages
			tegenaria.PageHistory
		})
		ctx := commit.OfRun(t.Context(), "shop", "", true)
		if err := to.Restore(ctx, nil); err != nil {
			t.Fatal(err)
		}
		began, asking := time.Now(), time.Duration(0)
		read := pages - run*pages/10 // the second run misses some that are led to
		for from := 0; from < read; from += batch {
			var list []tegenaria.Settlement
			var ids []string
			var asked []*tegenaria.Response
			for n := from; n < min(from+batch, read); n++ {
				one := tegenaria.Settlement{CtxId: fmt.Sprint(n), URL: urlOfPage(n), Key: keyOfPage(n), Seed: n == 0,
					Outcome: tegenaria.Fetched, Status: 200, Sendable: skip}
				for link := 3*n + 1; link <= 3*n+links; link++ {
					one.Links = append(one.Links, keyOfPage(link).Short())
					if skip {
						one.Sent = append(one.Sent, wire.AppendPlain([]byte{0, 0}, []byte(urlOfPage(link))))
					}
				}
				copy(bodies[n-from], fmt.Sprintf("%-80s", one.URL))
				list, ids = append(list, one), append(ids, one.CtxId)
				asked = append(asked, tegenaria.NewResponse(tegenaria.NewRequest(one.URL, tegenaria.GET, nil), 200, nil, bodies[n-from]))
			}
			asking += deep.Took(func() {
				for i, page := range asked {
					if change := to.ChangeOf(list[i].Key, page); (change == tegenaria.ChangeNew) != (run == 0) {
						t.Errorf("run %d: %s is %s", run+1, list[i].URL, change)
					}
					if skip {
						var sent [][]byte
						sent, list[i].Unchanged = to.Unchanged(list[i].Key, []byte(list[i].URL), page)
						if list[i].Unchanged != (run > 0) || list[i].Unchanged && len(sent) != links {
							t.Fatalf("run %d: %s unchanged: %t, with %d requests", run+1, list[i].URL, list[i].Unchanged, len(sent))
						}
					}
				}
			})
			to.Settling(list)
			if _, err := to.Prepare(ctx, ids); err != nil {
				t.Fatal(err)
			}
		}
		crawled := time.Since(began)
		began = time.Now()
		if err := to.Close(commit.OfClose(context.Background(), true), "finished"); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		size := int64(0)
		_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
			if info, failed := d.Info(); err == nil && failed == nil {
				size += info.Size()
			}
			return nil
		})
		t.Logf("run %d: %d pages in %s, its end took %s; on disk %d bytes a page, of which %d for links; %d KiB of memory; asking took %s a page",
			run+1, read, crawled.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), size/int64(pages), 8*links,
			(int64(after.HeapAlloc)-int64(before.HeapAlloc))>>10, asking/time.Duration(read))
	}
	runs, err := h.Runs()
	if err != nil || len(runs) != 2 || !runs[1].Complete || runs[1].Pages != int64(pages-pages/10) || runs[1].Removed != 0 || skip && runs[1].Skipped != runs[1].Pages {
		t.Errorf("%v, %+v", err, runs)
	}
}

package revisit_test

import (
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
	"github.com/tegenaria/tegenaria/revisit"
)

// keyOfPage is the key of the n-th page: as in a crawl, keys are spread evenly.
func keyOfPage(n int) (k tegenaria.Key) {
	binary.BigEndian.PutUint64(k[:], uint64(n+1)*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(k[8:], uint64(n))
	return k
}

// TestManyPages: two runs over many pages, each of which leads to three and gives nothing. It measures what a page takes on disk beside
// its links, and in memory, and how long the end of a run takes.
func TestManyPages(t *testing.T) {
	pages := deep.Rounds(5_000, 1_000_000)
	folder := t.TempDir()
	h, err := revisit.Open(folder, revisit.Options{MaxRemoved: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	const batch = 512
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for run := range 2 {
		to := h.Changes(feed.JSONL(filepath.Join(folder, "changes.jsonl"))).(interface {
			tegenaria.Committer
			tegenaria.Closer
			tegenaria.SettlementListener
		})
		ctx := commit.OfRun(t.Context(), "shop", "", true)
		if err := to.Restore(ctx, nil); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		read := pages - run*pages/10 // the second run misses some that are led to
		for from := 0; from < read; from += batch {
			var list []tegenaria.Settlement
			var ids []string
			for n := from; n < min(from+batch, read); n++ {
				one := tegenaria.Settlement{CtxId: fmt.Sprint(n), URL: fmt.Sprintf("https://shop.example/products/article-%d.html", n), Key: keyOfPage(n),
					Seed: n == 0, Outcome: tegenaria.Fetched, Status: 200}
				for link := 3*n + 1; link <= 3*n+3; link++ {
					one.Links = append(one.Links, keyOfPage(link).Short())
				}
				list, ids = append(list, one), append(ids, one.CtxId)
			}
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
		t.Logf("run %d: %d pages in %s, its end took %s; on disk %d bytes a page, of which 24 for links; %d KiB of memory",
			run+1, read, crawled.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), size/int64(pages), (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>10)
	}
	runs, err := h.Runs()
	if err != nil || len(runs) != 2 || !runs[1].Complete || runs[1].Pages != int64(pages-pages/10) || runs[1].Removed != 0 {
		t.Errorf("%v, %+v", err, runs)
	}
}

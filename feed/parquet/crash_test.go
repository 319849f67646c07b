package parquet_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bare "github.com/parquet-go/parquet-go"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/parquet"
	"github.com/tegenaria/tegenaria/internal/commit"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/spidertest"
)

// book is what these tests read of feedtest.Book.
type book struct {
	SKU   string `parquet:"sku"`
	Title string `parquet:"title"`
}

// incomplete is the context of Close of a run that is to go on.
func incomplete(ctx context.Context) context.Context {
	return commit.OfClose(context.WithoutCancel(ctx), false)
}

// A job is killed between any two calls.
func TestKilledBetweenCalls(t *testing.T) {
	for _, path := range []string{"{start}-{part}.parquet", "books.parquet"} {
		dir := plainDir(t)
		opts := []parquet.Option{parquet.StageBytes(500)}
		if strings.Contains(path, "{part}") {
			opts = append(opts, parquet.Rotate(feed.Rotation{Items: 7}))
		}
		open := func() feedtest.Feed { return parquet.New[feedtest.Book](filepath.Join(dir, path), opts...) }
		read := func(t testing.TB) (list []string) {
			for _, b := range readAll[book](t, dir) {
				list = append(list, b.SKU+" "+b.Title)
			}
			return list
		}
		h := feedtest.Harness(open, read, false)
		h.Kill = func(t testing.TB, c tegenaria.Committer) { c.(feedtest.Feed).Close(incomplete(t.Context()), "") }
		spidertest.TestCommitter(t, h)
	}
}

// request has not been settled.
type request struct {
	id    string
	books []feedtest.Book
}

// crashing is a job whose power is cut again and again.
type crashing struct {
	t       *testing.T
	random  *rand.Rand
	disk    *feedtest.Power
	path    string
	feed    *parquet.Feed
	stored  []byte
	waiting []request
	want    []string
	made    int
	sums    map[string][32]byte // of finished files
	cuts    map[string]int      // of all jobs, by points
}

// start begins a run, however often the power is cut in that.
func (c *crashing) start() {
	for {
		if c.random.IntN(2) == 0 {
			c.disk.On(1+c.random.IntN(150), "")
		} else {
			c.disk.On(1+c.random.IntN(2), slices.MinFunc(points, func(a, b string) int { return cmp.Compare(c.cuts[a], c.cuts[b]) }))
		}
		c.feed = parquet.New[feedtest.Book](c.path, parquet.WithFS(c.disk), parquet.Rotate(feed.Rotation{Items: 5}), parquet.StageBytes(200))
		c.disk.In("Restore")
		err := c.feed.Restore(c.t.Context(), c.stored)
		c.disk.In("Prepare")
		if err == nil && c.stored == nil {
			c.stored, err = c.feed.Prepare(c.t.Context(), nil)
		}
		for _, w := range c.waiting {
			if err == nil {
				err = c.process(w)
			}
		}
		if err == nil {
			return
		}
		c.failed(err)
	}
}

func (c *crashing) process(w request) error {
	for _, b := range w.books {
		if err := process(c.feed, w.id, b); err != nil {
			return err
		}
	}
	return nil
}

// failed ends a run whose power was cut.
func (c *crashing) failed(err error) {
	c.t.Helper()
	if !errors.Is(err, feedtest.ErrPower) || !c.disk.IsCut() {
		c.t.Fatal(err)
	}
	c.feed.Close(incomplete(c.t.Context()), "")
	c.look()
}

// look checks that no finished file has changed, and that none has vanished.
func (c *crashing) look() {
	c.t.Helper()
	now := c.disk.Files(".parquet")
	for name, data := range now {
		sum := sha256.Sum256(data)
		if before, known := c.sums[name]; known && before != sum {
			c.t.Fatalf("%s was changed after it was finished", name)
		}
		c.sums[name] = sum
	}
	if len(now) != len(c.sums) {
		c.t.Fatalf("a finished file is gone: %q", slices.Sorted(maps.Keys(now)))
	}
}

func (c *crashing) settle(n int) {
	var ids []string
	for _, w := range c.waiting[:n] {
		ids = append(ids, w.id)
	}
	checkpoint, err := c.feed.Prepare(c.t.Context(), ids)
	if err == nil && c.random.IntN(5) > 0 {
		c.stored = checkpoint
		for _, w := range c.waiting[:n] {
			for _, b := range w.books {
				c.want = append(c.want, b.SKU+" "+b.Title)
			}
		}
		c.waiting = c.waiting[n:]
		return
	}
	if err != nil {
		c.failed(err)
	} else {
		c.feed.Close(incomplete(c.t.Context()), "")
	}
	c.start() // it was not stored
}

func (c *crashing) round() {
	switch c.random.IntN(6) {
	case 0, 1, 2:
		c.made++
		w := request{id: fmt.Sprint("request ", c.made)}
		for n := range c.random.IntN(4) {
			w.books = append(w.books, feedtest.Book{SKU: fmt.Sprint("s", c.made), Title: fmt.Sprint("title ", c.made, ".", n), Pages: &n})
		}
		c.waiting = append(c.waiting, w)
		err := c.process(w)
		if err == nil && c.random.IntN(4) == 0 { // an attempt that runs again
			c.feed.Discard(w.id)
			err = c.process(w)
		}
		if err != nil {
			c.failed(err)
			c.start()
		}
	case 3, 4:
		c.settle(c.random.IntN(len(c.waiting) + 1))
	case 5: // killed between two calls
		c.feed.Close(incomplete(c.t.Context()), "")
		c.start()
	}
}

// end ends the job, however often the power is cut in that.
func (c *crashing) end() {
	for len(c.waiting) > 0 {
		c.settle(len(c.waiting))
	}
	for {
		c.disk.In("Close")
		err := c.feed.Close(c.t.Context(), "finished")
		if err == nil {
			break
		}
		c.failed(err)
		c.start()
	}
	if c.random.IntN(2) == 0 { // that the outputs were closed was not stored
		c.disk.On(0, "")
		c.feed = parquet.New[feedtest.Book](c.path, parquet.WithFS(c.disk), parquet.Rotate(feed.Rotation{Items: 5}))
		feedtest.Restore(c.t, c.feed, c.stored)
		feedtest.End(c.t, c.feed)
	}
}

// Where the power is cut in TestPowerCuts.
var points = []string{
	"Prepare: write stage", "Prepare: read stage", "Prepare: write spool", "Prepare: sync spool", "Prepare: write part", "Prepare: sync part", "Prepare: read part",
	"Prepare: rename part", "Prepare: truncate spool", "Prepare: remove spool", "Close: write part", "Close: rename part", "Close: remove spool",
	"Restore: open spool", "Restore: truncate spool", "Restore: remove part", "Restore: measure spool",
}

// The power is cut in any operation of the disk: after rows are staged, in an append, after its sync, while a part is built, after it is
// renamed, in Close and in Restore. Afterwards each item of a batch that was stored is in a finished file once, in its order, and no other
// item is; no finished file has ever changed. It fails if something is removed before what takes its place is durable.
func TestPowerCuts(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	cuts := make(map[string]int)
	random := rand.New(rand.NewPCG(seed, 1))
	least, most := 100, 2000
	if testing.Short() {
		least, most = 10, 10
	}
	for jobs := 0; jobs < least || seldom(cuts) != "" && jobs < most; jobs++ {
		c := &crashing{t: t, random: random, path: "{part}.parquet", sums: make(map[string][32]byte), cuts: cuts}
		c.disk = feedtest.NewPower(rand.New(rand.NewPCG(random.Uint64(), 1)))
		c.start()
		for range 40 {
			c.round()
		}
		c.end()
		c.look()
		for point, n := range c.disk.Points {
			cuts[point] += n
		}
		var got []string
		files := c.disk.Files(".parquet")
		for _, name := range slices.Sorted(maps.Keys(files)) {
			rows, err := bare.Read[book](bytes.NewReader(files[name]), int64(len(files[name])))
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range rows {
				got = append(got, b.SKU+" "+b.Title)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Fatalf("%d rows %q\nwant %d: %q", len(got), got, len(c.want), c.want)
		}
		if names := c.disk.Names(); len(names) != len(files) {
			t.Fatalf("something is left: %q", names)
		}
	}
	if point := seldom(cuts); point != "" && !testing.Short() {
		t.Errorf("cut %d times at %q", cuts[point], point)
	}
	t.Log(cuts)
}

// seldom returns a point where the power was not cut three times.
func seldom(cuts map[string]int) string {
	for _, point := range points {
		if cuts[point] < 3 {
			return point
		}
	}
	return ""
}

package parquet_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	bare "github.com/parquet-go/parquet-go"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/parquet"
)

// product is feedtest.Product as the library has it.
type product struct {
	SKU         string    `parquet:"sku,dict,zstd"`
	Title       string    `parquet:"title,dict,zstd"`
	Description string    `parquet:"description,dict,zstd"`
	URL         string    `parquet:"url,dict,zstd"`
	Price       float64   `parquet:"price,zstd"`
	Stock       int       `parquet:"stock,zstd"`
	Rating      float64   `parquet:"rating,zstd"`
	New         bool      `parquet:"new,zstd"`
	Seen        time.Time `parquet:"seen,timestamp(microsecond),zstd"`
	Tags        []string  `parquet:"tags,list,optional,zstd"`
}

// plainDir is TempDir for tests whose names have braces.
func plainDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "parquet")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// files returns the finished files of a folder in their order, and fails if there is anything else in it.
func files(t testing.TB, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".parquet") {
			t.Errorf("%s is left", e.Name())
			continue
		}
		list = append(list, filepath.Join(dir, e.Name()))
	}
	return list
}

func readAll[T any](t testing.TB, dir string) (all []T) {
	t.Helper()
	for _, path := range files(t, dir) {
		rows, err := bare.ReadFile[T](path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rows...)
	}
	return all
}

// size returns how many bytes all files have.
func size(t *testing.T, dir string) (n int64) {
	t.Helper()
	for _, name := range files(t, dir) {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

func TestProducts(t *testing.T) {
	dir := plainDir(t)
	f := parquet.New[feedtest.Product](filepath.Join(dir, "books-{part}.parquet"), parquet.Rotate(feed.Rotation{Items: 100}))
	feedtest.Restore(t, f, nil)
	want := feedtest.Products(0, 1000)
	for i := range want {
		feedtest.Put(t, f, "r", want[i])
		if i%50 == 49 {
			feedtest.Prepare(t, f, "r")
		}
	}
	feedtest.End(t, f)
	got := readAll[product](t, dir)
	if len(files(t, dir)) != 10 || len(got) != len(want) || f.FeedStats().Written != 1000 || f.FeedStats().Parts != 10 || f.FeedStats().Bytes != size(t, dir) {
		t.Fatalf("%d rows in %d files; %d written, to %d files", len(got), len(files(t, dir)), f.FeedStats().Written, f.FeedStats().Parts)
	}
	for i := range got {
		got[i].Seen = got[i].Seen.UTC()
		if p := product(want[i]); !reflect.DeepEqual(got[i], p) {
			t.Fatalf("%+v, want %+v", got[i], p)
		}
	}
}

func process(f *parquet.Feed, id string, item any) error {
	return f.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: id, Item: item})
}

package parquet_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/parquet"
)

// brokenFS is the system's file system, in which writing to files of some ending fails.
type brokenFS struct {
	feed.MoverFS
	ending string // "" for none
	err    error
}

func (b *brokenFS) Open(name string) (feed.File, error) {
	file, err := b.MoverFS.Open(name)
	return &brokenFile{file, b, name}, err
}

func (b *brokenFS) Rename(from, to string) error {
	if b.ending == "rename" {
		return b.err
	}
	return b.MoverFS.Rename(from, to)
}

type brokenFile struct {
	feed.File
	fs   *brokenFS
	name string
}

func (f *brokenFile) WriteAt(data []byte, at int64) (int, error) {
	if f.fs.ending != "" && strings.HasSuffix(f.name, f.fs.ending) {
		return 0, f.fs.err
	}
	return f.File.WriteAt(data, at)
}

func (f *brokenFile) ReadAt(data []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(data, at)
	if f.fs.ending == "read" && strings.HasSuffix(f.name, ".part") && at > 0 && n > 8 {
		data[n/2] ^= 1
	}
	return n, err
}

// A disk that is full, a folder that cannot be written to, and a disk that reads something else than was written end the run with an error
// that names the file and the remedy. Afterwards the same job goes on, and has each item once.
func TestThingsGoAway(t *testing.T) {
	for _, c := range []struct {
		ending string
		err    error
		says   string
	}{
		{".spool", syscall.ENOSPC, "make room on the disk"},
		{".part", syscall.ENOSPC, "make room on the disk"},
		{".part", syscall.EROFS, "let this user write there"},
		{"rename", syscall.EACCES, "let this user write there"},
		{"read", nil, "memory and the disk"},
	} {
		t.Run(c.ending+"/"+c.says, func(t *testing.T) {
			dir := plainDir(t)
			fs := &brokenFS{MoverFS: feed.SystemFS().(feed.MoverFS), err: c.err}
			open := func() *parquet.Feed {
				return parquet.New[feedtest.Product](filepath.Join(dir, "{part}.parquet"), parquet.WithFS(fs), parquet.Rotate(feed.Rotation{Items: 10}))
			}
			products := feedtest.Products(0, 100)
			f := open()
			stored, settled := feedtest.Restore(t, f, nil), 0
			fs.ending = c.ending
			var err error
			for settled < 50 {
				for _, p := range products[settled : settled+5] {
					feedtest.Put(t, f, "r", p)
				}
				var checkpoint []byte
				if checkpoint, err = f.Prepare(t.Context(), []string{"r"}); err != nil {
					break
				}
				stored, settled = checkpoint, settled+5
			}
			err = errors.Join(err, f.Close(incomplete(t.Context()), ""))
			var failed *parquet.Error
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), c.says) || !strings.Contains(failed.Path, dir) || c.err != nil && !errors.Is(err, c.err) {
				t.Fatalf("%d: %v", settled, err)
			}
			fs.ending = ""
			f = open()
			feedtest.Restore(t, f, stored)
			for _, p := range products[settled:] {
				feedtest.Put(t, f, "s", p)
			}
			feedtest.Prepare(t, f, "s")
			feedtest.End(t, f)
			got := readAll[product](t, dir)
			if len(got) != len(products) {
				t.Fatalf("%d rows", len(got))
			}
			for i := range got {
				if got[i].SKU != products[i].SKU {
					t.Fatalf("row %d is %s", i, got[i].SKU)
				}
			}
		})
	}
}

// Somebody has done something to the spool, or to the finished file, while the job did not run.
func TestDamage(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, spool string) error{
		"removed":  func(_ *testing.T, spool string) error { return os.Remove(spool) },
		"cut":      func(_ *testing.T, spool string) error { return os.Truncate(spool, 500) },
		"replaced": func(_ *testing.T, spool string) error { return os.WriteFile(spool, make([]byte, 1<<16), 0o600) },
		"a bit": func(t *testing.T, spool string) error {
			data, err := os.ReadFile(spool)
			data[len(data)/2] ^= 1
			return errors.Join(err, os.WriteFile(spool, data, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "books.parquet")
			f := parquet.New[feedtest.Product](path)
			feedtest.Restore(t, f, nil)
			for _, p := range feedtest.Products(0, 10) {
				feedtest.Put(t, f, "r", p)
			}
			stored := feedtest.Prepare(t, f, "r")
			if err := errors.Join(f.Close(incomplete(t.Context()), ""), damage(t, path+".1.spool")); err != nil {
				t.Fatal(err)
			}
			f = parquet.New[feedtest.Product](path)
			err := f.Restore(t.Context(), stored)
			if err == nil {
				err = f.Close(t.Context(), "finished")
			}
			var corrupt *feed.CorruptError
			if !errors.As(err, &corrupt) || corrupt.Path != path+".1.spool" {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("there is a file")
			}
		})
	}
}

// A new job leaves the files of others alone, unless it is told otherwise.
func TestExistingFiles(t *testing.T) {
	dir := plainDir(t)
	path := filepath.Join(dir, "{part}.parquet")
	var taken *feed.NotEmptyError
	rotate := parquet.Rotate(feed.Rotation{Items: 3})
	write(t, path, feedtest.Products(0, 2), rotate)
	if err := parquet.New[feedtest.Product](path).Restore(t.Context(), nil); !errors.As(err, &taken) || taken.Path != filepath.Join(dir, "0001.parquet") {
		t.Errorf("a file that is there: %v", err)
	}
	write(t, path, feedtest.Products(2, 2), rotate, parquet.Append())
	if got := readAll[product](t, dir); len(got) != 4 || len(files(t, dir)) != 2 {
		t.Errorf("Append: %d rows", len(got))
	}
	write(t, path, feedtest.Products(9, 1), rotate, parquet.Overwrite())
	if got := readAll[product](t, dir); len(got) != 3 || got[0].SKU != "sku-00000009" {
		t.Errorf("Overwrite: %+v", got)
	}
	single := filepath.Join(t.TempDir(), "books.parquet")
	write(t, single, feedtest.Products(0, 2))
	if err := parquet.New[feedtest.Product](single).Restore(t.Context(), nil); !errors.As(err, &taken) {
		t.Errorf("a single file that is there: %v", err)
	}
	// A job that was not finished has its rows in a spool.
	f := parquet.New[feedtest.Product](path, parquet.Append())
	feedtest.Restore(t, f, nil)
	feedtest.Put(t, f, "r", feedtest.Products(0, 1)[0])
	feedtest.Prepare(t, f, "r")
	if err := f.Close(incomplete(t.Context()), ""); err != nil {
		t.Fatal(err)
	}
	if err := parquet.New[feedtest.Product](path, parquet.Append()).Restore(t.Context(), nil); !errors.As(err, &taken) || !strings.HasSuffix(taken.Path, ".spool") {
		t.Errorf("the spool of another job: %v", err)
	}
}

func TestEmpty(t *testing.T) {
	dir := plainDir(t)
	write[feedtest.Product](t, filepath.Join(dir, "a-{part}.parquet"), nil)
	if list := files(t, dir); len(list) > 0 {
		t.Errorf("%q", list)
	}
	write[feedtest.Product](t, filepath.Join(dir, "b-{part}.parquet"), nil, parquet.KeepEmpty())
	write[feedtest.Product](t, filepath.Join(dir, "c.parquet"), nil)
	if list := files(t, dir); len(list) != 2 || len(readAll[product](t, dir)) != 0 {
		t.Errorf("%q", list)
	}
}

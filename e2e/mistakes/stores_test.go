package mistakes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
)

// stores are jobs and feeds that cannot be read or written.
func stores() []mistake {
	return []mistake{
		{"the job is in use by another process", func(w *world) error {
			cache, err := disk.Open(filepath.Join(w.dir, "job"))
			if err != nil {
				return err
			}
			defer cache.Close()
			return start("the job is opened", w)
		}, "is in use"},
		{"the job's folder is a file", func(w *world) error {
			return errors.Join(os.WriteFile(filepath.Join(w.dir, "job"), []byte("x"), 0o600), durably(w, shop(w.site)))
		}, "job"},
		{"the job's folder is in a file", func(w *world) error {
			file := filepath.Join(w.dir, "file")
			if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
				return err
			}
			_, err := disk.Open(filepath.Join(file, "job"))
			return err
		}, "file"},
		{"the job's folder holds something else", func(w *world) error {
			job := filepath.Join(w.dir, "job")
			return errors.Join(os.Mkdir(job, 0o700), os.WriteFile(filepath.Join(job, "main.go"), []byte("package main"), 0o600), durably(w, shop(w.site)))
		}, "another directory"},
		{"the job is of a later version", func(w *world) error {
			return errors.Join(begun(w), os.WriteFile(filepath.Join(w.dir, "job", "JOB"), []byte("tegenaria job, format 99\n"), 0o600), durably(w, shop(w.site)))
		}, "format"},
		{"the job is damaged", func(w *world) error {
			return errors.Join(begun(w), os.WriteFile(filepath.Join(w.dir, "job", "JOB"), []byte("?"), 0o600), durably(w, shop(w.site)))
		}, "damaged"},
		{"the job's store is gone", func(w *world) error {
			return errors.Join(begun(w), os.RemoveAll(filepath.Join(w.dir, "job", "store")), durably(w, shop(w.site)))
		}, "damaged"},
		{"the job of another spider", func(w *world) error {
			cache, err := disk.Open(filepath.Join(w.dir, "job"))
			if err != nil {
				return err
			}
			defer cache.Close()
			if err := begin(cache, "books"); err != nil {
				return err
			}
			return crawl(shop(w.site), tegenaria.EngineWithCache(cache))
		}, "disk.Fresh"},
		{"a nil cache option", func(w *world) error {
			_, err := disk.Open(filepath.Join(w.dir, "job"), nil)
			return err
		}, "option 1 is nil"},
		{"the feed's folder does not exist", func(w *world) error {
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(feed.JSONL(filepath.Join(w.dir, "out", "items.jsonl"))))
		}, "items.jsonl"},
		{"the feed is a folder", func(w *world) error {
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(feed.JSONL(w.dir)))
		}, "DIR"},
		{"the feed may not be written", func(w *world) error {
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(feed.JSONL("/srv/items.jsonl", feed.WithFS(foreign{}))))
		}, "/srv/items.jsonl"},
		{"the feed is not empty", func(w *world) error {
			path := filepath.Join(w.dir, "items.jsonl")
			return errors.Join(os.WriteFile(path, []byte("{}\n"), 0o600), crawl(shop(w.site), tegenaria.EngineWithPipelines(feed.JSONL(path))))
		}, "choose Append or Overwrite"},
		{"the disk of the feed is full", func(w *world) error {
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(feed.JSONL("/srv/items.jsonl", feed.WithFS(full{}))))
		}, "no space left on device"},
		{"the device of the feed is full", func(w *world) error {
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(feed.JSONL("/dev/full")))
		}, "no space left on device"},
		{"a nil option of a feed", func(w *world) error {
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(feed.JSONL(filepath.Join(w.dir, "items.jsonl"), nil)))
		}, "option 1 is nil"},
		{"the feed was changed between two runs", func(w *world) error {
			path := filepath.Join(w.dir, "items.jsonl")
			stopping := tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 1})
			two := []string{w.site, w.site + "/item/1", w.site + "/links"}
			first := durably(w, shop(two...), stopping, tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithPipelines(feed.JSONL(path)))
			if stopped := (*tegenaria.StoppedError)(nil); !errors.As(first, &stopped) {
				return first
			}
			return errors.Join(os.WriteFile(path, nil, 0o600), durably(w, shop(two...), tegenaria.EngineWithPipelines(feed.JSONL(path))))
		}, "items.jsonl"},
		{"a job that is finished", func(w *world) error { return errors.Join(durably(w, shop(w.site)), durably(w, shop(w.site))) }, "disk.Fresh"},
		{"a closure as a parser of a job", func(w *world) error {
			return durably(w, handler(w.site, func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
				n := page.Status
				return out.Follow("/item/1", tegenaria.RequestWithParser(func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
					return fmt.Errorf("status %d", n)
				}))
			}))
		}, "spider.On"},
		{"a closure for Handle as a parser of a job", func(w *world) error {
			return durably(w, handler(w.site, func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
				n := page.Status
				return out.Follow("/item/1", tegenaria.RequestWithParser(tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
					return out.Item(n)
				})))
			}))
		}, "func"},
		{"Meta that a job cannot store", func(w *world) error {
			return durably(w, sending(tegenaria.NewRequest(w.site, tegenaria.GET, nil, tegenaria.RequestWithRequestMeta(map[string]any{"done": make(chan int)}))))
		}, "done"},
		{"a struct in Meta that the job does not know", func(w *world) error {
			return durably(w, sending(tegenaria.NewRequest(w.site, tegenaria.GET, nil, tegenaria.RequestWithRequestMeta(map[string]any{"product": product{}}))))
		}, "EngineWithMetaType"},
		{"a ResponseWriter in a job", func(w *world) error {
			return durably(w, sending(tegenaria.NewRequest(w.site, tegenaria.GET, nil, tegenaria.RequestWithResponseWriter(io.Discard))))
		}, "ResponseWriter"},
		{"a context in a job", func(w *world) error {
			ctx := tegenaria.NewContext(tegenaria.NewRequest(w.site, tegenaria.GET, nil), tegenaria.WithContext(context.Background()))
			return durably(w, starter{sending(), func(req chan<- *tegenaria.Context) error { req <- ctx; return nil }})
		}, "WithContext"},
	}
}

// start runs another program in the same folder, and ends this one as that one has ended.
func start(name string, w *world) error {
	other := exec.Command(os.Args[0], "-program", name, "-folder", w.dir)
	other.Stderr = os.Stderr
	err := other.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	return err
}

// durably crawls a job on the disk.
func durably(w *world, spider tegenaria.SpiderInterface, opts ...tegenaria.EngineOption) error {
	cache, err := disk.Open(filepath.Join(w.dir, "job"))
	if err != nil {
		return err
	}
	defer cache.Close()
	return crawl(spider, append(opts, tegenaria.EngineWithCache(cache))...)
}

// begun leaves a job that has begun.
func begun(w *world) error {
	err := durably(w, shop(w.site, w.site+"/item/1"), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 1}), tegenaria.EngineWithConcurrency(1))
	if stopped := (*tegenaria.StoppedError)(nil); !errors.As(err, &stopped) {
		return fmt.Errorf("it was not stopped: %w", err)
	}
	return nil
}

// begin begins the job of a spider.
func begin(cache tegenaria.CacheInterface, name string) error {
	_, err := cache.Begin(context.Background(), tegenaria.Job{Spider: name})
	return err
}

// foreign is a file system in which somebody else owns everything.
type foreign struct{}

func (foreign) Open(name string) (feed.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EACCES}
}

func (foreign) Remove(string) error { return nil }

// full is a file system without room.
type full struct{}

func (full) Open(name string) (feed.File, error) { return &fullFile{name: name}, nil }
func (full) Remove(string) error                 { return nil }

type fullFile struct{ name string }

func (*fullFile) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }
func (f *fullFile) WriteAt([]byte, int64) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
}
func (*fullFile) Size() (int64, error) { return 0, nil }
func (*fullFile) Truncate(int64) error { return nil }
func (*fullFile) Sync() error          { return nil }
func (*fullFile) Close() error         { return nil }

package disk_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/spidertest"
)

// open opens a job, or fails the test.
func open(t testing.TB, dir string, opts ...disk.Option) *disk.Cache {
	t.Helper()
	c, err := disk.Open(dir, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// leftOf returns a copy of a directory: what the death of the process that has it open would leave.
func leftOf(t *testing.T, dir string) (left string) {
	t.Helper()
	left = t.TempDir()
	if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return left
}

func TestConforms(t *testing.T) {
	t.Run("disk", func(t *testing.T) {
		var dir string
		spidertest.TestCache(t, spidertest.CacheHarness{
			Open: func(t *testing.T) tegenaria.CacheInterface {
				dir = t.TempDir()
				return open(t, dir, disk.CommitEvery(0))
			},
			Reopen: func(t *testing.T, c tegenaria.CacheInterface) tegenaria.CacheInterface {
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				return open(t, dir, disk.CommitEvery(0))
			},
			Kill: func(t *testing.T, c tegenaria.CacheInterface) tegenaria.CacheInterface {
				dir = leftOf(t, dir)
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				return open(t, dir, disk.CommitEvery(0))
			},
		})
	})
	// A file system in memory that forgets what was not synced.
	t.Run("crashes", func(t *testing.T) {
		const dir = "/job"
		disks := make(map[tegenaria.CacheInterface]*vfs.MemFS)
		on := func(t *testing.T, fs *vfs.MemFS) tegenaria.CacheInterface {
			c := open(t, dir, disk.WithFS(fs), disk.CommitEvery(0))
			disks[c] = fs
			return c
		}
		spidertest.TestCache(t, spidertest.CacheHarness{
			Open: func(t *testing.T) tegenaria.CacheInterface { return on(t, vfs.NewCrashableMem()) },
			Reopen: func(t *testing.T, c tegenaria.CacheInterface) tegenaria.CacheInterface {
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				return on(t, disks[c])
			},
			Crash: func(t *testing.T, c tegenaria.CacheInterface) tegenaria.CacheInterface {
				left := disks[c].CrashClone(vfs.CrashCloneCfg{})
				if err := c.Close(); err != nil { // what it still writes, nobody reads
					t.Fatal(err)
				}
				return on(t, left)
			},
			Kill: func(t *testing.T, c tegenaria.CacheInterface) tegenaria.CacheInterface {
				left := disks[c].CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				return on(t, left)
			},
		})
	})
}

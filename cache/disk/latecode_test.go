package disk_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// User code that is late has no effect on a job that is stored, whatever it does then, and its request runs again.
func TestLateCode(t *testing.T) {
	enginetest.LateCode(t, true, false, deep.Rounds(4, 1), func(t testing.TB) func() tegenaria.CacheInterface {
		fs := vfs.NewMem()
		return func() tegenaria.CacheInterface {
			c, err := disk.Open("/job", disk.WithFS(fs))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { closed(t, c) })
			return c
		}
	})
}

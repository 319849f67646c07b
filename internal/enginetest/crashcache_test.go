package enginetest_test

import (
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/spidertest"
)

// The witness of politeness stands on this cache: it has to keep what caches keep.
func TestCrashCacheConforms(t *testing.T) {
	again := func(_ *testing.T, c tegenaria.CacheInterface) tegenaria.CacheInterface {
		c.(*enginetest.CrashCache).Kill()
		return &enginetest.CrashCache{CrashStore: c.(*enginetest.CrashCache).CrashStore}
	}
	spidertest.TestCache(t, spidertest.CacheHarness{
		Open: func(*testing.T) tegenaria.CacheInterface {
			return &enginetest.CrashCache{CrashStore: enginetest.NewCrashStore()}
		},
		Reopen: again,
		Crash:  again,
	})
}

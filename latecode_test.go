package tegenaria_test

import (
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// User code that is late has no effect, whatever it does then, and its request has the one outcome that is promised.
func TestLateCode(t *testing.T) {
	enginetest.LateCode(t, false, false, 1, func(testing.TB) func() tegenaria.CacheInterface {
		return func() tegenaria.CacheInterface { return tegenaria.NewMemoryCache() }
	})
}

// The same in a durable job, which runs the request again.
func TestLateCodeInADurableJob(t *testing.T) {
	enginetest.LateCode(t, true, false, 1, func(testing.TB) func() tegenaria.CacheInterface {
		store := enginetest.NewCrashStore()
		return func() tegenaria.CacheInterface { return &enginetest.CrashCache{CrashStore: store} }
	})
}

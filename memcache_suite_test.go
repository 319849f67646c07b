package tegenaria_test

import (
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/spidertest"
)

func TestMemoryCacheConforms(t *testing.T) {
	spidertest.TestCache(t, spidertest.CacheHarness{
		Open: func(*testing.T) tegenaria.CacheInterface { return tegenaria.NewMemoryCache() },
	})
}

package disk_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
)

// startedOnly is a cache whose process dies when the end of StartRequest has been stored, and nothing else.
type startedOnly struct {
	tegenaria.CacheInterface
	died error
}

var errDied = errors.New("the process has died")

func (c *startedOnly) Settle(ctx context.Context, b tegenaria.Batch) error {
	switch {
	case c.died != nil:
		return c.died
	case len(b.Settled) > 0:
		return errDied
	case b.Started:
		c.died = errDied
	}
	return c.CacheInterface.Settle(ctx, b)
}

// A loopback address that a seed names is allowed after a crash too, at whatever moment that was.
func TestLoopbackSeedsAfterCrash(t *testing.T) {
	s := newSite(t, 3)
	dir := filepath.Join(t.TempDir(), "job")
	crawl := func(wrap func(*disk.Cache) tegenaria.CacheInterface) (tegenaria.Stats, error) {
		c := open(t, dir)
		defer closed(t, c)
		engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithCache(wrap(c)), tegenaria.EngineWithSpiders(&spider{base: s.URL}))
		err := engine.Run(t.Context(), "site")
		return engine.Stats(), err
	}
	if _, err := crawl(func(c *disk.Cache) tegenaria.CacheInterface { return &startedOnly{CacheInterface: c} }); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	stats, err := crawl(func(c *disk.Cache) tegenaria.CacheInterface { return c })
	if err != nil || stats.Outcomes[tegenaria.Failed] > 0 || stats.Outcomes[tegenaria.Fetched] == 0 {
		t.Errorf("%v, %v: %v", err, stats.Outcomes, stats.Reasons)
	}
}

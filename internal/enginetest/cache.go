package enginetest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria"
)

// harnessCache is a memory cache whose answers take a while: others see its work before it has returned.
type harnessCache struct {
	tegenaria.CacheInterface
	*Crawl
	calls atomic.Int64
}

// linger lets time pass before the work is done, or before the call returns.
func (h *harnessCache) linger(ctx context.Context, done bool) {
	r := h.p.draw("linger", int(h.calls.Add(1)), 0)
	if done != (r.IntN(2) == 0) {
		return
	}
	if h.p.deaf {
		ctx = context.Background()
	}
	Wait(ctx, time.Duration(r.Float64()*float64(h.p.linger)))
	h.touch()
}

func (h *harnessCache) Accept(ctx context.Context, records []tegenaria.Record) ([]tegenaria.Verdict, error) {
	h.linger(ctx, false)
	defer h.linger(ctx, true)
	return h.CacheInterface.Accept(ctx, records)
}

func (h *harnessCache) Next(ctx context.Context, slot string, n int) ([]tegenaria.Record, tegenaria.SlotState, error) {
	h.linger(ctx, false)
	defer h.linger(ctx, true)
	return h.CacheInterface.Next(ctx, slot, n)
}

func (h *harnessCache) Due(ctx context.Context, now time.Time) ([]tegenaria.SlotState, time.Time, error) {
	h.linger(ctx, false)
	defer h.linger(ctx, true)
	return h.CacheInterface.Due(ctx, now)
}

func (h *harnessCache) Return(ctx context.Context, record tegenaria.Record, now time.Time) (tegenaria.Verdict, error) {
	h.linger(ctx, false)
	defer h.linger(ctx, true)
	return h.CacheInterface.Return(ctx, record, now)
}

func (h *harnessCache) Settle(ctx context.Context, batch tegenaria.Batch) error {
	h.linger(ctx, false)
	defer h.linger(ctx, true)
	return h.CacheInterface.Settle(ctx, batch)
}

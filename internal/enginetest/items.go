package enginetest

import (
	"context"
	"fmt"

	"github.com/tegenaria/tegenaria"
)

// harnessPipeline is one of two pipelines.
type harnessPipeline struct {
	*Crawl
	priority int
	name     string
}

func (p *harnessPipeline) GetPriority() int { return p.priority }

func (p *harnessPipeline) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	c, v := p.Crawl, item.Item.(*harnessItem)
	c.touch()
	defer c.touch()
	if p.priority == 1 {
		c.mu.Lock()
		c.items[v.serial]++
		c.mu.Unlock()
		c.work(v.ctx, "pipeline", v.page)
		return nil
	}
	c.fetch(v.ctx, fmt.Sprint("pipeline ", v.n), v.page, -1)
	return c.finishItem(c.p.itemFault(v.page, v.attempt, v.n), v)
}

// finishItem ends a pipeline as the plan says.
func (c *Crawl) finishItem(f harnessFault, v *harnessItem) error {
	if f == faultIgnore {
		return tegenaria.DropItem(ErrPlanned)
	}
	return c.finish(f, v.page, v.attempt)
}

// harnessCommits is the state of a Committer.
type harnessCommits struct {
	restored, first bool
	preparing       bool
	staged          map[string][]int
	prepared        map[string]int
}

func (h *harnessCommits) init() {
	h.staged, h.prepared = make(map[string][]int), make(map[string]int)
}

// harnessCommitter is a Committer that checks the order in which it is called.
type harnessCommitter struct{ *Crawl }

var _ tegenaria.Committer = harnessCommitter{}

func (h harnessCommitter) GetPriority() int  { return 0 } // it runs last all the same
func (h harnessCommitter) CommitKey() string { return "harness" }

func (h harnessCommitter) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	h.touch()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.commit.first {
		h.violationLocked("an item before the first Prepare")
	}
	if n := h.items[item.Item.(*harnessItem).serial]; n != 1 {
		h.violationLocked("the Committer saw an item that had passed the other pipelines %d times", n)
	}
	h.commit.staged[item.CtxId] = append(h.commit.staged[item.CtxId], item.Item.(*harnessItem).serial)
	return nil
}

func (h harnessCommitter) Restore(_ context.Context, checkpoint []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if checkpoint != nil || h.commit.restored {
		h.violationLocked("Restore(%q), restored before: %v", checkpoint, h.commit.restored)
	}
	h.commit.restored = true
	return nil
}

func (h harnessCommitter) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	h.touch()
	defer h.touch()
	h.mu.Lock()
	if h.commit.preparing {
		h.violationLocked("two calls of Prepare at once")
	}
	h.commit.preparing = true
	if !h.commit.first && (ids != nil || !h.commit.restored) {
		h.violationLocked("the first Prepare has %d ids, restored %v", len(ids), h.commit.restored)
	}
	h.commit.first = true
	h.mu.Unlock()
	if len(ids) > 0 && h.p.seed%3 == 0 {
		Wait(ctx, h.p.slow/10)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commit.preparing = false
	for _, id := range ids {
		if h.commit.prepared[id]++; h.commit.prepared[id] > 1 {
			h.violationLocked("%s was prepared twice", id)
		}
		delete(h.commit.staged, id)
	}
	return []byte("checkpoint"), nil
}

func (h harnessCommitter) Discard(id string) {
	h.touch()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.commit.prepared[id] > 0 {
		h.violationLocked("%s was discarded after it was prepared", id)
	}
	delete(h.commit.staged, id)
}

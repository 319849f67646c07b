package revisit

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/commit"
)

// Feed is what writes changes: a feed of this module to which the next run can append, such as feed.JSONL, feed.CSV,
// and those of feed/sqlite and feed/postgres. A file of feed/parquet cannot be read before its job has come to its end,
// and a history never does.
type Feed interface {
	tegenaria.PipelinesInterface
	tegenaria.Committer
	tegenaria.Closer
}

// Changes returns a pipeline that compares the items that come to it with the table, and gives each [Change] to a feed. Like other
// feeds it comes after all other pipelines. The feed is not registered with the engine beside it. One run at a time may have it.
//
// In a durable job, the changes are those of the whole job. A run with another cache that is killed is a run that did not come to its
// end: what it has written stays, and the next one goes on from there.
func (h *History) Changes(to Feed) tegenaria.PipelinesInterface {
	return &changes{history: h, feed: to}
}

// changes is the pipeline of a run.
type changes struct {
	history *History
	feed    Feed

	db        *pebble.DB // of the history, for reads that do not wait for a batch
	unsettled unsettled
	resumable bool
	ctx       context.Context // for the feed: its files are made durable with each batch
	begun     Run             // as it was in the beginning: its number, spider and arguments, which do not change
	run       Run
	sources   sources
	alike     sync.Map // by the number of a run: it had the spider and the arguments of this one
	failed    error    // why nothing more can be written
}

var (
	_ tegenaria.Committer      = (*changes)(nil)
	_ tegenaria.Closer         = (*changes)(nil)
	_ tegenaria.LinkListener   = (*changes)(nil)
	_ tegenaria.PageHistory    = (*changes)(nil)
	_ tegenaria.StoredPages    = (*changes)(nil)
	_ tegenaria.UnchangedPages = (*changes)(nil)
)

// GetPriority is part of tegenaria.PipelinesInterface.
func (c *changes) GetPriority() int { return 0 }

// Mistake is part of tegenaria.PipelinesInterface.
func (c *changes) Mistake() error {
	if c.feed == nil {
		return errors.New("revisit: Changes has no feed: give it feed.JSONL, for example")
	}
	if wrong, ok := c.feed.(interface{ Mistake() error }); ok {
		if err := wrong.Mistake(); err != nil {
			return err
		}
	}
	return c.history.checkKeys()
}

// CommitKey is part of tegenaria.Committer.
func (c *changes) CommitKey() string { return "revisit:" + c.history.folder }

// ListensToLinks is part of tegenaria.LinkListener.
func (c *changes) ListensToLinks() bool { return true }

// ProcessItem keeps an item until its page settles.
func (c *changes) ProcessItem(_ tegenaria.SpiderInterface, meta *tegenaria.ItemMeta) error {
	return c.unsettled.add(&c.history.options, meta)
}

// checkpoint is what a durable job keeps of a history.
type checkpoint struct {
	Batch uint64 `json:"batch"`
	Run   int    `json:"run"`
}

// OlderError is the failure to go on with a job whose history is not the one that it had.
type OlderError struct {
	Folder       string
	Batch, Known uint64 // of the job, and of the history
}

// Error names the folder and the remedy.
func (e *OlderError) Error() string {
	if e.Batch > e.Known {
		return fmt.Sprintf("revisit: the history %s is older than the job: put the one in its place that the job had, or "+
			"begin a new job", e.Folder)
	}
	return fmt.Sprintf("revisit: another run has written to the history %s since this job was interrupted: begin a new job", e.Folder)
}

// Restore begins a run, or goes on with the one of the job.
func (c *changes) Restore(ctx context.Context, stored []byte) error {
	h := c.history
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.db == nil:
		return errClosed
	case h.busy:
		return fmt.Errorf("revisit: another run of this program writes to the history %s: give each one its own", h.folder)
	}
	c.resumable = tegenaria.Resumable(ctx)
	c.ctx = commit.OfRun(context.WithoutCancel(ctx), tegenaria.SpiderName(ctx), tegenaria.WorkerName(ctx), false)
	c.db = h.db
	c.unsettled.reset()
	c.alike.Clear()
	c.failed = nil
	c.sources.reset()
	if stored == nil {
		c.run = Run{Number: h.meta.Run + 1, Spider: tegenaria.SpiderName(ctx), Arguments: h.options.Arguments, Began: now()}
	} else if err := c.resume(stored); err != nil {
		return err
	}
	c.begun, h.meta.Keys = c.run, h.options.keys()
	if err := c.feed.Restore(c.ctx, h.meta.Feed); err != nil {
		return err
	}
	if h.meta.Feed == nil {
		first, err := c.feed.Prepare(c.ctx, nil)
		if err != nil {
			return err
		}
		next := h.meta
		if next.Feed = first; next.Feed == nil {
			next.Feed = []byte{}
		}
		if err := h.write(newChange(h.db), next, false); err != nil {
			return err
		}
	}
	h.busy = true
	return nil
}

// resume goes on with the run of a job. What was written after its checkpoint is taken back.
func (c *changes) resume(stored []byte) error {
	h := c.history
	var last checkpoint
	if err := json.Unmarshal(stored, &last); err != nil {
		return &DamagedError{h.folder, err}
	}
	if h.meta.Batch == last.Batch+1 && h.meta.Run == last.Run {
		if err := h.takeBack(); err != nil {
			return err
		}
	}
	if h.meta.Batch != last.Batch {
		return &OlderError{h.folder, last.Batch, h.meta.Batch}
	}
	text, err := newChange(h.db).get(runAt(last.Run))
	switch {
	case err != nil:
		return err
	case text == nil: // nothing has settled yet
		c.run = Run{Number: last.Run, Spider: tegenaria.SpiderName(c.ctx), Arguments: h.options.Arguments, Began: now()}
		return nil
	}
	return json.Unmarshal(text, &c.run)
}

// takeBack undoes the last change. The caller holds mu.
func (h *History) takeBack() error {
	if err := undo(h.db); err != nil {
		return err
	}
	text, err := newChange(h.db).get(metaKey)
	if err != nil || text == nil {
		return errors.Join(err, &DamagedError{h.folder, errors.New("what it was before its last change is not there")})
	}
	h.meta = meta{}
	return json.Unmarshal(text, &h.meta)
}

// write makes a change durable. The caller holds mu.
func (h *History) write(c *change, next meta, undoable bool) error {
	next.Batch++
	if err := c.commit(next, undoable); err != nil {
		return fmt.Errorf("revisit: writing the history %s: %w", h.folder, err)
	}
	h.meta = next
	return nil
}

// Settling is part of tegenaria.SettlementListener.
func (c *changes) Settling(settlements []tegenaria.Settlement) {
	c.unsettled.settle(settlements)
}

// Settled is part of tegenaria.SettlementListener.
func (c *changes) Settled() {}

// Discard is part of tegenaria.Committer.
func (c *changes) Discard(id string) { c.unsettled.items.Discard(id) }

// Prepare compares what the pages of a batch have given with the table, and makes the new table and the changes durable in one step.
func (c *changes) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	h := c.history
	h.mu.Lock()
	defer h.mu.Unlock()
	settling := c.unsettled.settling
	if len(ids) == 0 && len(settling) == 0 {
		return json.Marshal(checkpoint{h.meta.Batch, c.run.Number})
	}
	if c.failed != nil {
		return nil, c.failed
	}
	b := &batch{changes: c, store: newChange(h.db), meta: h.meta, run: c.run, settling: settling}
	given, err := c.unsettled.take(ids)
	if err != nil {
		return nil, err
	}
	for i := range settling {
		if s := &settling[i]; s.Caller == "" {
			if err := b.page(s, given[s.CtxId]); err != nil {
				c.failed = err
				return nil, err
			}
		}
	}
	if err := c.store(ctx, b); err != nil {
		c.failed = err
		return nil, err
	}
	return json.Marshal(checkpoint{h.meta.Batch, c.run.Number})
}

// store gives the feed what has changed, and makes the batch durable. The caller holds the history's mu.
func (c *changes) store(ctx context.Context, b *batch) error {
	for i := range b.made {
		if err := c.feed.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: changesID, Item: b.made[i]}); err != nil {
			return err
		}
	}
	checkpoint, err := c.feed.Prepare(ctx, []string{changesID})
	if err != nil {
		return err
	}
	text, err := json.Marshal(b.run)
	if err != nil {
		return err
	}
	if _, err := b.store.get(runAt(b.run.Number)); err != nil {
		return err
	}
	b.store.set(runAt(b.run.Number), text)
	next := b.meta
	next.Feed, next.Run = append([]byte{}, checkpoint...), b.run.Number
	if err := c.history.write(b.store, next, c.resumable); err != nil {
		return err
	}
	c.run = b.run
	return nil
}

// changesID is the one under which the feed stages changes.
const changesID = "revisit"

// idOf returns the hash of a key.
func idOf(key string) itemID {
	sum := sha256.Sum256([]byte(key))
	return itemID(sum[:])
}

// StoredPage is part of tegenaria.StoredPages: a page that is gone leads nowhere any more.
func (c *changes) StoredPage(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	if c.history.options.Pages == nil {
		return nil, nil
	}
	if came := ctx.Response(); came != nil && isGone(came.Status) {
		return nil, nil
	}
	stored, err := c.history.options.Pages.Stored(ctx)
	if err != nil || stored == nil || stored.Status < 200 || stored.Status > 299 {
		return nil, err
	}
	return stored, nil
}

// isGone reports whether an answer says that there is no such page any more.
func isGone(status int) bool { return status == http.StatusNotFound || status == http.StatusGone }

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/staging"
)

// ItemTable is a pipeline that stores items in the table item of the job. See [Items].
type ItemTable struct{ staged staging.Items }

var (
	_ tegenaria.PipelinesInterface = (*ItemTable)(nil)
	_ tegenaria.Committer          = (*ItemTable)(nil)
	_ tegenaria.Closer             = (*ItemTable)(nil)
)

// Items returns a pipeline that stores items, as JSON, in the transaction that settles their page: each is in the table
// item of the job once, whatever happens to the workers and their disks. [Collect] writes those of all workers to a
// file. The engine must have the [Cache] of a job; with another cache the run does not begin.
func Items() *ItemTable { return new(ItemTable) }

const (
	itemsKey      = "cluster/items"
	itemsPriority = 500
)

// itemsReady is what the cache says to the pipeline, so that it knows that the cache has the table.
var itemsReady = []byte("table item")

// errNoTable is the failure to store items with another cache.
var errNoTable = errors.New("cluster: Items stores items in the database of a job: give the engine the cache of " +
	"cluster.Open, or write a feed")

// GetPriority is part of tegenaria.PipelinesInterface.
func (*ItemTable) GetPriority() int { return itemsPriority }

// CommitKey is part of tegenaria.Committer.
func (*ItemTable) CommitKey() string { return itemsKey }

// Restore is part of tegenaria.Committer. The table has what was settled, so there is nothing to undo.
func (p *ItemTable) Restore(_ context.Context, checkpoint []byte) error {
	if !bytes.Equal(checkpoint, itemsReady) {
		return errNoTable
	}
	p.staged.Reset(staging.Options{})
	return nil
}

// ProcessItem encodes an item and keeps it until its request is settled.
func (p *ItemTable) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(item.Item); err != nil {
		return fmt.Errorf("cluster: encoding an item of type %T: %w", item.Item, err)
	}
	return p.staged.Add(item.CtxId, line.Bytes())
}

// Prepare is part of tegenaria.Committer. Its checkpoint is the items, a line each, which the cache does not store as a
// checkpoint but writes to the table.
func (p *ItemTable) Prepare(_ context.Context, ids []string) (lines []byte, err error) {
	err = p.staged.Take(ids, func(line []byte) error {
		lines = append(lines, line...)
		return nil
	})
	return lines, err
}

// Discard is part of tegenaria.Committer.
func (p *ItemTable) Discard(id string) { p.staged.Discard(id) }

// Close forgets the items of requests that were not settled: they will be fetched again.
func (p *ItemTable) Close(context.Context, string) error {
	_, err := p.staged.Close()
	return err
}

// prepareItems makes the statement that stores items.
func (b *batch) prepareItems(worker string) {
	if len(b.items) == 0 {
		return
	}
	var items []string
	for line := range bytes.Lines(b.items) {
		items = append(items, clean(string(bytes.TrimSuffix(line, []byte("\n")))))
	}
	b.add(`INSERT INTO item (worker, data) SELECT $1, data FROM unnest($2::text[]) WITH ORDINALITY AS i (data, n)
		ORDER BY n`, worker, items)
}

package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/pipeline/internal/journal"
)

// BudgetOptions say how many items may pass a [Budget].
type BudgetOptions struct {
	// Items is how many items of each key may pass. It must be 1 or more.
	Items int
	// By returns the key of an item (nil: ByHost). Items whose key is empty are not counted. It is called concurrently.
	By func(page *tegenaria.Context, item any) string
	// File keeps the counts of a job that can be resumed, which needs one: put it beside the feeds. A run that cannot be resumed
	// does not use it.
	File string
	// Keys is how many keys there may be (0: 1,000,000, which take about 100 MB).
	Keys int
	// Priority is its place among the committers (0: BudgetPriority).
	Priority int
	// Name tells several Budgets of an engine apart ("": "budget").
	Name string
}

// ByHost is the host of the page that an item comes from.
func ByHost(page *tegenaria.Context, _ any) string { return urlx.Hostname(pageURL(page)) }

// ByType is the type of an item, such as main.Book.
func ByType(_ *tegenaria.Context, item any) string { return fmt.Sprintf("%T", item) }

// BudgetError is the reason for which an item was dropped: enough items of its key have passed.
type BudgetError struct {
	Key   string // "shop.example"
	Items int    // how many may pass
}

// Error names the key and the bound.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("pipeline: %s already has the %d items that the budget allows", shown(e.Key), e.Items)
}

// Reason is the reason in Stats.ItemReasons.
func (e *BudgetError) Reason() string { return "budget" }

// BudgetFullError ends a run whose [Budget] has as many keys as it may have. The job can be resumed with more.
type BudgetFullError struct{ Keys int }

// Error names the remedy.
func (e *BudgetFullError) Error() string {
	return fmt.Sprintf("pipeline: the budget has %d keys, and may have no more: raise BudgetOptions.Keys, or choose keys "+
		"that are fewer", e.Keys)
}

// Budget makes a pipeline that lets a number of items of each key pass: of each host, type or key of your own. Further
// ones are dropped, with a [*BudgetError] as the reason.
//
// In a job that can be resumed the counts are stored with the requests that the items came from: after a crash an item counts once, and
// the bound holds for the whole job. An item that a later pipeline drops has been counted. A Budget serves one run at a time.
func Budget(o BudgetOptions) tegenaria.PipelinesInterface {
	if o.Priority == 0 {
		o.Priority = BudgetPriority
	}
	var err error
	if o.Items < 1 {
		err = fmt.Errorf("pipeline: BudgetOptions.Items is %d; it must be 1 or more", o.Items)
	}
	if o.Keys < 0 {
		err = errors.Join(err, fmt.Errorf("pipeline: BudgetOptions.Keys is %d; it must not be negative (0 is the default of %d)", o.Keys, defaultKeys))
	}
	if err != nil {
		return mistaken{o.Priority, err}
	}
	if o.By == nil {
		o.By = ByHost
	}
	if o.Keys == 0 {
		o.Keys = defaultKeys
	}
	if o.Name == "" {
		o.Name = "budget"
	}
	return &budget{options: o}
}

const (
	defaultKeys  = 1_000_000
	budgetHeader = "tegenaria budget 1\n"
	budgetRecord = len(budgetKey{}) + 4
)

// budgetKey is the beginning of the SHA-256 sum of a key.
type budgetKey [16]byte

type budget struct {
	options BudgetOptions

	mu     sync.Mutex // guards the fields below
	counts map[budgetKey]uint32
	staged map[string]map[budgetKey]uint32 // by CtxId: in counts too
	full   error                           // ends the run

	file *journal.File // of the run
}

var (
	_ tegenaria.ContextPipeline = (*budget)(nil)
	_ tegenaria.Committer       = (*budget)(nil)
	_ tegenaria.Closer          = (*budget)(nil)
)

func (b *budget) GetPriority() int { return b.options.Priority }

func (b *budget) CommitKey() string { return "pipeline:" + b.options.Name }

func (b *budget) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	return errNoContext
}

func (b *budget) ProcessItemContext(ctx *tegenaria.Context, item *tegenaria.ItemMeta) error {
	name := b.options.By(ctx, item.Item)
	if ctx.Err() != nil { // By has overrun Limits.Callback, or the crawl ends: the item comes again, and must not find itself
		return context.Cause(ctx)
	}
	if name == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(name))
	key := budgetKey(sum[:len(budgetKey{})])
	b.mu.Lock()
	defer b.mu.Unlock()
	n, known := b.counts[key]
	switch {
	case int64(n) >= int64(b.options.Items):
		return tegenaria.DropItem(&BudgetError{name, b.options.Items})
	case !known && len(b.counts) >= b.options.Keys: // the item is not lost: its request is not settled
		b.full = &BudgetFullError{b.options.Keys}
		return nil
	}
	b.counts[key]++
	mine := b.staged[item.CtxId]
	if mine == nil {
		mine = make(map[budgetKey]uint32)
		b.staged[item.CtxId] = mine
	}
	mine[key]++
	return nil
}

// fileOf returns the file of a run: none that has a name if the run cannot be resumed.
func fileOf(ctx context.Context, option, name string) (string, error) {
	if !tegenaria.Resumable(ctx) {
		return "", nil
	}
	if name == "" {
		return "", fmt.Errorf("pipeline: a job that can be resumed needs a file for the state: set %s", option)
	}
	return name, nil
}

func (b *budget) Restore(ctx context.Context, checkpoint []byte) error {
	name, err := fileOf(ctx, "BudgetOptions.File", b.options.File)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts, b.staged, b.full = make(map[budgetKey]uint32), make(map[string]map[budgetKey]uint32), nil
	if b.file, err = journal.Open(name, budgetHeader, checkpoint); err != nil {
		return err
	}
	var record [budgetRecord]byte
	for r := b.file.Records(len(budgetHeader)); ; {
		if _, err := io.ReadFull(r, record[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return errors.Join(fmt.Errorf("pipeline: reading %s: %w", name, err), b.file.Close())
		}
		b.counts[budgetKey(record[:])] += binary.LittleEndian.Uint32(record[len(budgetKey{}):])
	}
}

func (b *budget) Prepare(_ context.Context, ids []string) ([]byte, error) {
	b.mu.Lock()
	full := b.full
	var records []byte
	for _, id := range ids {
		for key, n := range b.staged[id] {
			records = binary.LittleEndian.AppendUint32(append(records, key[:]...), n)
		}
		delete(b.staged, id)
	}
	b.mu.Unlock()
	if full != nil {
		return nil, full
	}
	b.file.Append(records)
	return b.file.Commit()
}

func (b *budget) Discard(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, n := range b.staged[id] {
		if b.counts[key] -= n; b.counts[key] == 0 {
			delete(b.counts, key)
		}
	}
	delete(b.staged, id)
}

func (b *budget) Close(context.Context, string) error {
	if b.file == nil {
		return nil
	}
	file := b.file
	b.file = nil
	return file.Close()
}

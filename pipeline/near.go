package pipeline

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/pipeline/internal/journal"
)

// NearDuplicate says that the text of an item is nearly that of an earlier one. [NearDuplicates] writes it.
type NearDuplicate struct {
	URL      string `json:"url"`      // of the page of the earlier item; passwords are hidden
	Distance int    `json:"distance"` // in how many bits their simhashes differ, 0 to 3
}

// NearError is the reason for which [NearDuplicates] has dropped an item.
type NearError struct{ NearDuplicate }

// Error names the other page.
func (e *NearError) Error() string {
	return fmt.Sprintf("pipeline: the text is nearly that of %s (%d bits differ)", e.URL, e.Distance)
}

// Reason is the reason in Stats.ItemReasons.
func (e *NearError) Reason() string { return "near duplicate" }

// NearOptions say where a [NearDuplicates] stands, and what becomes of near duplicates.
type NearOptions struct {
	// Drop drops near duplicates, with a *NearError as the reason. By default they are marked.
	Drop bool
	// File keeps the index of a job that can be resumed, which needs one: put it beside the feeds. A run that cannot be resumed
	// does not use it.
	File string
	// Documents is how many texts the index may have (0: 1,000,000, which take about 50 MB).
	Documents int
	// Shingles is how many runs of three words a text must have to be compared (0: 20; negative: 1). The hashes of shorter ones say little.
	Shingles int
	// Key is where items that are a map[string]any get their mark ("": "near_duplicate").
	Key string
	// Priority is its place among the committers (0: NearPriority).
	Priority int
	// Name tells several of them in an engine apart ("": "near").
	Name string
}

const defaultShingles = 20

// NearDuplicates makes a pipeline that finds items of type T whose text is nearly that of an earlier item. All are found whose
// simhashes differ in at most three bits: see [content.Simhash]. Of several the nearest is named, and of those the first.
//
// An item is marked in its one exported field of type *[NearDuplicate], which stays nil in the others; items of type map[string]any get a
// key. The item that goes on is a copy. With Drop near duplicates are dropped, and the others are compared with those that were kept.
// If T is no pointer, items of type *T are compared too; items of other types, and those with too few words, pass unchanged.
//
// In a job that can be resumed the index is stored with the requests that the items came from. A page that is fetched
// again after a crash, or because its attempt has failed, finds its own text in the index: the same text of the same
// URL is no duplicate. An item is also compared with those of pages that are not settled yet. If the item that it is
// like fails in a later pipeline, or its page for good, the mark names a page without an item; with Drop neither item
// is kept then.
//
// When the index is full, a [*content.NearFullError] ends the run; the job can be resumed with a larger one. A nil
// func, and a type without a place for the mark, are errors of Run before the first request. The pipeline serves one
// run at a time.
func NearDuplicates[T any](text func(item T) string, o NearOptions) tegenaria.PipelinesInterface {
	if o.Priority == 0 {
		o.Priority = NearPriority
	}
	if o.Key == "" {
		o.Key = "near_duplicate"
	}
	if o.Name == "" {
		o.Name = "near"
	}
	if o.Shingles == 0 {
		o.Shingles = defaultShingles
	}
	t := reflect.TypeFor[T]()
	var err error
	if text == nil {
		err = fmt.Errorf("pipeline: NearDuplicates[%s]: the func is nil", t)
	}
	if o.Documents < 0 {
		err = errors.Join(err, fmt.Errorf("pipeline: NearOptions.Documents is %d; it must not be negative (0 is the default of %d)", o.Documents, content.DefaultNear))
	}
	place, placeErr := placeOf[NearDuplicate](t, o.Key, "NearDuplicates")
	if !o.Drop {
		err = errors.Join(err, placeErr)
	}
	if err != nil {
		return mistaken{o.Priority, err}
	}
	return &nearDuplicates[T]{text: text, options: o, place: place}
}

type nearDuplicates[T any] struct {
	text    func(T) string
	options NearOptions
	place   place[NearDuplicate]

	mu    sync.Mutex // guards index and full
	index *nearIndex
	full  error // ends the run

	file *journal.File // of the run
}

var (
	_ tegenaria.ContextPipeline = (*nearDuplicates[any])(nil)
	_ tegenaria.Committer       = (*nearDuplicates[any])(nil)
	_ tegenaria.Closer          = (*nearDuplicates[any])(nil)
)

func (p *nearDuplicates[T]) GetPriority() int { return p.options.Priority }

func (p *nearDuplicates[T]) CommitKey() string { return "pipeline:" + p.options.Name }

func (p *nearDuplicates[T]) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	return errNoContext
}

func (p *nearDuplicates[T]) ProcessItemContext(ctx *tegenaria.Context, item *tegenaria.ItemMeta) error {
	v, ok := itemOf[T](item.Item)
	if !ok {
		return nil
	}
	hash, shingles := content.Simhash(p.text(v))
	if ctx.Err() != nil { // text has overrun Limits.Callback, or the crawl ends: the item comes again, and must not find itself
		return context.Cause(ctx)
	}
	if shingles < max(p.options.Shingles, 1) {
		return nil
	}
	p.mu.Lock()
	like, found, err := p.index.take(hash, pageURL(ctx), item.CtxId, !p.options.Drop)
	if err != nil { // the item is not lost: its request is not settled
		p.full = err
	}
	p.mu.Unlock()
	if err != nil || !found {
		return nil
	}
	if like.url == "" {
		if like.url, err = readNear(p.file, like.at); err != nil {
			return err
		}
	}
	mark := NearDuplicate{like.url, like.distance}
	if p.options.Drop {
		return tegenaria.DropItem(&NearError{mark})
	}
	if out, ok := p.place.put(item.Item, mark); ok {
		item.Item = out
	}
	return nil
}

func (p *nearDuplicates[T]) Restore(ctx context.Context, checkpoint []byte) error {
	name, err := fileOf(ctx, "NearOptions.File", p.options.File)
	if err != nil {
		return err
	}
	file, err := journal.Open(name, nearHeader, checkpoint)
	if err != nil {
		return err
	}
	index := newNearIndex(p.options.Documents)
	if err := index.read(file); err != nil {
		return errors.Join(err, file.Close())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.index, p.full, p.file = index, nil, file
	return nil
}

func (p *nearDuplicates[T]) Prepare(_ context.Context, ids []string) ([]byte, error) {
	p.mu.Lock()
	full := p.full
	if full == nil {
		p.index.commit(ids, p.file)
	}
	p.mu.Unlock()
	if full != nil {
		return nil, full
	}
	return p.file.Commit()
}

func (p *nearDuplicates[T]) Discard(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.index.discard(id)
}

func (p *nearDuplicates[T]) Close(context.Context, string) error {
	if p.file == nil {
		return nil
	}
	file := p.file
	p.file = nil
	return file.Close()
}

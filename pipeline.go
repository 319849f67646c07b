package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/typecheck"
)

// ItemInterface is what a parser extracts: any value.
type ItemInterface interface{}

// ItemMeta is an item on its way through the pipelines. CtxId is that of the Context it came from.
type ItemMeta struct {
	CtxId string
	Item  ItemInterface
}

// NewItem makes an item of a value found in ctx's response.
func NewItem(ctx *Context, item ItemInterface) *ItemMeta {
	return &ItemMeta{CtxId: ctx.CtxId, Item: item}
}

// PipelinesInterface processes items. Each item passes the pipelines by ascending priority number,
// in one worker; different items pass concurrently. A pipeline may replace item.Item. Its error ends
// the item ([DropItem]: as dropped; anything else: as failed, seen by the ErrorHandlers), unless
// EngineWithFailFast(false) lets the remaining pipelines see it all the same.
type PipelinesInterface interface {
	GetPriority() int
	ProcessItem(spider SpiderInterface, item *ItemMeta) error
}

// Committer is an optional ability of any registered part that keeps items or state, and the way to
// exactly-once output. A pipeline that is a Committer runs after all others.
//
// ProcessItem stages what belongs to item.CtxId. When a request's items have left the last
// pipeline, Prepare is called with the CtxIds of a whole batch of requests, and of what they fetched
// inline; then the cache stores that they are settled, together with the checkpoint. After a crash
// Restore is given the newest checkpoint that was stored, and has to forget all that came after it.
type Committer interface {
	// CommitKey names the committer within the job: unique and stable.
	CommitKey() string
	// Restore is called before the first item. A nil checkpoint means that none was stored: then
	// Prepare(ctx, nil) is called once, and its checkpoint stored before anything is staged.
	// [Resumable] reports whether ctx is that of a run that can be resumed.
	Restore(ctx context.Context, checkpoint []byte) error
	// Prepare makes durable what these ids staged, and returns the checkpoint to store. Its error ends
	// the run. Calls do not overlap.
	Prepare(ctx context.Context, ids []string) (checkpoint []byte, err error)
	// Discard forgets what id staged: that attempt will run again.
	Discard(id string)
}

// Resumable reports whether the run can be resumed after a crash to which a context belongs: that of Restore of a [Committer],
// say. A run with a memory cache cannot: it asks for no checkpoint, and a Committer may leave out what makes one sure, such as
// waiting for the disk after each batch. It is true for a context that is not of a run.
func Resumable(ctx context.Context) bool { return ctx.Value(forgetsKey{}) == nil }

// forgetsKey marks the context of a run that cannot be resumed.
type forgetsKey struct{}

// committers are those of a run.
type committers []Committer

// mistakes refuses committers that cannot be told apart.
func (cs committers) mistakes() error {
	seen := make(map[string]bool)
	var errs []error
	for _, committer := range cs {
		key := committer.CommitKey()
		if key == "" || key == loopbackCheckpoint || seen[key] {
			errs = append(errs, fmt.Errorf("CommitKey %q is empty or taken; each Committer needs its own", key))
		}
		seen[key] = true
	}
	return errors.Join(errs...)
}

// restore gives the committers their checkpoints, each by a call of opening. One that has none prepares a first one, which
// must be stored before anything is staged.
func (cs committers) restore(ctx context.Context, state State, opening func(what string, code func() error) error) (first map[string][]byte, err error) {
	if !state.Durable {
		ctx = context.WithValue(ctx, forgetsKey{}, true)
	}
	first = make(map[string][]byte)
	for _, committer := range cs {
		key := committer.CommitKey()
		checkpoint, stored := state.Checkpoints[key]
		if !stored {
			checkpoint = nil
		}
		var prepared []byte // belongs to the committer until it has returned
		err := opening(fmt.Sprintf("committer %s: restore", key), func() (err error) {
			if err := committer.Restore(ctx, checkpoint); err != nil || stored {
				return err
			}
			prepared, err = committer.Prepare(ctx, nil)
			return err
		})
		if err != nil {
			return nil, err
		}
		if !stored {
			first[key] = prepared
		}
	}
	return first, nil
}

// discard has every committer forget the items of requests with these CtxIds.
func (cs committers) discard(ids []string) error {
	for _, id := range ids {
		for _, committer := range cs {
			if _, err := guard.Protect(func() error { committer.Discard(id); return nil }); err != nil {
				return fmt.Errorf("committer %s: discard: %w", committer.CommitKey(), err)
			}
		}
	}
	return nil
}

// checkpoints has every committer make the items of requests with these CtxIds durable.
func (cs committers) checkpoints(ctx context.Context, ids []string) (map[string][]byte, error) {
	checkpoints := make(map[string][]byte, len(cs))
	for _, committer := range cs {
		var checkpoint []byte
		_, err := guard.Protect(func() (err error) {
			checkpoint, err = committer.Prepare(ctx, ids)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("committer %s: prepare: %w", committer.CommitKey(), err)
		}
		checkpoints[committer.CommitKey()] = checkpoint
	}
	return checkpoints, nil
}

// ItemPipelines is a list of pipelines by ascending priority number.
type ItemPipelines []PipelinesInterface

// Len is part of sort.Interface.
func (p ItemPipelines) Len() int { return len(p) }

// Swap is part of sort.Interface.
func (p ItemPipelines) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

// Less is part of sort.Interface.
func (p ItemPipelines) Less(i, j int) bool { return p[i].GetPriority() < p[j].GetPriority() }

// forRun returns the pipelines of one run, sorted, and the checks of the types of their items.
func (p ItemPipelines) forRun() (ItemPipelines, []*typecheck.Check) {
	var checks []*typecheck.Check
	sorted := p.sorted()
	for i, one := range sorted {
		if typed, ok := one.(typedPipeline); ok {
			check := (*typecheck.Check)(nil)
			sorted[i], check = typed.forRun()
			checks = append(checks, check)
		}
	}
	return sorted, checks
}

func (p ItemPipelines) sorted() ItemPipelines {
	sorted := slices.Clone(p)
	slices.SortStableFunc(sorted, func(a, b PipelinesInterface) int {
		if ca, cb := isCommitter(a), isCommitter(b); ca != cb {
			if ca {
				return 1
			}
			return -1
		}
		return a.GetPriority() - b.GetPriority()
	})
	return sorted
}

func isCommitter(part any) bool {
	_, ok := part.(Committer)
	return ok
}

type pipelineFunc[T any] struct {
	priority int
	f        func(ctx context.Context, item T) (T, error)
	check    *typecheck.Check // of the run
}

var (
	_ typedPipeline   = (*pipelineFunc[any])(nil)
	_ contextPipeline = (*pipelineFunc[any])(nil)
	_ mistaken        = (*pipelineFunc[any])(nil)
)

// PipelineFunc makes a pipeline of a func that takes and returns items of one type: what f
// returns goes on to the next pipeline. Items of other types pass unchanged; the log warns of a run in which
// all items were of other types. ctx ends when the item leaves the pipelines, Limits.Callback is over, the
// item is given up or the crawl is cancelled. A nil f is a mistake that Run reports.
func PipelineFunc[T any](priority int, f func(ctx context.Context, item T) (T, error)) PipelinesInterface {
	return &pipelineFunc[T]{priority: priority, f: f}
}

func (p *pipelineFunc[T]) forRun() (PipelinesInterface, *typecheck.Check) {
	check := typecheck.New[T]("PipelineFunc")
	return &pipelineFunc[T]{priority: p.priority, f: p.f, check: check}, check
}

func (p *pipelineFunc[T]) mistake() error {
	if p.f == nil {
		return fmt.Errorf("PipelineFunc[%s]: the func is nil", reflect.TypeFor[T]())
	}
	return nil
}

func (p *pipelineFunc[T]) GetPriority() int { return p.priority }

func (p *pipelineFunc[T]) ProcessItem(_ SpiderInterface, item *ItemMeta) error {
	return p.processItem(context.Background(), item)
}

// contextPipeline is how the engine hands its context to a PipelineFunc.
type contextPipeline interface {
	processItem(ctx context.Context, item *ItemMeta) error
}

func (p *pipelineFunc[T]) processItem(ctx context.Context, item *ItemMeta) error {
	v, ok := item.Item.(T)
	if p.check != nil {
		p.check.Saw(item.Item, ok)
	}
	if !ok {
		return nil
	}
	out, err := p.f(ctx, v)
	if err != nil {
		return err
	}
	item.Item = out
	return nil
}

// typedPipeline is a pipeline that takes items of one type.
type typedPipeline interface {
	// forRun returns a copy for one run.
	forRun() (PipelinesInterface, *typecheck.Check)
}

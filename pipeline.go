package tegenaria

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sort"

	"github.com/tegenaria/tegenaria/internal/commit"
	"github.com/tegenaria/tegenaria/internal/funcname"
	"github.com/tegenaria/tegenaria/internal/typecheck"
)

// PipelinesInterface processes items. Each item passes the pipelines in ascending order of their priority numbers,
// in one goroutine; different items pass concurrently. A pipeline may replace item.Item. An error ends
// the item: [DropItem] as dropped; any other error as failed, and the ErrorHandlers are called. With
// EngineWithFailFast(false) a failed item still passes the remaining pipelines.
//
// A pipeline may have a method Mistake() error: what it returns is reported when the engine is wired, with all other
// mistakes, and ends the run before its first request.
type PipelinesInterface interface {
	GetPriority() int
	ProcessItem(spider SpiderInterface, item *ItemMeta) error
}

// ContextPipeline is an optional interface of pipelines: its ProcessItemContext is called instead of ProcessItem. ctx
// stands for the page that the item was found on. Its Request and Response are those of the page and must not be
// changed. Its Fetch works as in the parser of the page: the page is settled after the fetch. ctx is cancelled when the
// item leaves the pipelines, when Limits.Callback is over (the time that Fetch takes does not count), when the item is
// abandoned, or when the crawl is cancelled.
type ContextPipeline interface {
	PipelinesInterface
	ProcessItemContext(ctx *Context, item *ItemMeta) error
}

// Committer is an optional interface of any registered part that stores items or state, and makes
// exactly-once output possible. A pipeline that is a Committer runs after all others.
//
// ProcessItem only collects an item under item.CtxId. When the items of a batch of requests have left the last
// pipeline, Prepare is called with the CtxIds of these requests and of their inline requests; then the cache
// stores in one step that the requests are settled, and the checkpoint. After a crash Restore gets the newest
// checkpoint that was stored, and must undo all later changes.
type Committer interface {
	// CommitKey names the committer within the job: unique and stable.
	CommitKey() string
	// Restore is called before the first item. A nil checkpoint means that none was stored: then
	// Prepare(ctx, nil) is called once, and its checkpoint stored before anything is staged.
	// [Resumable] reports whether ctx is that of a run that can be resumed.
	Restore(ctx context.Context, checkpoint []byte) error
	// Prepare makes durable what these ids staged, and returns the checkpoint to store. Its error ends
	// the run. Calls of one committer do not overlap; those of several run at the same time.
	Prepare(ctx context.Context, ids []string) (checkpoint []byte, err error)
	// Discard forgets what id staged: that attempt will run again, or code of it was given up. It may be called several
	// times for an id, and for one that has staged nothing. It is never called at the same time as Prepare.
	Discard(id string)
}

// Resumable reports whether the run that a context belongs to can be resumed after a crash. ctx is that of a
// [Committer]'s Restore, for example. A run with a memory cache cannot be resumed: it asks for no checkpoint, so a
// Committer need not wait for the disk after each batch. For a context that does not belong to a run it returns true.
func Resumable(ctx context.Context) bool { return commit.Resumable(ctx) }

// SpiderName returns the name of the spider that is running. ctx is the context of a run, such as those that Open of
// an [Opener] and Restore of a [Committer] are given. For any other context it returns "".
func SpiderName(ctx context.Context) string { return commit.SpiderName(ctx) }

// WorkerName returns the name that this program has among those that work on the job, as its cache says it
// ([NamedWorker]): outputs of one folder can be told apart by it. ctx is the context of a run, such as those that
// Open of an [Opener] and Restore of a [Committer] are given. For any other context, and where one program has the job
// alone, it returns "".
func WorkerName(ctx context.Context) string { return commit.WorkerName(ctx) }

// Complete reports whether the job has finished. ctx is the context that Close of a [Closer] was given: if the job has
// finished, no further run will continue it, so state that was kept for the next run can be closed for good. For any
// other context it returns true.
func Complete(ctx context.Context) bool { return commit.Complete(ctx) }

// ItemPipelines is a list of pipelines by ascending priority number.
type ItemPipelines []PipelinesInterface

// Len is part of sort.Interface.
func (p ItemPipelines) Len() int { return len(p) }

// Swap is part of sort.Interface.
func (p ItemPipelines) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

// Less is part of sort.Interface.
func (p ItemPipelines) Less(i, j int) bool { return p[i].GetPriority() < p[j].GetPriority() }

// forRun returns the pipelines of one run, in their order, and the checks of the types of their items.
func (p ItemPipelines) forRun() (run ItemPipelines, checks []*typecheck.Check) {
	sorted := slices.Clone(p)
	sort.Stable(sorted)
	var committers ItemPipelines
	for _, one := range sorted {
		if isCommitter(one) {
			committers = append(committers, one)
			continue
		}
		if typed, ok := one.(livedPipeline); ok {
			var check *typecheck.Check
			one, check = typed.forRun()
			checks = append(checks, check)
		}
		run = append(run, one)
	}
	return append(run, committers...), checks
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

var _ livedPipeline = (*pipelineFunc[any])(nil)

// PipelineFunc makes a pipeline from a func that takes and returns items of one type: the result of f
// goes on to the next pipeline. Items of other types pass unchanged; the log has a warning if all items of a run
// were of other types. ctx is cancelled when the item has left the pipelines, Limits.Callback is over, or
// the crawl is cancelled. f is called concurrently. A nil f is a mistake that Run reports.
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

func (p *pipelineFunc[T]) title() string { return funcTitle(funcname.Of(p.f)) }

func (p *pipelineFunc[T]) GetPriority() int { return p.priority }

func (p *pipelineFunc[T]) ProcessItem(_ SpiderInterface, item *ItemMeta) error {
	return p.processItem(context.Background(), item)
}

// livedPipeline is how the engine sees a PipelineFunc.
type livedPipeline interface {
	// forRun returns a copy for one run.
	forRun() (PipelinesInterface, *typecheck.Check)
	// processItem is ProcessItem with the life of the item.
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

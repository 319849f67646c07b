package stage

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
)

// Pipeline is a chain of stages. It holds nothing of its runs: it may process any number of
// sources, one after the other and at the same time.
type Pipeline[T any] struct {
	stages []Runner[T]
}

// New returns a pipeline of stages, in this order. Without stages the source flows into the sink
// as it is.
func New[T any](stages ...Runner[T]) *Pipeline[T] {
	return &Pipeline[T]{stages: append([]Runner[T](nil), stages...)}
}

// Process moves all payloads of source through the stages into sink and returns when the last
// goroutine has left. It returns nil only if source came to its end without an error, every payload
// was consumed or dropped, and ctx was not done by then.
//
// The first error of a processor, source or sink cancels the rest; all errors are returned, joined,
// each as a [*StageError] with the text "stage 2: …", "source: …" or "sink: …". If ctx is done its
// cause is among them, and alone if there is no other. After a cancellation no further payload is
// processed or consumed. What has been given up by [Detach] and is still running is added as an
// [*AbandonedError].
func (p *Pipeline[T]) Process(ctx context.Context, source Source[T], sink Sink[T]) error {
	return p.ProcessUntil(ctx, nil, source, sink)
}

// ProcessUntil is [Pipeline.Process] with a way out: when giveUp is done the run is cancelled, if
// it was not yet, and every worker inside a processor, the source or the sink at that moment is
// given up as by [Call.Detach]. ProcessUntil then returns promptly; the error holds an
// [*AbandonedError] with the number of workers that had not come back by then. What a given-up
// source would have produced stays with it.
//
// Give workers the time to end by themselves: cancel ctx first, giveUp after a grace period.
// A nil giveUp never is done.
func (p *Pipeline[T]) ProcessUntil(ctx, giveUp context.Context, source Source[T], sink Sink[T]) error {
	r := &run[T]{mark: marker[T]()}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)

	links := make([]chan T, len(p.stages)+1)
	for i := range links {
		links[i] = make(chan T)
	}
	params := Params[T]{run: r}
	if giveUp != nil {
		params.GiveUp = giveUp.Done()
	}

	r.pump = &pump[T]{run: r, source: source, output: links[0]}
	r.pump.open.Add(1)
	go r.pump.work()

	var stages sync.WaitGroup
	for i, runner := range p.stages {
		params := params
		params.Stage, params.Input, params.Output = i, links[i], links[i+1]
		stages.Go(func() { runStage(r.ctx, runner, params, links[i+1]) })
	}

	settled := r.watch(giveUp)
	params.Stage, params.Input = StageSink, links[len(p.stages)]
	newCrew(r.ctx, params, consumer[T]{sink}, NewLimit(1)).serve(1)
	stages.Wait()
	r.pump.open.Wait()
	settled()
	return r.result(ctx)
}

// runStage owns output: it closes it when the stage is done.
func runStage[T any](ctx context.Context, runner Runner[T], p Params[T], output chan T) {
	runner.Run(ctx, p)
	for payload := range p.Input {
		if ctx.Err() == nil {
			p.Fail(errors.New("runner returned before its input was closed"))
		}
		p.Settle(payload)
	}
	close(output)
}

// consumer makes the sink the last stage, one without an output.
type consumer[T any] struct{ sink Sink[T] }

func (c consumer[T]) Process(ctx context.Context, payload T) (T, error) {
	return payload, c.sink.Consume(ctx, payload)
}

// run is one call of Process.
type run[T any] struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	mark   func(T) // nil: payloads do not want to be marked
	pump   *pump[T]

	mu    sync.Mutex // guards the fields below; never held while user code runs
	errs  []error
	crews []*crew[T]
	away  map[int]int // goroutines left behind in user code, by stage
}

func (r *run[T]) settle(payload T) {
	if r.mark != nil {
		r.mark(payload)
	}
}

func (r *run[T]) fail(stage int, err error) {
	if r.ctx.Err() != nil && (err == r.ctx.Err() || same(err, context.Cause(r.ctx))) {
		return
	}
	wrapped := &StageError{Stage: stage, Err: err}
	r.mu.Lock()
	r.errs = append(r.errs, wrapped)
	r.mu.Unlock()
	r.cancel(wrapped)
}

// same is a == b for errors of any type, also those that can not be compared.
func same(a, b error) bool { return reflect.ValueOf(b).Comparable() && a == b }

func (r *run[T]) enlist(c *crew[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crews = append(r.crews, c)
}

func (r *run[T]) abandoned(stage, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away == nil {
		r.away = make(map[int]int)
	}
	r.away[stage] += n
}

// watch gives everything up when ctx is done. What it returns ends the watch; nothing is given up
// after that.
func (r *run[T]) watch(ctx context.Context) (stop func()) {
	if ctx == nil {
		return func() {}
	}
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		r.giveUp(context.Cause(ctx))
	})
	return func() {
		if !cancel() {
			<-done
		}
	}
}

// giveUp cancels before it looks for workers: one that enters user code later sees the
// cancellation first.
func (r *run[T]) giveUp(cause error) {
	r.mu.Lock()
	if r.ctx.Err() == nil {
		r.errs = append(r.errs, cause)
	}
	r.mu.Unlock()
	r.cancel(cause)

	r.mu.Lock()
	crews := r.crews
	r.mu.Unlock()
	r.pump.giveUp()
	for _, c := range crews {
		c.giveUp()
	}
}

// result is called when all goroutines that are waited for have left.
func (r *run[T]) result(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := r.errs
	if cause := context.Cause(ctx); cause != nil && !slices.ContainsFunc(errs, func(err error) bool { return same(err, cause) }) {
		errs = append(errs, cause) // unless giveUp was done by the same deadline
	}
	left := make(map[int]int)
	for stage, n := range r.away {
		if n > 0 {
			left[stage] = n
		}
	}
	if len(left) > 0 {
		errs = append(errs, &AbandonedError{Stages: left})
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// pump is the source's worker.
type pump[T any] struct {
	claim
	run    *run[T]
	source Source[T]
	output chan T         // closed by the pump when it ends, or by the caller that gave it up
	open   sync.WaitGroup // 1 until output is closed
}

func (p *pump[T]) work() {
	for {
		p.take()
		payload, more, err := p.next()
		if !p.release() {
			if more {
				p.run.settle(payload)
			}
			p.run.abandoned(StageSource, -1)
			return
		}
		if err != nil {
			p.run.fail(StageSource, err)
		}
		if !more {
			break
		}
		p.output <- payload
	}
	p.close()
}

func (p *pump[T]) next() (payload T, more bool, err error) {
	if p.run.ctx.Err() != nil {
		return payload, false, nil
	}
	more = p.source.Next(p.run.ctx)
	switch {
	case p.current()&phaseMask == phaseGone: // the source is its owner's again
		return payload, false, nil
	case more:
		return p.source.Payload(), true, nil
	}
	return payload, false, p.source.Error()
}

func (p *pump[T]) giveUp() {
	if p.revoke(p.current()) {
		p.run.abandoned(StageSource, 1)
		p.close()
	}
}

func (p *pump[T]) close() {
	close(p.output)
	p.open.Done()
}

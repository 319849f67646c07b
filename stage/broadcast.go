package stage

import (
	"context"
	"fmt"
	"reflect"
	"sync"
)

// Broadcast returns a stage in which every processor sees every payload: the first one the payload
// itself, each other one a clone. Each processor has one worker and sees the payloads in order; what
// they return goes to the same output, so len(ps) payloads leave for each that came, and each of
// them is settled by itself. A slow processor holds back the others by one payload.
//
// It panics without processors, or if there are two or more and T is not a [Cloner].
func Broadcast[T any](ps ...Processor[T]) Runner[T] {
	if len(ps) == 0 {
		panic("stage: Broadcast: needs at least one processor")
	}
	if t := reflect.TypeFor[T](); len(ps) > 1 && !t.Implements(reflect.TypeFor[Cloner[T]]()) {
		panic(fmt.Sprintf("stage: Broadcast: %v needs a method Clone() %v to go to several processors", t, t))
	}
	runners := make(broadcast[T], len(ps))
	for i, p := range ps {
		runners[i] = FIFO(p)
	}
	return runners
}

type broadcast[T any] []Runner[T]

func (b broadcast[T]) Run(ctx context.Context, p Params[T]) {
	inputs := make([]chan T, len(b))
	var runners sync.WaitGroup
	for i, runner := range b {
		inputs[i] = make(chan T)
		own := p
		own.Input = inputs[i]
		runners.Go(func() { runner.Run(ctx, own) })
	}
	for payload := range p.Input {
		if ctx.Err() != nil {
			p.Settle(payload)
			continue
		}
		// The original goes last: a processor may change it at once.
		for i := len(inputs) - 1; i > 0; i-- {
			inputs[i] <- any(payload).(Cloner[T]).Clone()
		}
		inputs[0] <- payload
	}
	for _, input := range inputs {
		close(input)
	}
	runners.Wait()
}

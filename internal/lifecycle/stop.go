package lifecycle

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Stop asks the run to end gracefully, and returns when it is gone. When its grace is over, or ctx ends, it is hurried; err is the cause of
// ctx's end. late says that the run is not gone although it should be, see [Ending.Await].
func (e *Ending) Stop(ctx context.Context) (late bool, err error) {
	e.Ask(Requested, nil)
	before, cancel, bye := beforeDeadline(ctx, e.steps.CancelGrace)
	defer cancel()
	if over, late := e.Await(before, e.steps.Grace); over || late {
		return late, nil
	}
	e.Hurry(bye)
	if _, late := e.Await(context.WithoutCancel(ctx), bye); late {
		return true, nil
	}
	return false, context.Cause(before)
}

// beforeDeadline ends a moment before ctx's deadline, so that cancelled code has the time to return.
func beforeDeadline(ctx context.Context, grace time.Duration) (before context.Context, cancel context.CancelFunc, moment time.Duration) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}, grace
	}
	moment = max(min(time.Until(deadline)/4, grace), 0)
	before, cancel = context.WithDeadline(ctx, deadline.Add(-moment))
	return before, cancel, moment
}

// ObeySignals ends the run that is on, nil if there is none, when SIGINT (Ctrl-C) or SIGTERM comes: the first one asks it to end, for that
// cause, the second one hurries it with a cancel grace, and all further ones without. The func that it returns ends that.
func ObeySignals(current func() *Ending, cause error) (end func()) {
	signals, over := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var listening sync.WaitGroup
	listening.Go(func() { obey(signals, over, current, cause) })
	return func() {
		close(over)
		listening.Wait()
		signal.Stop(signals)
	}
}

func obey(signals <-chan os.Signal, over <-chan struct{}, current func() *Ending, cause error) {
	for told := 0; ; {
		select {
		case <-signals:
		case <-over:
			return
		}
		e := current()
		if e == nil {
			continue
		}
		switch told++; told {
		case 1:
			e.Ask(Requested, cause)
		case 2:
			e.Hurry(e.steps.CancelGrace)
		default:
			e.Hurry(0)
		}
	}
}

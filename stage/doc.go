// Package stage runs payloads through a chain of concurrent stages.
//
// A [Source] produces payloads, each stage hands them to a [Processor] in its own way of
// dispatching them ([FIFO], [FixedWorkerPool], [DynamicWorkerPool], [Broadcast], or a [Runner] of
// your own), a [Sink] consumes what comes out. A [Pipeline] wires them and runs them:
//
//	Source ─chan─▶ stage 0 ─chan─▶ stage 1 ─chan─▶ … ─chan─▶ Sink
//
//	p := stage.New(
//		stage.DynamicWorkerPool(fetch, 16),
//		stage.FIFO(store),
//	)
//	err := p.Process(ctx, source, sink)
//
// Inside everything is asynchronous; [Pipeline.Process] itself is a plain call that returns when
// the last goroutine has left. The channels have no buffer: a slow stage holds back the source.
//
// [Pull] is one stage without channels: its workers fetch their payloads themselves. A [Batcher] gathers what many goroutines
// bring, and hands it on in batches.
//
// # Who closes, who receives
//
// One rule carries the package: who sends on a channel closes it, and who receives from it receives
// until it is closed, also after a cancellation. So a send never waits for somebody who has left,
// the end of the source travels down the chain as a cascade of closes, and a payload that is under
// way when the context is cancelled still arrives at somebody who settles it.
//
// # Errors
//
// The first error of a processor, the source or the sink cancels the context of all; every error
// reported until the last worker has left is returned, joined, each as a [*StageError]. Work that
// should go on despite an error therefore handles it in the processor: [Retry] repeats what is
// transient, [ErrDrop] takes a payload out quietly, and a processor that hands failed payloads to a
// dead letter queue returns ErrDrop for them. A panic in user code is not recovered here.
//
// # Settling
//
// Every payload that has left the source is settled exactly once, when it was consumed by the sink,
// dropped, failed, given up with a detached or abandoned worker, or found under way after a
// cancellation. A payload type with a MarkAsProcessed method ([Payload]) hears of it.
//
// # Workers that do not return
//
// Process waits for its workers, so a processor that ignores its context holds it up. Two ways out:
// [Detach] gives up one running call and puts a new worker in its place; [Pipeline.ProcessUntil]
// gives up everything that is still inside user code when its second context is done. The goroutine
// itself can not be ended: it leaves when the user code returns, what it returns is thrown away.
package stage

// Package stage runs payloads through a chain of concurrent stages.
//
// A [Source] produces payloads, each stage passes them to a [Processor] in its own way
// ([FIFO], [FixedWorkerPool], [DynamicWorkerPool], [Broadcast], or a [Runner] of
// your own), and a [Sink] consumes the results. A [Pipeline] connects and runs them:
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
// the last goroutine has ended. The channels are unbuffered: a slow stage holds back the source.
//
// [Pull] is one stage without channels: its workers fetch their payloads themselves. A [Batcher] collects values from many
// goroutines, and passes them on in batches.
//
// # Who closes, who receives
//
// One rule holds everywhere: the sender on a channel closes it, and the receiver receives
// until it is closed, even after a cancellation. So a send never waits for a receiver that has ended,
// the end of the source propagates down the chain as a cascade of closes, and a payload that is in
// progress when the context is cancelled still reaches a goroutine that settles it.
//
// # Errors
//
// The first error of a processor, the source or the sink cancels the context of all; all errors
// until the last worker has ended are returned, joined, each as a [*StageError]. If the pipeline
// should go on despite an error, handle it in the processor: [Retry] repeats temporary
// failures, [ErrDrop] removes a payload without an error, and a processor that sends failed payloads to a
// dead letter queue returns ErrDrop for them. A panic in user code is not recovered here.
//
// # Settling
//
// Every payload that has left the source is settled exactly once, when it was consumed by the sink,
// dropped, failed, given up with a detached or abandoned worker, or found in progress after a
// cancellation. If the payload type has a MarkAsProcessed method ([Payload]), it is called then.
//
// # Workers that do not return
//
// Process waits for its workers, so a processor that ignores its context holds it up. Two ways out:
// [Detach] gives up one running call and puts a new worker in its place; [Pipeline.ProcessUntil]
// gives up everything that is still inside user code when its second context is done. The goroutine
// itself cannot be ended: it ends when the user code returns, and its result is discarded.
package stage

package tegenaria

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
)

// starter runs StartRequest, or Start where the spider has it, and receives the seeds.
type starter struct {
	outsider
	spider    SpiderInterface
	pending   int64 // Limits.Pending
	ledger    *frontier.Ledger
	watch     *guard.Watch
	settler   *settler
	acceptor  *acceptor
	failures  *failures
	stop      *stop
	callbacks *callbacks

	gone  chan struct{} // closed when the start has ended or was abandoned
	begun atomic.Bool
	once  sync.Once
	call  guard.Call // if it was given up, requests that it still sends are discarded
}

func (s *starter) end() { s.once.Do(func() { close(s.gone) }) }

// Abandon reports that the start was given up.
func (s *starter) Abandon(l guard.Loss) {
	s.outsider.Abandon(l)
	s.end()
}

// begin begins to send the seeds, unless another run of a durable job has done so or does it. All but the first call do
// nothing.
func (s *starter) begin(elsewhere bool) {
	if s.begun.Swap(true) {
		return
	}
	if elsewhere {
		s.ledger.Started()
		s.end()
		return
	}
	s.call.Owner = s
	if !s.watch.Enter(&s.call, string(StageStart)) {
		s.end()
		return
	}
	guard.Go(func() { // run waits for gone
		err := guard.ErrGoexit
		defer func() { // also where the code ends its goroutine
			if s.watch.Exit(&s.call) {
				s.finish(err)
				s.end()
			}
		}()
		err = s.send()
	})
}

// send sends the seeds.
func (s *starter) send() error {
	err := s.callStart()
	if isA[*PanicError](err) {
		s.failures.handleOutside(NewError("", err, ErrorWithStage(StageStart)))
		if _, ok := s.spider.(Starter); !ok {
			return nil // the seeds that it sent before are crawled
		}
	}
	return err
}

// awaitRoom waits until a seed may be accepted: they alone feel backpressure.
func (s *starter) awaitRoom() {
	for !s.stop.refusing.Load() {
		room := s.ledger.Room(s.pending)
		if room == nil {
			return
		}
		select {
		case <-room:
		case <-s.stop.ending.Asked():
		}
	}
}

// accept accepts a seed, unless the start was given up.
func (s *starter) accept(ctx *Context) {
	if !s.call.GivenUp() {
		s.acceptor.accept(emission{}, ctx)
	}
}

// finish notes how the start ended.
func (s *starter) finish(err error) {
	switch reason, closing := asCloseSpider(err); {
	case closing:
		s.stop.closeSpider(reason)
	case err != nil && s.stop.intake.Err() != nil && errors.Is(err, s.stop.intake.Err()):
		// Its context was cancelled.
	case err != nil:
		s.stop.ending.Break(&RunError{Op: "start", Err: err})
	case !s.stop.refusing.Load():
		s.settler.started()
	}
	if _, told := s.spider.(Starter); told && s.stop.refusing.Load() {
		s.stop.unsown.Store(true) // it may have more seeds that it did not send
	}
	s.ledger.Started()
}

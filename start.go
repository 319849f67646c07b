package tegenaria

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// starter runs StartRequest, or Start where the spider has it, and receives the seeds.
type starter struct {
	crawl *crawl
	gone  chan struct{} // closed when the start has ended or was abandoned
	once  sync.Once
	call  guard.Call // if it was given up, what it still sends is discarded
}

func (s *starter) end() { s.once.Do(func() { close(s.gone) }) }

// Slow is never called: the start has all the time it wants.
func (s *starter) Slow(at string, took time.Duration) { outsider{s.crawl}.Slow(at, took) }

// Doom keeps nothing open.
func (s *starter) Doom() (kept bool) { return false }

// Abandon tells that the start was given up.
func (s *starter) Abandon(l guard.Loss) {
	outsider{s.crawl}.Abandon(l)
	s.end()
}

// start begins to send the seeds, unless an earlier run of a durable job has done so. The channel is closed
// when all seeds are accepted.
func (c *crawl) start(doneBefore bool) <-chan struct{} {
	s := &starter{crawl: c, gone: make(chan struct{})}
	if doneBefore {
		c.ledger.Started()
		s.end()
		return s.gone
	}
	s.call.Owner = s
	if !c.watch.Enter(&s.call, string(StageStart)) {
		s.end()
		return s.gone
	}
	seeds := make(chan *Context)
	received := guard.Go(func() { s.receive(seeds) }) // until the fence; a start that was given up keeps it until it returns
	guard.Go(func() {                                 // run waits for gone
		err := guard.ErrGoexit
		defer func() { // also where the code ends its goroutine
			if sendFence(seeds, fence) {
				c.acceptor.closedByUser(emission{})
			}
			<-received.Done()
			if c.watch.Exit(&s.call) {
				s.finish(err)
				s.end()
			}
		}()
		err = s.send(seeds)
	})
	return s.gone
}

// send calls the user's code.
func (s *starter) send(seeds chan<- *Context) error {
	c := s.crawl
	stack, err := guard.Protect(func() error {
		if starter, ok := c.spider.(Starter); ok {
			return starter.Start(c.intake, seeds)
		}
		c.spider.StartRequest(seeds)
		return nil
	})
	var panicked *PanicError
	if errors.As(err, &panicked) && stack != nil {
		c.teller.handleOutside(&HandleError{Err: err, Stage: StageStart, Stack: stack})
		if _, ok := c.spider.(Starter); !ok {
			return nil // what it sent before is crawled
		}
	}
	return err
}

// handleOutside tells the ErrorHandlers about a panic that is no request's failure.
func (t *teller) handleOutside(herr *HandleError) {
	j := &job{crawl: t.crawl, ctx: &Context{Ctx: context.Background()}, failures: &failures{}}
	t.handleAlone(j, herr)
	j.failures.runAll()
}

// receive accepts seeds, but only while there is room: they alone feel backpressure.
func (s *starter) receive(seeds <-chan *Context) {
	c := s.crawl
	for {
		for {
			room := c.ledger.WaitRoom(int64(c.limits.Pending))
			if room == nil || c.refusing.Load() {
				break
			}
			select {
			case <-room:
			case <-c.asked:
			}
		}
		ctx, open := <-seeds
		if !open || ctx == fence {
			return
		}
		if !s.call.GivenUp() {
			c.acceptor.accept(emission{}, ctx)
		}
	}
}

// finish notes how the start ended.
func (s *starter) finish(err error) {
	c := s.crawl
	switch reason, closing := asCloseSpider(err); {
	case closing:
		c.requestStop(reason, nil)
	case err != nil && c.intake.Err() != nil && errors.Is(err, c.intake.Err()):
		// It was told to stop.
	case err != nil:
		c.breakDown(&RunError{Op: "start", Err: err})
	case !c.refusing.Load():
		if err := c.settler.started(); err != nil {
			c.storeFailed(err)
		}
	}
	if _, told := c.spider.(Starter); told && c.refusing.Load() {
		c.unsown.Store(true) // it may have kept back what it had not sent yet
	}
	c.ledger.Started()
}

// outsider is user code that belongs to no job, as that of the start and of parts that are opened.
type outsider struct{ crawl *crawl }

// Slow is never called: such code has all the time it wants.
func (o outsider) Slow(at string, took time.Duration) { o.crawl.teller.slow(Stage(at), nil, took) }

// Doom keeps nothing open.
func (o outsider) Doom() (kept bool) { return false }

// Abandon tells that the code was given up.
func (o outsider) Abandon(l guard.Loss) { o.crawl.teller.lost(l, nil, "", nil) }

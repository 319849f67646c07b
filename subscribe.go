package tegenaria

// errorChanDepth is how many errors wait for the reader of an ErrorChan.
const errorChanDepth = 1024

// subscription is one ErrorChan.
type subscription struct {
	ch     chan error
	missed int64
}

// ErrorChan subscribes to the errors of the run that is on, or of the next one: every [HandleError], and
// panics in Events. Each call is a subscription of its own; its channel is closed when that run is over.
// It holds 1,024 errors: what comes while it is full is counted, and told by a [*MissedErrorsError] as
// soon as there is room again. A slow reader never holds up the crawl.
func (e *SpiderEngine) ErrorChan() <-chan error {
	s := &subscription{ch: make(chan error, errorChanDepth+1)}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.errs = append(e.errs, s)
	return s.ch
}

// publish sends an error to all subscriptions.
func (e *SpiderEngine) publish(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.errs {
		s.publish(err)
	}
}

func (s *subscription) publish(err error) {
	room := cap(s.ch) - len(s.ch) - 1 // the last place is for what the end has to tell
	if err == nil {
		room++
	}
	if s.missed > 0 && (room >= 2 || err == nil && room >= 1) {
		s.ch <- &MissedErrorsError{Count: s.missed}
		s.missed = 0
		room--
	}
	switch {
	case err == nil:
	case room > 0 && s.missed == 0:
		s.ch <- err
	default:
		s.missed++
	}
}

// closeErrors ends all subscriptions.
func (e *SpiderEngine) closeErrors() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.errs {
		s.publish(nil)
		close(s.ch)
	}
	e.errs = nil
}

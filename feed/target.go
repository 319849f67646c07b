package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"
)

// Target is a place to which finished files are sent, such as a bucket. Package feed/s3 has one. A Target is used by one goroutine
// at a time.
type Target interface {
	// Send stores a file under a name, replacing any file of that name, and returns when the whole file is safely stored. Sending
	// the same file again is no mistake. It is tried again after an error until ctx ends, which is at the latest when the target's
	// patience is over. An error with a method Refused() bool that returns true is one that does not go away by waiting, such as a wrong
	// key: the third one in a row ends the run.
	Send(ctx context.Context, name string, file io.ReadSeeker, size int64) error
}

// TargetError ends a run whose files could not be sent for longer than [Delivery].Patience, or were refused. The files
// stay in their folder: run the same job again to send them.
type TargetError struct {
	Path  string        // with its fields
	Name  string        // of the file that could not be sent
	Files int           // number of files that wait to be sent
	Since time.Duration // time since the last file was sent, or since the first attempt
	Err   error         // of the last attempt that did not end with the patience
}

// Error says which files wait, and why.
func (e *TargetError) Error() string {
	wait := "1 file waits in its folder: a job on a disk sends it when it goes on"
	if e.Files != 1 {
		wait = fmt.Sprintf("%d files wait in their folder: a job on a disk sends them when it goes on", e.Files)
	}
	return fmt.Sprintf("feed: %s could not be sent for %s: %v; %s", e.Name, e.Since.Round(time.Second), e.Err, wait)
}

// Unwrap returns the error of an attempt.
func (e *TargetError) Unwrap() error { return e.Err }

// Delivery limits the files that wait to be sent to a [Target].
type Delivery struct {
	Bytes    int64         // bytes of finished files that may wait; above it the crawl waits for the target (0: 1 GiB)
	Patience time.Duration // how long sending may fail before the run ends (0: 5 minutes)
}

const (
	defaultDeliveryBytes = 1 << 30
	defaultPatience      = 5 * time.Minute
	firstPause           = time.Second // after an attempt that failed; it doubles
	longestPause         = time.Minute
	mostRefusals         = 3 // in a row, before the run is ended
)

// sender sends files one after the other.
type sender struct {
	feed   *Feed
	ctx    context.Context
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	change chan struct{}
	queue  []sealedFile // the first is being sent
	bytes  int64
	sent   map[string]bool
	since  time.Time // of the last success, or of the first attempt after nothing waited
	failed *TargetError

	refusals int   // in a row; of run alone
	cause    error // of the newest attempt that was not cut short; of run alone
}

func newSender(f *Feed) *sender {
	s := &sender{feed: f, change: make(chan struct{}), sent: make(map[string]bool)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.ended.Go(s.run)
	return s
}

// changed wakes all that wait. It is called with mu held.
func (s *sender) changed() {
	close(s.change)
	s.change = make(chan struct{})
}

// add has a file sent.
func (s *sender) add(f sealedFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.since = time.Now()
	}
	s.queue = append(s.queue, f)
	s.bytes += f.Size
	s.changed()
}

// wait waits until no more than so many bytes wait to be sent. The error is a [*TargetError], or that of ctx.
func (s *sender) wait(ctx context.Context, most int64) error {
	for {
		s.mu.Lock()
		change, failed, fits := s.change, s.failed, s.bytes <= most
		s.mu.Unlock()
		switch {
		case failed != nil:
			return failed
		case fits:
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// takeSent reports whether a file was sent, and forgets it then.
func (s *sender) takeSent(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent[name]
	delete(s.sent, name)
	return sent
}

// close ends the sending at once.
func (s *sender) close() {
	s.cancel()
	s.ended.Wait()
}

func (s *sender) run() {
	pause := firstPause
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		s.mu.Lock()
		change, idle := s.change, len(s.queue) == 0 || s.failed != nil
		var f sealedFile
		if !idle {
			f = s.queue[0]
		}
		s.mu.Unlock()
		if idle {
			select {
			case <-change:
				continue
			case <-s.ctx.Done():
				return
			}
		}
		if err := s.send(f); err == nil {
			pause = firstPause
			continue
		}
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			return
		}
		pause = min(2*pause, longestPause)
	}
}

// send makes one attempt.
func (s *sender) send(f sealedFile) error {
	s.mu.Lock()
	until := s.since.Add(s.feed.delivery.Patience)
	s.mu.Unlock()
	ctx, cancel := context.WithDeadline(s.ctx, until)
	defer cancel()
	err := s.sendFile(ctx, f)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed()
	if err != nil {
		if s.cause == nil || !errors.Is(err, context.DeadlineExceeded) {
			s.cause = err
		}
		if refused := (interface{ Refused() bool })(nil); errors.As(err, &refused) && refused.Refused() {
			s.refusals++
		} else {
			s.refusals = 0
		}
		if since := time.Since(s.since); since >= s.feed.delivery.Patience || s.refusals >= mostRefusals {
			s.failed = &TargetError{Path: s.feed.path, Name: f.Name, Files: len(s.queue), Since: since, Err: s.cause}
		}
		return err
	}
	s.since, s.cause, s.refusals = time.Now(), nil, 0
	s.queue = s.queue[1:]
	s.bytes -= f.Size
	s.sent[f.Name] = true
	return nil
}

func (s *sender) sendFile(ctx context.Context, f sealedFile) (err error) {
	file, err := s.feed.fs.Open(f.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err := file.Size()
	if err != nil {
		return err
	}
	if size != f.Size {
		return &CorruptError{f.Name, fmt.Errorf("it has %d bytes, there were %d", size, f.Size)}
	}
	return s.feed.target.Send(ctx, s.feed.nameAtTarget(f.Name), io.NewSectionReader(file, 0, size), size)
}

// To sends each finished file to a target and then removes it. Until then the file lies at the feed's path. The path, with slashes,
// is also the name at the target; of an absolute path only the part after the folder that precedes the first field. The folder must
// survive the process, else unsent files are lost. The path needs a field, or the feed needs [Rotate], because a file at the target
// is never changed. A [Delivery] limits the files that wait; without one its defaults apply.
func To(t Target, bounds ...Delivery) Option {
	return func(f *Feed) {
		var d Delivery
		if len(bounds) > 0 {
			d = bounds[0]
		}
		if t == nil || d.Bytes < 0 || d.Patience < 0 || len(bounds) > 1 {
			f.wrong("To(%T, %+v): it needs a target that is not nil, and at most one Delivery, without a negative bound", t, bounds)
			return
		}
		f.target = t
		f.delivery = Delivery{cmp.Or(d.Bytes, defaultDeliveryBytes), cmp.Or(d.Patience, defaultPatience)}
	}
}

// nameAtTarget returns the name of a file at the target.
func (f *Feed) nameAtTarget(path string) string {
	if filepath.IsAbs(path) {
		if name, err := filepath.Rel(f.template.Root(), path); err == nil {
			path = name
		}
	}
	return filepath.ToSlash(path)
}

package guard_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// A result that is there is taken even by a context that has ended, and one that comes is waited for until it is due.
func TestReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errEnd := errors.New("the end")
		ended, end := context.WithCancelCause(t.Context())
		end(errEnd)
		results := make(chan int, 1)
		results <- 1
		if got, err := guard.Receive(ended, results, time.Now()); got != 1 || err != nil {
			t.Errorf("a result that is there: %d, %v", got, err)
		}
		if _, err := guard.Receive(ended, results, time.Now().Add(time.Second)); err != errEnd {
			t.Errorf("a context that has ended: %v", err)
		}
		began := time.Now()
		if _, err := guard.Receive(t.Context(), results, began.Add(time.Second)); err != guard.ErrSilent || time.Since(began) != time.Second {
			t.Errorf("nothing: %v after %s", err, time.Since(began))
		}
		sent := guard.Go(func() { pause(time.Second); results <- 2 })
		if got, err := guard.Receive(t.Context(), results, time.Now().Add(time.Minute)); got != 2 || err != nil {
			t.Errorf("a result that comes: %d, %v", got, err)
		}
		<-sent.Done()
	})
}

// sending is a Sender with the rest of an BoundedCall.
type sending struct{ guard.Sender[int] }

func (*sending) TooLate(time.Duration) error { return errOver }

var errOver = errors.New("over")

// inPiece runs code in a piece of a call that has a caller, with an bounded that has a second.
func inPiece(t *testing.T, e *sending, results chan int, code func(c *guard.Call)) (alive bool) {
	w := guard.NewWatch(guard.Config{})
	defer w.Close()
	c := &guard.Call{Owner: new(owner), Caller: new(guard.Call)}
	w.Join(c)
	defer w.Leave(c)
	return run(w, c, "bounded", nil, func() {
		e.Start(t.Context(), results)
		defer e.Close()
		w.Bound(c, e, time.Now(), time.Second)
		code(c)
	})
}

// Code that was given up is left behind: Apart returns, and results that the code still sends are discarded until it has
// returned. It fails if Abandoned does not receive, or not until then.
func TestSenderIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e sending
		results, over := make(chan int), make(chan struct{})
		alive := inPiece(t, &e, results, func(c *guard.Call) {
			err := e.Apart(c, func() error {
				defer close(over)
				<-e.Life.Done()
				pause(time.Minute)
				for i := range 3 {
					results <- i
				}
				return nil
			})
			if err != guard.ErrGivenUp {
				t.Errorf("Apart returned %v", err)
			}
		})
		if alive {
			t.Error("the call was not given up")
		}
		<-over // at the latest: synctest finds who waits for ever
		if context.Cause(&e.Life) != errOver {
			t.Errorf("the cause is %v", context.Cause(&e.Life))
		}
	})
}

// Apart hands on how the code has ended.
func TestSenderApart(t *testing.T) {
	errCode := errors.New("code")
	for name, tt := range map[string]struct {
		code func() error
		is   func(stack []byte, err error) bool
	}{
		"it returns":     {func() error { return nil }, func(stack []byte, err error) bool { return err == nil && stack == nil }},
		"it fails":       {func() error { return errCode }, func(_ []byte, err error) bool { return err == errCode }},
		"it panics":      {func() error { panic("x") }, func(stack []byte, err error) bool { return err != nil && len(stack) > 0 }},
		"it ends itself": {func() error { runtime.Goexit(); return nil }, func(_ []byte, err error) bool { return err == guard.ErrGoexit }},
	} {
		var e sending
		inPiece(t, &e, make(chan int), func(c *guard.Call) {
			if err := e.Apart(c, tt.code); !tt.is(guard.Stack(err), err) {
				t.Errorf("%s: %v, %d bytes of stack", name, err, len(guard.Stack(err)))
			}
		})
		if e.Life.Err() == nil {
			t.Errorf("%s: its context goes on", name)
		}
	}
}

// Code in the caller's goroutine has returned when its sender is closed: whoever receives for it stops. It fails if Close does
// not say so: then a goroutine is left.
func TestSenderInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s guard.Sender[int]
		results := make(chan int)
		s.Start(t.Context(), results)
		s.Abandoned()
		results <- 1
		s.Close()
		synctest.Wait()
		select {
		case results <- 2:
			t.Error("somebody receives when the code has returned")
		default:
		}
	})
}

package guard_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
)

var errOver = errors.New("over")

type busyError string

func (e busyError) Error() string { return string(e) + " is busy" }

func newWriters() *guard.Writers {
	return guard.NewWriters(errOver, func(name string) error { return busyError(name) })
}

// slowWriter takes a second for each Write.
type slowWriter struct{ strings.Builder }

func (w *slowWriter) Write(p []byte) (int, error) {
	pause(time.Second)
	return w.Builder.Write(p)
}

// A loan that was taken back writes nothing; a Write that is under way then keeps others away until it returns. It fails
// if End does not count it, or leave does not.
func TestWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writers, own, other := newWriters(), new(slowWriter), new(slowWriter)
		first, second, third := writers.Lend(own, "first"), writers.Lend(own, "second"), writers.Lend(other, "third")
		write := func(l *guard.Loan, text string, want error) {
			t.Helper()
			if n, err := l.Write([]byte(text)); err != want || err == nil && n != len(text) {
				t.Errorf("%q: %d, %v, want %v", text, n, err, want)
			}
		}
		write(first, "one ", nil)
		late := guard.Go(func() { write(first, "late ", nil) })
		pause(500 * time.Millisecond)
		first.End()
		first.End()
		write(first, "never", errOver)
		write(second, "busy", busyError("second"))
		write(third, "other", nil)
		<-late.Done()
		write(second, "two", nil)
		second.End()
		if own.String() != "one late two" || other.String() != "other" {
			t.Errorf("written %q and %q", own, other)
		}
		if first.Written() != 9 || second.Written() != 3 || third.Written() != 5 {
			t.Errorf("written %d, %d, %d", first.Written(), second.Written(), third.Written())
		}
	})
	var none *guard.Loan
	if none.End(); none.Written() != 0 {
		t.Error("nothing was lent")
	}
}

// funcWriter cannot be told from others.
type funcWriter func(p []byte) (int, error)

func (f funcWriter) Write(p []byte) (int, error) { return f(p) }

// Writers that cannot be compared keep nobody away.
func TestWritersThatCannotBeCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writers := newWriters()
		own := funcWriter(func(p []byte) (int, error) { pause(time.Second); return len(p), nil })
		first, second := writers.Lend(own, "first"), writers.Lend(own, "second")
		late := guard.Go(func() { first.Write([]byte("late")) })
		synctest.Wait()
		first.End()
		if _, err := second.Write([]byte("two")); err != nil {
			t.Error(err)
		}
		<-late.Done()
	})
}

package loan_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/loan"
)

var errOver = errors.New("over")

// pause sleeps in a bubble of synctest.
func pause(d time.Duration) { <-time.After(d) }

type busyError string

func (e busyError) Error() string { return string(e) + " is busy" }

func newWriters() *loan.Writers {
	return loan.NewWriters(errOver, func(name string) error { return busyError(name) })
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
		write := func(l *loan.Loan, text string, want error) {
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
	var none *loan.Loan
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

// seekingWriter can take back what was written, unless it fails.
type seekingWriter struct {
	strings.Builder
	truncated, sought int64
	fails             error
}

func (w *seekingWriter) Truncate(size int64) error {
	w.truncated = size
	return w.fails
}

func (w *seekingWriter) Seek(offset int64, whence int) (int64, error) {
	w.sought = offset + int64(whence)
	return 0, nil
}

// What was written can be taken back where the writer is like a file; where nothing was written there is nothing to take back.
func TestRewind(t *testing.T) {
	var none *loan.Loan
	if !none.Rewind(nil) {
		t.Error("no loan has something to take back")
	}
	plain, file, broken := new(strings.Builder), &seekingWriter{truncated: -1, sought: -1}, &seekingWriter{fails: errOver}
	for _, tt := range []struct {
		name string
		w    io.Writer
		want bool
	}{{"a builder", plain, false}, {"a file", file, true}, {"a file that cannot be truncated", broken, false}} {
		loan := newWriters().Lend(tt.w, tt.name)
		if !loan.Rewind(tt.w) || file.truncated == 0 && tt.w == io.Writer(file) {
			t.Errorf("%s: nothing was written, and cannot be taken back", tt.name)
		}
		if _, err := loan.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if got := loan.Rewind(tt.w); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if file.truncated != 0 || file.sought != 0 {
		t.Errorf("the file was cut to %d bytes, and is at %d", file.truncated, file.sought)
	}
}

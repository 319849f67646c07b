// Package loan lends the io.Writers of user code, so that a Write that was left behind stays the only one.
package loan

import (
	"io"
	"reflect"
	"sync"
)

// Writers lends the io.Writers of user code, each to any number of borrowers one after the other. A Write that has not
// returned when it was taken back is left behind: no other writes there until it returns, so that two never write at once.
// Make one with [NewWriters]. It may be used concurrently.
type Writers struct {
	over error
	busy func(name string) error

	mu   sync.Mutex  // guards the fields below, and all loans
	left map[any]int // how many Writes were left behind, by writer
}

// NewWriters makes a lender. over is the error of a Write for a loan that was taken back. busy makes the error of a Write for
// the loan of that name while a Write that was left behind has not returned.
func NewWriters(over error, busy func(name string) error) *Writers {
	return &Writers{over: over, busy: busy, left: make(map[any]int)}
}

// Loan is a writer that may be written to until it is taken back.
type Loan struct {
	all    *Writers
	own    io.Writer
	key    any // own, if it can be told from others: a func cannot
	name   string
	n      int64 // bytes that were written
	inside bool  // a Write has not returned
	over   bool
}

// Lend makes a loan of a writer; the name is for errors.
func (w *Writers) Lend(own io.Writer, name string) *Loan {
	l := &Loan{all: w, own: own, name: name}
	if reflect.ValueOf(own).Comparable() {
		l.key = own
	}
	return l
}

// Write writes until the loan is taken back.
func (l *Loan) Write(p []byte) (n int, err error) {
	if err := l.enter(); err != nil {
		return 0, err
	}
	defer func() { l.leave(n) }()
	return l.own.Write(p)
}

func (l *Loan) enter() error {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	switch {
	case l.over:
		return l.all.over
	case l.key != nil && l.all.left[l.key] > 0:
		return l.all.busy(l.name)
	}
	l.inside = true
	return nil
}

func (l *Loan) leave(n int) {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	l.inside = false
	l.n += int64(n)
	if !l.over || l.key == nil {
		return
	}
	if l.all.left[l.key]--; l.all.left[l.key] == 0 {
		delete(l.all.left, l.key)
	}
}

// End takes the loan back. It may be called more than once, and on nil, which is not a loan.
func (l *Loan) End() {
	if l == nil {
		return
	}
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	if !l.over && l.inside && l.key != nil {
		l.all.left[l.key]++
	}
	l.over = true
}

// Written returns how many bytes were written, by the Writes that have returned; 0 for nil.
func (l *Loan) Written() int64 {
	if l == nil {
		return 0
	}
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	return l.n
}

// Rewind prepares for another attempt, which writes to w: what was written is taken out of it. It returns false if something was
// written and w cannot take it back. It may be called on nil, which is not a loan.
func (l *Loan) Rewind(w io.Writer) bool {
	if l.Written() == 0 {
		return true
	}
	file, ok := w.(interface {
		io.Seeker
		Truncate(size int64) error
	})
	if !ok || file.Truncate(0) != nil {
		return false
	}
	_, err := file.Seek(0, io.SeekStart)
	return err == nil
}

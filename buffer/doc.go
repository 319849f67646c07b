// Package buffer holds values between the goroutines that make them and the goroutines that use
// them.
//
// [Buffer] is the small part: a first-in-first-out ring of fixed size that never blocks. A Put
// into a full one and a Get from an empty one say so at once.
//
// [Pool] is the part to work with: a first-in-first-out queue counted in buffers. It starts with
// one buffer, takes another one whenever a Put finds all of them full, and gives one back when
// its readers have found it empty often enough. When it has grown to its maximum, Put blocks until
// a Get makes room: this is how a fast writer is slowed down to the speed of its readers.
//
//	pool, err := buffer.NewPool[*Item](64, 16) // at most 16 buffers of 64 items
//	…
//	go func() {
//		for {
//			item, err := pool.Get(ctx)
//			if err != nil {
//				return // closed and drained, or ctx is done
//			}
//			use(item)
//		}
//	}()
//	err = pool.Put(ctx, item) // waits while 1,024 items are waiting
//	pool.Close()              // readers take what is left, then end
//
// Everything here is safe for concurrent use and starts no goroutine.
package buffer

import (
	"errors"
	"fmt"
)

// ErrClosedBuffer is the error of a [Buffer] that was closed: of every Put, and of every Get that
// finds nothing left.
var ErrClosedBuffer = errors.New("buffer: closed buffer")

// ErrClosedBufferPool is the error of a [Pool] that was closed: of every Put, also of those that
// were waiting, and of every Get that finds nothing left.
var ErrClosedBufferPool = errors.New("buffer: closed buffer pool")

// IllegalParameterError is what a constructor returns for a size that cannot be.
type IllegalParameterError struct {
	Name  string // the parameter
	Value int    // what was given
	Want  string // what would be legal
}

// Error names the parameter.
func (e *IllegalParameterError) Error() string {
	return fmt.Sprintf("buffer: illegal parameter: %s is %d, want %s", e.Name, e.Value, e.Want)
}

// Package staging keeps what the items of a request become until the request is settled: in memory up to a bound, and in a file beyond it.
// Every pipeline that is a Committer, and writes items, stands on it.
//
//	ProcessItem → Add → … → Prepare → Take → the output
//	                     └→ Discard: that attempt runs again
//
// A short example:
//
//	var items staging.Items
//	items.Reset(staging.Options{Bound: 16 << 20, Open: openSpool})
//	err := items.Add(item.CtxId, encoded)
//	…
//	err = items.Take(ids, func(encoded []byte) error { return write(encoded) })
package staging

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// File is an open file. WriteAt and ReadAt may be called concurrently.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
}

// Options say how much is kept where.
type Options struct {
	Bound int                  // bytes in memory
	Open  func() (File, error) // opens an empty file for the rest, when it is needed; nil: all stays in memory
}

// Items holds encoded items by the id of their request. The zero value is not ready: Reset makes it so. The other methods may be called
// concurrently.
type Items struct {
	mu     sync.Mutex // guards the fields below, except the spool's own input and output
	staged map[string]*staged
	free   []*staged // to be used again
	bound  int
	memory int // bytes in memory
	spool  spool
	err    error // the spool failed: what it has lost must not be settled
}

// staged are the items of a request.
type staged struct {
	data  []byte // of those in memory, one behind the other
	items []chunk
}

// chunk is where an item is.
type chunk struct {
	offset  int64 // in the request's data, or in the spool
	size    int
	spooled bool
}

// What is used again is not counted, so there is not much of it.
const (
	mostFree     = 64
	mostFreeData = 16 << 10 // bytes of each
)

// spool is a file of items that wait. It is emptied whenever nothing is in it any more.
type spool struct {
	open  func() (File, error) // nil: there is none
	file  File                 // nil: not opened yet
	end   int64
	items int // that it holds
}

// Reset forgets everything.
func (s *Items) Reset(o Options) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.staged, s.free = make(map[string]*staged), nil
	s.bound, s.memory, s.spool, s.err = o.Bound, 0, spool{open: o.Open}, nil
}

// of returns what a request has staged, to add to it.
func (s *Items) of(id string) *staged {
	if st := s.staged[id]; st != nil {
		return st
	}
	st := new(staged)
	if n := len(s.free); n > 0 {
		st, s.free = s.free[n-1], s.free[:n-1]
		s.memory += cap(st.data)
	}
	s.staged[id] = st
	return st
}

// Add keeps a copy of an item.
func (s *Items) Add(id string, data []byte) error {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return s.err
	}
	if s.memory+len(data) <= s.bound || s.spool.open == nil {
		st := s.of(id)
		before := cap(st.data)
		st.items = append(st.items, chunk{offset: int64(len(st.data)), size: len(data)})
		st.data = append(st.data, data...)
		s.memory += cap(st.data) - before
		s.mu.Unlock()
		return nil
	}
	if s.spool.file == nil {
		file, err := s.spool.open()
		if err != nil {
			s.err = fmt.Errorf("opening the spool: %w", err)
			s.mu.Unlock()
			return s.err
		}
		s.spool.file = file
	}
	file, offset := s.spool.file, s.spool.end
	s.spool.end += int64(len(data))
	s.spool.items++
	s.mu.Unlock()

	_, err := file.WriteAt(data, offset)

	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.err = errors.Join(s.err, fmt.Errorf("writing the spool: %w", err))
		return s.err
	}
	st := s.of(id)
	st.items = append(st.items, chunk{offset, len(data), true})
	return nil
}

// Take gives what these ids have staged to add, in their order, and forgets it. add must not keep it.
func (s *Items) Take(ids []string, add func(item []byte) error) error {
	s.mu.Lock()
	taken := make([]*staged, 0, len(ids))
	for _, id := range ids {
		if st := s.staged[id]; st != nil {
			taken = append(taken, st)
			delete(s.staged, id)
		}
	}
	file, err := s.spool.file, s.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	var buf []byte
	for _, st := range taken {
		for _, c := range st.items {
			if !c.spooled {
				if err := add(st.data[c.offset : c.offset+int64(c.size) : c.offset+int64(c.size)]); err != nil {
					return err
				}
				continue
			}
			buf = slices.Grow(buf[:0], c.size)[:c.size]
			if n, err := file.ReadAt(buf, c.offset); n < c.size {
				return fmt.Errorf("reading the spool: %w", err)
			}
			if err := add(buf); err != nil {
				return err
			}
		}
	}
	return s.forget(taken...)
}

// Discard forgets what an id has staged.
func (s *Items) Discard(id string) {
	s.mu.Lock()
	st := s.staged[id]
	delete(s.staged, id)
	s.mu.Unlock()
	if st == nil {
		return
	}
	if err := s.forget(st); err != nil {
		s.mu.Lock()
		s.err = errors.Join(s.err, err)
		s.mu.Unlock()
	}
}

// forget gives back what requests have taken.
func (s *Items) forget(gone ...*staged) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range gone {
		for _, c := range st.items {
			if c.spooled {
				s.spool.items--
			}
		}
		s.memory -= cap(st.data)
		if len(s.free) < mostFree && cap(st.data) <= mostFreeData && cap(st.items) <= mostFreeData/32 {
			st.data, st.items = st.data[:0], st.items[:0]
			s.free = append(s.free, st)
		}
	}
	if s.spool.items > 0 || s.spool.end == 0 {
		return nil
	}
	s.spool.end = 0
	if err := s.spool.file.Truncate(0); err != nil {
		return fmt.Errorf("emptying the spool: %w", err)
	}
	return nil
}

// Close forgets everything. used says that there is a spool to be removed.
func (s *Items) Close() (used bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.staged)
	s.free, s.memory = nil, 0
	if s.spool.file == nil {
		return false, nil
	}
	file := s.spool.file
	s.spool = spool{}
	return true, file.Close()
}

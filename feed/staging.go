package feed

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// staging holds encoded items by the id of their request, in memory up to a bound and beyond that in a spool.
type staging struct {
	mu     sync.Mutex // guards the fields below, but for the spool's own input and output
	chunks map[string][]chunk
	bound  int
	memory int // bytes in memory
	spool  spool
	err    error // the spool failed: what it has lost must not be settled
}

// chunk is an item: its bytes, or where they are in the spool.
type chunk struct {
	data   []byte
	offset int64 // if data is nil
	size   int
}

// spool is a file of items that wait. It is emptied whenever nothing is in it any more.
type spool struct {
	open  func() (File, error) // nil: there is none
	file  File                 // nil: not opened yet
	end   int64
	items int // that it holds
}

// maxAppend is how many bytes are appended at a time.
const maxAppend = 1 << 20

func (s *staging) reset(bound int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.chunks)
	s.bound, s.memory, s.spool, s.err = bound, 0, spool{}, nil
}

// add keeps an item.
func (s *staging) add(id string, data []byte) error {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return s.err
	}
	if s.memory+len(data) <= s.bound || s.spool.open == nil {
		s.memory += len(data)
		s.chunks[id] = append(s.chunks[id], chunk{data: data, size: len(data)})
		s.mu.Unlock()
		return nil
	}
	if s.spool.file == nil {
		file, err := s.spool.open()
		if err == nil {
			err = file.Truncate(0) // of a crash
		}
		if err != nil {
			s.err = fmt.Errorf("feed: opening the spool: %w", err)
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
		s.err = errors.Join(s.err, fmt.Errorf("feed: writing the spool: %w", err))
		return s.err
	}
	s.chunks[id] = append(s.chunks[id], chunk{offset: offset, size: len(data)})
	return nil
}

// take writes what these ids have staged, in their order, and forgets it.
func (s *staging) take(ids []string, w io.Writer) error {
	s.mu.Lock()
	var chunks []chunk
	for _, id := range ids {
		chunks = append(chunks, s.chunks[id]...)
		delete(s.chunks, id)
	}
	file, err := s.spool.file, s.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	var buf []byte
	for _, c := range chunks {
		if len(buf) > 0 && len(buf)+c.size > maxAppend {
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
		if c.data != nil {
			buf = append(buf, c.data...)
			continue
		}
		start := len(buf)
		buf = append(buf, make([]byte, c.size)...)
		if n, err := file.ReadAt(buf[start:], c.offset); n < c.size {
			return fmt.Errorf("feed: reading the spool: %w", err)
		}
	}
	if len(buf) > 0 {
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return s.forget(chunks)
}

// discard forgets what an id has staged.
func (s *staging) discard(id string) {
	s.mu.Lock()
	chunks := s.chunks[id]
	delete(s.chunks, id)
	s.mu.Unlock()
	if err := s.forget(chunks); err != nil {
		s.mu.Lock()
		s.err = errors.Join(s.err, err)
		s.mu.Unlock()
	}
}

// forget gives back what chunks have taken.
func (s *staging) forget(chunks []chunk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range chunks {
		if c.data != nil {
			s.memory -= c.size
		} else {
			s.spool.items--
		}
	}
	if s.spool.items > 0 || s.spool.end == 0 {
		return nil
	}
	s.spool.end = 0
	if err := s.spool.file.Truncate(0); err != nil {
		return fmt.Errorf("feed: emptying the spool: %w", err)
	}
	return nil
}

// close forgets everything. used says that there is a spool to be removed.
func (s *staging) close() (used bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.chunks)
	s.memory = 0
	if s.spool.file == nil {
		return false, nil
	}
	file := s.spool.file
	s.spool = spool{}
	return true, file.Close()
}

package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
	"time"
)

// use says when a key was used last, and how many bytes it takes, its bodies included.
type use struct{ at, size int64 } // at in milliseconds

func useOf(now time.Time, entries []*Entry, size int) use {
	u := use{now.UnixMilli(), int64(size)}
	for _, e := range entries {
		u.size += e.stored
	}
	return u
}

func (u use) append(b []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(u.at)), uint64(u.size))
}

func parseUse(value []byte) use {
	p := &parser{rest: string(value)}
	return use{p.size(), p.size()} // zeros, which go first, if it is damaged
}

// mostUsed is how many keys are used before that is written: hits write nothing.
const mostUsed = 4096

// used are the keys that were used since that was written.
type used struct {
	mu   sync.Mutex // guards the field below
	keys map[string]use
}

// use notes that a key was used.
func (s *Store) use(row []byte, entries []*Entry, size int) {
	u := useOf(s.now(), entries, size)
	s.used.mu.Lock()
	if s.used.keys == nil {
		s.used.keys = make(map[string]use)
	}
	s.used.keys[string(row[1:])] = u
	full := len(s.used.keys) >= mostUsed
	s.used.mu.Unlock()
	if full {
		s.saveUsed()
	}
}

// saveUsed writes which keys were used.
func (s *Store) saveUsed() {
	s.used.mu.Lock()
	keys := s.used.keys
	s.used.keys = nil
	s.used.mu.Unlock()
	if len(keys) == 0 {
		return
	}
	_ = s.change(func(c *change) { // the order of what goes first is not worth an error
		for key, u := range keys {
			row := append([]byte{rowUsed}, key...)
			if c.get(row, func([]byte) {}) { // it may be gone
				c.set(row, u.append(nil))
			}
		}
	})
}

// evict removes the keys that were not used for the longest time until a tenth of the room is free.
func (s *Store) evict() {
	defer func() {
		s.changing.Lock()
		defer s.changing.Unlock()
		s.evicting = false
	}()
	s.saveUsed()
	for {
		over := s.over()
		if over <= 0 {
			return
		}
		freed, ok := s.evictOldest(over)
		s.mend()
		if !ok || freed == 0 {
			return
		}
	}
}

// over returns how much has to go.
func (s *Store) over() int64 {
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.closing {
		return 0
	}
	return s.totals.bytes - s.maxBytes/10*9
}

// evictOldest removes the oldest keys that take so many bytes, as far as no other keys have their bodies.
func (s *Store) evictOldest(bytesOver int64) (removed int, ok bool) {
	from, to := []byte{rowUsed}, []byte{rowUsed + 1}
	var uses []use
	s.scan(from, to, func(_, value []byte) bool {
		uses = append(uses, parseUse(value))
		return true
	})
	slices.SortFunc(uses, func(a, b use) int { return cmp.Compare(a.at, b.at) })
	var last use // the newest that has to go
	size := int64(0)
	atLast := 0 // how many of its time
	for _, u := range uses {
		if size >= bytesOver {
			break
		}
		if u.at != last.at {
			atLast = 0
		}
		last = u
		atLast++
		size += u.size
	}
	for from != nil && s.over() > 0 {
		var rows [][]byte
		more := false
		s.scan(from, to, func(row, value []byte) bool {
			if more = len(rows) >= 256; more {
				from = bytes.Clone(row)
				return false
			}
			u := parseUse(value)
			if u.at == last.at {
				atLast--
			}
			if u.at < last.at || u.at == last.at && atLast >= 0 {
				rows = append(rows, append([]byte{rowEntries}, row[1:]...))
			}
			return true
		})
		if !more {
			from = nil
		}
		var evicted int
		err := s.change(func(c *change) {
			evicted = 0
			for _, row := range rows {
				evicted += c.deleteKey(row)
			}
		})
		if err != nil {
			return removed, false
		}
		s.evicted.Add(int64(evicted))
		removed += len(rows)
	}
	return removed, true
}

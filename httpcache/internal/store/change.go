package store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// mostVariants is how many entries a key may have. More of them replace the oldest ones.
const mostVariants = 100

// refs says how many entries have a body, and how many bytes it takes.
type refs struct{ count, stored int64 }

func (r refs) append(b []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(r.count)), uint64(r.stored))
}

// change is a batch that is being made. Nobody sees it before it is whole.
type change struct {
	s      *Store
	batch  *pebble.Batch
	totals totals
	remove map[Digest]bool // files that nobody needs afterwards
}

// change makes a change. It is seen as a whole or not at all. The func may be called twice. The error is a [*WriteError], or errClosed.
func (s *Store) change(do func(*change)) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.closed {
		return errClosed
	}
	if failed := s.failed.Load(); failed != nil {
		return failed
	}
	c := s.try(do)
	if !s.hurt.empty() { // what it has read may be wrong, and healing would take from it what lies beside
		_ = c.batch.Close() // it is in memory
		s.heal()
		if failed := s.failed.Load(); failed != nil {
			return failed
		}
		c = s.try(do)
	}
	if err := s.commit(c); err != nil {
		return err
	}
	s.totals = c.totals
	for d := range c.remove {
		_ = s.folder.fs.Remove(s.fileOf(d)) // the next Open tries again
	}
	s.heal()
	if s.totals.bytes > s.maxBytes && !s.evicting && !s.closing {
		s.evicting = true
		s.background.Go(s.evict)
	}
	return nil
}

// try makes a batch.
func (s *Store) try(do func(*change)) *change {
	s.using.RLock()
	defer s.using.RUnlock()
	c := &change{s: s, batch: s.db.NewIndexedBatch(), totals: s.totals, remove: make(map[Digest]bool)}
	do(c)
	c.set(rowState, c.totals.append(nil))
	return c
}

// commit writes a batch. The error is a [*WriteError].
func (s *Store) commit(c *change) error {
	how := pebble.NoSync
	if len(c.remove) > 0 { // a file goes only when it is on the disk that nobody needs it
		how = pebble.Sync
	}
	s.using.RLock()
	if err := errors.Join(c.batch.Commit(how), c.batch.Close()); err != nil {
		s.disk.fail(err)
	}
	failed := s.disk.failed() != nil
	s.using.RUnlock()
	if failed {
		return s.checkDisk()
	}
	return nil
}

func (c *change) set(row, value []byte) { _ = c.batch.Set(row, value, nil) } // it is in memory until Commit

func (c *change) delete(row []byte) { _ = c.batch.Delete(row, nil) }

// get hands the value of a row to a func. What cannot be read is missing.
func (c *change) get(row []byte, read func(value []byte)) bool {
	value, closer, err := c.batch.Get(row)
	if err != nil {
		if !errors.Is(err, pebble.ErrNotFound) {
			c.s.damaged.Add(1)
		}
		return false
	}
	read(value)
	_ = closer.Close() // of a block in memory
	return true
}

// entries returns those of a key, and how many bytes their row takes.
func (c *change) entries(row []byte, key Key) (entries []*Entry, size int) {
	c.get(row, func(value []byte) {
		size = len(row) + len(value)
		var err error
		if entries, err = parseEntries(key, value); err != nil {
			c.s.damaged.Add(1)
		}
	})
	return entries, size
}

// setEntries replaces the entries of a key, which were as many and took as many bytes as is said.
func (c *change) setEntries(row []byte, entries []*Entry, count, size int) {
	c.totals.entries += int64(len(entries) - count)
	c.totals.bytes -= int64(size)
	used := append([]byte{rowUsed}, row[1:]...)
	if len(entries) == 0 {
		c.delete(row)
		c.delete(used)
		return
	}
	value := appendEntries(nil, entries)
	c.totals.bytes += int64(len(row) + len(value))
	c.set(row, value)
	c.set(used, useOf(c.s.now(), entries, len(row)+len(value)).append(nil))
}

func (c *change) refs(d Digest) (r refs) {
	c.get(digestRow(rowRefs, d), func(value []byte) {
		p := &parser{rest: string(value)}
		r = refs{p.size(), p.size()}
	})
	return r
}

// add stores a page, in place of the entry with the same Vary and of those that it drops.
func (c *change) add(p *Pending) {
	e := p.entry
	row := e.Key.appendRow(nil, rowEntries)
	entries, size := c.entries(row, e.Key)
	count := len(entries)
	c.acquire(p) // before the old ones are released: they may have the same body
	entries = slices.DeleteFunc(entries, func(old *Entry) bool {
		replaced := slices.Contains(p.drop, old.ID) || sameVary(old.Vary, e.Vary)
		if replaced {
			c.release(old)
		}
		return replaced
	})
	if len(entries) >= mostVariants {
		oldest := 0
		for i, old := range entries {
			if old.Received.Before(entries[oldest].Received) {
				oldest = i
			}
		}
		c.release(entries[oldest])
		entries = slices.Delete(entries, oldest, oldest+1)
	}
	c.totals.last++
	e.ID = c.totals.last
	c.setEntries(row, append(entries, e), count, size)
}

func sameVary(a, b http.Header) bool { return maps.EqualFunc(a, b, slices.Equal[[]string]) }

// acquire counts one more entry that has a body, and stores that if it is not there.
func (c *change) acquire(p *Pending) {
	d := p.entry.Digest
	r := c.refs(d)
	if r.count == 0 {
		r.stored = p.stored
		c.totals.bodies++
		c.totals.bytes += r.stored
		if p.entry.Length <= largeBody {
			c.set(digestRow(rowBody, d), p.body)
		} else if p.file == "" {
			// An earlier try has moved it.
		} else if err := c.s.folder.fs.Rename(p.file, c.s.fileOf(d)); err != nil {
			c.s.disk.fail(err)
		} else {
			p.file = ""
		}
	}
	delete(c.remove, d)
	p.entry.stored = r.stored
	r.count++
	c.set(digestRow(rowRefs, d), r.append(nil))
}

// release counts one entry less that has a body, which goes with its last entry.
func (c *change) release(e *Entry) {
	r := c.refs(e.Digest)
	if r.count > 1 {
		r.count--
		c.set(digestRow(rowRefs, e.Digest), r.append(nil))
		return
	}
	c.forget(e, r)
}

// forget removes a body, whoever has it.
func (c *change) forget(e *Entry, r refs) {
	if r.count > 0 {
		c.totals.bodies--
		c.totals.bytes -= r.stored
	}
	c.delete(digestRow(rowRefs, e.Digest))
	if e.Length > largeBody {
		c.remove[e.Digest] = true
	} else {
		c.delete(digestRow(rowBody, e.Digest))
	}
}

// deleteKey removes the entries of a key.
func (c *change) deleteKey(row []byte) (deleted int) {
	entries, size := c.entries(row, Key{})
	for _, e := range entries {
		c.release(e)
	}
	c.setEntries(row, nil, len(entries), size)
	return len(entries)
}

// Commit makes pages visible, all of them at once. The error is a [*WriteError]; then the entries that they were to replace are not
// handed out any more either.
func (s *Store) Commit(pages ...*Pending) error {
	err := s.change(func(c *change) {
		for _, p := range pages {
			c.add(p)
		}
	})
	for _, p := range pages {
		if err != nil {
			s.gone.add(p.entry.Key.appendRow(nil, rowEntries))
		}
		p.Discard()
	}
	return err
}

// Update replaces header, status, Vary, times and run of a stored entry by those of e, which Get has returned, changed. Its body
// stays. Nothing happens if it is not stored any more. The error is a [*WriteError].
func (s *Store) Update(e *Entry) error {
	return s.change(func(c *change) {
		row := e.Key.appendRow(nil, rowEntries)
		entries, size := c.entries(row, e.Key)
		i := slices.IndexFunc(entries, func(old *Entry) bool { return old.ID == e.ID })
		if i < 0 {
			return
		}
		updated := *entries[i]
		updated.Response, updated.Vary, updated.Run, updated.Confirmed = e.Response, e.Vary, e.Run, e.Confirmed
		entries[i] = &updated
		c.setEntries(row, entries, len(entries), size)
	})
}

// Delete removes the entries of a key, or those of them that have one of the numbers. After a [*WriteError] they are not handed out
// any more until the store is opened again.
func (s *Store) Delete(key Key, ids ...uint64) error {
	row := key.appendRow(nil, rowEntries)
	err := s.change(func(c *change) {
		if len(ids) == 0 {
			c.deleteKey(row)
			return
		}
		entries, size := c.entries(row, key)
		left := slices.DeleteFunc(slices.Clone(entries), func(e *Entry) bool {
			if !slices.Contains(ids, e.ID) {
				return false
			}
			c.release(e)
			return true
		})
		if len(left) < len(entries) {
			c.setEntries(row, left, len(entries), size)
		}
	})
	if err != nil {
		s.gone.add(row)
	}
	return err
}

// DeleteURL removes the entries of all keys of a URL, as Delete does.
func (s *Store) DeleteURL(url string) error {
	prefix := urlRows(rowEntries, url)
	var rows [][]byte
	s.scan(prefix, after(prefix), func(row, _ []byte) bool {
		rows = append(rows, bytes.Clone(row))
		return true
	})
	if len(rows) == 0 {
		return nil
	}
	err := s.change(func(c *change) {
		for _, row := range rows {
			c.deleteKey(row)
		}
	})
	if err != nil {
		for _, row := range rows {
			s.gone.add(row)
		}
	}
	return err
}

// gone are the keys that could not be removed from a store that is read-only.
type gone struct {
	mu   sync.Mutex // guards the field below
	rows map[string]bool
}

func (g *gone) add(row []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.rows == nil {
		g.rows = make(map[string]bool)
	}
	g.rows[string(row)] = true
}

func (g *gone) has(row []byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rows[string(row)]
}

// fileOf is the file of a large body.
func (s *Store) fileOf(d Digest) string { return s.folder.join(filesDir, hex.EncodeToString(d[:])) }

package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"path"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
)

// Sizes of the index.
const (
	indexCache    = 16 << 20 // of uncompressed blocks
	indexMemTable = 8 << 20  // two of them at most
	indexTable    = 8 << 20  // what a flipped bit costs at most, where nearly all is
)

// indexOptions are chosen for random keys that are read more often than written.
func (s *Store) indexOptions(disk *diskFS) *pebble.Options {
	o := &pebble.Options{
		FS:                          disk,
		FormatMajorVersion:          pebble.FormatValueSeparation, // pinned: a newer Pebble must not convert a store by itself
		CacheSize:                   indexCache,
		MemTableSize:                indexMemTable,
		MemTableStopWritesThreshold: 4,
		MaxOpenFiles:                500,
		Logger:                      diskLogger{disk},
		CompactionConcurrencyRange:  func() (lower, upper int) { return 1, 2 },
		EventListener: &pebble.EventListener{
			BackgroundError: func(error) {}, // of a damaged table, which DataCorruption is told, or of what was not written
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				s.hurt.add(span{bytes.Clone(info.Bounds.Start), append(bytes.Clone(info.Bounds.End.Key), 0)})
			},
		},
	}
	for i := range o.Levels {
		l := &o.Levels[i]
		l.BlockSize = 16 << 10
		l.IndexBlockSize = 64 << 10
		l.FilterPolicy = bloom.FilterPolicy(10)
		l.Compression = func() *sstable.CompressionProfile { return block.FastestCompression }
		o.TargetFileSizes[i] = indexTable
	}
	return o
}

// openIndex opens the index, or begins a new one. It is called with changing held.
func (s *Store) openIndex() {
	dir := s.folder.join(indexDir)
	s.using.Lock()
	defer s.using.Unlock()
	open := func() error {
		s.disk = &diskFS{FS: s.indexFS}
		var err error
		s.db, err = pebble.Open(dir, s.indexOptions(s.disk))
		s.writing = err == nil
		return err
	}
	err := open()
	if err != nil && s.disk.failed() == nil {
		// Without its logs it lacks the newest entries alone.
		s.damaged.Add(1)
		s.removeLogs()
		err = open()
	}
	if err != nil && s.disk.failed() == nil {
		s.beganAnew = err
		s.removeAll(indexDir, filesDir)
		err = open()
	}
	if err != nil {
		s.db = nil
		s.disk.fail(err)
	}
	if s.disk.failed() != nil {
		s.stopWriting()
	}
}

// removeLogs removes what Pebble can do without.
func (s *Store) removeLogs() {
	names, _ := s.indexFS.List(s.folder.join(indexDir)) // if there are none, the index is begun anew
	for _, name := range names {
		if path.Ext(name) == ".log" || strings.HasPrefix(name, "OPTIONS-") {
			_ = s.indexFS.Remove(s.folder.join(indexDir, name))
		}
	}
}

func (s *Store) removeAll(names ...string) {
	for _, name := range names {
		if err := s.folder.fs.RemoveAll(s.folder.join(name)); err != nil {
			s.disk.fail(err)
		}
	}
}

// stopWriting opens the index again, for reading alone, after a write has failed. It is called with using held alone.
func (s *Store) stopWriting() {
	s.failed.CompareAndSwap(nil, &WriteError{s.folder.path, s.disk.failed()})
	if s.db != nil {
		_ = s.db.Close() // nothing reaches the disk
	}
	disk := &diskFS{FS: s.indexFS} // which a read-only Pebble does not write to
	o := s.indexOptions(disk)
	o.ReadOnly = true
	db, err := pebble.Open(s.folder.join(indexDir), o)
	if err != nil {
		db = nil
	}
	s.db, s.disk, s.writing = db, disk, false
}

// checkDisk stops writing if that has failed, and returns why it has.
func (s *Store) checkDisk() error {
	s.using.Lock()
	defer s.using.Unlock()
	if s.writing && s.disk.failed() != nil {
		s.stopWriting()
	}
	if failed := s.failed.Load(); failed != nil {
		return failed
	}
	return nil
}

// lookup hands the value of a row to a func, and reports whether there is one. What cannot be read is missing.
func (s *Store) lookup(row []byte, read func(value []byte)) bool {
	found, err := s.lookupOnce(row, read)
	if err == nil {
		return found
	}
	if s.broken() {
		_ = s.checkDisk()
		if found, err = s.lookupOnce(row, read); err == nil {
			return found
		}
	}
	s.damaged.Add(1)
	return false
}

func (s *Store) lookupOnce(row []byte, read func(value []byte)) (found bool, err error) {
	s.using.RLock()
	defer s.using.RUnlock()
	if s.db == nil {
		return false, nil
	}
	value, closer, err := s.db.Get(row)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	read(value)
	return true, closer.Close()
}

// broken reports whether a write has failed that the store has not reacted to.
func (s *Store) broken() bool {
	s.using.RLock()
	defer s.using.RUnlock()
	return s.writing && s.disk.failed() != nil
}

// scan hands rows from one on and before another one to a func until that returns false. It returns false if it could not read all.
func (s *Store) scan(from, to []byte, read func(row, value []byte) bool) bool {
	s.using.RLock()
	defer s.using.RUnlock()
	if s.db == nil {
		return true
	}
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err == nil {
		for iter.First(); iter.Valid() && read(iter.Key(), iter.Value()); iter.Next() {
		}
		err = iter.Close()
	}
	if err != nil {
		s.damaged.Add(1)
	}
	return err == nil
}

// totals are the figures that are stored with each change.
type totals struct {
	entries, bodies, bytes int64
	last                   uint64 // number of the newest entry
}

func (t totals) append(b []byte) []byte {
	for _, v := range [...]uint64{uint64(t.entries), uint64(t.bodies), uint64(t.bytes), t.last} {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

func parseTotals(value []byte) (t totals, ok bool) {
	p := &parser{rest: string(value)}
	t = totals{p.size(), p.size(), p.size(), p.uvarint()}
	return t, !p.bad && p.rest == ""
}

// tidy reads the totals and removes files that no entry has: those of a process that was killed. It is called with changing held.
func (s *Store) tidy() {
	known := false
	found := s.lookup(rowState, func(value []byte) { s.totals, known = parseTotals(value) })
	if !s.canWrite() {
		return
	}
	s.removeAll(pendingDir)
	for _, name := range [...]string{pendingDir, filesDir} {
		if err := s.folder.fs.MkdirAll(s.folder.join(name), 0o700); err != nil {
			s.disk.fail(err)
		}
	}
	names, err := s.folder.fs.List(s.folder.join(filesDir))
	if err != nil {
		s.disk.fail(err)
	}
	for _, name := range names {
		var d Digest
		text, err := hex.DecodeString(name)
		if copy(d[:], text) != len(text) || err != nil || !s.lookup(digestRow(rowRefs, d), func([]byte) {}) {
			_ = s.folder.fs.Remove(s.folder.join(filesDir, name)) // the next Open tries again
		}
	}
	if !found || !known {
		s.recount()
	}
	_ = s.checkDisk()
}

func (s *Store) canWrite() bool {
	s.using.RLock()
	defer s.using.RUnlock()
	return s.writing && s.disk.failed() == nil
}

// span is a range of rows, without its end.
type span struct{ start, end []byte }

// spans are the ranges of rows that were found damaged.
type spans struct {
	mu   sync.Mutex // guards the field below
	list []span
}

func (s *spans) add(damaged span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, damaged)
}

func (s *spans) take() []span {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list = nil
	return list
}

func (s *spans) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list) == 0
}

// mend heals the index if something of it was found damaged.
func (s *Store) mend() {
	if s.hurt.empty() || !s.canWrite() {
		return
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	s.heal()
}

// heal cuts damaged tables out of the index: what they held is missing. It begins the index anew if that fails. It is called with
// changing held.
func (s *Store) heal() {
	for tries := 0; !s.closed && s.canWrite(); tries++ {
		damaged := s.hurt.take()
		if len(damaged) == 0 {
			return
		}
		s.damaged.Add(1)
		err := errors.New("it is damaged in too many places")
		if tries < 10 {
			err = s.excise(damaged)
		}
		if err != nil {
			s.beginAnew(err)
		}
		s.recount()
		_ = s.checkDisk()
	}
}

func (s *Store) excise(damaged []span) error {
	s.using.RLock()
	defer s.using.RUnlock()
	for _, d := range damaged {
		if err := s.db.Excise(context.Background(), pebble.KeyRange{Start: d.start, End: d.end}); err != nil {
			return err
		}
	}
	return nil
}

// beginAnew throws everything away.
func (s *Store) beginAnew(why error) {
	s.using.Lock()
	_ = s.db.Close() // nothing of it is needed
	s.db = nil
	s.removeAll(indexDir, filesDir)
	s.using.Unlock()
	s.hurt.take()
	s.openIndex()
	s.beganAnew = why
	if err := s.folder.fs.MkdirAll(s.folder.join(filesDir), 0o700); err != nil {
		s.disk.fail(err)
	}
}

// recount makes the totals, the counts of references and the times of use fit the entries that are there, after something was lost.
// It is called with changing held.
func (s *Store) recount() {
	if !s.canWrite() {
		return
	}
	type body struct{ refs, stored int64 }
	bodies := make(map[Digest]*body)
	last := s.totals.last
	t := totals{}
	s.using.RLock()
	batch := s.db.NewBatch()
	s.using.RUnlock()
	defer batch.Close()
	s.scan([]byte{rowEntries}, []byte{rowEntries + 1}, func(row, value []byte) bool {
		entries, err := parseEntries(Key{}, value)
		if err != nil {
			_ = batch.Delete(row, nil) // it is in memory until Commit
			return true
		}
		t.entries += int64(len(entries))
		t.bytes += int64(len(row) + len(value))
		for _, e := range entries {
			last = max(last, e.ID)
			b := bodies[e.Digest]
			if b == nil {
				b = &body{stored: e.stored}
				bodies[e.Digest] = b
			}
			b.refs++
		}
		used := append([]byte{rowUsed}, row[1:]...)
		if _, closer, err := s.db.Get(used); err == nil {
			_ = closer.Close()
		} else {
			_ = batch.Set(used, useOf(s.now(), entries, len(row)+len(value)).append(nil), nil)
		}
		return true
	})
	var unused [][]byte
	s.scan([]byte{rowRefs}, []byte{rowRefs + 1}, func(row, _ []byte) bool {
		if len(row) == 1+len(Digest{}) && bodies[Digest(row[1:])] == nil {
			unused = append(unused, bytes.Clone(row))
		}
		return true
	})
	for _, row := range unused {
		d := Digest(row[1:])
		_ = batch.Delete(row, nil)
		_ = batch.Delete(digestRow(rowBody, d), nil)
		_ = s.folder.fs.Remove(s.fileOf(d)) // if it is one; else the next Open tries again
	}
	for d, b := range bodies {
		_ = batch.Set(digestRow(rowRefs, d), refs{b.refs, b.stored}.append(nil), nil)
		t.bodies++
		t.bytes += b.stored
	}
	t.last = last
	_ = batch.Set(rowState, t.append(nil), nil)
	s.using.RLock()
	defer s.using.RUnlock()
	if err := batch.Commit(pebble.NoSync); err != nil {
		s.disk.fail(err)
	}
	s.totals = t
}

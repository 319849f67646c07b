package store

import (
	"context"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// MostVariants is how many entries a key may have.
const MostVariants = mostVariants

// WithFS keeps a store in another file system.
func (o Options) WithFS(fs vfs.FS) Options {
	o.fs = fs
	return o
}

// WaitEvicted waits until nothing is evicted.
func (s *Store) WaitEvicted() { s.background.Wait() }

// Recount counts the totals from the entries.
func (s *Store) Recount() Stats {
	s.changing.Lock()
	s.recount()
	s.changing.Unlock()
	return s.Stats()
}

// Compact writes all tables anew, and with them all that is in memory.
func (s *Store) Compact() error {
	if err := s.db.Flush(); err != nil {
		return err
	}
	return s.db.Compact(context.Background(), []byte{0}, []byte{0xff}, false)
}

// DiskBytes is how much the index takes.
func (s *Store) DiskBytes() uint64 { return s.db.Metrics().DiskSpaceUsage() }

// Encode makes a row of entries, and Decode reads one.
func Encode(entries []*Entry) []byte { return appendEntries(nil, entries) }

// Decode reads a row of entries.
func Decode(key Key, row []byte) ([]*Entry, error) { return parseEntries(key, row) }

// Row makes the row of a key, and ParseRow reads it.
func Row(key Key) []byte { return key.appendRow(nil, rowEntries) }

// ParseRow reads the row of a key.
func ParseRow(row []byte) (Key, bool) { return parseKey(row) }

// FormatText is what the file of a format holds.
func FormatText(number int) string { return formatText(number) }

// SyncLog writes what Pebble keeps of its log in memory.
func (s *Store) SyncLog() error { return s.db.LogData(nil, pebble.Sync) }

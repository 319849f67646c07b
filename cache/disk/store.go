package disk

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
)

// Sizes of the store.
const (
	storeCache    = 2 << 20 // of uncompressed blocks: as measured with ten million requests, see docs/performance.md
	storeMemTable = 4 << 20 // two of them at most
)

// storeOptions are chosen for a set of random keys, and queues that are written at one end and
// deleted at the other.
func (c *Cache) storeOptions(memTable uint64) *pebble.Options {
	o := &pebble.Options{
		FS:                          c.fs,
		FormatMajorVersion:          pebble.FormatValueSeparation,   // pinned: a newer Pebble must not convert a job by itself
		CacheSize:                   storeCache + 2*int64(memTable), // which it counts as blocks
		MemTableSize:                memTable,
		MemTableStopWritesThreshold: 2,
		L0CompactionThreshold:       32, // small tables of random keys: each compaction rewrites what lies below
		L0StopWritesThreshold:       40,
		LBaseMaxBytes:               128 << 20,
		MaxOpenFiles:                500,
		Logger:                      guardLogger{c.fs},
		CompactionConcurrencyRange:  func() (lower, upper int) { return 1, 2 },
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) { _ = c.failure(err) },
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				_ = c.failure(damage(c.dir, storeDir+"/"+c.fs.PathBase(info.Path), info.Details))
			},
		},
	}
	for i := range o.Levels {
		l := &o.Levels[i]
		l.BlockSize = 16 << 10
		l.IndexBlockSize = 64 << 10
		l.FilterPolicy = bloom.FilterPolicy(10)
		profile := block.FastestCompression
		if i >= len(o.Levels)-2 { // where nearly all lies, and is seldom written again
			profile = block.BalancedCompression
		}
		if i == len(o.Levels)-1 { // a key that is asked for is there if it is nowhere else
			l.FilterPolicy = pebble.NoFilterPolicy
			l.BlockSize = 32 << 10
		}
		l.Compression = func() *sstable.CompressionProfile { return profile }
	}
	return o
}

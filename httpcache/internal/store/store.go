package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria/internal/privatefs"
)

// Options are those of a store. The zero value has sane defaults.
type Options struct {
	// MaxBytes is how much may be stored (default 10 GiB). When there is more, the pages go that were not used for the longest time,
	// until a tenth is free. What the index needs beside its entries is not counted.
	MaxBytes int64
	// Now is the clock (default time.Now).
	Now func() time.Time

	fs     vfs.FS // default: the operating system's
	index  vfs.FS // what the index is kept in, default fs
	shared bool   // more than one Open may have the folder
}

const defaultMaxBytes = 10 << 30

// Store is a folder of stored pages. Its methods may be called concurrently. They read and write the disk.
type Store struct {
	folder   folder
	indexFS  vfs.FS
	maxBytes int64
	now      func() time.Time
	coders   *coders
	users    int // guarded by opened.mu

	using   sync.RWMutex // held while the index is used, and alone while it is replaced; guards the fields below
	db      *pebble.DB   // nil: there is none, and everything is missing
	disk    *diskFS      // of db
	writing bool         // db can be written

	changing   sync.Mutex // held during a change, and before using; guards the fields below
	totals     totals
	evicting   bool
	closing    bool
	closed     bool
	beganAnew  error
	background sync.WaitGroup // evicting

	hurt    spans
	used    used
	gone    gone
	pending atomic.Uint64 // number of the last file in pendingDir
	damaged atomic.Int64
	evicted atomic.Int64
	failed  atomic.Pointer[WriteError]
}

// opened are the stores that this process has open, by folder: several engines share one.
var opened = struct {
	mu     sync.Mutex
	stores map[string]*Store
}{stores: make(map[string]*Store)}

// Open opens the store in a folder, which is made if there is none. The error is an [*InUseError] if another process has it open, and
// a [*VersionError] if another version has made it. If this process has the folder open already, Open returns that store, with the
// options that it was opened with. Call Close once for each Open.
//
// The folder has the mode 0700 and its files 0600, whatever the umask.
func Open(path string, o Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("httpcache: %w", err)
	}
	if o.fs == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		o.fs, o.shared = privatefs.New(path), true
	}
	if !o.shared {
		return open(path, o)
	}
	opened.mu.Lock()
	defer opened.mu.Unlock()
	if s := opened.stores[path]; s != nil {
		s.users++
		return s, nil
	}
	s, err := open(path, o)
	if err == nil {
		s.users = 1
		opened.stores[path] = s
	}
	return s, err
}

func open(path string, o Options) (*Store, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.index == nil {
		o.index = o.fs
	}
	folder, err := lockFolder(o.fs, path)
	if err != nil {
		return nil, err
	}
	s := &Store{folder: folder, indexFS: o.index, maxBytes: o.MaxBytes, now: o.Now, coders: newCoders()}
	s.changing.Lock()
	defer s.changing.Unlock()
	s.openIndex()
	s.tidy()
	s.heal()
	return s, nil
}

// Close closes the store when it has been called as often as Open. What was not committed is discarded.
func (s *Store) Close() error {
	opened.mu.Lock() // held to the end: who opens the folder again waits
	defer opened.mu.Unlock()
	if s.users > 1 {
		s.users--
		return nil
	}
	if opened.stores[s.folder.path] == s {
		delete(opened.stores, s.folder.path)
	}
	s.changing.Lock()
	if s.closing {
		s.changing.Unlock()
		return nil
	}
	s.closing = true
	s.changing.Unlock()
	s.background.Wait()
	s.saveUsed()
	s.changing.Lock()
	defer s.changing.Unlock()
	s.closed = true
	s.using.Lock()
	defer s.using.Unlock()
	var err error
	if s.db != nil {
		err = s.db.Close()
		s.db = nil
	}
	return errors.Join(err, s.folder.lock.Close())
}

// Stats are the figures of a store.
type Stats struct {
	Entries int64 // variants that are stored
	Bodies  int64 // different ones
	Bytes   int64 // that the entries and bodies take
	// Damaged counts what was found damaged since the store was opened, and Evicted the entries that had to go.
	Damaged, Evicted int64
	BeganAnew        error       // why the index was thrown away and begun anew since the store was opened, nil if it was not
	Failed           *WriteError // why nothing is stored any more, nil if it is
}

// Stats returns the figures.
func (s *Store) Stats() Stats {
	s.changing.Lock()
	defer s.changing.Unlock()
	return Stats{
		Entries: s.totals.entries, Bodies: s.totals.bodies, Bytes: s.totals.bytes,
		Damaged: s.damaged.Load(), Evicted: s.evicted.Load(), BeganAnew: s.beganAnew, Failed: s.failed.Load(),
	}
}

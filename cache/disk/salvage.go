package disk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	walrecord "github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"

	"github.com/tegenaria/tegenaria/internal/wire"
)

// salvage reads what can be read of a store's files, whatever its manifest says, and keeps the newest version of each
// key in a store of its own.
type salvage struct {
	fs      vfs.FS
	dir     string // of the damaged store
	found   *pebble.DB
	damaged []*DamageError // one for each file, in the order of their names
}

// files reads all files that hold keys.
func (s *salvage) files(ctx context.Context) error {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		if filepath.Ext(name) != ".sst" {
			continue
		}
		if err := s.table(ctx, name); err != nil {
			return err
		}
	}
	logs, err := wal.Scan(wal.Dir{FS: s.fs, Dirname: s.dir})
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	for i, log := range logs {
		if err := s.log(ctx, log, i == len(logs)-1); err != nil {
			return err
		}
	}
	return nil
}

// damage notes what is wrong with a file.
func (s *salvage) damage(name string, err error) {
	s.damaged = append(s.damaged, &DamageError{Dir: s.fs.PathDir(s.dir), File: storeDir + "/" + name, Err: err})
}

// keepError is the failure to write what was found.
type keepError struct{ err error }

func (e *keepError) Error() string { return "disk: keeping what was found: " + e.err.Error() }

func (e *keepError) Unwrap() error { return e.err }

// keep keeps a version of a key, unless a newer one was found.
func (s *salvage) keep(key, value []byte, number uint64, set bool) error {
	old, closer, err := s.found.Get(key)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
	case err != nil:
		return &keepError{err}
	default:
		newest := binary.BigEndian.Uint64(old)
		if err := closer.Close(); err != nil {
			return &keepError{err}
		}
		if newest > number {
			return nil
		}
	}
	version := binary.BigEndian.AppendUint64(nil, number)
	if set {
		version = append(append(version, 1), value...)
	} else {
		version = append(version, 0)
	}
	if err := s.found.Set(key, version, pebble.NoSync); err != nil {
		return &keepError{err}
	}
	return nil
}

// keepKind keeps a version of a key as the store has written it. A row of the journal is kept as what it says.
func (s *salvage) keepKind(kind pebble.InternalKeyKind, key, value []byte, number uint64) error {
	switch kind {
	case pebble.InternalKeyKindSet, pebble.InternalKeyKindSetWithDelete:
		if len(key) > 0 && key[0] == rangeJournal {
			return s.keepJournal(value, number)
		}
		return s.keep(key, value, number, true)
	case pebble.InternalKeyKindDelete, pebble.InternalKeyKindSingleDelete:
		return s.keep(key, nil, number, false)
	}
	return nil // the store writes no others, but notes of its own
}

// keepJournal keeps what a row of the journal says of keys. Of a slot but the name is needed, which has a row.
func (s *salvage) keepJournal(row []byte, number uint64) error {
	r := reader{wire.Decoder{Rest: row}}
	for len(r.Rest) > 0 {
		in, key, value := r.journalEntry()
		if r.Err() != nil || in != rangeSeen {
			continue
		}
		if err := s.keep(append([]byte{in}, key...), value, number, true); err != nil {
			return err
		}
	}
	return r.Err()
}

// table reads a table from both ends, up to what is damaged.
func (s *salvage) table(ctx context.Context, name string) (err error) {
	defer func() {
		// A damaged file may be anything: what reads it was not made for that.
		if r := recover(); r != nil {
			s.damage(name, fmt.Errorf("%v", r))
			err = nil
		}
		var lost *keepError
		if err != nil && !errors.As(err, &lost) {
			s.damage(name, err)
			err = nil
		}
	}()
	table, err := openTable(ctx, s.fs, s.fs.PathJoin(s.dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, table.Close()) }()
	iter, err := table.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return err
	}
	defer iter.Close() // its error is the iterator's, which has been asked
	var last []byte
	kv := iter.First()
	for ; kv != nil; kv = iter.Next() {
		value, _, err := kv.Value(nil)
		if err == nil {
			last = append(last[:0], kv.K.UserKey...)
			err = s.keepKind(kv.Kind(), kv.K.UserKey, value, uint64(kv.SeqNum()))
		}
		if err != nil {
			return err
		}
	}
	broken := iter.Error()
	if broken == nil {
		return ctx.Err()
	}
	for kv = iter.Last(); kv != nil && (last == nil || bytes.Compare(kv.K.UserKey, last) > 0); kv = iter.Prev() {
		value, _, err := kv.Value(nil)
		if err == nil {
			err = s.keepKind(kv.Kind(), kv.K.UserKey, value, uint64(kv.SeqNum()))
		}
		if err != nil {
			return err
		}
	}
	return broken
}

// openTable opens a table, whatever the store says of it.
func openTable(ctx context.Context, fs vfs.FS, path string) (*sstable.Reader, error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	options := &pebble.Options{}
	options.EnsureDefaults()
	table, err := sstable.NewReader(ctx, readable, options.MakeReaderOptions())
	if err != nil {
		return nil, errors.Join(err, readable.Close())
	}
	return table, nil
}

// checkTable reads every block of a table.
func checkTable(ctx context.Context, fs vfs.FS, path string) (err error) {
	defer func() {
		if r := recover(); r != nil { // as above
			err = fmt.Errorf("%v", r)
		}
	}()
	table, err := openTable(ctx, fs, path)
	if err != nil {
		return err
	}
	return errors.Join(table.ValidateBlockChecksums(), table.Close(), ctx.Err())
}

// log reads a log up to what is damaged. The newest one may end anywhere.
func (s *salvage) log(ctx context.Context, log wal.LogicalLog, newest bool) (err error) {
	name := fmt.Sprintf("%s.log", log.Num)
	r := log.OpenForRead()
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		batch, _, err := r.NextRecord()
		if errors.Is(err, io.EOF) || newest && errors.Is(err, walrecord.ErrUnexpectedEOF) {
			return ctx.Err()
		}
		var repr []byte
		if err == nil {
			repr, err = io.ReadAll(batch)
		}
		if err != nil {
			s.damage(name, err)
			return nil
		}
		head, ok := batchrepr.ReadHeader(repr)
		if !ok {
			s.damage(name, errMalformed)
			return nil
		}
		number := uint64(head.SeqNum)
		for changes := batchrepr.Read(repr); ; number++ {
			kind, key, value, ok, err := changes.Next()
			if err != nil {
				s.damage(name, err)
				return nil
			}
			if !ok {
				break
			}
			if err := s.keepKind(kind, key, value, number); errors.Is(err, errMalformed) {
				s.damage(name, err)
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}

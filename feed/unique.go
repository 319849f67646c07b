package feed

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tegenaria/tegenaria/cache"
)

// keySize is the size of a stored key: the beginning of a SHA-256 sum.
const keySize = 16

// defaultMostKeys is how many keys a feed remembers by default: 1.1 to 1.7 GB of memory.
const defaultMostKeys = 50_000_000

// UniqueFullError ends a run whose feed has as many keys as it may remember, see [Unique] and [MostKeys].
type UniqueFullError struct {
	Path string
	Most int
}

// Error names the remedy.
func (e *UniqueFullError) Error() string {
	return fmt.Sprintf("feed: %s has %d different keys, and may remember no more: raise feed.MostKeys, or deliver to a "+
		"database with a key", e.Path, e.Most)
}

// unique knows the keys of all items that were written, in memory and in a file beside the feed's.
type unique struct {
	path   string // of the feed
	file   File
	seen   *cache.Seen
	stored int64  // keys in the file that count
	fresh  []byte // keys that are not in the file
	most   int
	lazy   bool
}

// keyOf returns the stored form of a key.
func keyOf(key string) (sum [keySize]byte) {
	whole := sha256.Sum256([]byte(key))
	return [keySize]byte(whole[:keySize])
}

// openUnique reads the keys of a job, and cuts off those that came after its checkpoint.
func openUnique(f *Feed, stored int64, lazy bool) (*unique, error) {
	u := &unique{path: f.path, seen: cache.NewSeen(), most: f.mostKeys, lazy: lazy}
	name := f.beside(".keys")
	var err error
	if u.file, err = f.fs.Open(name); err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	if err := u.read(name, stored); err != nil {
		return nil, errors.Join(err, u.file.Close())
	}
	return u, nil
}

func (u *unique) read(name string, stored int64) error {
	size, err := u.file.Size()
	if err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	if size < stored*keySize {
		return &CorruptError{name, fmt.Errorf("it has %d bytes, there were %d", size, stored*keySize)}
	}
	buf := make([]byte, 64<<10)
	for at := int64(0); at < stored*keySize; {
		part := buf[:min(int64(len(buf)), stored*keySize-at)]
		if n, err := u.file.ReadAt(part, at); n < len(part) {
			return fmt.Errorf("feed: reading %s: %w", name, err)
		}
		for i := 0; i < len(part); i += keySize {
			key := [keySize]byte(part[i:])
			*u.seen.At(&key) = cache.SeenDone
		}
		at += int64(len(part))
	}
	u.stored = stored
	if size == stored*keySize {
		return nil
	}
	if err := u.file.Truncate(stored * keySize); err != nil {
		return fmt.Errorf("feed: cutting %s: %w", name, err)
	}
	return nil
}

// take reports whether a key is new, and remembers it.
func (u *unique) take(key [keySize]byte) (isNew bool, err error) {
	if u.seen.Has(&key) {
		return false, nil
	}
	if u.stored+int64(len(u.fresh)/keySize) >= int64(u.most) {
		return false, &UniqueFullError{u.path, u.most}
	}
	*u.seen.At(&key) = cache.SeenDone
	u.fresh = append(u.fresh, key[:]...)
	return true, nil
}

// commit stores the keys that were taken.
func (u *unique) commit() error {
	if len(u.fresh) == 0 {
		return nil
	}
	_, err := u.file.WriteAt(u.fresh, u.stored*keySize)
	if err == nil && !u.lazy {
		err = u.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("feed: writing the keys of %s: %w", u.path, err)
	}
	u.stored += int64(len(u.fresh) / keySize)
	u.fresh = u.fresh[:0]
	return nil
}

// uniqueState is the checkpoint of a feed with Unique. It is stored: a field keeps its meaning.
type uniqueState struct {
	Keys   int64           `json:"keys"`
	Output json.RawMessage `json:"output"`
}

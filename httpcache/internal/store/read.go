package store

import (
	"bytes"
	"crypto/sha256"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/zstd"
)

// Get returns the entries of a key, one for each variant, in no order; none if nothing is stored. They belong to the caller.
func (s *Store) Get(key Key) []*Entry {
	var buffer [256]byte
	row := key.appendRow(buffer[:0], rowEntries)
	var entries []*Entry
	var size int
	var err error
	s.lookup(row, func(value []byte) {
		size = len(row) + len(value)
		entries, err = parseEntries(key, value)
	})
	s.mend()
	switch {
	case err != nil:
		s.damaged.Add(1)
		_ = s.change(func(c *change) { c.deleteKey(row) }) // if it cannot be written, it is missing all the same
		return nil
	case len(entries) == 0 || s.failed.Load() != nil && s.gone.has(row):
		return nil
	}
	s.use(row, entries, size)
	return entries
}

// Read returns the body of an entry, which is whole. It reports whether there is one: not if it is damaged, or was removed
// meanwhile; then the entry is removed.
func (s *Store) Read(e *Entry) ([]byte, bool) {
	if e.Length <= largeBody {
		body, ok := s.readRow(e)
		if !ok {
			s.drop(e)
		}
		return body, ok
	}
	r, ok := s.openFile(e)
	if !ok {
		return nil, false
	}
	defer r.Close()
	body := make([]byte, e.Length)
	if _, err := io.ReadFull(r, body); err != nil || sha256.Sum256(body) != e.Digest || !atEnd(r) {
		s.drop(e)
		return nil, false
	}
	return body, true
}

// Open is Read for bodies that are too large for memory. The file is read twice: all of it is checked before the first byte is
// handed out. Should it become unreadable between, the reader ends with an error that is not io.EOF.
func (s *Store) Open(e *Entry) (io.ReadCloser, bool) {
	if e.Length <= largeBody {
		body, ok := s.Read(e)
		return io.NopCloser(bytes.NewReader(body)), ok
	}
	r, ok := s.openFile(e)
	if !ok {
		return nil, false
	}
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(r, e.Length))
	whole := err == nil && n == e.Length && atEnd(r)
	_ = r.Close() // it was read alone
	if !whole || !bytes.Equal(hash.Sum(nil), e.Digest[:]) {
		s.drop(e)
		return nil, false
	}
	if r, ok = s.openFile(e); !ok {
		return nil, false
	}
	return r, true
}

func atEnd(r io.Reader) bool {
	_, err := io.ReadFull(r, make([]byte, 1))
	return err == io.EOF
}

func (s *Store) readRow(e *Entry) (body []byte, ok bool) {
	found := s.lookup(digestRow(rowBody, e.Digest), func(row []byte) { body, ok = unpackBody(row, e.Length) })
	s.mend()
	if !ok && found {
		s.damaged.Add(1)
	}
	return body, ok
}

// fileReader reads the body in a file.
type fileReader struct {
	coders  *coders
	decoder *zstd.Decoder // nil: closed
	file    vfs.File
}

func (r *fileReader) Read(p []byte) (int, error) {
	if r.decoder == nil {
		return 0, os.ErrClosed
	}
	return r.decoder.Read(p)
}

func (r *fileReader) Close() error {
	if r.decoder == nil {
		return nil
	}
	_ = r.decoder.Reset(nil) // it gives up the file
	r.coders.decoders.Put(r.decoder)
	r.decoder = nil
	return r.file.Close()
}

// openFile opens the file of an entry, which is not checked. An entry without one is removed.
func (s *Store) openFile(e *Entry) (r io.ReadCloser, ok bool) {
	file, err := s.folder.fs.Open(s.fileOf(e.Digest))
	if err != nil {
		s.drop(e)
		return nil, false
	}
	reader := &fileReader{s.coders, s.coders.decoders.Get().(*zstd.Decoder), file}
	if err := reader.decoder.Reset(file); err != nil { // it reads the first block
		_ = reader.Close() // it was read alone
		s.drop(e)
		return nil, false
	}
	return reader, true
}

// drop removes an entry whose body is not there or damaged, with that body, if the entry is still stored.
func (s *Store) drop(e *Entry) {
	row := e.Key.appendRow(nil, rowEntries)
	err := s.change(func(c *change) {
		entries, size := c.entries(row, e.Key)
		i := slices.IndexFunc(entries, func(old *Entry) bool { return old.ID == e.ID })
		if i < 0 || entries[i].Digest != e.Digest {
			return
		}
		s.damaged.Add(1)
		c.forget(e, c.refs(e.Digest))
		c.setEntries(row, slices.Delete(slices.Clone(entries), i, i+1), len(entries), size)
	})
	if err != nil {
		s.gone.add(row)
	}
}

// List returns all entries whose URL begins with a prefix, in the order of their URLs. What changes meanwhile may be there or not. The
// caller may change the store between two entries.
func (s *Store) List(prefix string) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		from := appendText([]byte{rowEntries}, prefix)
		to := after(from)
		const most = 256 // entries that are read at once
		for damages := 0; damages < 10; {
			var entries []*Entry
			more := false
			whole := s.scan(from, to, func(row, value []byte) bool {
				if more = len(entries) >= most; more {
					from = bytes.Clone(row)
					return false
				}
				key, ok := parseKey(row)
				list, err := parseEntries(key, value)
				if ok && err == nil && !(s.failed.Load() != nil && s.gone.has(row)) {
					entries = append(entries, list...)
				}
				from = append(bytes.Clone(row), 0)
				return true
			})
			for _, e := range entries {
				if !yield(e) {
					return
				}
			}
			if !whole {
				damages++
				s.mend()
			} else if !more {
				return
			}
		}
	}
}

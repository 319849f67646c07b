package store

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"slices"
	"strconv"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/zstd"
)

// largeBody is how many bytes a body has at most that is kept in the index. A larger one is a file.
const largeBody = 1 << 20

// The first byte of a body in the index says how the rest is packed.
const (
	packedRaw  = 0
	packedZstd = 1

	bodyHead = 1 + 8 // with the checksum of the body as it was written
)

// zstdDecoder decodes the bodies in the index. Its channel is made with the package, which any bubble of testing/synctest may use.
var zstdDecoder, _ = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(largeBody), zstd.WithDecoderConcurrency(0))

// fileWindow is how far back the coding of a file refers.
const fileWindow = 1 << 20

// coders code bodies. They are a store's own: a coder that was made, or first used, in one bubble of testing/synctest cannot be used in
// another one.
type coders struct {
	small              *zstd.Encoder // of the bodies in the index
	encoders, decoders sync.Pool     // of the files of large bodies
}

func newCoders() *coders {
	c := &coders{}
	c.small, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	c.encoders.New = func() any {
		e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(fileWindow))
		return e
	}
	c.decoders.New = func() any {
		d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(fileWindow), zstd.WithDecoderLowmem(true))
		return d
	}
	return c
}

// Writer takes a body as it arrives. Nobody sees it before [Store.Commit]. Up to 1 MiB is kept in memory, more in a file. Its
// methods must not be called concurrently. Call Finish or Discard.
type Writer struct {
	s      *Store
	hash   hash.Hash
	buffer []byte
	length int64
	err    error

	name string // of the file, "" while there is none
	file vfs.File
	zstd *zstd.Encoder
}

// Create begins a body.
func (s *Store) Create() *Writer { return &Writer{s: s, hash: sha256.New()} }

// Write takes a part of the body. The error is [ErrTooLarge] or a [*WriteError].
func (w *Writer) Write(p []byte) (int, error) {
	if w.err == nil {
		w.err = w.write(p)
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

func (w *Writer) write(p []byte) error {
	w.hash.Write(p)
	w.length += int64(len(p))
	if w.length > w.s.maxBytes/4 {
		return ErrTooLarge
	}
	if w.length <= largeBody {
		w.buffer = append(w.buffer, p...)
		return nil
	}
	if w.file == nil {
		if err := w.begin(); err != nil {
			return w.s.fail(err)
		}
	}
	if _, err := w.zstd.Write(p); err != nil {
		return w.s.fail(err)
	}
	return nil
}

// begin makes the file of a large body.
func (w *Writer) begin() (err error) {
	if failed := w.s.failed.Load(); failed != nil {
		return failed
	}
	w.name = w.s.folder.join(pendingDir, strconv.FormatUint(w.s.pending.Add(1), 10))
	if w.file, err = w.s.folder.fs.Create(w.name, vfs.WriteCategoryUnspecified); err != nil {
		return err
	}
	w.zstd = w.s.coders.encoders.Get().(*zstd.Encoder)
	w.zstd.Reset(w.file)
	_, err = w.zstd.Write(w.buffer)
	w.buffer = nil
	return err
}

// fail stops writing, and returns the error of the store.
func (s *Store) fail(err error) error {
	if failed := (*WriteError)(nil); errors.As(err, &failed) {
		return failed
	}
	s.using.RLock()
	s.disk.fail(err)
	s.using.RUnlock()
	return s.checkDisk()
}

// Pending is a page that is written and not visible yet.
type Pending struct {
	s      *Store
	entry  *Entry
	drop   []uint64
	stored int64
	body   []byte // as a row of the index
	file   string // "": body is all, or the file has got its name
}

// Finish ends the body. The page will be stored as e, whose Digest, Length and ID are set; the numbers are those of entries of its
// key that it makes useless, beside the one with the same Vary. If Write has failed, so does Finish. Commit the page or discard it.
func (w *Writer) Finish(e *Entry, drop ...uint64) (*Pending, error) {
	if w.err != nil {
		w.Discard()
		return nil, w.err
	}
	e.Length = w.length
	w.hash.Sum(e.Digest[:0])
	p := &Pending{s: w.s, entry: e, drop: drop}
	if w.file == nil {
		p.body = w.s.coders.packBody(w.buffer)
		p.stored = int64(len(p.body))
		w.buffer = nil
		return p, nil
	}
	err := w.zstd.Close()
	if err == nil {
		var info vfs.FileInfo
		if info, err = w.file.Stat(); err == nil {
			p.stored = info.Size()
		}
	}
	err = errors.Join(err, w.file.Close())
	w.file = nil
	if err != nil {
		w.Discard()
		return nil, w.s.fail(err)
	}
	w.release()
	p.file = w.name
	return p, nil
}

// release gives the encoder back.
func (w *Writer) release() {
	if w.zstd != nil {
		w.zstd.Reset(nil)
		w.s.coders.encoders.Put(w.zstd)
		w.zstd = nil
	}
}

// Discard throws the body away.
func (w *Writer) Discard() {
	w.buffer = nil
	w.release()
	if w.file != nil {
		_ = w.file.Close() // it is removed
		w.file = nil
	}
	if w.name != "" {
		_ = w.s.folder.fs.Remove(w.name) // the next Open tries again
	}
}

// Discard throws the page away, unless it is committed.
func (p *Pending) Discard() {
	p.body = nil
	if p.file != "" {
		_ = p.s.folder.fs.Remove(p.file) // the next Open tries again
		p.file = ""
	}
}

// packBody makes the row of a body.
func (c *coders) packBody(body []byte) []byte {
	row := make([]byte, bodyHead, bodyHead+len(body)/3+64)
	binary.LittleEndian.PutUint64(row[1:], xxhash.Sum64(body))
	row[0] = packedZstd
	row = c.small.EncodeAll(body, row)
	if len(row) >= bodyHead+len(body) {
		row[0] = packedRaw
		row = append(row[:bodyHead], body...)
	}
	return slices.Clip(row)
}

// unpackBody reads the row of a body with a length. It reports whether it is whole.
func unpackBody(row []byte, length int64) ([]byte, bool) {
	if len(row) < bodyHead || length < 0 || length > largeBody {
		return nil, false
	}
	body := make([]byte, 0, length)
	switch row[0] {
	case packedRaw:
		body = append(body, row[bodyHead:]...)
	case packedZstd:
		var err error
		if body, err = zstdDecoder.DecodeAll(row[bodyHead:], body); err != nil {
			return nil, false
		}
	default:
		return nil, false
	}
	return body, int64(len(body)) == length && xxhash.Sum64(body) == binary.LittleEndian.Uint64(row[1:])
}

var _ io.Writer = (*Writer)(nil)

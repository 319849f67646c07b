package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/tegenaria/tegenaria/feed"
)

// spool is a file with the rows of one part. It begins with the job and the number of the part; then come the rows, each with its length
// before it and a checksum behind it.
type spool struct {
	path string
	file feed.File // nil: it is removed
	head int64
	end  int64 // of the rows, those in buf among them
	buf  []byte
}

// spoolBuffer is how much is written at once.
const spoolBuffer = 256 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func spoolHead(job string, number int) []byte {
	return fmt.Appendf(nil, "tegenaria parquet spool %s %d\n", job, number)
}

// openClaimed opens a file and claims it for this process, if its file system can.
func openClaimed(fs feed.FS, path string) (feed.File, error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, failed("opening", path, err)
	}
	if l, ok := file.(interface{ Lock() error }); ok {
		if err := l.Lock(); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	return file, nil
}

// newSpool makes an empty spool in the place of one that is there.
func newSpool(fs feed.FS, path, job string, number int) (*spool, error) {
	file, err := openClaimed(fs, path)
	if err != nil {
		return nil, err
	}
	head := spoolHead(job, number)
	if err = file.Truncate(0); err == nil {
		_, err = file.WriteAt(head, 0)
	}
	if err != nil {
		return nil, errors.Join(failed("writing", path, err), file.Close())
	}
	return &spool{path: path, file: file, head: int64(len(head)), end: int64(len(head))}, nil
}

// openSpool opens a spool, and cuts it to where a checkpoint says that it ends.
func openSpool(fs feed.FS, path, job string, number int, end int64) (*spool, error) {
	file, err := openClaimed(fs, path)
	if err != nil {
		return nil, err
	}
	head := spoolHead(job, number)
	there := make([]byte, len(head))
	size, err := file.Size()
	if err == nil && size >= int64(len(head)) {
		_, err = file.ReadAt(there, 0)
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	switch {
	case err != nil:
		err = failed("reading", path, err)
	case string(there) != string(head):
		err = &feed.CorruptError{Path: path, Err: errors.New("it is no spool of this part of this job")}
	case size < end || end < int64(len(head)):
		err = &feed.CorruptError{Path: path, Err: fmt.Errorf("it has %d bytes, and the job has written %d", size, end)}
	case size > end:
		err = failed("cutting", path, file.Truncate(end))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &spool{path: path, file: file, head: int64(len(head)), end: end}, nil
}

// add appends a row.
func (s *spool) add(row []byte) error {
	before := len(s.buf)
	s.buf = binary.AppendUvarint(s.buf, uint64(len(row)))
	s.buf = append(s.buf, row...)
	s.buf = binary.LittleEndian.AppendUint32(s.buf, crc32.Checksum(row, castagnoli))
	s.end += int64(len(s.buf) - before)
	if len(s.buf) < spoolBuffer {
		return nil
	}
	return s.flush()
}

// flush writes what add has kept.
func (s *spool) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	_, err := s.file.WriteAt(s.buf, s.end-int64(len(s.buf)))
	if s.buf = s.buf[:0]; cap(s.buf) > 2*spoolBuffer {
		s.buf = nil
	}
	return failed("writing", s.path, err)
}

// sync makes all rows durable.
func (s *spool) sync() error {
	if err := s.flush(); err != nil {
		return err
	}
	return failed("writing", s.path, s.file.Sync())
}

// remove removes the spool. It is empty before, so that a power cut that brings its name back does not bring its rows back.
func (s *spool) remove(fs feed.FS) error {
	err := s.file.Truncate(0)
	if err == nil {
		err = s.file.Sync()
	}
	err = errors.Join(err, s.file.Close())
	s.file = nil
	if err == nil {
		err = fs.Remove(s.path)
	}
	return failed("removing", s.path, err)
}

// chunkBytes is how much of a spool is read at once, unless a row is longer.
const chunkBytes = 1 << 20

// chunks reads the rows of a spool.
type chunks struct {
	spool *spool
	at    int64
	buf   []byte
	have  []byte // of buf, not given out
	rows  [][]byte
}

func (s *spool) chunks() *chunks { return &chunks{spool: s, at: s.head} }

// next returns some rows, which are valid until the next call. At the end it returns io.EOF.
func (c *chunks) next(ctx context.Context) ([][]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	size := chunkBytes
	for {
		if err := c.fill(size); err != nil {
			return nil, err
		}
		c.rows = c.rows[:0]
		for {
			length, n := binary.Uvarint(c.have)
			if n < 0 || length > 1<<40 {
				return nil, c.damaged()
			}
			whole := n + int(length) + crc32.Size
			if n == 0 || len(c.have) < whole {
				size = max(2*size, whole)
				break
			}
			row := c.have[n : n+int(length) : n+int(length)]
			if crc32.Checksum(row, castagnoli) != binary.LittleEndian.Uint32(c.have[n+int(length):]) {
				return nil, c.damaged()
			}
			c.rows, c.have = append(c.rows, row), c.have[whole:]
		}
		switch {
		case len(c.rows) > 0:
			return c.rows, nil
		case c.at < c.spool.end:
		case len(c.have) > 0:
			return nil, c.damaged()
		default:
			return nil, io.EOF
		}
	}
}

func (c *chunks) damaged() error {
	return &feed.CorruptError{Path: c.spool.path, Err: errRow}
}

// fill reads on until size bytes are there, or all.
func (c *chunks) fill(size int) error {
	buf := c.buf
	if cap(buf) < size {
		buf = make([]byte, 0, size)
	}
	n := copy(buf[:cap(buf)], c.have)
	want := int(min(int64(size-min(n, size)), c.spool.end-c.at))
	buf = slices.Grow(buf[:n], want)[:n+want]
	got, err := c.spool.file.ReadAt(buf[n:], c.at)
	if got < want {
		return failed("reading", c.spool.path, err)
	}
	c.at += int64(want)
	c.buf, c.have = buf, buf
	return nil
}

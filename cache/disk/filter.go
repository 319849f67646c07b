package disk

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria"
)

// The Bloom filter is stored when a job is closed, under a number that the last commit names. The first commit
// after that names none. So a filter that lacks a key is never taken for whole: after a crash it is filled from the
// store, in the background, and until then every look-up is exact.

const filterMagic = "tegenaria bloom 1"

// loadFilter reads the filter or begins to fill one.
func (c *Cache) loadFilter(job tegenaria.Job) error {
	if c.filter != nil {
		return nil // of an earlier run of this process
	}
	number := c.state.filter
	c.state.filter = 0
	if number != 0 {
		if filter, err := readFilter(c.fs, c.fs.PathJoin(c.dir, filterFile), number); err == nil {
			c.filter, c.filterWhole = filter, true
			return nil
		} // it can be made again, so it does not matter what was wrong
	}
	c.filter = newBloomFilter(job.BloomBits, job.BloomHashes)
	for at := range c.journal.seen.all() {
		c.filter.add(keyAt(c.journal.data, at))
	}
	iter, err := c.db.NewIter(&pebble.IterOptions{LowerBound: []byte{rangeSeen}, UpperBound: []byte{rangeSeen + 1}})
	if err != nil {
		return c.failure(err)
	}
	c.loading.Go(func() { c.fillFilter(iter) })
	return nil
}

// fillFilter adds all keys of the store. Those that come meanwhile are added as they are accepted.
func (c *Cache) fillFilter(iter *pebble.Iterator) {
	var keys []tegenaria.Key
	add := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i := range keys {
			c.filter.add(&keys[i])
		}
		keys = keys[:0]
	}
	for more := iter.First(); more; more = iter.Next() {
		keys = append(keys, tegenaria.Key(iter.Key()[1:]))
		if len(keys) < 1000 {
			continue
		}
		add()
		select {
		case <-c.closing:
			_ = iter.Close() // the filter is not used
			return
		default:
		}
	}
	add()
	err := errors.Join(iter.Error(), iter.Close())
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure(err) == nil {
		c.filterWhole = true
	}
}

// saveFilter writes the filter, for the next commit to name it.
func (c *Cache) saveFilter() error {
	if !c.filterWhole {
		return nil
	}
	number := c.state.commits + 1
	err := writeFile(c.fs, c.dir, filterFile, func(w io.Writer) error { return c.filter.write(w, number) })
	if err == nil {
		c.state.filter = number
	}
	return err
}

func (b *bloomFilter) write(w io.Writer, number uint64) error {
	sum := crc32.New(castagnoli)
	buf := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<16)
	head := binary.BigEndian.AppendUint64([]byte(filterMagic), number)
	for _, n := range []uint64{uint64(b.bits), uint64(b.hashes), uint64(len(b.layers))} {
		head = binary.BigEndian.AppendUint64(head, n)
	}
	if _, err := buf.Write(head); err != nil {
		return err
	}
	for _, l := range b.layers {
		if _, err := buf.Write(binary.BigEndian.AppendUint64(nil, l.keys)); err != nil {
			return err
		}
		if _, err := l.filter.WriteTo(buf); err != nil {
			return err
		}
	}
	if err := buf.Flush(); err != nil {
		return err
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}

// readFilter reads a filter of this number. The checksum is checked before the content is used.
func readFilter(fs vfs.FS, name string, number uint64) (*bloomFilter, error) {
	file, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sum := crc32.New(castagnoli)
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	const headLen = len(filterMagic) + 4*8
	if info.Size() < int64(headLen+crc32.Size) {
		return nil, errMalformed
	}
	content := info.Size() - crc32.Size
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, content)); err != nil {
		return nil, err
	}
	var stored [crc32.Size]byte
	if _, err := file.ReadAt(stored[:], content); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !slices.Equal(sum.Sum(nil), stored[:]) {
		return nil, errMalformed
	}
	r := bufio.NewReaderSize(io.NewSectionReader(file, 0, content), 1<<16)
	head := make([]byte, headLen)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	field := func(i int) uint64 { return binary.BigEndian.Uint64(head[len(filterMagic)+8*i:]) }
	if string(head[:len(filterMagic)]) != filterMagic || field(0) != number {
		return nil, errMalformed
	}
	b := newBloomFilter(uint(field(1)), uint(field(2)))
	for range field(3) {
		var keys [8]byte
		if _, err := io.ReadFull(r, keys[:]); err != nil {
			return nil, err
		}
		filter := new(bloom.BloomFilter)
		if _, err := filter.ReadFrom(r); err != nil {
			return nil, err
		}
		b.addLayer(filter, binary.BigEndian.Uint64(keys[:]))
	}
	return b, nil
}

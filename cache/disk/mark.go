package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// mark is a small file beside the store that tells the number of its newest commit. The store takes a log
// that ends too early for one that was cut off by a crash, and goes on without what was there: with the mark, that is
// noticed.
//
// The number is written after the commit is durable and is not synced: so it may lag behind, and never runs ahead. There
// are two places for it, so that one is whole whatever happens while the other is written.
type mark struct {
	file vfs.File
	id   [16]byte
	odd  bool
}

const (
	markMagic = "tegenaria mark 1"
	markLen   = len(markMagic) + 16 + 8 + 4
	markStep  = 512 // the second place; sectors are written whole
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendMark(dst []byte, id [16]byte, number uint64) []byte {
	start := len(dst)
	dst = append(append(dst, markMagic...), id[:]...)
	dst = binary.BigEndian.AppendUint64(dst, number)
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// parseMark returns what one place holds; ok reports whether it is whole.
func parseMark(p []byte) (id [16]byte, number uint64, ok bool) {
	if len(p) < markLen {
		return id, 0, false
	}
	copy(id[:], p[len(markMagic):])
	number = binary.BigEndian.Uint64(p[len(markMagic)+16:])
	return id, number, bytes.Equal(p[:markLen], appendMark(nil, id, number))
}

// createMark makes the file, with both places filled.
func createMark(fs vfs.FS, dir string, id [16]byte, number uint64) (*mark, error) {
	var both [markStep + markLen]byte
	copy(both[:], appendMark(nil, id, number))
	copy(both[markStep:], appendMark(nil, id, number))
	if err := writeFile(fs, dir, markFile, func(w io.Writer) error { _, err := w.Write(both[:]); return err }); err != nil {
		return nil, err
	}
	return openMark(fs, dir, id, number)
}

// openMark opens the file and compares it with what the store says.
func openMark(fs vfs.FS, dir string, id [16]byte, number uint64) (*mark, error) {
	name := fs.PathJoin(dir, markFile)
	_, err := fs.Stat(name) // or it would be made
	if err != nil {
		return nil, damage(dir, markFile, err)
	}
	file, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, damage(dir, markFile, err)
	}
	content := make([]byte, markStep+markLen)
	n, err := file.ReadAt(content, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(damage(dir, markFile, err), file.Close())
	}
	content = content[:n]
	m := &mark{file: file, id: id}
	whole, newest := 0, uint64(0)
	for i := 0; i < 2 && i*markStep <= n; i++ {
		other, at, ok := parseMark(content[i*markStep:])
		if !ok {
			continue
		}
		if whole++; other != id {
			return nil, errors.Join(damage(dir, markFile, errors.New("it belongs to another job")), file.Close())
		}
		if at >= newest {
			newest, m.odd = at, i == 1
		}
	}
	switch {
	case whole == 0:
		err = damage(dir, markFile, errors.New("its checksum is wrong"))
	case newest > number:
		err = damage(dir, storeDir, fmt.Errorf("commits %d to %d are lost", number+1, newest))
	default:
		return m, nil
	}
	return nil, errors.Join(err, file.Close())
}

// note writes the number of a commit that is durable, over the older of the two.
func (m *mark) note(number uint64) error {
	m.odd = !m.odd
	offset := int64(0)
	if m.odd {
		offset = markStep
	}
	_, err := m.file.WriteAt(appendMark(nil, m.id, number), offset)
	return err
}

func (m *mark) close() error { return m.file.Close() }

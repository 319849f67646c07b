package outfile

import (
	"fmt"
	"hash/crc32"
	"io"
)

// TailBytes is how many bytes a [Tail] has at most. Checkpoints depend on it.
const TailBytes = 4096

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Tail is the last bytes of those of a file that count. A checkpoint has their checksum, by which the file is known again after a crash.
type Tail struct{ last []byte }

// ReadTail reads the tail of a file whose first end bytes count.
func ReadTail(file io.ReaderAt, end int64) (Tail, error) {
	t := Tail{make([]byte, min(end, TailBytes))}
	if n, err := file.ReadAt(t.last, end-int64(len(t.last))); n < len(t.last) {
		return Tail{}, err
	}
	return t, nil
}

// Append notes bytes that were added to the file.
func (t *Tail) Append(b []byte) {
	t.last = append(t.last, b[max(0, len(b)-TailBytes):]...)
	t.last = append(t.last[:0], t.last[max(0, len(t.last)-TailBytes):]...)
}

// Sum returns the checksum, a CRC-32C.
func (t *Tail) Sum() uint32 { return crc32.Checksum(t.last, castagnoli) }

// Check returns an error if a tail, which ends at byte end, is not the one that had this checksum.
func (t *Tail) Check(end int64, sum uint32) error {
	if t.Sum() == sum {
		return nil
	}
	return fmt.Errorf("the %d bytes before byte %d have changed", len(t.last), end)
}

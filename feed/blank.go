package feed

import (
	"errors"
	"io"

	"github.com/tegenaria/tegenaria/internal/outfile"
)

// clearBlank empties a file that holds no item, only what stands around them, or the beginning of that. A crash leaves such a file if it
// comes when the file has begun and its first checkpoint is not stored: the job then does not know the file, and may begin it again.
func (o *fileOutput) clearBlank() error {
	size, err := o.file.Size()
	if err != nil || size == 0 || size > outfile.TailBytes {
		return err
	}
	doc, err := o.feed.format.open(nil)
	if err != nil {
		return err
	}
	var blank scratch
	as := part{file: &blank, doc: doc, stream: newStream(o.feed.packing)}
	as.write(doc.begin(nil))
	if err := as.pack(); err != nil {
		return err
	}
	if _, err := as.commit(mostRest); err != nil {
		return err
	}
	found := make([]byte, size)
	if n, err := o.file.ReadAt(found, 0); n < len(found) {
		return err
	}
	if len(found) > len(blank) {
		return nil
	}
	for i, c := range found {
		if c != blank[i] && c != 0 { // 0 is what a machine that has stopped did not write
			return nil
		}
	}
	return errors.Join(o.file.Truncate(0), o.file.Sync())
}

// scratch is a small file in memory.
type scratch []byte

func (s *scratch) WriteAt(b []byte, at int64) (int, error) {
	if end := int(at) + len(b); end > len(*s) {
		*s = append(*s, make([]byte, end-len(*s))...)
	}
	return copy((*s)[at:], b), nil
}

func (s *scratch) ReadAt(b []byte, at int64) (int, error) {
	if n := copy(b, (*s)[min(int(at), len(*s)):]); n < len(b) {
		return n, io.EOF
	}
	return len(b), nil
}

func (s *scratch) Size() (int64, error) { return int64(len(*s)), nil }

func (s *scratch) Truncate(size int64) error {
	*s = (*s)[:size]
	return nil
}

func (s *scratch) Sync() error { return nil }

func (s *scratch) Close() error { return nil }

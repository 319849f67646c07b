package xmlstream

import (
	"bufio"
	"bytes"
)

// Tape is a reader of a document that knows where it is in it, and can keep what it reads.
type Tape struct {
	in     *bufio.Reader
	offset int64
	lines  int64 // that have ended
	counts bool  // lines
	keeps  bool
	kept   []byte
	most   int // bytes to keep
}

// NewTape makes a Tape of what [Open] returns.
func NewTape(in *bufio.Reader) *Tape { return &Tape{in: in} }

// CountLines has the lines counted from here on.
func (t *Tape) CountLines() { t.counts = true }

// Offset returns how many bytes were read: of the text as UTF-8, without compression and byte order mark.
func (t *Tape) Offset() int64 { return t.offset }

// Line returns the number of the line that is being read, from 1; 0 if lines are not counted.
func (t *Tape) Line() int64 {
	if !t.counts {
		return 0
	}
	return t.lines + 1
}

// Keep begins to keep what is read, most bytes of it.
func (t *Tape) Keep(most int) { t.keeps, t.kept, t.most = true, t.kept[:0], most }

// Kept returns what was kept since Keep, valid until the next Keep, and whether there was more than should be kept.
func (t *Tape) Kept() (text []byte, more bool) {
	return t.kept[:min(len(t.kept), t.most)], len(t.kept) > t.most
}

// Stop ends the keeping.
func (t *Tape) Stop() { t.keeps = false }

// Drop takes the last n bytes off what was kept.
func (t *Tape) Drop(n int) { t.kept = t.kept[:max(len(t.kept)-n, 0)] }

// took notes that part was read.
func (t *Tape) took(part []byte) {
	t.offset += int64(len(part))
	if t.counts {
		t.lines += int64(bytes.Count(part, []byte{'\n'}))
	}
	if t.keeps && len(t.kept) <= t.most {
		t.kept = append(t.kept, part[:min(len(part), t.most+1-len(t.kept))]...)
	}
}

// ReadSlice is [bufio.Reader.ReadSlice].
func (t *Tape) ReadSlice(delim byte) ([]byte, error) {
	part, err := t.in.ReadSlice(delim)
	t.took(part)
	return part, err
}

// ReadByte reads a byte.
func (t *Tape) ReadByte() (byte, error) {
	c, err := t.in.ReadByte()
	if err == nil {
		t.took([]byte{c})
	}
	return c, err
}

// UnreadByte gives the byte back that ReadByte has returned just before.
func (t *Tape) UnreadByte() error {
	if err := t.in.UnreadByte(); err != nil {
		return err
	}
	t.offset--
	if t.counts {
		if c, err := t.in.Peek(1); err == nil && c[0] == '\n' {
			t.lines--
		}
	}
	if t.keeps && len(t.kept) <= t.most {
		t.Drop(1)
	}
	return nil
}

// Peek is [bufio.Reader.Peek].
func (t *Tape) Peek(n int) ([]byte, error) { return t.in.Peek(n) }

// Ahead returns what can be read without waiting, at least one byte of it. It is valid until the next read; Discard takes it.
func (t *Tape) Ahead() ([]byte, error) {
	if _, err := t.in.Peek(1); err != nil {
		return nil, err
	}
	return t.in.Peek(t.in.Buffered())
}

// Discard reads over n bytes, which Peek or Ahead have returned.
func (t *Tape) Discard(n int) (int, error) {
	part, err := t.in.Peek(n)
	if err != nil {
		return 0, err
	}
	t.took(part)
	return t.in.Discard(n)
}

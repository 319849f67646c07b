package outfile_test

import (
	"bytes"
	"testing"

	"github.com/tegenaria/tegenaria/internal/outfile"
)

// What was appended in pieces of any size has the checksum of what is read, and of no other bytes.
func TestTail(t *testing.T) {
	var written outfile.Tail
	var text []byte
	for i, size := range []int{0, 1, 100, outfile.TailBytes - 1, outfile.TailBytes, 3*outfile.TailBytes + 5, 7} {
		piece := bytes.Repeat([]byte{byte(i + 1)}, size)
		text = append(text, piece...)
		written.Append(piece)
		end := int64(len(text))
		read, err := outfile.ReadTail(bytes.NewReader(append(text, "that does not count"...)), end)
		if err != nil {
			t.Fatal(err)
		}
		if err := read.Check(end, written.Sum()); err != nil {
			t.Errorf("after %d bytes: %v", end, err)
		}
		if size > 0 && read.Check(end, written.Sum()+1) == nil {
			t.Errorf("after %d bytes another checksum is taken", end)
		}
	}
	if _, err := outfile.ReadTail(bytes.NewReader(text), int64(len(text)+1)); err == nil {
		t.Error("a file that is too short has a tail")
	}
}

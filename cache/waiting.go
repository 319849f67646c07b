package cache

import (
	"bytes"
	"encoding/binary"

	"github.com/tegenaria/tegenaria/internal/wire"
)

// Waiting is a request as it waits in memory. Its slot and priority are those of the queue it is in; only the due list has to
// write them down.
type Waiting struct {
	Key            [16]byte
	Slot           string
	Priority       int
	Depth, Attempt int
	Seq            uint64
	Parent         [4]byte // the beginning of the key of the request that has emitted it; zero for a seed
	Data           []byte
}

// The flags that are encoded together with the depth: which fields follow it.
const (
	hasAttempt = 1 << iota
	hasParent
	flagBits = iota
)

// QueueCodec encodes what waits in a [Queue], without its slot and priority.
type QueueCodec struct{}

// Append is part of [Codec].
func (QueueCodec) Append(dst []byte, w Waiting) []byte {
	dst = append(dst, w.Key[:]...)
	dst = binary.AppendUvarint(dst, w.Seq)
	flags := uint64(0)
	if w.Attempt != 0 {
		flags |= hasAttempt
	}
	if w.Parent != [4]byte{} {
		flags |= hasParent
	}
	dst = binary.AppendUvarint(dst, uint64(w.Depth)<<flagBits|flags)
	if flags&hasAttempt != 0 {
		dst = binary.AppendUvarint(dst, uint64(w.Attempt))
	}
	if flags&hasParent != 0 {
		dst = append(dst, w.Parent[:]...)
	}
	return append(dst, w.Data...)
}

// Decode is part of [Codec].
func (QueueCodec) Decode(src []byte) (w Waiting, err error) {
	d := wire.Decoder{Rest: src}
	copy(w.Key[:], d.Take(uint64(len(w.Key))))
	w.Seq = d.Uint()
	flags := d.Uint()
	w.Depth = int(flags >> flagBits)
	if flags&hasAttempt != 0 {
		w.Attempt = int(d.Uint())
	}
	if flags&hasParent != 0 {
		copy(w.Parent[:], d.Take(uint64(len(w.Parent))))
	}
	w.Data = bytes.Clone(d.Rest)
	return w, d.Err()
}

// DueCodec encodes what waits in a [Due].
type DueCodec struct{}

// Append is part of [Codec].
func (DueCodec) Append(dst []byte, w Waiting) []byte {
	dst = binary.AppendVarint(wire.AppendText(dst, w.Slot), int64(w.Priority))
	return QueueCodec{}.Append(dst, w)
}

// Decode is part of [Codec].
func (DueCodec) Decode(src []byte) (w Waiting, err error) {
	d := wire.Decoder{Rest: src}
	slot, priority := d.Text(), int(d.Int())
	if d.Err() != nil {
		return w, d.Err()
	}
	w, err = QueueCodec{}.Decode(d.Rest)
	w.Slot, w.Priority = slot, priority
	return w, err
}

package identity

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"

	"github.com/google/uuid"
)

// NewID makes a random UUID (RFC 9562, version 4). It has to be unique, not secret, so it need not cost a system call. It may be
// called concurrently.
func NewID() uuid.UUID {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562 §4.1
	return id
}

// IsText reports whether text is the usual form of a UUID that is not the zero one. It allocates nothing.
func IsText(id uuid.UUID, text string) bool {
	const size = 36
	if len(text) != size || id == (uuid.UUID{}) {
		return false
	}
	var b [size]byte
	hex.Encode(b[:8], id[:4])
	hex.Encode(b[9:13], id[4:6])
	hex.Encode(b[14:18], id[6:8])
	hex.Encode(b[19:23], id[8:10])
	hex.Encode(b[24:], id[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:]) == text
}

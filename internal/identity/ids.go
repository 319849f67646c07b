package identity

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/google/uuid"
)

// ID is a UUID and the text of it.
type ID struct {
	Text string
	UUID uuid.UUID
}

// NewID makes a random UUID (RFC 9562, version 4). It has to be unique, not secret, so it need not cost a system call. It may be
// called concurrently.
func NewID() ID {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562 §4.1
	return ID{Text: id.String(), UUID: id}
}

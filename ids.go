package tegenaria

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"

	"github.com/google/uuid"
)

// madeID is a CtxId and what it is the text of.
type madeID struct {
	text string
	id   uuid.UUID
}

// newID makes a CtxId: a random UUID (RFC 9562, version 4). It has to be unique, not secret, so it need not cost
// a system call.
func newID() madeID {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562 §4.1
	return madeID{id.String(), id}
}

// loopbackCheckpoint is where a durable job keeps what its seeds allowed to be dialled.
const loopbackCheckpoint = "tegenaria/loopback"

func encodeStrings(list []string) []byte {
	text, _ := json.Marshal(list) // strings always encode
	return text
}

func decodeStrings(text []byte) (list []string) {
	_ = json.Unmarshal(text, &list) // nothing stored, nothing allowed
	return list
}

// durableCounters are the counts that a durable job keeps over its runs: those of the earlier ones, and this one's. What
// was waiting when this run began is discovered in both, so it counts once.
func (c *crawl) durableCounters() map[string]int64 {
	var s Stats
	c.ledger.snapshot(&s)
	c.teller.counters.snapshot(&s)
	counts := map[string]int64{
		"discovered": s.Discovered, "settled": s.Settled,
		"responses": s.Responses, "bytes": s.Bytes, "items_scraped": s.ItemScraped, "errors": s.ErrorCount,
	}
	for o, n := range s.Outcomes {
		counts["outcome/"+o.String()] = n
	}
	for name, n := range c.earlier {
		if name != "discovered" {
			counts[name] += n
		}
	}
	counts["discovered"] += c.earlier["settled"]
	return counts
}

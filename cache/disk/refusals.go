package disk

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/tegenaria/tegenaria"
)

// refusals are the requests that the crawl has refused, as far as they are kept: for [Cache.Explain] alone.
type refusals struct {
	mu    sync.Mutex          // taken after the Cache's
	known map[uint64]struct{} // the beginnings of their keys
	fresh changes             // those that no commit has taken
}

// mostRefusals is how many a job keeps: 2 MB of memory, and about 120 bytes of disk for each.
const mostRefusals = 100_000

// RecordRefusal is described at [tegenaria.RefusalRecorder].
func (c *Cache) RecordRefusal(how tegenaria.Settled) (more bool) {
	r := &c.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= mostRefusals {
		return false
	}
	begin := binary.BigEndian.Uint64(how.Record.Key[:])
	if _, known := r.known[begin]; known {
		return true
	}
	if r.known == nil {
		r.known = make(map[uint64]struct{})
	}
	r.known[begin] = struct{}{}
	rec := record{key: how.Record.Key, parent: how.Record.ParentSeq, depth: how.Record.Depth, data: how.Record.Data}
	r.fresh.set(refusedKey(&how.Record.Key), appendOutcome(nil, &rec, how.Record.Slot, 0, &how))
	return true
}

func refusedKey(key *tegenaria.Key) []byte { return append([]byte{rangeRefused}, key[:]...) }

// gather moves what no commit has taken into the changes of the next one.
func (r *refusals) gather(to *changes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.fresh.list {
		ch := &r.fresh.list[i]
		end := ch.at + int(ch.key)
		to.set(r.fresh.data[ch.at:end], r.fresh.data[end:end+int(ch.value)])
	}
	r.fresh = changes{}
}

// loadRefusals reads which requests were refused in earlier runs.
func (c *Cache) loadRefusals() error {
	r := &c.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.fresh = make(map[uint64]struct{}), changes{}
	return c.scan([]byte{rangeRefused}, []byte{rangeRefused + 1}, func(key, _ []byte) error {
		if len(key) > 8 {
			r.known[binary.BigEndian.Uint64(key[1:])] = struct{}{}
		}
		return nil
	})
}

// refusal reads how a request was refused.
func (c *Cache) refusal(key *tegenaria.Key) (info Info, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := false
	err = c.get(refusedKey(key), func(value []byte) (err error) {
		found, info.State = true, Refused
		info.Settled, info.Parent, err = parseOutcome(value, 0)
		return err
	})
	if err != nil || found {
		return info, err
	}
	kept := 0
	err = c.scan([]byte{rangeRefused}, []byte{rangeRefused + 1}, func(_, _ []byte) error { kept++; return nil })
	if err == nil && kept >= mostRefusals {
		return info, fmt.Errorf("%w; it may be one of those that the crawl refused after the first %d, which are all that a job keeps", ErrUnknown, mostRefusals)
	}
	return info, cmp.Or(err, ErrUnknown)
}

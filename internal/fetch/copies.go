package fetch

import "sync/atomic"

// Copies counts copies of a page that are handed out: the largest one counts, the ones before it are garbage, for all that is
// known. The zero value has counted none. It may be used concurrently.
type Copies struct{ largest atomic.Int64 }

// Uncharged is the size in bytes up to which copies cost nothing.
const Uncharged = 256 << 10

// Grow counts a copy that grows from so many bytes to more. grow asks for memory, and may wait; a negative number gives it back.
// The error is grow's.
func (c *Copies) Grow(from, to int64, grow func(bytes int64) error) error {
	if to <= Uncharged {
		return nil
	}
	for {
		most := c.largest.Load()
		// Up to the size of the largest, the copy replaces others: their memory is given back and asked for again.
		again := max(min(to, most)-from, 0)
		if to > most && !c.largest.CompareAndSwap(most, to) {
			continue
		}
		if again > 0 {
			_ = grow(-again)
		}
		if err := grow(again + max(to-most, 0)); err != nil {
			c.largest.CompareAndSwap(max(to, most), most-again)
			return err
		}
		return nil
	}
}

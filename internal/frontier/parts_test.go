package frontier

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A job is over with its last part, and nothing opens then: also where parts open and end at the same time.
func TestParts(t *testing.T) {
	for range 200 {
		var p Parts
		p.Add()
		var ends, late atomic.Int64
		closePart := func() {
			if p.Close() {
				ends.Add(1)
			}
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 50 {
					switch {
					case p.Open():
						closePart()
					default:
						late.Add(1)
					}
				}
			})
		}
		all.Go(closePart)
		all.Wait()
		if ends.Load() != 1 || p.Open() {
			t.Fatalf("it ended %d times; %d came too late", ends.Load(), late.Load())
		}
	}
}

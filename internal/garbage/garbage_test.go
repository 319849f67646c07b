package garbage_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/garbage"
)

// What is added counts until a collection that began later has ended: for certain after two, and after Collect. A look that
// forgets all after one makes it fail.
func TestH01GarbageCountsUntilItIsCollected(t *testing.T) {
	var b garbage.Bin
	defer b.Close()
	if b.Left() != 0 {
		t.Errorf("%d bytes are left of nothing", b.Left())
	}
	runtime.GC()
	b.Add(1000)
	if left := b.Left(); left != 1000 {
		t.Errorf("%d bytes are left", left)
	}
	b.Collect()
	if left := b.Left(); left != 0 {
		t.Errorf("%d bytes are left after a collection", left)
	}
	b.Add(10)
	runtime.GC()
	if left := b.Left(); left != 10 && left != 0 { // nobody else's collection came between, as a rule
		t.Errorf("%d bytes are left after a collection that may have begun before", left)
	}
	runtime.GC()
	runtime.GC()
	if left := b.Left(); left != 0 {
		t.Errorf("%d bytes are left after three collections", left)
	}
}

// Much garbage goes back to the system once, two seconds later or at the end: the timer keeps nothing waiting after Close. A
// timer that Close does not stop makes it fail: it is there when the bubble ends.
func TestH01MemoryGoesBack(t *testing.T) {
	released := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapReleased
	}
	const size = 64 << 20
	for _, early := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var b garbage.Bin
			page := make([]byte, size)
			for i := 0; i < len(page); i += 4096 {
				page[i] = 1
			}
			before := released()
			runtime.KeepAlive(page)
			page = nil
			b.Add(size)
			if !early {
				<-time.NewTimer(3 * time.Second).C
				synctest.Wait()
			}
			b.Close()
			if after := released(); after < before+size/2 {
				t.Errorf("%d bytes were released before, %d after", before, after)
			}
			b.Add(size)
		})
	}
}

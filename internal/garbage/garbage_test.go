package garbage_test

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/tegenaria/tegenaria/internal/deep"
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
			if after := released(); deep.Checks() && after < before+size/2 {
				t.Errorf("%d bytes were released before, %d after", before, after)
			}
			b.Add(size)
		})
	}
}

// What was put into a sync.Pool, such as a decoder with its window, goes back too. It fails if one collection alone is run: what is in a
// pool outlives that.
func TestMemoryOfPoolsGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			b    garbage.Bin
			pool sync.Pool
		)
		window := new([8 << 20]byte)
		kept := weak.Make(window)
		pool.Put(window)
		b.Add(64 << 20)
		<-time.After(3 * time.Second)
		if kept.Value() != nil {
			t.Error("what is in a pool is kept")
		}
		b.Close()
		runtime.KeepAlive(&pool)
	})
}

// A burst that is not over when the memory goes back has its rest go back a little later, also if that counts little. It fails if release
// does not look at what came since the timer was set.
func TestRestOfABurstGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b garbage.Bin
		b.Add(64 << 20)
		<-time.After(time.Second)
		window := new([8 << 20]byte) // a page still uses it when the timer fires
		kept := weak.Make(window)
		b.Add(2 << 20)
		<-time.After(1500 * time.Millisecond)
		runtime.KeepAlive(window)
		window = nil
		<-time.After(3 * time.Second)
		if kept.Value() != nil {
			t.Error("the rest of the burst is kept")
		}
		b.Close()
	})
}

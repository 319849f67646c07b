// Package garbage counts memory that was given back and that the collector may not have taken yet, so that a bound on
// memory in use can be a bound on the heap.
//
// When a collection ends, all that was garbage at its beginning is free. So the bytes that [Bin.Add] counts are
// free once two collections have ended since: the first may have begun before. The number of collections is read in
// [Bin.Left] alone, which is called when memory is short. [Bin.Collect] runs a collection at once. After much garbage
// the memory is given back to the system, once, a few seconds later.
//
//	var bin garbage.Bin
//	defer bin.Close()
//	bin.Add(int64(cap(page))) // page is not used any more
//	if used+bin.Left() > bound {
//		bin.Collect()
//	}
package garbage

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// returned is how much garbage makes it worth the while to give memory back to the system.
	returned = 16 << 20
	// unused is how much memory that is free, or will be after a collection, the process may keep when memory is short:
	// the large pieces that come next may not fit into it.
	unused = 32 << 20
	// calm is how long after it that is done: the next pages may use it again.
	calm = 2 * time.Second
	// goesOn is how much garbage in that time says that the pages of which it is were not over: then it is done once more.
	goesOn = 1 << 20
)

// Bin counts garbage. The zero value is empty and ready to use, by several goroutines at once. Close ends it.
type Bin struct {
	collecting sync.Mutex // held during a collection

	mu     sync.Mutex // guards the fields below
	recent int64      // bytes that were added after the newest collection that is known of had ended
	older  int64      // and after the one before it
	cycles uint64     // collections that have ended, when it was looked at
	kept   int64      // bytes that were added since memory was given back to the system
	armed  int64      // of these, those of before the timer was set
	timer  *time.Timer
	closed bool
}

// Add counts n bytes as garbage.
func (b *Bin) Add(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.look()
	b.recent += n
	b.kept += n
	if b.kept < returned || b.closed {
		return
	}
	if b.timer == nil {
		b.arm()
	}
}

// arm sets the timer. It is called with mu held.
func (b *Bin) arm() { b.armed, b.timer = b.kept, time.AfterFunc(calm, b.release) }

// Left returns how many bytes of garbage there may be.
func (b *Bin) Left() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.recent+b.older > 0 {
		b.look()
	}
	return b.recent + b.older
}

// Collect runs a collection, unless somebody else has run one by the time that it could begin. No garbage of before is
// left when it returns. Much memory that is free then goes back to the system.
func (b *Bin) Collect() {
	b.collecting.Lock()
	defer b.collecting.Unlock()
	b.mu.Lock()
	before := b.recent + b.older
	b.mu.Unlock()
	if before == 0 {
		return
	}
	if int64(read("/memory/classes/heap/free:bytes"))+before > unused {
		debug.FreeOSMemory() // it runs a collection
	} else {
		runtime.GC()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.older = 0
	b.recent = max(b.recent-before, 0)
	b.cycles = cycles()
}

// Close gives memory back to the system if that is due, and never again.
func (b *Bin) Close() {
	b.mu.Lock()
	due := b.timer != nil && b.timer.Stop()
	b.timer, b.closed = nil, true
	b.mu.Unlock()
	if due {
		debug.FreeOSMemory()
	}
}

// release is run by the timer.
func (b *Bin) release() {
	b.mu.Lock()
	later := b.kept - b.armed
	b.timer, b.kept = nil, 0
	b.mu.Unlock()
	runtime.GC() // what is in a sync.Pool, such as a decoder with its window, outlives one collection
	debug.FreeOSMemory()
	b.mu.Lock()
	defer b.mu.Unlock()
	if later+b.kept >= goesOn && b.timer == nil && !b.closed { // what was added during the collections is not gone either
		b.arm()
	}
}

// look forgets the garbage that has been collected. It is called with mu held.
func (b *Bin) look() {
	now := cycles()
	switch now - b.cycles {
	case 0:
		return
	case 1:
		b.older, b.recent = b.recent, 0
	default:
		b.older, b.recent = 0, 0
	}
	b.cycles = now
}

// cycles returns how many collections have ended.
func cycles() uint64 { return read("/gc/cycles/total:gc-cycles") }

// read returns a number that the runtime keeps.
func read(name string) uint64 {
	sample := [1]metrics.Sample{{Name: name}}
	metrics.Read(sample[:])
	return sample[0].Value.Uint64()
}
